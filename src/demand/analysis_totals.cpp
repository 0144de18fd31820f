// Bytes and work of groups and of the whole program, once everything is walked.
#include <algorithm>

#include "demand/analyzer.h"

namespace lightline::demand {

void Analyzer::collect() {
  for (const ArrayId input : program_.inputs) {
    const double least = demanded_[input].points();
    out_.input_bytes += bytes_of(input, least);
    if (const auto expected = expected_.find(input); expected != expected_.end())
      out_.expected_gather_bytes += bytes_of(input, std::max(0.0, expected->second - least));
  }
  out_.output_bytes = output_bytes();
  for (auto& [key, region] : read_by_) {
    const auto [reader, array] = key;
    const bool inside = maker_[array] != none && maker_[array] == reader;
    if (inside) continue;
    groups_[reader].operand_bytes += bytes_of(array, region.points());
    if (maker_[array] != none) used_outside_.insert(array);
  }
  // An array that is read and not returned needs no memory of its own if an equal one is returned.
  std::set<ArrayId> served;
  for (const ArrayId array : returned_)
    if (const ArrayId first = structure_.first_equal(array); !returned_.contains(first)) served.insert(first);
  used_outside_.insert(returned_.begin(), returned_.end());
  for (const ArrayId array : used_outside_) {
    if (maker_[array] == none || view_[array] != nullptr || served.contains(array)) continue;
    const double elements = structure_.first_equal(array) == array ? demanded_[array].points() : product(shape(array));
    groups_[maker_[array]].result_bytes +=
        in_place_.contains(array) ? in_place_bytes(array) : bytes_of(array, elements);
  }
  for (GroupDemand& group : groups_) {
    if (group.work.empty() && group.bytes() == 0) continue;
    out_.work.add(group.work);
    out_.groups.push_back(std::move(group));
  }
  out_.algebraic = linear_.total(out_.work);
  out_.opaque = opaque_;
  if (branches_) out_.assumptions.emplace_back("a branch is chosen by data; neither side is counted");
  if (out_.expected_gather_bytes > 0)
    out_.assumptions.emplace_back(
        "indices are not known: a gather counts the fewest rows that any indices could touch");
}

double Analyzer::output_bytes() {
  std::map<ArrayId, PointSet> written;
  double total = 0;
  for (const ArrayId array : returned_) {
    if (in_place_.contains(array)) {
      total += in_place_bytes(array);
      continue;
    }
    std::vector<Piece> pieces{Piece::whole(shape(array))};
    ArrayId storage = array;
    for (; view_[storage] != nullptr; storage = program_.exprs[view_[storage]->body].args[0]) {
      const Expr& read = program_.exprs[view_[storage]->body];
      std::vector<Piece> seen;
      for (const Piece& piece : pieces) {
        const Footprint footprint = footprints_.of(shape(read.args[0]), loops::subscripts_of(program_, read),
                                                   read.has_fill, domain_of(*view_[storage], {}), piece);
        for (Piece& part : footprint.pieces()) seen.push_back(std::move(part));
      }
      pieces = std::move(seen);
    }
    for (Piece& piece : pieces)
      if (!is_input_[storage]) written[storage].add(std::move(piece));
  }
  for (const auto& [array, region] : written) total += bytes_of(array, region.points());
  return total;
}

double Analyzer::in_place_bytes(ArrayId array) const {
  const Scatter* scatter = scatter_[array];
  if (scatter == nullptr || scatter->init_array != in_place_.at(array)) return bytes_of(array, product(shape(array)));
  const Domain domain = domain_of(*scatter, {});
  const Footprint touched =
      footprints_.of(shape(array), scatter->target.data(), true, domain, whole_of(domain, RepeatContext{}));
  PointSet region;
  for (Piece& piece : touched.pieces()) region.add(std::move(piece));
  return bytes_of(array, region.points());
}

}  // namespace lightline::demand
