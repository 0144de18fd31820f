#include "demand/known_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/maths.h"

namespace lightline::demand {
namespace {

constexpr int64_t most_elements = int64_t(1) << 26;
constexpr size_t most_values = 4, most_values_of_few = 64;
constexpr int64_t few_elements = 4096;

struct Run {
  int64_t lo, hi;
  double number;
  bool operator==(const Run&) const = default;
};
using Row = std::vector<Run>;

// Rows of a matrix in which one value holds the part between two lines of slope 1, or -1, and another the rest.
class Band {
 public:
  static std::optional<Cases> of(const std::vector<Row>& rows, int64_t columns, Atoms& atoms) {
    std::set<double> values;
    for (const Row& row : rows) {
      if (row.size() > 3 || (row.size() == 3 && row[0].number != row[2].number)) return std::nullopt;
      for (const Run& run : row) values.insert(run.number);
    }
    if (values.size() != 2) return std::nullopt;
    for (const double inner : values)
      for (const int64_t slope : {1, -1})
        if (auto found = between(rows, columns, inner, *values.begin() == inner ? *values.rbegin() : *values.begin(),
                                 slope, atoms))
          return found;
    return std::nullopt;
  }

 private:
  static std::optional<Cases> between(const std::vector<Row>& rows, int64_t columns, double inner, double outer,
                                      int64_t slope, Atoms& atoms) {
    // The part of `inner` in row i is [slope i + low, slope i + high], as far as there are columns.
    std::optional<int64_t> low, high;
    for (size_t i = 0; i < rows.size(); ++i)
      for (const Run& run : rows[i]) {
        if (run.number != inner) continue;
        if (run.lo > 0) low = run.lo - slope * int64_t(i);
        if (run.hi + 1 < columns) high = run.hi - slope * int64_t(i);
      }
    if (!low && !high) return std::nullopt;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t from = low ? std::max<int64_t>(0, slope * int64_t(i) + *low) : 0;
      const int64_t to = high ? std::min(columns - 1, slope * int64_t(i) + *high) : columns - 1;
      int parts = 0;
      for (const Run& run : rows[i])
        if (run.number == inner) {
          ++parts;
          if (run.lo != from || run.hi != to) return std::nullopt;
        }
      if (parts != (from <= to ? 1 : 0)) return std::nullopt;
    }
    Region whole;
    whole.box = {{0, int64_t(rows.size()) - 1, 1}, {0, columns - 1, 1}};
    Region inside = whole;
    if (low) inside.cut({-*low, {{0, -slope}, {1, 1}}}, atoms);
    if (high) inside.cut({*high, {{0, slope}, {1, -1}}}, atoms);
    Cases cases;
    for (Region& region : index::difference(whole, inside, atoms))
      cases.push_back({std::move(region), Value::of(outer)});
    cases.push_back({std::move(inside), Value::of(inner)});
    return cases;
  }
};

// Part of a matrix between two lines: in every row from `first` on, columns from `lo` to `hi`, which move by so much from
// row to row.
struct Strip {
  double number = 0;
  int64_t first = 0, last = 0;
  int64_t lo = 0, hi = 0;            // in the first row
  int64_t last_lo = 0, last_hi = 0;  // in the last row
  int64_t lo_step = 0, hi_step = 0;  // if there are two rows

