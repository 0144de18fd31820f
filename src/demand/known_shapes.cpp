// Shapes in arrays whose numbers are known: boxes, triangles, bands, and other parts between two lines.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "demand/known_values.h"

namespace lightline::demand {
namespace {

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
  // Of a region, where the row and the column are these forms.
  Region cut_from(Region region, const Form& row, const Form& column, Atoms& atoms) const {
    const auto at_least = [&](const Form& form, int64_t least) {
      region.cut(atoms.sum(Form::of(-least), form), atoms);
    };
    at_least(row, first);
    at_least(atoms.scaled(row, -1), -last);
    at_least(atoms.sum(column, row, -lo_step), lo - lo_step * first);
    at_least(atoms.sum(atoms.scaled(column, -1), row, hi_step), hi_step * first - hi);
    return region;
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
std::optional<std::vector<Strip>> strips_of(std::span<const Row> rows, int64_t greatest_step, size_t most) {
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
      if (extent <= 0 || size_ > most_known_elements / extent) return;
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
                                 Atoms& atoms) const {
    // In a small one equal numbers may lie in a line by chance.
    const auto strips = strips_of(rows, int64_t(rows.size()) * columns_ <= few_elements ? 0 : greatest_step, most);
    if (!strips) return box.empty() ? by_digits(rows, most, atoms) : std::nullopt;
    Cases cases;
    for (const Strip& strip : *strips) cases.push_back({strip.region(box, atoms), Value::of(strip.number)});
    return cases;
  }

  // A neighbourhood of places in rows of so many: two numbers, one of them where both digits of the indices allow it.
  static std::optional<Cases> by_digits(std::span<const Row> rows, size_t most, Atoms& atoms) {
    const int64_t places = int64_t(rows.size());
    if (rows[0].back().hi + 1 != places) return std::nullopt;
    std::set<double> numbers;
    for (const Row& row : rows)
      for (const Run& run : row) numbers.insert(run.number);
    if (numbers.size() != 2) return std::nullopt;
    for (const double see : numbers) {
      std::vector<int64_t> starts;
      for (const Run& run : rows[0])
        if (run.number == see) starts.push_back(run.lo);
      const int64_t width = starts.size() < 2 ? 0 : starts[1] - starts[0];
      if (width < 2 || places % width != 0) continue;
      const auto high = digits_seen(rows, see, width, true), low = digits_seen(rows, see, width, false);
      double seen = 0, of_high = 0, of_low = 0;
      const auto count = [&](std::span<const Row> matrix, double number, double& total) {
        for (const Row& row : matrix)
          for (const Run& run : row)
            if (run.number == number) total += double(run.hi - run.lo + 1);
      };
      count(rows, see, seen);
      count(high, 1, of_high);
      count(low, 1, of_low);
      const auto strips = strips_of(high, greatest_step, most), inner = strips_of(low, greatest_step, most);
      if (seen != of_high * of_low || !strips || !inner || strips->size() * inner->size() > most) continue;
      const double other = *numbers.begin() == see ? *numbers.rbegin() : *numbers.begin();
      Region whole;
      whole.box.assign(2, {0, places - 1, 1});
      Cases cases;
      for (const Strip& one : *strips) {
        const Region block = one.cut_from(whole, atoms.quotient(Form::variable(0), width, whole.box),
                                          atoms.quotient(Form::variable(1), width, whole.box), atoms);
        if (one.number == 0) {
          cases.push_back({block, Value::of(other)});
          continue;
        }
        for (const Strip& part : *inner)
          cases.push_back({part.cut_from(block, atoms.remainder(Form::variable(0), width, whole.box),
                                         atoms.remainder(Form::variable(1), width, whole.box), atoms),
                           Value::of(part.number == 0 ? other : see)});
      }
      return cases;
    }
    return std::nullopt;
  }

  // Which pairs of high, or low, digits are seen at all: 1 or 0.
  static std::vector<Row> digits_seen(std::span<const Row> rows, double see, int64_t width, bool high) {
    const int64_t size = high ? int64_t(rows.size()) / width : width;
    std::vector<bool> seen(size_t(size * size), false);
    const auto digit = [&](int64_t i) { return high ? i / width : i % width; };
    for (int64_t i = 0; i < int64_t(rows.size()); ++i)
      for (const Run& run : rows[size_t(i)])
        for (int64_t j = run.lo; run.number == see && j <= run.hi; ++j) seen[size_t(digit(i) * size + digit(j))] = true;
    std::vector<Row> matrix(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j < size; ++j) {
        Row& row = matrix[size_t(i)];
        const double number = seen[size_t(i * size + j)] ? 1 : 0;
        if (!row.empty() && row.back().number == number)
          row.back().hi = j;
        else
          row.push_back({j, j, number});
      }
    return matrix;
  }

  static constexpr int64_t greatest_step = 4;
  std::span<const int64_t> extents_;
  int64_t columns_, size_ = 1;
  std::vector<Row> rows_;
  bool known_ = false;
};

}  // namespace

Cases structure_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at, Atoms& atoms) {
  const Shapes shapes(extents, number_at, true);
  return shapes.known() ? shapes.cases(atoms) : Cases{};
}

Cases kinds_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at, Atoms& atoms) {
  const Shapes shapes(extents, number_at, false);
  return shapes.known() ? shapes.cases(atoms) : Cases{};
}

}  // namespace lightline::demand
