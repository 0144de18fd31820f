// Slots of sums and products of several parts. Whoever computes them may add up, or multiply, in any order, share what
// they have in common, do what has fewer variables at its own size, and leave what is linear to contractions.
#include <algorithm>
#include <cmath>

#include "demand/needs.h"

namespace lightline::demand {

using loops::Reducer;

namespace {

bool is_total(const Term& made) { return made.kind == TermKind::reduce && made.reducer == Reducer::sum; }

std::vector<Form> forms_of_part(const Value& part) {
  return part.is_position() ? std::vector<Form>{part.form} : part.at;
}

// Different values of these forms, as a power of those of a coordinate: their linear rank. Forms that are not linear
// add nothing.
size_t rank_of(const std::vector<Form>& forms, const std::vector<bool>& varies) {
  std::vector<std::vector<double>> rows;
  for (const Form& form : forms) {
    std::vector<double> row(varies.size(), 0);
    bool linear = true;
    for (const auto& [atom, coefficient] : form.terms) {
      linear = linear && index::is_variable(atom) && atom < varies.size();
      if (linear && varies[atom]) row[atom] = double(coefficient);
    }
    if (linear) rows.push_back(std::move(row));
  }
  size_t rank = 0;
  for (size_t c = 0; c < varies.size() && rank < rows.size(); ++c) {
    const auto pivot = std::find_if(rows.begin() + int64_t(rank), rows.end(),
                                    [&](const std::vector<double>& row) { return std::abs(row[c]) > 1e-9; });
    if (pivot == rows.end()) continue;
    std::swap(*pivot, rows[rank]);
    for (size_t r = rank + 1; r < rows.size(); ++r)
      for (size_t k = varies.size(); k-- > c;) rows[r][k] -= rows[rank][k] * rows[r][c] / rows[rank][c];
    ++rank;
  }
  return rank;
}

// How far one element has to be from another so that a part of it is another part of that, if one distance does:
// by coordinate. False if none does.
bool find_shift(const std::vector<Form>& a, const std::vector<Form>& b, std::vector<double>& shift, bool& unknown) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d].terms != b[d].terms || a[d].terms.size() > 1) {
      unknown = true;
      return true;
    }
    const double apart = double(a[d].constant - b[d].constant);
    if (a[d].terms.empty()) {
      if (apart != 0) return false;
      continue;
    }
    const auto [atom, coefficient] = a[d].terms[0];
    if (!index::is_variable(atom) || atom >= shift.size()) {
      unknown = true;
      return true;
    }
    if (!std::isnan(shift[atom]) && shift[atom] != apart / double(coefficient)) return false;
    shift[atom] = apart / double(coefficient);
  }
  return true;
}

// Of the parts of an element, as many as another element of the same term can have at most, if they are more than
// those that several elements have anyway.
size_t shared_with_itself(const Term& made, const std::vector<bool>& full) {
  struct Class {
    double ratio;
    std::vector<double> shift;
    std::vector<size_t> parts;
  };
  std::vector<Class> classes;
  std::vector<bool> anywhere(full.size());
  for (size_t i = 0; i < full.size(); ++i) anywhere[i] = !full[i];
  for (size_t i = 0; i < full.size(); ++i)
    for (size_t j = 0; j < full.size(); ++j) {
      const Argument &a = made.args[i], &b = made.args[j];
      if (i == j || !full[i] || !full[j] || a.value.term != b.value.term || a.value.at == b.value.at) continue;
      Class one{a.factor / b.factor, std::vector<double>(made.rank, NAN), {i}};
      bool unknown = false;
      if (!find_shift(forms_of_part(a.value), forms_of_part(b.value), one.shift, unknown)) continue;
      anywhere[i] = anywhere[i] || unknown;
      for (double& distance : one.shift)
        if (std::isnan(distance)) distance = 0;
      const auto known = std::find_if(classes.begin(), classes.end(), [&](const Class& other) {
        return other.shift == one.shift && std::abs(other.ratio - one.ratio) <= 1e-12 * std::abs(one.ratio);
      });
      if (known == classes.end())
        classes.push_back(std::move(one));
      else
        known->parts.push_back(i);
    }
  size_t most = 0;
  for (const Class& one : classes)
    most = std::max(most,
                    size_t(std::count_if(one.parts.begin(), one.parts.end(), [&](size_t i) { return !anywhere[i]; })));
  const size_t more = size_t(std::count(anywhere.begin(), anywhere.end(), true));
  return classes.empty() ? 0 : most + more;
}

