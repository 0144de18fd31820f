// Inputs of a program: from files where the user names them, else random and reproducible.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "api/guard.h"
#include "api/run.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/tensor_io.h"

namespace lightline::api {
namespace {

using loops::ArrayId;

constexpr int64_t default_integer_limit = 10;

Error usage(std::string message, std::string hint = "") {
  return {ErrorCode::usage, std::move(message), std::move(hint), {}};
}

struct Given {
  std::string name;
  std::string file;
  std::string key;  // empty: the file's own array, or the one with the input's name
};

Result<Given> parse_given(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return usage("--input '" + text + "' is not of the form NAME=FILE", "for example --input x=x.npy");
  }
  Given given{text.substr(0, equals), text.substr(equals + 1), ""};
  const size_t colon = given.file.rfind(':');
  if (colon != std::string::npos && !file_exists(given.file)) {
    given.key = given.file.substr(colon + 1);
    given.file.resize(colon);
  }
  return given;
}

std::string keys_of(const NamedTensors& tensors) {
  std::string keys;
  for (const auto& [key, tensor] : tensors) keys += (keys.empty() ? "" : ", ") + key;
  return keys.empty() ? "it is empty" : "it holds " + keys;
}

Result<Tensor> read_given(const Given& given, DType expected) {
  const std::string& wanted = given.key.empty() ? given.name : given.key;
  LL_TRY(NamedTensors tensors, read_tensors(given.file, {{"", expected}, {wanted, expected}}));
  for (auto& [key, tensor] : tensors) {
    if (key == wanted) return std::move(tensor);
  }
  if (given.key.empty() && tensors.size() == 1) return std::move(tensors[0].second);
  return Error{ErrorCode::name, fmt::format("no array '{}' in {}", wanted, given.file), keys_of(tensors), {}};
}

std::string type_of(DType dtype, const Shape& shape) { return std::string(name(dtype)) + to_string(shape); }

Status check_type(const loops::Array& declared, const Tensor& tensor, const std::string& file) {
  if (declared.dtype == tensor.dtype() && declared.shape == tensor.shape()) return Ok{};
  const ErrorCode code = declared.dtype == tensor.dtype() ? ErrorCode::shape : ErrorCode::type;
  return Error{code,
               fmt::format("input '{}' is {}, but {} holds {}", declared.name, type_of(declared.dtype, declared.shape),
                           file, type_of(tensor.dtype(), tensor.shape())),
               "",
               {}};
}

// A declared size may be larger than memory; ask before drawing.
Status check_fits_memory(const loops::Array& array) {
  LL_TRY(const Tensor probe, Tensor::allocate(array.dtype, array.shape));
  return Ok{};
}

// Where an integer array is used as a subscript, random values stay below the extent they index.
class IntegerLimits {
 public:
  explicit IntegerLimits(const loops::Program& program) : program_(program) {
    for (const loops::Expr& expr : program.exprs) {
      if (expr.kind != loops::ExprKind::read) continue;
      const loops::ExprId* subscripts = loops::subscripts_of(program, expr);
      for (uint32_t d = 0; d < expr.args[2]; ++d) note(subscripts[d], program.arrays[expr.args[0]].shape[d]);
    }
    note_scatters(program.statements);
  }

  int64_t operator()(ArrayId array) const {
    const int64_t limit = program_.arrays[array].dtype == DType::u8 ? 2 : default_integer_limit;
    const auto found = limits_.find(array);
    return std::max<int64_t>(1, found == limits_.end() ? limit : std::min(limit, found->second));
  }

 private:
  void note(loops::ExprId subscript, int64_t extent) {
    const loops::Expr* expr = &program_.exprs[subscript];
    while (expr->kind == loops::ExprKind::cast) expr = &program_.exprs[expr->args[0]];
    if (expr->kind != loops::ExprKind::read) return;
    const auto [entry, fresh] = limits_.try_emplace(expr->args[0], extent);
    if (!fresh) entry->second = std::min(entry->second, extent);
  }

  void note_scatters(const std::vector<loops::Statement>& statements) {
    for (const loops::Statement& statement : statements) {
      if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) note_scatters(repeat->body);
      const auto* scatter = std::get_if<loops::Scatter>(&statement.node);
      if (scatter == nullptr) continue;
      const Shape& shape = program_.arrays[scatter->result].shape;
      for (size_t d = 0; d < scatter->target.size(); ++d) note(scatter->target[d], shape[d]);
    }
  }

