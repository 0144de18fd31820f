#include "truth/generator.h"

namespace lightline::truth {

Named Generator::operand(int rows, int columns) {
  switch (pick(6)) {
    case 0: return formula(rows, columns);
    case 1: return masked(input({rows, columns}));
    default: return input({rows, columns});
  }
}

Named Generator::formula(int rows, int columns) {
  tag("formula");
  switch (pick(6)) {
    case 0: return define({rows, columns}, "for i, j: cos(f32(i) * f32(j) * 0.3)");
    case 1: return define({rows, columns}, "for i, j: exp(-(f32(i) - f32(j)) * (f32(i) - f32(j)) * 0.1)");
    case 2: return define({rows, columns}, "for i, j: sin(f32(i * 3 + j)) + 0.25");
    case 3: {
      tag("toeplitz");
      const Named w = input({rows + columns - 1});
      return define({rows, columns}, fmt::format("for i, j: {}[i - j + {}]", w.name, columns - 1));
    }
    case 4: {
      tag("constants");
      std::vector<std::string> values;
      for (int i = 0; i < rows * columns; ++i) values.push_back(std::to_string(pick(5) - 2) + ".5");
      return define({rows, columns}, fmt::format("const [{}]", fmt::join(values, ", ")));
    }
    default: {
      tag("one-hot");
      std::vector<std::string> values;
      for (int i = 0; i < rows; ++i) values.push_back(std::to_string(pick(columns)));
      const Named place = define({rows}, fmt::format("const [{}]", fmt::join(values, ", ")), "i64");
      return define({rows, columns}, fmt::format("for i, j: if({}[i] == j, 1, 0)", place.name));
    }
  }
}

Named Generator::product(const Named& a, const Named& b) {
  if (pick(3) == 0) return split_product(a, b);
  const int k = a.columns();
  if (coin())
    return define({a.rows(), b.columns()},
                  fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", k, a.name, b.name));
  return define({a.rows(), b.columns()}, fmt::format("for i, j: sum k in {}: {}[k, j] * {}[i, k]", k, b.name, a.name));
}

Named Generator::split_product(const Named& a, const Named& b) {
  const int r = a.rows(), k = a.columns(), c = b.columns();
  switch (pick(7)) {
    case 0: {
      tag("mul then sum");
      const Named t = define({r, k, c}, fmt::format("for i, k, j: {}[i, k] * {}[k, j]", a.name, b.name));
      return define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k, j]", k, t.name));
    }
    case 1: {
      tag("mul then mean");
      const Named t = define({r, c, k}, fmt::format("for i, j, k: {}[i, k] * {}[k, j]", a.name, b.name));
      const Named s = define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, j, k]", k, t.name));
      return define({r, c}, fmt::format("for i, j: {}[i, j] / {}", s.name, k));
    }
    case 2:
      tag("scaled product");
      return define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j] / 8", k, a.name, b.name));
    case 3:
      tag("cast inside");
      return define({r, c},
                    fmt::format("for i, j: sum k in {}: f32(f64({}[i, k]) * f64({}[k, j]))", k, a.name, b.name));
    case 4: {
      tag("cast inside");
      const Named t =
          define({r, c, k}, fmt::format("for i, j, k: {}[i, k] * {}[k, j]", a.name, b.name), coin() ? "bf16" : "f16");
      return define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, j, k]", k, t.name));
    }
    case 5: {
      tag("scale inside");
      const Named s = input({r});
      return define({r, c},
                    fmt::format("for i, j: sum k in {}: {}[i, k] * {}[i] * {}[k, j]", k, a.name, s.name, b.name));
    }
    default: {
      tag("partial sums");
      const int half = (k + 1) / 2;
      const Named first =
          define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", half, a.name, b.name));
      if (k == half) return first;
      const Named second = define({r, c}, fmt::format("for i, j: sum k in {0}: {1}[i, k + {2}] * {3}[k + {2}, j]",
                                                      k - half, a.name, half, b.name));
      return define({r, c}, fmt::format("for i, j: {}[i, j] + {}[i, j]", first.name, second.name));
    }
  }
}

