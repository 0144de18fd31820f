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

const std::vector<std::string>& Generator::kinds() {
  static const std::vector<std::string> all = {"masks",      "attention",  "zeros",    "split",    "formula", "running",
                                               "windows",    "repeat",     "symmetry", "choice",   "inplace", "opaque",
                                               "loops",      "recurrence", "gathers",  "scatters", "widths",  "chain",
                                               "statistics", "dense",      "moves",    "mixed"};
  return all;
}

Sketch Generator::run(std::string_view kind) {
  const std::string chosen = kind.empty() ? kinds()[size_t(pick(int(kinds().size())))] : std::string(kind);
  tag(chosen);
  if (chosen == "masks") {
    const Named a = masked(matrix());
    result(product(a, operand(a.columns(), size())));
  } else if (chosen == "zeros") {
    const Named a = coin() ? blocks(matrix()) : zero_filled(matrix());
    result(product(a, operand(a.columns(), size())));
  } else if (chosen == "split") {
    const Named a = matrix();
    const int way = pick(4);
    const Named b = input({a.columns(), size()});
    result(way == 0   ? unrolled_product(a, b)
           : way == 1 ? two_products(a, b)
           : way == 2 ? boolean_product(size(), size(), size())
                      : split_product(a, b));
  } else if (chosen == "formula") {
    const Named a = matrix();
    result(product(a, formula(a.columns(), size())));
  } else if (chosen == "repeat") {
    const Named a = repeated(matrix());
    const Named y = product(a, operand(a.columns(), size()));
    result(coin() ? elementwise(y) : y);
  } else if (chosen == "moves") {
    const Named a = moved(moved(matrix()));
    result(coin() ? product(a, operand(a.columns(), size())) : elementwise(moved(a)));
  } else if (chosen == "attention") {
    attention();
  } else if (chosen == "running") {
    running();
  } else if (chosen == "windows") {
    windows();
  } else if (chosen == "symmetry") {
    symmetry();
  } else if (chosen == "choice") {
    choice();
  } else if (chosen == "inplace") {
    in_place();
  } else if (chosen == "opaque") {
    opaque();
  } else if (chosen == "loops") {
    loops();
  } else if (chosen == "recurrence") {
    recurrence();
  } else if (chosen == "gathers") {
    gathers();
  } else if (chosen == "scatters") {
    scatters();
  } else if (chosen == "widths") {
    widths();
  } else if (chosen == "chain") {
    chain();
  } else if (chosen == "statistics") {
    statistics();
  } else if (chosen == "dense") {
    dense();
  } else {
    mixed();
  }
  return std::move(sketch_);
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
