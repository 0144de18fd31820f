// Operators by name: what each is called in every source, and its one definition.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/build/op_call.h"

namespace lightline::ops {

using Definition = std::function<void(OpCall&)>;

struct Operator {
  std::string name;        // canonical: "relu"
  std::string family;      // for the documentation: "elementwise"
  std::string parameters;  // "self, other, alpha": ATen's names, in order
  Definition define;
  std::vector<std::string> aliases;  // further canonical or full source names
  bool returns_list = false;         // a list of results, even of one
  bool augmented = false;            // a += b: writes the tensor a, or gives a new number
  bool opaque = false;               // always a statement by name, which can not run: only types and bytes are known
};

class Registry {
 public:
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

}  // namespace lightline::ops
