#include "demand/known_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace lightline::demand {
namespace {

constexpr int64_t most_elements = int64_t(1) << 24;
constexpr size_t most_values = 4, most_values_of_few = 64;
constexpr int64_t few_elements = 4096;
constexpr size_t most_runs = 1024;

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

}  // namespace

Cases structure_of(std::span<const int64_t> extents, const std::function<double(int64_t)>& number_at, Atoms& atoms) {
  int64_t size = 1;
  for (const int64_t extent : extents) {
    if (extent <= 0 || size > most_elements / extent) return {};
    size *= extent;
  }
  const int64_t columns = extents.empty() ? 1 : extents.back();
  std::set<double> values;
  std::vector<Row> rows;
  size_t runs = 0;
  for (int64_t first = 0; first < size; first += columns) {
    Row row;
    for (int64_t c = 0; c < columns; ++c) {
      const double number = number_at(first + c);
      if (!row.empty() && row.back().number == number) {
        row.back().hi = c;
        continue;
      }
      if (std::isnan(number)) return {};
      if (values.insert(number).second && values.size() > (size > few_elements ? most_values : most_values_of_few))
        return {};
      row.push_back({c, c, number});
      if (++runs > most_runs * 64) return {};
    }
    rows.push_back(std::move(row));
  }
  const size_t rank = extents.size();
  if (rank == 0) return {{Region{}, Value::of(number_at(0))}};
  // The last two dimensions, by themselves: one matrix for all that come before
  if (rank >= 2) {
    const size_t height = size_t(extents[rank - 2]);
    bool repeats = true;
    for (size_t i = height; i < rows.size() && repeats; ++i) repeats = rows[i] == rows[i % height];
    if (repeats)
      if (auto band = Band::of(std::vector<Row>(rows.begin(), rows.begin() + int64_t(height)), columns, atoms)) {
        Cases cases;
        std::vector<Form> images{Form::variable(index::AtomId(rank - 2)), Form::variable(index::AtomId(rank - 1))};
        Region whole = Region::whole(extents);
        std::vector<Range> natural(whole.box.end() - 2, whole.box.end());
        for (const Case& one : *band)
          cases.push_back({index::pull_back(one.where, natural, images, whole, atoms), one.value});
        return cases;
      }
  }
  // Boxes: equal rows that follow each other are one, dimension by dimension.
  Cases cases;
  std::vector<int64_t> at(rank, 0);
  for (const Row& row : rows) {
    for (const Run& run : row) {
      Region region;
      for (size_t d = 0; d + 1 < rank; ++d) region.box.push_back({at[d], at[d], 1});
      region.box.push_back({run.lo, run.hi, 1});
      cases.push_back({std::move(region), Value::of(run.number)});
    }
    for (size_t d = rank - 1; d-- > 0;) {
      if (++at[d] < extents[d]) break;
      at[d] = 0;
    }
  }
  return cases;
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
