#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "base/maths.h"
#include "index/draws.h"
#include "index/mapper.h"
#include "index/progression.h"

namespace lightline::index {
namespace {

// Maps one affine part.
class Mapper {
 public:
  Mapper(AffinePart part, Atoms& atoms)
      : part_(std::move(part)), whole_(part_.piece), atoms_(atoms), size_(part_.forms.size()), draws_(part_, atoms) {
    take_cuts();
    uses_.assign(part_.piece.box.size(), 0);
    for (const Form& form : part_.forms) atoms_.for_each_variable(form, [&](AtomId variable) { ++uses_[variable]; });
    for (const HalfSpace& cut : part_.piece.cuts)
      for (const auto& [variable, coefficient] : cut.terms) ++uses_[size_t(variable)];
    for (const Sample& sample : part_.samples) uses_[sample.coordinate] += 2;
  }

  Region run() {
    region_.box.assign(size_, {0, 0, 1});
    std::vector<size_t> together;
    bool one_to_one = true;
    std::vector<bool> seen(part_.piece.box.size(), false);
    for (size_t c = 0; c < size_; ++c) {
      const Form& form = part_.forms[c];
      if (is_data(form)) {
        data_.push_back(c);
      } else if (std::any_of(form.terms.begin(), form.terms.end(),
                             [&](const auto& term) { return uses_[term.first] > 1; })) {
        together.push_back(c);
      } else {
        const Progression progression(form, part_.piece.box);
        if (!progression.is_whole()) atoms_.lose(Loss::sums);
        progression.restrict(region_, c, atoms_);
        one_to_one = one_to_one && progression.is_one_to_one();
        for (const auto& [variable, coefficient] : form.terms) seen[variable] = true;
      }
    }
    // Cuts may leave no point, whatever the coordinates are.
    if (!together.empty() || !part_.piece.cuts.empty()) {
      if (!solve_digits(together, seen)) {
        solve(together);
        one_to_one = false;
      }
    }
    for (size_t v = 0; v < seen.size(); ++v) one_to_one = one_to_one && (seen[v] || part_.piece.box[v].count() <= 1);
    for (const auto& [coordinate, cut] : taken_) region_.cut(cut, atoms_);
    if (one_to_one && data_.empty() && part_.samples.empty() && !region_.empty && !region_.cuts.empty())
      region_.points = index::count(source_);
    for (const size_t c : data_) place_data(c);
    std::sort(region_.samples.begin(), region_.samples.end());
    return std::move(region_);
  }

 private:
  using Terms = std::vector<std::pair<int, int64_t>>;

  // Cuts that only say how far a coordinate goes.
  void take_cuts();
  bool solve_digits(const std::vector<size_t>& together, std::vector<bool>& seen);
  void solve(const std::vector<size_t>& together);
  // The coordinates that have one of the variables.
  std::vector<uint32_t> coordinates_with(const std::set<AtomId>& variables, size_t but) const;
  Sample moved(const Sample& sample, size_t coordinate) const;
  void place_data(size_t coordinate);

