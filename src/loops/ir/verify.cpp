#include "loops/ir/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "loops/ir/affine.h"
#include "loops/ir/opaque_signature.h"
#include "loops/ir/print.h"
#include "loops/ir/source.h"
#include "loops/ir/types.h"
#include "loops/ir/walk.h"

namespace lightline::loops {
namespace {

class Verifier {
 public:
  Verifier(Program& program, std::string_view text, std::string_view file)
      : program_(program),
        text_(text),
        file_(file),
        types_(program, text, file),
        defined_(program.arrays.size(), false) {}

  Status run() {
    for (const Array& array : program_.arrays)
      if (const auto count = element_count(array.shape); !count.ok() || *count > (int64_t(1) << 56))
        return error(array.position, ErrorCode::limit,
                     fmt::format("'{}' of shape {} has too many elements", array.name, to_string(array.shape)),
                     "arrays hold at most 2^56 elements");
    for (const ArrayId input : program_.inputs) LL_DO(define(input, program_.arrays[input].position));
    LL_DO(block(program_.statements));
    return outputs();
  }

 private:
  Error error(Position at, ErrorCode code, std::string message, std::string hint = "") const {
    return {code, std::move(message), std::move(hint), place(text_, file_, at)};
  }
  const Array& array(ArrayId id) const { return program_.arrays[id]; }

  Status define(ArrayId id, Position at) {
    if (id >= program_.arrays.size())
      return error(at, ErrorCode::internal, "a statement names an array that does not exist");
    if (defined_[id])
      return error(at, ErrorCode::name, fmt::format("'{}' is defined twice", array(id).name),
                   "every array is defined once");
    defined_[id] = true;
    order_.push_back(id);
    return Ok{};
  }
  Status use(ArrayId id, Position at) const {
    if (id >= program_.arrays.size() || !defined_[id])
      return error(at, ErrorCode::name,
                   fmt::format("'{}' is used before it is defined", id < program_.arrays.size() ? array(id).name : "?"),
                   "arrays are defined before they are read");
    return Ok{};
  }

  Status outputs() {
    std::vector<ArrayId> replaced;
    for (const Output& output : program_.outputs) {
      LL_DO(use(output.array, none));
      if (output.replaces == none) continue;
      const Array &from = array(output.array), &to = array(output.replaces);
      if (std::find(program_.inputs.begin(), program_.inputs.end(), output.replaces) == program_.inputs.end())
        return error(to.position, ErrorCode::name,
                     fmt::format("'{}' is replaced by an output but is not an input", to.name), "'as' names an input");
      if (from.dtype != to.dtype || from.shape != to.shape)
        return error(from.position, ErrorCode::shape,
                     fmt::format("'{}' can not take the storage of '{}': {}{} is not {}{}", from.name, to.name,
                                 name(from.dtype), to_string(from.shape), name(to.dtype), to_string(to.shape)));
      if (std::find(replaced.begin(), replaced.end(), output.replaces) != replaced.end())
        return error(to.position, ErrorCode::name, fmt::format("two outputs replace '{}'", to.name));
      replaced.push_back(output.replaces);
    }
    return Ok{};
  }

  Status block(std::vector<Statement>& statements) {
    for (Statement& statement : statements) {
      LL_DO(std::visit([&](auto& node) { return check(node, statement.position); }, statement.node));
    }
    return Ok{};
  }

  // ---- statements ----
  Status check(Compute& compute, Position at) {
    const Array& result = array(compute.result);
    if (compute.loops.size() != result.shape.size())
      return error(
          at, ErrorCode::shape,
          fmt::format("'{}' has {} but its loops bind {}", result.name, counted(result.shape.size(), "dimension"),
                      counted(compute.loops.size(), "index", "indices")),
          "bind one index per dimension, in order");
    IndexId scan = none;
    size_t scan_dimension = 0;
    bool empty_domain = false;
    for (size_t i = 0; i < compute.loops.size(); ++i) {
      const Index& index = program_.indices[compute.loops[i]];
      if (index.extent != result.shape[i])
        return error(at, ErrorCode::shape,
                     fmt::format("index '{}' runs to {} but dimension {} of '{}' is {}", index.name, index.extent, i,
                                 result.name, result.shape[i]));
      empty_domain |= index.extent == 0;
      if (index.kind != IndexKind::scan) continue;
      if (scan != none)
        return error(at, ErrorCode::unsupported, fmt::format("'{}' scans over two indices", result.name),
                     "scan over one index; use repeat for more");
      scan = compute.loops[i];
      scan_dimension = i;
    }
    for (const IndexId reduced : compute.reduced) empty_domain |= program_.indices[reduced].extent == 0;
    if (scan != none) LL_DO(define(compute.result, result.position));
    scan_ = {compute.result, scan, scan_dimension};
    empty_domain_ = empty_domain;
    LL_TRY(const ValueType body, types_.infer(compute.body));
    LL_DO(settle_statement(compute, body, at));
    LL_DO(check_reads(compute.body));
    scan_ = {};
    if (compute.is_view) LL_DO(check_view(compute, at));
    if (scan == none) LL_DO(define(compute.result, result.position));
    return Ok{};
  }

