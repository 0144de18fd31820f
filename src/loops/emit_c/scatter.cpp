// Scatters: a copy of the initial array, then the domain in order.
#include <fmt/format.h>

#include <algorithm>

#include "loops/emit_c/function.h"
#include "loops/emit_c/row.h"

namespace lightline::loops::c {
namespace {

class ScatterWriter {
 public:
  ScatterWriter(SteppedProgram& stepped, const ScatterStep& step)
      : stepped_(stepped), step_(step), writer_(stepped.nodes), result_(stepped.program.arrays[step.result]) {}

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
          double(size) > 10 * parallel_points ? "#pragma omp parallel for simd schedule(static)\n" : "", size, to));
    } else {
      writer_.use(step_.init);
      const std::string from = array_name(step_.init);
      writer_.line(fmt::format("if ((const void*){} != (const void*){}) ll_copy({}, {}, (size_t){});", to, from, to,
                               from, size * byte_size(result_.dtype)));
    }
  }

  // A loop whose points write to different elements, whatever the others do.
  bool is_disjoint(VarId var) {
    return std::ranges::any_of(step_.target, [&](NodeId target) { return nodes().is_var(target, var); });
  }

  bool is_checked_along(VarId var) {
    bool found = false;
    for (const NodeId root : values_)
      nodes().for_each(root, [&](const Node& node, NodeId id) {
        found |= node.kind == NodeKind::checked && nodes().depends(id, var);
      });
    return found;
  }

  void scatter() {
    const auto flatten = [&](NodeId value) {
      return nodes().flatten(value, [&](ArrayId array) { return row_major(stepped_.program.arrays[array].shape); });
    };
    std::vector<NodeId> target;
    for (const NodeId subscript : step_.target) target.push_back(flatten(subscript));
    position_ = nodes().position(target, row_major(result_.shape));
    value_ = flatten(step_.body);
    values_ = {value_};
    if (step_.guard != none) values_.push_back(guard_ = flatten(step_.guard));
    for (const NodeId root : {position_, value_, values_.back()})
      nodes().for_each(root, [&](const Node& node, NodeId) {
        if (node.kind == NodeKind::load)
          writer_.set_access(node.array, {array_name(node.array), stepped_.program.arrays[node.array].dtype});
      });
    if (!step_.domain.empty()) return loops(step_.domain);
    writer_.open();
    point();
    const std::string text = writer_.close();
    writer_.line("{\n" + text + "}");
  }

  // Threads share a disjoint loop, which may run outside the others: the writes to one element keep their order.
  // If that is the innermost one, each thread takes a piece of it through all the others.
  void loops(std::vector<VarId> order) {
    const auto shared =
        std::ranges::find_if(order, [&](VarId var) { return step_.points > parallel_points && is_disjoint(var); });
    const bool threads = shared != order.end();
    const bool pieces = threads && shared + 1 == order.end();
    if (threads && !pieces) std::rotate(order.begin(), shared, shared + 1);
    const std::string pragma = "#pragma omp parallel for schedule(static)\n";
    const VarId last = order.back();
    const int64_t extent = nodes().extent(last), width = std::max<int64_t>(32, (extent + 15) / 16),
                  count = (extent + width - 1) / width;
    if (pieces) writer_.open();
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      writer_.open();
      writer_.bring(order[i]);
    }
    Row row{.var = last,
            .from = "0",
            .to = std::to_string(extent),
            .values = values_,
            .body = [&] { point(); },
            .is_vector = is_disjoint(last) && !is_checked_along(last)};
    if (pieces) {
      row.from = fmt::format("piece * {}", width);
      row.to = fmt::format("ll_min_index({}, (piece + 1) * {})", extent, width);
    }
    write_row(nodes(), writer_, row);
    for (size_t i = order.size() - 1; i-- > 0;) {
      const std::string body = writer_.close();
      writer_.line((i == 0 && threads && !pieces ? pragma : "") +
                   loop_head(var_name(order[i]), "0", std::to_string(nodes().extent(order[i]))) + body + "}");
    }
    if (!pieces) return;
    const std::string body = writer_.close();
    writer_.line(pragma + loop_head("piece", "0", std::to_string(count)) + body + "}");
  }

  void point() {
    const std::string value = writer_.value(value_);
    const std::string guard = guard_ == none ? "1" : writer_.value(guard_);
    const std::string place = fmt::format("{}[{}]", array_name(step_.result), writer_.index(position_));
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
  Writer writer_;
  const Array& result_;
  NodeId position_ = none;
  NodeId guard_ = none;
  NodeId value_ = none;
  std::vector<NodeId> values_;
};

}  // namespace

StepFunction emit_scatter(SteppedProgram& stepped, const ScatterStep& step, const std::string& name) {
  return ScatterWriter(stepped, step).run(name);
}

}  // namespace lightline::loops::c