// The parts of a sum or product by what they are of, wherever they are read, and how many are.
std::map<uint64_t, size_t> sources_of(const Term& made) {
  std::map<uint64_t, size_t> sources;
  for (const Argument& arg : made.args) ++sources[arg.value.is_element() ? arg.value.term : UINT64_MAX];
  return sources;
}

// The same up to a factor.
bool is_multiple(const Term& a, const Term& b) {
  if (a.kind != b.kind || a.args.size() != b.args.size()) return false;
  const double ratio = a.args[0].factor / b.args[0].factor;
  const auto same = [&](double x, double y) { return std::abs(x - y * ratio) <= 1e-12 * std::abs(x); };
  if (a.kind == TermKind::sum && !same(a.number, b.number)) return false;
  for (size_t i = 0; i < a.args.size(); ++i)
    if (!(a.args[i].value == b.args[i].value) || !same(a.args[i].factor, b.args[i].factor)) return false;
  return true;
}

}  // namespace

// Whether a multiple of it by what has fewer variables takes nothing: the factor goes into the smallest operand.
bool Needs::takes_scale(const Value& value, int depth) const {
  if (!value.is_element() || depth > 4) return false;
  const Term& made = term(value.term);
  if (is_total(made)) return made.reads_data;
  const std::vector<bool> varies(made.rank, true);
  const auto takes = [&](const Argument& arg) { return takes_scale(arg.value, depth + 1); };
  const auto is_full = [&](const Argument& arg) { return rank_of(forms_of_part(arg.value), varies) == made.rank; };
  if (made.kind == TermKind::product)
    return std::any_of(made.args.begin(), made.args.end(),
                       [&](const Argument& arg) { return is_full(arg) && takes(arg); });
  if (made.kind != TermKind::sum) return false;
  bool any = false;
  for (const Argument& arg : made.args) {
    if (!is_full(arg)) continue;
    if (!takes(arg)) return false;
    any = true;
  }
  return any;
}

// Sums that are only factors of contractions can be taken apart, and what they are made of likewise.
void Needs::need_part(TermId id, const Value& part) {
  const bool all = !counting_ || tier_ == Tier::floor || strict_[id] == needed_[id];
  const bool was = std::exchange(linear_, !all);
  for (const Region& region : needed_[id]) need(part, region);
  linear_ = was;
  if (all) return;
  for (const Region& region : strict_[id]) need(part, region);
}

// e == 3: e, and the number.
std::optional<Value> Needs::compared_element(const Value& truth, double& number) {
  if (!truth.is_element() || term(truth.term).kind != TermKind::call) return std::nullopt;
  const Term& test = term(truth.term);
  if (test.function != loops::Function::eq) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const Value one = algebra_.moved(test.args[i].value, truth.at);
    const Value other = algebra_.moved(test.args[1 - i].value, truth.at);
    if (!other.is_element()) continue;
    if (one.is_number())
      number = one.number;
    else if (one.is_position() && one.form.is_constant())
      number = double(one.form.constant) / double(one.denominator);
    else
      continue;
    return other;
  }
  return std::nullopt;
}

// The same of an element of a scatter over zeros, of which the last index that data tell is a number here.
std::optional<Value> Needs::asked_of_scatter(const Value& factor, double& number, size_t& choices) {
  const Term& made = term(factor.term);
  if (!is_scatter_over_zeros(factor.term) || made.body.size() != 1) return std::nullopt;
  const ScatterParts& parts = form_.scatters[made.array];
  if (parts.places.size() != 1 || parts.places[0].size() != factor.at.size()) return std::nullopt;
  const std::vector<Range> ranges = made.body[0].where.box;
  std::vector<Form> images;
  for (const Range& range : ranges) images.push_back(Form::of(range.lo));
  std::optional<size_t> told;
  double open = 1;  // points for one element of the index
  for (size_t r = 0; r < made.reduced.size(); ++r) open *= double(ranges[r].count());
  for (size_t d = 0; d < factor.at.size(); ++d) {
    if (parts.by_data[d]) {
      if (told) return std::nullopt;
      told = d;
      continue;
    }
    const uint32_t variable = parts.places[0][d].is_position() ? plain_variable(parts.places[0][d].form) : no_variable;
    if (variable >= made.reduced.size() || !parts.places[0][d].form.is_variable()) return std::nullopt;
    images[variable] = factor.at[d];
    open /= double(ranges[variable].count());
  }
  if (!told || !factor.at[*told].is_constant()) return std::nullopt;
  const Value element = algebra_.moved(parts.places[0][*told], images);
  if (!element.is_element()) return std::nullopt;
  number = double(factor.at[*told].constant);
  if (atoms_.order(element.term) != nullptr) choices = size_t(open);
  return element;
}

