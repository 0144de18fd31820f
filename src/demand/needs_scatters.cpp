// What operators that are no loop nests need, and scatters to places that data tell.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/maths.h"
#include "demand/needs.h"
#include "index/draws.h"

namespace lightline::demand {

// The last column that factors, or the pivots, need in full, and with it all before: row i of U takes the pivots of
// the columns up to i, and of those after it only the rows that were picked, which are all of them in the last row.
int64_t Needs::last_column_of_lu(const Region& wanted, bool pivots, int64_t rows, int64_t columns) {
  const index::AtomId column = index::AtomId(wanted.box.size() - 1), row = column - 1;
  int64_t last = -1;
  for (int64_t step = int64_t(1) << 40; step > 0; step /= 2) {
    const int64_t next = last + step;
    if (next >= columns) continue;
    Region region = wanted;
    region.points = -1;
    region.cut({-next, {{column, 1}}}, atoms_);
    if (!pivots) region.cut({-std::min(next, rows - 1), {{row, 1}}}, atoms_);
    if (!region.empty && double(index::count(region, atoms_)) > 0) last = next;
  }
  return last;
}

void Needs::visit_opaque(TermId id) {
  const Term& made = term(id);
  const OpaqueCall& call = form_.opaque[made.array];
  const std::vector<Region> regions = needed_[id];
  if (counting_) opaque.insert(made.array);
  if (call.node->name == "random" || call.node->name == "empty") return;
  // Dimensions that are worked on one by one: those before the last two of matrices, all but one of rows.
  const loops::Program& program = *form_.program;
  const std::string& name = call.node->name;
  const size_t result_rank = made.rank;
  int64_t along = INT64_MIN;
  for (const auto& [key, value] : call.node->attributes)
    if (key == "dim")
      if (const auto* dim = std::get_if<int64_t>(&value)) along = *dim;
  for (size_t o = 0; o < call.operands.size(); ++o) {
    const size_t rank = program.arrays[call.node->operands[o]].shape.size();
    const size_t before = result_rank >= rank ? result_rank - rank : 0;  // counters of loops
    for (const Case& one : call.operands[o]) {
      for (const Region& region : regions) {
        Region where = one.where;
        const bool rows = (name == "sort" || name == "topk" || name == "fft") && result_rank == before + rank;
        const bool matrices =
            (name == "cholesky" || name == "solve" || name == "triangular_solve" || name == "lu") && rank >= 2;
        for (size_t d = 0; d < rank && region.samples.empty(); ++d) {
          const bool batch = rows ? int64_t(d) != (along < 0 ? along + int64_t(rank) : along) && along != INT64_MIN
                                  : matrices && d + 2 < rank;
          if (!batch) continue;
          const size_t c = d + (where.box.size() - rank);
          Region own, other;
          own.box = {where.box[c]};
          other.box = {region.box[before + d]};
          const Region both = index::intersection(own, other, atoms_);
          where.empty |= both.empty;
          where.box[c] = both.box[0];
        }
        // Only one triangle is read, and of it only the rows before, or after, those that are wanted.
        if ((name == "triangular_solve" || name == "cholesky") && o == 0 && rank >= 2) {
          bool upper = false, unit = false;
          for (const auto& [key, value] : call.node->attributes)
            if (const auto* flag = std::get_if<bool>(&value)) (key == "upper" ? upper : unit) |= *flag;
          const index::AtomId row = index::AtomId(where.box.size() - 2), column = row + 1;
          const int64_t diagonal = unit && name == "triangular_solve" ? -1 : 0;
          if (name == "cholesky") upper = false;
          where.cut(upper ? Form{diagonal, {{row, -1}, {column, 1}}} : Form{diagonal, {{row, 1}, {column, -1}}},
                    atoms_);
          const Range wanted = region.box[result_rank - 2];
          if (region.samples.empty())
            where.cut(upper ? Form{-wanted.lo, {{row, 1}}} : Form{wanted.hi, {{row, -1}}}, atoms_);
        }
        if (name == "triangular_solve" && o == 1 && rank >= 2 && region.samples.empty()) {
          bool upper = false;
          for (const auto& [key, value] : call.node->attributes)
            if (const auto* flag = std::get_if<bool>(&value)) upper |= key == "upper" && *flag;
          const index::AtomId row = index::AtomId(where.box.size() - 2), column = row + 1;
          const Range wanted = region.box[result_rank - 2], columns = region.box[result_rank - 1];
          where.cut(upper ? Form{-wanted.lo, {{row, 1}}} : Form{wanted.hi, {{row, -1}}}, atoms_);
          where.cut({-columns.lo, {{column, 1}}}, atoms_);
          where.cut({columns.hi, {{column, -1}}}, atoms_);
        }
        if (name == "lu" && rank >= 2) {
          const Shape& shape = program.arrays[call.node->operands[o]].shape;
          const int64_t last = last_column_of_lu(region, id == call.results[1], shape[rank - 2], shape[rank - 1]);
          where.cut({last, {{index::AtomId(where.box.size() - 1), -1}}}, atoms_);
        }
        need(one.value, where);
      }
    }
  }
}

void Needs::visit_scatter(TermId id) {
  const Term& made = term(id);
  const ScatterParts& parts = form_.scatters[made.array];
  const std::vector<Region> regions = needed_[id];
  std::vector<Region> touched = regions;
  if (std::find(changed_.begin(), changed_.end(), id) != changed_.end())
    touched.assign(1, Region::whole(parts.extents));
  const uint32_t reduced = uint32_t(made.reduced.size());
  const uint32_t outer = made.rank - uint32_t(parts.extents.size());
  double combined = 0;
  for (size_t i = 0; i < made.body.size(); ++i) {
    for (const Region& region : touched) {
      // Places that data tell may be anything: all points are needed of which the other places are wanted.
      Region where = meet(region, made.body[i].where, reduced, atoms_);
      double wanted = 0;
      const bool exact = region.samples.empty();
      if (tier_ == Tier::floor ? !exact : !share_of_points(region, i, made, where, wanted)) {
        if (tier_ != Tier::floor) drop("a scatter of which data tell the places that are wanted");
        continue;
      }
      for (size_t d = 0; d < parts.by_data.size(); ++d)
        if (parts.by_data[d]) where.box[reduced + outer + d] = {0, 0, 1};
      std::vector<Form> shift(region.box.size());
      for (size_t c = 0; c < shift.size(); ++c) shift[c] = Form::variable(index::AtomId(reduced + c));
      bool sure = true;
      for (const Form& cut : region.cuts) {
        atoms_.for_each_variable(cut, [&](index::AtomId v) { sure &= v < outer || !parts.by_data[v - outer]; });
        if (sure) where.cut(atoms_.compose(cut, shift, where.box), atoms_);
      }
      // Only a part of the places is wanted: the data may send everything elsewhere.
      for (size_t d = 0; d < parts.by_data.size(); ++d)
        if (parts.by_data[d] && region.box[outer + d].count() < parts.extents[d] && tier_ == Tier::floor) sure = false;
      if (!sure && tier_ != Tier::floor) drop("a scatter of which a mask tells the places that are wanted");
      if (where.empty || !sure) continue;
      for (const Value& index : parts.indices[i]) need(index, where);
      if (made.reducer == loops::Reducer::set) keep_last_writes(i, made, where, wanted);
      if (made.reducer != loops::Reducer::sum || !need_added_first(i, made, where, wanted))
        need(made.body[i].value, where);
      std::vector<Form> domain;
      for (uint32_t r = 0; r < reduced; ++r) domain.push_back(Form::variable(r));
      if (counting_) combined += count(index::image(where, domain, atoms_));
    }
  }
  if (counting_ && made.reads_data && made.reducer != loops::Reducer::set && tier_ != Tier::floor && combined > 0)
    work_of(id).sums[made.type] += combined;
  // What is set replaces what was there: at the most as many places as there are points.
  double places = 1, points = 1;
  for (const int64_t extent : parts.extents) places *= double(extent);
  for (const Range& range : made.reduced) points *= double(range.count());
  for (const Case& one : parts.init)
    for (const Region& region : regions) {
      Region where = meet(region, one.where, 0, atoms_);
      for (const Form& cut : region.cuts) where.cut(cut, atoms_);
      where.samples = region.samples;
      if (made.reducer == loops::Reducer::set) {
        for (size_t d = 0; d < parts.by_data.size(); ++d) {
          if (!parts.by_data[d]) continue;
          // As many rows as are surely left over.
          Range& range = where.box[outer + d];
          const double rows = points * double(parts.extents[d]) / places;
          const int64_t left = int64_t(std::floor(double(range.count()) - std::ceil(std::max(rows, 1.0))));
          if (left <= 0)
            where.empty = true;
          else
            range.hi = range.lo + (left - 1) * range.step;
          break;
        }
      }
      need(one.value, where);
    }
}

// Of an order every number is there once.
bool Needs::are_apart(const Value& index, index::AtomId variable) const {
  const index::Atoms::Order* order = index.is_element() ? atoms_.order(index.term) : nullptr;
  if (order == nullptr || plain_variable(index.at[order->along]) != variable) return false;
  return std::count_if(index.at.begin(), index.at.end(), [&](const Form& form) {
           bool has = false;
           atoms_.for_each_variable(form, [&](index::AtomId v) { has |= v == variable; });
           return has;
         }) == 1;
}

// Of several writes to one place the last one stays: as many rows as places that are hit.
void Needs::keep_last_writes(size_t body, const Term& scatter, Region& where, double wanted) {
  const ScatterParts& parts = form_.scatters[scatter.array];
  if (parts.indices[body].size() != 1) return;
  const uint64_t own = variables_of(parts.indices[body][0]);
  if (std::popcount(own) != 1) return;
  const uint32_t variable = uint32_t(std::countr_zero(own));
  if (where.samples.size() == 1 && where.samples[0].coordinate == variable && wanted > 0) {
    double& writes = where.samples[0].expected;
    if (!are_apart(parts.indices[body][0], variable)) writes = std::min(writes, index::expected_values(writes, wanted));
    return;
  }
  if (!where.samples.empty()) return;
  if (variable >= scatter.reduced.size() || !is_free(where, variable)) return;
  const double writes = double(where.box[variable].count());
  double places = 1;
  for (size_t d = 0; d < parts.by_data.size(); ++d)
    if (parts.by_data[d]) places = double(parts.extents[d]);
  if (writes < 2 || are_apart(parts.indices[body][0], variable)) return;
  index::Sample sample;
  sample.coordinate = variable;
  sample.source = scatter.array;
  sample.expected = std::min(writes, -places * std::expm1(writes * std::log1p(-1 / places)));
  if (places < 2) sample.expected = 1;
  sample.extent = where.box[variable].step == 1 ? writes : 0;
  where.box[variable].hi = where.box[variable].lo;
  where.samples = {sample};
}

// Of places that data tell, some are wanted, on the whole `wanted` of them: as large a part of the points goes there.
bool Needs::share_of_points(const Region& region, size_t body, const Term& scatter, Region& where, double& wanted) {
  const ScatterParts& parts = form_.scatters[scatter.array];
  const uint32_t reduced = uint32_t(scatter.reduced.size());
  const uint32_t outer = scatter.rank - uint32_t(parts.extents.size());
  double part = 1;
  uint64_t own = 0;
  index::Sample share;
  share.source = scatter.array;
  wanted = 1;
  size_t samples = 0, told = 0;
  for (size_t d = 0; d < parts.by_data.size(); ++d) {
    if (!parts.by_data[d]) continue;
    const double extent = double(parts.extents[d]);
    double some = std::min(extent, double(region.box[outer + d].count()));
    for (const index::Sample& sample : region.samples)
      if (sample.coordinate == outer + d) {
        some = std::min(extent, sample.expected);
        share = sample;
        ++samples;
      }
    wanted *= some;
    const uint64_t variables = told < parts.indices[body].size() ? variables_of(parts.indices[body][told]) : 0;
    ++told;
    if (some >= extent) continue;
    part *= some / extent;
    own |= variables;
    if (region.samples.empty())
      share.source = mixed(mixed(share.source, uint64_t(region.box[outer + d].lo)), uint64_t(region.box[outer + d].hi));
  }
  if (samples != region.samples.size() || samples > 1) return false;
  if (part >= 1) return true;
  if (own == 0) return region.samples.empty();  // one place for all points: taken to be a wanted one
  if (std::popcount(own) != 1) return false;
  const uint32_t variable = uint32_t(std::countr_zero(own));
  if (variable >= reduced || !is_free(where, variable)) return false;
  const double points = double(where.box[variable].count());
  share.coordinate = variable;
  share.varies.clear();
  share.extent = where.box[variable].step == 1 ? points : 0;
  share.expected = std::max(std::min(1.0, wanted), points * part);
  share.least = std::min(1.0, wanted);
  where.box[variable].hi = where.box[variable].lo;
  where.samples = {share};
  return true;
}

}  // namespace lightline::demand
