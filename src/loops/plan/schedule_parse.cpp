// Text to schedules and plans.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "loops/ir/lexer.h"
#include "loops/ir/source.h"
#include "loops/plan/plan.h"
#include "loops/plan/schedule_words.h"

namespace lightline::loops::plan {
namespace {

// A plan is parsed as a schedule with more lines.
class ScheduleParser {
 public:
  ScheduleParser(const Program& program, std::string_view text, bool is_plan)
      : program_(program), table_(program), text_(text), lexer_(text), is_plan_(is_plan) {}

  Plan run() {
    expect(is_plan_ ? "plan" : "schedule");
    const Position at = lexer_.position();
    if (const std::string_view name = any_name("the name of a program"); name != program_.name)
      fail_at(at, ErrorCode::name, fmt::format("this is for program '{}', not '{}'", name, program_.name));
    if (is_plan_) {
      expect("on");
      plan_.target = any_name("the name of a machine");
    }
    expect("{");
    while (accept("fold")) {
      const TextPlace begin = text_place();
      const StatementId statement = parse_statement_name();
      plan_.schedule.folded.push_back({statement, accept("unrolled"), begin});
    }
    parse_kernels(none);
    expect("}");
    if (lexer_.kind() != Token::end)
      fail(ErrorCode::parse, fmt::format("unexpected '{}' after the end", lexer_.text()));
    return std::move(plan_);
  }

 private:
  // ---- tokens ----
  [[noreturn]] static void fail_at(Position at, ErrorCode code, std::string message, std::string hint = "") {
    throw SyntaxError{code, std::move(message), std::move(hint), at};
  }
  [[noreturn]] void fail(ErrorCode code, std::string message, std::string hint = "") {
    fail_at(lexer_.position(), code, std::move(message), std::move(hint));
  }
  [[noreturn]] void fail_expected(std::string_view what) {
    fail(ErrorCode::parse,
         fmt::format("expected {}, found {}", what,
                     lexer_.kind() == Token::end ? "the end of the text" : fmt::format("'{}'", lexer_.text())));
  }
  void expect(std::string_view word) {
    if (!accept(word)) fail_expected(fmt::format("'{}'", word));
  }
  bool accept(std::string_view word) {
    if (!lexer_.is(word)) return false;
    lexer_.advance();
    return true;
  }
  // A word that may follow; a statement of that name may stand there instead.
  bool accept_option(std::string_view word) {
    const Lexer::Mark before = lexer_.mark();
    if (!accept(word)) return false;
    if (!lexer_.is(":") && !lexer_.is("@")) return true;
    lexer_.reset(before);
    return false;
  }
  std::string_view any_name(std::string_view what) {
    if (lexer_.kind() != Token::name) fail_expected(what);
    const std::string_view word = lexer_.text();
    lexer_.advance();
    return word;
  }
  int64_t parse_integer(std::string_view what) {
    if (lexer_.kind() != Token::integer) fail_expected(what);
    int64_t value = 0;
    const std::string_view digits = lexer_.text();
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
      fail(ErrorCode::limit, fmt::format("{} is too large", digits));
    lexer_.advance();
    return value;
  }
  int64_t parse_positive(std::string_view what) {
    const Position at = lexer_.position();
    const int64_t value = parse_integer(what);
    if (value == 0) fail_at(at, ErrorCode::range, fmt::format("{} is 0", what));
    return value;
  }
  template <size_t count>
  uint8_t parse_word(const std::array<std::string_view, count>& words, std::string_view what) {
    const auto found = std::ranges::find(words, lexer_.text());
    if (lexer_.kind() != Token::name || found == words.end())
      fail_expected(fmt::format("{} ({})", what, fmt::join(words, ", ")));
    lexer_.advance();
    return uint8_t(found - words.begin());
  }
  template <class Item>
  void list(Item item) {
    do item();
    while (accept(","));
  }

  // Where the text is read now. Such places come in their order, so that lines are counted once.
  TextPlace text_place() {
    for (; counted_ < lexer_.position(); ++counted_) {
      ++counted_place_.column;
      if (text_[counted_] == '\n') counted_place_ = {counted_place_.line + 1, 1};
    }
    return counted_place_;
  }

