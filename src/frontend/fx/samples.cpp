#include "frontend/fx/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/tar.h"
#include "frontend/fx/fx_text.h"

namespace lightline::frontend {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> part_names = {"model.py", "weight_meta.py", "input_meta.py"};
constexpr uint64_t part_limit = uint64_t(256) << 20;
constexpr size_t most_open = 10'000;  // samples of an archive that still miss a file

struct Parts {
  std::array<std::optional<std::string>, part_names.size()> content;

  bool complete() const {
    return std::ranges::all_of(content, [](const auto& part) { return part.has_value(); });
  }
  bool usable() const { return content[0].has_value(); }
  std::string text() {
    std::vector<std::pair<std::string, std::string>> parts;
    for (size_t i = 0; i < part_names.size(); ++i)
      if (content[i]) parts.emplace_back(part_names[i], std::move(*content[i]));
    return join_fx_parts(parts);
  }
};

std::optional<size_t> part_of(std::string_view name) {
  const size_t slash = name.rfind('/');
  const auto found = std::ranges::find(part_names, slash == std::string_view::npos ? name : name.substr(slash + 1));
  return found == part_names.end() ? std::nullopt : std::optional(size_t(found - part_names.begin()));
}

std::string folder_of(std::string_view name) {
  const size_t slash = name.rfind('/');
  std::string folder(slash == std::string_view::npos ? "." : name.substr(0, slash));
  while (folder.starts_with("./") && folder.size() > 2) folder.erase(0, 2);
  return folder;
}

Status for_each_in_archive(const std::string& path, const SampleVisitor& visit) {
  std::map<std::string, Parts> open;
  LL_DO(for_each_tar_file(
      path, [](std::string_view name) { return part_of(name).has_value(); },
      [&](const std::string& name, std::string content) -> Status {
        const std::string folder = folder_of(name);
        Parts& parts = open[folder];
        parts.content[*part_of(name)] = std::move(content);
        if (open.size() > most_open)
          return Error{ErrorCode::limit, "the files of the samples are too far apart in the archive",
                       "pack the archive folder by folder"};
        if (!parts.complete()) return Ok{};
        std::string text = parts.text();
        open.erase(folder);
        return visit(folder, std::move(text));
      }));
  for (auto& [folder, parts] : open)
    if (parts.usable()) LL_DO(visit(folder, parts.text()));
  return Ok{};
}

Status for_each_in_folder(const std::string& path, const SampleVisitor& visit) {
  std::vector<std::string> folders;
  std::error_code error;
  [[maybe_unused]] const fs::directory_iterator own(
      path, error);  // itself it has to let us in, what is inside may be left out
  fs::recursive_directory_iterator walk;
  if (!error) walk = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error);
  fs::path at = path;  // what the walk enters next
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    if (walk->path().filename() == "model.py") folders.push_back(walk->path().parent_path().string());
    at = walk->path();
  }
  if (error)
    return Error{ErrorCode::io,
                 "can not read the folder: " + error.message(),
                 "check the path and its permissions",
                 {at.string()}};
  std::ranges::sort(folders);
  for (const std::string& folder : folders) {
    auto text = read_sample(folder);
    if (!text.ok()) return std::move(text).error();
    LL_DO(visit(fs::path(folder).lexically_relative(path).string(), *std::move(text)));
  }
  return Ok{};
}

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_sample_folder(const std::string& path) { return is_folder(path) && file_exists(path + "/model.py"); }

bool is_sample_archive(const std::string& path) {
  std::string_view name = path;
  if (name.ends_with(".tgz")) return true;
  for (const std::string_view suffix : {".xz", ".zst", ".gz"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return name.ends_with(".tar");
}

Result<std::string> read_sample(const std::string& folder) {
  Parts parts;
  for (size_t i = 0; i < part_names.size(); ++i) {
    const std::string path = fmt::format("{}/{}", folder, part_names[i]);
    if (i > 0 && !file_exists(path)) continue;
    LL_TRY(parts.content[i], read_file(path, part_limit));
  }
  return parts.text();
}

Status for_each_sample(const std::string& path, const SampleVisitor& visit) {
  int64_t count = 0;
  const SampleVisitor counted = [&](const std::string& name, std::string text) {
    ++count;
    return visit(name, std::move(text));
  };
  LL_DO(is_folder(path) ? for_each_in_folder(path, counted) : for_each_in_archive(path, counted));
  if (count == 0)
    return Error{ErrorCode::parse, "there are no samples inside", "a sample is a folder with a model.py", {path}};
  return Ok{};
}

}  // namespace lightline::frontend
