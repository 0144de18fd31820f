// Regions, images and counts against enumeration.
#include "index/region.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "base/maths.h"
#include "support/seed.h"

namespace lightline::index {
namespace {

using Point = std::vector<int64_t>;

int64_t value_of(const Form& form, const Point& at, const Atoms& atoms) {
  int64_t value = form.constant;
  for (const auto& [id, coefficient] : form.terms) {
    if (is_variable(id)) {
      value += coefficient * at[id];
      continue;
    }
    const Atom& atom = atoms[id];
    const int64_t inner = value_of(atom.of, at, atoms);
    value += coefficient * (atom.kind == Atom::Kind::quotient ? floor_div(inner, atom.by) : floor_mod(inner, atom.by));
  }
  return value;
}

void for_each(const std::vector<Range>& box, const std::function<void(const Point&)>& visit) {
  for_each_point(Piece{box, {}}, visit);
}

bool contains(const Region& region, const Point& at, const Atoms& atoms) {
  if (region.empty) return false;
  for (size_t d = 0; d < at.size(); ++d) {
    const Range& range = region.box[d];
    if (at[d] < range.lo || at[d] > range.hi || floor_mod(at[d] - range.lo, range.step) != 0) return false;
  }
  for (const Form& cut : region.cuts)
    if (value_of(cut, at, atoms) < 0) return false;
  return true;
}

std::set<Point> points_of(const Region& region, const Atoms& atoms) {
  std::set<Point> points;
  if (region.empty) return points;
  for_each(region.box, [&](const Point& at) {
    if (contains(region, at, atoms)) points.insert(at);
  });
  return points;
}

std::set<Point> true_image(const Region& region, const std::vector<Form>& forms, const Atoms& atoms) {
  std::set<Point> points;
  for (const Point& at : points_of(region, atoms)) {
    Point to;
    for (const Form& form : forms) to.push_back(value_of(form, at, atoms));
    points.insert(std::move(to));
  }
  return points;
}

std::string text_of(const Form& form, const Atoms& atoms) {
  std::string text = std::to_string(form.constant);
  for (const auto& [id, coefficient] : form.terms) {
    text += " + " + std::to_string(coefficient) + " * ";
    if (is_variable(id))
      text += "v" + std::to_string(id);
    else
      text += "(" + text_of(atoms[id].of, atoms) + (atoms[id].kind == Atom::Kind::quotient ? ") div " : ") mod ") +
              std::to_string(atoms[id].by);
  }
  return text;
}

std::string text_of(const Region& region, const Atoms& atoms) {
  std::string text;
  for (const Range& range : region.box)
    text += "[" + std::to_string(range.lo) + " " + std::to_string(range.hi) + " " + std::to_string(range.step) + "]";
  for (const Form& cut : region.cuts) text += " cut " + text_of(cut, atoms);
  return text;
}

struct Shape {
  Atoms atoms;
  Region region;
  Form v(AtomId id, int64_t factor = 1, int64_t constant = 0) { return {constant, {{id, factor}}}; }
  Form div(const Form& form, int64_t by) { return atoms.quotient(form, by, region.box); }
  Form mod(const Form& form, int64_t by) { return atoms.remainder(form, by, region.box); }
  explicit Shape(std::vector<int64_t> extents) : region(Region::whole(extents)) {}
  double image_count(const std::vector<Form>& forms) {
    const auto regions = image(region, forms, atoms);
    return count(regions, atoms);
  }
};

TEST(Form, DigitsJoinAgain) {
  Shape s({24, 5});
  const Form e = s.v(0);
  EXPECT_EQ(s.atoms.sum(s.mod(e, 6), s.div(e, 6), 6), e);
  const Form middle = s.mod(s.div(e, 2), 3);
  EXPECT_EQ(s.atoms.sum(s.mod(e, 2), middle, 2), s.mod(e, 6));
  EXPECT_EQ(s.div(s.div(e, 2), 3), s.div(e, 6));
  EXPECT_EQ(s.div(s.mod(e, 6), 2), middle);
  EXPECT_EQ(s.div(s.atoms.sum(s.v(1), s.v(0), 5), 5), s.v(0));
  EXPECT_EQ(s.mod(s.atoms.sum(s.v(1), s.v(0), 5), 5), s.v(1));
}

TEST(Form, RowsThatAreOneShorterAreShifted) {
  Shape s({4, 4});
  const Form flat = s.atoms.sum(s.v(1, 1, 3), s.v(0), 7);  // 8 i + (j - i + 3)
  EXPECT_EQ(s.div(flat, 8), s.v(0));
  EXPECT_EQ(s.mod(flat, 8), s.atoms.sum(s.v(1, 1, 3), s.v(0), -1));
  EXPECT_EQ(s.image_count({s.mod(flat, 8)}), 7);
  const Form opposite = s.atoms.sum(s.v(1), s.v(0), -7);  // -8 i + (j + i)
  EXPECT_EQ(s.div(opposite, 8), s.v(0, -1));
  EXPECT_EQ(s.mod(opposite, 8), s.atoms.sum(s.v(1), s.v(0)));
}

TEST(Image, Reshapes) {
  Shape s({24});
  EXPECT_EQ(s.image_count({s.div(s.v(0), 6), s.mod(s.v(0), 6)}), 24);
  EXPECT_EQ(s.image_count({s.mod(s.v(0), 6)}), 6);
  EXPECT_EQ(s.image_count({s.mod(s.div(s.v(0), 2), 3), s.mod(s.v(0), 2)}), 6);
  Shape t({3, 8});  // seen as 4 x 6
  const Form flat = t.atoms.sum(t.v(1), t.v(0), 8);
  EXPECT_EQ(t.image_count({t.div(flat, 6), t.mod(flat, 6)}), 24);
}

TEST(Image, WindowsAndStrides) {
  Shape s({10, 3});
  EXPECT_EQ(s.image_count({s.atoms.sum(s.v(0), s.v(1))}), 12);
  EXPECT_EQ(s.image_count({s.atoms.sum(s.v(0), s.v(1)), s.v(1)}), 30);
  EXPECT_EQ(s.image_count({s.atoms.sum(s.v(1), s.v(0), 2)}), 21);
  EXPECT_EQ(s.image_count({s.atoms.sum(s.v(1), s.v(0), 4)}), 30);
  EXPECT_EQ(s.image_count({s.v(0, -2, 18)}), 10);
  Shape roll({8});
  EXPECT_EQ(roll.image_count({roll.mod(roll.v(0, 1, 3), 8)}), 8);
}

// y = 64 h where h is a digit of x: y alone goes by steps, however many there are.
TEST(Image, StepsThatAnEquationTells) {
  Shape s({128 * 200, 64 * 200});
  s.region.cut_equal(s.v(1), s.atoms.scaled(s.div(s.v(0), 128), 64), s.atoms);
  s.region.cut(s.atoms.sum(Form::of(63), s.mod(s.v(0), 128), -1), s.atoms);
  const Losses before = s.atoms.losses();
  const auto regions = image(s.region, std::vector<Form>{s.v(1)}, s.atoms);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].box, (std::vector<Range>{{0, 64 * 199, 64}}));
  EXPECT_EQ(s.image_count({s.v(1, 2, 5)}), 200);
  EXPECT_EQ(s.image_count({s.v(0), s.v(1)}), 64 * 200);
  EXPECT_EQ(s.atoms.losses(), before);
}

