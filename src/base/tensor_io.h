// Tensor files: .npy, .npz and .safetensors, in memory and on disk. All of them treat their input as hostile.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/tensor.h"

namespace lightline {

// f16 is numpy's '<f2'. bf16 and the 8- and 4-bit floats have no numpy type: they are written as 'V2'/'V1'
// records the way ml_dtypes does, and read back only with `as` (the dtype the caller expects).
Result<Tensor> parse_npy(std::string_view content);
std::string format_npy(const Tensor& tensor);

Result<NamedTensors> parse_npz(std::string_view content);
Result<std::string> format_npz(const NamedTensors& tensors);

Result<NamedTensors> parse_safetensors(std::string_view content);
Result<std::string> format_safetensors(const NamedTensors& tensors);

// By the file's name: .npy (one tensor, named ""), .npz, .safetensors.
Result<NamedTensors> read_tensors(const std::string& path);
Status write_tensors(const std::string& path, const NamedTensors& tensors);

}  // namespace lightline