// Of a factor that is not zero only where an element, or one of several in a row, has a number: the first of them.
std::optional<Value> Needs::asked_element(const Value& factor, double& number, size_t& choices) {
  choices = 1;
  if (auto element = compared_element(factor, number)) return element;
  if (!factor.is_element()) return std::nullopt;
  const Term& made = term(factor.term);
  if (made.kind == TermKind::scatter) return asked_of_scatter(factor, number, choices);
  const bool adds = made.kind == TermKind::reduce && (made.reducer == Reducer::sum || made.reducer == Reducer::any);
  if (!adds || made.reduced.size() != 1 || made.body.size() != 1 || !made.body[0].value.is_element())
    return std::nullopt;
  std::vector<Form> first{Form::of(made.body[0].where.box[0].lo)};
  first.insert(first.end(), factor.at.begin(), factor.at.end());
  const Value body = algebra_.moved(made.body[0].value, first);
  std::vector<Value> parts{body};
  if (term(body.term).kind == TermKind::product)
    for (const Argument& arg : term(body.term).args) parts.push_back(algebra_.moved(arg.value, body.at));
  for (const Value& one : parts)
    if (auto element = compared_element(one, number)) {
      if (atoms_.order(element->term) != nullptr) choices = size_t(made.body[0].where.box[0].count());
      return element;
    }
  return std::nullopt;
}

// The coordinate that an element has, if the others are numbers.
uint32_t Needs::row_of(const Value& element) {
  uint32_t row = no_variable;
  for (const Form& form : element.at) {
    if (form.is_constant()) continue;
    if (row != no_variable || !form.is_variable()) return no_variable;
    row = form.terms[0].first;
  }
  return row;
}

// The parts of a sum, and of sums in it that nobody else reads, by what they ask and for which number.
void Needs::find_asked(const Value& sum, AskedParts& asked) {
  const std::vector<Argument>& args = term(sum.term).args;
  turns_[sum.term].assign(args.size(), {});
  for (size_t i = 0; i < args.size(); ++i) {
    const Value& part = args[i].value;
    if (part.is_element() && term(part.term).kind == TermKind::sum && uses_[part.term] <= 1) {
      find_asked(algebra_.moved(part, sum.at), asked);
      continue;
    }
    if (!part.is_element() || term(part.term).kind != TermKind::product) continue;
    std::optional<Value> inner;  // a sum of which the part is a multiple, as of what was chosen before
    bool asks = false;
    for (const Argument& arg : term(part.term).args) {
      double number = 0;
      size_t choices = 1;
      const Value factor = algebra_.moved(arg.value, part.at);
      if (factor.is_element() && term(factor.term).kind == TermKind::sum && uses_[factor.term] <= 1) inner = factor;
      const auto element = asked_element(factor, number, choices);
      if (!element || row_of(*element) == no_variable) continue;
      const Value here = algebra_.moved(*element, sum.at);
      asked[{here.term, here.at}][number].push_back({sum.term, i, row_of(*element), choices});
      asks = true;
      break;
    }
    if (!asks && inner && uses_[part.term] <= 1) find_asked(algebra_.moved(*inner, sum.at), asked);
  }
}

// Parts of a sum of which at most one is not zero, as a router's experts that are added in turn: in general position
// each has its share of the rows, and which ones makes no difference. Those of a router's second choice are others.
const std::vector<Turn>& Needs::turns_of(TermId id) {
  const auto [own, added] = turns_.try_emplace(id, term(id).args.size());
  if (!added || tier_ != Tier::fused || !counting_) return own->second;
  AskedParts asked;
  algebra_.box.clear();
  find_asked(Value::element(id, own_variables(term(id).rank), term(id).width), asked);
  TermId source = no_term;
  size_t choice = 0;
  for (const auto& [element, by_number] : asked) {
    const bool further = element.first == source && atoms_.order(source) != nullptr;
    choice = further ? choice + 1 : 0;
    source = element.first;
    size_t turn = choice;
    for (const auto& [number, parts] : by_number) {
      for (const AskedPart& part : parts)
        turns_[part.sum][part.place] = {part.row, turn % by_number.size(), by_number.size(), part.choices};
      ++turn;
    }
  }
  return turns_[id];
}

// Its share of the rows of a region.
Region Needs::in_turn(Region region, const Turn& turn) {
  Range& rows = region.box[turn.coordinate];
  if (!region.is_box() || rows.step != 1) return region;
  const int64_t first = rows.lo, count = rows.count();
  const size_t choices = std::min(turn.choices, turn.parts), from = std::min(turn.number, turn.parts - choices);
  rows = {first + count * int64_t(from) / int64_t(turn.parts),
          first + count * int64_t(from + choices) / int64_t(turn.parts) - 1, 1};
  region.empty = rows.hi < rows.lo;
  region.points = -1;
  return region;
}

