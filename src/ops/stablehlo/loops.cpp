// StableHLO: while. A loop whose steps can be counted before it runs is a repeat of so many steps; any other one goes
// on while its condition holds.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ops/build/counted_loop.h"
#include "ops/library/reduction/reduction.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;
using graph::Graph;
using graph::Node;
using graph::ValueId;

// Who makes which value of a body, and how often it is used.
struct Uses {
  std::vector<const Node*> maker;
  std::vector<int> count;

  explicit Uses(const Graph& body) : maker(graph::makers(body)), count(body.values.size(), 0) {
    const auto use = [&](ValueId id) {
      if (id != graph::no_value) ++count[id];
    };
    for (const Node& node : body.nodes)
      for (const graph::NamedArgument& argument : node.arguments) {
        if (const auto* ref = std::get_if<graph::ValueRef>(&argument.value)) use(ref->id);
        if (const auto* list = std::get_if<std::vector<ValueId>>(&argument.value))
          for (const ValueId id : *list) use(id);
      }
    for (const graph::Output& output : body.outputs) use(output.value);
  }
};

// start + step * trip
struct Induction {
  Subscript start;
  int64_t step = 0;
};

// Carried tensors that collect one slice per trip: dynamic_update_slice at an affine place.
struct Collected {
  int64_t dim = 0;
  int64_t first = 0;  // place of the first trip
  int64_t step = 1;
};

class Loop {
 public:
  explicit Loop(OpCall& c)
      : call_(c),
        l_(c.lowering()),
        init_(operands(c)),
        condition_(region(c, 0)),
        body_(region(c, 1)),
        condition_captures_(captures(c, 0)),
        body_captures_(captures(c, 1)),
        uses_(body_) {
    require(body_.outputs.size() == init_.size() && body_.inputs.size() == init_.size() + body_captures_.size() &&
                condition_.inputs.size() == init_.size() + condition_captures_.size() && condition_.outputs.size() == 1,
            "a while gives back what it carries");
  }

  void run() {
    for (size_t i = 0; i < init_.size(); ++i) {
      require(body_.outputs[i].value != graph::no_value, "a while gives back what it carries");
      invariant_.push_back(body_.outputs[i].value == body_.inputs[i].value);
    }
    for (size_t i = 0; i < init_.size(); ++i) induction_.push_back(invariant_[i] ? std::nullopt : induction(i));
    const auto count = known_steps();
    if (!count) return data_dependent();
    if (*count <= 0) {
      for (const SymbolicTensor& tensor : init_) call_.add_result(tensor);
      return;
    }
    for (size_t i = 0; i < init_.size(); ++i)
      collected_.push_back(invariant_[i] || induction_[i] ? std::nullopt : collected(i, *count));
    repeat(*count);
  }

 private:
  // ---- what is known before the loop runs ----

  // The value of an integer scalar of a body, in terms of what is outside the loop.
  std::optional<Subscript> outside(const Graph& graph, const std::vector<const Node*>& maker,
                                   const std::vector<SymbolicTensor>& captured, ValueId id) {
    for (size_t i = 0; i < init_.size(); ++i)
      if (graph.inputs[i].value == id) return invariant_[i] ? scalar_index(init_[i]) : std::nullopt;
    for (size_t i = 0; i < captured.size(); ++i)
      if (graph.inputs[init_.size() + i].value == id) return scalar_index(captured[i]);
    const Node* node = maker[id];
    if (!node) return std::nullopt;
    if (node->target == "stablehlo.constant") {
      const auto* list = std::get_if<std::vector<int64_t>>(node_argument(*node, "value"));
      return list && list->size() == 1 ? std::optional(l_.constant_index((*list)[0])) : std::nullopt;
    }
    const auto ids = operand_ids(*node);
    if (ids.size() == 1 && (node->target == "stablehlo.convert" || node->target == "stablehlo.reshape"))
      return outside(graph, maker, captured, ids[0]);
    return std::nullopt;
  }
  std::optional<Subscript> scalar_index(const SymbolicTensor& tensor) {
    if (tensor.size() != 1) return std::nullopt;
    return l_.known_index(tensor, Indices(tensor.shape.size(), l_.constant_index(0)));
  }

