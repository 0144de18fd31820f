#include "demand/describe.h"

#include <fmt/format.h>

namespace lightline::demand {

std::string to_text(const Form& form, const Atoms& atoms) {
  std::string text;
  for (const auto& [id, coefficient] : form.terms) {
    if (!text.empty() || coefficient < 0) text += coefficient < 0 ? (text.empty() ? "-" : " - ") : " + ";
    if (std::abs(coefficient) != 1) text += fmt::format("{} ", std::abs(coefficient));
    if (index::is_variable(id)) {
      text += fmt::format("v{}", id);
      continue;
    }
    const index::Atom& atom = atoms[id];
    if (atom.kind == index::Atom::Kind::data) {
      text += fmt::format("#{}[", atom.source);
      for (const Form& at : atom.at) text += to_text(at, atoms) + (&at == &atom.at.back() ? "" : ", ");
      text += "]";
    } else {
      text += fmt::format("({} {} {})", to_text(atom.of, atoms),
                          atom.kind == index::Atom::Kind::quotient ? "div" : "mod", atom.by);
    }
  }
  if (form.constant != 0 || text.empty())
    text += text.empty() ? fmt::format("{}", form.constant)
                         : fmt::format(" {} {}", form.constant < 0 ? "-" : "+", std::abs(form.constant));
  return text;
}

std::string to_text(const Region& region, const Atoms& atoms) {
  std::string text = region.empty ? "empty " : "";
  for (const Range& range : region.box) {
    if (range == index::anything)
      text += "[*]";
    else
      text += range.step == 1 ? fmt::format("[{}..{}]", range.lo, range.hi)
                              : fmt::format("[{}..{} by {}]", range.lo, range.hi, range.step);
  }
  for (const Form& cut : region.cuts) text += " " + to_text(cut, atoms) + " >= 0";
  for (const index::Sample& sample : region.samples)
    text += fmt::format(" v{} in {:.6g} values", sample.coordinate, sample.expected);
  return text;
}

std::string to_text(const Value& value, const Atoms& atoms) {
  if (value.is_number()) return fmt::format("{}", value.number);
  if (value.is_position())
    return value.denominator == 1 ? to_text(value.form, atoms)
                                  : fmt::format("({}) / {}", to_text(value.form, atoms), value.denominator);
  std::string text = fmt::format("#{}[", value.term);
  for (const Form& at : value.at) text += to_text(at, atoms) + (&at == &value.at.back() ? "" : ", ");
  return text + "]";
}

std::string to_text(const Term& term, const Atoms& atoms) {
  std::string text;
  switch (term.kind) {
    case TermKind::input: text = fmt::format("input {}", term.array); break;
    case TermKind::stored: text = fmt::format("stored #{}", term.array); break;
    case TermKind::unknown: text = "unknown"; break;
    case TermKind::call: text = std::string(loops::info(term.function).text); break;
    case TermKind::sum: text = fmt::format("sum {}", term.number); break;
    case TermKind::product: text = fmt::format("product {}", term.number); break;
    case TermKind::reduce: text = fmt::format("reduce {}", name(term.reducer)); break;
    case TermKind::opaque: text = fmt::format("opaque {}", term.array); break;
    case TermKind::array: text = "array"; break;
    case TermKind::scatter: text = fmt::format("scatter {}", name(term.reducer)); break;
    case TermKind::carried: text = fmt::format("carried by loop {}", term.array); break;
  }
  text += fmt::format(" ({} coordinates)", term.rank);
  for (const Argument& arg : term.args)
    text += fmt::format(" {}{}", arg.factor == 1 ? "" : fmt::format("{} * ", arg.factor), to_text(arg.value, atoms));
  for (const Case& one : term.body)
    text += fmt::format("\n      {}: {}", to_text(one.where, atoms), to_text(one.value, atoms));
  return text;
}

}  // namespace lightline::demand
