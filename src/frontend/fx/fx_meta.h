// Tensor metadata of a GraphNet sample: one class per tensor. Used by fx_text.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "frontend/fx/python_text.h"
#include "graph/graph.h"

namespace lightline::frontend {

struct TensorMeta {
  TensorType type;
  std::optional<Tensor> known;  // values that the metadata states
  bool rounded = false;         // `known` is a mean, printed with few digits
};
using TensorMetas = std::unordered_map<std::string, TensorMeta>;

std::optional<DType> torch_dtype(std::string_view name);  // "float32"
bool is_foreign_dtype(std::string_view name);             // a dtype of PyTorch that Lightline does not have

// Adds the metadata classes of a module.
Status read_tensor_metas(const python::Module& module, std::string_view file, TensorMetas& into);

}  // namespace lightline::frontend
