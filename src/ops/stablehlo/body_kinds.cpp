// What the bodies of reductions, scatters, selections and sorts are, told from their graphs in one place.
#include <algorithm>
#include <cmath>

#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops::stablehlo {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using Part = SortKey::Part;

// A body, and who makes which value of it.
class Reader {
 public:
  explicit Reader(const Graph& body) : body_(body), maker_(graph::makers(body)) {}

  const Node* maker(ValueId id) const { return id < maker_.size() ? maker_[id] : nullptr; }
  ValueId input(size_t i) const { return body_.inputs[i].value; }
  ValueId output(size_t i) const { return body_.outputs[i].value; }
  bool has(size_t inputs, size_t outputs) const {
    return body_.inputs.size() == inputs && body_.outputs.size() == outputs;
  }
  std::optional<size_t> input_of(ValueId id) const {
    for (size_t i = 0; i < body_.inputs.size(); ++i)
      if (input(i) == id) return i;
    return std::nullopt;
  }
  DType dtype(ValueId id) const { return body_.values[id].type ? body_.values[id].type->dtype : DType::f32; }

  // The operands of `id`, if it is made by this operator.
  std::vector<ValueId> parts(ValueId id, std::string_view target) const {
    const Node* node = maker(id);
    return node != nullptr && node->target == target ? operand_ids(*node) : std::vector<ValueId>{};
  }
  const graph::Argument* argument(ValueId id, std::string_view name) const {
    return maker(id) != nullptr ? node_argument(*maker(id), name) : nullptr;
  }
  std::string_view word(ValueId id, std::string_view name) const {
    const graph::Argument* value = argument(id, name);
    const auto* text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
    return text != nullptr ? std::string_view(*text) : std::string_view();
  }
  bool says(ValueId id, std::string_view name) const { return argument(id, name) != nullptr; }
  // The number that a constant of floats is.
  std::optional<double> number(ValueId id) const {
    const graph::Argument* value =
        maker(id) != nullptr && maker(id)->target == "stablehlo.constant" ? argument(id, "value") : nullptr;
    const auto* reals = value != nullptr ? std::get_if<std::vector<double>>(value) : nullptr;
    return reals != nullptr && reals->size() == 1 ? std::optional((*reals)[0]) : std::nullopt;
  }
  bool compares(ValueId id, std::string_view direction, ValueId a, ValueId b) const {
    return parts(id, "stablehlo.compare") == std::vector{a, b} && word(id, "comparison_direction") == direction;
  }

 private:
  const Graph& body_;
  std::vector<const Node*> maker_;
};

// ---- (accumulated, element) -> accumulated ----

std::optional<Reducer> reducer_named(std::string_view target, DType dtype) {
  const bool boolean = dtype == DType::boolean;
  if (target == "stablehlo.add") return boolean ? Reducer::any : Reducer::sum;
  if (target == "stablehlo.multiply") return boolean ? Reducer::all : Reducer::prod;
  if (dtype == DType::c64) return std::nullopt;
  if (target == "stablehlo.maximum") return boolean ? Reducer::any : Reducer::max;
  if (target == "stablehlo.minimum") return boolean ? Reducer::all : Reducer::min;
  if (boolean && target == "stablehlo.and") return Reducer::all;
  if (boolean && target == "stablehlo.or") return Reducer::any;
  return std::nullopt;
}

std::optional<Reducer> reducer_of(const Reader& body) {
  if (!body.has(2, 1)) return std::nullopt;
  const ValueId a = body.input(0), b = body.input(1), result = body.output(0);
  if (result == b) return Reducer::set;
  const Node* node = body.maker(result);
  if (node == nullptr) return std::nullopt;
  const auto ids = operand_ids(*node);
  if (ids != std::vector{a, b} && ids != std::vector{b, a}) return std::nullopt;
  const bool is_sum = node->target == "stablehlo.add" || node->target == "stablehlo.multiply";
  if (body.says(result, "unsigned") && !is_sum) return std::nullopt;
  if (body.says(result, "result_width") && is_sum) return std::nullopt;  // what is accumulated has more bits
  return reducer_named(node->target, body.dtype(result));
}

// ---- (value, position, other value, other position) -> (value, position) ----

// As JAX writes argmax: picked = a > b or a != a; taken = picked or (a == b and i < j).
KeptExtreme extreme_of(const Reader& body) {
  if (!body.has(4, 2)) return KeptExtreme::none;
  const ValueId a = body.input(0), i = body.input(1), b = body.input(2), j = body.input(3);
  const auto value = body.parts(body.output(0), "stablehlo.select"),
             position = body.parts(body.output(1), "stablehlo.select");
  if (value.size() != 3 || position.size() != 3 || value[1] != a || value[2] != b || position[1] != i ||
      position[2] != j)
    return KeptExtreme::none;
  ValueId order = value[0];
  if (const auto either = body.parts(order, "stablehlo.or"); either.size() == 2) {  // floats: NaN counts too
    if (!body.compares(either[1], "NE", a, a)) return KeptExtreme::none;
    order = either[0];
  }
  const auto taken = body.parts(position[0], "stablehlo.or");
  if (taken.size() != 2 || taken[0] != value[0]) return KeptExtreme::none;
  const auto tie = body.parts(taken[1], "stablehlo.and");
  const bool first = tie.size() == 2 && body.compares(tie[0], "EQ", a, b) && body.compares(tie[1], "LT", i, j);
  if (!first || body.maker(order) == nullptr || body.says(order, "unsigned")) return KeptExtreme::none;
  if (body.compares(order, "GT", a, b)) return KeptExtreme::greatest;
  return body.compares(order, "LT", a, b) ? KeptExtreme::least : KeptExtreme::none;
}