// Pairs of places at 81 distances: each distance by itself.
TEST(Image, ManyDistancesAreToldApart) {
  Shape s({16, 16, 24, 24});
  std::vector<Region> regions;
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = 0; j < 9; ++j) {
      regions.push_back(s.region);
      regions.back().cut_equal(s.v(2), s.v(0, 1, i), s.atoms);
      regions.back().cut_equal(s.v(3), s.v(1, 1, j), s.atoms);
    }
  EXPECT_EQ(count(regions, s.atoms), 16 * 16 * 81);
}

TEST(Image, BlocksOfHeads) {
  Shape s({4, 8});  // the first half of every head of 16
  const auto regions = image(s.region, std::vector<Form>{s.atoms.sum(s.v(1), s.v(0), 16)}, s.atoms);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(count(regions, s.atoms), 32);
  auto both = regions;
  both.push_back(image(s.region, std::vector<Form>{s.atoms.sum(s.v(1, 1, 8), s.v(0), 16)}, s.atoms)[0]);
  EXPECT_EQ(count(both, s.atoms), 64);
}

TEST(Image, Diagonal) {
  Shape s({6, 7});
  EXPECT_EQ(s.image_count({s.v(0), s.v(0)}), 6);
  s.region.cut(s.atoms.sum(s.v(0), s.v(1), -1), s.atoms);  // v1 <= v0
  EXPECT_EQ(s.image_count({s.v(0), s.v(1)}), 21);
  EXPECT_EQ(s.image_count({s.v(1)}), 6);
}

TEST(Image, DocumentsOfAMask) {
  Shape s({4096, 4096});
  s.region.cut_equal(s.div(s.v(0), 1024), s.div(s.v(1), 1024), s.atoms);
  s.region.cut(s.atoms.sum(s.v(0), s.v(1), -1), s.atoms);
  EXPECT_EQ(count(s.region, s.atoms), 4 * 1024.0 * 1025 / 2);
}

