// lightline_conform DIR [interpreter|normal|c|print]...: runs the cases that tests/ops/conformance/harness.py wrote to DIR
// (cases.jsonl and data.safetensors) through the interpreter, as the normal form and through emitted C, and prints one
// JSON line per case and backend.
#include <fmt/format.h>
#include <simdjson.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/internal_error.h"
#include "base/tensor_io.h"
#include "demand/meaning.h"
#include "frontend/load/load.h"
#include "loops/interpret/interpret.h"
#include "loops/ir/print.h"
#include "loops/run/compile.h"
#include "ops/lower/lower.h"
#include "support/node_types.h"

namespace {

using namespace lightline;

constexpr size_t programs_per_compilation = 40;

struct Case {
  std::string id;
  std::string program;
  bool runs = true;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;         // "": the program has no such result
  std::map<uint32_t, std::string> written;  // inputs that are written in place, as they are afterwards
  std::optional<Tolerance> tolerance;
  std::optional<ops::Lowered> lowered;
  std::vector<Tensor> arguments;
};

using Tensors = std::map<std::string, Tensor, std::less<>>;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (uint8_t(c) < 0x20)
      out += fmt::format("\\u{:04x}", int(c));
    else
      out += c;
  }
  return out;
}

std::mutex print_lock;

void print(const Case& one, std::string_view backend, bool pass, std::string_view message, double absolute = 0,
           double relative = 0) {
  const std::lock_guard guard(print_lock);
  fmt::print(
      "{{\"id\":\"{}\",\"backend\":\"{}\",\"pass\":{},\"worst_absolute\":{},\"worst_relative\":{},\"message\":\"{}\"}}"
      "\n",
      escaped(one.id), backend, pass, absolute, relative, escaped(message));
  std::fflush(stdout);
}

std::vector<std::string> strings(simdjson::ondemand::array array) {
  std::vector<std::string> result;
  for (auto item : array)
    result.emplace_back(item.is_null() ? std::string_view() : std::string_view(item.get_string()));
  return result;
}

Case parse_case(simdjson::ondemand::parser& parser, std::string_view line) {
  const simdjson::padded_string padded(line);
  auto document = parser.iterate(padded);
  Case one;
  one.id = std::string_view(document["id"].get_string());
  one.runs = document["runs"].get_bool();
  one.inputs = strings(document["inputs"].get_array());
  one.outputs = strings(document["outputs"].get_array());
  for (auto field : document["written"].get_object()) {
    const auto input = uint32_t(std::stoul(std::string(std::string_view(field.unescaped_key()))));
    one.written[input] = std::string_view(field.value().get_string());
  }
  auto program = document["program"];
  if (program.type() == simdjson::ondemand::json_type::string)  // Python source
    one.program = std::string_view(program.get_string());
  else
    one.program = std::string_view(program.get_object().value().raw_json());
  simdjson::ondemand::array tolerance;
  if (document["tolerance"].get_array().get(tolerance) == simdjson::SUCCESS) {
    std::vector<double> parts;
    for (auto part : tolerance) parts.push_back(part.get_double());
    one.tolerance = Tolerance{parts.at(0), parts.at(1)};
  }
  return one;
}

Tensor copy(const Tensor& tensor) { return Tensor::dense_copy(tensor.view()); }

std::string without_definition(const ops::Lowered& lowered) {
  std::string names;
  for (const auto& [name, count] : lowered.not_executable) names += (names.empty() ? "" : ", ") + name;
  return "no definition: " + names;
}

// Lowers the case and lays out its arguments; prints the reason where that fails.
bool prepare(Case& one, const Tensors& tensors) try {
  auto graph = frontend::parse_graph(one.program, frontend::ExportForm::training, one.id);
  if (!graph.ok()) return print(one, "frontend", false, to_string(graph.error())), false;
  if (const std::string wrong = lightline::testing::wrongly_typed_node(*graph); !wrong.empty())
    return print(one, "types", false, wrong), false;
  auto lowered = ops::lower(*graph);
  if (!lowered.ok()) return print(one, "lowering", false, to_string(lowered.error())), false;
  if (!one.runs) return print(one, "lowering", true, ""), false;
  if (!lowered->not_executable.empty()) return print(one, "lowering", false, without_definition(*lowered)), false;
  for (const uint32_t input : lowered->inputs) {
    if (input >= one.inputs.size())
      return print(one, "lowering", false, "the program has more inputs than the case"), false;
    one.arguments.push_back(copy(tensors.at(one.inputs[input])));
  }
  one.lowered = *std::move(lowered);
  return true;
} catch (const InternalError& defect) {
  print(one, "lowering", false, defect.what());
  return false;
}

// What each output of the program should be: the results in order, then the inputs that it writes.
Result<std::vector<std::string>> expected_outputs(const Case& one) {
  std::vector<std::string> keys;
  for (const std::string& output : one.outputs)
    if (!output.empty()) keys.push_back(output);
  const loops::Program& program = one.lowered->program;
  const auto mismatch = [&](std::string message) { return Error{ErrorCode::shape, std::move(message), "", {}}; };
  if (program.outputs.size() < keys.size())
    return mismatch(fmt::format("the program has {} outputs, expected {}", program.outputs.size(), keys.size()));
  std::map<uint32_t, std::string> left = one.written;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const auto place = std::find(program.inputs.begin(), program.inputs.end(), program.outputs[i].replaces);
    if (place == program.inputs.end()) {
      if (i >= keys.size())
        return mismatch(fmt::format("the program has {} outputs, expected {}", program.outputs.size(), keys.size()));
      continue;
    }
    const uint32_t input = one.lowered->inputs[size_t(place - program.inputs.begin())];
    const auto found = one.written.find(input);
    if (i >= keys.size()) keys.push_back(found == one.written.end() ? one.inputs[input] : found->second);
    left.erase(input);
  }
  if (!left.empty())
    return mismatch(
        fmt::format("input {} should be written in place, but the program leaves it alone", left.begin()->first));
  return keys;
}