  Status check_view(const Compute& compute, Position at) {
    const Expr& body = program_.exprs[compute.body];
    const Array& result = array(compute.result);
    if (body.kind != ExprKind::read || body.has_fill || compute.reducer != Reducer::none)
      return error(body.position, ErrorCode::type, fmt::format("the view '{}' is not a plain read", result.name),
                   "a view is one read without a fill; use for otherwise");
    if (array(body.args[0]).dtype != result.dtype)
      return error(at, ErrorCode::type,
                   fmt::format("the view '{}' is {} but reads {}", result.name, name(result.dtype),
                               name(array(body.args[0]).dtype)),
                   "a view keeps the dtype; use for to convert");
    for (uint32_t i = 0; i < body.args[2]; ++i)
      if (interval_of(program_, subscripts_of(program_, body)[i]).data_dependent)
        return error(body.position, ErrorCode::type,
                     fmt::format("the view '{}' has a subscript that depends on data", result.name),
                     "use for instead of view");
    return Ok{};
  }

  Status settle_statement(Compute& compute, const ValueType& body, Position at) {
    const Array& result = array(compute.result);
    const DType wanted = compute_type(result.dtype);
    if (compute.has_accumulator &&
        (!is_float(compute.accumulator) || (compute.reducer != Reducer::sum && compute.reducer != Reducer::prod)))
      return error(
          at, ErrorCode::type,
          fmt::format("{}[{}] is not a floating sum or product", name(compute.reducer), name(compute.accumulator)),
          "accumulators are float dtypes, for sum and prod");
    if (compute.reducer == Reducer::argmax || compute.reducer == Reducer::argmin)
      return settle_position(compute, body, at);
    if (compute.has_accumulator) return settle_accumulated(compute, body);
    if (body.is_typed() && body.type != wanted) return mismatch(compute.body, body.type, result);
    if (!body.is_typed()) LL_DO(types_.settle(compute.body, wanted));
    LL_DO(check_reducer(compute, wanted));
    compute.accumulator = is_integer(wanted) ? DType::i64 : wanted;
    return Ok{};
  }

  Status settle_position(Compute& compute, const ValueType& body, Position at) {
    const Array& result = array(compute.result);
    if (result.dtype != DType::i64 && result.dtype != DType::i32)
      return error(
          result.position, ErrorCode::type,
          fmt::format("'{}' gives positions, but '{}' is {}", name(compute.reducer), result.name, name(result.dtype)),
          "declare it as i64 or i32");
    for (const IndexId index : compute.reduced)
      if (program_.indices[index].extent == 0)
        return error(at, ErrorCode::range, fmt::format("'{}' over no elements has no value", name(compute.reducer)),
                     "give every reduced index an extent of 1 or more");
    LL_DO(types_.settle(compute.body, body.is_typed()                                 ? body.type
                                      : body.kind == ValueType::Kind::integer_literal ? DType::i64
                                                                                      : DType::f32));
    const DType type = program_.exprs[compute.body].type;
    LL_DO(check_ordered(compute, type, "convert with i64(...)"));
    compute.accumulator = type;
    return Ok{};
  }

  Status settle_accumulated(const Compute& compute, const ValueType& body) {
    const Array& result = array(compute.result);
    const DType wanted = compute_type(result.dtype), accumulated = compute_type(compute.accumulator);
    const DType own = body.is_typed() ? body.type : wanted;
    if (own != DType::f32 && own != DType::f64)
      return error(program_.exprs[compute.body].position, ErrorCode::type,
                   fmt::format("{}[{}] can not add {}", name(compute.reducer), name(compute.accumulator), name(own)),
                   fmt::format("convert with {}(...)", name(compute.accumulator)));
    if (!body.is_typed()) LL_DO(types_.settle(compute.body, own));
    if (wanted != own && wanted != accumulated) return mismatch(compute.body, own, result);
    return Ok{};
  }