  std::optional<Induction> induction(size_t i) {
    const Node* node = uses_.maker[body_.outputs[i].value];
    if (!node || init_[i].size() != 1 || !is_integer(init_[i].dtype)) return std::nullopt;
    const bool adds = node->target == "stablehlo.add", subtracts = node->target == "stablehlo.subtract";
    const auto ids = operand_ids(*node);
    if ((!adds && !subtracts) || ids.size() != 2) return std::nullopt;
    const ValueId self = body_.inputs[i].value;
    const bool right = adds && ids[1] == self;
    if (!right && ids[0] != self) return std::nullopt;
    const auto step = outside(body_, uses_.maker, body_captures_, right ? ids[0] : ids[1]);
    const auto start = scalar_index(init_[i]);
    if (!start || !step || !step->sum.terms.empty() || !is_modest(step->sum.constant)) return std::nullopt;
    return Induction{*start, adds ? step->sum.constant : -step->sum.constant};
  }

  // How often the condition holds, if that does not depend on data.
  std::optional<int64_t> known_steps() {
    const Uses uses(condition_);
    const Node* compare = uses.maker[condition_.outputs[0].value];
    if (!compare || compare->target != "stablehlo.compare") return std::nullopt;
    const auto ids = operand_ids(*compare);
    const auto* text = std::get_if<std::string>(node_argument(*compare, "comparison_direction"));
    const auto test = text ? counter_test(*text, {"LT", "LE", "GT", "GE", "NE"}) : std::nullopt;
    if (ids.size() != 2 || !test) return std::nullopt;
    for (const bool swapped : {false, true}) {
      const auto counter = counter_of(uses, ids[swapped ? 1 : 0]);
      const auto bound = outside(condition_, uses.maker, condition_captures_, ids[swapped ? 0 : 1]);
      if (!counter || !bound) continue;
      const Sum distance = (*bound - counter->start).sum;
      if (!distance.terms.empty() || counter->step == 0) return std::nullopt;
      return counted_steps(swapped ? mirrored(*test) : *test, distance.constant, counter->step);
    }
    return std::nullopt;
  }
  std::optional<Induction> counter_of(const Uses& uses, ValueId id) const {
    for (size_t i = 0; i < init_.size(); ++i)
      if (condition_.inputs[i].value == id) return induction_[i];
    const Node* node = uses.maker[id];
    if (node == nullptr || node->target != "stablehlo.convert") return std::nullopt;
    const auto ids = operand_ids(*node);
    return ids.size() == 1 ? counter_of(uses, ids[0]) : std::nullopt;
  }

  // The place of an update as first + step * trip, through sums with constants.
  std::optional<Induction> affine(ValueId id, int depth = 0) {
    for (size_t i = 0; i < init_.size(); ++i)
      if (body_.inputs[i].value == id && induction_[i]) return induction_[i];
    if (const auto fixed = outside(body_, uses_.maker, body_captures_, id)) return Induction{*fixed, 0};
    const Node* node = uses_.maker[id];
    if (!node || depth > 8) return std::nullopt;
    const auto ids = operand_ids(*node);
    if (node->target == "stablehlo.convert" && ids.size() == 1) return affine(ids[0], depth + 1);
    const bool adds = node->target == "stablehlo.add", subtracts = node->target == "stablehlo.subtract";
    if ((!adds && !subtracts) || ids.size() != 2) return std::nullopt;
    const auto a = affine(ids[0], depth + 1), b = affine(ids[1], depth + 1);
    if (!a || !b) return std::nullopt;
    if (adds) return Induction{a->start + b->start, a->step + b->step};
    return Induction{a->start - b->start, a->step - b->step};
  }

