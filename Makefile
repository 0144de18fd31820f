# The front door. Every target first installs what it needs (scripts/setup); the second run of each is quick.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

FUZZ_SECONDS ?= 300
CXX_FILES = $$(git ls-files --cached --others --exclude-standard 'src/*.cpp' 'src/*.h' 'tests/*.cpp' 'tests/*.h')
PYTHON_FILES = python tests scripts/run_tests scripts/tidy scripts/check_bounds scripts/compare_outputs scripts/fuzz_seeds

# $(call compile,PRESET,TARGETS): configures once, then builds. CMake itself notices changed build files.
define compile
	@cmake --preset $(1) --log-level=WARNING >/dev/null
	@cmake --build --preset $(1) --target $(2)
endef

.PHONY: help build library test test-long check-bounds demo static bench lint format fuzz clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

build: ## the program, build/lightline
	@scripts/setup build test
	$(call compile,release,lightline)

library: ## the C library, build/liblightline.so
	@scripts/setup build test
	$(call compile,release,lightline_shared)

demo: build ## a short tour of what lightline does
	@scripts/demo build/lightline

test: ## all tests, with one closing line: N passed, N failed, N skipped
	@scripts/setup build test python torch jax
	$(call compile,release,all)
	@scripts/run_tests build

test-long: ## the tests with long cases, then again under the address and undefined-behaviour sanitizers
	@scripts/setup build test python torch jax long
	$(call compile,release,all)
	@LIGHTLINE_LONG=1 scripts/run_tests build
	$(call compile,debug,all)
	@scripts/run_tests build-debug

DATA ?= ../shared/data
check-bounds: build ## hold the bounds against measured times under DATA, or else the few in tests/bound/data
	@if [[ -d $(DATA)/kernelbench ]]; then scripts/check_bounds build/lightline $(DATA); else scripts/check_bounds build/lightline tests/bound/data/h200.jsonl; fi

static: ## build-static/lightline, which needs no shared libraries beyond libc and libm
	@scripts/setup build static
	$(call compile,static,lightline)
	@extra=$$(ldd build-static/lightline | grep -vE 'linux-vdso|ld-linux|libc\.so|libm\.so' || true); \
	if [[ -n $$extra ]]; then echo "build-static/lightline still needs:"; echo "$$extra"; exit 1; fi
	@echo "build-static/lightline needs only: $$(ldd build-static/lightline | grep -oE '^\s*lib[cm]\.so\.[0-9]+' | xargs)"

bench: ## speed, as ratios within one run
	@scripts/setup build bench
	$(call compile,bench,all)
	@for program in build-bench/tests/bench/*_bench; do "$$program"; done

lint: ## clang-format, clang-tidy and ruff
	@scripts/setup build test python lint
	@clang-format-16 --dry-run --Werror $(CXX_FILES)
	$(call compile,lint,bundled_machines)
	@scripts/tidy build-lint
	@if [[ -x .venv/bin/ruff ]]; then .venv/bin/ruff check $(PYTHON_FILES) && .venv/bin/ruff format --check $(PYTHON_FILES); else echo "note: ruff is not installed; Python files were not checked"; fi

format: ## rewrite the sources as lint wants them
	@scripts/setup python lint
	@clang-format-16 -i $(CXX_FILES)
	@if [[ -x .venv/bin/ruff ]]; then .venv/bin/ruff format $(PYTHON_FILES); fi

fuzz: ## every fuzzer for FUZZ_SECONDS (300); what it finds is kept in .cache/fuzz
	@scripts/setup build fuzz
	$(call compile,fuzz,fuzzers)
	@scripts/fuzz_seeds .cache/fuzz-loops >/dev/null
	@for program in build-fuzz/tests/fuzz/fuzz_*; do \
	  [[ -x $$program && ! -d $$program ]] || continue; \
	  name=$${program##*/fuzz_}; corpus=.cache/fuzz/$$name; mkdir -p "$$corpus"; seeds=(); words=(); \
	  if [[ $$name == loops ]]; then seeds=(.cache/fuzz-loops/seeds); words=(-dict=.cache/fuzz-loops/words); fi; \
	  if [[ $$name == schedule ]]; then seeds=(.cache/fuzz-loops/schedules); words=(-dict=.cache/fuzz-loops/words); fi; \
	  for folder in "tests/fuzz/regressions/$$name" tests/base/data; do [[ -d $$folder ]] && seeds+=("$$folder"); done; \
	  echo "fuzz_$$name: $(FUZZ_SECONDS) s"; \
	  "$$program" -max_total_time=$(FUZZ_SECONDS) -timeout=60 -rss_limit_mb=3072 -print_final_stats=1 -verbosity=0 \
	    -artifact_prefix="$$corpus-" "$${words[@]}" "$$corpus" "$${seeds[@]}"; \
	done

clean: ## remove what was built; .venv and .cache stay
	@rm -rf build build-*