  Status check_reducer(const Compute& compute, DType type) const {
    const Position at = program_.exprs[compute.body].position;
    switch (compute.reducer) {
      case Reducer::sum:
      case Reducer::prod:
        if (type != DType::boolean) return Ok{};
        return error(at, ErrorCode::type, fmt::format("'{}' does not combine bool", name(compute.reducer)),
                     "count with i64(...), or use and, or");
      case Reducer::max:
      case Reducer::min: return check_ordered(compute, type, "use and, or");
      case Reducer::all:
      case Reducer::any:
        if (type == DType::boolean) return Ok{};
        return error(at, ErrorCode::type, fmt::format("'{}' needs bool, not {}", name(compute.reducer), name(type)),
                     "compare first: x[i] != 0");
      default: return Ok{};
    }
  }
  Status check_ordered(const Compute& compute, DType type, const char* instead_of_bool) const {
    if (type != DType::boolean && type != DType::c64) return Ok{};
    return error(program_.exprs[compute.body].position, ErrorCode::type,
                 fmt::format("'{}' needs ordered numbers, not {}", name(compute.reducer), name(type)),
                 type == DType::boolean ? instead_of_bool : "take real(...) or abs(...)");
  }
  Error mismatch(ExprId body, DType found, const Array& result) const {
    return error(program_.exprs[body].position, ErrorCode::type,
                 fmt::format("'{}' is {} but its value is {}", result.name, name(result.dtype), name(found)),
                 fmt::format("convert with {}(...)", name(result.dtype)));
  }

  Status check(Scatter& scatter, Position at) {
    const Array& result = array(scatter.result);
    const DType wanted = compute_type(result.dtype);
    if (scatter.target.size() != result.shape.size())
      return error(at, ErrorCode::shape,
                   fmt::format("'{}' has {} but the scatter names {}", result.name,
                               counted(result.shape.size(), "dimension"), counted(scatter.target.size(), "subscript")));
    if (scatter.init_array != none) {
      LL_DO(use(scatter.init_array, at));
      const Array& init = array(scatter.init_array);
      if (init.dtype != result.dtype || init.shape != result.shape)
        return error(at, ErrorCode::shape,
                     fmt::format("'{}' is {}{} but starts from '{}', which is {}{}", result.name, name(result.dtype),
                                 to_string(result.shape), init.name, name(init.dtype), to_string(init.shape)));
    } else {
      LL_TRY(const ValueType literal, types_.infer(scatter.init_literal));
      if (literal.is_typed() && literal.type != wanted)
        return error(program_.exprs[scatter.init_literal].position, ErrorCode::type,
                     fmt::format("'{}' is {} but starts from {}", result.name, name(result.dtype), name(literal.type)),
                     "start from a literal of its type");
      LL_DO(types_.settle(scatter.init_literal, wanted));
    }
    const bool logical = scatter.reducer == Reducer::all || scatter.reducer == Reducer::any;
    const bool ordered = scatter.reducer == Reducer::max || scatter.reducer == Reducer::min;
    if (logical != (wanted == DType::boolean) && scatter.reducer != Reducer::set)
      return error(at, ErrorCode::type,
                   fmt::format("'scatter {}' does not combine {}", name(scatter.reducer), name(wanted)),
                   logical ? "use it on bool arrays" : "use and, or, set on bool arrays");
    if (ordered && wanted == DType::c64)
      return error(at, ErrorCode::type, fmt::format("'scatter {}' does not combine c64", name(scatter.reducer)));
    empty_domain_ = false;
    for (const IndexId index : scatter.domain) empty_domain_ |= program_.indices[index].extent == 0;
    LL_TRY(const ValueType body, types_.infer(scatter.body));
    if (body.is_typed() && body.type != wanted) return mismatch(scatter.body, body.type, result);
    if (!body.is_typed()) LL_DO(types_.settle(scatter.body, wanted));
    LL_DO(check_reads(scatter.body));
    for (size_t i = 0; i < scatter.target.size(); ++i)
      LL_DO(check_subscript(scatter.target[i], result, i, scatter.drop_outside, true));
    return define(scatter.result, result.position);
  }

