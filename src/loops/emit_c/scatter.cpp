// Scatters: a copy of the initial array, then the domain in order.
#include <fmt/format.h>

#include <algorithm>

#include "loops/emit_c/function.h"
#include "loops/emit_c/row.h"

namespace lightline::loops::c {
namespace {

class ScatterWriter {
 public:
  ScatterWriter(SteppedProgram& stepped, const ScatterStep& step, const ScatterKernel& kernel)
      : stepped_(stepped),
        step_(step),
        kernel_(kernel),
        writer_(stepped.nodes),
        result_(stepped.program.arrays[step.result]) {}

  StepFunction run(const std::string& name) {
    initialise();
    if (step_.body != none) scatter();
    StepFunction function = wrap_function(stepped_.program, name, writer_, {step_.result}, writer_.close());
    return function;
  }

 private:
  Nodes& nodes() { return stepped_.nodes; }

  void initialise() {
    const int64_t size = size_of(result_.shape);
    if (size == 0) return;
    const std::string to = array_name(step_.result);
    if (step_.init == none) {
      writer_.line(fmt::format("const {} fill = {};", storage_type(result_.dtype),
                               to_storage(result_.dtype, writer_.value(step_.fill))));
      writer_.line(fmt::format(
          "{}for (int64_t i = 0; i < {}; ++i) {}[i] = fill;",
          kernel_.threads_fill ? "#pragma omp parallel for simd num_threads(LL_THREADS) schedule(static)\n" : "", size,
          to));
    } else {
      writer_.use(step_.init);
      const std::string from = array_name(step_.init);
      writer_.line(fmt::format("if ((const void*){} != (const void*){}) ll_copy({}, {}, (size_t){});", to, from, to,
                               from, size * byte_size(result_.dtype)));
    }
  }

  void scatter() {
    for (const NodeId root : {kernel_.position, kernel_.value, kernel_.guard == none ? kernel_.value : kernel_.guard})
      nodes().for_each(root, [&](const Node& node, NodeId) {
        if (node.kind == NodeKind::load)
          writer_.set_access(node.array, {array_name(node.array), stepped_.program.arrays[node.array].dtype});
      });
    if (!kernel_.loops.empty()) return loops();
    writer_.open();
    point();
    const std::string text = writer_.close();
    writer_.line("{\n" + text + "}");
  }

  void loops() {
    const std::vector<VarId>& order = kernel_.loops;
    const bool pieces = kernel_.share == ScatterKernel::Share::pieces;
    const std::string pragma = "#pragma omp parallel for num_threads(LL_THREADS) schedule(static)\n";
    const VarId last = order.back();
    const int64_t extent = nodes().extent(last);
    if (pieces) writer_.open();
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      writer_.open();
      writer_.bring(order[i]);
    }
    Row row{.var = last,
            .from = "0",
            .to = std::to_string(extent),
            .guards = kernel_.guards,
            .body = [&] { point(); },
            .is_vector = kernel_.is_vector};
    if (pieces) {
      row.from = fmt::format("piece * {}", kernel_.piece);
      row.to = fmt::format("ll_min_index({}, (piece + 1) * {})", extent, kernel_.piece);
    }
    write_row(nodes(), writer_, row);
    for (size_t i = order.size() - 1; i-- > 0;) {
      const std::string body = writer_.close();
      writer_.line((i == 0 && kernel_.share == ScatterKernel::Share::outermost ? pragma : "") +
                   loop_head(var_name(order[i]), "0", std::to_string(nodes().extent(order[i]))) + body + "}");
    }
    if (!pieces) return;
    const std::string body = writer_.close();
    writer_.line(pragma + loop_head("piece", "0", std::to_string(kernel_.pieces)) + body + "}");
  }

  void point() {
    const std::string value = writer_.value(kernel_.value);
    const std::string guard = kernel_.guard == none ? "1" : writer_.value(kernel_.guard);
    const std::string place = fmt::format("{}[{}]", array_name(step_.result), writer_.index(kernel_.position));
    const DType type = compute_type(result_.dtype);
    std::string combined = value;
    if (step_.reducer != Reducer::set)
      combined = combine_text(step_.reducer, type, from_storage(result_.dtype, place), value);
    const std::string condition = guard == "1" ? "" : fmt::format("if ({}) ", guard);
    if (step_.reducer == Reducer::set)
      return writer_.line(fmt::format("{}{} = {};", condition, place, to_storage(result_.dtype, combined)));
    const std::string next = writer_.fresh("x");
    writer_.line(fmt::format("{}{{\nconst {} {} = {};\n{} = {};\n}}", condition, value_type(type), next, combined,
                             place, to_storage(result_.dtype, next)));
  }

  SteppedProgram& stepped_;
  const ScatterStep& step_;
  const ScatterKernel& kernel_;
  Writer writer_;
  const Array& result_;
};

}  // namespace

StepFunction emit_scatter(SteppedProgram& stepped, const ScatterStep& step, const ScatterKernel& kernel,
                          const std::string& name) {
  return ScatterWriter(stepped, step, kernel).run(name);
}

}  // namespace lightline::loops::c
