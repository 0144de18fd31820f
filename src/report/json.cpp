#include "report/json.h"
#include <algorithm>

#include <cmath>

namespace lightline::report {

Json document(std::string_view schema, int version) {
  Json json;
  json["schema"] = schema;
  json["version"] = version;
  return json;
}

void carry_through(Json& json, const std::string& members, std::initializer_list<std::string_view> optional) {
  const Json carried = Json::parse("{" + members + "}", nullptr, false);
  if (!carried.is_object()) return;
  for (const auto& [key, value] : carried.items())
    if (!json.contains(key) && std::ranges::find(optional, key) == optional.end()) json[key] = value;
}

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string to_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace lightline::report
