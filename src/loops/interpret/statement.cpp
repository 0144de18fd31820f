#include "loops/interpret/statement.h"

#include <fmt/format.h>

#include <algorithm>

#include "loops/interpret/reduce.h"
#include "loops/ir/element.h"

namespace lightline::loops::interpreter {
namespace {

// The product of index extents, or an error if it leaves i64.
Result<int64_t> point_count(const Program& program, const std::vector<IndexId>& indices, ArrayId result) {
  Shape extents;
  for (const IndexId index : indices) extents.push_back(program.indices[index].extent);
  auto count = element_count(extents);
  if (count.ok()) return *count;
  return Error{
      ErrorCode::limit,
      fmt::format("in '{}': the domain {} has too many points", program.arrays[result].name, to_string(extents)),
      "",
      {}};
}

// Reduced indices in the order they are walked. A short last one makes short runs, which are slow: where order has no
// meaning, the longest goes last instead.
std::vector<IndexId> walking_order(const Program& program, const PreparedCompute& prepared,
                                   std::vector<IndexId> reduced) {
  const bool ordered = prepared.reducer == Reducer::argmax || prepared.reducer == Reducer::argmin ||
                       is_narrow_float(prepared.accumulator);
  if (!ordered && !reduced.empty() && program.indices[reduced.back()].extent < 16)
    std::stable_sort(reduced.begin(), reduced.end(),
                     [&](IndexId a, IndexId b) { return program.indices[a].extent < program.indices[b].extent; });
  return reduced;
}

class ComputeRun {
 public:
  ComputeRun(const PreparedCompute& prepared, BlockMachine& machine, Tensor& result)
      : prepared_(prepared),
        machine_(machine),
        result_(result),
        access_(element_access(result.dtype())),
        domain_(prepared.code.lane_extents) {
    if (prepared.reducer == Reducer::none) return;
    reducer_ = make_reducer(prepared.reducer, prepared.accumulator, result.dtype());
    const DType reduced = reduced_type(prepared.reducer, prepared.accumulator);
    if (reduced != compute_type(result.dtype())) convert_ = lane_cast(reduced, result.dtype());
  }

  Status run() {
    machine_.prepare(prepared_.code);
    for (int64_t step = 0; step < prepared_.steps; ++step) {
      if (prepared_.scan != none) machine_.indices[prepared_.scan] = step;
      step_ = step;
      if (reducer_ == nullptr)
        LL_DO(map());
      else if (prepared_.segment == 0)
        store_empty();
      else
        LL_DO(reduce());
    }
    return Ok{};
  }

 private:
  Status map() {
    domain_.restart();
    for (int64_t done = 0; done < prepared_.elements; done += block_.count) {
      domain_.next(std::min(block_lanes, prepared_.elements - done), block_);
      LL_DO(machine_.run(prepared_.code, block_, prepared_.result));
      store(done, machine_.reg(prepared_.code.results[0]), block_.count);
    }
    return Ok{};
  }

  // A block holds whole segments, or a part of one, cut at the same places in every segment.
  Status reduce() {
    const int64_t segment = prepared_.segment;
    const int64_t points = prepared_.elements * segment;
    domain_.restart();
    int64_t within = 0;  // points of the current segment that are done
    for (int64_t done = 0; done < points; done += block_.count) {
      const int64_t whole = block_lanes / segment * segment;
      domain_.next(std::min(whole > 0 ? whole : block_lanes, whole > 0 ? points - done : segment - within), block_);
      LL_DO(machine_.run(prepared_.code, block_, prepared_.result));
      const std::byte* lanes = machine_.reg(prepared_.code.results[0]);
      const int64_t first_element = done / segment;
      int64_t finished = 0;
      for (int64_t lane = 0; lane < block_.count;) {
        const int64_t count = std::min(segment - within, block_.count - lane);
        if (within == 0) reducer_->begin();
        reducer_->add(lanes, lane, count);
        lane += count;
        within += count;
        if (within < segment) break;
        reducer_->finish(reduced_, finished++);
        within = 0;
      }
      store_reduced(first_element, finished);
    }
    return Ok{};
  }

  void store_empty() {
    reducer_->begin();
    for (int64_t lane = 0; lane < block_lanes; ++lane) reducer_->finish(reduced_, lane);
    for (int64_t done = 0; done < prepared_.elements; done += block_lanes)
      store_reduced(done, std::min(block_lanes, prepared_.elements - done));
  }

  void store_reduced(int64_t first, int64_t count) {
    if (count == 0) return;
    if (convert_ != nullptr) convert_(converted_, reduced_, nullptr, nullptr, count);
    store(first, convert_ != nullptr ? converted_ : reduced_, count);
  }

  // Elements of one scan step lie `inner` together, then `steps` * `inner` apart.
  void store(int64_t first, const std::byte* lanes, int64_t count) {
    if (prepared_.scan == none) return access_.store(result_.data(), first, lanes, count);
    const int64_t bytes = lane_bytes(result_.dtype());
    for (int64_t done = 0; done < count;) {
      const int64_t outer = (first + done) / prepared_.inner;
      const int64_t within = (first + done) % prepared_.inner;
      const int64_t length = std::min(count - done, prepared_.inner - within);
      access_.store(result_.data(), (outer * prepared_.steps + step_) * prepared_.inner + within, lanes + done * bytes,
                    length);
      done += length;
    }
  }