void Needs::count_sum(TermId id) {
  const std::vector<Region>& regions = needed_[id];
  const Term& made = term(id);
  if (counting_ && tier_ != Tier::floor && made.reads_data) flat_.push_back(id);
  if (is_function_of_one(id) && !feeds_contractions_alone(id)) return count_call(id);
  if (tier_ == Tier::floor && need_unless_decided(id, regions)) return;
  if (tier_ == Tier::floor) share_products(id);
  const std::vector<Turn>& turns = turns_of(id);
  const std::vector<Argument>& args = made.args;
  for (size_t i = 0; i < args.size(); ++i) {
    const Argument& arg = args[i];
    const bool product = arg.value.is_element() && term(arg.value.term).kind == TermKind::product;
    // For the floor it may be zero.
    const bool may_vanish = product && tier_ == Tier::floor && !is_outer_product(term(arg.value.term));
    if (!product || uses_[arg.value.term] > 1 || may_vanish) {
      if (product && is_outer_product(term(arg.value.term))) added_.insert(arg.value.term);
      need_part(id, arg.value);
      continue;
    }
    // A product that only feeds this sum: matrix units could do both, if it is one of different indices; else it takes
    // no slot that the sum would not.
    Results results{regions};
    if (is_outer_product(term(arg.value.term))) {
      for (const Region& region : regions)
        expand(arg.value, region, 0, narrower(made.width, wanted_width_[id]), id, results);
      continue;
    }
    for (const Argument& factor : term(arg.value.term).args) {
      algebra_.box = regions[0].box;
      const Value part = algebra_.moved(factor.value, arg.value.at);
      if (turns[i].parts < 2 || picks(part)) {
        need_part(id, part);
        continue;
      }
      for (const Region& region : regions)
        if (const Region own = in_turn(region, turns[i]); !own.empty) need(part, own);
    }
  }
}

void Needs::count_product(TermId id) {
  const std::vector<Region>& regions = needed_[id];
  const Term& made = term(id);
  const bool has_zeros = std::any_of(made.args.begin(), made.args.end(), [&](const Argument& arg) {
    return arg.value.is_element() && term(arg.value.term).zeros > 0;
  });
  if (counting_ && tier_ != Tier::floor && made.reads_data && !has_zeros) flat_.push_back(id);
  if (is_function_of_one(id) && !feeds_contractions_alone(id)) return count_call(id);
  if (tier_ == Tier::floor) {
    std::vector<Multiplied> factors;
    for (const Argument& arg : made.args) factors.push_back(multiplied(arg.value));
    if (need_unless_zero(id, factors, regions)) return;
  }
  const auto truth = std::find_if(made.args.begin(), made.args.end(), [&](const Argument& arg) {
    return arg.value.is_element() && arg.value.width == DType::boolean && algebra_.reads_data(arg.value);
  });
  std::optional<Way> way;
  if (truth != made.args.end()) way = branch(truth->value);
  for (const Argument& arg : made.args) {
    const bool zeros = std::any_of(made.args.begin(), made.args.end(),
                                   [&](const Argument& other) { return meets_zeros(arg.value, other.value); });
    if (way && *way != Way::first && &arg != &*truth) continue;
    if (zeros)
      drop_beside_zeros(arg.value);
    else
      need_part(id, arg.value);
  }
}

// A number that changes from region to region: a scale in each of them.
bool Needs::is_number_by_region(const Value& value) const {
  if (!value.is_element()) return false;
  const Term& made = term(value.term);
  if (made.reads_data) return false;
  return made.kind == TermKind::array ||
         (made.kind == TermKind::call && std::all_of(made.args.begin(), made.args.end(), [&](const Argument& arg) {
            return arg.value.is_number() || is_number_by_region(arg.value);
          }));
}

std::vector<bool> Needs::varying_coordinates(TermId id) const {
  std::vector<bool> varies(term(id).rank, false);
  for (const Region& region : strict_[id])
    for (size_t c = 0; c < varies.size(); ++c) varies[c] = varies[c] || region.box[c].count() > 1;
  return varies;
}

