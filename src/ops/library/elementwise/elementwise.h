// Elementwise definitions: promotion as PyTorch does it, then one expression per element.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ops/build/registry.h"

namespace lightline::ops {

using UnaryBody = std::function<Scalar(Scalar)>;
using BinaryBody = std::function<Scalar(Scalar, Scalar)>;

// How the dtype of a result follows from its operands.
enum class Promotion : uint8_t {
  same,      // the promoted dtype
  floating,  // integers and bool become f32
  test,      // computed in the promoted dtype, gives bool
};

void unary(OpCall& c, Promotion promotion, const UnaryBody& body);
void binary(OpCall& c, Promotion promotion, const BinaryBody& body, std::string_view first = "self",
            std::string_view second = "other");
// Any operands, in their promoted dtype.
void elementwise_of(OpCall& c, const std::vector<Operand>& operands, Promotion promotion,
                    const OpCall::ElementBody& body);

Scalar logical_xor(Scalar a, Scalar b);
Scalar clamped(Scalar x, double low, double high);
Scalar sigmoid_of(Scalar x);
// x to a fixed power, by multiplications and roots where PyTorch uses them.
Scalar power_of(Scalar x, double exponent);

// Families within the family.
void register_arithmetic(Registry& r);
void register_logic(Registry& r);
void register_activations(Registry& r);
void register_activations_backward(Registry& r);
void register_special_functions(Registry& r);
void register_complex(Registry& r);
void register_number_parts(Registry& r);
void register_symbols(Registry& r);

}  // namespace lightline::ops
