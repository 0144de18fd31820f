#include "demand/written.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "demand/needs.h"
#include "demand/products.h"
#include "demand/readers.h"

namespace lightline::demand {
namespace {

struct Words {
  std::string_view name, description;
};
constexpr std::array<Words, 10> words{{
    {"not_used", "not used by any output, or hidden by a mask"},
    {"padding", "in padding"},
    {"zeros", "zero by a mask or by construction"},
    {"computed_once", "computed once (repetition, equal terms, symmetric halves)"},
    {"cheaper_order", "saved by a cheaper order of a chain"},
    {"picked", "picked by an index, no product"},
    {"branch", "on the dearer side of a branch"},
    {"given_up", "given up, and not counted"},
    {"not_followed", "not needed or given up, which is not told apart"},
    {"unwritten", "in sums of products that no operator of products spells"},
}};

// What becomes of the products of one group, from those that are written to those that are needed.
struct Account {
  std::string name;
  double written = 0;
  double live = 0;       // demanded, and no factor is a zero
  double explained = 0;  // those that are not live for another reason than that nobody demands them
  double apart = 0;      // each once, operator by operator
  double together = 0;   // each once, in the program as a whole
  bool scatters = false;
  bool incomplete = false;  // more may be demanded than is seen
};

double macs_of(const std::map<TermId, Work>& work) {
  double total = 0;
  for (const auto& [term, one] : work) total += one.total_macs();
  return total;
}

bool reads_outside(const loops::Program& program, const loops::Statement& statement) {
  bool found = false;
  if (const auto* compute = std::get_if<loops::Compute>(&statement.node))
    loops::for_each_read(program, compute->body, [&](const loops::Expr& read) { found |= read.has_fill; });
  return found;
}

double elements(const Shape& shape) {
  double total = 1;
  for (const int64_t extent : shape) total *= double(extent);
  return total;
}

class Ledger {
 public:
  Ledger(NormalForm& apart, const Needs& unfused) : form_(apart), atoms_(apart.terms.atoms()), unfused_(unfused) {
    const loops::Program& program = *form_.program;
    statements_ = loops::statements_by_id(program);
    readers_ = readers_of(program);
    for (const loops::Output& output : program.outputs) returned_.insert(output.array);
    const auto ids = loops::statement_ids(program);
    group_of_.resize(statements_.size());
    for (const loops::Statement& statement : program.statements) {
      const loops::StatementId id = ids.at(&statement);
      const uint32_t group = statement.group == loops::none ? uint32_t(program.groups.size()) + id : statement.group;
      name(group, statement);
      add_written(statement, group, 1, ids);
    }
  }

  Written run(const NormalForm& together, const Needs& fused, double needed) {
    for (const Spelled& products : form_.spelled) settle_demand(products);
    for (const auto& [group, account] : accounts_)
      note(account.incomplete ? Reason::not_followed : Reason::not_used, group,
           account.written - account.live - account.explained);
    for (const auto& [term, work] : unfused_.work) account_of(form_.terms[term].statement).apart += work.total_macs();
    for (const auto& [term, work] : fused.work)
      account_of(together.terms[term].statement).together += work.total_macs();
    settle_sharing(links_of(form_, unfused_), &Account::live, &Account::apart);
    std::vector<Joined> links = links_of(together, fused);
    for (const Spelled& products : together.spelled)
      for (const Case& one : products.result)
        if (one.value.is_element())
          links.push_back({together.terms[one.value.term].statement, products.statement, Link::Kind::equal});
    settle_sharing(links, &Account::apart, &Account::together);
    note(Reason::branch, loops::none, macs_of(fused.work) - needed);
    written_.needed = needed;
    return std::move(written_);
  }

