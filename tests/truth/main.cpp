#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include "loops/ir/parse.h"
#include "truth/compare.h"
#include "truth/generator.h"
using namespace lightline;
int main(int argc, char** argv) {
  uint64_t seed = 1, count = 1000;
  std::string kind;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    if (a == "--seed")
      seed = strtoull(argv[++i], 0, 10);
    else if (a == "--count")
      count = strtoull(argv[++i], 0, 10);
    else if (a == "--kind")
      kind = argv[++i];
    else if (a == "--show")
      show = true;
    else {
      auto p = loops::load(argv[i]);
      if (!p.ok()) {
        std::puts(to_string(p.error()).c_str());
        continue;
      }
      truth::Subject s{std::move(*p)};
      s.inputs = truth::random_inputs(s.program, 1, 2);
      auto d = truth::difference_of_meaning(s);
      std::printf("== %s: %s\n", argv[i],
                  !d.ok()          ? to_string(d.error()).c_str()
                  : d->has_value() ? (*d)->c_str()
                                   : "same meaning");
      auto v = truth::judge(s);
      std::puts(v.ok() ? to_string(*v).c_str() : to_string(v.error()).c_str());
      count = 0;
    }
  }
  std::map<std::string, int> tried, bad, causes, errors;
  int meaning = 0, skipped = 0, holds = 0;
  for (uint64_t i = 0; i < count; ++i) {
    auto sk = truth::Generator(seed * 1000003 + i).run(kind);
    auto p = loops::parse_and_verify(sk.text(), "g");
    if (!p.ok()) {
      std::printf("%s\n%s", to_string(p.error()).c_str(), sk.text().c_str());
      errors["parse"]++;
      continue;
    }
    truth::Subject s{std::move(*p)};
    s.inputs = truth::random_inputs(s.program, i, sk.integer_limit);
    s.dense = sk.dense;
    for (auto in : s.program.inputs)
      if (sk.known.contains(s.program.arrays[in].name)) s.known.insert(in);
    auto d = truth::difference_of_meaning(s);
    if (!d.ok()) {
      errors[to_string(d.error())]++;
      if (errors[to_string(d.error())] == 1) puts(sk.text().c_str());
      continue;
    }
    if (d->has_value()) {
      meaning++;
      if (meaning < 4) std::printf("MEANING %s\n%s", (*d)->c_str(), sk.text().c_str());
    }
    auto v = truth::judge(s);
    if (!v.ok()) {
      errors[to_string(v.error())]++;
      continue;
    }
    skipped += v->skipped;
    if (!v->truth.plans_hold) {
      if (++holds < 4) std::printf("PLAN DOES NOT HOLD\n%s", sk.text().c_str());
    }
    for (auto& t : sk.constructs) {
      tried[t]++;
      if (!v->violations.empty()) bad[t]++;
    }
    for (auto& x : v->violations) causes[x.tier + " " + x.resource + (x.too_low ? " too low" : "")]++;
    if (show && !v->violations.empty()) std::printf("-----\n%s%s", sk.text().c_str(), to_string(*v).c_str());
  }
  if (!count) return 0;
  for (auto& [t, n] : tried) std::printf("%-32s %5d of %5d\n", t.c_str(), bad[t], n);
  for (auto& [t, n] : causes) std::printf("  %-32s %5d\n", t.c_str(), n);
  for (auto& [t, n] : errors) std::printf("  ERROR %-32s %5d\n", t.c_str(), n);
  std::printf("meaning %d skipped %d plans %d\n", meaning, skipped, holds);
}
