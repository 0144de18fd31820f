// Sums of products: what is summed over, in the cheapest order, each product once.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/maths.h"
#include "demand/needs.h"
#include "index/digits.h"

namespace lightline::demand {

using loops::Reducer;

namespace {

constexpr size_t most_factors = 10;
constexpr int most_absorbed = 6;

uint64_t bit(size_t i) { return i < 64 ? uint64_t(1) << i : 0; }

// To combine `values` different values, each once or more, into results of `points` values in all. Overlapping sets
// share what they have in common. A graph of additions of two that joins v values to one or more results has v - 1 at
// least, and as many as results that are no bare values.
double additions(double points, double values, double results) {
  const double apart = std::max(0.0, points - results);
  return points <= values ? apart : std::min(apart, std::max({values - results, values / 2, results / 2}));
}

}  // namespace

uint64_t Needs::variables_of(const Value& value) const {
  uint64_t set = 0;
  const auto see = [&](index::AtomId variable) { set |= bit(variable); };
  if (value.is_position()) atoms_.for_each_variable(value.form, see);
  for (const Form& form : value.at) atoms_.for_each_variable(form, see);
  return set;
}

void Needs::visit_reduction(TermId id) {
  const std::vector<Region> regions = needed_[id];
  const Term& made = term(id);
  const uint32_t reduced = uint32_t(made.reduced.size());
  const bool sums = made.reducer == Reducer::sum;
  const bool logic = made.reducer == Reducer::any || made.reducer == Reducer::all;
  Results results{regions};
  const std::vector<Region> parts = disjoint(regions);
  for (const Case& one : made.body)
    for (const Region& region : parts) {
      Region where = one.where;
      where.samples = region.samples;
      bool sure = true;
      for (index::Sample& sample : where.samples) {
        for (const Form& cut : one.where.cuts)
          atoms_.for_each_variable(cut, [&](index::AtomId v) { sure &= v != reduced + sample.coordinate; });
        sample.coordinate += reduced;
        for (uint32_t& other : sample.varies) other += reduced;
      }
      if (!sure) continue;
      for (size_t c = 0; c < region.box.size(); ++c) where.box[reduced + c] = region.box[c];
      std::vector<Form> shift(region.box.size());
      for (size_t c = 0; c < shift.size(); ++c) shift[c] = Form::variable(index::AtomId(reduced + c));
      std::vector<Form> cuts = std::exchange(where.cuts, {});
      for (const Form& cut : cuts) where.cut(cut, atoms_);
      for (const Form& cut : region.cuts) where.cut(atoms_.compose(cut, shift, where.box), atoms_);
      if (where.empty) continue;
      if (sums ||
          (made.reducer == Reducer::any && one.value.is_element() && term(one.value.term).kind == TermKind::call &&
           term(one.value.term).function == loops::Function::logical_and)) {
        uint64_t summed = 0;
        for (uint32_t r = 0; r < reduced; ++r) summed |= bit(r);
        expand(one.value, where, summed, narrower(made.width, wanted_width_[id]), id, results);
        continue;
      }
      if (tier_ == Tier::floor && logic) continue;
      if (logic && need_search(one.value, where, id)) continue;
      if (tier_ == Tier::floor && need_greatest(one.value, where, made)) continue;
      need(one.value, where);
      if (made.reads_data) add_total(one.value, where, id, results);
    }
}

// The same points, none of them twice; fewer where that can not be said.
std::vector<Region> Needs::disjoint(const std::vector<Region>& regions) {
  constexpr size_t most_pieces = 256;
  if (regions.size() < 2) return regions;
  std::vector<std::pair<double, const Region*>> order;
  for (const Region& region : regions) order.emplace_back(-index::count(region, atoms_, data_), &region);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Region> result;
  for (const auto& [size, region] : order) {
    std::vector<Region> left{*region};
    for (const Region& known : std::vector<Region>(result)) {
      std::vector<Region> next;
      for (const Region& part : left) {
        if (index::intersection(part, known, atoms_).empty) {
          next.push_back(part);
        } else if (part.samples.empty() && known.samples.empty()) {
          for (Region& rest : index::difference(part, known, atoms_)) next.push_back(std::move(rest));
        }
      }
      left = std::move(next);
      if (left.size() > most_pieces) left.clear();
    }
    for (Region& part : left)
      if (!part.empty) result.push_back(std::move(part));
  }
  return result;
}

// The greatest or least integer that there is proves itself: one element is enough for a result.
bool Needs::need_greatest(const Value& value, const Region& where, const Term& reduction) {
  if (reduction.reducer != Reducer::max && reduction.reducer != Reducer::min) return false;
  if (!is_integer(value.width) || !value.is_element()) return false;
  const uint32_t reduced = uint32_t(reduction.reduced.size());
  const bool shared = std::any_of(value.at.begin(), value.at.end(), [&](const Form& form) {
    bool own = false, other = false;
    atoms_.for_each_variable(form, [&](index::AtomId v) { (v < reduced ? own : other) = true; });
    return own && other;
  });
  if (shared || !where.cuts.empty()) return true;  // one element may prove several results
  Region one = where;
  for (uint32_t r = 0; r < reduced; ++r) one.box[r].hi = one.box[r].lo;
  need(value, one);
  return true;
}

// Reductions of elements of one term may share what they have in common.
void Needs::add_total(const Value& value, const Region& region, TermId owner, Results& results) {
  if (!counting_ || tier_ == Tier::floor) return;
  const Term& made = term(owner);
  const uint64_t id = value.is_element() ? value.term : UINT64_MAX;
  Total& total = totals_[{id, uint64_t(made.reducer), uint64_t(made.type), made.salt}];
  if (total.owner == no_term) total.owner = owner;
  total.width = wider(total.width, value.is_element() ? value.width : made.type);
  total.points += index::count(region, atoms_, data_);
  if (value.is_element())
    for (Region& mapped : index::image(region, value.at, atoms_)) insert(total.values, std::move(mapped));
  if (!results.counted) total.results += count(results.regions);
  results.counted = true;
}

void Needs::settle_totals() {
  for (auto& [key, total] : totals_) {
    const Term& made = term(total.owner);
    const double values = total.values.empty() ? 0 : count(total.values);
    const double operations = additions(total.points, values, total.results);
    Work& work = work_of(total.owner);
    if (made.reducer == Reducer::sum) {
      work.sums[total.width == DType::boolean || !is_float(total.width) ? made.type : total.width] += operations;
    } else {
      const DType type = is_integer(made.width) ? made.width : made.type;
      work.vector_ops[type] += operations * 0.5 * values_of_a_lane(type, true);
    }
  }
}

// What is summed, as products of factors.
void Needs::expand(const Value& value, const Region& region, uint64_t summed, DType width, TermId owner,
                   Results& results) {
  Network network;
  network.region = region;
  network.summed = summed;
  network.coordinates = uint32_t(std::popcount(summed));
  network.width = width;
  if (need_search(value, region, owner)) return;
  if (value.is_element()) {
    const Term& made = term(value.term);
    algebra_.box = region.box;
    const bool both = made.kind == TermKind::call && made.function == loops::Function::logical_and;
    if (made.kind == TermKind::product || both) {
      for (const Argument& arg : made.args) add_factor(network, algebra_.moved(arg.value, value.at));
      price(network, owner, results);
      return;
    }
    if (made.kind == TermKind::reduce && made.reducer == Reducer::sum && uses_[value.term] <= 1 && summed != 0 &&
        is_plain(value.at) && region.box.size() + made.reduced.size() <= 60) {
      for (const Case& one : made.body) {
        Region wider = region;
        uint64_t all = summed;
        const Value inner = enter(one, made, value.at, wider, all);
        if (!wider.empty) expand(inner, wider, all, width, owner, results);
      }
      return;
    }
    if (made.kind == TermKind::sum && uses_[value.term] <= 1) {
      // x a + x b is x (a + b): for the floor, products that share a factor are one.
      std::vector<Value> shared;
      const bool was = counting_;
      for (const Argument& arg : made.args) {
        const Value part = algebra_.moved(arg.value, value.at);
        std::vector<Value> factors{part};
        if (part.is_element() && term(part.term).kind == TermKind::product) {
          factors.clear();
          for (const Argument& inner : term(part.term).args)
            factors.push_back(algebra_.moved(inner.value, part.at));
        }
        const bool again =
            tier_ == Tier::floor && std::any_of(factors.begin(), factors.end(), [&](const Value& factor) {
              return std::find(shared.begin(), shared.end(), factor) != shared.end();
            });
        counting_ = was && !again;
        expand(part, region, summed, width, owner, results);
        counting_ = was;
        shared.insert(shared.end(), factors.begin(), factors.end());
      }
      return;
    }
  }
  add_factor(network, value);
  price(network, owner, results);
}

// The body of a reduction that is read at `at`, over the variables of the region and one more for each that it reduces.
Value Needs::enter(const Case& one, const Term& reduction, const std::vector<Form>& at, Region& region,
                   uint64_t& summed) {
  const size_t first = region.box.size();
  std::vector<Form> images;
  for (size_t r = 0; r < reduction.reduced.size(); ++r) {
    images.push_back(Form::variable(index::AtomId(first + r)));
    region.box.push_back(one.where.box[r]);
    summed |= bit(first + r);
  }
  images.insert(images.end(), at.begin(), at.end());
  region.points = -1;
  for (const Form& cut : one.where.cuts) region.cut(atoms_.compose(cut, images, region.box), atoms_);
  algebra_.box = region.box;
  return algebra_.moved(one.value, images);
}

// Different variables, one for each form.
bool Needs::is_plain(const std::vector<Form>& at) {
  uint64_t seen = 0;
  return std::all_of(at.begin(), at.end(), [&](const Form& form) {
    if (form.is_constant()) return true;
    const bool single = form.terms.size() == 1 && index::is_variable(form.terms[0].first);
    const uint64_t own = single ? bit(form.terms[0].first) : 0;
    const bool fresh = own != 0 && (seen & own) == 0;
    seen |= own;
    return fresh;
  });
}

// exp(a[i] + b[j]) is the product of two.
void Needs::add_factor(Network& network, const Value& value) {
  if (value.is_number()) return;
  const Factor whole{value, variables_of(value), !algebra_.reads_data(value)};
  std::vector<Factor> parts;
  const Term& made = term(value.is_element() ? value.term : 0);
  const bool exponential = value.is_element() && made.kind == TermKind::call &&
                           (made.function == loops::Function::exp || made.function == loops::Function::exp2);
  Value inner;
  if (exponential) {
    algebra_.box = network.region.box;
    inner = algebra_.moved(made.args[0].value, value.at);
    if (inner.is_element() && term(inner.term).kind == TermKind::product && term(inner.term).args.size() == 1)
      inner = algebra_.moved(Value(term(inner.term).args[0].value), inner.at);
  }
  if (inner.is_element() && term(inner.term).kind == TermKind::sum) {
    for (const Argument& arg : term(inner.term).args) {
      const Value part = algebra_.moved(arg.value, inner.at);
      Factor one{part, variables_of(part), !algebra_.reads_data(part)};
      one.exponential = true;
      one.needs = {part};
      // Parts that share variables stay together; the one with the most stands for them.
      for (size_t i = 0; i < parts.size();) {
        if ((parts[i].variables & one.variables) == 0) {
          ++i;
          continue;
        }
        if (std::popcount(parts[i].variables) > std::popcount(one.variables)) one.value = parts[i].value;
        one.variables |= parts[i].variables;
        one.formula = one.formula && parts[i].formula;
        one.needs.insert(one.needs.end(), parts[i].needs.begin(), parts[i].needs.end());
        parts.erase(parts.begin() + int64_t(i));
      }
      if (one.variables != 0 || !one.formula) parts.push_back(std::move(one));
    }
  }
  if (parts.size() > 1 && parts.size() + network.factors.size() <= most_factors)
    network.factors.insert(network.factors.end(), parts.begin(), parts.end());
  else
    network.factors.push_back(whole);
}

void Needs::need_factors(const Network& network, TermId owner) {
  for (const Factor& factor : network.factors) {
    if (!factor.exponential) {
      need(factor.value, network.region);
      continue;
    }
    for (const Value& part : factor.needs) need(part, network.region);
    if (!counting_ || tier_ == Tier::floor || factor.formula) continue;
    const auto mapped =
        index::image(network.region,
                     factor.value.is_position() ? std::vector<Form>{factor.value.form} : factor.value.at, atoms_);
    if (!mapped.empty()) work_of(owner).transcendental_ops += count(mapped);
  }
}

// Counting how many of x[k] are below, or the same as, q[i] spells one algorithm among better ones: only what they are
// made of is needed, and of what is sorted as much as a search looks at.
bool Needs::need_search(const Value& value, const Region& region, TermId owner) {
  if (!value.is_element()) return false;
  const Term& made = term(value.term);
  using F = loops::Function;
  if (made.kind == TermKind::call && made.function == F::logical_not) {
    algebra_.box = region.box;
    return need_search(algebra_.moved(made.args[0].value, value.at), region, owner);
  }
  const bool comparison = made.kind == TermKind::call && (made.function == F::lt || made.function == F::le ||
                                                          made.function == F::gt || made.function == F::ge ||
                                                          made.function == F::eq || made.function == F::ne);
  if (!comparison || !made.args[0].value.is_element() || !made.args[1].value.is_element()) return false;
  algebra_.box = region.box;
  Value sides[] = {algebra_.moved(made.args[0].value, value.at), algebra_.moved(made.args[1].value, value.at)};
  uint64_t reduced = 0;
  for (size_t r = 0; r < term(owner).reduced.size(); ++r) reduced |= bit(r);
  uint64_t own[] = {variables_of(sides[0]), variables_of(sides[1])};
  if ((own[0] & reduced) == 0) {
    std::swap(sides[0], sides[1]);
    std::swap(own[0], own[1]);
  }
  // The first runs over what is counted, the second has something of its own and nothing of that.
  if ((own[0] & reduced) == 0 || (own[1] & reduced) != 0 || (own[1] & ~own[0]) == 0) return false;
  Region looked = region;
  if (is_sorted_search(owner) && std::popcount(own[0] & reduced) == 1) {
    const uint32_t along = uint32_t(std::countr_zero(own[0] & reduced));
    double queries = 1;
    for (size_t v = 0; v < region.box.size(); ++v)
      if ((own[1] & ~own[0] & bit(v)) != 0) queries *= double(region.box[v].count());
    const double size = double(region.box[along].count());
    const double most = queries * std::ceil(std::log2(size + 1));
    if (most < size && region.cuts.empty()) {
      looked.box[along] = {0, 0, 1};
      looked.samples.push_back({along, index::hash_of(region), 1, most, size, {}});
      std::sort(looked.samples.begin(), looked.samples.end());
    }
  }
  need(sides[0], looked);
  need(sides[1], region);
  return true;
}

bool Needs::is_sorted_search(TermId owner) const {
  const uint32_t id = term(owner).statement;
  if (id >= statements_.size() || statements_[id]->group == loops::none) return false;
  const std::string& name = form_.program->groups[statements_[id]->group];
  return name.find("searchsorted") != std::string::npos || name.find("bucketize") != std::string::npos;
}

// A factor that is itself a sum of products, made for this alone, joins: the order is then free.
void Needs::absorb(Network& network) {
  for (size_t i = 0; i < network.factors.size() && network.absorbed < most_absorbed; ++i) {
    const Value value = network.factors[i].value;
    if (!value.is_element() || uses_[value.term] > 1) continue;
    const Term& inner = term(value.term);
    if (inner.kind != TermKind::reduce || inner.reducer != Reducer::sum || inner.body.size() != 1) continue;
    const Value body = inner.body[0].value;
    if (!body.is_element()) continue;
    const Term& product = term(body.term);
    if (product.kind != TermKind::product || product.args.size() + network.factors.size() > most_factors) continue;
    if (network.region.box.size() + inner.reduced.size() > 60) continue;
    // Where it is read in windows or by digits its elements are shared, which an order can not tell.
    if (!is_plain(value.at)) continue;
    const Value moved = enter(inner.body[0], inner, value.at, network.region, network.summed);
    network.factors.erase(network.factors.begin() + int64_t(i));
    for (const Argument& arg : product.args) add_factor(network, algebra_.moved(arg.value, moved.at));
    ++network.absorbed;
    i = SIZE_MAX;  // from the start
  }
}

Operands Needs::product_type(const Network& network, const std::vector<size_t>& inner) const {
  // Truths multiply with anything; formulas can be as narrow as what they meet.
  std::vector<DType> widths;
  for (const size_t i : inner) {
    const Factor& factor = network.factors[i];
    if (!factor.formula && factor.value.is_element()) widths.push_back(factor.value.width);
  }
  std::sort(widths.begin(), widths.end(), [](DType a, DType b) { return narrower(a, b) == a && a != b; });
  if (widths.empty()) return network.width;
  Operands operands(widths[0], widths[std::min<size_t>(1, widths.size() - 1)]);
  // A factor that meets a narrow one in a sum of which no more is wanted could be as narrow.
  if (is_float(network.width) && narrower(operands.narrow, network.width) == operands.narrow)
    operands.wide = narrower(operands.wide, network.width);
  return operands;
}

// Real products for one of complex numbers: three for four, two if a factor is real, half if only one part is wanted.
double Needs::real_products(Operands& operands, TermId owner) const {
  if (operands.wide != DType::c64) return 1;
  const bool part = only_part_wanted_[owner];
  const double products = operands.narrow == DType::c64 ? (part ? 2 : 3) : (part ? 1 : 2);
  operands.wide = DType::f32;
  operands.narrow = narrower(operands.narrow, DType::f32);
  return products;
}

// With windows, transforms need as many products as a window moves on.
double Needs::transform_share(const Network& network, const std::vector<size_t>& inner) const {
  double share = 1;
  for (size_t r = 0; r < network.region.box.size(); ++r) {
    if ((network.summed & bit(r)) == 0) continue;
    const double taps = double(network.region.box[r].count());
    for (const size_t i : inner)
      for (const Form& form : network.factors[i].value.at) {
        const int64_t own = form.coefficient(index::AtomId(r));
        if (own == 0 || form.terms.size() < 2) continue;
        int64_t step = 0;
        for (const auto& [atom, coefficient] : form.terms)
          if (index::is_variable(atom) && (network.summed & bit(atom)) == 0) {
            const int64_t moved = std::abs(coefficient) * network.region.box[atom].step;
            step = step == 0 ? moved : std::min(step, moved);
          }
        if (step == 0) continue;
        // Steps of the window in units of its taps
        const double moves = std::max(1.0, double(step) / double(std::abs(own)));
        share = std::min(share, share * std::min(1.0, moves / taps));
        break;
      }
  }
  return share;
}

void Needs::split_digits(Network& network) {
  std::vector<Form> forms;
  bool digits = false;
  for (const Factor& factor : network.factors) {
    if (factor.value.is_position()) forms.push_back(factor.value.form);
    forms.insert(forms.end(), factor.value.at.begin(), factor.value.at.end());
  }
  for (const Form& form : forms) digits |= atoms_.has_compound(form) && !atoms_.has_data(form);
  if (!digits) return;
  const auto parts = index::to_affine(std::span(&network.region, 1), forms, atoms_);
  if (parts[0].size() != 1) return;
  const index::AffinePart& part = parts[0][0];
  if (part.piece.box.size() > 60) return;
  Region region;
  region.box = part.piece.box;
  region.samples = part.samples;
  for (const index::HalfSpace& cut : part.piece.cuts) {
    Form form = Form::of(cut.constant);
    for (const auto& [variable, coefficient] : cut.terms) form.terms.emplace_back(index::AtomId(variable), coefficient);
    region.cut(std::move(form), atoms_);
  }
  uint64_t summed = 0;
  for (size_t v = 0; v < part.origin.size(); ++v)
    if ((network.summed & bit(part.origin[v])) != 0) summed |= bit(v);
  size_t next = 0;
  for (Factor& factor : network.factors) {
    if (factor.value.is_position()) factor.value.form = part.forms[next++];
    for (Form& form : factor.value.at) form = part.forms[next++];
    factor.variables = variables_of(factor.value);
  }
  network.region = std::move(region);
  network.summed = summed;
}

// A scatter over zeros is a sum over its points of one-hot rows: the places become what data tell.
bool Needs::take_scatter(Network& network, size_t i) {
  const Value value = network.factors[i].value;
  const Term& made = term(value.term);
  if (made.number != 0 || made.body.size() != 1) return false;
  if (made.reducer != Reducer::set && made.reducer != Reducer::sum) return false;
  const ScatterParts& parts = form_.scatters[made.array];
  for (const Case& one : parts.init)
    if (!one.value.is_number(0)) return false;
  const uint32_t reduced = uint32_t(made.reduced.size());
  const uint32_t outer = made.rank - uint32_t(parts.extents.size());
  const Region& where = made.body[0].where;
  if (network.region.box.size() + reduced > 60) return false;
  Network next = network;
  std::vector<Form> images(reduced);
  images.insert(images.end(), value.at.begin(), value.at.end());
  // Points that plain places tell
  std::vector<bool> solved(reduced, false);
  std::vector<Form> cuts = where.cuts;
  for (const Form& cut : where.cuts) {
    const Form opposite = atoms_.scaled(cut, -1);
    if (std::find(cuts.begin(), cuts.end(), opposite) == cuts.end() || atoms_.has_compound(cut)) continue;
    uint32_t variable = loops::none;
    int open = 0;
    for (const auto& [atom, coefficient] : cut.terms)
      if (atom < reduced) {
        ++open;
        if (std::abs(coefficient) == 1) variable = atom;
      }
    if (open != 1 || variable == loops::none || solved[variable]) continue;
    const int64_t unit = cut.coefficient(variable);
    images[variable] = atoms_.compose(atoms_.scaled(atoms_.sum(cut, Form::variable(variable), -unit), -unit), images,
                                      next.region.box);
    solved[variable] = true;
    std::erase(cuts, cut);
    std::erase(cuts, opposite);
  }
  for (uint32_t r = 0; r < reduced; ++r) {
    if (solved[r]) continue;
    images[r] = Form::variable(index::AtomId(next.region.box.size()));
    next.summed |= bit(next.region.box.size());
    next.region.box.push_back(where.box[r]);
  }
  next.region.points = -1;
  for (const Form& cut : cuts) next.region.cut(atoms_.compose(cut, images, next.region.box), atoms_);
  algebra_.box = next.region.box;
  // Places that data tell
  std::vector<Form> places;
  for (size_t v = 0; v < next.region.box.size(); ++v) places.push_back(Form::variable(index::AtomId(v)));
  std::vector<Value> indices;
  size_t told = 0;
  for (size_t d = 0; d < parts.by_data.size(); ++d) {
    if (!parts.by_data[d]) continue;
    if (told >= parts.indices[0].size()) return false;
    const Value index = algebra_.moved(parts.indices[0][told++], images);
    const Form& place = value.at[outer + d];
    if (!place.is_variable() || !index.is_element() || !is_free(next.region, place.terms[0].first)) return false;
    if ((variables_of(index) & bit(place.terms[0].first)) != 0) return false;
    places[place.terms[0].first] = atoms_.data(index.term, index.at, parts.extents[d]);
    next.region.box[place.terms[0].first] = {0, 0, 1};
    next.summed &= ~bit(place.terms[0].first);
    indices.push_back(index);
  }
  const Value body = algebra_.moved(made.body[0].value, images);
  next.factors.erase(next.factors.begin() + int64_t(i));
  for (Factor& factor : next.factors) {
    if (factor.exponential) return false;
    factor.value = algebra_.moved(factor.value, places);
    factor.variables = variables_of(factor.value);
  }
  add_factor(next, body);
  for (const Value& index : indices) need(index, next.region);
  next.one_hot = true;
  network = std::move(next);
  return true;
}

// No cut and no sample has the variable.
bool Needs::is_free(const Region& region, index::AtomId variable) const {
  const bool cut = std::any_of(region.cuts.begin(), region.cuts.end(), [&](const Form& form) {
    bool has = false;
    atoms_.for_each_variable(form, [&](index::AtomId v) { has |= v == variable; });
    return has;
  });
  return !cut && std::none_of(region.samples.begin(), region.samples.end(),
                              [&](const index::Sample& sample) { return sample.coordinate == variable; });
}

void Needs::take_one_hot(Network& network) {
  for (size_t i = 0; i < network.factors.size(); ++i)
    if (network.factors[i].value.is_element() && term(network.factors[i].value.term).kind == TermKind::scatter &&
        take_scatter(network, i))
      break;
  for (size_t i = 0; i < network.factors.size() && network.factors.size() > 0; ++i) {
    const Value value = network.factors[i].value;
    if (!value.is_element()) continue;
    const Term& test = term(value.term);
    if (test.kind != TermKind::call || test.function != loops::Function::eq) continue;
    algebra_.box = network.region.box;
    Value place = algebra_.moved(test.args[0].value, value.at), element = algebra_.moved(test.args[1].value, value.at);
    if (!place.is_position()) std::swap(place, element);
    if (!place.is_position() || !element.is_element() || place.denominator != 1) continue;
    const uint64_t told = variables_of(element);
    for (const auto& [variable, coefficient] : Form(place.form).terms) {
      if (!index::is_variable(variable) || (coefficient != 1 && coefficient != -1) || (told & bit(variable)) != 0)
        continue;
      if (!is_free(network.region, variable)) continue;
      // coefficient * variable + rest = element
      need(element, network.region);
      const Form rest = atoms_.sum(place.form, Form::variable(variable), -coefficient);
      const Form number = atoms_.data(element.term, element.at, network.region.box[variable].hi + 1);
      std::vector<Form> images;
      for (size_t v = 0; v < network.region.box.size(); ++v) images.push_back(Form::variable(index::AtomId(v)));
      images[variable] = atoms_.scaled(atoms_.sum(number, rest, -1), coefficient);
      network.region.box[variable] = {0, 0, 1};
      network.summed &= ~bit(variable);
      network.factors.erase(network.factors.begin() + int64_t(i));
      algebra_.box = network.region.box;
      for (Factor& factor : network.factors) {
        factor.value = algebra_.moved(factor.value, images);
        factor.variables = variables_of(factor.value);
      }
      network.one_hot = true;
      i = SIZE_MAX;
      break;
    }
  }
}

bool Needs::is_mirrored(const Network& network, const std::vector<size_t>& inner, size_t& a, size_t& b) const {
  for (const size_t i : inner)
    for (const size_t j : inner) {
      if (j >= i) break;
      const Factor &x = network.factors[i], &y = network.factors[j];
      if (!x.value.is_element() || !y.value.is_element() || x.value.term != y.value.term || x.value.at == y.value.at)
        continue;
      const uint64_t both = x.variables & y.variables;
      const bool alone = std::all_of(inner.begin(), inner.end(), [&](size_t k) {
        return k == i || k == j || (network.factors[k].variables & ~both) == 0;
      });
      if (!alone) continue;
      a = j;
      b = i;
      return true;
    }
  return false;
}

// The factors of a sum that stay inside of it; first those that read data.
std::vector<size_t> Needs::factors_inside(const Network& network, uint64_t& data_variables) const {
  const bool elementwise = network.summed == 0;
  std::vector<size_t> inner, formulas;
  for (size_t i = 0; i < network.factors.size(); ++i) {
    const Factor& factor = network.factors[i];
    if (!elementwise && (factor.variables & network.summed) == 0) continue;  // leaves the sum
    if (factor.formula) {
      formulas.push_back(i);
      continue;
    }
    inner.push_back(i);
    data_variables |= factor.variables;
  }
  if (inner.empty()) return inner;
  // Formulas are known before: those of the same variables are one factor, unless an element of data takes them along.
  const bool one = inner.size() == 1;
  for (const size_t i : formulas) {
    const bool taken = std::any_of(inner.begin(), inner.end(), [&](size_t k) {
      return (!one || network.factors[k].formula) &&
             (network.factors[i].variables & ~network.factors[k].variables) == 0;
    });
    if (!taken && inner.size() < most_factors) inner.push_back(i);
  }
  return inner;
}

// Products of a network by itself, in the cheapest order.
double Needs::products_of(Network network) {
  absorb(network);
  split_digits(network);
  uint64_t data_variables = 0;
  const std::vector<size_t> inner = factors_inside(network, data_variables);
  return inner.size() < 2 ? 0 : cheapest_order(network, inner);
}

// Parts of a sum that is made for this alone.
void Needs::parts_of(const Value& value, const Region& region, std::vector<Value>& parts) {
  algebra_.box = region.box;
  for (const Argument& arg : term(value.term).args) {
    const Value part = algebra_.moved(arg.value, value.at);
    if (part.is_element() && term(part.term).kind == TermKind::sum && uses_[part.term] <= 1)
      parts_of(part, region, parts);
    else
      parts.push_back(part);
  }
}

// x @ (w + a @ b) may be x @ w + (x @ a) @ b: whatever takes fewer products.
bool Needs::distribute(const Network& network, TermId owner, Results& results) {
  constexpr size_t most_parts = 64;
  if (network.summed == 0 || network.distributed > 1) return false;
  for (size_t i = 0; i < network.factors.size(); ++i) {
    const Value value = network.factors[i].value;
    if (network.factors[i].formula || !value.is_element() || uses_[value.term] > 1) continue;
    if (term(value.term).kind != TermKind::sum || (network.factors[i].variables & network.summed) == 0) continue;
    std::vector<Value> parts;
    parts_of(value, network.region, parts);
    const bool makes_products = std::any_of(parts.begin(), parts.end(), [&](const Value& part) {
      if (!part.is_element() || uses_[part.term] > 1) return false;
      const Term& made = term(part.term);
      return (made.kind == TermKind::product && is_outer_product(made)) ||
             (made.kind == TermKind::reduce && made.reducer == Reducer::sum && made.body.size() == 1);
    });
    if (parts.size() > most_parts || !makes_products) continue;
    Network rest = network;
    rest.factors.erase(rest.factors.begin() + int64_t(i));
    ++rest.distributed;
    double own = 0, apart = 0;
    std::vector<Network> networks;
    for (const Value& part : parts) {
      Network one = rest;
      const Term& made = term(part.is_element() ? part.term : value.term);
      Network alone = rest;  // what the part takes by itself
      alone.factors.clear();
      alone.summed = 0;
      if (part.is_element() && made.kind == TermKind::product && uses_[part.term] <= 1) {
        algebra_.box = network.region.box;
        for (const Argument& arg : made.args) {
          const Value factor = algebra_.moved(arg.value, part.at);
          add_factor(one, factor);
          add_factor(alone, factor);
        }
        if (is_outer_product(made)) own += products_of(alone);
      } else {
        if (part.is_element() && made.kind == TermKind::reduce && made.reducer == Reducer::sum &&
            uses_[part.term] <= 1 && made.body.size() == 1 && alone.region.box.size() + made.reduced.size() <= 60) {
          const Value body = enter(made.body[0], made, part.at, alone.region, alone.summed);
          if (body.is_element() && term(body.term).kind == TermKind::product)
            for (const Argument& arg : term(body.term).args)
              add_factor(alone, algebra_.moved(arg.value, body.at));
          if (!alone.region.empty) own += products_of(alone);
        }
        add_factor(one, part);
      }
      if (one.factors.size() > most_factors) return false;
      networks.push_back(std::move(one));
    }
    if (own == 0) continue;
    const double together = products_of(network) + own;
    for (const Network& one : networks) apart += products_of(one);
    if (apart >= together) continue;
    for (Network& one : networks) price(one, owner, results);
    return true;
  }
  return false;
}

void Needs::price(Network& network, TermId owner, Results& results) {
  if (tier_ == Tier::floor) {
    // Truths may all be false: then nothing else is needed.
    const auto truth = std::find_if(network.factors.begin(), network.factors.end(), [](const Factor& factor) {
      return !factor.formula && factor.value.is_element() && factor.value.width == DType::boolean;
    });
    if (truth != network.factors.end()) return need(truth->value, network.region);
  }
  take_one_hot(network);
  if (distribute(network, owner, results)) return;
  absorb(network);
  split_digits(network);
  need_factors(network, owner);
  if (!counting_) return;
  const bool counts = term(owner).reads_data;
  if (!counts) return;
  uint64_t data_variables = 0;
  const std::vector<size_t> inner = factors_inside(network, data_variables);
  if (inner.empty()) {
    // Only truths that data tell were summed: counting them.
    if (network.one_hot && tier_ != Tier::floor)
      work_of(owner).sums[term(owner).type] += index::count(network.region, atoms_, data_);
    return;
  }
  if (inner.size() == 1) {
    if (tier_ == Tier::floor) return;
    add_total(network.factors[inner[0]].value, network.region, owner, results);
    return;
  }
  const double share = transform_share(network, inner);
  // Variables that one factor has alone are summed before.
  uint64_t shared = 0;
  for (size_t v = 0; v < network.region.box.size(); ++v) {
    if ((network.summed & bit(v)) == 0) continue;
    int has = 0;
    for (const size_t i : inner) has += (network.factors[i].variables & bit(v)) != 0;
    if (has > 1) shared |= bit(v);
  }
  const bool alone = (network.summed & ~shared & data_variables) != 0;
  if (inner.size() == 2 && !alone && network.absorbed == 0 && !is_exponential(network)) {
    add_pair(network.factors[inner[0]], network.factors[inner[1]], network, owner, share);
    return;
  }
  if (size_t a = 0, b = 0; !alone && network.absorbed == 0 && is_mirrored(network, inner, a, b)) {
    add_pair(network.factors[a], network.factors[b], network, owner, share);
    return;
  }
  Operands type = product_type(network, inner);
  const double macs = cheapest_order(network, inner) * real_products(type, owner);
  Work& work = work_of(owner);
  const double times = tier_ == Tier::floor ? share : 1;
  work.macs[type] += macs * times;
  work.transformed_macs[type] += macs * share;
}

void Needs::add_pair(const Factor& a, const Factor& b, const Network& network, TermId owner, double share) {
  const auto rank_of = [](const Factor& factor) -> uint32_t {
    return factor.value.is_position() ? 1 : uint32_t(factor.value.at.size());
  };
  const auto id_of = [](const Factor& factor) -> uint64_t {
    return factor.value.is_position() ? UINT64_MAX : factor.value.term;
  };
  const bool swap = id_of(b) < id_of(a);
  const Factor& first = swap ? b : a;
  const Factor& second = swap ? a : b;
  std::vector<Form> forms;
  for (const Factor* factor : {&first, &second}) {
    if (factor->value.is_position())
      forms.push_back(factor->value.form);
    else
      forms.insert(forms.end(), factor->value.at.begin(), factor->value.at.end());
  }
  Operands type = product_type(network, {size_t(&a - network.factors.data()), size_t(&b - network.factors.data())});
  const double real = real_products(type, owner);
  std::vector<uint64_t> key{id_of(first), id_of(second), uint64_t(type.narrow), uint64_t(type.wide), uint64_t(real),
                            std::bit_cast<uint64_t>(share)};
  if (tier_ == Tier::unfused) key.push_back(term(owner).salt);
  Pair& pair = pairs_[key];
  pair.split = rank_of(first);
  pair.type = type;
  pair.real_products = real;
  pair.transformed = share;
  if (pair.owner == no_term) pair.owner = owner;
  pair.alike = id_of(first) == id_of(second) && !first.value.is_position();
  pair.squares_only = pair.squares_only && pair.alike && first.value.at == second.value.at;
  if ((!pair.alike || pair.squares_only) && !mirror_of(owner).empty()) {
    const double all = count(needed_[owner]);
    pair.owner_share = all > 0 ? distinct(owner, needed_[owner]) / all : 1;
    pair.owner_mirrors = true;
  }
  pair.points += index::count(network.region, atoms_, data_);
  for (Region& region : index::image(network.region, forms, atoms_))
    if (std::find(pair.regions.begin(), pair.regions.end(), region) == pair.regions.end())
      pair.regions.push_back(std::move(region));
}

void Needs::settle_pairs() {
  for (auto& [key, pair] : pairs_) {
    double products = std::min(count(pair.regions), pair.points);
    if (pair.alike && !pair.squares_only) {
      // A pair and its mirror are one product: both together, and elements with themselves once more, are two of each.
      const uint32_t rank = pair.split;
      std::vector<Region> both = pair.regions, diagonal;
      for (const Region& region : pair.regions) {
        Region mirror = region, same = region;
        std::vector<Form> images;
        for (uint32_t c = 0; c < 2 * rank; ++c) images.push_back(Form::variable(c < rank ? c + rank : c - rank));
        for (uint32_t c = 0; c < rank; ++c) std::swap(mirror.box[c], mirror.box[c + rank]);
        mirror.cuts.clear();
        mirror.points = -1;
        for (const Form& cut : region.cuts) mirror.cut(atoms_.compose(cut, images, mirror.box), atoms_);
        if (std::find(both.begin(), both.end(), mirror) == both.end()) both.push_back(std::move(mirror));
        for (uint32_t c = 0; c < rank; ++c) same.cut_equal(Form::variable(c), Form::variable(c + rank), atoms_);
        if (!same.empty) diagonal.push_back(std::move(same));
      }
      const double themselves = diagonal.empty() ? 0 : count(diagonal);
      products = std::min(products, std::ceil((count(both) + themselves) / 2));
    }
    if (pair.owner_mirrors && (!pair.alike || pair.squares_only)) products *= pair.owner_share;
    products *= pair.real_products;
    Work& work = work_of(pair.owner);
    work.macs[pair.type] += products * (tier_ == Tier::floor ? pair.transformed : 1);
    work.transformed_macs[pair.type] += products * pair.transformed;
  }
}

double Needs::cheapest_order(const Network& network, const std::vector<size_t>& inner) {
  const size_t n = inner.size();
  std::map<uint64_t, double> counted;
  // Variables that equations tell from others may stand for them.
  std::vector<uint64_t> equations;
  for (const Form& cut : network.region.cuts) {
    const Form opposite = atoms_.scaled(cut, -1);
    if (std::find(network.region.cuts.begin(), network.region.cuts.end(), opposite) == network.region.cuts.end())
      continue;
    uint64_t set = 0;
    atoms_.for_each_variable(cut, [&](index::AtomId v) { set |= bit(v); });
    if (!atoms_.has_compound(cut)) equations.push_back(set);
  }
  const auto points = [&](uint64_t variables) {
    for (bool more = !equations.empty(); more;) {
      more = false;
      for (const uint64_t set : equations)
        if (std::popcount(set & ~variables) == 1) {
          variables |= set;
          more = true;
        }
    }
    const auto [at, added] = counted.try_emplace(variables, 0);
    if (!added) return at->second;
    std::vector<Form> forms;
    for (size_t v = 0; v < network.region.box.size(); ++v)
      if ((variables & bit(v)) != 0) forms.push_back(Form::variable(index::AtomId(v)));
    const auto mapped = index::image(network.region, forms, atoms_);
    return at->second = mapped.empty() ? 0 : count(mapped);
  };
  // Variables of a subset after what only it has is summed.
  const size_t subsets = size_t(1) << n;
  std::vector<uint64_t> all(subsets, 0), left(subsets, 0);
  for (size_t s = 1; s < subsets; ++s)
    for (size_t i = 0; i < n; ++i)
      if ((s >> i & 1) != 0) all[s] |= network.factors[inner[i]].variables;
  // What is summed away may be tied by cuts to other variables: the sum then depends on those.
  std::vector<uint64_t> tied(network.region.box.size(), 0);
  for (const Form& cut : network.region.cuts) {
    uint64_t set = 0;
    atoms_.for_each_variable(cut, [&](index::AtomId v) { set |= bit(v); });
    for (size_t v = 0; v < tied.size(); ++v)
      if ((set & bit(v)) != 0) tied[v] |= set;
  }
  std::vector<uint64_t> whole(subsets, 0);  // before anything of its own is summed
  for (size_t s = 1; s < subsets; ++s) {
    const uint64_t own = all[s] & network.summed & ~all[subsets - 1 - s];
    uint64_t others = 0;
    for (size_t v = 0; v < tied.size(); ++v)
      if ((own & bit(v)) != 0) others |= tied[v];
    left[s] = (all[s] & ~own) | (others & ~own);
    whole[s] = std::popcount(s) == 1 ? all[s] : left[s];
  }
  std::vector<double> cost(subsets, INFINITY);
  size_t known = 0;  // factors that are formulas: any product of them is known before
  for (size_t i = 0; i < n; ++i) {
    cost[size_t(1) << i] = 0;
    if (network.factors[inner[i]].formula) known |= size_t(1) << i;
  }
  // What a side is read by, as it was there from the start
  const auto forms_of = [&](size_t side) {
    std::vector<Form> forms;
    for (size_t i = 0; i < n; ++i) {
      if ((side >> i & 1) == 0) continue;
      const Value& value = network.factors[inner[i]].value;
      if (value.is_position()) forms.push_back(value.form);
      forms.insert(forms.end(), value.at.begin(), value.at.end());
    }
    return forms;
  };
  const auto from_start = [&](size_t side) { return std::popcount(side) == 1 || (side & ~known) == 0; };
  for (size_t s = 1; s < subsets; ++s) {
    if (std::popcount(s) < 2) continue;
    if ((s & ~known) == 0) {
      cost[s] = 0;
      continue;
    }
    for (size_t a = (s - 1) & s; a > 0; a = (a - 1) & s) {
      const size_t b = s ^ a;
      if (a < b) continue;
      if (cost[a] + cost[b] >= cost[s]) continue;
      // Scaling one by the other is no contraction: vector units do it on the way.
      const bool scaling = left[s] == (left[a] | left[b]) && (left[s] == left[a] || left[s] == left[b]);
      if (scaling) {
        cost[s] = std::min(cost[s], cost[a] + cost[b]);
        continue;
      }
      // Two factors that were there from the start may repeat their products.
      double products = INFINITY;
      for (const uint64_t x : {left[a], whole[a]})
        for (const uint64_t y : {left[b], whole[b]}) products = std::min(products, points(x | y));
      if (from_start(a) && from_start(b)) {
        std::vector<Form> forms = forms_of(a);
        const std::vector<Form> others = forms_of(b);
        forms.insert(forms.end(), others.begin(), others.end());
        const auto mapped = index::image(network.region, forms, atoms_);
        if (!mapped.empty()) products = std::min(products, count(mapped));
      }
      cost[s] = std::min(cost[s], cost[a] + cost[b] + products);
    }
  }
  return cost[subsets - 1];
}

}  // namespace lightline::demand