// Whether the program has sizes that depend on data, of which the least are taken.
std::string note_on_sizes(const Case& one) {
  for (const std::string& assumption : one.lowered->assumptions)
    if (assumption.find("is not known before the program runs") != std::string::npos)
      return "; sizes that depend on data are assumed";
  return "";
}

void check(const Case& one, std::string_view backend, const Result<std::vector<Tensor>>& results,
           const Tensors& tensors) {
  if (!results.ok()) return print(one, backend, false, to_string(results.error()) + note_on_sizes(one));
  const auto keys = expected_outputs(one);
  if (!keys.ok()) return print(one, backend, false, to_string(keys.error()));
  double absolute = 0, relative = 0;
  for (size_t i = 0; i < keys->size(); ++i) {
    const Tensor& expected = tensors.at((*keys)[i]);
    const Comparison comparison = compare((*results)[i], expected, one.tolerance.value_or(tolerance(expected.dtype())));
    if (!comparison.agree)
      return print(one, backend, false, fmt::format("output {}: {}{}", i, comparison.reason, note_on_sizes(one)),
                   comparison.worst_absolute, comparison.worst_relative);
    absolute = std::max(absolute, comparison.worst_absolute);
    relative = std::max(relative, comparison.worst_relative);
  }
  print(one, backend, true, "", absolute, relative);
}

// With the options that ship: what is proved of other code is not proved.
Result<loops::CompiledPrograms> compiled_or_error(const std::vector<const loops::Program*>& programs) try {
  return loops::compile(programs);
} catch (const InternalError& defect) {
  return Error{ErrorCode::internal, defect.what(), "", {}};
}

// Compiles the cases in one compiler run; where that fails, halves them until the culprit is alone.
void run_compiled(std::span<Case* const> cases, const Tensors& tensors) {
  std::vector<const loops::Program*> programs;
  for (const Case* one : cases) programs.push_back(&one->lowered->program);
  auto compiled = compiled_or_error(programs);
  if (!compiled.ok()) {
    if (cases.size() == 1) return print(*cases[0], "c", false, to_string(compiled.error()));
    run_compiled(cases.first(cases.size() / 2), tensors);
    run_compiled(cases.subspan(cases.size() / 2), tensors);
    return;
  }
  for (size_t i = 0; i < cases.size(); ++i) check(*cases[i], "c", compiled->run(i, cases[i]->arguments), tensors);
}

Result<std::vector<Tensor>> run_interpreter(const Case& one) try {
  return loops::interpret(one.lowered->program, one.arguments);
} catch (const InternalError& defect) {
  return Error{ErrorCode::internal, defect.what(), "", {}};
}

// The normal form means what the program means: it gives what the interpreter gives.
void check_normal_form(const Case& one) try {
  const auto found = demand::testing::meaning_of_normal_form(one.lowered->program, one.arguments);
  const std::string kept = found.spelled == 0 ? "" : fmt::format("{} statements as spelled", found.spelled);
  print(one, "normal", found.fault.empty(), found.fault.empty() ? kept : found.fault);
} catch (const InternalError& defect) {
  print(one, "normal", false, defect.what());
}

// Work is handed out by index to a few threads.
void in_parallel(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++) work(i);
    });
  }
}

Status run(const std::string& folder, const std::set<std::string_view>& backends) {
  LL_TRY(const std::string text, read_file(folder + "/cases.jsonl"));
  LL_TRY(NamedTensors data, read_tensors(folder + "/data.safetensors"));
  Tensors tensors;
  for (auto& [name, tensor] : data) tensors.emplace(std::move(name), std::move(tensor));

  std::vector<Case> cases;
  simdjson::ondemand::parser parser;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) cases.push_back(parse_case(parser, std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  std::vector<Case*> ready;
  for (Case& one : cases)
    if (prepare(one, tensors)) ready.push_back(&one);
  const auto wanted = [&](std::string_view backend) { return backends.empty() || backends.contains(backend); };
  if (backends.contains("print"))
    for (const Case* one : ready) fmt::print("# {}\n{}\n", one->id, loops::print(one->lowered->program));
  if (wanted("normal")) in_parallel(ready.size(), [&](size_t i) { check_normal_form(*ready[i]); });
  if (wanted("interpreter"))
    in_parallel(ready.size(), [&](size_t i) { check(*ready[i], "interpreter", run_interpreter(*ready[i]), tensors); });
  if (!wanted("c")) return Ok{};
  const size_t batches = (ready.size() + programs_per_compilation - 1) / programs_per_compilation;
  in_parallel(batches, [&](size_t i) {
    const size_t first = i * programs_per_compilation;
    run_compiled(std::span<Case* const>(ready).subspan(first, std::min(programs_per_compilation, ready.size() - first)),
                 tensors);
  });
  return Ok{};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: lightline_conform DIR [interpreter|normal|c|print]...\n");
    return 2;
  }
  try {
    const Status status = run(argv[1], std::set<std::string_view>(argv + 2, argv + argc));
    if (status.ok()) return 0;
    fmt::print(stderr, "{}\n", to_string(status.error()));
    return 2;
  } catch (const std::exception& defect) {
    fmt::print(stderr, "{}\n", defect.what());
    return 3;
  }
}
