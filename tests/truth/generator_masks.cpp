#include "truth/generator.h"

namespace lightline::truth {

// True somewhere in every row of a square, so that a softmax over it is a number.
std::string Generator::condition(int rows, int columns) {
  switch (pick(15)) {
    case 0: tag("mask: triangle"); return "j <= i";
    case 1: tag("mask: triangle"); return "j >= i";
    case 2: tag("mask: abs"); return "abs(i - j) < 2";
    case 3: tag("mask: band"); return "j <= i and i - j < 2";
    case 4: tag("mask: div"); return "i div 2 == j div 2";
    case 5: tag("mask: mod"); return "(i + j) mod 2 == 0";
    case 6: tag("mask: not"); return "not (j > i)";
    case 7: tag("mask: or"); return "j <= i or j < 2";
    case 8: tag("mask: or"); return fmt::format("j == 0 or abs(i - j) <= 1 or i + j >= {}", rows + columns - 2);
    case 9: tag("mask: float"); return "f32(i) >= f32(j)";
    case 10: tag("mask: float"); return "f32(i) * 0.5 - f32(j) > -1.25";
    case 11: tag("mask: select"); return "if(i mod 2 == 0, j <= i, j >= i)";
    case 12: {
      tag("mask: boolean array");
      const Named m = define({rows, columns}, coin() ? "for i, j: j <= i" : "for i, j: j - i <= 1", "bool");
      if (coin()) return m.name + "[i, j]";
      const Named other = define({rows, columns}, fmt::format("for i, j: not {}[i, j]", m.name), "bool");
      return fmt::format("not {}[i, j]", other.name);
    }
    case 13: {
      tag("mask: running sum");
      const int n = std::max(rows, columns);
      const Named ones = define({n}, "const [1]", "i64");
      const Named places = define({n}, fmt::format("scan t: @[t - 1 | 0] + {}[t]", ones.name), "i64");
      return fmt::format("{0}[j] <= {0}[i]", places.name);
    }
    default: {
      tag("mask: constant");
      std::vector<std::string> values;
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) values.push_back(i % columns == j || pick(3) == 0 ? "true" : "false");
      const Named m = define({rows, columns}, fmt::format("const [{}]", fmt::join(values, ", ")), "bool");
      return m.name + "[i, j]";
    }
  }
}

Named Generator::mask(int rows, int columns) {
  const std::string when = condition(rows, columns);
  if (coin()) return define({rows, columns}, fmt::format("for i, j: f32({})", when));
  return define({rows, columns}, fmt::format("for i, j: if({}, 1, 0)", when));
}

Named Generator::masked(const Named& x) {
  const int r = x.rows(), c = x.columns();
  switch (pick(3)) {
    case 0: return define({r, c}, fmt::format("for i, j: if({}, {}[i, j], 0)", condition(r, c), x.name));
    case 1: return define({r, c}, fmt::format("for i, j: {}[i, j] * {}[i, j]", x.name, mask(r, c).name));
    default: {
      const Named left = mask(r, std::max(1, c / 2)), right = mask(r, c - std::max(1, c / 2));
      const Named both = define({r, c}, fmt::format("for i, j: if(j < {0}, {1}[i, j | 0], {2}[i, j - {0} | 0])",
                                                    left.columns(), left.name, right.name));
      tag("mask: joined");
      return define({r, c}, fmt::format("for i, j: {}[i, j] * {}[i, j]", both.name, x.name));
    }
  }
}

void Generator::attention() {
  const int n = sized(3 + pick(4)), d = sized(2 + pick(2));
  const Named q = input({n, d}), k = input({n, d}), v = input({n, d + 1});
  const Named s = define({n, n}, fmt::format("for i, j: sum k in {}: {}[i, k] * {}[j, k]", d, q.name, k.name));
  Named m;
  switch (pick(4)) {
    case 0:
      tag("additive -inf");
      m = define({n, n}, fmt::format("for i, j: if({}, {}[i, j] * 0.5, -inf)", condition(n, n), s.name));
      break;
    case 1: {
      tag("additive -1e9");
      const Named keep = mask(n, n);
      m = define({n, n}, fmt::format("for i, j: {0}[i, j] * {1}[i, j] - 1e9 * (1 - {1}[i, j])", s.name, keep.name));
      break;
    }
    case 2: {
      tag("additive -1e9");
      const Named bias = define({n, n}, fmt::format("for i, j: if({}, 0, -1e9)", condition(n, n)));
      m = define({n, n}, fmt::format("for i, j: {}[i, j] + {}[i, j]", s.name, bias.name));
      break;
    }
    default: tag("no mask"); m = s;
  }
  const Named top = define({n}, fmt::format("for i: max j in {}: {}[i, j]", n, m.name));
  const Named e = define({n, n}, fmt::format("for i, j: exp({}[i, j] - {}[i])", m.name, top.name));
  const Named total = define({n}, fmt::format("for i: sum j in {}: {}[i, j]", n, e.name));
  if (coin()) {
    const Named w = define({n, n}, fmt::format("for i, j: {}[i, j] / {}[i]", e.name, total.name));
    return result(define({n, d + 1}, fmt::format("for i, d: sum j in {}: {}[i, j] * {}[j, d]", n, w.name, v.name)));
  }
  result(define({n, d + 1},
                fmt::format("for i, d: sum j in {}: {}[i, j] / {}[i] * {}[j, d]", n, e.name, total.name, v.name)));
}

}  // namespace lightline::truth
