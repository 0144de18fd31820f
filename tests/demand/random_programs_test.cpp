// What must hold for every program: 10,000 random ones, from a generator of statements of all kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "bound/bound.h"
#include "demand/analysis.h"
#include "loops/ir/parse.h"
#include "machine/catalogue.h"
#include "support/seed.h"

namespace lightline::demand {
namespace {

constexpr int programs = 10000;

struct Line {
  std::string result;
  std::string type;
  std::string text;
  std::vector<std::string> uses;
};

struct Random {
  std::vector<std::pair<std::string, std::string>> inputs;  // name, type
  std::vector<Line> lines;
  std::vector<std::string> outputs;
};

class Generator {
 public:
  Generator(uint32_t seed, int batch) : random_(seed), batch_(batch), reshapes_(pick(2) == 0) {}

  Random run() {
    for (int i = 0; i < 2; ++i) input(size(), size());
    const int count = 2 + pick(7);
    for (int i = 0; i < count; ++i) statement();
    std::set<std::string> chosen{arrays_.back().name};
    for (int i = pick(3); i > 0; --i) {
      const Shaped& array = any();
      if (!is_input(array.name)) chosen.insert(array.name);
    }
    if (is_input(arrays_.back().name)) chosen = {out_.lines.back().result};
    out_.outputs.assign(chosen.begin(), chosen.end());
    return std::move(out_);
  }

 private:
  struct Shaped {
    std::string name;
    int rows, columns;
  };
  int pick(int below) { return int(random_() % uint32_t(below)); }
  int size() { return 2 + pick(7); }
  const Shaped& any() { return arrays_[size_t(pick(int(arrays_.size())))]; }
  bool is_input(const std::string& name) const { return name[0] == 'x'; }
  std::string type(int rows, int columns) const {
    return "f32[" + std::to_string(batch_) + ", " + std::to_string(rows) + ", " + std::to_string(columns) + "]";
  }
  Shaped input(int rows, int columns) {
    Shaped array{"x" + std::to_string(out_.inputs.size()), rows, columns};
    out_.inputs.emplace_back(array.name, type(rows, columns));
    arrays_.push_back(array);
    return array;
  }
  std::string plain_input(const std::string& kind) {
    const std::string name = "w" + std::to_string(out_.inputs.size());
    out_.inputs.emplace_back(name, kind);
    return name;
  }
  void add(int rows, int columns, const std::string& text, std::vector<std::string> uses) {
    const std::string name = "a" + std::to_string(out_.lines.size());
    std::string body = text;
    for (size_t at; (at = body.find('@')) != std::string::npos;) body.replace(at, 1, name);
    out_.lines.push_back(
        {name, type(rows, columns), name + ": " + type(rows, columns) + " = " + body, std::move(uses)});
    arrays_.push_back({name, rows, columns});
  }
  Shaped like(const Shaped& a) {
    for (int tries = 0; tries < 8; ++tries)
      if (const Shaped& b = any(); b.rows == a.rows && b.columns == a.columns) return b;
    return a;
  }

