// The JSON we write: every document names its schema and version; keys keep the order of docs/json.md.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lightline::report {

using Json = nlohmann::ordered_json;

// {"schema": schema, "version": version}, to be filled.
Json document(std::string_view schema, int version);

// A JSON number; "nan", "inf" and "-inf", which JSON lacks, as strings.
Json number(double value);

// The members of a corpus entry, JSON without braces, beside our own. Ours, also those of `optional` that are not there
// this time, are never taken from an entry.
void carry_through(Json& json, const std::string& members, std::initializer_list<std::string_view> optional);

// Indented text with a newline at the end. Bytes that are not UTF-8 become U+FFFD.
std::string to_text(const Json& json);

}  // namespace lightline::report
