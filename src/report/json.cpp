#include "report/json.h"

#include <cmath>

namespace lightline::report {

Json document(std::string_view schema, int version) {
  Json json;
  json["schema"] = schema;
  json["version"] = version;
  return json;
}

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string to_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace lightline::report