  void statement() {
    const Shaped a = any();
    const std::string n = a.name, r = std::to_string(a.rows), c = std::to_string(a.columns);
    switch (pick(16)) {
      case 0: return add(a.rows, a.columns, "for b, i, j: exp(" + n + "[b, i, j])", {n});
      case 1: return add(a.rows, a.columns, "for b, i, j: max(" + n + "[b, i, j] * 2 + 1, 0)", {n});
      case 2: {
        const Shaped b = like(a);
        return add(a.rows, a.columns,
                   "for b, i, j: " + n + "[b, i, j] " + (pick(2) ? "+ " : "* ") + b.name + "[b, i, j]", {n, b.name});
      }
      case 3: return add(a.columns, a.rows, "for b, i, j: " + n + "[b, j, i]", {n});
      case 4: {
        const int k = size();
        const std::string w = plain_input("f32[" + c + ", " + std::to_string(k) + "]");
        return add(a.rows, k, "for b, i, j: sum k in " + c + ": " + n + "[b, i, k] * " + w + "[k, j]", {n, w});
      }
      case 5:
        return add(a.rows, a.rows, "for b, i, j: sum k in " + c + ": " + n + "[b, i, k] * " + n + "[b, j, k]", {n});
      case 6:
        return add(a.rows, 1,
                   "for b, i, j: " + std::string(pick(2) ? "sum" : "max") + " k in " + c + ": " + n + "[b, i, k]", {n});
      case 7: return add(a.rows, a.columns, "for b, i, j: if(j <= i, " + n + "[b, i, j], 0)", {n});
      case 8: return add(a.rows, a.columns, "for b, i, j: if(j <= i, " + n + "[b, i, j], -inf)", {n});
      case 9: {
        if (a.rows < 2) return statement();
        const int k = 1 + pick(a.rows - 1);
        return add(k, a.columns, "for b, i, j: " + n + "[b, i + " + std::to_string(a.rows - k) + ", j]", {n});
      }
      case 10: {
        if (reshapes_) return statement();
        const int k = size();
        const std::string id = plain_input("i64[" + std::to_string(k) + "]");
        return add(k, a.columns,
                   "for b, i, j: " + n + "[b, min(max(" + id + "[i], 0), " + std::to_string(a.rows - 1) + "), j]",
                   {n, id});
      }
      case 11: {
        const std::string w = plain_input("f32[3]");
        return add(a.rows, a.columns, "for b, i, j: sum t in 3: " + n + "[b, i, j + t - 1 | 0] * " + w + "[t]", {n, w});
      }
      case 12: return add(a.rows, a.columns, "for b, i, scan j: @[b, i, j - 1 | 0] + " + n + "[b, i, j]", {n});
      case 13: {
        const std::string t = type(a.rows, a.columns);
        return add(a.rows, a.columns,
                   "repeat t in 3 carry (@p = " + n + ") { @n: " + t + " = for b, i, j: tanh(@p[b, i, j]) + " + n +
                       "[b, i, j]\n yield (@n) }",
                   {n});
      }
      case 14: {
        if (!reshapes_ || a.rows * a.columns % 2 != 0) return statement();
        const int half = a.rows * a.columns / 2;
        const std::string flat = "(" + std::to_string(half) + " * i + j)";
        return add(2, half, "for b, i, j: " + n + "[b, " + flat + " div " + c + ", " + flat + " mod " + c + "]", {n});
      }
      default:
        return add(a.rows, a.columns,
                   "scatter sum b in " + std::to_string(batch_) + ", i in " + r + ", j in " + c + " into " + n +
                       ": [b, i, 0] <- " + n + "[b, i, j]",
                   {n});
    }
  }

