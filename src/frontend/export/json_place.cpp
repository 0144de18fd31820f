#include "frontend/export/json_place.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lightline::frontend {
namespace {

// Takes everything, keeps nothing but the place of the mistake.
struct Reader : nlohmann::json_sax<nlohmann::json> {
  size_t mistake = 0;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    mistake = position;
    return false;
  }
};

}  // namespace

Where json_place(std::string_view text) {
  Reader reader;
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &reader) || reader.mistake == 0) return {};
  const std::string_view before = text.substr(0, std::min(reader.mistake - 1, text.size()));
  const size_t newline = before.rfind('\n');
  Where where;
  where.line = int(std::ranges::count(before, '\n')) + 1;
  where.column = int(before.size() - (newline == std::string_view::npos ? 0 : newline + 1)) + 1;
  return where;
}

}  // namespace lightline::frontend