  bool takes(const Run& run, int64_t greatest_step) const {
    const int64_t by_lo = run.lo - last_lo, by_hi = run.hi - last_hi;
    if (run.number != number) return false;
    if (first < last) return by_lo == lo_step && by_hi == hi_step;
    return std::abs(by_lo) <= greatest_step && std::abs(by_hi) <= greatest_step;
  }
  void take(const Run& run) {
    if (first == last) {
      lo_step = run.lo - last_lo;
      hi_step = run.hi - last_hi;
    }
    ++last;
    last_lo = run.lo;
    last_hi = run.hi;
  }
  Region region(std::vector<Range> box, const Atoms& atoms) const {
    const index::AtomId row = index::AtomId(box.size()), column = row + 1;
    Region region;
    region.box = std::move(box);
    region.box.push_back({first, last, 1});
    region.box.push_back({std::min(lo, last_lo), std::max(hi, last_hi), 1});
    if (lo_step != 0) region.cut({lo_step * first - lo, {{row, -lo_step}, {column, 1}}}, atoms);
    if (hi_step != 0) region.cut({hi - hi_step * first, {{row, hi_step}, {column, -1}}}, atoms);
    return region;
  }
};

// A matrix as strips; nothing if there are too many.
std::optional<std::vector<Strip>> strips_of(std::span<const Row> rows, int64_t columns, size_t most) {
  // In a small one equal numbers may lie in a line by chance.
  const int64_t greatest_step = int64_t(rows.size()) * columns <= few_elements ? 0 : 4;
  std::vector<Strip> done, open, next;
  for (size_t i = 0; i < rows.size(); ++i) {
    next.clear();
    for (const Run& run : rows[i]) {
      Strip* best = nullptr;
      for (Strip& strip : open)
        if (strip.last + 1 == int64_t(i) && strip.takes(run, greatest_step) &&
            (best == nullptr || std::abs(run.lo - strip.last_lo) + std::abs(run.hi - strip.last_hi) <
                                    std::abs(run.lo - best->last_lo) + std::abs(run.hi - best->last_hi)))
          best = &strip;
      if (best == nullptr) {
        next.push_back({run.number, int64_t(i), int64_t(i), run.lo, run.hi, run.lo, run.hi, 0, 0});
        continue;
      }
      best->take(run);
      next.push_back(*best);
    }
    for (const Strip& strip : open)
      if (strip.last + 1 == int64_t(i)) done.push_back(strip);
    open = next;
    if (done.size() + open.size() > most) return std::nullopt;
  }
  done.insert(done.end(), open.begin(), open.end());
  return done;
}

// The numbers of an array by rows, in runs of equal ones.
class Shapes {
 public:
  Shapes(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at, bool as_it_is)
      : extents_(extents), columns_(extents.empty() ? 1 : extents.back()) {
    for (const int64_t extent : extents) {
      if (extent <= 0 || size_ > most_elements / extent) return;
      size_ *= extent;
    }
    known_ = as_it_is ? read(number_at) : read([&](int64_t i) { return double(kind_of(number_at(i))); });
  }
  bool known() const { return known_; }

  Cases cases(Atoms& atoms) const {
    const size_t rank = extents_.size();
    if (rank == 0) return {{Region{}, Value::of(rows_[0][0].number)}};
    if (rank == 1) return lines();
    // The last two dimensions, by themselves: one matrix for all that come before
    const size_t height = size_t(extents_[rank - 2]);
    bool repeats = true;
    for (size_t i = height; i < rows_.size() && repeats; ++i) repeats = rows_[i] == rows_[i % height];
    if (repeats) {
      auto matrix = Band::of(std::vector<Row>(rows_.begin(), rows_.begin() + int64_t(height)), columns_, atoms);
      if (!matrix) matrix = matrix_of(std::span(rows_).first(height), {}, most_strips, atoms);
      if (!matrix) return {};
      if (rank == 2) return *matrix;
      Cases cases;
      std::vector<Form> images{Form::variable(index::AtomId(rank - 2)), Form::variable(index::AtomId(rank - 1))};
      Region whole = Region::whole(extents_);
      std::vector<Range> natural(whole.box.end() - 2, whole.box.end());
      for (const Case& one : *matrix)
        cases.push_back({index::pull_back(one.where, natural, images, whole, atoms), one.value});
      return cases;
    }
    Cases cases;
    std::vector<int64_t> at(rank - 2, 0);
    for (size_t first = 0; first < rows_.size(); first += height) {
      std::vector<Range> box;
      for (const int64_t i : at) box.push_back({i, i, 1});
      const auto matrix = matrix_of(std::span(rows_).subspan(first, height), box, most_strips, atoms);
      if (!matrix || cases.size() + matrix->size() > most_strips_in_all) return {};
      cases.insert(cases.end(), matrix->begin(), matrix->end());
      for (size_t d = rank - 2; d-- > 0;) {
        if (++at[d] < extents_[d]) break;
        at[d] = 0;
      }
    }
    return cases;
  }

 private:
  static constexpr size_t most_strips = 1024, most_strips_in_all = 1 << 14, most_runs = 1 << 20;

  bool read(const std::function<double(int64_t)>& number_at) {
    std::set<double> values;
    size_t runs = 0;
    for (int64_t first = 0; first < size_; first += columns_) {
      Row row;
      for (int64_t c = 0; c < columns_; ++c) {
        const double number = number_at(first + c);
        if (!row.empty() && row.back().number == number) {
          row.back().hi = c;
          continue;
        }
        if (std::isnan(number)) return false;
        if (values.insert(number).second && values.size() > (size_ > few_elements ? most_values : most_values_of_few))
          return false;
        row.push_back({c, c, number});
        if (++runs > most_runs) return false;
      }
      rows_.push_back(std::move(row));
    }
    return true;
  }

  Cases lines() const {
    Cases cases;
    for (const Run& run : rows_[0]) {
      Region region;
      region.box.push_back({run.lo, run.hi, 1});
      cases.push_back({std::move(region), Value::of(run.number)});
    }
    return cases;
  }

