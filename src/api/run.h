// Running a program: inputs from files or at random, by the interpreter or as emitted C.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/program.h"

namespace lightline::api {

// What the user should know though nothing is wrong.
using Note = std::function<void(const std::string&)>;

struct InputOptions {
  std::vector<std::string> named;  // "name=file" or "name=file:key"
  std::string all;                 // a file with an array per input; may be empty
  uint64_t seed = 0;
};
struct Inputs {
  std::vector<Tensor> tensors;       // in the program's order
  std::vector<std::string> sources;  // "random", "the program", or the file
};
// By program input: the value that is part of the program and that a run takes unless it is given another.
std::vector<std::optional<Tensor>> carried_values(const Program& program);
// Inputs from files where they are named, else those that the program carries, else random and reproducible.
Result<Inputs> gather_inputs(const Program& program, const InputOptions& options, const Note& note);

enum class Backend : uint8_t { interpreter, c };

struct RunOptions {
  Backend backend = Backend::interpreter;
  std::optional<int> threads;  // of emitted C alone; 0, and nothing: all
  int repeat = 1;
};
struct RunResult {
  std::vector<Tensor> outputs;       // of the last repetition
  std::vector<double> times_ms;      // one per repetition
  std::optional<double> compile_ms;  // backend c: emitting, compiling and loading
  bool from_cache = false;
};
Result<RunResult> run(const Program& program, const std::vector<Tensor>& inputs, const RunOptions& options);

// The outputs by name, as a .npz, .npy or .safetensors file holds them.
Status check_output_file(const std::string& path, const Program& program);
Status write_outputs(const std::string& path, const Program& program, std::vector<Tensor> outputs);

}  // namespace lightline::api