  // ---- names ----
  ArrayId parse_array() {
    const Position at = lexer_.position();
    const std::string_view word = any_name("the name of an array");
    std::vector<ArrayId> found = table_.find(word);
    if (found.empty()) fail_at(at, ErrorCode::name, fmt::format("unknown array '{}'", word));
    if (accept("@")) {
      const bool carried = accept("carry");
      if (carried) expect("@");
      const int64_t statement = parse_integer("the number of a statement");
      std::erase_if(
          found, [&](ArrayId id) { return table_.definition_of(id) != statement || table_.is_carried(id) != carried; });
      if (found.empty())
        fail_at(at, ErrorCode::name, fmt::format("statement {} defines no array '{}'", statement, word));
    }
    if (found.size() > 1)
      fail_at(at, ErrorCode::name, fmt::format("there are {} arrays '{}'", found.size(), word),
              fmt::format("name the statement too: {}", table_.array_text(*std::ranges::min_element(found))));
    return found[0];
  }
  StatementId parse_statement_name() {
    const Position at = lexer_.position();
    const ArrayId array = parse_array();
    const StatementId statement = table_.definition_of(array);
    if (statement == none)
      fail_at(at, ErrorCode::name, fmt::format("'{}' is an input, not a statement", program_.arrays[array].name));
    return statement;
  }
  uint32_t parse_index() {
    const Position at = lexer_.position();
    const std::string_view word = any_name("an index");
    const auto found = std::ranges::find(indices_, word, &OwnIndex::name);
    if (found == indices_.end())
      fail_at(at, ErrorCode::name, fmt::format("'{}' has no index '{}'", table_.text(statement_), word));
    return uint32_t(found - indices_.begin());
  }

  // ---- schedules ----
  void parse_kernels(StatementId inside) {
    if (++nesting_ > 64) fail(ErrorCode::limit, "repeats are nested more than 64 deep");
    while (!lexer_.is("}")) {
      ScheduledKernel kernel{.inside = inside, .place = text_place()};
      if (accept("repeat")) {
        kernel.kind = KernelKind::repeat;
        kernel.statements.push_back({.place = text_place()});
        kernel.statements[0].statement = parse_statement_name();
        const StatementId repeat = kernel.statements[0].statement;
        plan_.schedule.kernels.push_back(std::move(kernel));
        plan_.kernels.emplace_back().axes.emplace_back();
        expect("{");
        parse_kernels(repeat);
        expect("}");
        continue;
      }
      if (lexer_.is("fold")) fail(ErrorCode::parse, "what is folded comes before the first kernel");
      if (!accept("kernel")) fail_expected("'kernel', 'repeat' or '}'");
      if (accept("product")) kernel.kind = KernelKind::product;
      plan_.kernels.emplace_back();
      expect("{");
      while (!accept("}")) parse_line(kernel);
      plan_.schedule.kernels.push_back(std::move(kernel));
    }
    --nesting_;
  }

  // A line starts with the name of a statement, or with a word that no colon or @ follows.
  void parse_line(ScheduledKernel& kernel) {
    const Lexer::Mark start = lexer_.mark();
    const std::string_view word = any_name("a statement or '}'");
    const bool is_statement = lexer_.is(":") || lexer_.is("@");
    if (is_statement) {
      lexer_.reset(start);
      return parse_statement(kernel);
    }
    if (word == "keep" && !kernel.statements.empty()) return parse_residency(kernel.statements.back());
    if (is_plan_ && parse_plan_line(word, kernel)) return;
    lexer_.reset(start);
    const bool is_of_plan = word == "on" || word == "units" || word == "phase" || word == "reduce" || word == "stage";
    if (is_of_plan && !is_plan_) fail(ErrorCode::parse, fmt::format("'{}' belongs to a plan, not to a schedule", word));
    fail(ErrorCode::parse, fmt::format("expected a statement, found '{}'", word), "statements are NAME: for INDICES");
  }

  void parse_statement(ScheduledKernel& kernel) {
    ScheduledStatement each{.place = text_place()};
    each.statement = statement_ = parse_statement_name();
    indices_ = table_.own_indices(statement_);
    expect(":");
    if (!accept("once")) {
      if (!accept("for")) fail_expected("'for' or 'once'");
      list([&] {
        Loop loop = parse_loop();
        loop.turning = accept_option("turning");
        each.loops.push_back(std::move(loop));
      });
    }
    if (accept_option("share")) each.shared = parse_shared();
    each.unrolled = accept_option("unrolled");
    kernel.statements.push_back(std::move(each));
    plan_.kernels.back().axes.emplace_back();
  }

  uint32_t parse_shared() {
    const Position at = lexer_.position();
    const int64_t shared = parse_positive("a number of loops");
    if (shared > UINT32_MAX) fail_at(at, ErrorCode::limit, fmt::format("{} loops are too many to share", shared));
    return uint32_t(shared);
  }