  std::optional<Cases> matrix_of(std::span<const Row> rows, const std::vector<Range>& box, size_t most,
                                 const Atoms& atoms) const {
    const auto strips = strips_of(rows, columns_, most);
    if (!strips) return std::nullopt;
    Cases cases;
    for (const Strip& strip : *strips) cases.push_back({strip.region(box, atoms), Value::of(strip.number)});
    return cases;
  }

  std::span<const int64_t> extents_;
  int64_t columns_, size_ = 1;
  std::vector<Row> rows_;
  bool known_ = false;
};

}  // namespace

Kind kind_of(double number) {
  return number == 0 ? Kind::zero : number <= as_good_as_minus_infinity ? Kind::hidden : Kind::plain;
}

Cases structure_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at, Atoms& atoms) {
  const Shapes shapes(extents, number_at, true);
  return shapes.known() ? shapes.cases(atoms) : Cases{};
}

Cases kinds_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at, Atoms& atoms) {
  const Shapes shapes(extents, number_at, false);
  return shapes.known() ? shapes.cases(atoms) : Cases{};
}

Cases hidden_in_blocks(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at,
                       const Value& plain) {
  constexpr int64_t blocks_along = 16;
  const Region whole = Region::whole(extents);
  if (extents.empty() || whole.empty) return {};
  // Of one matrix blocks, of several each in whole
  const size_t rank = extents.size();
  const int64_t columns = extents[rank - 1], rows = rank > 1 ? extents[rank - 2] : 1;
  int64_t matrices = 1;
  for (size_t d = 0; d + 2 < rank; ++d) matrices *= extents[d];
  const int64_t across = matrices > 1 ? columns : ceil_div(columns, blocks_along);
  const int64_t down = matrices > 1 ? rows : ceil_div(rows, blocks_along);
  Cases cases;
  for (int64_t m = 0; m < matrices; ++m)
    for (int64_t r = 0; r < rows; r += down)
      for (int64_t c = 0; c < columns; c += across) {
        Region block = whole;
        const int64_t end_r = std::min(rows, r + down), end_c = std::min(columns, c + across);
        block.box[rank - 1] = {c, end_c - 1, 1};
        if (rank > 1) block.box[rank - 2] = {r, end_r - 1, 1};
        int64_t rest = m;
        for (size_t d = rank; d-- > 0;) {
          if (d + 2 >= rank) continue;
          block.box[d] = {rest % extents[d], rest % extents[d], 1};
          rest /= extents[d];
        }
        bool hidden = false;
        for (int64_t i = r; i < end_r && !hidden; ++i)
          for (int64_t j = c; j < end_c && !hidden; ++j)
            hidden = kind_of(number_at((m * rows + i) * columns + j)) == Kind::hidden;
        cases.push_back({std::move(block), hidden ? Value::of(-INFINITY) : plain});
      }
  return cases;
}

Zeros zeros_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at) {
  Zeros zeros;
  int64_t size = 1;
  for (const int64_t extent : extents) size *= extent;
  std::vector<std::vector<bool>> others;  // by index and place: some number is not zero
  for (const int64_t extent : extents) others.emplace_back(size_t(extent), false);
  for (int64_t i = 0; i < size; ++i) {
    if (number_at(i) == 0) {
      ++zeros.count;
      continue;
    }
    int64_t rest = i;
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d]) others[d][size_t(rest % extents[d])] = true;
  }
  for (const std::vector<bool>& along : others)
    zeros.lines |= std::find(along.begin(), along.end(), false) != along.end();
  return zeros;
}

namespace {

// Of a line of numbers, as a formula of the variable: steps of one size in blocks of one length, blocks alike.
std::optional<Form> formula_of_line(const std::vector<int64_t>& line, const Form& variable, int64_t extent,
                                    Atoms& atoms) {
  const int64_t size = int64_t(line.size());
  if (size == 1) return Form::of(line[0]);
  const int64_t step = line[1] - line[0];
  int64_t block = 2;
  while (block < size && line[size_t(block)] == line[0] + step * block) ++block;
  std::vector<int64_t> first;
  for (int64_t i = 0; i < size; ++i) {
    if (i % block == 0) first.push_back(line[size_t(i)]);
    if (line[size_t(i)] != first.back() + step * (i % block)) return std::nullopt;
  }
  const Range range{0, extent - 1, 1};
  const auto rest = formula_of_line(first, atoms.quotient(variable, block, std::span(&range, 1)), extent, atoms);
  if (!rest) return std::nullopt;
  return atoms.sum(*rest, atoms.remainder(variable, block, std::span(&range, 1)), step);
}

// (a i + c) mod n, for n numbers from 0 on.
std::optional<Form> steps_around(int64_t size, const std::function<double(int64_t)>& number_at, Atoms& atoms) {
  if (size < 3 || size > most_elements) return std::nullopt;
  const auto within = [&](double number) {
    return number >= 0 && number < double(size) && number == std::floor(number);
  };
  if (!within(number_at(0)) || !within(number_at(1))) return std::nullopt;
  const int64_t first = int64_t(number_at(0)), step = (int64_t(number_at(1)) - first + size) % size;
  for (int64_t i = 0, number = first; i < size; ++i, number = (number + step) % size)
    if (number_at(i) != double(number)) return std::nullopt;
  const Range range{0, size - 1, 1};
  return atoms.remainder(Form{first, {{0, step}}}, size, std::span(&range, 1));
}

}  // namespace