  Status check(Constant& constant, Position at) {
    const Array& result = array(constant.result);
    const int64_t count = *element_count(result.shape);
    if (int64_t(constant.values.size()) != count && constant.values.size() != 1)
      return error(at, ErrorCode::shape,
                   fmt::format("'{}' has {} but {} given", result.name, counted(size_t(count), "element"),
                               constant.values.size() == 1 ? "1 value is"
                                                           : fmt::format("{} values are", constant.values.size())),
                   "give all values in row-major order, or one for all");
    for (size_t i = 0; i < constant.values.size(); ++i) {
      const Literal& value = constant.values[i];
      const bool fits = value.kind == Literal::Kind::boolean   ? result.dtype == DType::boolean
                        : value.kind == Literal::Kind::integer ? result.dtype != DType::boolean
                                                               : is_float(result.dtype) || result.dtype == DType::c64;
      if (!fits)
        return error(at, ErrorCode::type,
                     fmt::format("value {} of '{}' does not fit {}", i, result.name, name(result.dtype)),
                     "bool takes true and false, integers take integers, floats take both");
    }
    return define(constant.result, result.position);
  }

  Status check(Opaque& opaque, Position at) {
    for (const ArrayId operand : opaque.operands) LL_DO(use(operand, at));
    if (Status status = check_opaque(program_, opaque); !status.ok()) {
      Error problem = status.error();
      problem.where = place(text_, file_, at);
      return problem;
    }
    for (const ArrayId result : opaque.results) LL_DO(define(result, at));
    return Ok{};
  }

  Status check(Repeat& repeat, Position at) {
    for (const Repeat::Carry& carry : repeat.carries) LL_DO(use(carry.init, at));
    const size_t outside = order_.size();
    for (const Repeat::Carry& carry : repeat.carries) {
      LL_DO(define(carry.inner, array(carry.inner).position));
    }
    if (repeat.condition != none) LL_DO(check_condition(repeat, at));
    LL_DO(block(repeat.body));
    const int64_t count = program_.indices[repeat.counter].extent;
    for (size_t i = 0; i < repeat.carries.size(); ++i) {
      const Repeat::Carry& carry = repeat.carries[i];
      LL_DO(use(carry.next, at));
      const Array &inner = array(carry.inner), &next = array(carry.next), &result = array(repeat.results[i]);
      if (next.dtype != inner.dtype || next.shape != inner.shape)
        return error(
            next.position, ErrorCode::shape,
            fmt::format("'{}' carries {}{} but '{}', which is {}{}, is yielded for it", inner.name, name(inner.dtype),
                        to_string(inner.shape), next.name, name(next.dtype), to_string(next.shape)));
      LL_DO(same_type(result, inner.dtype, inner.shape));
    }
    for (size_t i = 0; i < repeat.stacked.size(); ++i) {
      LL_DO(use(repeat.stacked[i], at));
      const Array& part = array(repeat.stacked[i]);
      Shape shape{count};
      shape.insert(shape.end(), part.shape.begin(), part.shape.end());
      LL_DO(same_type(array(repeat.results[repeat.carries.size() + i]), part.dtype, shape));
    }
    for (; order_.size() > outside; order_.pop_back()) defined_[order_.back()] = false;
    for (const ArrayId result : repeat.results) LL_DO(define(result, at));
    return Ok{};
  }
  Status check_condition(const Repeat& repeat, Position at) const {
    const Array& condition = array(repeat.condition);
    if (condition.dtype != DType::boolean || !condition.shape.empty())
      return error(at, ErrorCode::type,
                   fmt::format("a repeat goes on while a bool[] holds, but '{}' is {}{}", condition.name,
                               name(condition.dtype), to_string(condition.shape)));
    if (!repeat.stacked.empty())
      return error(at, ErrorCode::shape, "a repeat that may end before its last step stacks nothing");
    return Ok{};
  }
  Status same_type(const Array& result, DType dtype, const Shape& shape) const {
    if (result.dtype == dtype && result.shape == shape) return Ok{};
    return error(result.position, ErrorCode::shape,
                 fmt::format("'{}' is {}{} but the repeat gives {}{}", result.name, name(result.dtype),
                             to_string(result.shape), name(dtype), to_string(shape)));
  }

  // ---- expressions ----
  // Every read below an expression: defined, in range, not in the future of a scan.
  Status check_reads(ExprId id) {
    const Expr& e = program_.exprs[id];
    if (e.kind != ExprKind::read) {
      for (const ExprId operand : operands_of(e)) LL_DO(check_reads(operand));
      return Ok{};
    }
    LL_DO(use(e.args[0], e.position));
    const Array& target = array(e.args[0]);
    if (e.args[2] != target.shape.size())
      return error(e.position, ErrorCode::shape,
                   fmt::format("'{}' has {} but is read with {}", target.name,
                               counted(target.shape.size(), "dimension"), counted(e.args[2], "subscript")));
    for (uint32_t i = 0; i < e.args[2]; ++i)
      LL_DO(check_subscript(subscripts_of(program_, e)[i], target, i, e.has_fill, false));
    if (e.args[0] == scan_.array) return check_past(e);
    return Ok{};
  }