  Loop parse_loop() {
    Loop loop{.index = parse_index()};
    if (!accept_option("by")) return loop;
    if (!accept("(")) {
      loop.step = parse_positive("the extent of a tile");
      return loop;
    }
    list([&] { loop.extents.push_back(parse_positive("the extent of a tile")); });
    expect(")");
    loop.step = std::ranges::max(loop.extents);
    return loop;
  }

  void parse_residency(ScheduledStatement& each) {
    Residency kept;
    kept.array = parse_array();
    if (accept("where")) {
      kept.index = parse_index();
      expect("<");
      kept.below = parse_positive("a bound");
    }
    expect("in");
    kept.level = Level(parse_word(level_words, "a level of memory"));
    if (accept_option("within")) {
      const Position at = lexer_.position();
      const Loop loop = parse_loop();
      const auto found = std::ranges::find_if(each.loops, [&](const Loop& other) {
        return other.index == loop.index && other.step == loop.step && other.extents == loop.extents;
      });
      if (found == each.loops.end())
        fail_at(at, ErrorCode::name, fmt::format("'{}' has no such loop", table_.text(each.statement)));
      kept.loop = uint32_t(found - each.loops.begin());
    }
    each.residency.push_back(kept);
  }

  // ---- plans ----
  bool parse_plan_line(std::string_view word, const ScheduledKernel& kernel) {
    KernelPlan& plan = plan_.kernels.back();
    if (word == "on" && !kernel.statements.empty())
      list([&] { plan.axes.back().push_back(parse_axis_use()); });
    else if (word == "units")
      list([&] {
        const uint8_t axis = parse_word(axis_words, "an axis");
        plan.units[axis] = parse_positive("a number of units");
      });
    else if (word == "phase")
      parse_phase(plan.phases.emplace_back());
    else if (word == "reduce")
      plan.reductions.push_back(parse_reduction());
    else if (word == "stage")
      plan.staged.push_back(parse_staged());
    else
      return false;
    return true;
  }

  AxisUse parse_axis_use() {
    AxisUse use;
    use.axis = Axis(parse_word(axis_words, "an axis"));
    if (accept("(")) {
      list([&] { use.indices.push_back(parse_index()); });
      expect(")");
    } else {
      use.indices.push_back(parse_index());
    }
    if (accept_option("by"))
      use.step = accept("any") ? AxisUse::any : parse_positive("a number of values");
    else if (accept_option("in"))
      use.pieces = parse_positive("a number of pieces");
    return use;
  }

  void parse_phase(Phase& phase) {
    list([&] {
      PhasePart part{parse_statement_name()};
      const auto found = std::ranges::find(part_words, lexer_.text());
      const Lexer::Mark before = lexer_.mark();
      if (lexer_.kind() == Token::name && found != part_words.end()) {
        lexer_.advance();
        if (lexer_.is(":") || lexer_.is("@"))
          lexer_.reset(before);  // a statement of that name follows
        else
          part.part = Part(found - part_words.begin());
      }
      phase.parts.push_back(part);
    });
  }

  ReductionPlace parse_reduction() {
    ReductionPlace place{parse_statement_name()};
    expect("in");
    place.site = ReductionSite(parse_word(site_words, "where a reduction is done"));
    return place;
  }

  Staged parse_staged() {
    Staged staged{parse_array()};
    if (accept("in")) staged.in_place_of = parse_array();
    if (accept_option("by")) staged.elements = parse_positive("a number of elements");
    return staged;
  }

  const Program& program_;
  StatementTable table_;
  std::string_view text_;
  Lexer lexer_;
  bool is_plan_;
  Plan plan_;
  StatementId statement_ = none;
  std::vector<OwnIndex> indices_;  // of `statement_`
  int nesting_ = 0;
  Position counted_ = 0;
  TextPlace counted_place_{1, 1};
};

Result<Plan> parse_text(const Program& program, std::string_view text, std::string_view file, bool is_plan) {
  try {
    return ScheduleParser(program, text, is_plan).run();
  } catch (SyntaxError& error) {
    return Error{error.code, std::move(error.message), std::move(error.hint), place(text, file, error.position)};
  }
}

}  // namespace

Result<Schedule> parse_schedule(const Program& program, std::string_view text, std::string_view file) {
  LL_TRY(Plan plan, parse_text(program, text, file, false));
  return std::move(plan.schedule);
}

Result<Plan> parse_plan(const Program& program, std::string_view text, std::string_view file) {
  return parse_text(program, text, file, true);
}

}  // namespace lightline::loops::plan
