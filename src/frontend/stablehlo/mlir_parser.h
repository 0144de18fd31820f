// The parser of MLIR text; its parts are spread over mlir_types.cpp, mlir_attributes.cpp and mlir_operations.cpp.
#pragma once

#include <optional>
#include <unordered_map>

#include "frontend/stablehlo/mlir.h"
#include "frontend/stablehlo/mlir_lexer.h"

namespace lightline::frontend::mlir {

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  std::vector<Operation> run();

 private:
  // ---- tokens ----
  void advance() { token_ = lexer_.next(); }
  [[noreturn]] void fail(std::string message, std::string hint = "", ErrorCode code = ErrorCode::parse) const;
  [[noreturn]] void expected(std::string_view what) const;
  bool take(char c);
  bool take_word(std::string_view word);
  void expect(char c);
  std::string_view expect_kind(TokenKind kind, std::string_view what);
  int64_t expect_integer();
  void skip_balanced();  // from an opening bracket to the closing one
  // Counts nesting; deeper texts than the limit are refused.
  struct NestingGuard {
    explicit NestingGuard(Parser& parser);
    ~NestingGuard() { --parser.depth_; }
    Parser& parser;
  };

  // ---- types ----
  Type type();
  Type tensor_type();
  std::string_view element_type_text();
  void element_type(std::string_view text, size_t offset, Type& into) const;
  std::vector<Type> type_list();  // (t, t) or t
  void skip_function_type();

  // ---- attributes ----
  Attribute attribute();
  Attribute number(bool negative);
  Attribute list();
  Attribute array();
  Attribute dictionary_attribute();
  Attribute word_attribute();
  Attribute dialect_attribute();
  Attribute members();  // <key = value, ...>
  Attribute dense();
  Attribute convolution_dimensions();
  void convolution_side(std::string_view prefix, char batch, char feature, Attribute& into);
  Attributes dictionary();
  Attributes rest_of_dictionary();
  void skip_type_suffix();  // ": i64" after a number

  // ---- operations ----
  void aliases();
  Operation operation();
  void results(Operation& op);
  void generic(Operation& op);
  void pretty(Operation& op);
  void function(Operation& op);
  void module(Operation& op);
  Region region();
  Region rest_of_region();
  void braces(Operation& op);
  void operations(Region& into);
  Region::Argument block_argument();
  Use use();
  void finish_types(Operation& op);
  void skip_location();

  // ---- pretty forms ----
  struct Items {  // what stands between the name and the types
    std::vector<std::string> words;
    Attributes named;
    std::vector<Region::Argument> iteration_arguments;
    std::vector<Use> inits;  // of `reduce`
    std::string applies;
  };
  void item(Operation& op, Items& items);
  void group(Operation& op, Items& items);
  void named_item(std::string key, Items& items);
  void slice_item(Items& items);
  void normalise(Operation& op, Items& items);
  void trailing_regions(Operation& op, Items& items);
  void reduce_regions(Operation& op, Items& items);
  void while_regions(Operation& op, Items& items);

  Lexer lexer_;
  Token token_;
  int depth_ = 0;
  std::unordered_map<std::string_view, Attribute> attribute_aliases_;
  std::unordered_map<std::string_view, Type> type_aliases_;
};

}  // namespace lightline::frontend::mlir
