// Runs a plan on small programs as docs/schedules.md says, in one of the many orders that this allows.
//
// Every block and every thread is a list of steps; a random one takes the next step, but for the threads of a block
// that wait for a phase. Lanes of a thread take turns at random within each statement. Nothing here asks `verify`.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "loops/interpret/interpret.h"
#include "loops/plan/plan_testing.h"
#include "loops/plan/planned.h"

namespace lightline::loops::plan {

class PlanExecutor {
 public:
  PlanExecutor(const Program& program, const Plan& plan, std::mt19937_64& random)
      : program_(program), plan_(plan), table_(program), random_(random), memory_(program.arrays.size()) {
    for (ArrayId id = 0; id < program.arrays.size(); ++id) memory_[id].assign(size_t(size_of(shape(id))), nothing);
    for (const FoldedStatement& each : plan.schedule.folded) folded_[results_of(table_[each.statement])[0]] = true;
  }

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      for (int64_t k = 0; k < inputs[i].size(); ++k) memory_[program_.inputs[i]][size_t(k)] = inputs[i].get_f64(k);
    for (size_t k = 0; k < plan_.kernels.size(); ++k) run(plan_.schedule.kernels[k], plan_.kernels[k]);
    std::vector<Tensor> outputs;
    for (const Output& output : program_.outputs) {
      Tensor& tensor = outputs.emplace_back(program_.arrays[output.array].dtype, shape(output.array));
      for (int64_t k = 0; k < tensor.size(); ++k) tensor.set_f64(k, memory_[output.array][size_t(k)]);
    }
    return outputs;
  }

 private:
  static constexpr double nothing = std::numeric_limits<double>::quiet_NaN();  // what was never written
  using Numbers = std::vector<int64_t>;
  struct Unit {
    Numbers block, thread;
    auto operator<=>(const Unit&) const = default;
  };
  struct Step {
    size_t place = 0;
    Numbers epoch;  // of its block: all steps of one end before the next
    Numbers order;  // in its thread
    Numbers point;  // values of the statement's own indices
    Numbers lane;
    int half = 0;  // a scatter reads, then writes
  };
  struct Total {
    int64_t left = 0;
    std::map<std::pair<Unit, Numbers>, std::pair<double, double>> parts;  // value and position, by unit and lane
  };

  const Shape& shape(ArrayId id) const { return program_.arrays[id].shape; }
  static int64_t flat(const Shape& extents, const Numbers& at) {
    int64_t position = 0;
    for (size_t d = 0; d < extents.size(); ++d) position = position * extents[d] + at[d];
    return position;
  }
  static Numbers unflat(const Shape& extents, int64_t position) {
    Numbers at(extents.size());
    for (size_t d = extents.size(); d-- > 0; position /= extents[d]) at[d] = position % extents[d];
    return at;
  }
  double rounded(DType dtype, double value) const {
    Tensor one(dtype, {1});
    one.set_f64(0, value);
    return one.get_f64(0);
  }

  // ---- what runs where and when ----
  void run(const ScheduledKernel& kernel, const KernelPlan& plan) {
    kernel_ = &kernel, kernel_plan_ = &plan;
    stages_.clear(), totals_.clear(), filled_.clear(), held_.clear(), places_in_host_.clear();
    any_step_ = 1 + int64_t(random_() % 3);
    std::map<Unit, std::vector<Step>> threads;
    for (size_t place = 0; place < kernel.statements.size(); ++place) add_steps(place, threads);
    std::vector<std::pair<Unit, std::vector<Step>>> list;
    for (auto& [unit, steps] : threads) {
      std::ranges::sort(steps, {}, [](const Step& step) { return std::pair(step.epoch, step.order); });
      list.emplace_back(unit, std::move(steps));
    }
    interleave(list);
    for (auto& [key, total] : totals_)
      if (is_in_blocks(key.first)) finish(key.first, key.second, total, {});
  }