std::optional<Form> formula_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at,
                               Atoms& atoms) {
  constexpr double greatest = 1e12;
  int64_t size = 1;
  for (const int64_t extent : extents) {
    if (extent <= 0 || size > most_elements / extent) return std::nullopt;
    size *= extent;
  }
  if (extents.size() == 1)
    if (auto around = steps_around(size, number_at, atoms)) return around;
  const double start = number_at(0);
  if (start != std::floor(start) || std::abs(start) > greatest) return std::nullopt;
  // Each index by itself, the others at 0
  std::vector<std::vector<int64_t>> lines;
  Form form = Form::of(int64_t(start));
  int64_t stride = size;
  for (size_t d = 0; d < extents.size(); ++d) {
    stride /= extents[d];
    std::vector<int64_t> line;
    for (int64_t i = 0; i < extents[d]; ++i) {
      const double number = number_at(i * stride);
      if (number != std::floor(number) || std::abs(number) > greatest) return std::nullopt;
      line.push_back(int64_t(number - start));
    }
    const auto one = formula_of_line(line, Form::variable(0), extents[d], atoms);
    if (!one) return std::nullopt;
    const Form variable[] = {Form::variable(index::AtomId(d))};
    form = atoms.sum(form, atoms.compose(*one, variable, {}));
    lines.push_back(std::move(line));
  }
  // All together
  for (int64_t i = 0; i < size; ++i) {
    double expected = start;
    int64_t rest = i;
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
      expected += double(lines[d][size_t(rest % extents[d])]);
    if (number_at(i) != expected) return std::nullopt;
  }
  return form;
}

Cases distances_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at) {
  constexpr size_t most_progressions = 64;
  if (extents.size() != 1 || extents[0] < 2 || extents[0] > most_elements) return {};
  std::map<double, Range> places;
  for (int64_t i = 0; i < extents[0]; ++i) {
    const double number = number_at(i);
    if (std::isnan(number)) return {};
    const auto [at, added] = places.try_emplace(number, Range{i, i, 1});
    if (places.size() > most_progressions) return {};
    Range& range = at->second;
    if (added) continue;
    if (range.lo == range.hi) range.step = i - range.lo;
    if (i - range.hi != range.step) return {};
    range.hi = i;
  }
  Cases cases;
  for (const auto& [number, range] : places) {
    Region region;
    region.box = {range};
    cases.push_back({std::move(region), Value::of(number)});
  }
  return cases;
}

Cases runs_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at) {
  constexpr size_t most_cases = 256;
  constexpr int64_t most_numbers = 1 << 16;
  constexpr double greatest = 1e12;
  int64_t size = 1;
  for (const int64_t extent : extents) {
    if (extent <= 0 || size > most_numbers / extent) return {};
    size *= extent;
  }
  if (extents.empty()) return {};
  const int64_t columns = extents.back();
  const index::AtomId last = index::AtomId(extents.size() - 1);
  Cases cases;
  for (int64_t first = 0; first < size; first += columns) {
    Region row;
    row.box.resize(extents.size());
    int64_t rest = first / columns;
    for (size_t d = extents.size() - 1; d-- > 0; rest /= extents[d])
      row.box[d] = {rest % extents[d], rest % extents[d], 1};
    for (int64_t from = 0; from < columns;) {
      const double start = number_at(first + from);
      if (start != std::floor(start) || std::abs(start) > greatest) return {};
      const double step = from + 1 < columns ? number_at(first + from + 1) - start : 0;
      int64_t to = from;
      while (to + 1 < columns && number_at(first + to + 1) - number_at(first + to) == step) ++to;
      // A step that goes no further belongs to the next run.
      if (to == from + 1 && step != 0 && to + 1 < columns) to = from;
      if (std::abs(step) > greatest || cases.size() >= most_cases) return {};
      row.box[last] = {from, to, 1};
      Form form = Form::of(int64_t(start) - int64_t(step) * from);
      if (to > from && step != 0) form.terms.emplace_back(last, int64_t(step));
      if (to == from) form = Form::of(int64_t(start));
      cases.push_back({row, Value::position(std::move(form))});
      from = to + 1;
    }
  }
  return cases;
}

}  // namespace lightline::demand
