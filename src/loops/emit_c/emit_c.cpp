#include "loops/emit_c/emit_c.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "loops/emit_c/function.h"
#include "loops/emit_c/prelude.h"
#include "loops/plan/planned.h"

namespace lightline::loops {
namespace {

using namespace c;

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// Two spaces for every open brace.
std::string indent(const std::string& text) {
  std::string result;
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (line.empty()) {
      if (depth == 0 && !result.ends_with("\n\n")) result += '\n';
      continue;
    }
    const size_t closing = std::min(line.find_first_not_of('}'), line.size());
    const int own = depth - int(closing);
    if (line[0] != '#') result.append(2 * size_t(std::max(own, 0)), ' ');
    result += line;
    result += '\n';
    depth += int(std::ranges::count(line, '{')) - int(std::ranges::count(line, '}'));
  }
  return result;
}

// The functions of all steps. Steps that differ only in their names share one.
class StepFunctions {
 public:
  // Takes the text of a function called `step_name`, gives the name it got.
  std::string add(const std::string& text) {
    const std::string canonical = renumber(text);
    const auto [known, fresh] = names_.try_emplace(canonical, fmt::format("ll_step{}", names_.size()));
    if (fresh) text_ += replace_all(canonical, step_name, known->second);
    return known->second;
  }
  const std::string& text() const { return text_; }
  static constexpr std::string_view step_name = "this_step";

 private:
  // Names made of a letter and a number, numbered in the order they come.
  static std::string renumber(const std::string& text) {
    std::string result;
    std::unordered_map<std::string, size_t> numbers;
    const auto is_word = [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; };
    for (size_t at = 0; at < text.size();) {
      size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      if (end == at) {
        result += text[at++];
        continue;
      }
      size_t digits = at + 1;
      while (digits < end && std::isdigit(uint8_t(text[digits]))) ++digits;
      const bool is_name = std::string_view("abrtvx").find(text[at]) != std::string_view::npos && digits > at + 1 &&
                           (digits == end || text[digits] == '_');
      if (is_name) {
        const auto number = numbers.try_emplace(text.substr(at, digits - at), numbers.size()).first->second;
        result += text[at];
        result += std::to_string(number);
        at = digits;
      }
      result.append(text, at, end - at);
      at = end;
    }
    return result;
  }

  std::unordered_map<std::string, std::string> names_;
  std::string text_;
};

class ProgramWriter {
 public:
  ProgramWriter(PlannedProgram& planned, std::string symbol, StepFunctions& functions)
      : program_(planned.stepped.program),
        stepped_(planned.stepped),
        layout_(planned.layout),
        kernels_(planned.kernels),
        symbol_(std::move(symbol)),
        functions_(functions) {}

  std::string run() {
    std::string body;
    steps(stepped_.steps, body);
    outputs(body);
    const std::string pointers = declare();
    std::string text = tables_ + fmt::format(
                                     "int {}(const struct ll_host* H, const void* const* inputs, void* const* outputs) "
                                     "{{\n(void)inputs;\n(void)outputs;\nint failed = 0;\n",
                                     symbol_);
    if (layout_.workspace > 0)
      text += fmt::format("char* workspace = (char*)H->allocate(H->self, (size_t){});\nif (!workspace) return 2;\n",
                          layout_.workspace);
    text += pointers + body;
    if (body.find("goto done") != std::string::npos) text += "done:\n";
    if (layout_.workspace > 0) text += "H->release(H->self, workspace);\n";
    return indent(text + "return failed;\n}\n\n");
  }

 private:
  const Array& array(ArrayId id) const { return program_.arrays[id]; }
  int64_t bytes_of(ArrayId id) const { return size_of(array(id).shape) * byte_size(array(id).dtype); }
  std::string type_of(ArrayId id) const { return std::string(storage_type(array(id).dtype)); }
  bool is_input(ArrayId id) const { return std::ranges::find(program_.inputs, id) != program_.inputs.end(); }

