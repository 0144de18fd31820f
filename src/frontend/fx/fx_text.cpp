#include "frontend/fx/fx_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/fx/fx_builder.h"
#include "frontend/fx/fx_meta.h"
#include "frontend/fx/python_text.h"

namespace lightline::frontend {
namespace {

constexpr std::string_view part_mark = "#@ part ";

struct Part {
  std::string file;
  std::string_view text;
};

std::vector<Part> split_parts(std::string_view text, std::string_view file) {
  std::vector<Part> parts;
  if (!text.starts_with(part_mark)) return {{std::string(file), text}};
  while (text.starts_with(part_mark)) {
    const size_t line = std::min(text.find('\n'), text.size());
    const std::string_view name = text.substr(part_mark.size(), line - part_mark.size());
    text.remove_prefix(std::min(line + 1, text.size()));
    size_t end = 0;
    if (!text.starts_with(part_mark)) {
      end = text.find("\n" + std::string(part_mark));
      end = end == std::string_view::npos ? text.size() : end + 1;
    }
    parts.push_back({file.empty() ? std::string(name) : fmt::format("{}/{}", file, name), text.substr(0, end)});
    text.remove_prefix(end);
  }
  return parts;
}

const python::Function* find_forward(const python::Module& module) {
  for (const python::Class& one : module.classes)
    for (const python::Function& method : one.methods)
      if (method.name == "forward") return &method;
  return nullptr;
}

}  // namespace

std::string join_fx_parts(const std::vector<std::pair<std::string, std::string>>& parts) {
  std::string text;
  for (const auto& [name, content] : parts) {
    text += fmt::format("{}{}\n{}", part_mark, name, content);
    if (!text.ends_with('\n')) text += '\n';
  }
  return text;
}

bool is_fx_text(std::string_view text) {
  if (text.starts_with(part_mark)) return true;
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] == '{' || text.starts_with("PK")) return false;  // JSON, archives
  const size_t word = text.find("def forward(");
  return word != std::string_view::npos && text.substr(0, word).find("class ") != std::string_view::npos;
}

Result<graph::Graph> parse_fx_text(std::string_view text, std::string_view file) {
  TensorMetas metas;
  std::vector<Part> parts = split_parts(text, file);
  std::vector<python::Module> modules;
  const python::Function* forward = nullptr;
  size_t home = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    LL_TRY(python::Module module, python::parse(parts[i].text, parts[i].file));
    LL_DO(read_tensor_metas(module, parts[i].file, metas));
    modules.push_back(std::move(module));
  }
  for (size_t i = 0; i < modules.size(); ++i)
    if (const python::Function* found = find_forward(modules[i]); found && !forward) {
      forward = found;
      home = i;
    }
  if (!forward)
    return Error{ErrorCode::parse,
                 "there is no class with a 'forward'",
                 "the text should be a model.py as torch.fx prints it",
                 {parts.empty() ? std::string(file) : parts[0].file}};
  return build_fx_graph(modules[home], *forward, metas, parts[home].file);
}

}  // namespace lightline::frontend
