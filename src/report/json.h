// The JSON we write: every document names its schema and version; keys keep the order of docs/json.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lightline::report {

using Json = nlohmann::ordered_json;

// {"schema": schema, "version": version}, to be filled.
Json document(std::string_view schema, int version);

// A JSON number; "nan", "inf" and "-inf", which JSON lacks, as strings.
Json number(double value);

// Indented text with a newline at the end. Bytes that are not UTF-8 become U+FFFD.
std::string to_text(const Json& json);

}  // namespace lightline::report
