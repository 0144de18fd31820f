// All operators: their names in every source, and their one definition.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/op_call.h"

namespace lightline::ops {

using Definition = std::function<void(OpCall&)>;

struct Operator {
  std::string name;        // canonical: "relu"
  std::string family;      // for the documentation: "elementwise"
  std::string parameters;  // "self, other, alpha": ATen's names, in order
  Definition define;
  std::vector<std::string> aliases;  // further canonical or full source names
  bool returns_list = false;         // a list of results, even of one
};

class Registry {
 public:
  // The registry of all families; built once.
  static const Registry& all();

  // Adds an operator under its canonical name and its aliases. An alias with dots is a full source name
  // ("torch.nn.functional.relu", "stablehlo.add"); one without is a further canonical name ("clip" for "clamp").
  Operator& add(std::string name, std::string parameters, Definition define, std::vector<std::string> aliases = {});

  struct Match {
    const Operator* op = nullptr;
    bool in_place = false;  // the source's name says that it writes its first argument
  };
  // Finds the operator of a target: "aten.relu.default", "aten.relu_.default", "torch.relu", "Tensor.relu_", ...
  // An operator may be registered for one overload: "max.other".
  Match find(std::string_view target) const;
  const std::vector<Operator>& operators() const { return operators_; }

  std::string family;  // given to the operators added next

 private:
  std::vector<Operator> operators_;
  std::unordered_map<std::string, size_t> by_name_;
};

// One function per family file.
void register_creation(Registry& registry);
void register_elementwise(Registry& registry);
void register_views(Registry& registry);
void register_random(Registry& registry);
void register_conversion(Registry& registry);
void register_splitting(Registry& registry);
void register_rearranging(Registry& registry);
void register_padding(Registry& registry);
void register_triangles(Registry& registry);
void register_reduction(Registry& registry);
void register_cumulative(Registry& registry);
void register_softmax(Registry& registry);
void register_normalisation(Registry& registry);
void register_pooling(Registry& registry);
void register_loss(Registry& registry);
void register_functional_forms(Registry& registry);
void register_placement_backward(Registry& registry);
void register_noise(Registry& registry);
void register_contraction(Registry& registry);
void register_convolution(Registry& registry);
void register_attention(Registry& registry);
void register_recurrent(Registry& registry);
void register_quantised(Registry& registry);
void register_indexing(Registry& registry);
void register_sorting(Registry& registry);
void register_interpolation(Registry& registry);
void register_fourier(Registry& registry);
void register_linear_algebra(Registry& registry);
void register_higher_order(Registry& registry);
void register_stablehlo(Registry& registry);

}  // namespace lightline::ops
