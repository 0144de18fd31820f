#include "base/tensor_io.h"

#include <fmt/format.h>

#include <new>

#include "base/file.h"
#include "base/shown.h"
#include "base/zip.h"

namespace lightline {
namespace {

constexpr std::string_view npy_suffix = ".npy";

std::optional<DType> find(const ExpectedTypes& as, std::string_view name) {
  const auto found = as.find(name);
  return found == as.end() ? std::nullopt : std::optional(found->second);
}

enum class Format { npy, npz, safetensors };

Result<Format> format_of(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view packed : {".xz", ".zst"}) {
    if (name.ends_with(packed)) {
      name.remove_suffix(packed.size());
      break;
    }
  }
  if (name.ends_with(npy_suffix)) return Format::npy;
  if (name.ends_with(".npz")) return Format::npz;
  if (name.ends_with(".safetensors")) return Format::safetensors;
  return Error{ErrorCode::usage,
               fmt::format("'{}' is not a tensor file, by its name", shown(path)),
               "name it .npy, .npz or .safetensors",
               {path}};
}

Result<NamedTensors> parse(Format format, std::string_view content, const ExpectedTypes& as) {
  if (format == Format::npz) return parse_npz(content, as);
  if (format == Format::safetensors) return parse_safetensors(content);
  LL_TRY(Tensor tensor, parse_npy(content, find(as, "")));
  NamedTensors tensors;
  tensors.emplace_back("", std::move(tensor));
  return tensors;
}

Result<std::string> format_tensors(Format format, const NamedTensors& tensors) {
  if (format == Format::npz) return format_npz(tensors);
  if (format == Format::safetensors) return format_safetensors(tensors);
  if (tensors.size() != 1) {
    return Error{ErrorCode::usage, fmt::format("a .npy file holds one tensor, not {}", tensors.size()),
                 "write an .npz or .safetensors file"};
  }
  return format_npy(tensors.front().second);
}

Error with_file(Error error, const std::string& path) {
  if (error.where.file.empty()) error.where.file = path;
  return error;
}

}  // namespace

Result<bool> holds_one_tensor(const std::string& path) {
  LL_TRY(const Format format, format_of(path));
  return format == Format::npy;
}

Result<NamedTensors> parse_npz(std::string_view content, const ExpectedTypes& as) try {
  LL_TRY(const ZipReader zip, ZipReader::open(content));
  NamedTensors tensors;
  uint64_t left = default_size_limit;
  for (const ZipEntry& entry : zip.entries()) {
    if (!entry.name.ends_with(npy_suffix)) {
      return Error{ErrorCode::parse, fmt::format("'{}' in the .npz data is not an .npy array", shown(entry.name)),
                   "write the file with numpy.savez"};
    }
    const std::string name = entry.name.substr(0, entry.name.size() - npy_suffix.size());
    LL_TRY(const std::string bytes, zip.read(entry.name, left));
    left -= bytes.size();
    Result<Tensor> tensor = parse_npy(bytes, find(as, name));
    if (!tensor.ok()) {
      tensor.error().message = fmt::format("array '{}': {}", shown(name), tensor.error().message);
      return std::move(tensor).error();
    }
    tensors.emplace_back(name, std::move(tensor).value());
  }
  return tensors;
} catch (const std::bad_alloc&) {
  return out_of_memory("the tensors");
}

Result<std::string> format_npz(const NamedTensors& tensors) try {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [name, tensor] : tensors) files.emplace_back(name + std::string(npy_suffix), format_npy(tensor));
  return write_zip(files);
} catch (const std::bad_alloc&) {
  return out_of_memory("the tensors");
}

Result<NamedTensors> read_tensors(const std::string& path, const ExpectedTypes& as) try {
  LL_TRY(const Format format, format_of(path));
  LL_TRY(const std::string content, read_file(path));
  Result<NamedTensors> tensors = parse(format, content, as);
  if (!tensors.ok()) return with_file(std::move(tensors).error(), path);
  return tensors;
} catch (const std::bad_alloc&) {
  return out_of_memory("the tensors", path);
}

Status write_tensors(const std::string& path, const NamedTensors& tensors) try {
  LL_TRY(const Format format, format_of(path));
  Result<std::string> content = format_tensors(format, tensors);
  if (!content.ok()) return with_file(std::move(content).error(), path);
  return write_file(path, *content);
} catch (const std::bad_alloc&) {
  return out_of_memory("the tensors", path);
}

}  // namespace lightline