// Operations for one element, whoever else has parts in common with it being served before: a part that has fewer
// variables than the whole joins others of its kind first.
double Needs::operations_of(TermId id, size_t shared) const {
  const Term& made = term(id);
  const std::vector<bool> varies = varying_coordinates(id);
  const size_t rank = size_t(std::count(varies.begin(), varies.end(), true));
  std::vector<bool> full;
  std::vector<Value> whole;  // different ones
  std::vector<Form> rest;
  bool scales = false;  // something takes the rest along
  for (const Argument& arg : made.args) {
    if (made.kind == TermKind::product && is_number_by_region(arg.value)) continue;
    const std::vector<Form> forms = forms_of_part(arg.value);
    full.push_back(rank_of(forms, varies) == rank);
    if (!full.back())
      rest.insert(rest.end(), forms.begin(), forms.end());
    else if (std::find(whole.begin(), whole.end(), arg.value) == whole.end())
      whole.push_back(arg.value);
    scales = scales || (full.back() && made.kind == TermKind::product && takes_scale(arg.value));
  }
  const double parts = double(whole.size());
  const bool all = std::find(full.begin(), full.end(), false) == full.end();
  const double groups = all || scales ? 0 : rank_of(rest, varies) < rank ? 1 : 2;
  double operations = std::max(0.0, parts + groups - 1);
  shared = std::max(shared, shared_with_itself(made, full));
  if (shared > 1) operations = std::min(operations, std::max(1.0, std::ceil(parts / double(shared)) - 1));
  const bool squares = all && whole.size() < made.args.size();
  if (squares || (made.kind == TermKind::sum && made.number != 0)) operations = std::max(operations, 1.0);
  return operations;
}

// Parts of a sum that are added as they are made: a product, or a sum that starts from what it is added to.
double Needs::joined_parts(TermId id) const {
  const Term& made = term(id);
  if (made.kind != TermKind::sum) return 0;
  return double(std::count_if(made.args.begin(), made.args.end(), [&](const Argument& arg) {
    if (!arg.value.is_element()) return false;
    const Term& part = term(arg.value.term);
    return (part.kind == TermKind::product && part.reads_data) || is_total(part);
  }));
}

// A product of different indices that is added to something: matrix units could do it.
void Needs::count_added_product(TermId id) {
  Network network;
  network.region = strict_[id][0];
  std::vector<size_t> data;
  for (const Argument& arg : term(id).args) add_factor(network, arg.value);
  for (size_t i = 0; i < network.factors.size(); ++i)
    if (!network.factors[i].formula) data.push_back(i);
  Operands type = product_type(network, data);
  const double products = real_products(type, id) * distinct(id, strict_[id]);
  work_of(id).macs[type] += products;
  work_of(id).transformed_macs[type] += products;
}

// By part, and the kind and statement of those that have it: who, and how often.
struct Needs::HavingPart {
  using Key = std::tuple<uint64_t, TermKind, uint32_t>;
  std::map<Key, std::vector<std::pair<TermId, size_t>>> terms;
};

// The most parts that this has in common with one that came before; nothing if it is a multiple of one.
std::optional<size_t> Needs::shared_parts(TermId id, HavingPart& having) const {
  const Term& made = term(id);
  std::map<TermId, size_t> common;
  for (const auto& [source, times] : sources_of(made)) {
    auto& others = having.terms[{source, made.kind, tier_ == Tier::unfused ? made.salt : 0}];
    for (const auto& [other, known] : others) common[other] += std::min(times, known);
    others.emplace_back(id, times);
  }
  size_t shared = 0;
  for (const auto& [other, parts] : common) {
    if (parts == made.args.size() && is_multiple(made, term(other))) return std::nullopt;
    shared = std::max(shared, parts);
  }
  return shared;
}

// A sum of n parts of which others have at most s takes n / s - 1 additions of its own, whatever is shared: each of
// them joins what no other has. The smaller ones come first.
void Needs::settle_slots() {
  std::sort(flat_.begin(), flat_.end(),
            [&](TermId a, TermId b) { return std::pair(term(a).args.size(), a) < std::pair(term(b).args.size(), b); });
  flat_.erase(std::unique(flat_.begin(), flat_.end()), flat_.end());
  HavingPart having;
  for (const TermId id : flat_) {
    if (strict_[id].empty()) continue;
    const Term& made = term(id);
    const auto shared = shared_parts(id, having);
    if (!shared || is_function_of_one(id)) continue;  // counted already
    const double operations = operations_of(id, *shared) - joined_parts(id);
    if (operations <= 0) continue;
    turn_to(id);
    if (added_.contains(id)) {
      count_added_product(id);
      continue;
    }
    const double half = made.kind == TermKind::sum && is_integer(made.type) ? 0.5 : 1;
    work_of(id).vector_ops[vector_type(id)] += operations * half * distinct(id, strict_[id]);
  }
}

}  // namespace lightline::demand
