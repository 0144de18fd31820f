#include "truth/respell.h"

#include <fmt/format.h>

#include <random>
#include <regex>
#include <set>

#include "truth/respell_program.h"

namespace lightline::truth {
namespace {

// An array of rank 2 that statements from `first_use` on may read.
struct Place {
  Named array;
  size_t first_use = 0;
  std::string line;  // that defines it; empty for an input
};

// Whether a view of the array is returned: of a copy of it the copy would be written, too.
bool has_returned_view(const Sketch& sketch, const Place& place) {
  static const std::regex form(R"(^(\w+): [^=]* = view [^:]*: (\w+)\[)");
  std::set<std::string> views{place.array.name};
  for (size_t i = place.first_use; i < sketch.lines.size(); ++i) {
    std::smatch found;
    if (!std::regex_search(sketch.lines[i], found, form) || !views.contains(found[2])) continue;
    views.insert(found[1]);
    const std::regex name("\\b" + found[1].str() + "\\b");
    for (const std::string& output : sketch.outputs)
      if (std::regex_search(output, name)) return true;
  }
  return false;
}

std::vector<Place> places(const Sketch& sketch) {
  static const std::regex form(R"(^(\w+): (\w+)\[(\d+), (\d+)\] = (.*))");
  std::vector<Place> result;
  for (const Named& input : sketch.inputs)
    if (input.shape.size() == 2) result.push_back({input, 0, ""});
  for (size_t i = 0; i < sketch.lines.size(); ++i) {
    std::smatch found;
    if (!std::regex_search(sketch.lines[i], found, form)) continue;
    result.push_back({{found[1], {std::stoi(found[3]), std::stoi(found[4])}, found[2]}, i + 1, sketch.lines[i]});
  }
  std::erase_if(result, [&](const Place& place) {
    if (has_returned_view(sketch, place)) return true;
    const std::regex name("\\b" + place.array.name + "\\b");
    for (size_t i = place.first_use; i < sketch.lines.size(); ++i)
      if (std::regex_search(sketch.lines[i], name)) return false;
    return true;
  });
  return result;
}

std::string renamed(const std::string& line, const std::string& from, const std::string& to) {
  return std::regex_replace(line, std::regex("\\b" + from + "\\b"), to);
}

// Statements put between an array and what reads it; `last` takes its place there.
struct Insertion {
  std::vector<std::string> lines;
  std::string last;
};

class Inserter {
 public:
  explicit Inserter(const Place& place) : place_(place) {
    const Named& a = place.array;
    a_ = a.name, b_ = a.name + "_s", c_ = a.name + "_t", type_ = a.dtype, r_ = a.rows(), n_ = a.columns();
  }

  // Statements "@b = ..." and "@c = ...": @a is the array, @t its dtype, @r and @n its extents.
  Insertion lines(std::vector<std::string> texts, const std::string& last) const {
    for (std::string& text : texts) {
      text = std::regex_replace(text, std::regex("@whole"), std::to_string(r_ * n_));
      text = std::regex_replace(text, std::regex("@a"), a_);
      text = std::regex_replace(text, std::regex("@b"), b_);
      text = std::regex_replace(text, std::regex("@c"), c_);
      text = std::regex_replace(text, std::regex("@t"), type_);
      text = std::regex_replace(text, std::regex("@rr"), std::to_string(2 * r_));
      text = std::regex_replace(text, std::regex("@last"), std::to_string(r_ - 1));
      text = std::regex_replace(text, std::regex("@more"), std::to_string(r_ + 2));
      text = std::regex_replace(text, std::regex("@r"), std::to_string(r_));
      text = std::regex_replace(text, std::regex("@n"), std::to_string(n_));
    }
    return {std::move(texts), last == "b" ? b_ : c_};
  }
  Insertion again() const { return {{renamed(place_.line, a_, b_)}, b_}; }
  Insertion twice_and_chosen() const {
    Insertion both = lines({"@c: @t[@r, @n] = for i, j: if(i mod 2 == 0, @a[i, j], @b[i, j])"}, "c");
    both.lines.insert(both.lines.begin(), renamed(place_.line, a_, b_));
    return both;
  }

