#include "api/json_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

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
    if (text.empty()) return Members(Json::object());
    try {
      Json json = Json::parse(text);
      if (!json.is_object()) return Error{ErrorCode::usage, "the options are not a JSON object", "", {}};
      return Members(std::move(json));
    } catch (const Json::out_of_range& error) {
      return too_large(error);
    } catch (const Json::parse_error& error) {
      return not_json(error);
    }
  }

  void text(const char* name, std::string& value) {
    take(name, "a string", &Json::is_string, [&](const Json& json) { value = json.get<std::string>(); });
    if (has_zero(value)) fail(fmt::format("option '{}' holds a zero character", name), "");
  }
  void choice(const char* name, const std::vector<std::string>& choices, std::string& value) {
    text(name, value);
    if (std::find(choices.begin(), choices.end(), value) == choices.end())
      fail(fmt::format("'{}' is not a {}", value, name), fmt::format("there are {}", fmt::join(choices, ", ")));
  }
  void flag(const char* name, bool& value) {
    take(name, "true or false", &Json::is_boolean, [&](const Json& json) { value = json.get<bool>(); });
  }
  void number(const char* name, double least, double greatest, double& value) {
    take(name, "a number", &Json::is_number, [&](const Json& json) { value = json.get<double>(); });
    if (!(value >= least && value <= greatest))
      fail(fmt::format("'{}' is {}, outside of {} to {}", name, value, least, greatest), "");
  }
  void count(const char* name, uint64_t greatest, uint64_t& value) {
    take(name, "a whole number that is not negative", &Json::is_number_unsigned,
         [&](const Json& json) { value = json.get<uint64_t>(); });
    if (value > greatest) fail(fmt::format("'{}' is {}, more than {}", name, value, greatest), "");
  }

  // An error for what did not fit, and for members that nothing asked for.
  Status finish() {
    for (const auto& [name, value] : json_.items()) {
      if (asked_.contains(name)) continue;
      if (has_zero(name)) fail("the name of an option holds a zero character", "");
      const std::string guess = nearest(name, {asked_.begin(), asked_.end()});
      fail(fmt::format("there is no option '{}'", name), guess.empty()
                                                             ? fmt::format("there are {}", fmt::join(asked_, ", "))
                                                             : fmt::format("did you mean '{}'?", guess));
    }
    if (error_) return *error_;
    return Ok{};
  }

 private:
  explicit Members(Json json) : json_(std::move(json)) {}

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
  std::set<std::string> asked_;
  std::optional<Error> error_;
};

}  // namespace

Result<AnalyzeOptions> parse_analyze_options(const std::string& json) {
  LL_TRY(Members members, Members::parse(json));
  AnalyzeOptions options;
  std::string math = "tf32", ceilings = "nominal", algorithms = "standard";
  double measured = 0;
  uint64_t top = options.top;
  members.text("arch", options.machines.arch);
  members.text("clock", options.machines.clock);
  members.text("retype", options.retype);
  members.choice("math", {"strict", "tf32", "fast16"}, math);
  members.choice("ceilings", {"nominal", "measured"}, ceilings);
  members.choice("algorithms", {"standard", "any"}, algorithms);
  members.flag("values", options.rely_on_values);
  members.flag("warm", options.bound.warm);
  members.number("measured", 0, 1e12, measured);
  members.count("top", 1000000, top);
  LL_DO(members.finish());
  options.bound.math = machine::math_mode_from_name(math);
  options.bound.any_algorithm = algorithms == "any";
  options.machines.measured_ceilings = ceilings == "measured";
  if (measured > 0) options.measured_ms = measured;
  options.top = size_t(top);
  return options;
}

Result<RunOptions> parse_run_options(const std::string& json) {
  LL_TRY(Members members, Members::parse(json));
  std::string backend = "interp";
  uint64_t threads = 0;
  members.choice("backend", {"interp", "c"}, backend);
  members.count("threads", 4096, threads);
  LL_DO(members.finish());
  return RunOptions{backend == "c" ? Backend::c : Backend::interpreter, int(threads), 1};
}

Result<ValidateOptions> parse_validate_options(const std::string& json) {
  LL_TRY(Members members, Members::parse(json));
  ValidateOptions options;
  uint64_t workload = 0;
  members.choice("form", {"training", "core", "both"}, options.form);
  members.choice("backend", {"interp", "c", "both"}, options.backend);
  members.number("scale", 1e-4, 1, options.scale);
  members.count("seed", std::numeric_limits<uint64_t>::max(), options.seed);
  members.count("workload", 1000000, workload);
  members.flag("backward", options.backward);
  LL_DO(members.finish());
  options.workload = int(workload);
  return options;
}

}  // namespace lightline::api
