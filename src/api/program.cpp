#include "api/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/guard.h"
#include "base/file.h"
#include "base/shown.h"
#include "frontend/canonical/canonicalise.h"
#include "frontend/fx/samples.h"
#include "loops/emit_c/emit_c.h"
#include "loops/ir/parse.h"
#include "loops/ir/print.h"
#include "loops/plan/planned.h"

namespace lightline::api {
namespace {

Error in_file(Error error, const std::string& name) {
  if (error.where.file.empty()) error.where.file = name;
  return error;
}

// Values that a source states with few digits are no part of the program.
bool is_fixed(const graph::Graph& graph, const graph::Input& input) {
  if (!input.known || (graph.untyped && is_float(input.known->dtype()))) return false;
  return input.kind == graph::InputKind::constant || input.kind == graph::InputKind::buffer;
}

// After blanks and comments.
bool starts_as_loops(std::string_view text) {
  size_t at = text.find_first_not_of(" \t\r\n");
  while (at < text.size() && text[at] == '#') at = text.find_first_not_of(" \t\r\n", text.find('\n', at));
  return at < text.size() && text.substr(at).starts_with("program ");
}

// Programs but archives are text, and what is printed of them is UTF-8.
Status check_text(const Source& source) {
  const std::string_view text = source.text;
  if (text.starts_with("PK")) return Ok{};
  const size_t at = utf8_bytes(text);
  if (at == text.size()) return Ok{};
  const std::string_view before = text.substr(0, at);
  const int line = 1 + int(std::ranges::count(before, '\n')), column = int(at - before.rfind('\n'));
  return Error{ErrorCode::parse, "the text is not UTF-8", "save it as UTF-8", {source.name, line, column}};
}

}  // namespace

Result<Source> read_source(const std::string& path) {
  return guarded([&]() -> Result<Source> {
    LL_TRY(std::string text, frontend::is_sample_folder(path) ? frontend::read_sample(path) : read_program(path));
    return Source{path, std::move(text)};
  });
}

Result<Source> read_standard_input() {
  return guarded([&]() -> Result<Source> {
    LL_TRY(std::string text, read_program_from_standard_input());
    return Source{"<stdin>", std::move(text)};
  });
}

Result<Program> load(const Source& source) {
  return guarded([&]() -> Result<Program> {
    LL_DO(check_text(source));
    if (frontend::is_foreign(source.text)) return import(source, ExportForm::training);
    auto state = std::make_shared<Program::State>();
    state->file = source.name;
    LL_TRY(state->lowered.program, loops::parse_and_verify(source.text, source.name));
    const loops::Program& program = state->lowered.program;
    state->known = std::make_shared<std::vector<std::optional<Tensor>>>(program.inputs.size());
    state->fixed.resize(program.inputs.size());
    for (const loops::ArrayId input : program.inputs) state->source_names.push_back(program.arrays[input].name);
    return Program(std::move(state));
  });
}

Result<graph::Graph> canonical_graph(const Source& source, ExportForm form) {
  return guarded([&]() -> Result<graph::Graph> {
    LL_DO(check_text(source));
    if (starts_as_loops(source.text))
      return Error{ErrorCode::usage,
                   "this is a loop program, which has no operators",
                   "give what it was imported from",
                   {source.name}};
    LL_TRY(graph::Graph graph, frontend::parse_graph(source.text, form, source.name));
    if (graph.untyped)
      return Error{ErrorCode::unsupported,
                   "a GraphNet program has no types, and so no graph yet",
                   "capture the model with torch.export",
                   {source.name}};
    auto canonical = frontend::canonicalise(std::move(graph));
    return canonical.ok() ? std::move(canonical) : in_file(std::move(canonical).error(), source.name);
  });
}

Result<Program> import(const Source& source, ExportForm form) {
  return guarded([&]() -> Result<Program> {
    LL_DO(check_text(source));
    if (starts_as_loops(source.text))
      return Error{
          ErrorCode::usage, "this is a loop program already", "see lightline check and lightline fmt", {source.name}};
    LL_TRY(graph::Graph graph, frontend::parse_graph(source.text, form, source.name));
    auto lowered = ops::lower(graph);
    if (!lowered.ok()) return in_file(std::move(lowered).error(), source.name);
    auto state = std::make_shared<Program::State>();
    state->file = source.name;
    auto known = std::make_shared<std::vector<std::optional<Tensor>>>();
    for (const uint32_t input : lowered->inputs) {
      state->fixed.push_back(is_fixed(graph, graph.inputs[input]));
      known->push_back(std::move(graph.inputs[input].known));
      state->source_names.push_back(graph.values[graph.inputs[input].value].name);
    }
    state->known = std::move(known);
    for (size_t i = 0; i < state->fixed.size(); ++i)
      for (const loops::Output& output : lowered->program.outputs)
        if (output.replaces == lowered->program.inputs[i]) state->fixed[i] = false;
    state->lowered = std::move(lowered).value();
    return Program(std::move(state));
  });
}

Result<Program> retype(const Program& program, const std::string& rule) {
  if (rule.empty()) return program;
  return guarded([&]() -> Result<Program> {
    const size_t equals = rule.find('=');
    const auto from = dtype_from_name(rule.substr(0, equals));
    const auto to = dtype_from_name(equals == std::string::npos ? "" : rule.substr(equals + 1));
    if (!from || !to || compute_type(*from) != DType::f32 || compute_type(*to) != DType::f32 || !is_float(*from) ||
        !is_float(*to))
      return Error{ErrorCode::usage,
                   fmt::format("'{}' does not name two float types", rule),
                   "write f32=bf16; both of f32 f16 bf16 f8e4m3 f8e5m2 f4e2m1",
                   {}};
    if (*from == *to)
      return Error{ErrorCode::usage, fmt::format("'{}' changes nothing", rule), "write f32=bf16, for example", {}};
    auto state = std::make_shared<Program::State>(*program.state_);
    for (loops::Array& array : state->lowered.program.arrays)
      if (array.dtype == *from) array.dtype = *to;
    return Program(std::move(state));
  });
}

Result<std::string> text_of(const Program& program) {
  return guarded([&]() -> Result<std::string> { return loops::print(program.loops()); });
}

Result<std::string> c_text_of(const Program& program) {
  return guarded([&] { return loops::emit_c(program.loops()); });
}

Result<std::string> c_text_of(const Program& program, const Source& schedule) {
  return guarded([&]() -> Result<std::string> {
    LL_TRY(const loops::plan::Schedule parsed,
           loops::plan::parse_schedule(program.loops(), schedule.text, schedule.name));
    auto code = loops::emit_c(program.loops(), parsed);
    if (!code.ok()) return in_file(std::move(code).error(), schedule.name);
    return code;
  });
}

Result<std::string> schedule_text_of(const Program& program) {
  return guarded([&]() -> Result<std::string> {
    LL_TRY(const loops::plan::PlannedProgram planned, loops::plan::plan_program(program.loops()));
    return loops::plan::print(program.loops(), loops::plan::schedule_of(planned));
  });
}

Result<std::string> plan_text_of(const Program& program) {
  return guarded([&]() -> Result<std::string> {
    LL_TRY(const loops::plan::PlannedProgram planned, loops::plan::plan_program(program.loops()));
    return loops::plan::print(program.loops(), loops::plan::plan_of(planned));
  });
}

Result<std::string> formatted(const Source& source) {
  return guarded([&]() -> Result<std::string> {
    if (frontend::is_foreign(source.text))
      return Error{ErrorCode::usage,
                   "this is a program of a framework, not loops",
                   "lightline import turns it into loops, in canonical form",
                   {source.name}};
    LL_DO(check_text(source));
    LL_TRY(const loops::Program program, loops::parse(source.text, source.name));
    return loops::print(program);
  });
}

bool is_corpus(const std::string& path) { return frontend::is_corpus(path); }
bool has_forms(const std::string& path) { return frontend::has_forms(path); }

Status for_each_program(const std::string& path, ExportForm form,
                        const std::function<Status(const CorpusEntry&)>& visit) {
  return guarded([&] { return frontend::for_each_program(path, form, visit); });
}

}  // namespace lightline::api