 private:
  const Place& place_;
  std::string a_, b_, c_, type_;
  int r_ = 0, n_ = 0;
};

std::optional<Insertion> insertion(const std::string& rule, const Place& place, std::mt19937_64& random) {
  const Inserter at(place);
  const bool is_float = place.array.dtype == "f32", computed = !place.line.empty();
  const std::string form = random() % 2 ? "view" : "for";
  if (rule == "copy") return at.lines({"@b: @t[@r, @n] = " + form + " i, j: @a[i, j]"}, "b");
  if (rule == "transpose and back")
    return at.lines({"@b: @t[@n, @r] = " + form + " i, j: @a[j, i]", "@c: @t[@r, @n] = " + form + " i, j: @b[j, i]"},
                    "c");
  if (rule == "reshape and back")
    return at.lines({"@b: @t[@whole] = " + form + " i: @a[i div @n, i mod @n]",
                     "@c: @t[@r, @n] = " + form + " i, j: @b[@n * i + j]"},
                    "c");
  if (rule == "duplicate" && computed) return at.again();
  if (rule == "expand and slice")
    return at.lines({"@b: @t[2, @r, @n] = for u, i, j: @a[i, j]", "@c: @t[@r, @n] = for i, j: @b[1, i, j]"}, "c");
  if (rule == "mask that is all true" && is_float)
    return at.lines({random() % 2 ? "@b: f32[@r, @n] = for i, j: if(abs(i - j) < 100, @a[i, j], 0)"
                                  : "@b: f32[@r, @n] = for i, j: @a[i, j] * f32(i div 100 == j div 100)"},
                    "b");
  if (rule == "widen and narrow" && is_float)
    return at.lines({"@b: f64[@r, @n] = for i, j: f64(@a[i, j])", "@c: f32[@r, @n] = for i, j: f32(@b[i, j])"}, "c");
  if (rule == "twice and chosen" && computed) return at.twice_and_chosen();
  if (rule == "rows that are not used")
    return at.lines({"@b: @t[@more, @n] = for i, j: @a[min(i, @last), j]", "@c: @t[@r, @n] = for i, j: @b[i, j]"}, "c");
  if (rule == "interleave and stride")
    return at.lines({"@b: @t[@rr, @n] = for i, j: @a[i div 2, j]", "@c: @t[@r, @n] = for i, j: @b[2 * i, j]"}, "c");
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& neutral_rules() {
  static const std::vector<std::string> rules = {
      "copy", "transpose and back", "reshape and back", "duplicate", "rename", "commute", "inline", "outline"};
  return rules;
}
const std::vector<std::string>& wasteful_rules() {
  static const std::vector<std::string> rules = {"expand and slice", "mask that is all true",  "widen and narrow",
                                                 "twice and chosen", "rows that are not used", "interleave and stride"};
  return rules;
}

std::optional<Respelled> respelled(const Sketch& sketch, const std::string& rule, uint64_t seed) {
  std::mt19937_64 random(seed);
  if (rule == "rename" || rule == "commute" || rule == "inline" || rule == "outline") {
    auto text = respelled_program(sketch.text(), rule, seed);
    if (!text) return std::nullopt;
    Respelled result{sketch, rule};
    result.sketch.whole = *text;
    if (rule == "rename") {
      result.sketch.known.clear();
      for (const std::string& name : sketch.known) result.sketch.known.insert("z" + name);
    }
    return result;
  }
  const auto candidates = places(sketch);
  if (candidates.empty()) return std::nullopt;
  const Place& place = candidates[random() % candidates.size()];
  const auto inserted = insertion(rule, place, random);
  if (!inserted) return std::nullopt;
  Respelled result{sketch, rule};
  auto& lines = result.sketch.lines;
  for (size_t i = place.first_use; i < lines.size(); ++i)
    lines[i] = renamed(lines[i], place.array.name, inserted->last);
  lines.insert(lines.begin() + int64_t(place.first_use), inserted->lines.begin(), inserted->lines.end());
  return result;
}

}  // namespace lightline::truth
