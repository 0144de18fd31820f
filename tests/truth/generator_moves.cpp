#include "truth/generator.h"

namespace lightline::truth {

Named Generator::moved(const Named& x) {
  const int r = x.rows(), c = x.columns();
  const char* form = coin() ? "view" : "for";
  const auto made = [&](Extents shape, const std::string& subscripts) {
    return define(std::move(shape), fmt::format("{} i, j: {}[{}]", form, x.name, subscripts));
  };
  switch (pick(9)) {
    case 0: tag("flip"); return made({r, c}, fmt::format("{} - i, j", r - 1));
    case 1: tag("transpose"); return made({c, r}, "j, i");
    case 2: {
      tag("slice");
      const int kept = 1 + pick(r), first = pick(r - kept + 1);
      return made({kept, c}, fmt::format("i + {}, j", first));
    }
    case 3: tag("stride"); return made({(r + 1) / 2, c}, "2 * i, j");
    case 4: tag("roll"); return made({r, c}, fmt::format("(i + {}) mod {}, j", 1 + pick(r), r));
    case 5: {
      tag("reshape");
      std::vector<int> rows;
      for (int n = 1; n <= r * c; ++n)
        if (r * c % n == 0) rows.push_back(n);
      const int to = rows[size_t(pick(int(rows.size())))], width = r * c / to;
      return made({to, width}, fmt::format("({0} * i + j) div {1}, ({0} * i + j) mod {1}", width, c));
    }
    case 6: tag("roll"); return made({r, c}, fmt::format("i, (j + {}) mod {}", 1 + pick(c), c));
    case 7: tag("flip"); return made({c, r}, fmt::format("j, {} - i", c - 1));
    default: {
      tag("slice");
      const int kept = 1 + pick(c);
      return made({r, kept}, fmt::format("i, j + {}", c - kept));
    }
  }
}

Named Generator::repeated(const Named& x) {
  const int r = x.rows(), c = x.columns();
  const char* form = coin() ? "view" : "for";
  switch (pick(7)) {
    case 0: tag("tile"); return define({2 * r, c}, fmt::format("{} i, j: {}[i mod {}, j]", form, x.name, r));
    case 1: tag("interleave"); return define({2 * r, c}, fmt::format("{} i, j: {}[i div 2, j]", form, x.name));
    case 2:
      tag("cat");
      return define({2 * r, c}, fmt::format("for i, j: if(i < {0}, {1}[i, j | 0], {1}[i - {0}, j | 0])", r, x.name));
    case 3: {
      tag("interleave");
      const Named y = input({r, c});
      return define({2 * r, c}, fmt::format("for i, j: if(i mod 2 == 0, {}[i div 2, j], {}[i div 2, j])", x.name,
                                            coin() ? x.name : y.name));
    }
    case 4: tag("expand"); return define({4, c}, fmt::format("{} i, j: {}[0, j]", form, x.name));
    case 5: {
      tag("expand");
      const Named wide = define({3, r, c}, fmt::format("{} b, i, j: {}[i, j]", form, x.name));
      return define({3 * r, c}, fmt::format("{} i, j: {}[i div {}, i mod {}, j]", form, wide.name, r, r));
    }
    default: {
      tag("clamp");
      return define({r + 3, c}, fmt::format("{} i, j: {}[min(i, {}), j]", form, x.name, r - 1));
    }
  }
}

Named Generator::zero_filled(const Named& x) {
  const int r = x.rows(), c = x.columns();
  switch (pick(6)) {
    case 0: tag("padding"); return define({r + 2, c + 1}, fmt::format("for i, j: {}[i - 1, j | 0]", x.name));
    case 1:
      tag("zero-stuffing");
      return define({2 * r, c}, fmt::format("for i, j: if(i mod 2 == 0, {}[i div 2, j], 0)", x.name));
    case 2:
      tag("zero-stuffing");
      return define({2 * r, c},
                    fmt::format("scatter set i in {}, j in {} into 0: [2 * i, j] <- {}[i, j]", r, c, x.name));
    case 3:
      tag("partial write");
      return define({r, c + 3}, fmt::format("scatter set i in {}, j in {} into 0: [i, j] <- {}[i, j]", r, c, x.name));
    case 4: {
      tag("partial write");
      const Named zeros = define({r, 2 * c}, "const [0]");
      return define({r, 2 * c}, fmt::format("scatter sum i in {}, j in {} into {}: [i, j + {}] <- {}[i, j]", r, c,
                                            zeros.name, c, x.name));
    }
    default:
      tag("padding");
      return define({r, c + 3}, fmt::format("for i, j: if(j >= 2 and j < {}, {}[i, j - 2 | 0], 0)", c + 2, x.name));
  }
}

Named Generator::blocks(const Named& x) {
  const int r = x.rows(), c = x.columns();
  switch (pick(4)) {
    case 0: {
      tag("block_diag");
      const Named y = matrix();
      const int r2 = y.rows(), c2 = y.columns();
      const Named first = define({r + r2, c + c2},
                                 fmt::format("scatter set i in {}, j in {} into 0: [i, j] <- {}[i, j]", r, c, x.name));
      return define({r + r2, c + c2}, fmt::format("scatter set i in {}, j in {} into {}: [i + {}, j + {}] <- {}[i, j]",
                                                  r2, c2, first.name, r, c, y.name));
    }
    case 1: {
      tag("block_diag");
      const Named y = matrix();
      return define({r + y.rows(), c + y.columns()},
                    fmt::format("for i, j: {}[i, j | 0] + {}[i - {}, j - {} | 0]", x.name, y.name, r, c));
    }
    case 2:
      tag("kron");
      return define({2 * r, 2 * c},
                    fmt::format("for i, j: if(i div {0} == j div {1}, {2}[i mod {0}, j mod {1}], 0)", r, c, x.name));
    default: {
      tag("kron");
      const Named eye = define({3, 3}, "for i, j: if(i == j, 1, 0)");
      const Named both = define({3, r, 3, c}, fmt::format("for i, u, j, v: {}[i, j] * {}[u, v]", eye.name, x.name));
      return define({3 * r, 3 * c},
                    fmt::format("view i, j: {0}[i div {1}, i mod {1}, j div {2}, j mod {2}]", both.name, r, c));
    }
  }
}

Named Generator::elementwise(const Named& x) {
  static const std::vector<std::string> forms = {
      "max({0}, 0)", "tanh({0})", "exp({0})",          "{0} * 2 + 1", "sigmoid({0}) * {0}",   "abs({0}) - 0.5",
      "gelu({0})",   "{0} * {0}", "log(1 + exp({0}))", "-{0}",        "min(max({0}, -1), 1)", "{0} / (1 + abs({0}))"};
  if (pick(4) == 0) {
    const Named bias = input({x.columns()});
    return define(x.shape, fmt::format("for i, j: {}[i, j] + {}[j]", x.name, bias.name));
  }
  return define(x.shape,
                "for i, j: " + fmt::format(fmt::runtime(forms[size_t(pick(int(forms.size())))]), x.name + "[i, j]"));
}

}  // namespace lightline::truth