TEST(Image, DataInGeneralPosition) {
  Shape s({100, 8});
  const Form row = s.atoms.data(7, {s.v(0)}, 50);
  const auto regions = image(s.region, std::vector<Form>{row, s.v(1)}, s.atoms);
  EXPECT_NEAR(count(regions, s.atoms), 8 * 50 * (1 - std::pow(1 - 1 / 50.0, 100)), 1e-9);
  EXPECT_EQ(count(regions, s.atoms, Data::kindest), 8);
  const auto beside = image(s.region, std::vector<Form>{s.v(0), row}, s.atoms);
  EXPECT_EQ(count(beside, s.atoms), 100);
  s.atoms.know(7, {{100}, std::vector<int64_t>(100, 3)});
  EXPECT_EQ(count(image(s.region, std::vector<Form>{row, s.v(1)}, s.atoms), s.atoms), 8);
}

// Random forms of every kind.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t n) { return int64_t(engine_() % uint64_t(n)); }
  Form form(Shape& s, int depth) {
    Form result = Form::of(below(5) - 2);
    const int64_t terms = 1 + below(2);
    for (int64_t i = 0; i < terms; ++i) {
      Form part = s.v(AtomId(below(int64_t(s.region.box.size()))));
      if (depth > 0 && below(3) == 0) part = form(s, depth - 1);
      const int64_t by = 2 + below(5);
      if (const int64_t kind = below(4); kind == 0)
        part = s.div(part, by);
      else if (kind == 1)
        part = s.mod(part, by);
      const int64_t factors[] = {1, 1, 1, -1, 2, 3};
      result = s.atoms.sum(result, part, factors[below(6)]);
    }
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

TEST(Image, NeverMoreThanThereIs) {
  Random random(testing_support::seed_of(1));
  double found = 0, there = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<int64_t> extents;
    for (int64_t i = 1 + random.below(3); i > 0; --i) extents.push_back(1 + random.below(9));
    Shape s(extents);
    for (Range& range : s.region.box)
      if (random.below(4) == 0 && range.hi > 1) range = {1, range.hi - (range.hi - 1) % 2, 2};
    for (int64_t i = random.below(3); i > 0; --i) s.region.cut(random.form(s, 1), s.atoms);
    std::vector<Form> forms;
    for (int64_t i = random.below(4); i > 0; --i) forms.push_back(random.form(s, 1));
    const double points = count(s.region, s.atoms);
    const double exact = double(points_of(s.region, s.atoms).size());
    std::string what = "round " + std::to_string(round) + ": " + text_of(s.region, s.atoms);
    for (const Form& form : forms) what += " form " + text_of(form, s.atoms);
    ASSERT_LE(points, exact) << what;
    const auto expected = true_image(s.region, forms, s.atoms);
    const auto regions = image(s.region, forms, s.atoms);
    for (const Region& region : regions)
      for (const Point& point : points_of(region, s.atoms))
        ASSERT_TRUE(expected.contains(point)) << what << " gives " << text_of(region, s.atoms);
    const double mapped = count(regions, s.atoms);
    ASSERT_LE(mapped, double(expected.size())) << what;
    found += points + mapped;
    there += exact + double(expected.size());
  }
  EXPECT_GT(found / there, 0.9);
  RecordProperty("share", int(1000 * found / there));
}

TEST(Region, DifferenceAndPullBack) {
  Random random(testing_support::seed_of(2));
  for (int round = 0; round < 5000; ++round) {
    Shape s({1 + random.below(8), 1 + random.below(8)});
    Region other = s.region;
    const auto narrowed = [&](Region& region) {
      for (Range& range : region.box)
        if (random.below(2) == 0) {
          range.lo = random.below(range.hi + 1);
          range.hi = range.lo + random.below(range.hi - range.lo + 1);
        }
      if (random.below(2) == 0) region.cut(random.form(s, 1), s.atoms);
    };
    narrowed(other);
    Region a = s.region;
    narrowed(a);
    std::set<Point> expected = points_of(a, s.atoms);
    for (const Point& point : points_of(other, s.atoms)) expected.erase(point);
    std::multiset<Point> got;
    for (const Region& part : difference(a, other, s.atoms))
      for (const Point& point : points_of(part, s.atoms)) got.insert(point);
    ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin(), expected.end())) << "round " << round;
    // Points of another space whose images lie in the region.
    Shape t({1 + random.below(6), 1 + random.below(6)});
    t.atoms = std::move(s.atoms);
    const std::vector<Form> images{random.form(t, 1), random.form(t, 1)};
    const Region back = pull_back(other, s.region.box, images, t.region, t.atoms);
    for_each(t.region.box, [&](const Point& at) {
      const Point to{value_of(images[0], at, t.atoms), value_of(images[1], at, t.atoms)};
      bool natural = true;
      for (size_t d = 0; d < 2; ++d) natural &= to[d] >= s.region.box[d].lo && to[d] <= s.region.box[d].hi;
      if (natural) {
        ASSERT_EQ(contains(back, at, t.atoms), contains(other, to, t.atoms)) << "round " << round;
      }
    });
  }
}

}  // namespace
}  // namespace lightline::index