  AffinePart part_;
  const Piece whole_;  // before anything was left out
  Piece source_;       // of the variables that coordinates have
  Atoms& atoms_;
  const size_t size_;
  std::vector<std::pair<size_t, Form>> taken_;
  std::vector<int> uses_;
  std::vector<size_t> data_;
  Region region_;
  Draws draws_;
};

void Mapper::take_cuts() {
  // Variables of one value are numbers.
  const std::vector<Range>& box = part_.piece.box;
  const auto is_number = [&](AtomId atom) {
    return is_variable(atom) && box[atom].count() == 1 &&
           std::none_of(part_.samples.begin(), part_.samples.end(),
                        [&](const Sample& sample) { return sample.coordinate == atom; });
  };
  for (Form& form : part_.forms) {
    for (const auto& [atom, coefficient] : form.terms)
      if (is_number(atom)) form.constant += coefficient * box[atom].lo;
    erase_if(form.terms, [&](const auto& term) { return is_number(term.first); });
  }
  for (HalfSpace& cut : part_.piece.cuts) {
    for (const auto& [variable, coefficient] : cut.terms)
      if (box[size_t(variable)].count() == 1) cut.constant += coefficient * box[size_t(variable)].lo;
    erase_if(cut.terms, [&](const auto& term) { return box[size_t(term.first)].count() == 1; });
  }
  for (HalfSpace& cut : std::exchange(part_.piece.cuts, {})) part_.piece.cut(std::move(cut));
  region_.empty |= part_.piece.bounds_empty();
  // What no coordinate has is only there to say that the others can be.
  std::vector<bool> visible(box.size(), false);
  for (const Form& form : part_.forms) atoms_.for_each_variable(form, [&](AtomId v) { visible[v] = true; });
  // Those with unit factors first: they go without loss, and may leave units behind.
  for (;;) {
    int next = -1;
    bool exact = false;
    for (const HalfSpace& cut : part_.piece.cuts)
      for (const auto& [v, c] : cut.terms) {
        if (visible[size_t(v)] || exact) continue;
        const bool unit =
            std::all_of(part_.piece.cuts.begin(), part_.piece.cuts.end(), [v = v](const HalfSpace& other) {
              const int64_t own = coefficient_of(other, v);
              return own >= -1 && own <= 1;
            });
        if (next < 0 || unit) next = v;
        exact = unit;
      }
    if (next < 0) break;
    if (!eliminate(part_.piece, next)) atoms_.lose(Loss::projection);
  }
  for (size_t v = 0; v < visible.size(); ++v)
    if (!visible[v] && box[v].count() > 1) part_.piece.box[v].hi = part_.piece.box[v].lo;
  source_ = part_.piece;
  region_.empty |= part_.piece.bounds_empty();
  std::vector<HalfSpace> cuts = std::exchange(part_.piece.cuts, {});
  for (HalfSpace& cut : cuts) {
    bool taken = false;
    for (size_t c = 0; c < size_ && !taken; ++c) {
      const Form& form = part_.forms[c];
      if (form.terms.size() != cut.terms.size() || form.terms.size() < 2) continue;
      // up * cut is down * form
      const int64_t common = std::gcd(cut.terms[0].second, form.terms[0].second);
      int64_t up = form.terms[0].second / common, down = cut.terms[0].second / common;
      if (up < 0) {
        up = -up;
        down = -down;
      }
      taken = true;
      for (size_t t = 0; t < form.terms.size() && taken; ++t)
        taken =
            int(form.terms[t].first) == cut.terms[t].first && up * cut.terms[t].second == down * form.terms[t].second;
      // up * constant + down * (c - form.constant) >= 0
      if (taken) taken_.emplace_back(c, Form{up * cut.constant - down * form.constant, {{AtomId(c), down}}});
    }
    if (!taken) part_.piece.cuts.push_back(std::move(cut));
  }
}

// Coordinates from which every variable can be told: alone, or as the digits of a number. The image is then where the
// variables, so told, are in their places.
bool Mapper::solve_digits(const std::vector<size_t>& together, std::vector<bool>& seen) {
  const size_t old = part_.piece.box.size();
  std::vector<Form> images(old);
  std::vector<bool> solved(old, false), used(together.size(), false);
  std::vector<Form> zero;  // remainders that have to vanish
  const std::vector<Range>& box = part_.piece.box;
  for (size_t v = 0; v < old; ++v)
    if (box[v].count() == 1) {
      images[v] = Form::of(box[v].lo);
      solved[v] = true;
    }
  std::vector<Range> ranges(size_);
  for (const size_t c : together) ranges[c] = atoms_.range(part_.forms[c], box);
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < together.size() && !more; ++i) {
      if (used[i]) continue;
      const Form& form = part_.forms[together[i]];
      std::vector<std::pair<AtomId, int64_t>> open;
      Form rest = Form::variable(AtomId(together[i]));
      rest.constant = -form.constant;
      for (const auto& [variable, coefficient] : form.terms) {
        if (solved[variable])
          rest = atoms_.sum(rest, images[variable], -coefficient);
        else
          open.emplace_back(variable, coefficient);
      }
      if (open.empty()) {
        used[i] = true;
        more = true;
        zero.push_back(rest);
        zero.push_back(atoms_.scaled(rest, -1));
        continue;
      }
      const auto last_of = [](const Range& range) { return range.lo + range.step * (range.count() - 1); };
      const auto place_of = [&](const std::pair<AtomId, int64_t>& term) {
        return std::abs(term.second) * box[term.first].step;
      };
      std::sort(open.begin(), open.end(), [&](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
      // Digits as they are where they fit; else from the least value on, every digit counts up.
      int64_t reach = 0, reach_from_zero = 0;
      bool apart = true, from_zero = true;
      for (const auto& term : open) {
        const Range& range = box[term.first];
        apart = apart && place_of(term) > reach;
        reach += place_of(term) * (range.count() - 1);
        from_zero = from_zero && term.second > reach_from_zero && range.step == 1 && range.lo >= 0;
        reach_from_zero += term.second * range.hi;
      }
      const auto first_of = [&](const std::pair<AtomId, int64_t>& term) {
        const Range& range = box[term.first];
        return from_zero ? 0 : term.second > 0 ? range.lo : last_of(range);
      };
      for (const auto& term : open) rest.constant -= term.second * first_of(term);
      if (!apart) continue;
      for (size_t k = open.size(); k-- > 0;) {
        const auto [variable, coefficient] = open[k];
        const int64_t place = place_of(open[k]), step = box[variable].step;
        const Form digit = atoms_.quotient(rest, place, ranges);
        images[variable] = atoms_.sum(Form::of(first_of(open[k])), digit, coefficient > 0 ? step : -step);
        solved[variable] = true;
        rest = atoms_.remainder(rest, place, ranges);
      }
      zero.push_back(atoms_.scaled(rest, -1));
      used[i] = true;
      more = true;
    }
  }
  for (const size_t c : together)
    for (const auto& [variable, coefficient] : part_.forms[c].terms)
      if (!solved[variable]) return false;
  for (const HalfSpace& cut : part_.piece.cuts)
    for (const auto& [variable, coefficient] : cut.terms)
      if (!solved[size_t(variable)]) return false;
  if (!part_.samples.empty()) return false;
  Region found = region_;
  for (const size_t c : together) found.box[c] = ranges[c];
  for (size_t v = 0; v < old; ++v) {
    if (!solved[v] || box[v].count() == 1) continue;
    seen[v] = true;
    found.cut(atoms_.sum(images[v], Form::of(-box[v].lo)), atoms_);
    found.cut(atoms_.sum(Form::of(box[v].hi), images[v], -1), atoms_);
  }
  for (const HalfSpace& cut : part_.piece.cuts) {
    Form form = Form::of(cut.constant);
    for (const auto& [variable, coefficient] : cut.terms)
      form = atoms_.sum(form, images[size_t(variable)], coefficient);
    found.cut(std::move(form), atoms_);
  }
  for (const Form& form : zero) found.cut(form, atoms_);
  region_ = std::move(found);
  return true;
}

// Coordinates that share variables, or whose variables are cut. Every coordinate is one more variable, equal to its
// form; the old variables are replaced one after the other.
void Mapper::solve(const std::vector<size_t>& together) {
  const size_t old = part_.piece.box.size();
  Piece piece = part_.piece;
  std::vector<HalfSpace> equations;  // each 0
  for (size_t i = 0; i < together.size(); ++i) {
    const Range values = atoms_.range(part_.forms[together[i]], part_.piece.box);
    piece.box.push_back({values.lo, values.hi, 1});
    HalfSpace equation{-part_.forms[together[i]].constant, {}};
    for (const auto& [variable, coefficient] : part_.forms[together[i]].terms)
      equation.terms.emplace_back(int(variable), -coefficient);
    equation.terms.emplace_back(int(old + i), 1);
    equations.push_back(std::move(equation));
  }
  const auto is_old = [&](int variable) { return variable < int(old); };
  std::vector<bool> gone(old, false);
  std::vector<bool> used(equations.size(), false);
  // Puts what an equation says of a variable into everything else. The factor of the variable is `unit`.
  const auto replace = [&](size_t e, int variable) {
    const HalfSpace equation = equations[e];
    const int64_t unit = coefficient_of(equation, variable);
    const int64_t size = std::abs(unit);
    used[e] = true;
    gone[size_t(variable)] = true;
    const Range range = piece.box[size_t(variable)];
    HalfSpace low{-range.lo, {{variable, 1}}}, high{range.hi, {{variable, -1}}};
    std::vector<HalfSpace> cuts = std::exchange(piece.cuts, {});
    cuts.push_back(std::move(low));
    cuts.push_back(std::move(high));
    for (const HalfSpace& cut : cuts) {
      const int64_t own = coefficient_of(cut, variable);
      piece.cut(own == 0 ? cut : combined(cut, size, equation, unit > 0 ? -own : own));
    }
    for (size_t other = 0; other < equations.size(); ++other)
      if (const int64_t own = coefficient_of(equations[other], variable); !used[other] && own != 0)
        equations[other] = combined(equations[other], size, equation, unit > 0 ? -own : own);
  };
  const auto unknowns = [&](const HalfSpace& equation) {
    return std::count_if(equation.terms.begin(), equation.terms.end(),
                         [&](const auto& term) { return is_old(term.first) && !gone[size_t(term.first)]; });
  };
  for (bool more = true; more;) {
    more = false;
    size_t best = equations.size();
    int variable = -1;
    int64_t fewest = 0;
    for (size_t e = 0; e < equations.size(); ++e) {
      if (used[e]) continue;
      const int64_t open = unknowns(equations[e]);
      if (open == 0) continue;
      for (const auto& [v, c] : equations[e].terms)
        if (is_old(v) && !gone[size_t(v)] && (c == 1 || c == -1) && (variable < 0 || open < fewest)) {
          best = e;
          variable = v;
          fewest = open;
        }
    }
    if (variable < 0)  // one unknown with a larger factor: a progression
      for (size_t e = 0; e < equations.size() && variable < 0; ++e) {
        if (used[e] || unknowns(equations[e]) == 0) continue;
        std::vector<int> open;
        int coordinates = 0;
        for (const auto& [v, c] : equations[e].terms) {
          if (is_old(v) && !gone[size_t(v)])
            open.push_back(v);
          else if (!is_old(v))
            ++coordinates;
        }
        for (size_t i = 1; i < open.size(); ++i) {  // all but one unknown at their least
          const int v = open[i];
          const int64_t at = piece.box[size_t(v)].lo;
          if (piece.box[size_t(v)].count() > 1) atoms_.lose(Loss::projection);
          piece.fix_variable(size_t(v));
          gone[size_t(v)] = true;
          for (HalfSpace& equation : equations)
            if (const int64_t own = coefficient_of(equation, v); own != 0)
              equation = combined(equation, 1, HalfSpace{at, {{v, -1}}}, own);
        }
        if (coordinates != 1 || std::abs(coefficient_of(equations[e], int(old + e))) != 1) continue;
        best = e;
        variable = open[0];
        const int64_t step = std::abs(coefficient_of(equations[e], variable));
        const Range range = piece.box[size_t(variable)];
        const int64_t own = coefficient_of(equations[e], int(old + e));
        // own * c + k v + constant = 0
        const auto at = [&](int64_t v) {
          return -own * (equations[e].constant + coefficient_of(equations[e], variable) * v);
        };
        const int64_t first = std::min(at(range.lo), at(range.hi));
        piece.box[old + e] = {first, std::max(at(range.lo), at(range.hi)), step};
      }
    if (variable >= 0) {
      replace(best, variable);
      more = true;
    }
  }
  for (size_t e = 0; e < equations.size(); ++e) {
    if (used[e]) continue;
    piece.cut(equations[e]);
    piece.cut(combined(equations[e], -1, {}, 0));
  }
  std::vector<int> kept;
  for (size_t i = 0; i < together.size(); ++i) kept.push_back(int(old + i));
  // What was replaced lies in no cut any more; its own box says nothing.
  const bool nothing_left = piece.bounds_empty();
  bool exact = true;
  Piece seen = project(piece, kept, &exact);
  if (!exact) atoms_.lose(Loss::projection);
  region_.empty |= nothing_left || seen.bounds_empty();
  for (size_t i = 0; i < together.size(); ++i) region_.box[together[i]] = seen.box[i];
  for (const HalfSpace& cut : seen.cuts) {
    Form form = Form::of(cut.constant);
    for (const auto& [v, c] : cut.terms) form.terms.emplace_back(AtomId(together[size_t(v)]), c);
    std::sort(form.terms.begin(), form.terms.end());
    region_.cut(std::move(form), atoms_);
  }
  for (const Sample& sample : part_.samples) {
    bool first = true;
    for (size_t i = 0; i < together.size(); ++i) {
      const Form& form = part_.forms[together[i]];
      if (form.coefficient(sample.coordinate) == 0) continue;
      Sample one = moved(sample, together[i]);
      if (form.coefficient(sample.coordinate) != 1) one.extent = 0;  // its values do not follow each other
      if (!first || form.terms.size() != 1) {
        one.least = one.expected = 1;
        atoms_.lose(Loss::data);
      }
      first = false;
      region_.samples.push_back(std::move(one));
    }
  }
}

std::vector<uint32_t> Mapper::coordinates_with(const std::set<AtomId>& variables, size_t but) const {
  std::vector<uint32_t> found;
  for (size_t c = 0; c < size_; ++c) {
    bool has = false;
    atoms_.for_each_variable(part_.forms[c], [&](AtomId v) { has |= variables.contains(v); });
    if (has && c != but) found.push_back(uint32_t(c));
  }
  return found;
}

// What varies with variables that no coordinate has is drawn as often as those have values together.
Sample Mapper::moved(const Sample& sample, size_t coordinate) const {
  Sample result = sample;
  result.coordinate = uint32_t(coordinate);
  result.varies.clear();
  std::set<uint32_t> kept;
  std::set<int> gone;
  for (const uint32_t variable : sample.varies) {
    const std::vector<uint32_t> coordinates = coordinates_with({variable}, coordinate);
    kept.insert(coordinates.begin(), coordinates.end());
    if (coordinates.empty() && whole_.box[variable].count() > 1) gone.insert(int(variable));
  }
  result.varies.assign(kept.begin(), kept.end());
  if (sample.extent <= 0 || gone.empty() || sample.expected >= sample.extent) return result;
  const double times = index::count(project(whole_, {gone.begin(), gone.end()}));
  if (times > 1) {
    const double more = sample.extent * -std::expm1(times * std::log1p(-result.expected / sample.extent));
    const double most = expected_values(sample.draws, sample.extent);  // others may be read at the same places
    result.expected = std::max(result.expected, std::min(more, most));
  }
  for (const int variable : gone) result.source = mixed(result.source, uint64_t(variable));
  return result;
}

void Mapper::place_data(size_t coordinate) {
  Sample sample = draws_.sample(coordinate);
  const Form& form = part_.forms[coordinate];
  std::set<AtomId> inside;
  for (const auto& [id, step] : form.terms)
    if (!is_variable(id)) atoms_.for_each_variable_of(id, [&](AtomId v) { inside.insert(v); });
  sample.varies = coordinates_with(inside, coordinate);
  region_.box[coordinate] = {form.constant, form.constant, 1};
  region_.samples.push_back(std::move(sample));
}

}  // namespace

Region mapped(AffinePart part, Atoms& atoms) { return Mapper(std::move(part), atoms).run(); }

}  // namespace lightline::index
