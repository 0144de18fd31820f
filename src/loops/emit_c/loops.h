// Writes the loop tree of a step: threads outside (loops.cpp), vectors inside (rows.cpp).
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "loops/emit_c/function.h"
#include "loops/emit_c/row.h"
#include "loops/plan/kernels.h"

namespace lightline::loops::c {

class NestWriter {
 public:
  NestWriter(SteppedProgram& stepped, const NestKernel& kernel, const Stored& stored);
  StepFunction run(const std::string& name);

 private:
  Nodes& nodes() { return stepped_.nodes; }
  const Array& array(const Member& member) const { return stepped_.program.arrays[member.folded.result]; }

  // ---- threads ----
  void prepare();
  void declare(const Buffer& buffer);
  void root();
  std::pair<std::string, std::string> piece(int64_t extent) const;
  void tasks(const std::function<void()>& body);
  void sequential(const std::function<void()>& body);
  void partial_reductions();
  void transposed(const Member& member);

  // ---- loops ----
  void emit(const Item& item);
  void nest(const Nest& nest);
  void loop(const Nest& nest, const std::string& from, const std::string& to);
  void row(const Nest& nest, const std::string& from, const std::string& to);
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
  const NestKernel& kernel_;
  const Tree& tree_;
  const Stored& stored_;
  Writer writer_;
  std::string buffers_;  // declarations of each thread's rows
  std::vector<ArrayId> written_;
  std::unordered_map<const Nest*, size_t> scope_of_;
};

}  // namespace lightline::loops::c
