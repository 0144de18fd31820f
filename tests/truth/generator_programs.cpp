#include "truth/generator.h"

namespace lightline::truth {

void Generator::running() {
  const int n = sized(4 + pick(5)), c = sized(1 + pick(3));
  const Named x = input({n, c});
  switch (pick(6)) {
    case 0: {
      tag("tril(ones) @ x");
      const Named t = define({n, n}, "for i, j: if(j <= i, 1, 0)");
      return result(define({n, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", n, t.name, x.name)));
    }
    case 1: {
      tag("band of ones @ x");
      const Named t = define({n, n}, "for i, j: f32(j <= i and i - j < 3)");
      return result(define({n, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", n, t.name, x.name)));
    }
    case 2: {
      tag("convolution with ones");
      const Named ones = define({3}, "const [1]");
      return result(define({n - 2, c}, fmt::format("for i, j: sum k in 3: {}[i + k, j] * {}[k]", x.name, ones.name)));
    }
    case 3: {
      tag("convolution with ones");
      const Named y = input({n, n});
      const Named ones = define({3, 3}, "for r, s: 1");
      return result(define(
          {n - 2, n - 2}, fmt::format("for i, j: sum r in 3, s in 3: {}[i + r, j + s] * {}[r, s]", y.name, ones.name)));
    }
    case 4:
      tag("sliding maximum");
      return result(define({n - 2, c}, fmt::format("for i, j: max k in 3: {}[i + k, j]", x.name)));
    default: {
      tag("running sum");
      const Named s = define({n, c}, fmt::format("for scan i, j: @[i - 1, j | 0] + {}[i, j]", x.name));
      return result(coin() ? s : define({c}, fmt::format("for j: {}[{}, j]", s.name, n - 1)));
    }
  }
}

void Generator::windows() {
  const int n = sized(4 + pick(4)), c = sized(1 + pick(2)), o = sized(1 + pick(3)), w = sized(2 + pick(2));
  const Named x = input({c, n}), k = input({o, c, w});
  switch (pick(4)) {
    case 0: {
      tag("im2col");
      const Named t = define({c, w, n - w + 1}, fmt::format("view c, r, p: {}[c, p + r]", x.name));
      return result(define({o, n - w + 1}, fmt::format("for o, p: sum c in {}, r in {}: {}[o, c, r] * {}[c, r, p]", c,
                                                       w, k.name, t.name)));
    }
    case 1:
      tag("padded convolution");
      return result(define({o, n}, fmt::format("for o, p: sum c in {}, r in {}: {}[o, c, r] * {}[c, p + r - 1 | 0]", c,
                                               w, k.name, x.name)));
    case 2:
      tag("strided convolution");
      return result(
          define({o, (n - w) / 2 + 1},
                 fmt::format("for o, p: sum c in {}, r in {}: {}[o, c, r] * {}[c, 2 * p + r]", c, w, k.name, x.name)));
    default: {
      tag("function of windows");
      const Named t = define({c, n - w + 1, w}, fmt::format("view c, p, r: {}[c, p + r]", x.name));
      const Named e = define({c, n - w + 1, w}, fmt::format("for c, p, r: exp({}[c, p, r])", t.name));
      return result(define({c, n - w + 1}, fmt::format("for c, p: max r in {}: {}[c, p, r]", w, e.name)));
    }
  }
}

void Generator::symmetry() {
  const Named x = matrix(), y = input({size(), x.columns()});
  const int r = x.rows(), k = x.columns(), c = y.rows();
  switch (pick(5)) {
    case 0:
      tag("x @ x.T");
      return result(define({r, r}, fmt::format("for i, j: sum k in {0}: {1}[i, k] * {1}[j, k]", k, x.name)));
    case 1:
      tag("cdist(x, x)");
      return result(define({r, r}, fmt::format("for i, j: sum k in {0}: ({1}[i, k] - {1}[j, k]) * ({1}[i, k] - {1}[j, "
                                               "k])",
                                               k, x.name)));
    case 2:
      tag("commuted and transposed");
      result(define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[j, k]", k, x.name, y.name)));
      return result(
          elementwise(define({c, r}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[j, k]", k, y.name, x.name))));
    case 3: {
      tag("a part again");
      result(define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[j, k]", k, x.name, y.name)));
      const int kept = 1 + pick(r);
      return result(elementwise(define(
          {kept, c}, fmt::format("for i, j: sum k in {}: {}[i + {}, k] * {}[j, k]", k, x.name, r - kept, y.name))));
    }
    default: {
      tag("x.T @ D @ x");
      const Named d = input({r});
      return result(
          define({k, k}, fmt::format("for i, j: sum k in {0}: {1}[k, i] * {2}[k] * {1}[k, j]", r, x.name, d.name)));
    }
  }
}

void Generator::choice() {
  const Named x = matrix();
  const int r = x.rows(), c = size();
  const Named w = input({x.columns(), c}), v = input({x.columns(), c});
  switch (pick(4)) {
    case 0: {
      tag("where by data");
      const Named m = input({r, c}, "bool");
      const Named a = product(x, w), b = product(x, v);
      return result(define({r, c}, fmt::format("for i, j: if({}[i, j], {}[i, j], {}[i, j])", m.name, a.name, b.name)));
    }
    case 1: {
      tag("where by data");
      const Named m = input({r}, "bool");
      const Named y = input({r, x.columns()});
      return result(define(x.shape, fmt::format("for i, j: if({}[i], {}[i, j], {}[i, j])", m.name, x.name, y.name)));
    }
    case 2:
      tag("gate");
      return result(define(x.shape, fmt::format("for i, j: if({0}[i, j] > 0, {0}[i, j], 0.1 * {0}[i, j])", x.name)));
    default: {
      tag("the same on both sides");
      const Named m = input({r, c}, "bool");
      const Named a = product(x, w);
      const Named b =
          define({r, c}, fmt::format("for i, j: sum k in {}: {}[k, j] * {}[i, k]", x.columns(), w.name, x.name));
      return result(define({r, c}, fmt::format("for i, j: if({}[i, j], {}[i, j], {}[i, j])", m.name, a.name, b.name)));
    }
  }
}

void Generator::in_place() {
  const Named x = matrix();
  const int r = x.rows(), c = x.columns();
  Named y;
  switch (pick(5)) {
    case 0:
      tag("fill_diagonal_");
      y = define({r, c}, fmt::format("for i, j: if(i == j, 0, {}[i, j])", x.name));
      break;
    case 1:
      tag("tril_");
      y = define({r, c}, fmt::format("for i, j: if(j <= i, {}[i, j], 0)", x.name));
      break;
    case 2: {
      tag("row written");
      const Named row = input({c});
      y = define({r, c}, fmt::format("scatter set j in {} into {}: [{}, j] <- {}[j]", c, x.name, pick(r), row.name));
      break;
    }
    case 3: {
      tag("row added");
      const Named row = input({c});
      y = define({r, c}, fmt::format("for i, j: {}[i, j] + if(i == {}, {}[j], 0)", x.name, pick(r), row.name));
      break;
    }
    default: {
      tag("cache row by data");
      const Named row = input({c}), place = input({1}, "i64");
      y = define({r, c},
                 fmt::format("scatter set j in {} into {}: [{}[0], j] <- {}[j]", c, x.name, place.name, row.name));
    }
  }
  sketch_.outputs.push_back(y.name + " as " + x.name);
  if (coin()) result(product(y, input({c, size()})));
}

void Generator::opaque() {
  const int r = size(), c = sized(3 + pick(3)), k = size();
  const Named x = input({r, c});
  switch (pick(4)) {
    case 0: {
      tag("part of a sort");
      const Named v{fresh("a"), {r, c}}, p{fresh("a"), {r, c}};
      sketch_.lines.push_back(fmt::format("({}: f32[{}, {}], {}: i64[{}, {}]) = opaque sort({}, dim = 1)", v.name, r, c,
                                          p.name, r, c, x.name));
      return result(define({c}, fmt::format("for j: {}[0, j]", v.name)));
    }
    case 1: {
      tag("part of a topk");
      const Named w = input({c, k});
      const Named y = product(x, w);
      const Named v{fresh("a"), {r, 1}}, p{fresh("a"), {r, 1}};
      sketch_.lines.push_back(fmt::format("({}: f32[{}, 1], {}: i64[{}, 1]) = opaque topk({}, k = 1, dim = 1)", v.name,
                                          r, p.name, r, y.name));
      return result(define({1}, fmt::format("for j: {}[{}, j]", v.name, pick(r))));
    }
    case 2: {
      tag("triangular solve");
      const Named a = input({2, 3, 3}), b = input({2, 3, 2});
      const Named s{fresh("a"), {2, 3, 2}};
      sketch_.lines.push_back(
          fmt::format("{}: f32[2, 3, 2] = opaque triangular_solve({}, {}, unit = true)", s.name, a.name, b.name));
      return result(define({3}, fmt::format("for i: {}[{}, i, {}]", s.name, pick(2), pick(2))));
    }
    default: {
      tag("random");
      const Named noise{fresh("a"), {r, c}};
      sketch_.lines.push_back(fmt::format("{}: f32[{}, {}] = opaque random(seed = 1)", noise.name, r, c));
      return result(define({r, c}, fmt::format("for i, j: {}[i, j] * {}[i, j]", x.name, noise.name)));
    }
  }
}

void Generator::dense() {
  const Named x = matrix();
  sketch_.dense = true;
  const Named w = input({x.columns(), size()});
  const int r = x.rows(), k = x.columns(), c = w.columns();
  switch (pick(5)) {
    case 0: return result(define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", k, x.name, w.name)));
    case 1: {
      const Named h = define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", k, x.name, w.name));
      const Named t = define({r, c}, fmt::format("for i, j: tanh({}[i, j])", h.name));
      const Named u = input({c, size()});
      return result(
          define({r, u.columns()}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", c, t.name, u.name)));
    }
    case 2: {
      const Named b = input({2, k, c}), a = input({2, r, k});
      return result(
          define({2, r, c}, fmt::format("for b, i, j: sum k in {}: {}[b, i, k] * {}[b, k, j]", k, a.name, b.name)));
    }
    case 3: {
      const Named image = input({2, 5, 6}), filter = input({3, 2, 2, 3});
      return result(define({3, 4, 4}, fmt::format("for o, p, q: sum c in 2, r in 2, s in 3: {}[c, p + r, q + s] * "
                                                  "{}[o, c, r, s]",
                                                  image.name, filter.name)));
    }
    default: {
      const Named t = define({r, k, c}, fmt::format("for i, k, j: {}[i, k] * {}[k, j]", x.name, w.name));
      return result(define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k, j]", k, t.name)));
    }
  }
}

}  // namespace lightline::truth
