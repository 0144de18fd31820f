// For the floor: which sums of products every factoring has to make. Between functions that are not linear, orders are
// free: a sum of products that is only read linearly, however often, need not be made if the sums that read it are
// cheaper without it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "demand/needs.h"
#include "demand/steps_beside.h"

namespace lightline::demand {

using loops::Reducer;

namespace {

constexpr double as_good_as_all = 0.98;
constexpr size_t most_tried = 4;  // of the parts of one sum, the newest

bool is_linear(const Term& made) {
  return made.kind == TermKind::sum || made.kind == TermKind::product || made.kind == TermKind::array ||
         (made.kind == TermKind::reduce && made.reducer == Reducer::sum);
}

template <class Item>
void sort_once(std::vector<Item>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

// The sums of products that a factor of a network is or adds up, each with what it is multiplied by on the way.
// Returns false if there are more than are looked at.
bool Needs::inner_sums(const Value& value, InnerSums& inner) {
  constexpr size_t most_sums = 1024;
  if (!value.is_element() || !algebra_.reads_data(value)) return true;
  const Term& made = term(value.term);
  if (made.kind == TermKind::reduce && made.reducer == Reducer::sum) {
    inner.found.push_back({value.term, value, inner.beside});
    return inner.found.size() <= most_sums;
  }
  if (made.kind == TermKind::sum) {
    const TermId was = std::exchange(inner.sum, value.term);
    std::vector<const Value*> parts;
    for (const Argument& arg : made.args)
      if (arg.value.is_element()) parts.push_back(&arg.value);
    std::sort(parts.begin(), parts.end(), [](const Value* a, const Value* b) { return a->term > b->term; });
    bool all = true;
    for (const Value* part : parts) {
      // One part is enough to tell what its sum has to meet.
      if (inner.found.size() >= most_tried && is_linear(term(part->term))) {
        inner.cut = true;
        continue;
      }
      all = all && inner_sums(algebra_.moved(*part, value.at), inner);
    }
    inner.sum = was;
    return all;
  }
  if (made.kind != TermKind::product) {
    if (inner.beside.empty()) inner.plain.push_back(value);
    return true;
  }
  std::vector<Value> args;
  for (const Argument& arg : made.args) args.push_back(algebra_.moved(arg.value, value.at));
  if (inner.sum != no_term && is_outer_product(made)) {
    inner.found.push_back({inner.sum, value, inner.beside});
    if (inner.found.size() > most_sums) return false;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const size_t before = inner.beside.size();
    for (size_t k = 0; k < args.size(); ++k)
      if (k != i) inner.beside.push_back(args[k]);
    const bool all = inner_sums(args[i], inner);
    inner.beside.resize(before);
    if (!all) return false;
  }
  return true;
}

bool Needs::reads_linearly(const Value& value, TermId id) {
  InnerSums inner;
  return !inner_sums(value, inner) || inner.cut ||
         std::any_of(inner.found.begin(), inner.found.end(), [&](const InnerSum& one) { return one.made == id; });
}

// A network with the factors of an inner sum in place of the factor that it is a part of; nothing if that can not be
// said. Its own factors come last.
std::optional<Network> Needs::inlined(const Network& network, size_t factor, const InnerSum& inner, size_t& first_own) {
  Network result = network;
  result.apart = true;
  result.factors.erase(result.factors.begin() + int64_t(factor));
  for (const Value& value : inner.beside) add_factor(result, value);
  first_own = result.factors.size();
  const Term& made = term(inner.value.term);
  algebra_.box = result.region.box;
  if (made.kind == TermKind::product) {
    for (const Argument& arg : made.args) add_factor(result, algebra_.moved(arg.value, inner.value.at));
  } else if (!may_join(inner.value) || !join(result, made, made.body[0], inner.value.at)) {
    return std::nullopt;
  }
  if (result.factors.size() > most_factors) return std::nullopt;
  return result;
}

// A function that bends, of this element.
bool Needs::is_function_of(const Value& value, const Value& element, std::span<const index::Range> box) {
  if (!value.is_element() || !element.is_element()) return false;
  const Root& root = root_of(value.term);
  if (!root.bends || root.term != element.term) return false;
  for (size_t c = 0; c < root.at.size(); ++c)
    if (!(atoms_.compose(root.at[c], value.at, box) == element.at[c])) return false;
  return true;
}

// A function of a factor is a factor, too, as in x * sigmoid(x): x has to be made for that, and stands beside the
// function in any order.
bool Needs::stands_beside_function(const Network& network, const Value& element) {
  return std::any_of(network.factors.begin(), network.factors.end(), [&](const Factor& factor) {
    return !factor.exponential && is_function_of(factor.value, element, network.region.box);
  });
}

bool Needs::stands_beside_function(const Term& product, const Value& element) {
  return product.kind == TermKind::product &&
         std::any_of(product.args.begin(), product.args.end(),
                     [&](const Argument& arg) { return is_function_of(arg.value, element, {}); });
}

// What a network takes more with the sums of products that it reads and that are made for one sum alone, which they may
// have joined: made by themselves, or taken apart here, too.
double Needs::products_made_for(TermId sum, const Network& prepared, const Network& network, double products,
                                std::set<TermId>& inside) {
  double alone = 0;
  std::set<TermId> found;
  for (const Factor& factor : prepared.factors)
    if (may_join(factor.value) && consumers_[factor.value.term] == std::vector{sum})
      if (found.insert(factor.value.term).second) alone += products_inside(factor.value, prepared.region);
  if (found.empty()) return alone;
  inside.insert(found.begin(), found.end());
  Network wider = network;
  const bool all = std::all_of(found.begin(), found.end(), [&](TermId id) { return join_all(wider, id); });
  return all ? std::min(alone, products_of(std::move(wider)) - products) : alone;
}

// Takes note of what a network would cost without the sums of products that its factors are made of.
void Needs::try_without(const Network& network, TermId owner) {
  if (tier_ != Tier::floor || !counting_) return;
  std::vector<InnerSums> inner(network.factors.size());
  std::map<TermId, size_t> factors_with;
  bool all = true;
  algebra_.box = network.region.box;
  for (size_t i = 0; i < network.factors.size(); ++i) {
    if (network.factors[i].exponential || stands_beside_function(network, network.factors[i].value)) continue;
    all = inner_sums(network.factors[i].value, inner[i]) && all;
    std::set<TermId> own;
    for (const InnerSum& one : inner[i].found) {
      own.insert(one.made);
      // Powers of one
      for (const Value& other : one.beside) factors_with[one.made] += reads_linearly(other, one.made);
    }
    for (const TermId id : own) ++factors_with[id];
  }
  std::optional<double> as_it_is;
  for (size_t i = 0; i < network.factors.size(); ++i) {
    bool all_others = all;  // are known, so that none of them has it too
    for (size_t k = 0; k < inner.size(); ++k) all_others = all_others && (k == i || !inner[k].cut);
    for (const InnerSum& one : inner[i].found) {
      // Against the products of the others those of a part with fewer variables are few.
      if ((network.factors[i].variables & ~variables_of(one.value)) != 0) continue;
      Without& without = without_[one.made][owner];
      bool plain = false;
      for (const Value& added : inner[i].plain) {
        if ((network.factors[i].variables & ~variables_of(added)) != 0 || has_in_common(one, added, network)) continue;
        plain = true;
        // What only scales it may be met before, once for all, and changes nothing.
        for (size_t k = 0; k < network.factors.size(); ++k)
          if (const Factor& other = network.factors[k];
              k != i && !other.formula && other.value.is_element() && (other.variables & ~variables_of(added)) != 0)
            plain_meetings_[std::minmax(added.term, other.value.term)].emplace(one.made, owner);
      }
      without.plain = without.plain && plain;
      without.known = without.known && all_others && factors_with[one.made] == 1;
      if (!without.known) continue;
      size_t first_own = 0;
      const auto other = inlined(network, i, one, first_own);
      without.known = other.has_value();
      if (!without.known) continue;
      if (!as_it_is) as_it_is = products_of_prepared(network, false);
      Network prepared = *other;
      prepare(prepared);
      const double products = products_of_prepared(prepared, false);
      const double inside = products_made_for(one.made, prepared, *other, products, without.inside);
      without.inside_products = std::max(without.inside_products, inside);
      without.products = std::max(without.products, products);
      without.more = std::max(without.more, products - *as_it_is);
      std::optional<StepsBeside> steps_beside;
      const auto meets = [](const Factor& factor) { return !factor.formula && factor.value.is_element(); };
      for (size_t a = 0; a < first_own; ++a)
        for (size_t b = first_own; b < other->factors.size(); ++b) {
          const Factor &outer = other->factors[a], &own = other->factors[b];
          if (!meets(outer) || !meets(own)) continue;
          Without& beside = meetings_[std::minmax(outer.value.term, own.value.term)][{one.made, owner}];
          if (!steps_beside) steps_beside.emplace(*other, index::count(other->region, atoms_, data_));
          const double steps = (*steps_beside)(a, b);
          beside.products = std::max(beside.products, steps);
          beside.more = std::max(beside.more, steps - *as_it_is);
        }
    }
  }
}

// The variables of each place that an element is read at.
std::vector<uint64_t> Needs::variables_by_place(const Value& value) const {
  std::vector<uint64_t> variables(value.at.size(), 0);
  for (size_t c = 0; c < variables.size(); ++c)
    atoms_.for_each_variable(value.at[c], [&](index::AtomId v) { variables[c] |= bit(v); });
  return variables;
}

// What a value in a term is made of, linearly, by the term's coordinates behind those that it reduces.
void Needs::add_sources(TermId id, const Value& value, Sources& sources) {
  if (!value.is_element() || !term(value.term).reads_data) return;
  const size_t reduced = term(id).reduced.size();
  const auto add = [&](TermId source, uint64_t has) {
    if (has != 0) sources.emplace_back(source, has);
  };
  if (!is_linear(term(value.term)) || value.term >= id || stands_beside_function(term(id), value))
    return add(value.term, variables_of(value) >> reduced);
  const std::vector<uint64_t> variables = variables_by_place(value);
  for (const auto& [source, has] : linear_sources(value.term)) {
    uint64_t outer = source == no_term ? 1 : 0;
    for (size_t c = 0; c < variables.size(); ++c)
      if ((has & bit(c)) != 0) outer |= variables[c] >> reduced;
    add(source, outer);
  }
}

// What a term is made of, linearly, down to what is not linear, each with the coordinates that it has of the term's;
// without what has none. More than are kept stand for all.
const Sources& Needs::linear_sources(TermId id) {
  constexpr size_t most_sources = 64;
  const auto [known, added] = linear_sources_.try_emplace(id);
  if (!added) return known->second;
  Sources sources;
  for (const Argument& arg : term(id).args) add_sources(id, arg.value, sources);
  for (const Case& one : term(id).body) add_sources(id, one.value, sources);
  sort_once(sources);
  if (sources.size() > most_sources) sources = {{no_term, 1}};
  return linear_sources_[id] = std::move(sources);
}

// A source of an inner sum is what is added to it, with the same variables that stay.
bool Needs::has_in_common(const InnerSum& inner, const Value& added, const Network& network) {
  const Term& made = term(inner.value.term);
  if (made.kind == TermKind::product) return true;
  const uint64_t stays = variables_of(added) & ~network.summed;
  const std::vector<uint64_t> outside = variables_by_place(inner.value);
  const auto staying = [&](uint64_t coordinates) {
    uint64_t variables = 0;
    for (size_t c = 0; c < outside.size(); ++c)
      if ((coordinates & bit(c)) != 0) variables |= outside[c];
    return variables & ~network.summed;
  };
  const auto has_it = [&](const Sources& sources) {
    return std::any_of(sources.begin(), sources.end(), [&](const auto& source) {
      return source.first == no_term || (source.first == added.term && staying(source.second) == stays);
    });
  };
  const bool product = made.kind == TermKind::reduce && made.body.size() == 1 && made.body[0].value.is_element() &&
                       term(made.body[0].value.term).kind == TermKind::product;
  if (!product) return has_it(linear_sources(inner.value.term));
  // x @ (w + u) comes of x @ w + x @ u, but where u is a sum for every x, as in gates, that takes more.
  const size_t reduced = made.reduced.size();
  algebra_.box = made.body[0].where.box;
  std::vector<Value> factors;
  for (const Argument& arg : term(made.body[0].value.term).args)
    factors.push_back(algebra_.moved(arg.value, made.body[0].value.at));
  for (size_t i = 0; i < factors.size(); ++i) {
    const bool gated = std::any_of(factors.begin(), factors.end(), [&](const Value& other) {
      const uint64_t variables = variables_of(other);
      return &other != &factors[i] && algebra_.reads_data(other) && (variables & (bit(reduced) - 1)) != 0 &&
             (staying(variables >> reduced) & stays) != 0;
    });
    Sources sources;
    add_sources(inner.value.term, factors[i], sources);
    if (!gated && has_it(sources)) return true;
  }
  return false;
}

// The products of a sum, or the most of a factor of a product.
double Needs::products_inside_factors(TermId id) const {
  const auto own = work.find(id);
  double most = own == work.end() ? 0 : own->second.total_macs();
  if (term(id).kind == TermKind::product)
    for (const Argument& arg : term(id).args)
      if (arg.value.is_element()) most = std::max(most, products_inside_factors(arg.value.term));
  return most;
}

// Of the parts of a sum that is read as it is, how much of each has to be made for it. Of those that have something in
// common, which may be factored out, one: the largest, and of several the newest, since the others may be had from sums
// before this one.
std::map<TermId, double> Needs::shares_of_parts(const Term& sum) {
  std::map<TermId, std::vector<const Value*>> parts;
  for (const Argument& arg : sum.args)
    if (arg.value.is_element()) parts[arg.value.term].push_back(&arg.value);
  std::map<TermId, double> shares;
  Sources common;
  std::vector<std::tuple<int, double, TermId>> order;  // those with the most variables and products first
  for (const auto& [id, values] : parts)
    order.emplace_back(std::popcount(variables_of(*values[0])), products_inside_factors(id), id);
  std::sort(order.rbegin(), order.rend());
  for (const auto& [variables_had, products, id] : order) {
    const auto& values = parts[id];
    Sources sources;
    if (is_linear(term(id))) {
      const std::vector<uint64_t> places = variables_by_place(*values[0]);
      for (const auto& [source, has] : linear_sources(id)) {
        uint64_t variables = source == no_term ? 1 : 0;
        for (size_t c = 0; c < places.size(); ++c)
          if ((has & bit(c)) != 0) variables |= places[c];
        sources.emplace_back(source, variables);
      }
    }
    sort_once(sources);
    const bool own = std::none_of(sources.begin(), sources.end(),
                                  [&](const auto& source) {
                                    return std::binary_search(common.begin(), common.end(), source) ||
                                           (source.first == no_term && !common.empty());
                                  }) &&
                     (sources.empty() || !std::binary_search(common.begin(), common.end(), Source(no_term, 1)));
    Sources both;
    both.reserve(common.size() + sources.size());
    std::set_union(common.begin(), common.end(), sources.begin(), sources.end(), std::back_inserter(both));
    common = std::move(both);
    // s + s.T is s made of w + w.T: half of it.
    shares[id] = own ? 1 / double(values.size()) : 0;
  }
  return shares;
}

// By term: how much of it is read as it is, by functions that are not linear or by whoever takes the outputs.
std::vector<double> Needs::shares_read_as_they_are() {
  const size_t size = form_.terms.size();
  std::vector<double> by_functions(size, 0), by_outputs(size, 0);
  const auto raise = [](double& share, double to) { share = std::max(share, to); };
  const auto each_value = [&](const Term& made, const auto& visit) {
    for (const Argument& arg : made.args)
      if (arg.value.is_element()) visit(arg.value.term);
    for (const Case& one : made.body)
      if (one.value.is_element()) visit(one.value.term);
  };
  const auto read_by_all = [&](const Cases& cases) {
    for (const Case& one : cases)
      if (one.value.is_element()) by_outputs[one.value.term] = 1;
  };
  for (const loops::Output& output : form_.program->outputs) read_by_all(form_.arrays[output.array]);
  for (const OpaqueCall& call : form_.opaque)
    for (const Cases& operand : call.operands) read_by_all(operand);
  // What loops carry is read by what comes after it in the list.
  for (int pass = 0; pass < (form_.loops.empty() ? 1 : 3); ++pass)
    for (TermId id = TermId(size); id-- > 0;) {
      if (uses_[id] == 0) continue;
      const Term& made = term(id);
      switch (made.kind) {
        case TermKind::sum:
          if (by_functions[id] == 0 && by_outputs[id] == 0) break;
          for (const auto& [read, share] : shares_of_parts(made)) {
            raise(by_functions[read], by_functions[id] * share);
            raise(by_outputs[read], by_outputs[id] * share);
          }
          break;
        case TermKind::array:
        case TermKind::product:
          each_value(made, [&](TermId read) {
            raise(by_functions[read], by_functions[id]);
            raise(by_outputs[read], by_outputs[id]);
          });
          break;
        case TermKind::carried:
          // The last of many linear steps may be reached without those between.
          each_value(made, [&](TermId read) { raise(by_functions[read], by_functions[id]); });
          break;
        case TermKind::reduce:
          if (made.reducer != Reducer::sum) each_value(made, [&](TermId read) { by_functions[read] = 1; });
          break;
        default: each_value(made, [&](TermId read) { by_functions[read] = 1; });
      }
    }
  for (size_t id = 0; id < size; ++id) raise(by_functions[id], by_outputs[id]);
  return by_functions;
}

// What has joined a sum counts nothing by itself: who takes other sums without that one makes it, too. Nothing is added
// where other sums make some of it.
void Needs::add_what_joined() {
  std::map<TermId, double> priced;
  for (const PricedChain& chain : chains_) priced[chain.owner] += chain.products;
  for (auto& [id, readers] : without_) {
    const auto own = work.find(id);
    if (own == work.end() || own->second.total_macs() < as_good_as_all * priced[id]) continue;
    for (auto& [reader, without] : readers) {
      const bool all = std::all_of(without.inside.begin(), without.inside.end(),
                                   [&](TermId inner) { return joined.contains(inner) && needed_[inner].empty(); });
      if (!all) continue;
      without.products += without.inside_products;
      without.more += without.inside_products;
    }
  }
}

// Takes off what need not be made.
void Needs::keep_forced() {
  if (tier_ != Tier::floor) return;
  add_what_joined();
  // What two factors of different sums make together may be made once for many.
  for (const auto& [terms, sums] : meetings_)
    if (sums.size() > 1)
      for (const auto& [pair, beside] : sums) {
        Without& without = without_[pair.first][pair.second];
        without.products = std::min(without.products, beside.products);
        without.more = std::min(without.more, beside.more);
        without.shared = true;
      }
  for (const auto& [terms, sums] : plain_meetings_) {
    const TermId first = sums.begin()->second;
    if (std::all_of(sums.begin(), sums.end(), [&](const auto& sum) { return sum.second == first; })) continue;
    for (const auto& [id, reader] : sums) without_[id][reader].plain = false;
  }
  std::vector<double> forced = shares_read_as_they_are();
  std::map<TermId, double> most;  // products of the sums that read others
  const auto limit = [&](TermId id, double products) {
    const auto [found, added] = most.try_emplace(id, products);
    if (!added) found->second = std::min(found->second, products);
  };
  for (auto entry = without_.rbegin(); entry != without_.rend(); ++entry) {
    const auto& [id, readers] = *entry;
    double& share = forced[id];
    const auto own = work.find(id);
    const double products = own == work.end() ? 0 : own->second.total_macs();
    for (const auto& [reader, without] : readers)
      if (without.known && forced[reader] >= as_good_as_all && products > 0)
        share = std::max(share, std::min(1.0, (without.plain ? without.products : without.more) / products));
    // What else is added to it has to meet the other factors of the reader anyway.
    for (const auto& [reader, without] : readers) {
      if (without.plain) continue;
      if (without.known && (share >= as_good_as_all || (readers.size() == 1 && !without.shared)))
        limit(reader, without.products);
      else if (share < as_good_as_all)
        limit(reader, count(needed_[reader]));
    }
  }
  for (auto& [id, own] : work) {
    if (term(id).kind != TermKind::reduce && term(id).kind != TermKind::sum) continue;
    const double products = own.total_macs();
    if (products == 0) continue;
    double share = forced[id] >= as_good_as_all ? 1 : forced[id];
    if (const auto found = most.find(id); found != most.end()) share = std::min(share, found->second / products);
    for (auto* list : {&own.macs, &own.transformed_macs})
      for (auto& [type, number] : *list) number *= share;
  }
}

}  // namespace lightline::demand