  void add_steps(size_t place, std::map<Unit, std::vector<Step>>& threads) {
    const ScheduledStatement& each = kernel_->statements[place];
    const std::vector<OwnIndex> indices = table_.own_indices(each.statement);
    Numbers point(indices.size(), 0);
    const std::vector<uint32_t> looping = looping_of(each);
    const bool is_scatter = std::holds_alternative<Scatter>(table_[each.statement].node);
    for (bool more = true; more; more = next(indices, looping, point)) {
      Unit unit;
      unit.block = coordinates(place, point, Axis::blocks, Axis::blocks);
      unit.thread = coordinates(place, point, Axis::warps, Axis::threads);
      for (int half = 0; half < (is_scatter ? 2 : 1); ++half) {
        Step step{place, {}, {}, point, coordinates(place, point, Axis::lanes, Axis::lanes), half};
        set_order(step);
        threads[unit].push_back(std::move(step));
      }
      if (is_reduction(each)) {
        Total& total = totals_[{place, element_of(place, point)}];
        ++total.left;
      }
    }
  }
  static std::vector<uint32_t> looping_of(const ScheduledStatement& each) {
    std::vector<uint32_t> list;
    for (const Loop& loop : each.loops)
      if (loop.step == 1) list.push_back(loop.index);
    return list;
  }
  static bool next(const std::vector<OwnIndex>& indices, const std::vector<uint32_t>& looping, Numbers& point) {
    for (size_t i = looping.size(); i-- > 0;) {
      if (++point[looping[i]] < indices[looping[i]].extent) return true;
      point[looping[i]] = 0;
    }
    return false;
  }

  Numbers coordinates(size_t place, const Numbers& point, Axis first, Axis last) const {
    const std::vector<OwnIndex> indices = table_.own_indices(kernel_->statements[place].statement);
    Numbers found;
    for (const AxisUse& use : kernel_plan_->axes[place]) {
      if (use.axis < first || use.axis > last) continue;
      int64_t number = 0, total = 1;
      for (const uint32_t index : use.indices) {
        number = number * indices[index].extent + point[index];
        total *= indices[index].extent;
      }
      const int64_t step = use.step == AxisUse::any ? any_step_ : use.step;
      found.push_back(use.pieces != 0 ? number * use.pieces / total : number / step);
    }
    return found;
  }

  // The first statement that shares all loops up to this level with one of the kernel.
  size_t first_of_group(size_t place, size_t level) const {
    while (kernel_->statements[place].shared > level) --place;
    return place;
  }
  bool holds_phases(size_t place, size_t level) const {
    const size_t first = first_of_group(place, level);
    for (size_t at = first + 1; at < kernel_->statements.size() && kernel_->statements[at].shared > level; ++at)
      if (phase_of(at) != phase_of(first)) return true;
    return false;
  }
  int64_t phase_of(size_t place) const {
    for (size_t phase = 0; phase < kernel_plan_->phases.size(); ++phase)
      for (const PhasePart& part : kernel_plan_->phases[phase].parts)
        if (part.statement == kernel_->statements[place].statement &&
            (part.part == Part::whole || part.part == Part::partial))
          return int64_t(phase);
    return -1;
  }
  bool is_over(size_t place, uint32_t index, Axis first, Axis last) const {
    return std::ranges::any_of(kernel_plan_->axes[place], [&](const AxisUse& use) {
      return use.axis >= first && use.axis <= last && std::ranges::find(use.indices, index) != use.indices.end();
    });
  }

  void set_order(Step& step) {
    const ScheduledStatement& each = kernel_->statements[step.place];
    Numbers lanes;
    bool is_apart = true;  // loops so far hold several phases
    for (size_t level = 0; level < each.loops.size(); ++level) {
      const Loop& loop = each.loops[level];
      const int64_t iteration = iteration_of(loop, step.point[loop.index]);
      const size_t first = first_of_group(step.place, level);
      step.order.push_back(int64_t(first));
      const bool is_lane = is_over(step.place, loop.index, Axis::lanes, Axis::lanes);
      step.order.push_back(is_lane ? iteration / 4 : iteration);
      if (is_lane) lanes.push_back(iteration);
      is_apart = is_apart && holds_phases(step.place, level);
      if (!is_apart) continue;
      step.epoch.push_back(phase_of(first));
      if (!is_over(step.place, loop.index, Axis::warps, Axis::threads)) step.epoch.push_back(step.order.back());
    }
    step.epoch.push_back(phase_of(step.place));
    step.order.push_back(int64_t(step.place));
    if (lanes.empty()) lanes.push_back(0);
    const bool is_vector = lanes.size() > 1 || lanes[0] != 0;
    if (is_vector || step.half > 0) step.order.push_back(step.half);
    if (is_vector && step.half == 0) step.order.push_back(int64_t(random_() % 8));
  }
  static int64_t iteration_of(const Loop& loop, int64_t value) {
    int64_t number = value / loop.step;
    if (!loop.extents.empty()) {
      for (number = 0; value >= loop.extents[size_t(number)]; ++number) value -= loop.extents[size_t(number)];
    }
    return number;
  }

