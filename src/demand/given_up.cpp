#include "demand/given_up.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "demand/needs.h"
#include "demand/readers.h"

namespace lightline::demand {
namespace {

constexpr std::array<std::string_view, index::kinds_of_loss> loss_names{
    "more values of a quotient or remainder than are tried",
    "a range that goes by steps, seen through another: one value is taken",
    "sums of steps that do not divide each other: the longest row is taken",
    "places that only data tell",
    "sets that overlap and can not be split",
    "more lines of points than are counted: a box inside is",
    "numbers too large to be kept",
};

// Statements outside of repeats, each with all that is inside of it: who reads whom.
class Uses {
 public:
  explicit Uses(const NormalForm& form, const Needs& fused) : program_(*form.program), fused_(fused) {
    const auto ids = loops::statement_ids(program_);
    node_of_.resize(ids.size());
    maker_.assign(program_.arrays.size(), nobody);
    ceiling_.resize(program_.statements.size());
    reads_.resize(program_.statements.size());
    readers_.resize(program_.arrays.size());
    for (size_t node = 0; node < program_.statements.size(); ++node) add(program_.statements[node], node, 1, ids);
    counted_.resize(program_.statements.size());
    for (const auto& [term, work] : fused.work)
      if (const uint32_t statement = form.terms[term].statement; statement < node_of_.size())
        counted_[node_of_[statement]] += work.total_macs();
  }

  size_t node_of(uint32_t statement) const { return statement < node_of_.size() ? node_of_[statement] : nobody; }
  std::string name_of(uint32_t statement) const {
    const size_t node = node_of(statement);
    if (node == nobody) return "the outputs";
    const loops::Statement& one = program_.statements[node];
    if (one.group != loops::none) return program_.groups[one.group];
    const auto results = loops::results_of(one);
    return results.empty() ? "" : program_.arrays[results[0]].name;
  }

  // What these read, directly or not, and they themselves; where `after` is set, first whatever reads them.
  std::set<size_t> reach(const std::set<size_t>& from, bool after) const {
    std::set<size_t> all = from;
    if (after)
      spread(all, [&](size_t node, const auto& visit) {
        for (const loops::ArrayId array : loops::results_of(program_.statements[node]))
          for (const size_t reader : readers_[array]) visit(reader);
      });
    spread(all, [&](size_t node, const auto& visit) {
      for (const loops::ArrayId array : reads_[node])
        if (maker_[array] != nobody) visit(maker_[array]);
    });
    return all;
  }
  index::AtMost macs(const std::set<size_t>& nodes) const {
    double total = 0;
    for (const size_t node : nodes) total += std::max(0.0, ceiling_[node] - counted_[node]);
    return index::AtMost(total);
  }
  index::AtMost bytes(const std::set<size_t>& nodes, bool outputs) const {
    std::set<loops::ArrayId> touched;
    for (const size_t node : nodes)
      for (const loops::ArrayId array : reads_[node])
        if (maker_[array] == nobody) touched.insert(array);
    double total = 0, written = 0;
    for (const loops::ArrayId array : touched) {
      const auto found = fused_.input_elements.find(array);
      total +=
          std::max(0.0, bytes_of(array) - (found == fused_.input_elements.end() ? 0 : found->second * width(array)));
    }
    for (const loops::Output& output : program_.outputs) written += bytes_of(output.array);
    return index::AtMost(total + (outputs ? std::max(0.0, written - fused_.output_bytes) : 0));
  }

 private:
  static constexpr size_t nobody = SIZE_MAX;