  // ---- pointers ----
  std::string declare() {
    std::string text;
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const ArrayId id = program_.inputs[i];
      text += fmt::format("const {}* {} = (const {}*)inputs[{}];\n(void){};\n", type_of(id), array_name(id),
                          type_of(id), i, array_name(id));
    }
    std::vector<bool> done(program_.arrays.size(), false);
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const ArrayId id = program_.outputs[i].array;
      if (is_input(id) || stepped_.constant[id] != nullptr || done[id]) continue;
      done[id] = true;
      text += fmt::format("{}* {} = ({}*)outputs[{}];\n(void){};\n", type_of(id), array_name(id), type_of(id), i,
                          array_name(id));
    }
    for (ArrayId id = 0; id < program_.arrays.size(); ++id) {
      if (done[id] || is_input(id) || layout_.assigned[id] || !layout_.stored[id]) continue;
      if (const Constant* constant = stepped_.constant[id]) {
        table(*constant);
        text += fmt::format("const {}* {} = {}_table{};\n(void){};\n", type_of(id), array_name(id), symbol_, id,
                            array_name(id));
      } else if (layout_.offset[id] >= 0) {
        text += fmt::format("{}* {} = ({}*)(workspace + {});\n(void){};\n", type_of(id), array_name(id), type_of(id),
                            layout_.offset[id], array_name(id));
      } else {
        text += fmt::format("{}* {} = NULL;\n(void){};\n", type_of(id), array_name(id), array_name(id));
      }
    }
    return text;
  }

  // Values as they are stored: numbers as literals, narrow floats as their bits.
  void table(const Constant& constant) {
    const DType dtype = array(constant.result).dtype;
    std::string values;
    Tensor one(dtype, {1});
    for (const Literal& literal : constant.values) {
      if (!values.empty()) values += values.size() - values.rfind('\n') > 100 ? ",\n" : ", ";
      const double real = literal.kind == Literal::Kind::floating ? literal.floating : double(literal.integer);
      if (compute_type(dtype) == dtype) {
        values += literal_text(dtype, literal);
        continue;
      }
      one.set_f64(0, real);
      values += std::to_string(byte_size(dtype) == 2 ? one.as<uint16_t>()[0] : one.as<uint8_t>()[0]);
    }
    if (values.empty()) values = "0";
    tables_ += fmt::format("static const {} {}_table{}[] __attribute__((aligned({}))) = {{\n{}\n}};\n\n",
                           storage_type(dtype), symbol_, constant.result, stepped_.target.cache_line_bytes, values);
  }

  void outputs(std::string& body) {
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const ArrayId id = program_.outputs[i].array;
      const auto first = std::ranges::find(program_.outputs, id, &Output::array) - program_.outputs.begin();
      const bool in_place = !is_input(id) && stepped_.constant[id] == nullptr && size_t(first) == i;
      if (in_place || bytes_of(id) == 0) continue;
      const std::string to = fmt::format("outputs[{}]", i);
      body += fmt::format("if ({} != (const void*){}) ll_copy({}, {}, (size_t){});\n", to, array_name(id), to,
                          array_name(id), bytes_of(id));
    }
  }

  // ---- steps ----
  void steps(const std::vector<Step>& list, std::string& body) {
    for (const Step& step : list) {
      const std::string name(StepFunctions::step_name);
      const Kernel& kernel = kernels_[next_kernel_++];
      if (const auto* nest = std::get_if<NestKernel>(&kernel))
        call(emit_nest(stepped_, *nest, layout_.stored, name), body);
      else if (const auto* product = std::get_if<ProductKernel>(&kernel))
        call(emit_product(stepped_, *product, layout_.stored, name), body);
      else if (const auto* scatter = std::get_if<ScatterKernel>(&kernel))
        call(emit_scatter(stepped_, std::get<ScatterStep>(step.node), *scatter, name), body);
      else if (const auto* opaque = std::get_if<OpaqueStep>(&step.node))
        call(*opaque, body);
      else
        repeat(std::get<RepeatStep>(step.node), body);
    }
  }

  void call(const StepFunction& function, std::string& body) {
    const std::string name = functions_.add(function.text);
    std::string arguments = "H";
    for (const ArrayId id : function.arrays) arguments += ", " + array_name(id);
    for (const VarId var : function.counters) arguments += ", " + var_name(var);
    body += fmt::format("if ((failed = {}({}))) goto done;\n", name, arguments);
  }

  void call(const OpaqueStep& step, std::string& body) {
    const auto list = [](const std::vector<ArrayId>& arrays) {
      std::vector<std::string> names;
      for (const ArrayId id : arrays) names.push_back(array_name(id));
      return names.empty() ? "NULL" : fmt::format("{}", fmt::join(names, ", "));
    };
    body += fmt::format(
        "{{\nconst void* operands[] = {{{}}};\nvoid* results[] = {{{}}};\nif ((failed = H->opaque(H->self, {}, "
        "operands, results))) goto done;\n}}\n",
        list(step.statement->operands), list(step.statement->results), step.number);
  }

  // A carried array moves between its result and a second buffer, such that the last step ends in the result.
  void repeat(const RepeatStep& step, std::string& body) {
    const Repeat& node = *step.repeat;
    const int64_t count = program_.indices[node.counter].extent;
    const auto& carries = layout_.carries.at(&node);
    const auto& in_place = layout_.stacks_in_place.at(&node);
    std::string before, start, end, swap;
    for (size_t i = 0; i < node.carries.size(); ++i) {
      const auto& [inner, init, next] = node.carries[i];
      const std::string result = array_name(node.results[i]), to = fmt::format("next{}", inner);
      before += fmt::format("const {}* {} = {};\n(void){};\n", type_of(inner), array_name(inner), array_name(init),
                            array_name(inner));
      if (carries[i].extra >= 0)
        start += fmt::format("{}* {} = ({} - {}) & 1 ? ({}*)(workspace + {}) : {};\n", type_of(inner), to, count - 1,
                             var_name(step.counter), type_of(inner), carries[i].extra, result);
      else
        start += fmt::format("{}* {} = {};\n", type_of(inner), to, result);
      if (carries[i].writes_next)
        start += fmt::format("{}* {} = {};\n", type_of(next), array_name(next), to);
      else if (bytes_of(inner) > 0)
        end += fmt::format("ll_copy({}, {}, (size_t){});\n", to, array_name(next), bytes_of(inner));
      swap += fmt::format("{} = {};\n", array_name(inner), to);
      if (count == 0 && bytes_of(inner) > 0)
        before += fmt::format("ll_copy({}, {}, (size_t){});\n", result, array_name(init), bytes_of(inner));
    }
    for (size_t i = 0; i < node.stacked.size(); ++i) {
      const ArrayId id = node.stacked[i];
      const std::string slot = fmt::format("{} + {} * {}", array_name(node.results[node.carries.size() + i]),
                                           var_name(step.counter), size_of(array(id).shape));
      if (in_place[i])
        start += fmt::format("{}* {} = {};\n", type_of(id), array_name(id), slot);
      else if (bytes_of(id) > 0)
        end += fmt::format("ll_copy({}, {}, (size_t){});\n", slot, array_name(id), bytes_of(id));
    }
    std::string inside;
    steps(step.body, inside);
    body += "{\n" + before;
    const std::string stop =
        node.condition == none ? "" : fmt::format("if (!*{}) break;\n", array_name(node.condition));
    if (count > 0)
      body += fmt::format("for (int64_t {} = 0; {} < {}; ++{}) {{\n{}{}{}{}{}}}\n", var_name(step.counter),
                          var_name(step.counter), count, var_name(step.counter), stop, start, inside, end, swap);
    if (count > 0 && node.condition != none) body += leave(node);
    body += "}\n";
  }

  // After a step that was not known to be the last one, or none at all, the carried arrays may lie elsewhere.
  std::string leave(const Repeat& node) {
    std::string copies;
    for (size_t i = 0; i < node.carries.size(); ++i) {
      const std::string inner = array_name(node.carries[i].inner), result = array_name(node.results[i]);
      if (const int64_t bytes = bytes_of(node.results[i]); bytes > 0)
        copies += fmt::format("if ((const void*){} != {}) ll_copy({}, {}, (size_t){});\n", inner, result, result, inner,
                              bytes);
    }
    return copies;
  }

  const Program& program_;
  SteppedProgram& stepped_;
  const Layout& layout_;
  const std::vector<Kernel>& kernels_;
  size_t next_kernel_ = 0;
  std::string symbol_;
  StepFunctions& functions_;
  std::string tables_;
};