  std::optional<Collected> collected(size_t i, int64_t count) {
    const ValueId self = body_.inputs[i].value;
    const Node* node = uses_.maker[body_.outputs[i].value];
    if (!node || node->target != "stablehlo.dynamic_update_slice" || node->results.size() != 1 ||
        uses_.count[self] != 1 || uses_.count[node->results[0]] != 1)
      return std::nullopt;
    const auto ids = operand_ids(*node);
    if (ids.size() != 2 + init_[i].shape.size() || ids[0] != self || !body_.values[ids[1]].type) return std::nullopt;
    const Shape &whole = init_[i].shape, &slice = body_.values[ids[1]].type->shape;
    Collected result;
    bool found = false;
    for (size_t d = 0; d < whole.size(); ++d) {
      const auto place = affine(ids[2 + d]);
      if (slice[d] == whole[d]) continue;  // a slice of the full extent always begins at 0
      if (!place || !place->start.sum.terms.empty() || slice[d] != 1 || found) return std::nullopt;
      found = true;
      result.dim = int64_t(d);
      result.first = place->start.sum.constant;
      result.step = place->step;
    }
    if (!found) {  // a tensor of one slice
      if (whole.empty() || whole[0] != 1 || count != 1) return std::nullopt;
      result.first = 0;
    }
    const int64_t last = result.first + (count - 1) * result.step, extent = whole[size_t(result.dim)];
    const bool inside = std::min(result.first, last) >= 0 && std::max(result.first, last) < extent;
    return inside && (result.step != 0 || count == 1) ? std::optional(result) : std::nullopt;
  }

  // ---- the loop ----

  void repeat(int64_t count) {
    std::vector<size_t> carried, stacked;
    std::vector<std::shared_ptr<std::optional<SymbolicTensor>>> slices(init_.size());
    std::vector<SymbolicTensor> outer = init_;
    for (size_t i = 0; i < init_.size(); ++i) {
      if (invariant_[i] || induction_[i]) continue;
      (collected_[i] ? stacked : carried).push_back(i);
      if (!collected_[i]) continue;
      slices[i] = std::make_shared<std::optional<SymbolicTensor>>();
      outer[i] = stand_in(i, slices[i]);
    }
    std::vector<SymbolicTensor> start;
    for (const size_t i : carried) start.push_back(init_[i]);
    const auto results = l_.repeat(count, start, [&](const Subscript& trip, const std::vector<SymbolicTensor>& now) {
      std::vector<SymbolicTensor> inputs = outer;
      for (size_t k = 0; k < carried.size(); ++k) inputs[carried[k]] = now[k];
      for (size_t i = 0; i < init_.size(); ++i)
        if (induction_[i]) inputs[i] = counter(i, trip);
      inputs.insert(inputs.end(), body_captures_.begin(), body_captures_.end());
      const std::vector<SymbolicTensor> outputs = call_.lower_graph(body_, inputs);
      RepeatYield yield;
      for (const size_t i : carried) yield.next.push_back(checked(i, outputs[i]));
      for (const size_t i : stacked) {
        LL_CHECK(slices[i]->has_value());
        yield.stacked.push_back(l_.squeeze(**slices[i], collected_[i]->dim));
      }
      return yield;
    });
    std::vector<SymbolicTensor> finals = init_;
    for (size_t k = 0; k < carried.size(); ++k) finals[carried[k]] = results[k];
    for (size_t k = 0; k < stacked.size(); ++k)
      finals[stacked[k]] = placed(stacked[k], results[carried.size() + k], count);
    for (size_t i = 0; i < init_.size(); ++i)
      if (induction_[i]) finals[i] = known_scalar(init_[i], induction_[i]->start + induction_[i]->step * count);
    for (const SymbolicTensor& tensor : finals) call_.add_result(tensor);
  }