  void add(const loops::Statement& statement, size_t node, double times,
           const std::unordered_map<const loops::Statement*, loops::StatementId>& ids) {
    node_of_[ids.at(&statement)] = node;
    for (const loops::ArrayId array : loops::results_of(statement)) maker_[array] = node;
    for (const loops::ArrayId array : arrays_read(program_, statement)) {
      reads_[node].insert(array);
      readers_[array].insert(node);
    }
    if (const auto* compute = std::get_if<loops::Compute>(&statement.node))
      if (compute->reducer == loops::Reducer::sum || compute->reducer == loops::Reducer::any)
        ceiling_[node] += times * points(compute->loops) * points(compute->reduced) * real_products;
    if (const auto* scatter = std::get_if<loops::Scatter>(&statement.node))
      ceiling_[node] += times * points(scatter->domain) * real_products;
    if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) {
      for (const loops::Repeat::Carry& carry : repeat->carries) maker_[carry.inner] = node;
      const bool by_data = repeat->condition != loops::none;  // opaque
      const double steps = by_data ? 0 : double(program_.indices[repeat->counter].extent);
      for (const loops::Statement& inner : repeat->body) add(inner, node, times * steps, ids);
    }
  }
  double points(const std::vector<loops::IndexId>& indices) const {
    double product = 1;
    for (const loops::IndexId index : indices) product *= double(program_.indices[index].extent);
    return product;
  }
  double width(loops::ArrayId array) const { return bits(program_.arrays[array].dtype) / 8.0; }
  double bytes_of(loops::ArrayId array) const {
    double total = width(array);
    for (const int64_t extent : program_.arrays[array].shape) total *= double(extent);
    return total;
  }
  template <class Next>
  static void spread(std::set<size_t>& all, const Next& next) {
    std::vector<size_t> open(all.begin(), all.end());
    while (!open.empty()) {
      const size_t node = open.back();
      open.pop_back();
      next(node, [&](size_t other) {
        if (all.insert(other).second) open.push_back(other);
      });
    }
  }

  const loops::Program& program_;
  const Needs& fused_;
  const double real_products = uses_complex_numbers() ? 3 : 1;
  std::vector<size_t> node_of_;                  // by statement
  std::vector<size_t> maker_;                    // by array
  std::vector<std::set<loops::ArrayId>> reads_;  // by node
  std::vector<std::set<size_t>> readers_;        // by array
  std::vector<double> ceiling_, counted_;        // by node: products that could be, and those that are counted

  bool uses_complex_numbers() const {
    return std::any_of(program_.arrays.begin(), program_.arrays.end(),
                       [](const loops::Array& array) { return array.dtype == DType::c64; });
  }
};

}  // namespace

void note_losses(const index::Losses& before, const index::Losses& after, uint32_t statement, Drops& drops) {
  if (before == after) return;
  for (size_t i = 0; i < loss_names.size(); ++i)
    if (after[i] > before[i]) drops[{statement, std::string(loss_names[i])}] += int64_t(after[i] - before[i]);
}

std::vector<GivenUp> given_up(const NormalForm& form, const Needs& fused) {
  if (form.given_up.empty() && form.drops.empty() && fused.drops.empty()) return {};
  const Uses uses(form, fused);
  struct Row {
    int64_t times = 0;
    std::set<size_t> nodes;
    bool outputs = false;
  };
  std::map<std::tuple<bool, std::string, std::string>, Row> rows;
  const auto add = [&](const Drops& drops, bool unknown) {
    for (const auto& [key, times] : drops) {
      Row& row = rows[{unknown, uses.name_of(key.first), key.second}];
      row.times += times;
      if (const size_t node = uses.node_of(key.first); node != SIZE_MAX)
        row.nodes.insert(node);
      else
        row.outputs = true;
    }
  };
  add(form.given_up, true);
  add(form.drops, true);
  add(fused.drops, false);
  std::vector<GivenUp> result;
  for (auto& [key, row] : rows) {
    const auto& [unknown, group, what] = key;
    if (row.outputs)
      for (size_t node = 0; node < form.program->statements.size(); ++node) row.nodes.insert(node);
    const std::set<size_t> nodes = uses.reach(row.nodes, unknown);
    result.push_back({what, group, row.times, unknown, uses.macs(nodes), uses.bytes(nodes, unknown)});
  }
  std::stable_sort(result.begin(), result.end(), [](const GivenUp& a, const GivenUp& b) {
    return std::pair(a.macs.number(), a.bytes.number()) > std::pair(b.macs.number(), b.bytes.number());
  });
  return result;
}

}  // namespace lightline::demand