  const loops::Program& program_;
  std::unordered_map<ArrayId, int64_t> limits_;
};

class Gatherer {
 public:
  Gatherer(const loops::Program& program, const Note& note)
      : program_(program), note_(note), tensors_(program.inputs.size()), sources_(program.inputs.size()) {}

  Status take_all(const std::string& file) {
    ExpectedTypes expected;
    for (const ArrayId id : program_.inputs) expected[program_.arrays[id].name] = program_.arrays[id].dtype;
    LL_TRY(NamedTensors tensors, read_tensors(file, expected));
    bool any = false;
    for (auto& [key, tensor] : tensors) {
      const auto which = input_number(key);
      if (!which) {
        note_(fmt::format("{}: '{}' is not an input of the program", file, key));
        continue;
      }
      LL_DO(place(*which, std::move(tensor), file));
      any = true;
    }
    if (!any) return Error{ErrorCode::name, "no input of the program is in " + file, keys_of(tensors), {}};
    return Ok{};
  }

  Status take_named(const std::vector<std::string>& texts) {
    std::vector<bool> seen(program_.inputs.size());
    for (const std::string& text : texts) {
      LL_TRY(const Given given, parse_given(text));
      const auto which = input_number(given.name);
      if (!which)
        return Error{
            ErrorCode::name, fmt::format("the program has no input '{}'", given.name), hint_for(given.name), {}};
      if (seen[*which]) return usage(fmt::format("--input {} is given twice", given.name));
      seen[*which] = true;
      LL_TRY(Tensor tensor, read_given(given, program_.arrays[program_.inputs[*which]].dtype));
      LL_DO(place(*which, std::move(tensor), given.key.empty() ? given.file : given.file + ":" + given.key));
    }
    return Ok{};
  }

  // What is part of the program, unless the user says otherwise.
  void take_fixed(const Program& program) {
    std::vector<std::optional<Tensor>> carried = carried_values(program);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i] || !carried[i]) continue;
      tensors_[i] = std::move(carried[i]);
      sources_[i] = "the program";
    }
  }

  Result<Inputs> finish(uint64_t seed) {
    const IntegerLimits limits(program_);
    Inputs inputs;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const ArrayId id = program_.inputs[i];
      if (!tensors_[i]) {
        const loops::Array& array = program_.arrays[id];
        LL_DO(check_fits_memory(array));
        tensors_[i] = random_tensor(array.dtype, array.shape, seed * 1000 + i, limits(id));
        sources_[i] = "random";
      }
      inputs.tensors.push_back(std::move(*tensors_[i]));
      inputs.sources.push_back(std::move(sources_[i]));
    }
    return inputs;
  }

 private:
  std::optional<size_t> input_number(const std::string& name) const {
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      if (program_.arrays[program_.inputs[i]].name == name) return i;
    }
    return std::nullopt;
  }

  std::string hint_for(const std::string& name) const {
    std::vector<std::string> names;
    std::string all;
    for (const ArrayId id : program_.inputs) {
      names.push_back(program_.arrays[id].name);
      all += (all.empty() ? "its inputs are " : ", ") + names.back();
    }
    const std::string guess = did_you_mean(name, names);
    return guess.empty() ? all : guess;
  }

  Status place(size_t which, Tensor tensor, const std::string& source) {
    LL_DO(check_type(program_.arrays[program_.inputs[which]], tensor, source));
    tensors_[which] = std::move(tensor);
    sources_[which] = source;
    return Ok{};
  }

  const loops::Program& program_;
  const Note& note_;
  std::vector<std::optional<Tensor>> tensors_;
  std::vector<std::string> sources_;
};

}  // namespace

std::vector<std::optional<Tensor>> carried_values(const Program& program) {
  std::vector<std::optional<Tensor>> values(program.known().size());
  for (size_t i = 0; i < values.size(); ++i)
    if (program.fixed()[i]) values[i] = Tensor::dense_copy(program.known()[i]->view());
  return values;
}

Result<Inputs> gather_inputs(const Program& program, const InputOptions& options, const Note& note) {
  return guarded([&]() -> Result<Inputs> {
    Gatherer gatherer(program.loops(), note);
    if (!options.all.empty()) LL_DO(gatherer.take_all(options.all));
    LL_DO(gatherer.take_named(options.named));
    gatherer.take_fixed(program);
    return gatherer.finish(options.seed);
  });
}

}  // namespace lightline::api
