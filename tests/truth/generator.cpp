#include "truth/generator.h"

namespace lightline::truth {

namespace {

std::string type_text(const Extents& shape, const std::string& dtype) {
  return fmt::format("{}[{}]", dtype, fmt::join(shape, ", "));
}

std::string with_name(std::string body, const std::string& name) {
  for (size_t at; (at = body.find('@')) != std::string::npos;) body.replace(at, 1, name);
  return body;
}

}  // namespace

std::string Sketch::text() const {
  if (!whole.empty()) return whole;
  std::vector<std::string> parameters;
  for (const Named& input : inputs) parameters.push_back(input.name + ": " + type_text(input.shape, input.dtype));
  std::string result = fmt::format("program p({}) -> ({}) {{\n", fmt::join(parameters, ", "), fmt::join(outputs, ", "));
  for (const std::string& line : lines) result += "  " + line + "\n";
  return result + "}\n";
}

Named Generator::input(Extents shape, const std::string& dtype) {
  sketch_.inputs.push_back({fresh("x"), std::move(shape), dtype});
  return sketch_.inputs.back();
}

Named Generator::define(Extents shape, const std::string& body, const std::string& dtype) {
  Named made{fresh("a"), std::move(shape), dtype};
  for (const std::string& construct : pending_) sketch_.places.try_emplace(construct, made.name);
  pending_.clear();
  sketch_.lines.push_back(
      fmt::format("{}: {} = {}", made.name, type_text(made.shape, dtype), with_name(body, made.name)));
  return made;
}

void Generator::result(const Named& array) { sketch_.outputs.push_back(array.name); }

const std::vector<Generator::Kind>& Generator::table() {
  using G = Generator;
  static const std::vector<Kind> all = {{"masks", &G::masks},           {"attention", &G::attention},
                                        {"zeros", &G::zeros},           {"split", &G::split},
                                        {"formula", &G::formulas},      {"running", &G::running},
                                        {"windows", &G::windows},       {"repeat", &G::repetition},
                                        {"symmetry", &G::symmetry},     {"choice", &G::choice},
                                        {"inplace", &G::in_place},      {"opaque", &G::opaque},
                                        {"loops", &G::loops},           {"recurrence", &G::recurrence},
                                        {"gathers", &G::gathers},       {"scatters", &G::scatters},
                                        {"widths", &G::widths},         {"chain", &G::chain},
                                        {"statistics", &G::statistics}, {"dense", &G::dense},
                                        {"moves", &G::moves},           {"mixed", &G::mixed}};
  return all;
}

const std::vector<std::string>& Generator::kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const Kind& kind : table()) result.push_back(kind.name);
    return result;
  }();
  return names;
}

Sketch Generator::run(std::string_view kind) {
  const Kind* chosen = &table()[size_t(pick(int(table().size())))];
  for (const Kind& other : table())
    if (other.name == kind) chosen = &other;
  sketch_.constructs.insert(chosen->name);
  (this->*chosen->make)();
  return std::move(sketch_);
}

void Generator::masks() {
  const Named a = masked(matrix());
  result(product(a, operand(a.columns(), size())));
}

void Generator::zeros() {
  const Named a = coin() ? blocks(matrix()) : zero_filled(matrix());
  result(product(a, operand(a.columns(), size())));
}

void Generator::split() {
  const Named a = matrix(), b = input({a.columns(), size()});
  switch (pick(4)) {
    case 0: return result(unrolled_product(a, b));
    case 1: return result(two_products(a, b));
    case 2: return result(boolean_product(size(), size(), size()));
    default: return result(split_product(a, b));
  }
}

void Generator::formulas() {
  const Named a = matrix();
  result(product(a, formula(a.columns(), size())));
}

void Generator::repetition() {
  const Named a = repeated(matrix());
  const Named y = product(a, operand(a.columns(), size()));
  result(coin() ? elementwise(y) : y);
}

void Generator::moves() {
  const Named a = moved(moved(matrix()));
  result(coin() ? product(a, operand(a.columns(), size())) : elementwise(moved(a)));
}

// A few steps of any kind, one after the other, with several results.
void Generator::mixed() {
  Named x = matrix();
  for (int steps = 2 + pick(3); steps > 0; --steps) {
    switch (pick(7)) {
      case 0: x = moved(x); break;
      case 1: x = repeated(x); break;
      case 2: x = masked(x); break;
      case 3: x = elementwise(x); break;
      case 4: x = zero_filled(x); break;
      default:
        if (x.rows() * x.columns() <= 64) x = product(x, operand(x.columns(), size()));
    }
    if (pick(5) == 0) result(x);
  }
  if (sketch_.outputs.empty() || sketch_.outputs.back() != x.name) result(x);
  if (!sketch_.lines.empty()) return;
  result(elementwise(x));
}

}  // namespace lightline::truth
