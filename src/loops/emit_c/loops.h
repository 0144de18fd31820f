// Writes the loop tree of a step: threads outside (loops.cpp), vectors inside (rows.cpp).
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "loops/emit_c/function.h"
#include "loops/emit_c/row.h"
#include "loops/plan/nest.h"

namespace lightline::loops::c {

class NestWriter {
 public:
  NestWriter(SteppedProgram& stepped, const NestStep& step, const Stored& stored);
  StepFunction run(const std::string& name);

 private:
  struct Digit {  // a loop whose variable is decoded from the task number
    VarId var;
    int64_t extent;
  };

  Nodes& nodes() { return stepped_.nodes; }
  const Array& array(const Member& member) const { return stepped_.program.arrays[member.folded.result]; }

  // ---- threads ----
  void prepare();
  void add_buffer(ArrayId id, DType type, int64_t elements);
  void root(Item& item);
  std::vector<Nest*> free_loops(Item& item);
  bool is_free(const Nest& nest) const;
  bool is_innermost(const Nest& nest) const;
  void tasks(const std::vector<Digit>& digits, int64_t pieces, const std::function<void()>& body);
  void sequential(const std::function<void()>& body);
  bool reduces_in_parts(const Nest& nest) const;
  void partial_reductions(Nest& nest);
  void transposed(const Member& member);

  // ---- loops ----
  void emit(Item& item);
  void nest(Nest& nest);
  void loop(Nest& nest, const std::string& from, const std::string& to);
  void row(Nest& nest, const std::string& from, const std::string& to);
  int64_t tile_width(const Member& member, int64_t outer_tasks) const;
  void tiled(const Member& member, int64_t width);
  void tile(const Member& member, const std::string& from, const std::string& to, int64_t width);

  // ---- one point ----
  void leaf(const Member& member);
  void store(const Member& member, const std::string& value);
  std::string declaration(const Member& member) const;
  std::string total_value(const Member& member) const;
  void update(const Member& member, const std::string& place);
  void finish_reduction(const Member& member, const std::string& place);
  std::string total_name(const Member& member) const {
    return std::string(1, 'r').append(std::to_string(member.folded.result));
  }
  std::string total_type(const Member& member) const {
    return std::string(accumulator_type(member.folded.accumulator));
  }
  std::string empty(const Member& member) const {
    return empty_value(member.folded.reducer, member.folded.accumulator, array(member).dtype);
  }
  static bool is_position(const Member& member) {
    return member.folded.reducer == Reducer::argmax || member.folded.reducer == Reducer::argmin;
  }
  NodeId flat_position(const Member& member);

  SteppedProgram& stepped_;
  const Stored& stored_;
  Tree tree_;
  Writer writer_;
  bool is_parallel_ = false;
  std::string buffers_;  // declarations of each thread's rows
  int64_t stack_used_ = 0;
  int64_t heap_used_ = 0;
  std::vector<ArrayId> written_;
  std::unordered_map<const Nest*, size_t> scope_of_;
};

}  // namespace lightline::loops::c