  const SymbolicTensor& checked(size_t i, const SymbolicTensor& next) const {
    require(next.dtype == init_[i].dtype && next.shape == init_[i].shape,
            "a while changes the type of what it carries");
    return next;
  }

  // What the body updates instead of a collected tensor.
  SymbolicTensor stand_in(size_t i, const std::shared_ptr<std::optional<SymbolicTensor>>& slice) {
    const Literal zero = init_[i].dtype == DType::boolean ? Literal::of_bool(false) : Literal::of(int64_t(0));
    const SymbolicTensor result = l_.constant(init_[i].dtype, init_[i].shape, {zero});
    Formula formula;
    formula.value = StackedUpdate{slice};
    l_.know(result, std::move(formula));
    return result;
  }

  SymbolicTensor known_scalar(const SymbolicTensor& like, const Subscript& index) {
    const SymbolicTensor result =
        l_.map(like.dtype, like.shape, [&](const Indices&) { return convert(value(index), like.dtype); });
    Formula formula;
    formula.index = [index](const Indices&) -> std::optional<Subscript> { return index; };
    if (index.sum.terms.empty()) formula.constant = Literal::of(index.sum.constant);
    l_.know(result, std::move(formula));
    return result;
  }
  SymbolicTensor counter(size_t i, const Subscript& trip) {
    return known_scalar(init_[i], induction_[i]->start + trip * induction_[i]->step);
  }

  // The stack's first dimension in the place of the one that collects, over what was there before.
  SymbolicTensor placed(size_t i, const SymbolicTensor& stack, int64_t count) {
    const Collected& collect = *collected_[i];
    const Shape& whole = init_[i].shape;
    std::vector<int64_t> order;
    for (int64_t d = 1; d < int64_t(whole.size()); ++d) order.push_back(d);
    order.insert(order.begin() + collect.dim, 0);
    const SymbolicTensor slices = collect.dim == 0 ? stack : l_.permute(stack, order);
    const Shape& shape = slices.shape;
    if (count == whole[size_t(collect.dim)] && std::abs(collect.step) == 1)
      return collect.step == 1 || count == 1 ? slices : l_.slice(slices, collect.dim, count - 1, count, -1);
    return l_.scatter(Reducer::set, init_[i], shape, [&](const Indices& at) {
      Indices target = at;
      target[size_t(collect.dim)] = at[size_t(collect.dim)] * collect.step + collect.first;
      return ScatterWrite{target, l_.read(slices, at)};
    });
  }

  // Whether it goes on is carried beside what it carries.
  void data_dependent() {
    const auto goes_on = [&](std::vector<SymbolicTensor> values) {
      values.insert(values.end(), condition_captures_.begin(), condition_captures_.end());
      return call_.lower_graph(condition_, values)[0];
    };
    std::vector<size_t> carried;
    std::vector<SymbolicTensor> start{goes_on(init_)};
    require(start[0].dtype == DType::boolean && start[0].shape.empty(), "the condition of a while is one truth value");
    for (size_t i = 0; i < init_.size(); ++i)
      if (!invariant_[i]) carried.push_back(i);
    for (const size_t i : carried) start.push_back(init_[i]);
    const auto step = [&](const Subscript&, const std::vector<SymbolicTensor>& now) {
      std::vector<SymbolicTensor> inputs = init_;
      for (size_t k = 0; k < carried.size(); ++k) inputs[carried[k]] = now[k + 1];
      inputs.insert(inputs.end(), body_captures_.begin(), body_captures_.end());
      const std::vector<SymbolicTensor> outputs = call_.lower_graph(body_, inputs);
      std::vector<SymbolicTensor> values = init_;
      for (const size_t i : carried) values[i] = checked(i, outputs[i]);
      RepeatYield yield;
      yield.next.push_back(goes_on(values));
      for (const size_t i : carried) yield.next.push_back(values[i]);
      return yield;
    };
    const auto results = l_.repeat(most_steps, start, step, true);
    call_.assumptions.push_back("a while loop ends when its data say so: the work of its steps is not counted");
    std::vector<SymbolicTensor> finals = init_;
    for (size_t k = 0; k < carried.size(); ++k) finals[carried[k]] = results[k + 1];
    for (const SymbolicTensor& tensor : finals) call_.add_result(tensor);
  }

