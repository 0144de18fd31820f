// Terms, values and regions as text, for people who want to see why a number is what it is.
#pragma once

#include <string>

#include "demand/normal_form.h"

namespace lightline::demand {

std::string to_text(const Form& form, const Atoms& atoms);
std::string to_text(const Region& region, const Atoms& atoms);
std::string to_text(const Value& value, const Atoms& atoms);
std::string to_text(const Term& term, const Atoms& atoms);

}  // namespace lightline::demand