  std::mt19937 random_;
  int batch_;
  bool reshapes_;  // or gathers
  Random out_;
  std::vector<Shaped> arrays_;
};

std::string text_of(const std::vector<std::pair<std::string, std::string>>& inputs, const std::vector<Line>& lines,
                    const std::vector<std::string>& outputs) {
  std::string text = "program p(";
  for (size_t i = 0; i < inputs.size(); ++i) text += (i == 0 ? "" : ", ") + inputs[i].first + ": " + inputs[i].second;
  text += ") -> (";
  for (size_t i = 0; i < outputs.size(); ++i) text += (i == 0 ? "" : ", ") + outputs[i];
  text += ") {\n";
  for (const Line& line : lines) text += "  " + line.text + "\n";
  return text + "}\n";
}

struct Priced {
  bound::Bounds bounds;
  double macs = 0, bytes = 0;
  double one_by_one_ms = 0;  // the operators' times added up
};

Priced price(const std::string& text) {
  static const machine::Machine h200 = *machine::find_machine("H200");
  const auto program = loops::parse_and_verify(text, "random");
  if (!program.ok()) {
    ADD_FAILURE() << to_string(program.error()) << "\n" << text;
    return {};
  }
  const Analysis analysis = analyze(*program);
  Priced result{bound::bound(analysis, h200), analysis.fused.work.total_macs(), analysis.fused.bytes()};
  for (const bound::GroupBound& operation : result.bounds.groups) result.one_by_one_ms += operation.cost.ms;
  result.bounds.groups.clear();
  return result;
}

constexpr double slack = 1 + 1e-9;

// The part before `cut` and the part after: what crosses is an output of one and an input of the other.
std::pair<std::string, std::string> split(const Random& random, size_t cut) {
  std::set<std::string> made, crossing, used_first, used_second;
  for (size_t i = 0; i < random.lines.size(); ++i) {
    if (i < cut) made.insert(random.lines[i].result);
    for (const std::string& use : random.lines[i].uses) {
      (i < cut ? used_first : used_second).insert(use);
      if (i >= cut && made.contains(use)) crossing.insert(use);
    }
  }
  std::vector<std::string> first_outputs(crossing.begin(), crossing.end()), second_outputs;
  for (const std::string& output : random.outputs) {
    if (!made.contains(output))
      second_outputs.push_back(output);
    else if (!crossing.contains(output))
      first_outputs.push_back(output);
  }
  std::vector<std::pair<std::string, std::string>> first, second;
  for (const auto& input : random.inputs) {
    if (used_first.contains(input.first)) first.push_back(input);
    if (used_second.contains(input.first)) second.push_back(input);
  }
  for (size_t i = 0; i < cut; ++i)
    if (crossing.contains(random.lines[i].result)) second.emplace_back(random.lines[i].result, random.lines[i].type);
  const auto middle = random.lines.begin() + int64_t(cut);
  return {first_outputs.empty() ? "" : text_of(first, {random.lines.begin(), middle}, first_outputs),
          second_outputs.empty() ? "" : text_of(second, {middle, random.lines.end()}, second_outputs)};
}

// Another order in which every array is still made before it is read.
std::vector<Line> reordered(const std::vector<Line>& lines, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Line> left = lines, result;
  std::set<std::string> pending;
  for (const Line& line : left) pending.insert(line.result);
  while (!left.empty()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < left.size(); ++i)
      if (std::none_of(left[i].uses.begin(), left[i].uses.end(),
                       [&](const auto& use) { return pending.contains(use); }))
        ready.push_back(i);
    const size_t next = ready[random() % ready.size()];
    pending.erase(left[next].result);
    result.push_back(left[next]);
    left.erase(left.begin() + int64_t(next));
  }
  return result;
}

// Every array and index has another name.
std::string renamed(std::string text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const bool starts = (text[at] == 'a' || text[at] == 'x' || text[at] == 'w') && at + 1 < text.size() &&
                        std::isdigit(uint8_t(text[at + 1])) && (at == 0 || !std::isalnum(uint8_t(text[at - 1])));
    if (starts) text.insert(at++, "z");
  }
  return text;
}

TEST(RandomPrograms, InvariantsHold) {
  int nontrivial = 0;
  for (int i = 0; i < programs && !::testing::Test::HasFailure(); ++i) {
    const auto seed = uint32_t(testing_support::seed_of(uint64_t(i)));
    const Random random = Generator(seed, 2).run();
    const std::string text = text_of(random.inputs, random.lines, random.outputs);
    SCOPED_TRACE(testing_support::seed_text() + "\n" + text);
    const Priced whole = price(text);
    const bound::Bounds& b = whole.bounds;
    EXPECT_LE(b.floor.ms, b.fused.ms * slack);
    EXPECT_LE(b.fused.ms, whole.one_by_one_ms * slack);
    EXPECT_DOUBLE_EQ(b.unfused_ms, whole.one_by_one_ms);
    nontrivial += b.fused.ms > 0;

    const Random doubled = Generator(seed, 4).run();
    const Priced larger = price(text_of(doubled.inputs, doubled.lines, doubled.outputs));
    EXPECT_GE(larger.bounds.fused.ms * slack, b.fused.ms);
    EXPECT_GE(larger.bounds.unfused_ms * slack, b.unfused_ms);
    EXPECT_GE(larger.bounds.floor.ms * slack, b.floor.ms);

    const auto [first, second] = split(random, size_t(seed) % (random.lines.size() + 1));
    double parts = 0;
    for (const std::string& part : {first, second})
      if (!part.empty()) parts += price(part).bounds.fused.ms;
    EXPECT_GE(parts * slack, b.fused.ms) << first << second;

    const Priced other = price(renamed(text_of(random.inputs, reordered(random.lines, seed), random.outputs)));
    EXPECT_DOUBLE_EQ(other.bounds.fused.ms, b.fused.ms);
    EXPECT_NEAR(other.bounds.unfused_ms, b.unfused_ms, 1e-12 + 1e-9 * b.unfused_ms);
    EXPECT_DOUBLE_EQ(other.bounds.floor.ms, b.floor.ms);
    EXPECT_DOUBLE_EQ(other.macs, whole.macs);
    EXPECT_DOUBLE_EQ(other.bytes, whole.bytes);
  }
  EXPECT_GT(nontrivial, programs * 9 / 10);
}

}  // namespace
}  // namespace lightline::demand