  static constexpr int64_t most_steps = INT32_MAX;  // of a loop that ends by its data: more would not come to an end

  OpCall& call_;
  Lowering& l_;
  std::vector<SymbolicTensor> init_;
  const Graph &condition_, &body_;
  std::vector<SymbolicTensor> condition_captures_, body_captures_;
  Uses uses_;
  std::vector<bool> invariant_;
  std::vector<std::optional<Induction>> induction_;
  std::vector<std::optional<Collected>> collected_;
};

// chlo.scan: a body (slices, carried) -> (slices of the results, carried), along one dimension of the inputs.
void define_scan(OpCall& c) {
  Lowering& l = c.lowering();
  const std::vector<SymbolicTensor> all = operands(c);
  const auto segments = node_integers(c.node(), "operandSegmentSizes");
  const int64_t inits = segments.size() == 2 ? segments[1] : c.integer("init_count");
  require(inits >= 0 && inits < int64_t(all.size()), "a scan needs inputs beside the values it carries");
  const std::vector<SymbolicTensor> inputs(all.begin(), all.end() - inits), start(all.end() - inits, all.end());
  const int64_t dim = wrap_dim(c.integer("dimension"), inputs[0].rank());
  const int64_t count = inputs[0].shape[size_t(dim)];
  std::vector<SymbolicTensor> slices;  // in the order in which they are taken
  for (const SymbolicTensor& input : inputs) {
    require(input.rank() > dim && input.shape[size_t(dim)] == count, "the inputs of a scan differ in length");
    slices.push_back(c.flag("is_reverse", false) ? l.slice(input, dim, count - 1, count, -1) : input);
  }
  const auto captured = captures(c, 0);
  const auto results = l.repeat(count, start, [&](const Subscript& step, const std::vector<SymbolicTensor>& now) {
    std::vector<SymbolicTensor> arguments;
    for (const SymbolicTensor& input : slices) arguments.push_back(l.select(input, dim, step));
    arguments.insert(arguments.end(), now.begin(), now.end());
    arguments.insert(arguments.end(), captured.begin(), captured.end());
    const std::vector<SymbolicTensor> outputs = c.lower_graph(region(c, 0), arguments);
    require(int64_t(outputs.size()) >= inits, "the body of a scan gives too few values");
    RepeatYield yield;
    yield.stacked.assign(outputs.begin(), outputs.end() - inits);
    yield.next.assign(outputs.end() - inits, outputs.end());
    for (size_t k = 0; k < yield.next.size(); ++k)
      require(yield.next[k].dtype == now[k].dtype && yield.next[k].shape == now[k].shape,
              "a scan carries a value that changes its type");
    return yield;
  });
  for (size_t k = start.size(); k < results.size(); ++k) {
    std::vector<int64_t> order;  // the dimension of the steps comes first
    for (int64_t d = 1; d < results[k].rank(); ++d) order.push_back(d);
    require(dim <= int64_t(order.size()), "a result of a scan has too few dimensions");
    order.insert(order.begin() + dim, 0);
    SymbolicTensor stacked = l.permute(results[k], order);
    if (c.flag("is_reverse", false)) stacked = l.slice(stacked, dim, count - 1, count, -1);
    c.add_result(stacked);
  }
  for (size_t k = 0; k < start.size(); ++k) c.add_result(results[k]);
}

}  // namespace

void register_stablehlo_loops(Registry& r) {
  r.add("stablehlo.while", "operands", [](OpCall& c) { Loop(c).run(); });
  r.add("chlo.scan", "operands", define_scan);
}

}  // namespace lightline::ops
