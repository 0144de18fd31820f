#include "demand/known_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/maths.h"

namespace lightline::demand {
namespace {}  // namespace

Kind kind_of(double number) {
  return number == 0 ? Kind::zero : number <= as_good_as_minus_infinity ? Kind::hidden : Kind::plain;
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
  if (size < 3 || size > most_known_elements) return std::nullopt;
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
    if (extent <= 0 || size > most_known_elements / extent) return std::nullopt;
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
  if (extents.size() != 1 || extents[0] < 2 || extents[0] > most_known_elements) return {};
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
