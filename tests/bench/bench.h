// What benchmarks share. A benchmark's name is its row in the closing table's arithmetic (see main.cpp).
#pragma once

#include <benchmark/benchmark.h>

namespace lightline::bench {

void register_emitted();  // code emitted from loop programs, beside memcpy and OpenBLAS
void register_text();     // parsing, verifying and printing

}  // namespace lightline::bench