  void interleave(std::vector<std::pair<Unit, std::vector<Step>>>& threads) {
    std::vector<size_t> at(threads.size(), 0), open;
    while (true) {
      std::map<Numbers, Numbers> first;  // the epoch that a block is in
      for (size_t t = 0; t < threads.size(); ++t) {
        if (at[t] == threads[t].second.size()) continue;
        const Numbers& epoch = threads[t].second[at[t]].epoch;
        const auto [entry, fresh] = first.emplace(threads[t].first.block, epoch);
        if (!fresh && epoch < entry->second) entry->second = epoch;
      }
      open.clear();
      for (size_t t = 0; t < threads.size(); ++t)
        if (at[t] < threads[t].second.size() && threads[t].second[at[t]].epoch == first[threads[t].first.block])
          open.push_back(t);
      if (open.empty()) return;
      const size_t t = open[random_() % open.size()];
      // A thread may be far ahead of the others.
      for (size_t count = 1 + random_() % 6; count-- > 0 && at[t] < threads[t].second.size();) {
        const Step& step = threads[t].second[at[t]];
        if (step.epoch != first[threads[t].first.block]) break;
        take(step, threads[t].first);
        ++at[t];
      }
    }
  }

  // ---- one step ----
  void take(const Step& step, const Unit& unit) {
    unit_ = &unit;
    const ScheduledStatement& each = kernel_->statements[step.place];
    if (const auto* compute = std::get_if<Compute>(&table_[each.statement].node)) {
      take(*compute, each, step, unit);
    } else if (const auto* scatter = std::get_if<Scatter>(&table_[each.statement].node)) {
      take(*scatter, step);
    }
  }

  void take(const Compute& compute, const ScheduledStatement& each, const Step& step, const Unit& unit) {
    bind(compute.loops, step.point, 0);
    const Numbers element = element_of(step.place, step.point);
    if (!is_reduction(each)) {
      write(compute.result, element, each.unrolled ? reduced_here(compute) : evaluate(compute.body));
      return;
    }
    bind(compute.reduced, step.point, compute.loops.size());
    Total& total = totals_[{step.place, element}];
    auto [part, fresh] = total.parts.try_emplace({unit, step.lane}, start_of(compute.reducer), 0);
    double position = 0;
    for (size_t i = 0; i < compute.reduced.size(); ++i)
      position =
          position * double(program_.indices[compute.reduced[i]].extent) + double(step.point[compute.loops.size() + i]);
    join(compute, part->second, {evaluate(compute.body), position}, fresh);
    if (--total.left == 0 && !is_in_blocks(step.place)) finish(step.place, element, total, unit);
  }
  double reduced_here(const Compute& compute) {
    std::pair<double, double> total{start_of(compute.reducer), 0};
    std::vector<OwnIndex> indices;
    std::vector<uint32_t> all;
    for (const IndexId index : compute.reduced)
      all.push_back(uint32_t(indices.size())),
          indices.push_back({"", program_.indices[index].extent, IndexKind::reduce});
    Numbers point(indices.size(), 0);
    bool fresh = true;
    for (bool more = true; more; more = next(indices, all, point), fresh = false) {
      bind(compute.reduced, point, 0);
      join(compute, total, {evaluate(compute.body), double(flat_of(indices, point))}, fresh);
    }
    return compute.reducer == Reducer::argmax ? total.second : total.first;
  }
  static int64_t flat_of(const std::vector<OwnIndex>& indices, const Numbers& point) {
    int64_t position = 0;
    for (size_t i = 0; i < indices.size(); ++i) position = position * indices[i].extent + point[i];
    return position;
  }

