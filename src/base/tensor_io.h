// Tensor files: .npy, .npz and .safetensors, in memory and on disk. All of them treat their input as hostile.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/tensor.h"

namespace lightline {

// f16 is numpy's '<f2'. bf16 and the 8- and 4-bit floats have no numpy type: they are written as '<V2' and '<V1'
// records the way ml_dtypes does. 'V2' is read as bf16; 'V1' could be any of three types and is read only with `as`,
// the dtype the caller expects. `as` does not convert: a file with a type of its own keeps it.
Result<Tensor> parse_npy(std::string_view content, std::optional<DType> as = std::nullopt);
std::string format_npy(const Tensor& tensor);

// The dtypes the caller expects, by the tensor's name; names may be missing.
using ExpectedTypes = std::map<std::string, DType, std::less<>>;

Result<NamedTensors> parse_npz(std::string_view content, const ExpectedTypes& as = {});
Result<std::string> format_npz(const NamedTensors& tensors);

// f4e2m1 is packed two to a byte in the file, the first in the low half.
Result<NamedTensors> parse_safetensors(std::string_view content);
Result<std::string> format_safetensors(const NamedTensors& tensors);

// By the file's name: .npy (one tensor, named ""), .npz, .safetensors, each with or without .xz or .zst behind it.
Result<NamedTensors> read_tensors(const std::string& path, const ExpectedTypes& as = {});
Result<bool> holds_one_tensor(const std::string& path);
Status write_tensors(const std::string& path, const NamedTensors& tensors);

}  // namespace lightline
