#include "ops/build/lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "loops/ir/words.h"

namespace lightline::ops {

using loops::ArrayId;
using loops::ExprId;
using loops::IndexId;
using loops::IndexKind;
using loops::none;

void fail(std::string message, ErrorCode code) { throw OpError{code, std::move(message)}; }

int64_t product(std::span<const int64_t> extents) {
  int64_t count = 1;
  for (const int64_t extent : extents)
    if (__builtin_mul_overflow(count, extent, &count)) fail("the shape has too many elements", ErrorCode::limit);
  return count;
}

int64_t SymbolicTensor::size() const { return product(shape); }

// ---- values ----

SymbolicTensor Lowering::fresh(DType dtype, Shape shape) {
  for (const int64_t extent : shape) require(extent >= 0, "a result has a negative extent");
  product(shape);
  const ArrayId array = program_.add_array("", dtype, shape);
  storages_.push_back({array});
  return {uint32_t(storages_.size() - 1), none, dtype, std::move(shape), {}};
}

SymbolicTensor Lowering::input(std::string name, DType dtype, Shape shape) {
  SymbolicTensor tensor = fresh(dtype, std::move(shape));
  const ArrayId array = storages_[tensor.storage].array;
  program_.arrays[array].name = unique_name(name);
  program_.inputs.push_back(array);
  return tensor;
}

ArrayId Lowering::array_of(const SymbolicTensor& tensor) {
  const ArrayId base = storages_[tensor.storage].array;
  if (shows_all(tensor)) return base;
  const std::array<uint32_t, 3> key = {base, storages_[tensor.storage].root, tensor.view};
  if (const auto named = named_views_.find(key); named != named_views_.end()) return named->second;
  loops::Compute compute;
  compute.is_view = true;
  const IndexAlgebra::Scope scope(algebra_);
  const Indices index = new_indices(tensor.shape, IndexKind::parallel, compute.loops);
  std::vector<Sum> coordinates;
  for (const Subscript& ix : index) coordinates.push_back(ix.sum);
  const std::vector<Sum> own = coordinates, viewed = stored_coordinates(tensor, index);
  if (viewed == own && program_.arrays[base].shape == tensor.shape) return base;  // views that undo each other
  std::vector<ExprId> subscripts;
  for (const Sum& sum : viewed) subscripts.push_back(algebra_.emit(program_, sum));
  compute.body = program_.read(base, subscripts);
  compute.result = program_.add_array("", tensor.dtype, tensor.shape);
  const ArrayId result = compute.result;
  push({std::move(compute)});
  // A view made inside a repeat block is not visible outside of it.
  if (repeat_depth_ == 0) named_views_.emplace(key, result);
  return result;
}

void Lowering::write(const SymbolicTensor& target, const SymbolicTensor& value) {
  require(target.shape == value.shape || broadcast(target.shape, value.shape) == target.shape,
          "a value that is written does not fit the tensor");
  if (shows_all(target) || target.view == storages_[target.storage].own) {
    const SymbolicTensor whole =
        value.shape == target.shape && shows_all(value) && value.dtype == target.dtype &&
                value.storage != target.storage
            ? value
            : map(target.dtype, target.shape, [&](const Indices& i) { return read_broadcast(value, i); });
    storages_[target.storage].array = storages_[whole.storage].array;
    storages_[target.storage].root = target.view;
    return;
  }
  own_array(target.storage, target.dtype);
  // scatter set into the storage, at the places that the view shows
  const ArrayId base = storages_[target.storage].array;
  loops::Scatter scatter;
  scatter.reducer = Reducer::set;
  scatter.init_array = base;
  const IndexAlgebra::Scope scope(algebra_);
  const Indices index = new_indices(target.shape, IndexKind::parallel, scatter.domain);
  for (const Sum& sum : stored_coordinates(target, index)) scatter.target.push_back(algebra_.emit(program_, sum));
  scatter.body = convert(read_broadcast(value, index), target.dtype).id;
  scatter.result = program_.add_array("", target.dtype, program_.arrays[base].shape);
  storages_[target.storage].array = scatter.result;
  push({std::move(scatter)});
}

// ---- names ----

std::string Lowering::unique_name(std::string_view wish) {
  std::string name;
  for (const char c : wish)
    name += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "v");
  if (loops::is_reserved(name)) name += '_';
  if (names_.insert(name).second) return name;
  for (int64_t& n = name_counts_[name];;) {
    std::string numbered = fmt::format("{}_{}", name, ++n);
    if (names_.insert(numbered).second) return numbered;
  }
}

