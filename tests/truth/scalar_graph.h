// The scalar operations of an unrolled program: one node per distinct value. Constants are folded, zeros, ones and
// masked scores vanish, and two nodes that are equal as polynomials, however they are spelled, are one.
//
// A node knows one way to compute it (the first that the program spells); other ways are found by `implementations`.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "loops/ir/program.h"
#include "truth/field.h"
#include "truth/value.h"

namespace lightline::truth {

using NodeId = uint32_t;

enum class Kind : uint8_t {
  constant,
  leaf,      // an element of an input
  oracle,    // an element of an opaque result
  linear,    // offset + sum of coefficient * operand
  product,   // of operands; the inverse of a divisor is a call of `divide`
  extremum,  // max or min
  logic,     // and, or
  choice,    // if(condition, a, b) by data
  call,
  cast,      // rounding, or another compute type
  position,  // argmax, argmin
};

// A number and its image modulo the prime: 1 / 3 and back is exact there.
struct Coefficient {
  double number = 0;
  Field field;
  static Coefficient of(double number) { return {number, Field::of(number)}; }
  Coefficient operator*(const Coefficient& other) const { return {number * other.number, field * other.field}; }
  Coefficient operator+(const Coefficient& other) const { return {number + other.number, field + other.field}; }
  bool is_unit() const { return field.is_one() || (-field).is_one(); }
};

struct Term {
  Coefficient coefficient;
  NodeId node = loops::none;
};

struct Node {
  Kind kind = Kind::constant;
  loops::Function function = loops::Function::add;  // extremum, logic, call
  DType type = DType::f32;                          // the compute type
  DType grid = DType::f32;                          // the narrowest type known to hold the value exactly
  Field field;                                      // its value at the random point
  Value value;                                      // its value for the inputs given
  double shift = 0;                                 // what constants add to it: far below 0, it is masked
  double reach = 10;                                // how far from there data can take it, roughly
  std::vector<NodeId> operands;
  std::vector<Coefficient> coefficients;  // linear: one for each operand
  Coefficient offset;                     // linear
  std::vector<NodeId> elements;           // extremum, logic: all it is taken over, through nested ones, sorted
  loops::ArrayId array = loops::none;     // leaf: whose element; else the first array that held this value
  int64_t place = 0;                      // row-major, in `array`
  uint32_t colour = 0;                    // where in the text the value comes from
};

class ScalarGraph {
 public:
  // Nodes made from here on come from this place in the text.
  uint32_t colour = 0;
  // Beyond this many nodes `full` is true and new ones are no longer right.
  size_t limit = 20000;
  bool full() const { return nodes_.size() > limit; }

  NodeId constant(const Value& value);
  NodeId number(DType type, double value) { return constant(Value::of(type, value)); }
  NodeId leaf(loops::ArrayId array, int64_t place, DType stored, const Value& value);
  NodeId oracle(uint64_t identity, std::vector<NodeId> operands, DType stored, const Value& value);
  NodeId linear(std::span<const Term> terms, Coefficient offset, DType type);
  NodeId sum(std::span<const NodeId> operands, DType type);
  NodeId scaled(Coefficient coefficient, NodeId node);
  NodeId product(NodeId a, NodeId b);
  NodeId product(std::span<const NodeId> factors, DType type);
  NodeId inverse(NodeId node);
  NodeId call(loops::Function function, std::span<const NodeId> operands);
  NodeId cast(NodeId node, DType target);
  NodeId extremum(loops::Function function, std::span<const NodeId> operands, DType type);
  NodeId logic(loops::Function function, std::span<const NodeId> operands);
  NodeId position(bool greatest, std::span<const NodeId> operands);

  // The first array that holds this value.
  void settle(NodeId node, loops::ArrayId array, int64_t place);

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  bool is_constant(NodeId id) const { return nodes_[id].kind == Kind::constant; }
  bool is_number(NodeId id, double value) const { return is_constant(id) && nodes_[id].value.number() == value; }
  // node = coefficient * node, as far as that is known.
  Term unscaled(NodeId id) const;
  bool is_boolean(NodeId id) const;  // 0 or 1, in whatever type
  // Masked for certain: no data bring it back from where a constant has put it.
  bool is_far_below(NodeId id, double sign = 1) const;

 private:
  NodeId intern(Node node);
  NodeId signed_intern(Node node);
  NodeId folded(loops::Function function, std::span<const NodeId> operands);
  NodeId arithmetic(loops::Function function, NodeId a, NodeId b);
  NodeId choice(NodeId condition, NodeId a, NodeId b);
  NodeId less(NodeId a, NodeId b);
  NodeId compare(loops::Function function, NodeId a, NodeId b);
  NodeId negation(NodeId condition);
  NodeId power(NodeId base, NodeId exponent);
  NodeId general_call(loops::Function function, std::span<const NodeId> operands);
  std::vector<NodeId> elements_of(Kind kind, loops::Function function, std::span<const NodeId> operands) const;
  NodeId special_sum(std::span<const Term> terms, Coefficient offset, DType type, bool& special);

  struct Key {
    uint64_t field;
    DType type;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return size_t(key.field * 31 + uint64_t(key.type)); }
  };
  std::vector<Node> nodes_;
  std::unordered_map<Key, NodeId, KeyHash> index_;
};

// What a constant added to a score must be at most for the score to count as masked.
inline constexpr double far_below = -1e4;

}  // namespace lightline::truth
