// Regions of integer points as programs write them: a box cut by forms, which may hold quotients and remainders. They
// are counted, and mapped by other forms, after every variable is split into the digits that its quotients and
// remainders ask for.
#pragma once

#include <compare>
#include <vector>

#include "index/direction.h"
#include "index/piece.h"

namespace lightline::index {

// Points that only data tell, in general position: of all values of one coordinate, so many are there.
struct Sample {
  uint32_t coordinate = 0;
  uint64_t source = 0;           // equal for equal data
  double least = 1;              // different values if data are kindest
  double expected = 1;           // different values in general position
  double extent = 0;             // of so many that there could be; 0 if that is not known
  std::vector<uint32_t> varies;  // coordinates for each of whose values there are others
  uint32_t held_by = 0;          // whose numbers they are,
  std::vector<Range> places;     // between which places they are read, if that is known,
  double draws = 0;              // and at how many of them; 0 if that is not known
  bool operator==(const Sample&) const = default;
  auto operator<=>(const Sample&) const = default;
};

// The numbers of one tell nothing of those of the other.
bool are_independent(const Sample& a, const Sample& b, const Atoms& atoms);

struct Region {
  std::vector<Range> box;
  std::vector<Form> cuts;       // each at least 0
  std::vector<Sample> samples;  // by ascending coordinate; a region without any is exact
  bool empty = false;           // seen to have no points
  double points = -1;           // how many there are, if that is known already

  static Region whole(std::span<const int64_t> extents);
  // Keeps the points where the form is at least 0.
  void cut(Form form, const Atoms& atoms);
  void cut_equal(const Form& a, const Form& b, Atoms& atoms);
  bool is_box() const { return cuts.empty() && samples.empty(); }
  bool operator==(const Region& other) const {
    return empty == other.empty && box == other.box && cuts == other.cuts && samples == other.samples;
  }
  auto operator<=>(const Region& other) const {
    if (const auto order = box <=> other.box; std::is_neq(order)) return std::partial_ordering(order);
    if (const auto order = cuts <=> other.cuts; std::is_neq(order)) return std::partial_ordering(order);
    return std::partial_ordering(samples <=> other.samples);
  }
};
uint64_t hash_of(const Region& region);

// The points of `within` whose images lie in `region`, a region of the images' space. What a box does not restrict of
// `natural`, the box of that whole space, is not tested.
Region pull_back(const Region& region, std::span<const Range> natural, std::span<const Form> images,
                 const Region& within, Atoms& atoms);
// The points of both; they are of one space.
Region intersection(const Region& a, const Region& b, const Atoms& atoms);
// Whether the intersection is not seen to be empty.
bool has_common_points(const Region& a, const Region& b, const Atoms& atoms);
// The points of `a` outside of `b`, as disjoint regions.
std::vector<Region> difference(const Region& a, const Region& b, Atoms& atoms);

// How data are taken: in general position, or as suits an implementation best.
enum class Data : uint8_t { general, kindest };

// True if digits show that no point is left; false if there may be some.
bool has_no_points(const Region& region, Atoms& atoms);

// The number of points of a union, or fewer.
AtLeast count(std::span<const Region> regions, Atoms& atoms, Data data = Data::general);
AtLeast count(const Region& region, Atoms& atoms, Data data = Data::general);
// The number of points of a union, or more.
AtMost count_at_most(std::span<const Region> regions, Atoms& atoms, Data data = Data::general);

// The values that the forms take together over the region: all of them where that can be said, else some.
std::vector<Region> image(const Region& region, std::span<const Form> forms, Atoms& atoms);

}  // namespace lightline::index