// The product stands once in the text, so that all programs are planned for one blocking.
const ProductBlocking& blocking_of(const std::vector<PlannedProgram>& planned) {
  const ProductBlocking& first = planned[0].stepped.target.product;
  for (const PlannedProgram& each : planned) LL_CHECK(each.stepped.target.product == first);
  return first;
}

// For hosts, before they say how many threads there are.
std::string start_threads(std::string_view symbol) {
  return fmt::format(R"(/* Starts threads for the caller's thread, which OpenMP keeps; returns how many there are. */
int {}_threads(int wanted) {{
  int threads = 1;
#ifdef _OPENMP
#pragma omp parallel num_threads(wanted)
#pragma omp single
  threads = omp_get_num_threads();
#endif
  return threads;
}}
)",
                     symbol);
}

}  // namespace

std::string emit_c(std::vector<PlannedProgram> planned, std::string_view symbol) {
  StepFunctions functions;
  std::string text;
  for (size_t i = 0; i < planned.size(); ++i) {
    const std::string name = planned.size() == 1 ? std::string(symbol) : fmt::format("{}_{}", symbol, i);
    text += ProgramWriter(planned[i], name, functions).run();
  }
  std::string prelude;
  for (const std::string_view part : {prelude_base, prelude_narrow, prelude_math, prelude_special}) prelude += part;
  const auto uses = [&](std::string_view word) { return functions.text().find(word) != std::string::npos; };
  if (uses("ll_byte_ones")) prelude += prelude_hidden;
  for (const auto& [type, suffix] : {std::pair("float", "f32"), std::pair("double", "f64")})
    if (uses(fmt::format("ll_multiply_{}", suffix))) prelude += product_prelude(blocking_of(planned), type, suffix);
  return prelude + indent(functions.text()) + text + start_threads(symbol);
}

Result<std::string> emit_c(const Program& program, std::string_view symbol) {
  return emit_c(std::vector<const Program*>{&program}, symbol);
}

Result<std::string> emit_c(const std::vector<const Program*>& programs, std::string_view symbol) {
  return emit_c(programs, std::vector<const Schedule*>(programs.size(), nullptr), symbol);
}

Result<std::string> emit_c(const Program& program, const Schedule& schedule, std::string_view symbol) {
  return emit_c({&program}, {&schedule}, symbol);
}

Result<std::string> emit_c(const std::vector<const Program*>& programs, const std::vector<const Schedule*>& schedules,
                           std::string_view symbol) {
  LL_CHECK(programs.size() == schedules.size());
  std::vector<PlannedProgram> planned;
  for (size_t i = 0; i < programs.size(); ++i) {
    LL_TRY(PlannedProgram each,
           schedules[i] == nullptr ? plan_program(*programs[i]) : plan_program(*programs[i], *schedules[i]));
    planned.push_back(std::move(each));
  }
  return emit_c(std::move(planned), symbol);
}

}  // namespace lightline::loops