void Lowering::begin_group(std::string name) {
  group_name_ = std::move(name);
  group_used_ = false;
  group_ = none;
}

void Lowering::end_group() {
  group_ = none;
  group_name_.clear();
}

void Lowering::name_arrays(size_t first, std::string_view node,
                           const std::vector<std::pair<SymbolicTensor, std::string>>& results) {
  for (const auto& [tensor, name] : results) {
    if (!shows_all(tensor)) continue;
    loops::Array& array = program_.arrays[storages_[tensor.storage].array];
    if (array.name.empty()) array.name = unique_name(name);
  }
  for (size_t i = first; i < program_.arrays.size(); ++i)
    if (program_.arrays[i].name.empty()) program_.arrays[i].name = unique_name(fmt::format("{}_t", node));
}

void Lowering::push(loops::Statement statement) {
  if (!group_name_.empty() && !group_used_) {
    program_.groups.push_back(group_name_);
    group_ = uint32_t(program_.groups.size() - 1);
    group_used_ = true;
  }
  statement.group = repeat_depth_ == 0 ? group_ : none;
  block_->push_back(std::move(statement));
}

// ---- statements ----

IndexId Lowering::new_index(int64_t extent, IndexKind kind, size_t ordinal) {
  static constexpr std::string_view parallel[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
  static constexpr std::string_view reduced[] = {"r", "s", "t", "u", "v", "w", "x", "y"};
  const bool is_reduced = kind == IndexKind::reduce;
  std::string name = ordinal < 8 ? std::string(is_reduced ? reduced[ordinal] : parallel[ordinal])
                                 : fmt::format("{}_{}", is_reduced ? "r" : "i", ordinal);
  return program_.add_index(std::move(name), extent, kind);
}

Indices Lowering::new_indices(const Shape& extents, IndexKind kind, std::vector<IndexId>& ids) {
  Indices result;
  for (size_t i = 0; i < extents.size(); ++i) {
    ids.push_back(new_index(extents[i], kind, i));
    result.push_back({this, algebra_.index(ids.back(), extents[i])});
  }
  return result;
}

SymbolicTensor Lowering::map(DType dtype, Shape shape, const Body& body) {
  loops::Compute compute;
  const IndexAlgebra::Scope scope(algebra_);
  const Indices index = new_indices(shape, IndexKind::parallel, compute.loops);
  compute.body = convert(body(index), dtype).id;
  return define(std::move(compute), {dtype, std::move(shape)});
}

SymbolicTensor Lowering::reduce(DType dtype, Shape shape, Reducer reducer, const Shape& extents, const ReduceBody& body,
                                std::optional<DType> accumulator) {
  if (extents.empty() && reducer != Reducer::argmax && reducer != Reducer::argmin)
    return map(dtype, std::move(shape), [&](const Indices& i) { return body(i, {}); });
  loops::Compute compute;
  const IndexAlgebra::Scope scope(algebra_);
  const Indices index = new_indices(shape, IndexKind::parallel, compute.loops);
  const Indices reduced = new_indices(extents.empty() ? Shape{1} : extents, IndexKind::reduce, compute.reduced);
  const bool position = reducer == Reducer::argmax || reducer == Reducer::argmin;
  Scalar value = body(index, reduced);
  if (accumulator) {
    compute.has_accumulator = true;
    compute.accumulator = *accumulator;
  } else if (!position) {
    value = convert(value, compute_type(dtype));
  }
  compute.body = value.id;
  compute.reducer = reducer;
  return define(std::move(compute), {dtype, std::move(shape)});
}

SymbolicTensor Lowering::scan(DType dtype, Shape shape, int64_t dim,
                              const std::function<Scalar(const Indices&, const Self&)>& body) {
  require(dim >= 0 && dim < int64_t(shape.size()), "a scan runs along a dimension of its result");
  const SymbolicTensor result = fresh(dtype, shape);
  loops::Compute compute;
  compute.result = storages_[result.storage].array;
  const IndexAlgebra::Scope scope(algebra_);
  const Indices index = new_indices(shape, IndexKind::parallel, compute.loops);
  program_.indices[compute.loops[size_t(dim)]].kind = IndexKind::scan;
  const Self self = [&](int64_t distance, Literal fill) -> Scalar {
    std::vector<ExprId> subscripts;
    for (size_t i = 0; i < index.size(); ++i) {
      // the scan index must show even if its extent is 1
      const ExprId position = int64_t(i) == dim ? program_.call(Function::sub, program_.index(compute.loops[i]),
                                                                program_.literal(Literal::of(distance)))
                                                : algebra_.emit(program_, index[i].sum);
      subscripts.push_back(position);
    }
    return {this, program_.read(compute.result, subscripts, fill), compute_type(dtype), false};
  };
  compute.body = convert(body(index, self), dtype).id;
  push({std::move(compute)});
  return result;
}

SymbolicTensor Lowering::scatter(Reducer reducer, const SymbolicTensor& init, const Shape& domain,
                                 const ScatterBody& body, bool drop_outside) {
  loops::Scatter scatter;
  scatter.reducer = reducer;
  scatter.init_array = array_of(init);
  scatter.drop_outside = drop_outside;
  return define_scatter(std::move(scatter), {init.dtype, init.shape}, domain, body);
}

SymbolicTensor Lowering::scatter(DType dtype, Shape shape, Literal init, Reducer reducer, const Shape& domain,
                                 const ScatterBody& body, bool drop_outside) {
  loops::Scatter scatter;
  scatter.reducer = reducer;
  scatter.init_literal = program_.literal(init);
  scatter.drop_outside = drop_outside;
  return define_scatter(std::move(scatter), {dtype, std::move(shape)}, domain, body);
}

SymbolicTensor Lowering::define_scatter(loops::Scatter scatter, TensorType type, const Shape& domain,
                                        const ScatterBody& body) {
  const IndexAlgebra::Scope scope(algebra_);
  const Indices index = new_indices(domain, IndexKind::parallel, scatter.domain);
  const ScatterWrite write = body(index);
  for (const Subscript& ix : write.target) scatter.target.push_back(algebra_.emit(program_, ix.sum));
  scatter.body = convert(write.value, type.dtype).id;
  return define(std::move(scatter), std::move(type));
}

SymbolicTensor Lowering::constant(DType dtype, Shape shape, std::vector<Literal> values) {
  return define(loops::Constant{none, std::move(values)}, {dtype, std::move(shape)});
}

std::vector<SymbolicTensor> Lowering::opaque(std::string name, const std::vector<SymbolicTensor>& operands,
                                             std::vector<std::pair<std::string, loops::Attribute>> attributes,
                                             const std::vector<TensorType>& results) {
  loops::Opaque opaque;
  opaque.name = std::move(name);
  for (const SymbolicTensor& operand : operands) opaque.operands.push_back(array_of(operand));
  opaque.attributes = std::move(attributes);
  std::vector<SymbolicTensor> tensors;
  for (const auto& [dtype, shape] : results) {
    tensors.push_back(fresh(dtype, shape));
    opaque.results.push_back(storages_[tensors.back().storage].array);
  }
  push({std::move(opaque)});
  return tensors;
}

std::vector<SymbolicTensor> Lowering::repeat(
    int64_t count, const std::vector<SymbolicTensor>& init,
    const std::function<RepeatYield(const Subscript&, const std::vector<SymbolicTensor>&)>& body, bool conditional) {
  loops::Repeat repeat;
  std::vector<ArrayId> starts;
  for (const SymbolicTensor& tensor : init) starts.push_back(array_of(tensor));
  repeat.counter =
      program_.add_index(repeat_depth_ == 0 ? "step" : fmt::format("step{}", repeat_depth_), count, IndexKind::repeat);
  const IndexAlgebra::Scope scope(algebra_);
  const Subscript step{this, algebra_.index(repeat.counter, count)};
  std::vector<SymbolicTensor> carried;
  for (size_t i = 0; i < init.size(); ++i) {
    carried.push_back(fresh(init[i].dtype, init[i].shape));
    repeat.carries.push_back({storages_[carried.back().storage].array, starts[i], none});
  }
  if (conditional) repeat.condition = repeat.carries.at(0).inner;
  std::vector<loops::Statement>* outer = block_;
  block_ = &repeat.body;
  ++repeat_depth_;
  RepeatYield yield = body(step, carried);
  require(yield.next.size() == init.size(), "a repeat yields every carried tensor");
  for (size_t i = 0; i < init.size(); ++i) repeat.carries[i].next = array_of(yield.next[i]);
  for (const SymbolicTensor& stacked : yield.stacked) repeat.stacked.push_back(array_of(stacked));
  --repeat_depth_;
  block_ = outer;
  std::vector<SymbolicTensor> results;
  for (const SymbolicTensor& tensor : init) results.push_back(fresh(tensor.dtype, tensor.shape));
  for (const SymbolicTensor& tensor : yield.stacked) {
    Shape shape{count};
    shape.insert(shape.end(), tensor.shape.begin(), tensor.shape.end());
    results.push_back(fresh(tensor.dtype, std::move(shape)));
  }
  for (const SymbolicTensor& tensor : results) repeat.results.push_back(storages_[tensor.storage].array);
  if (!results.empty()) push({std::move(repeat)});  // else nobody sees what it does
  return results;
}

// ---- tensors known by formula ----

void Lowering::know(const SymbolicTensor& fresh, Formula formula) {
  LL_CHECK(fresh.view == none);
  formulas_.insert_or_assign(storages_[fresh.storage].array, std::move(formula));
}

const Formula* Lowering::formula_of(const SymbolicTensor& tensor) const {
  const auto found = formulas_.find(storages_[tensor.storage].array);
  return found == formulas_.end() ? nullptr : &found->second;
}

std::optional<Subscript> Lowering::known_index(const SymbolicTensor& tensor, const Indices& at) {
  const Formula* formula = formula_of(tensor);
  if (!formula || !formula->index) return std::nullopt;
  return formula->index(stored_indices(tensor, at));
}

std::optional<int64_t> Lowering::known_constant(const SymbolicTensor& tensor) {
  if (tensor.size() != 1) return std::nullopt;
  const auto index = known_index(tensor, Indices(tensor.shape.size(), constant_index(0)));
  return index && index->sum.terms.empty() ? std::optional(index->sum.constant) : std::nullopt;
}

Indices Lowering::stored_indices(const SymbolicTensor& tensor, const Indices& index) {
  Indices stored;
  for (Sum& sum : stored_coordinates(tensor, index)) stored.push_back({this, std::move(sum)});
  return stored;
}

// ---- reading ----

Scalar Lowering::read(const SymbolicTensor& tensor, const Indices& index) {
  require(int64_t(index.size()) == tensor.rank(),
          fmt::format("a tensor of rank {} is read with {} subscripts", tensor.rank(), index.size()));
  const Formula* formula = formula_of(tensor);
  if (!formula) return read_stored(tensor, index);
  const Indices stored = stored_indices(tensor, index);
  if (formula->index)
    if (const auto known = formula->index(stored)) return convert(value(*known), tensor.dtype);
  return formula->value ? formula->value(stored) : read_stored(tensor, index);
}

Scalar Lowering::read_stored(const SymbolicTensor& tensor, const Indices& index) {
  std::vector<ExprId> subscripts;
  for (const Sum& sum : stored_coordinates(tensor, index)) subscripts.push_back(algebra_.emit(program_, sum));
  return {this, program_.read(storages_[tensor.storage].array, subscripts), compute_type(tensor.dtype), false};
}

Scalar Lowering::read(const SymbolicTensor& tensor, const Indices& index, Literal fill) {
  require(int64_t(index.size()) == tensor.rank(),
          fmt::format("a tensor of rank {} is read with {} subscripts", tensor.rank(), index.size()));
  bool inside = true;
  for (size_t i = 0; i < index.size(); ++i) {
    const Interval range = algebra_.range(index[i].sum);
    inside &= range.low >= 0 && range.high < tensor.shape[i];
  }
  if (inside) return read(tensor, index);
  // Outside is outside the view, so the view needs a name of its own.
  const ArrayId array = array_of(tensor);
  std::vector<ExprId> subscripts;
  for (const Subscript& ix : index) subscripts.push_back(algebra_.emit(program_, ix.sum));
  if (tensor.dtype != DType::boolean && fill.kind == Literal::Kind::boolean) fill = Literal::of(fill.integer);
  if (tensor.dtype == DType::boolean && fill.kind != Literal::Kind::boolean) fill = Literal::of_bool(fill.integer != 0);
  return {this, program_.read(array, subscripts, fill), compute_type(tensor.dtype), false};
}

Scalar Lowering::read_broadcast(const SymbolicTensor& tensor, const Indices& index) {
  require(tensor.shape.size() <= index.size(), "a tensor has more dimensions than the loops that read it");
  Indices own;
  const size_t skip = index.size() - tensor.shape.size();
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    own.push_back(tensor.shape[i] == 1 ? constant_index(0) : index[skip + i]);
  return read(tensor, own);
}

}  // namespace lightline::ops
