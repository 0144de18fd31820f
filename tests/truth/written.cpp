#include "truth/written.h"

#include <algorithm>
#include <map>
#include <set>

namespace lightline::truth {
namespace {

using namespace loops;

bool is_input(const Program& program, ArrayId array) {
  return std::find(program.inputs.begin(), program.inputs.end(), array) != program.inputs.end();
}

std::vector<int64_t> coordinates(int64_t place, const Shape& shape) {
  std::vector<int64_t> result(shape.size());
  for (size_t d = shape.size(); d-- > 0; place /= shape[d]) result[d] = place % shape[d];
  return result;
}

// Whether places[i] is an affine function of the coordinates of i in `shape`.
bool is_affine(const std::vector<int64_t>& places, const Shape& shape) {
  std::vector<int64_t> steps(shape.size(), 0);
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    if (shape[d] > 1) steps[d] = places[size_t(stride)] - places[0];
  for (size_t i = 0; i < places.size(); ++i) {
    int64_t expected = places[0];
    const auto at = coordinates(int64_t(i), shape);
    for (size_t d = 0; d < shape.size(); ++d) expected += at[d] * steps[d];
    if (expected != places[i]) return false;
  }
  return true;
}

bool is_view_of(const Program& program, const UnrolledOutput& part, const UnrolledOutput& whole) {
  if (program.arrays[part.declared.array].dtype != program.arrays[whole.declared.array].dtype) return false;
  if (part.elements.size() != whole.elements.size()) return false;
  std::map<NodeId, int64_t> place_of;
  for (size_t i = 0; i < whole.elements.size(); ++i) place_of.try_emplace(whole.elements[i], int64_t(i));
  std::vector<int64_t> places;
  for (const NodeId element : part.elements) {
    const auto found = place_of.find(element);
    if (found == place_of.end()) return false;
    places.push_back(found->second);
  }
  return !places.empty() && is_affine(places, program.arrays[part.declared.array].shape);
}

}  // namespace

Written written_elements(const Program& program, const Unrolled& unrolled) {
  Written result;
  std::vector<const UnrolledOutput*> kept;
  std::set<UnrolledOutput::Root> roots;
  std::vector<const UnrolledOutput*> largest_first;
  for (const UnrolledOutput& output : unrolled.outputs) largest_first.push_back(&output);
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](const auto* a, const auto* b) { return a->elements.size() > b->elements.size(); });
  for (const UnrolledOutput* output : largest_first) {
    const ArrayId replaces = output->declared.replaces;
    const bool again = replaces == none && std::any_of(kept.begin(), kept.end(), [&](const UnrolledOutput* other) {
                         return is_view_of(program, *output, *other);
                       });
    if (again) continue;
    const double width = bits(program.arrays[output->declared.array].dtype) / 8.0;
    for (size_t i = 0; i < output->elements.size(); ++i) {
      const Node& node = unrolled.graph[output->elements[i]];
      if (replaces != none && node.kind == Kind::leaf && node.array == replaces && node.place == int64_t(i)) continue;
      if (replaces == none && is_input(program, output->roots[i].array)) continue;
      if (replaces == none && !roots.insert(output->roots[i]).second) continue;
      result.elements.push_back(output->elements[i]);
      result.bytes += width;
    }
    if (replaces == none) kept.push_back(output);
  }
  return result;
}

}  // namespace lightline::truth