 private:
  void name(uint32_t group, const loops::Statement& statement) {
    const loops::Program& program = *form_.program;
    const auto results = loops::results_of(statement);
    accounts_[group].name = statement.group != loops::none ? program.groups[statement.group]
                            : results.empty()              ? ""
                                                           : program.arrays[results[0]].name;
  }
  void add_written(const loops::Statement& statement, uint32_t group, double times,
                   const std::unordered_map<const loops::Statement*, loops::StatementId>& ids) {
    group_of_[ids.at(&statement)] = group;
    const double own = times * written_by_operator(statement);
    accounts_[group].written += own;
    written_.macs += own;
    if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) {
      const bool may_not_run = repeat->condition != loops::none;
      const double steps = may_not_run ? 0 : double(form_.program->indices[repeat->counter].extent);
      for (const loops::Statement& inner : repeat->body) add_written(inner, group, times * steps, ids);
    }
  }
  // Without the part of a result that the operator itself cuts away again: that is how the operator is defined, and
  // nothing that the program says.
  double written_by_operator(const loops::Statement& statement) const {
    const loops::Program& program = *form_.program;
    const double products = written_products(program, statement);
    const auto* sum = std::get_if<loops::Compute>(&statement.node);
    if (products == 0 || statement.group == loops::none || sum == nullptr) return products;
    const double all = elements(program.arrays[sum->result].shape);
    double kept = all;
    for (loops::ArrayId array = sum->result; readers_[array].size() == 1 && !returned_.contains(array);) {
      const loops::Statement& reader = *readers_[array][0];
      const auto* map = std::get_if<loops::Compute>(&reader.node);
      if (map == nullptr || map->reducer != loops::Reducer::none || reader.group != statement.group) break;
      double reads = 0;
      loops::for_each_read(program, map->body, [&](const loops::Expr& read) { reads += read.args[0] == array; });
      kept = std::min(kept, reads * elements(program.arrays[map->result].shape));
      if (!map->is_view) break;
      array = map->result;
    }
    return products / all * kept;
  }
  Account& account_of(uint32_t statement) {
    return accounts_[statement < group_of_.size() ? group_of_[statement] : loops::none];
  }
  void note(Reason reason, uint32_t group, double macs) {
    if (macs == 0) return;
    const Account& account = accounts_[group];
    written_.differences.push_back({reason, account.name, macs, account.written});
  }

  // ---- what no output needs, and zeros ----
  // Points of the result that are needed; a part of them, where data tell which.
  struct Wanted {
    std::vector<Region> regions;  // over all variables
    double share = 1;
  };
  Region lifted(const Region& region, const Spelled& products) {
    Region result;
    result.box.assign(products.box.begin(), products.box.begin() + products.reduced);
    result.box.insert(result.box.end(), region.box.begin(), region.box.end());
    result.empty = region.empty;
    std::vector<Form> shift;
    for (size_t v = 0; v < region.box.size(); ++v) shift.push_back(Form::variable(index::AtomId(products.reduced + v)));
    for (const Form& cut : region.cuts) result.cut(atoms_.compose(cut, shift, result.box), atoms_);
    return result;
  }
  Wanted seen_at(const Case& one, Region needed, const Spelled& products) {
    std::vector<Range> natural;
    for (const Form& form : one.value.at) natural.push_back(atoms_.range(form, one.where.box));
    Wanted wanted;
    for (const index::Sample& sample : needed.samples) {
      needed.box[sample.coordinate] = natural[sample.coordinate];
      if (sample.extent > 0) wanted.share *= sample.expected / sample.extent;
    }
    const Region seen = index::pull_back(needed, natural, one.value.at, one.where, atoms_);
    if (!seen.empty) wanted.regions.push_back(lifted(seen, products));
    return wanted;
  }
  std::vector<Wanted> wanted_of(const Spelled& products) {
    std::vector<Wanted> all(1);
    for (const Case& one : products.result) {
      if (!one.value.is_element() || unfused_.joined.contains(one.value.term)) {
        all[0].regions.push_back(lifted(one.where, products));
        continue;
      }
      for (const Region& needed : unfused_.of_terms()[one.value.term]) {
        Wanted wanted = seen_at(one, needed, products);
        if (wanted.regions.empty()) continue;
        if (wanted.share == 1)
          all[0].regions.push_back(std::move(wanted.regions[0]));
        else
          all.push_back(std::move(wanted));
      }
    }
    return all;
  }
  double count_in(const std::vector<Region>& wanted, const std::vector<Region>& parts) {
    double total = 0;
    for (const Region& part : parts) {
      std::vector<Region> both;
      for (const Region& region : wanted)
        if (Region one = index::intersection(region, part, atoms_); !one.empty) both.push_back(std::move(one));
      if (!both.empty()) total += index::count(both, atoms_);
    }
    return total;
  }
  static double points(const std::vector<Range>& box) {
    double total = 1;
    for (const Range& range : box) total *= double(range.count());
    return total;
  }

