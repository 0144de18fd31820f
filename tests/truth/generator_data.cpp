#include "truth/generator.h"

namespace lightline::truth {

void Generator::loops() {
  const int n = size(), d = size(), steps = sized(3 + pick(3));
  const Named x = input({steps, n}), w = input({n, n}), h = input({d, n});
  const std::string type = fmt::format("f32[{}, {}]", d, n);
  const auto repeat = [&](const std::string& carried, const std::string& body) {
    return define({d, n}, fmt::format("repeat t in {} carry (@p = {}) {{ {}\n yield (@n) }}", steps, carried, body));
  };
  switch (pick(5)) {
    case 0:
      tag("steps that differ");
      return result(repeat(h.name, fmt::format("@n: {} = for i, j: if(t < {}, tanh(@p[i, j]) + {}[t, j], @p[i, j])",
                                               type, 1 + pick(steps), x.name)));
    case 1:
      tag("invariant in a loop");
      return result(
          repeat(h.name, fmt::format("@m: {0} = for i, j: sum k in {1}: {2}[i, k] * {3}[k, j]\n @n: {0} = for "
                                     "i, j: @p[i, j] * 0.5 + @m[i, j]",
                                     type, n, h.name, w.name)));
    case 2: {
      tag("zero start");
      const Named zero = define({d, n}, "const [0]");
      return result(
          repeat(zero.name, fmt::format("@m: {0} = for i, j: sum k in {1}: @p[i, k] * {2}[k, j]\n @n: {0} = for "
                                        "i, j: tanh(@m[i, j] + {3}[t, j])",
                                        type, n, w.name, x.name)));
    }
    case 3: {
      tag("early outputs");
      const Named all{fresh("a"), {steps, d, n}}, last{fresh("a"), {d, n}};
      sketch_.lines.push_back(
          fmt::format("({0}: {1}, {2}: f32[{3}, {4}, {5}]) = repeat t in {3} carry ({0}p = {6}) {{ {0}m: {1} = for i, "
                      "j: sum k in {5}: "
                      "{0}p[i, k] * {7}[k, j]\n {0}n: {1} = for i, j: tanh({0}m[i, j])\n yield ({0}n, stack {0}n) }}",
                      last.name, type, all.name, steps, d, n, h.name, w.name));
      return result(define({d, n}, fmt::format("for i, j: {}[{}, i, j]", all.name, pick(2))));
    }
    default: {
      tag("carried and unchanged");
      const Named a{fresh("a"), {d, n}}, b{fresh("a"), {d, n}};
      sketch_.lines.push_back(fmt::format(
          "({0}: {1}, {2}: {1}) = repeat t in {3} carry ({0}p = {4}, {2}p = {4}) {{ {0}m: {1} = for i, j: sum k in "
          "{5}: "
          "{2}p[i, k] * {6}[k, j]\n {0}n: {1} = for i, j: {0}p[i, j] + {0}m[i, j] * {7}[t, j]\n {2}n: {1} = for i, j: "
          "{2}p[i, j]\n yield ({0}n, {2}n) }}",
          a.name, type, b.name, steps, h.name, n, w.name, x.name));
      return result(a);
    }
  }
}

// Linear attention: a state that grows by outer products.
void Generator::recurrence() {
  const int d = sized(2 + pick(2)), e = sized(3 + pick(2)), steps = sized(3 + pick(3));
  const Named k = input({steps, d}), v = input({steps, e}), q = input({steps, d});
  const Named zero = define({d, e}, "const [0]");
  const bool decays = pick(3) == 0;
  tag(decays ? "decaying state" : "S += k v^T");
  if (coin()) {
    const Named state{fresh("a"), {d, e}}, out{fresh("a"), {steps, e}};
    sketch_.lines.push_back(fmt::format(
        "({0}: f32[{1}, {2}], {3}: f32[{4}, {2}]) = repeat t in {4} carry ({0}p = {5}) {{ {0}n: f32[{1}, {2}] = for i, "
        "j: "
        "{9}{0}p[i, j] + {6}[t, i] * {7}[t, j]\n {0}o: f32[{2}] = for j: sum i in {1}: {8}[t, i] * {0}n[i, j]\n yield "
        "({0}n, stack {0}o) }}",
        state.name, d, e, out.name, steps, zero.name, k.name, v.name, q.name, decays ? "0.5 * " : ""));
    return result(coin() ? out : state);
  }
  tag("scan of outer products");
  const Named states = define({d, e, steps}, fmt::format("for i, j, scan t: {}@[i, j, t - 1 | 0] + {}[t, i] * {}[t, j]",
                                                         decays ? "0.5 * " : "", k.name, v.name));
  result(define({d, e}, fmt::format("for i, j: {}[i, j, {}]", states.name, steps - 1)));
}

void Generator::gathers() {
  const int r = sized(2 + pick(3)), c = size(), n = sized(3 + pick(5));
  const Named table = input({r, c}), index = input({n}, "i64");
  sketch_.integer_limit = r;
  if (coin()) sketch_.known.insert(index.name);
  tag(sketch_.known.empty() ? "unknown indices" : "known indices");
  Named from = table;
  if (pick(3) == 0) {
    tag("gather from an intermediate");
    from = product(table, input({c, c}));
  }
  const Named rows = define({n, c}, fmt::format("for i, j: {}[{}[i], j]", from.name, index.name));
  switch (pick(4)) {
    case 0: return result(rows);
    case 1: {
      tag("function of gathered rows");
      return result(elementwise(product(rows, input({c, size()}))));
    }
    case 2: {
      tag("constant indices");
      std::vector<std::string> values;
      for (int i = 0; i < n; ++i) values.push_back(std::to_string(pick(r)));
      const Named place = define({n}, fmt::format("const [{}]", fmt::join(values, ", ")), "i64");
      const Named known = define({n, c}, fmt::format("for i, j: {}[{}[i], j]", table.name, place.name));
      return result(elementwise(product(known, input({c, size()}))));
    }
    default: return result(elementwise(rows));
  }
}

void Generator::scatters() {
  const int r = sized(3 + pick(4)), c = size(), n = sized(2 + pick(4));
  const Named base = input({r, c}), g = input({n, c});
  sketch_.integer_limit = r;
  switch (pick(4)) {
    case 0: {
      tag("scatter by data");
      const Named index = input({n}, "i64");
      return result(define({r, c}, fmt::format("scatter sum i in {}, j in {} into {}: [{}[i], j] <- {}[i, j]", n, c,
                                               coin() ? base.name : "0", index.name, g.name)));
    }
    case 1: {
      tag("last write wins");
      const Named y = define({r, c}, fmt::format("scatter set i in {}, j in {} into {}: [i div 2, j] <- {}[i, j]", n, c,
                                                 base.name, g.name));
      return result(coin() ? y : elementwise(y));
    }
    case 2: {
      tag("scatter then product");
      std::vector<std::string> values;
      for (int i = 0; i < n; ++i) values.push_back(std::to_string(pick(r)));
      const Named place = define({n}, fmt::format("const [{}]", fmt::join(values, ", ")), "i64");
      const Named y = define(
          {r, c}, fmt::format("scatter set i in {}, j in {} into 0: [{}[i], j] <- {}[i, j]", n, c, place.name, g.name));
      return result(product(y, input({c, size()})));
    }
    default: {
      tag("dropped writes");
      return result(define({r, c}, fmt::format("scatter max i in {}, j in {} into {}: [i + {}, j | drop] <- {}[i, j]",
                                               n, c, base.name, r - 1, g.name)));
    }
  }
}

void Generator::widths() {
  const int r = size(), k = size(), c = size();
  switch (pick(7)) {
    case 4: {
      tag("booleans as floats");
      const Named x = input({r, k}), w = input({k, c}, "f16");
      const Named m = define({r, k}, fmt::format("for i, j: if({}[i, j] > 0, 1, 0)", x.name));
      const Named b = define({k, c}, fmt::format("for i, j: {}[i, j]", w.name));
      return result(define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", k, m.name, b.name)));
    }
    case 5: {
      tag("signs");
      const Named x = input({r, k}), w = input({k, c}, "f16");
      const Named a = define({r, k}, fmt::format("for i, j: sign({}[i, j])", x.name));
      return result(define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", k, a.name, w.name)));
    }
    case 6: {
      tag("scale after rounding");
      const Named x = input({r, k}, "f16"), w = input({k, c}, "f16"), s = input({c});
      const Named b = define({k, c}, fmt::format("for i, j: {}[i, j] * {}[j]", w.name, s.name));
      return result(define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", k, x.name, b.name)));
    }
    case 0: {
      tag("booleans as floats");
      const Named x = input({r, k}, "f16"), w = input({k, c}, "f16");
      const Named m = define({r, k}, fmt::format("for i, j: f32({}[i, j] > 0)", x.name));
      return result(define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", k, m.name, w.name)));
    }
    case 1: {
      tag("widened 16-bit values");
      const Named x = input({r, k}, "f16"), w = input({k, c}, "f16");
      const Named a = define({r, k}, fmt::format("for i, j: {}[i, j]", x.name));
      const Named b = define({k, c}, fmt::format("for i, j: {}[i, j]", w.name));
      return result(define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", k, a.name, b.name)));
    }
    case 2: {
      tag("signs");
      const Named x = input({r, k}), w = input({k, c}, "f16");
      const Named a = define({r, k}, fmt::format("for i, j: if({}[i, j] > 0, 1, -1)", x.name), "f16");
      return result(define({r, c}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[k, j]", k, a.name, w.name)));
    }
    default: {
      tag("rounded inside");
      const Named x = input({r, k}), w = input({k, c});
      return result(
          define({r, c}, fmt::format("for i, j: sum k in {}: f16({}[i, k]) * f16({}[k, j])", k, x.name, w.name)));
    }
  }
}

void Generator::statistics() {
  const Named x = matrix();
  const int r = x.rows(), c = x.columns();
  const Named mean = define({r}, fmt::format("for i: sum k in {}: {}[i, k] / {}", c, x.name, c));
  switch (pick(4)) {
    case 0: {
      tag("statistics twice");
      const Named again = define({r}, fmt::format("for i: sum k in {0}: {1}[i, {2} - k] / {0}", c, x.name, c - 1));
      const Named centred = define({r, c}, fmt::format("for i, j: {}[i, j] - {}[i]", x.name, mean.name));
      const Named other = define({r, c}, fmt::format("for i, j: {}[i, j] - {}[i]", x.name, again.name));
      return result(define({r}, fmt::format("for i: sum k in {}: {}[i, k] * {}[i, k]", c, centred.name, other.name)));
    }
    case 1: {
      tag("layer norm");
      const Named d = define({r, c}, fmt::format("for i, j: {}[i, j] - {}[i]", x.name, mean.name));
      const Named var = define({r}, fmt::format("for i: sum k in {0}: {1}[i, k] * {1}[i, k] / {0}", c, d.name));
      return result(define({r, c}, fmt::format("for i, j: {}[i, j] * rsqrt({}[i] + 0.001)", d.name, var.name)));
    }
    case 2: {
      tag("separable exponentials");
      const Named y = input({size()});
      return result(define({r, c, y.rows()}, fmt::format("for i, j, k: exp({}[i, j] + {}[k])", x.name, y.name)));
    }
    default: {
      tag("two outputs, one value");
      const Named s = define({r, c}, fmt::format("for i, j: {}[i, j] * 2 + 1", x.name));
      result(s);
      return result(define({c, r}, fmt::format("{} i, j: {}[j, i]", coin() ? "view" : "for", s.name)));
    }
  }
}

}  // namespace lightline::truth
