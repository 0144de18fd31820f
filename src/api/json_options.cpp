#include "api/json_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "api/option_rules.h"
#include "base/nearest.h"
#include "report/json.h"

namespace lightline::api {
namespace {

using report::Json;

bool has_zero(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// The library tells kinds of mistakes apart in words alone.
Error not_json(const Json::parse_error& error) {
  const std::string_view what = error.what();
  const std::string where = fmt::format("byte {}", error.byte);
  if (what.find("ill-formed UTF-8") != std::string_view::npos)
    return {ErrorCode::usage, fmt::format("the options are not UTF-8 text, see {}", where), "", {}};
  return {ErrorCode::usage, fmt::format("the options are not a JSON object, see {}", where), "", {}};
}

Error too_large(const Json::out_of_range& error) {
  const std::string_view what = error.what();  // ends in the number, quoted
  const std::string_view number = what.substr(std::min(what.find('\''), what.size()));
  return {ErrorCode::usage, fmt::format("the options hold a number that is too large: {}", number), "", {}};
}

// The members of one object; the first that does not fit is remembered.
class Members {
 public:
  static Result<Members> parse(const std::string& text) {
    if (text.empty()) return Members(Json::object(), {});
    try {
      std::vector<std::string> names;
      Json json = Json::parse(text, [&](int depth, Json::parse_event_t event, const Json& name) {
        if (event == Json::parse_event_t::key && depth == 1) names.push_back(name.get<std::string>());
        return true;
      });
      if (!json.is_object()) return Error{ErrorCode::usage, "the options are not a JSON object", "", {}};
      return Members(std::move(json), std::move(names));
    } catch (const Json::out_of_range& error) {
      return too_large(error);
    } catch (const Json::parse_error& error) {
      return not_json(error);
    }
  }

  void text(const char* name, std::string& value) { text(name, rules::any_text, value); }
  void choice(const char* name, Choice rule, std::string& value) { text(name, rule, value); }
  void flag(const char* name, bool& value) {
    take(name, "true or false", &Json::is_boolean, [&](const Json& json) { value = json.get<bool>(); });
  }
  template <class Value>  // double, or one that may be missing
  void number(const char* name, Number rule, Value& value) {
    take(name, "a number", &Json::is_number, [&](const Json& json) { set(name, rule, json.get<double>(), value); });
  }
  template <class Value>
  void count(const char* name, Count rule, Value& value) {
    take(name, "a whole number that is not negative", &Json::is_number_unsigned,
         [&](const Json& json) { set(name, rule, json.get<uint64_t>(), value); });
  }

  // An error for what did not fit, for members that nothing asked for, and for those that are there twice.
  Status finish() {
    for (const auto& [name, value] : json_.items()) {
      if (asked_.contains(name)) continue;
      if (has_zero(name)) fail("the name of an option holds a zero character", "");
      const std::string guess = did_you_mean(name, {asked_.begin(), asked_.end()});
      fail(fmt::format("there is no option '{}'", name),
           guess.empty() ? fmt::format("there are {}", fmt::join(asked_, ", ")) : guess);
    }
    std::ranges::sort(names_);
    if (const auto twice = std::ranges::adjacent_find(names_); twice != names_.end())
      fail(fmt::format("option '{}' is given twice", *twice), "");
    if (error_) return *error_;
    return Ok{};
  }

 private:
  Members(Json json, std::vector<std::string> names) : json_(std::move(json)), names_(std::move(names)) {}

  template <class Rule>
  void text(const char* name, Rule rule, std::string& value) {
    take(name, "a string", &Json::is_string, [&](const Json& json) {
      const auto given = json.get<std::string>();
      if (has_zero(given)) fail(fmt::format("option '{}' holds a zero character", name), "");
      set(name, rule, given, value);
    });
  }

  template <class Rule, class Given, class Value>
  void set(const char* name, Rule rule, const Given& given, Value& value) {
    if (const std::string wrong = complaint(rule, given); !wrong.empty())
      fail(fmt::format("option '{}': {}", name, wrong), "");
    else
      value = Value(given);
  }

  template <class Use>
  void take(const char* name, const char* kind, bool (Json::*fits)() const noexcept, const Use& use) {
    asked_.insert(name);
    const auto found = json_.find(name);
    if (found == json_.end()) return;
    if (((*found).*fits)())
      use(*found);
    else
      fail(fmt::format("option '{}' is not {}", name, kind), "");
  }

  void fail(std::string message, std::string hint) {
    if (!error_) error_ = Error{ErrorCode::usage, std::move(message), std::move(hint), {}};
  }

  Json json_;
  std::vector<std::string> names_;  // as they were given
  std::set<std::string> asked_;
  std::optional<Error> error_;
};

}  // namespace

Result<AnalyzeOptions> parse_analyze_options(const std::string& json) {
  LL_TRY(Members members, Members::parse(json));
  AnalyzeOptions options;
  AnalyzeWords words;
  members.text("arch", options.machines.arch);
  members.text("clock", options.machines.clock);
  members.text("retype", options.retype);
  members.choice("math", rules::math, words.math);
  members.choice("ceilings", rules::ceilings, words.ceilings);
  members.choice("algorithms", rules::algorithms, words.algorithms);
  members.flag("values", options.rely_on_values);
  members.flag("warm", options.bound.warm);
  members.flag("explain", options.explain);
  members.flag("demand", options.demand);
  members.number("measured", rules::measured, options.measured_ms);
  members.count("top", rules::top, options.top);
  LL_DO(members.finish());
  return with_words(std::move(options), words);
}

Result<RunOptions> parse_run_options(const std::string& json) {
  LL_TRY(Members members, Members::parse(json));
  RunOptions options;
  std::string backend = "interp";
  members.choice("backend", rules::backend, backend);
  members.count("threads", rules::threads, options.threads);
  LL_DO(members.finish());
  options.backend = backend_of(backend);
  return options;
}

Result<ValidateOptions> parse_validate_options(const std::string& json) {
  LL_TRY(Members members, Members::parse(json));
  ValidateOptions options;
  members.choice("form", rules::validate_form, options.form);
  members.choice("backend", rules::validate_backend, options.backend);
  members.number("scale", rules::scale, options.scale);
  members.count("seed", rules::seed, options.seed);
  members.count("workload", rules::workload, options.workload);
  members.flag("backward", options.backward);
  LL_DO(members.finish());
  return options;
}

}  // namespace lightline::api