  Status check_past(const Expr& e) const {
    const ExprId subscript = subscripts_of(program_, e)[scan_.dimension];
    const auto affine = affine_of(program_, subscript);
    const std::string& scan = program_.indices[scan_.index].name;
    const bool past = affine && affine->terms.size() == 1 &&
                      affine->terms[0] == std::pair<IndexId, int64_t>(scan_.index, 1) && affine->constant < 0;
    if (past) return Ok{};
    return error(e.position, ErrorCode::range,
                 fmt::format("the scan over '{}' reads '{}' at {}, which is not an earlier element", scan,
                             array(scan_.array).name, print(program_, subscript)),
                 fmt::format("read {} - 1, {} - 2, ... in dimension {}", scan, scan, scan_.dimension));
  }

  Status check_subscript(ExprId id, const Array& target, size_t dimension, bool guarded, bool is_target) {
    LL_TRY(const ValueType type, types_.infer(id));
    const Position at = start_of(id);
    if (type.is_typed() && !is_integer(type.type))
      return error(at, ErrorCode::type,
                   fmt::format("subscript {} of '{}' is {}, not an integer", dimension, target.name, name(type.type)),
                   "convert with i64(...)");
    if (!type.is_typed()) LL_DO(types_.settle(id, DType::i64));
    LL_DO(check_affine(id));
    LL_DO(check_reads(id));
    const Interval interval = interval_of(program_, id);
    if (guarded || interval.data_dependent || empty_domain_) return Ok{};
    const int64_t extent = target.shape[dimension];
    if (interval.low >= 0 && interval.high < extent) return Ok{};
    const int64_t bad = interval.low < 0 ? interval.low : interval.high;
    const std::string outside =
        extent == 0 ? "but that dimension has no elements" : fmt::format("outside 0 to {}", extent - 1);
    return error(at, ErrorCode::range,
                 fmt::format("subscript {} of '{}' can be {}, {}", print(program_, id), target.name, bad, outside),
                 is_target ? "drop writes outside the array with [... | drop]"
                           : fmt::format("say what is read outside with a fill: {}[... | {}]", target.name,
                                         target.dtype == DType::boolean ? "false" : "0"));
  }

  // Where the text of an expression starts; an operator's own position is the operator.
  Position start_of(ExprId id) const {
    const Expr& e = program_.exprs[id];
    const bool leads =
        (e.kind == ExprKind::call || e.kind == ExprKind::cast) && program_.exprs[e.args[0]].position < e.position;
    return leads ? start_of(e.args[0]) : e.position;
  }

  // Indices multiply only by constants, and divide only by positive constants.
  Status check_affine(ExprId id) const {
    const Expr& e = program_.exprs[id];
    for (const ExprId operand : operands_of(e)) LL_DO(check_affine(operand));
    if (e.kind != ExprKind::call) return Ok{};
    const auto is_literal = [&](int i) { return program_.exprs[e.args[i]].kind == ExprKind::literal; };
    if (e.function == Function::mul && !is_literal(0) && !is_literal(1))
      return error(e.position, ErrorCode::type,
                   fmt::format("the subscript {} multiplies two indices", print(program_, id)),
                   "subscripts are affine: multiply an index by a constant");
    if ((e.function == Function::div || e.function == Function::mod) &&
        (!is_literal(1) || program_.exprs[e.args[1]].literal.integer <= 0))
      return error(e.position, ErrorCode::type,
                   fmt::format("the subscript {} does not divide by a positive constant", print(program_, id)));
    return Ok{};
  }

  Program& program_;
  std::string_view text_;
  std::string_view file_;
  TypeChecker types_;
  std::vector<bool> defined_;
  std::vector<ArrayId> order_;  // as defined, so that a block's own arrays can be forgotten
  struct Scan {
    ArrayId array = none;
    IndexId index = none;
    size_t dimension = 0;
  } scan_;
  bool empty_domain_ = false;
};

}  // namespace

Status verify(Program& program, std::string_view text, std::string_view file) {
  return Verifier(program, text, file).run();
}

}  // namespace lightline::loops