  static double start_of(Reducer reducer) {
    return reducer == Reducer::sum ? 0 : -std::numeric_limits<double>::infinity();
  }
  // Of equal values the one that was there stays.
  void join(const Compute& compute, std::pair<double, double>& into, const std::pair<double, double>& value,
            bool) const {
    if (compute.reducer == Reducer::sum)
      into.first = rounded(compute.accumulator, into.first + value.first);
    else if (std::isnan(value.first) || value.first > into.first)
      into = value;
  }
  void finish(size_t place, const Numbers& element, Total& total, const Unit& unit) {
    const auto& compute = std::get<Compute>(table_[kernel_->statements[place].statement].node);
    std::vector<std::pair<double, double>> parts;
    for (const auto& [key, part] : total.parts) parts.push_back(part);
    std::ranges::shuffle(parts, random_);
    std::pair<double, double> all = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) join(compute, all, parts[i], false);
    unit_ = &unit;
    write(compute.result, element, compute.reducer == Reducer::argmax ? all.second : all.first);
  }
  bool is_in_blocks(size_t place) const {
    return std::ranges::find(kernel_plan_->reductions,
                             ReductionPlace{kernel_->statements[place].statement, ReductionSite::blocks}) !=
           kernel_plan_->reductions.end();
  }
  bool is_reduction(const ScheduledStatement& each) const {
    const auto* compute = std::get_if<Compute>(&table_[each.statement].node);
    return compute != nullptr && compute->reducer != Reducer::none && !each.unrolled;
  }
  Numbers element_of(size_t place, const Numbers& point) const {
    const ArrayId result = results_of(table_[kernel_->statements[place].statement])[0];
    return {point.begin(), point.begin() + ptrdiff_t(std::min(point.size(), shape(result).size()))};
  }

  void take(const Scatter& scatter, const Step& step) {
    if (!filled_[step.place]) {
      filled_[step.place] = true;
      fill(scatter);
    }
    bind(scatter.domain, step.point, 0);
    Numbers target;
    for (const ExprId subscript : scatter.target) target.push_back(int64_t(evaluate(subscript)));
    double& held = held_[{step.place, step.point}];
    if (step.half == 0)
      held = *place_of(scatter.result, target);
    else
      write(scatter.result, target, evaluate(scatter.body) + (scatter.reducer == Reducer::sum ? held : 0));
  }
  void fill(const Scatter& scatter) {
    const Shape& extents = shape(scatter.result);
    for (int64_t position = 0; position < size_of(extents); ++position)
      write(scatter.result, unflat(extents, position), literal(program_.exprs[scatter.init_literal]));
  }

  // ---- values ----
  void bind(const std::vector<IndexId>& indices, const Numbers& values, size_t from) {
    for (size_t i = 0; i < indices.size(); ++i) index_[indices[i]] = values[from + i];
  }
  static double literal(const Expr& expr) {
    return expr.literal.kind == Literal::Kind::floating ? expr.literal.floating : double(expr.literal.integer);
  }
  double evaluate(ExprId id) {
    const Expr& expr = program_.exprs[id];
    if (expr.kind == ExprKind::literal) return literal(expr);
    if (expr.kind == ExprKind::index) return double(index_.at(expr.args[0]));
    if (expr.kind == ExprKind::read) return read(expr);
    const double a = evaluate(expr.args[0]), b = evaluate(expr.args[1]);
    switch (expr.function) {
      case Function::add: return a + b;
      case Function::sub: return a - b;
      case Function::mul: return a * b;
      default: ADD_FAILURE() << "an unknown function"; return nothing;
    }
  }
  double read(const Expr& expr) {
    const ArrayId array = expr.args[0];
    Numbers at;
    for (uint32_t d = 0; d < expr.args[2]; ++d) at.push_back(int64_t(evaluate(subscripts_of(program_, expr)[d])));
    for (size_t d = 0; d < at.size(); ++d)
      if (at[d] < 0 || at[d] >= shape(array)[d]) return literal(expr);
    if (watched_.read != nullptr && !folded_[array]) {
      if (array == watched_.array) watched_.read->insert(flat(shape(array), at));
      return memory_[array][size_t(flat(shape(array), at))];
    }
    if (!folded_[array]) return *place_of(array, at);
    const auto& compute = std::get<Compute>(table_[table_.definition_of(array)].node);
    const auto outside = index_;
    bind(compute.loops, at, 0);
    const double value = compute.reducer == Reducer::none ? evaluate(compute.body) : reduced_here(compute);
    index_ = outside;
    return rounded(program_.arrays[array].dtype, value);
  }
  void write(ArrayId array, const Numbers& at, double value) {
    value = rounded(program_.arrays[array].dtype, value);
    memory_[array][size_t(flat(shape(array), at))] = value;
    *place_of(array, at) = value;
  }

  // Where the kernel finds an element: in its stage if it makes the array and stages it.
  double* place_of(ArrayId array, const Numbers& at) {
    const int64_t position = flat(shape(array), at);
    const auto staged = std::ranges::find(kernel_plan_->staged, array, &Staged::array);
    const auto made =
        std::ranges::find(kernel_->statements, table_.definition_of(array), &ScheduledStatement::statement);
    if (staged == kernel_plan_->staged.end() || made == kernel_->statements.end())
      return &memory_[array][size_t(position)];
    if (staged->in_place_of != none) {
      std::vector<double>& host = memory_[staged->in_place_of];
      const std::vector<size_t>& places = places_in_host(array, staged->in_place_of);
      return &host[places.empty() ? size_t(position) % host.size() : places[size_t(position)]];
    }
    const int64_t all = size_of(shape(array)), elements = staged->elements == AxisUse::any ? all : staged->elements;
    std::vector<double>& stage = stages_[{array, unit_->block}];
    stage.resize(size_t(elements), nothing);
    return &stage[size_t(staged->elements == all ? position : slot(*made, array, at) % elements)];
  }
  // By element of a guest: where the point of the host that alone reads it is written. Empty, for any order will do, if
  // some point reads none or several, or two points the same.
  const std::vector<size_t>& places_in_host(ArrayId guest, ArrayId host) {
    const auto [entry, fresh] = places_in_host_.try_emplace({guest, host});
    std::vector<size_t>& places = entry->second;
    const auto* compute = std::get_if<Compute>(&table_[table_.definition_of(host)].node);
    if (!fresh || compute == nullptr || compute->reducer != Reducer::none ||
        size_of(shape(guest)) != size_of(shape(host)))
      return places;
    constexpr size_t nowhere = SIZE_MAX;
    places.assign(size_t(size_of(shape(guest))), nowhere);
    const auto outside = index_;
    bool is_own = true;
    for (size_t place = 0; place < places.size() && is_own; ++place) {
      std::set<int64_t> read;
      watched_ = {guest, &read};
      bind(compute->loops, unflat(shape(host), int64_t(place)), 0);
      evaluate(compute->body);
      is_own = read.size() == 1 && std::exchange(places[size_t(*read.begin())], place) == nowhere;
    }
    watched_ = {};
    index_ = outside;
    if (!is_own) places.clear();
    return places;
  }
  // In the box that one iteration of the loop makes, within which the array is kept.
  int64_t slot(const ScheduledStatement& made, ArrayId array, const Numbers& at) const {
    Shape extents = shape(array);
    for (const Residency& kept : made.residency)
      if (kept.array == array && kept.loop != Residency::whole_kernel)
        for (size_t level = 0; level <= kept.loop; ++level)
          if (made.loops[level].index < extents.size()) extents[made.loops[level].index] = made.loops[level].step;
    Numbers inside = at;
    for (size_t d = 0; d < inside.size(); ++d) inside[d] %= extents[d];
    return flat(extents, inside);
  }

  const Program& program_;
  const Plan& plan_;
  StatementTable table_;
  std::mt19937_64& random_;
  std::vector<std::vector<double>> memory_;  // by array
  std::map<ArrayId, bool> folded_;
  std::map<IndexId, int64_t> index_;  // of the point that is computed
  const Unit* unit_ = nullptr;        // that computes it

  // Of the kernel that runs.
  const ScheduledKernel* kernel_ = nullptr;
  const KernelPlan* kernel_plan_ = nullptr;
  int64_t any_step_ = 1;
  std::map<std::pair<ArrayId, Numbers>, std::vector<double>> stages_;  // by array and block
  std::map<std::pair<size_t, Numbers>, Total> totals_;                 // by statement and element
  std::map<size_t, bool> filled_;
  std::map<std::pair<size_t, Numbers>, double> held_;
  std::map<std::pair<ArrayId, ArrayId>, std::vector<size_t>> places_in_host_;  // by guest and host
  struct Watched {
    ArrayId array = none;
    std::set<int64_t>* read = nullptr;  // elements, as they are read
  } watched_;
};

}  // namespace lightline::loops::plan
