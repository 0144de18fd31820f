// Nodes to C text. A writer holds the scopes of the loops being written; each value is computed once, in the
// outermost scope that knows all it depends on.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "loops/plan/nodes.h"

namespace lightline::loops::c {

using namespace plan;

// Where an array is while a function runs. Loads name flat positions, not subscripts.
struct Access {
  std::string pointer;
  DType element = DType::f32;  // what is stored there: the array's dtype, or its compute type for local rows
  bool is_value = false;       // `pointer` is the one element itself
  size_t level = 0;            // the scope in which it has been computed
  bool is_local = false;       // declared by the function itself
};

class Writer {
 public:
  explicit Writer(const Nodes& nodes);

  void set_access(ArrayId array, Access access);
  // Scopes. `close` gives the text of the innermost one; the caller wraps it in a loop and puts it into the next.
  void open();
  void bring(VarId var);  // a loop variable of the innermost scope
  std::string close();
  void line(std::string_view text);
  size_t depth() const { return scopes_.size() - 1; }

  // C text of a value that is computed by the time the next line runs.
  std::string value(NodeId id);
  // The same as an index expression, without a name of its own.
  std::string index(NodeId id);
  // Guards that hold while they are in this set are not tested.
  std::unordered_set<NodeId> assumed;
  // Names the value of a node in the current scope.
  void define(NodeId id, std::string name);
  std::string fresh(std::string_view stem);

  // Notes an array that the text uses by other means than a load.
  void use(ArrayId array);
  // Arrays and outer variables that the text uses.
  const std::vector<ArrayId>& arrays() const { return used_; }
  const std::unordered_set<VarId>& outer_vars() const { return outer_; }
  bool has_checks() const { return has_checks_; }

 private:
  struct Scope {
    std::string text;
    std::unordered_map<NodeId, std::string> names;
  };
  size_t level(NodeId id);
  std::string compute(const Node& node, size_t at);
  std::string sum(const Node& affine);
  std::string load(const Node& node);
  std::string call(const Node& node);
  std::string check(const Node& node, size_t at);
  bool counts_known_bits(const Term& term);
  const std::string* named(NodeId id) const;

  const Nodes& nodes_;
  std::vector<Scope> scopes_;
  std::unordered_map<ArrayId, Access> access_;
  std::unordered_map<VarId, size_t> level_of_;
  std::unordered_map<NodeId, size_t> levels_;
  std::vector<ArrayId> used_;
  std::unordered_set<VarId> outer_;
  bool has_checks_ = false;
  std::vector<bool> fixed_;  // arrays whose values the compiler may know; found when first asked for
  int names_ = 0;
};

// ---- C text of types and operations ----
std::string_view storage_type(DType dtype);
std::string_view value_type(DType dtype);  // of the compute type
std::string literal_text(DType type, const Literal& literal);
// `operand` is the compute type of the last operand.
std::string call_text(Function function, DType operand, const std::string& a, const std::string& b,
                      const std::string& c);
std::string cast_text(DType from, DType target, const std::string& value);
std::string from_storage(DType dtype, const std::string& element);
std::string to_storage(DType dtype, const std::string& value);
std::string_view suffix(DType dtype);  // "f32", "bool", ... as in the prelude's names

inline std::string var_name(VarId var) { return std::string(1, 'v').append(std::to_string(var)); }

}  // namespace lightline::loops::c
