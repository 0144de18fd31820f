#include "truth/respell_program.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "loops/ir/parse.h"
#include "loops/ir/print.h"
#include "loops/ir/verify.h"
#include "loops/ir/walk.h"

namespace lightline::truth {
namespace {

using namespace loops;
using Substitution = std::map<IndexId, ExprId>;

// A copy of the expression with other expressions for its indices.
ExprId copied(Program& program, ExprId id, const Substitution& with) {
  const Expr expr = program.exprs[id];
  switch (expr.kind) {
    case ExprKind::index: {
      const auto found = with.find(expr.args[0]);
      return found == with.end() ? program.index(expr.args[0]) : found->second;
    }
    case ExprKind::read: {
      std::vector<ExprId> subscripts;
      for (uint32_t i = 0; i < expr.args[2]; ++i)
        subscripts.push_back(copied(program, program.subscripts[expr.args[1] + i], with));
      return program.read(expr.args[0], subscripts, expr.has_fill ? std::optional(expr.literal) : std::nullopt);
    }
    case ExprKind::cast: return program.cast(expr.target, copied(program, expr.args[0], with));
    case ExprKind::call: {
      ExprId operands[3] = {none, none, none};
      for (int i = 0; i < info(expr.function).arity; ++i) operands[i] = copied(program, expr.args[i], with);
      return program.call(expr.function, operands[0], operands[1], operands[2]);
    }
    case ExprKind::literal: break;
  }
  return program.literal(expr.literal);
}

bool rename(Program& program) {
  for (Array& array : program.arrays) array.name = "z" + array.name;
  for (Index& index : program.indices) index.name += "q";
  return true;
}

bool commute(Program& program, std::mt19937_64& random) {
  bool moved = false;
  for (Expr& expr : program.exprs) {
    if (expr.kind != ExprKind::call || (expr.function != Function::add && expr.function != Function::mul)) continue;
    const auto kind_of = [&](ExprId id) { return program.exprs[id].kind; };
    if (kind_of(expr.args[0]) == ExprKind::literal || kind_of(expr.args[1]) == ExprKind::literal || random() % 2)
      continue;
    std::swap(expr.args[0], expr.args[1]);
    moved = true;
  }
  return moved;
}

std::vector<Compute*> plain_computes(Program& program) {
  std::vector<Compute*> result;
  for (Statement& statement : program.statements)
    if (auto* compute = std::get_if<Compute>(&statement.node)) {
      const bool scans = std::any_of(compute->loops.begin(), compute->loops.end(),
                                     [&](IndexId id) { return program.indices[id].kind == IndexKind::scan; });
      if (!scans && !compute->is_view) result.push_back(compute);
    }
  return result;
}

// Every read of one map, without a fill, becomes the map's body. Storing must not round.
bool inline_map(Program& program, std::mt19937_64& random) {
  auto computes = plain_computes(program);
  std::erase_if(computes, [&](const Compute* compute) {
    const DType stored = program.arrays[compute->result].dtype;
    return compute->reducer != Reducer::none || compute_type(stored) != stored;
  });
  if (computes.empty()) return false;
  const Compute map = *computes[random() % computes.size()];
  std::vector<ExprId> reads;
  for (const Compute* compute : plain_computes(program))
    for_each_expr(program, compute->body, [&](ExprId id) {
      const Expr& expr = program.exprs[id];
      if (expr.kind == ExprKind::read && expr.args[0] == map.result && !expr.has_fill) reads.push_back(id);
    });
  for (const ExprId id : reads) {
    const Expr read = program.exprs[id];
    Substitution with;
    for (size_t d = 0; d < map.loops.size(); ++d)
      with[map.loops[d]] = copied(program, program.subscripts[read.args[1] + d], {});
    const ExprId body = copied(program, map.body, with);
    program.exprs[id] = program.exprs[body];
  }
  return !reads.empty();
}

// A part of a body becomes a statement over the indices it has.
bool outline(Program& program, std::mt19937_64& random) {
  const auto computes = plain_computes(program);
  if (computes.empty()) return false;
  const size_t chosen = random() % computes.size();
  const Compute compute = *computes[chosen];
  std::vector<ExprId> parts;
  std::vector<ExprId> stack{compute.body};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    const Expr& expr = program.exprs[id];
    if (expr.kind == ExprKind::call) parts.push_back(id);
    for (const ExprId operand : operands_of(expr)) stack.push_back(operand);
  }
  if (parts.empty()) return false;
  const ExprId part = parts[random() % parts.size()];
  std::vector<IndexId> used;
  for_each_expr(program, part, [&](ExprId id) {
    const Expr& expr = program.exprs[id];
    if (expr.kind == ExprKind::index && std::find(used.begin(), used.end(), expr.args[0]) == used.end())
      used.push_back(expr.args[0]);
  });
  Compute made;
  Substitution with;
  Shape shape;
  std::vector<ExprId> subscripts;
  for (const IndexId id : used) {
    const Index index = program.indices[id];
    made.loops.push_back(program.add_index(index.name, index.extent, IndexKind::parallel));
    with[id] = program.index(made.loops.back());
    shape.push_back(index.extent);
    subscripts.push_back(program.index(id));
  }
  made.result = program.add_array("outlined", program.exprs[part].type, shape);
  made.body = copied(program, part, with);
  const ExprId read = program.read(made.result, subscripts);
  program.exprs[part] = program.exprs[read];
  const auto place =
      std::find_if(program.statements.begin(), program.statements.end(), [&](const Statement& statement) {
        const auto* other = std::get_if<Compute>(&statement.node);
        return other != nullptr && other->result == compute.result;
      });
  program.statements.insert(place, Statement{made});
  return true;
}

// Arrays that a statement of the program itself defines without reading them, and inputs, with the place after which
// they are there.
struct Definition {
  ArrayId array = none;
  size_t after = 0;
};

std::vector<Definition> definitions_of(const Program& program) {
  std::vector<Definition> places;
  for (const ArrayId input : program.inputs) places.push_back({input, 0});
  for (size_t i = 0; i < program.statements.size(); ++i) {
    const auto* compute = std::get_if<Compute>(&program.statements[i].node);
    if (compute == nullptr || compute->is_view) continue;
    bool scans = false;
    for (const IndexId id : compute->loops) scans |= program.indices[id].kind == IndexKind::scan;
    if (!scans) places.push_back({compute->result, i + 1});
  }
  std::erase_if(places, [&](const Definition& place) { return program.arrays[place.array].shape.empty(); });
  return places;
}

// A map over `shape` whose subscripts into `from` are made of its indices.
Compute map_of(Program& program, ArrayId from, const std::string& name, const Shape& shape,
               const std::function<std::vector<ExprId>(const std::vector<ExprId>&)>& subscripts) {
  Compute map;
  std::vector<ExprId> at;
  for (size_t d = 0; d < shape.size(); ++d) {
    map.loops.push_back(program.add_index("i" + std::to_string(d), shape[d], IndexKind::parallel));
    at.push_back(program.index(map.loops.back()));
  }
  map.result = program.add_array(name, program.arrays[from].dtype, shape);
  map.body = program.read(from, subscripts(at));
  return map;
}

std::vector<ExprId> reversed(const std::vector<ExprId>& at) { return {at.rbegin(), at.rend()}; }

// An array in a row, and back.
std::vector<Compute> reshape_and_back(Program& program, ArrayId array) {
  const Shape shape = program.arrays[array].shape;
  const auto number = [&](int64_t value) { return program.literal(Literal::of(value)); };
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  const Compute row = map_of(program, array, "in_a_row", {size}, [&](const std::vector<ExprId>& at) {
    std::vector<ExprId> subscripts;
    int64_t stride = size;
    for (const int64_t extent : shape) {
      stride /= extent;
      const ExprId digit = program.call(Function::div, at[0], number(stride));
      subscripts.push_back(program.call(Function::mod, digit, number(extent)));
    }
    return subscripts;
  });
  const Compute back = map_of(program, row.result, "and_back", shape, [&](const std::vector<ExprId>& at) {
    ExprId place = at[0];
    for (size_t d = 1; d < shape.size(); ++d)
      place = program.call(Function::add, program.call(Function::mul, place, number(shape[d])), at[d]);
    return std::vector<ExprId>{place};
  });
  return {row, back};
}

std::vector<Compute> put_between(Program& program, const std::string& rule, ArrayId array) {
  const Shape shape = program.arrays[array].shape;
  if (rule == "copy")
    return {map_of(program, array, "copied", shape, [](const std::vector<ExprId>& at) { return at; })};
  if (rule == "reshape and back") return reshape_and_back(program, array);
  const Compute turned = map_of(program, array, "turned", {shape.rbegin(), shape.rend()}, reversed);
  return {turned, map_of(program, turned.result, "turned_back", shape, reversed)};
}

// Whoever reads an array by subscripts reads what is put between.
bool insert_between(Program& program, const std::string& rule, std::mt19937_64& random) {
  const auto places = definitions_of(program);
  if (places.empty()) return false;
  const Definition place = places[random() % places.size()];
  for (const int64_t extent : program.arrays[place.array].shape)
    if (extent == 0) return false;
  std::vector<ExprId> reads;
  for (ExprId id = 0; id < program.exprs.size(); ++id)
    if (program.exprs[id].kind == ExprKind::read && program.exprs[id].args[0] == place.array) reads.push_back(id);
  if (reads.empty()) return false;
  const std::vector<Compute> made = put_between(program, rule, place.array);
  for (const ExprId id : reads) program.exprs[id].args[0] = made.back().result;
  for (size_t i = 0; i < made.size(); ++i)
    program.statements.insert(program.statements.begin() + int64_t(place.after + i), Statement{made[i]});
  return true;
}

}  // namespace

const std::vector<std::string>& program_rules() {
  static const std::vector<std::string> rules = {
      "rename", "commute", "inline", "outline", "copy", "transpose and back", "reshape and back"};
  return rules;
}

std::optional<std::string> respelled_program(const std::string& text, const std::string& rule, uint64_t seed) {
  auto program = parse_and_verify(text, "respelled");
  if (!program.ok()) return std::nullopt;
  std::mt19937_64 random(seed);
  const bool changed = rule == "rename"    ? rename(*program)
                       : rule == "commute" ? commute(*program, random)
                       : rule == "inline"  ? inline_map(*program, random)
                       : rule == "outline" ? outline(*program, random)
                                           : insert_between(*program, rule, random);
  if (!changed) return std::nullopt;
  const std::string result = print(*program);
  if (!parse_and_verify(result, "respelled").ok()) return std::nullopt;
  return result;
}

}  // namespace lightline::truth
