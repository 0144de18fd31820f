// MLIR text as JAX prints it, pretty or generic, as a tree. Pretty forms of StableHLO operators are read into the
// attributes that their generic form has, so that what follows knows one form only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/tensor.h"

namespace lightline::frontend::mlir {

// Thrown while a text is read; the entry of the front end turns it into an Error.
struct MlirError {
  ErrorCode code;
  std::string message;
  std::string hint;
  size_t offset;  // into the text
};

struct Type {
  enum class Kind : uint8_t { tensor, tuple, other };
  Kind kind = Kind::other;
  DType dtype = DType::f32;
  bool is_unsigned = false;  // ui16, ui32, ui64: kept in the bits of the signed type of the same width
  bool narrowed = false;     // the dtype is not the text's own: 4-bit integers, complex<f64>
  int width = 0;             // of integers of fewer than 8 bits: how many; else 0
  Shape shape;
  std::vector<Type> parts;  // of a tuple
};

// `dense<...>`: one element that stands for all, or all of them.
struct Dense {
  Type type;
  bool splat = false;
  Tensor data;
};

struct NamedAttribute;
struct Attribute {
  enum class Kind : uint8_t { unit, boolean, integer, real, text, word, list, dictionary, dense, other };
  Kind kind = Kind::unit;
  int64_t integer = 0;
  double real = 0;
  std::string text;  // text, word (an enumerator or a symbol's name)
  std::vector<Attribute> list;
  std::vector<NamedAttribute> dictionary;
  std::shared_ptr<const Dense> dense;

  static Attribute of(int64_t value);
  static Attribute of_word(std::string word);
};
struct NamedAttribute {
  NamedAttribute(std::string key, Attribute attribute) : name(std::move(key)), value(std::move(attribute)) {}
  std::string name;
  Attribute value;
};
using Attributes = std::vector<NamedAttribute>;

// `%name` or `%name#2`.
struct Use {
  std::string_view name;
  int64_t number = 0;
  size_t offset = 0;
};

struct Operation;
struct Region {
  struct Argument {
    std::string_view name;
    Type type;
    Attributes attributes;
  };
  std::vector<Argument> arguments;
  std::vector<Operation> operations;
};

struct Operation {
  std::string name;  // "stablehlo.add"
  size_t offset = 0;
  std::vector<std::pair<std::string_view, int64_t>> results;  // name and how many values it stands for
  std::vector<Use> operands;
  Attributes attributes;
  std::vector<Region> regions;
  std::vector<Type> result_types;
  std::vector<Attributes> result_attributes;  // of a function

  const Attribute* attribute(std::string_view key) const;
};

// The top-level operations: one module, or functions without one. Names point into `text`. Throws MlirError.
std::vector<Operation> parse(std::string_view text);

}  // namespace lightline::frontend::mlir
