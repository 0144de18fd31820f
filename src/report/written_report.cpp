#include "report/written_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "report/amount.h"

namespace lightline::report {
namespace {

struct Share {
  std::string group;
  int64_t calls = 0;
  double macs = 0;
  double of = 0;  // what these calls spell
};

struct Cause {
  demand::Reason reason;
  double macs = 0;
  std::vector<Share> shares;
};

bool is_larger(double a, double b) { return std::abs(a) > std::abs(b); }

// By reason, then by the name of the operator; the largest first.
std::vector<Cause> causes_of(const demand::Written& written) {
  std::vector<Cause> causes;
  for (const demand::Difference& one : written.differences) {
    auto cause = std::ranges::find(causes, one.reason, &Cause::reason);
    if (cause == causes.end()) cause = causes.insert(causes.end(), Cause{one.reason, 0, {}});
    cause->macs += one.macs;
    if (one.group.empty()) continue;
    auto share = std::ranges::find(cause->shares, one.group, &Share::group);
    if (share == cause->shares.end()) share = cause->shares.insert(cause->shares.end(), Share{one.group, 0, 0, 0});
    ++share->calls;
    share->macs += one.macs;
    share->of += one.of;
  }
  for (Cause& cause : causes) std::ranges::stable_sort(cause.shares, is_larger, &Share::macs);
  std::ranges::stable_sort(causes, is_larger, &Cause::macs);
  return causes;
}

// "mostly aten.linear.default, 4 calls, 99.5 % of them"
std::string where_text(const Cause& cause) {
  if (cause.shares.empty()) return "";
  const Share& first = cause.shares[0];
  std::string text = fmt::format(" ({}{}", cause.shares.size() > 1 ? "mostly " : "", first.group);
  if (first.calls > 1) text += fmt::format(", {} calls", first.calls);
  if (first.macs > 0 && first.of > 0)
    text += fmt::format(", {:.4g} % of {}", 100 * first.macs / first.of, first.calls > 1 ? "them" : "it");
  return text + ")";
}

}  // namespace

std::string written_text(const demand::Written& written) {
  if (written.differences.empty()) return "";
  std::string text = fmt::format("products: {} written, {} needed:", amount(written.macs), amount(written.needed));
  const char* separator = " ";
  for (const Cause& cause : causes_of(written)) {
    text += fmt::format("{}{} {}{}", separator, cause.macs < 0 ? amount(-cause.macs) + " more" : amount(cause.macs),
                        demand::description(cause.reason), where_text(cause));
    separator = "; ";
  }
  return text + "\n";
}

Json written_json(const demand::Written& written) {
  Json json = {{"macs", written.macs}, {"needed", written.needed}, {"reasons", Json::array()}};
  for (const Cause& cause : causes_of(written)) {
    Json entry = {
        {"reason", std::string(demand::name(cause.reason))}, {"macs", cause.macs}, {"operators", Json::array()}};
    for (const Share& share : cause.shares)
      entry["operators"].push_back(
          {{"name", share.group}, {"calls", share.calls}, {"macs", share.macs}, {"written", share.of}});
    json["reasons"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace lightline::report