// (a, b) -> whether a is kept: of equals the first.
KeptExtreme selected_of(const Reader& body) {
  if (!body.has(2, 1)) return KeptExtreme::none;
  if (body.compares(body.output(0), "GE", body.input(0), body.input(1))) return KeptExtreme::greatest;
  return body.compares(body.output(0), "LE", body.input(0), body.input(1)) ? KeptExtreme::least : KeptExtreme::none;
}

// ---- (left 0, right 0, left 1, right 1, ...) -> whether the left ones come first ----

class Comparator {
 public:
  explicit Comparator(const Reader& body) : body_(body) {}

  std::optional<std::vector<SortKey>> keys() const {
    std::vector<SortKey> found;
    if (!read(body_.output(0), found, 0)) return std::nullopt;
    return found;
  }

 private:
  static constexpr int deepest = 64;

  // first < second; or first < second or (first == second and the rest); or a choice between the two.
  bool read(ValueId id, std::vector<SortKey>& keys, int depth) const {
    if (depth > deepest) return false;
    if (const auto key = ordered(id)) {
      keys.push_back(*key);
      return true;
    }
    if (const auto either = body_.parts(id, "stablehlo.or"); either.size() == 2) {
      const auto key = ordered(either[0]);
      const auto rest = body_.parts(either[1], "stablehlo.and");
      if (!key || rest.size() != 2 || !equal(rest[0], *key)) return false;
      keys.push_back(*key);
      return read(rest[1], keys, depth + 1);
    }
    if (const auto choice = body_.parts(id, "stablehlo.select"); choice.size() == 3) {
      const auto key = ordered(choice[2]);
      if (!key || !equal(choice[0], *key)) return false;
      keys.push_back(*key);
      return read(choice[1], keys, depth + 1);
    }
    return false;
  }

  std::optional<SortKey> ordered(ValueId id) const {
    const auto sides = body_.parts(id, "stablehlo.compare");
    if (sides.size() != 2) return std::nullopt;
    const auto left = source(sides[0], 0), right = source(sides[1], 0);
    const std::string_view how = body_.word(id, "comparison_direction");
    if (!left || !right || left->part != right->part || (how != "LT" && how != "GT")) return std::nullopt;
    const size_t i = left->argument, j = right->argument;
    const bool swapped = i == j + 1 && j % 2 == 0, straight = j == i + 1 && i % 2 == 0;
    if (!swapped && !straight) return std::nullopt;
    const bool total = body_.word(id, "compare_type") == "TOTALORDER" && !(left->one_nan && right->one_nan);
    return SortKey{std::min(i, j) / 2, left->part, (how == "GT") != swapped, body_.says(id, "unsigned"), total};
  }
  bool equal(ValueId id, const SortKey& key) const {
    const auto sides = body_.parts(id, "stablehlo.compare");
    if (sides.size() != 2 || body_.word(id, "comparison_direction") != "EQ") return false;
    const auto left = source(sides[0], 0), right = source(sides[1], 0);
    return left && right && left->argument != right->argument && left->part == key.part && right->part == key.part &&
           left->argument / 2 == key.operand && right->argument / 2 == key.operand;
  }

  // The one argument that a value comes from: itself, a part of it, or either with its zeros and NaNs made alike.
  struct Source {
    size_t argument;
    Part part = Part::whole;
    bool one_nan = false;
  };
  std::optional<Source> source(ValueId id, int depth) const {
    if (depth > deepest) return std::nullopt;
    if (const auto i = body_.input_of(id)) return Source{*i};
    for (const auto& [target, part] :
         {std::pair("stablehlo.real", Part::real), std::pair("stablehlo.imag", Part::imag)})
      if (const auto of = body_.parts(id, target); of.size() == 1) {
        auto whole = source(of[0], depth + 1);
        if (whole) whole->part = part;
        return whole;
      }
    return made_alike(id, depth);
  }
  // if(x == 0, 0, x) or if(x != x, nan, x)
  std::optional<Source> made_alike(ValueId id, int depth) const {
    const auto choice = body_.parts(id, "stablehlo.select");
    const auto test = choice.size() == 3 ? body_.parts(choice[0], "stablehlo.compare") : std::vector<ValueId>{};
    const auto one = choice.size() == 3 ? body_.number(choice[1]) : std::nullopt;
    if (test.size() != 2 || !one) return std::nullopt;
    const std::string_view how = body_.word(choice[0], "comparison_direction");
    const bool zeros = how == "EQ" && *one == 0 && body_.number(test[1]) == 0.0;
    const bool nans = how == "NE" && std::isnan(*one) && test[0] == test[1];
    auto kept = source(choice[2], depth + 1);
    const auto tested = source(test[0], std::max(depth + 1, deepest - 2));  // no tree of tests
    if (!kept || !tested || tested->argument != kept->argument || tested->part != kept->part || (!zeros && !nans))
      return std::nullopt;
    kept->one_nan |= nans;
    return kept;
  }

  const Reader& body_;
};

}  // namespace

BodyKind recognised(const graph::Graph& body) {
  const Reader reader(body);
  BodyKind kind;
  for (const graph::Output& output : body.outputs)
    if (output.value == graph::no_value) return kind;
  kind.reducer = reducer_of(reader);
  kind.extreme = extreme_of(reader);
  kind.selected = selected_of(reader);
  if (!body.inputs.empty() && body.inputs.size() % 2 == 0 && body.outputs.size() == 1)
    kind.keys = Comparator(reader).keys();
  return kind;
}

}  // namespace lightline::ops::stablehlo