Named Generator::unrolled_product(const Named& a, const Named& b) {
  const int r = a.rows(), k = a.columns(), c = b.columns();
  switch (pick(3)) {
    case 0: {
      tag("unrolled rank-1");
      std::vector<std::string> terms;
      for (int i = 0; i < k; ++i) terms.push_back(fmt::format("{0}[i, {2}] * {1}[{2}, j]", a.name, b.name, i));
      return define({r, c}, fmt::format("for i, j: {}", fmt::join(terms, " + ")));
    }
    case 1: {
      tag("unrolled rank-1");
      Named sum = define({r, c}, fmt::format("for i, j: {}[i, 0] * {}[0, j]", a.name, b.name));
      for (int i = 1; i < k; ++i) {
        const Named t = define({r, c}, fmt::format("for i, j: {0}[i, {2}] * {1}[{2}, j]", a.name, b.name, i));
        sum = define({r, c}, fmt::format("for i, j: {}[i, j] + {}[i, j]", sum.name, t.name));
      }
      return sum;
    }
    default: {
      tag("accumulated in a loop");
      const Named zero = define({r, c}, "const [0]");
      return define({r, c}, fmt::format("repeat t in {0} carry (@p = {1}) {{ @n: f32[{2}, {3}] = for i, j: @p[i, j] + "
                                        "{4}[i, t] * {5}[t, j]\n yield (@n) }}",
                                        k, zero.name, r, c, a.name, b.name));
    }
  }
}

Named Generator::two_products(const Named& a, const Named& b) {
  tag("a*b + c*d");
  const Named c = input({a.rows(), a.columns()}), d = input({b.rows(), b.columns()});
  const bool same_left = coin();
  return define({a.rows(), b.columns()}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j] + {}[i, k] * {}[k, j]",
                                                     a.columns(), a.name, b.name, same_left ? a.name : c.name, d.name));
}

Named Generator::boolean_product(int r, int k, int c) {
  tag("boolean product");
  const Named a = input({r, k}, "bool"), b = input({k, c}, "bool");
  const Named x = input({k, c});
  switch (pick(5)) {
    case 0:
      return define({r, c}, fmt::format("for i, j: or k in {}: {}[i, k] and {}[k, j]", k, a.name, b.name), "bool");
    case 1: return define({r, c}, fmt::format("for i, j: sum k in {}: f32({}[i, k] and {}[k, j])", k, a.name, b.name));
    case 2: return define({r, c}, fmt::format("for i, j: sum k in {}: if({}[i, k], {}[k, j], 0)", k, a.name, x.name));
    case 3: {
      const Named t = define({r, k, c}, fmt::format("for i, k, j: {}[i, k] and {}[k, j]", a.name, b.name), "bool");
      return define({r, c}, fmt::format("for i, j: or k in {}: {}[i, k, j]", k, t.name), "bool");
    }
    default: {
      const Named t = define({r, k, c}, fmt::format("for i, k, j: if({}[i, k], {}[k, j], 0)", a.name, x.name));
      return define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k, j]", k, t.name));
    }
  }
}

void Generator::chain() {
  const int m = size(), n = size(), p = size(), q = size();
  const Named a = input({m, n}), b = input({n, p}), c = input({p, q});
  switch (pick(4)) {
    case 0:
      tag("three factors");
      return result(define({m, q}, fmt::format("for i, j: sum k in {}, l in {}: {}[i, k] * {}[k, l] * {}[l, j]", n, p,
                                               a.name, b.name, c.name)));
    case 1: {
      tag("chain");
      const Named t = product(b, c);
      return result(product(a, t));
    }
    case 2: {
      tag("chain");
      const Named t = product(a, b);
      return result(product(t, c));
    }
    default: {
      tag("sum of a product");
      const Named t = product(a, b);
      return result(define({m}, fmt::format("for i: sum j in {}: {}[i, j]", p, t.name)));
    }
  }
}

}  // namespace lightline::truth