  const PreparedCompute& prepared_;
  BlockMachine& machine_;
  Tensor& result_;
  const ElementAccess& access_;
  std::unique_ptr<SegmentReducer> reducer_;
  LaneFunction convert_ = nullptr;
  LaneDomain domain_;
  Block block_;
  int64_t step_ = 0;
  alignas(64) std::byte reduced_[register_bytes];
  alignas(64) std::byte converted_[register_bytes];
};

}  // namespace

Result<PreparedCompute> prepare_compute(const Program& program, const Compute& compute) {
  PreparedCompute prepared;
  prepared.result = compute.result;
  prepared.reducer = compute.reducer;
  prepared.accumulator = program.exprs[compute.body].type == DType::c64 ? DType::c64 : compute.accumulator;
  std::vector<IndexId> lanes;
  for (const IndexId index : compute.loops) {
    const auto& [name, extent, kind] = program.indices[index];
    if (kind == IndexKind::scan) {
      prepared.scan = index;
      prepared.steps = extent;
      prepared.inner = 1;
    } else {
      lanes.push_back(index);
      prepared.inner *= extent;
    }
  }
  LL_TRY(prepared.elements, point_count(program, lanes, compute.result));
  LL_TRY(prepared.segment, point_count(program, compute.reduced, compute.result));
  const auto reduced = walking_order(program, prepared, compute.reduced);
  lanes.insert(lanes.end(), reduced.begin(), reduced.end());
  LL_DO(point_count(program, lanes, compute.result));

  CodeBuilder builder(program, lanes);
  uint32_t value = builder.value(compute.body);
  if (compute.reducer != Reducer::none)
    value = builder.cast(value, program.exprs[compute.body].type, compute_type(prepared.accumulator));
  prepared.code = builder.finish({value});
  return prepared;
}

Status run_compute(const Program&, const PreparedCompute& prepared, BlockMachine& machine, Tensor& result) {
  return ComputeRun(prepared, machine, result).run();
}

Result<PreparedScatter> prepare_scatter(const Program& program, const Scatter& scatter) {
  PreparedScatter prepared;
  prepared.result = scatter.result;
  prepared.reducer = scatter.reducer;
  prepared.drop_outside = scatter.drop_outside;
  LL_TRY(prepared.points, point_count(program, scatter.domain, scatter.result));
  CodeBuilder builder(program, scatter.domain);
  std::vector<uint32_t> values;
  for (const ExprId target : scatter.target) values.push_back(builder.value(target));
  values.push_back(builder.value(scatter.body));
  prepared.code = builder.finish(values);
  return prepared;
}

Status run_scatter(const Program& program, const PreparedScatter& prepared, BlockMachine& machine, Tensor& result) {
  const Shape& shape = result.shape();
  const ElementAccess& access = element_access(result.dtype());
  const int64_t bytes = lane_bytes(result.dtype());
  const LaneFunction combine = prepared.reducer == Reducer::set
                                   ? nullptr
                                   : lane_function(combining_function(prepared.reducer), compute_type(result.dtype()));
  alignas(16) std::byte old[16];
  alignas(16) std::byte combined[16];
  Block block;
  LaneDomain domain(prepared.code.lane_extents);
  machine.prepare(prepared.code);
  for (int64_t done = 0; done < prepared.points; done += block.count) {
    domain.next(std::min(block_lanes, prepared.points - done), block);
    LL_DO(machine.run(prepared.code, block, prepared.result));
    const std::byte* values = machine.reg(prepared.code.results.back());
    for (int64_t lane = 0; lane < block.count; ++lane) {
      int64_t position = 0;
      bool inside = true;
      for (size_t d = 0; d < shape.size(); ++d) {
        const int64_t subscript = reinterpret_cast<const int64_t*>(machine.reg(prepared.code.results[d]))[lane];
        const bool fits = subscript >= 0 && subscript < shape[d];
        if (!fits && !prepared.drop_outside)
          return Error{ErrorCode::range,
                       fmt::format("in '{}': subscript {} of the target is {}, but its extent is {}",
                                   program.arrays[prepared.result].name, d, subscript, shape[d]),
                       "drop writes outside the array with [... | drop]",
                       {}};
        inside &= fits;
        position = fits ? position * shape[d] + subscript : 0;
      }
      if (!inside) continue;
      const std::byte* value = values + lane * bytes;
      if (combine != nullptr) {
        access.gather(old, result.data(), &position, 1);
        combine(combined, old, value, nullptr, 1);
        value = combined;
      }
      access.store(result.data(), position, value, 1);
    }
  }
  return Ok{};
}

void run_constant(const std::vector<Literal>& values, Tensor& result) {
  with_dtype(result.dtype(), [&]<DType dtype>() {
    using E = Element<dtype>;
    auto elements = result.as<typename E::Stored>();
    for (size_t i = 0; i < elements.size(); ++i) {
      const Literal& value = values.size() == 1 ? values[0] : values[i];
      elements[i] = E::store(value.kind == Literal::Kind::floating ? convert<dtype>(value.floating)
                                                                   : convert<dtype>(value.integer));
    }
  });
}

}  // namespace lightline::loops::interpreter