  void settle_demand(const Spelled& products) {
    Account& account = accounts_[products.group];
    const std::vector<Wanted> all = wanted_of(products);
    const bool scatters = std::holds_alternative<loops::Scatter>(statements_[products.statement]->node);
    account.scatters |= scatters;
    for (const Case& one : products.result)
      account.incomplete |= one.value.is_element() && unfused_.may_need_more(one.value.term);
    double whole = points(products.box), demanded = 0, zeros = 0, live = 0, known = 0;
    if (scatters) {
      const bool any = std::any_of(all.begin(), all.end(), [](const Wanted& one) { return !one.regions.empty(); });
      whole = known = written_products(*form_.program, *statements_[products.statement]);
      demanded = live = any ? whole : 0;
    }
    for (const Case& one : products.result)
      if (!scatters) known += index::count(lifted(one.where, products), atoms_);
    for (const Wanted& wanted : all) {
      if (scatters || wanted.regions.empty()) continue;
      const double own = wanted.share * index::count(wanted.regions, atoms_);
      if (own <= demanded) continue;
      demanded = own;
      zeros = wanted.share * count_in(wanted.regions, products.zeros);
      live = wanted.share * count_in(wanted.regions, products.factors);
    }
    account.live += live;
    const Reason zero =
        reads_outside(*form_.program, *statements_[products.statement]) ? Reason::padding : Reason::zeros;
    const double unknown = std::max(0.0, whole - std::max(known, demanded)) + demanded - zeros - live;
    note(zero, products.group, zeros);
    note(Reason::given_up, products.group, unknown);
    account.explained += zeros + unknown;
  }

  // ---- what is shared ----
  using Kinds = std::array<bool, 4>;  // by Link::Kind
  struct Joined {
    uint32_t counted, other;  // statements
    Link::Kind kind;
  };
  // Groups whose products are counted together.
  struct Together {
    double saved = 0, written = 0;
    double most = -INFINITY;
    uint32_t group = loops::none;  // that saves the most
    Kinds kinds{};
    bool scatters = false;
  };
  static std::vector<Joined> links_of(const NormalForm& form, const Needs& needs) {
    std::vector<Joined> links;
    for (const Link& link : needs.links)
      links.push_back({form.terms[link.counted].statement, form.terms[link.other].statement, link.kind});
    return links;
  }
  uint32_t root(uint32_t group) {
    const auto found = joined_.find(group);
    return found == joined_.end() || found->second == group ? group : found->second = root(found->second);
  }
  void settle_sharing(const std::vector<Joined>& links, double Account::*before, double Account::*after) {
    joined_.clear();
    std::map<uint32_t, Kinds> kinds;  // by group
    for (const Joined& link : links) {
      if (link.counted >= group_of_.size() || link.other >= group_of_.size()) continue;
      const uint32_t a = group_of_[link.counted], b = group_of_[link.other];
      joined_[root(a)] = root(b);
      kinds[a][size_t(link.kind)] = true;
    }
    std::map<uint32_t, Together> parts;
    for (const auto& [group, account] : accounts_) {
      Together& part = parts[root(group)];
      const double saved = account.*before - account.*after;
      part.saved += saved;
      part.written += account.written;
      part.scatters |= account.scatters;
      for (size_t k = 0; k < part.kinds.size(); ++k) part.kinds[k] |= kinds[group][k];
      if (saved <= part.most) continue;
      part.most = saved;
      part.group = group;
    }
    for (const auto& [id, part] : parts)
      if (part.saved != 0)
        written_.differences.push_back({reason_of(part), accounts_[part.group].name, part.saved, part.written});
  }
  static Reason reason_of(const Together& part) {
    using Kind = Link::Kind;
    if (part.saved < 0) return Reason::unwritten;
    if (part.kinds[size_t(Kind::inexact)]) return Reason::not_followed;
    if (part.kinds[size_t(Kind::picked)]) return Reason::picked;
    if (part.kinds[size_t(Kind::chain)]) return Reason::cheaper_order;
    return part.scatters ? Reason::padding : Reason::computed_once;
  }

  NormalForm& form_;
  Atoms& atoms_;
  const Needs& unfused_;
  Written written_;
  std::vector<const loops::Statement*> statements_;
  std::vector<std::vector<const loops::Statement*>> readers_;  // by array
  std::set<loops::ArrayId> returned_;
  std::vector<uint32_t> group_of_;  // by statement
  std::map<uint32_t, Account> accounts_;
  std::map<uint32_t, uint32_t> joined_;
};

}  // namespace

std::string_view name(Reason reason) { return words[size_t(reason)].name; }
std::string_view description(Reason reason) { return words[size_t(reason)].description; }

Written written(NormalForm& apart, const Needs& unfused, const NormalForm& together, const Needs& fused,
                double needed) {
  return Ledger(apart, unfused).run(together, fused, needed);
}

}  // namespace lightline::demand
