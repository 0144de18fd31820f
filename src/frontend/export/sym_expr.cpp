#include "frontend/export/sym_expr.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace lightline::frontend {
namespace {

// Values are rationals over doubles for Rational(1, 2) and Pow(x, -1); the end result must be whole.
class Evaluator {
 public:
  using Lookup = std::function<std::optional<int64_t>(std::string_view)>;
  Evaluator(std::string_view text, const Lookup& lookup) : text_(text), lookup_(lookup) {}

  std::optional<double> run() {
    const auto value = expression(0);
    skip_space();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    skip_space();
    const size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(uint8_t(text_[at_])) || text_[at_] == '_' || text_[at_] == '.')) ++at_;
    return text_.substr(from, at_ - from);
  }

  // Infix sums and products (older versions) over function calls (sympy's srepr).
  std::optional<double> expression(int depth) {
    if (depth > 100) return std::nullopt;
    auto left = term(depth);
    while (left) {
      if (accept('+')) {
        const auto right = term(depth);
        if (!right) return std::nullopt;
        *left += *right;
      } else if (accept('-')) {
        const auto right = term(depth);
        if (!right) return std::nullopt;
        *left -= *right;
      } else {
        break;
      }
    }
    return left;
  }
  std::optional<double> term(int depth) {
    auto left = primary(depth);
    while (left) {
      if (accept('*')) {
        const auto right = primary(depth);
        if (!right) return std::nullopt;
        *left *= *right;
      } else if (accept('/')) {
        const bool floor = accept('/');
        const auto right = primary(depth);
        if (!right || *right == 0) return std::nullopt;
        *left = floor ? std::floor(*left / *right) : *left / *right;
      } else {
        break;
      }
    }
    return left;
  }
  std::optional<double> primary(int depth) {
    skip_space();
    if (accept('(')) {
      const auto inner = expression(depth + 1);
      return accept(')') ? inner : std::nullopt;
    }
    if (accept('-')) {
      const auto value = primary(depth + 1);
      return value ? std::optional(-*value) : std::nullopt;
    }
    const std::string_view name = word();
    if (name.empty()) return std::nullopt;
    if (std::isdigit(uint8_t(name[0]))) {
      double value = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
      return error == std::errc() && end == name.data() + name.size() ? std::optional(value) : std::nullopt;
    }
    if (!accept('(')) {
      const auto value = lookup_(name);
      return value ? std::optional(double(*value)) : std::nullopt;
    }
    if (name == "Symbol") return symbol();
    std::vector<double> args;
    if (!accept(')')) {
      do {
        const auto value = expression(depth + 1);
        if (!value) return std::nullopt;
        args.push_back(*value);
      } while (accept(','));
      if (!accept(')')) return std::nullopt;
    }
    return apply(name, args);
  }
  std::optional<double> symbol() {
    if (!accept('\'')) return std::nullopt;
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = text_.find(')', end);
    if (at_ == std::string_view::npos) return std::nullopt;
    ++at_;
    const auto value = lookup_(name);
    return value ? std::optional(double(*value)) : std::nullopt;
  }
  static std::optional<double> apply(std::string_view name, const std::vector<double>& args) {
    const auto fold = [&](auto f) {
      double value = args[0];
      for (size_t i = 1; i < args.size(); ++i) value = f(value, args[i]);
      return value;
    };
    if (args.empty()) return std::nullopt;
    if (name == "Integer" || name == "Float") return args[0];
    if (name == "Add") return fold([](double a, double b) { return a + b; });
    if (name == "Mul") return fold([](double a, double b) { return a * b; });
    if (name == "Max" || name == "max") return fold([](double a, double b) { return std::max(a, b); });
    if (name == "Min" || name == "min") return fold([](double a, double b) { return std::min(a, b); });
    if (name == "ToFloat" || name == "Identity" || name == "TruncToInt" || name == "IntTrueDiv_")
      return std::trunc(args[0]);
    if (name == "CeilToInt" || name == "ceiling") return std::ceil(args[0]);
    if (name == "FloorToInt" || name == "floor") return std::floor(args[0]);
    if (name == "RoundToInt") return std::nearbyint(args[0]);
    if (args.size() != 2) return std::nullopt;
    const double a = args[0], b = args[1];
    if (name == "Pow" || name == "PowByNatural" || name == "FloatPow") return std::pow(a, b);
    if (name == "LShift") return a * std::exp2(b);
    if (name == "RShift") return std::floor(a / std::exp2(b));
    if (b == 0) return std::nullopt;
    if (name == "Rational" || name == "IntTrueDiv" || name == "FloatTrueDiv") return a / b;
    if (name == "FloorDiv" || name == "CleanDiv") return std::floor(a / b);
    if (name == "CeilDiv") return std::ceil(a / b);
    if (name == "Mod" || name == "PythonMod") return a - b * std::floor(a / b);
    return std::nullopt;
  }

  std::string_view text_;
  const Lookup& lookup_;
  size_t at_ = 0;
};

}  // namespace

std::optional<int64_t> evaluate_sym_expr(std::string_view text,
                                         const std::function<std::optional<int64_t>(std::string_view)>& symbol_value) {
  const auto value = Evaluator(text, symbol_value).run();
  if (!value || !(std::fabs(*value) < 9e15) || std::nearbyint(*value) != *value) return std::nullopt;
  return int64_t(*value);
}

}  // namespace lightline::frontend
