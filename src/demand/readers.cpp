#include "demand/readers.h"

#include "loops/ir/walk.h"

namespace lightline::demand {
namespace {

class ArraysRead {
 public:
  explicit ArraysRead(const loops::Program& program) : program_(program) {}
  std::set<loops::ArrayId> found;

  void operator()(const loops::Compute& node) { see(node.body); }
  void operator()(const loops::Scatter& node) {
    see(node.body);
    for (const loops::ExprId target : node.target) see(target);
    if (node.init_array != loops::none) found.insert(node.init_array);
  }
  void operator()(const loops::Constant&) {}
  void operator()(const loops::Opaque& node) { found.insert(node.operands.begin(), node.operands.end()); }
  void operator()(const loops::Repeat& node) {
    for (const loops::Repeat::Carry& carry : node.carries) found.insert({carry.init, carry.next});
    found.insert(node.stacked.begin(), node.stacked.end());
  }

 private:
  void see(loops::ExprId root) {
    loops::for_each_expr(program_, root, [&](loops::ExprId id) {
      const loops::Expr& e = program_.exprs[id];
      if (e.kind == loops::ExprKind::read) found.insert(e.args[0]);
    });
  }
  const loops::Program& program_;
};

}  // namespace

std::set<loops::ArrayId> arrays_read(const loops::Program& program, const loops::Statement& statement) {
  ArraysRead read(program);
  std::visit(read, statement.node);
  return std::move(read.found);
}

std::vector<std::vector<const loops::Statement*>> readers_of(const loops::Program& program) {
  std::vector<std::vector<const loops::Statement*>> readers(program.arrays.size());
  loops::for_each_statement(std::span(program.statements), [&](const loops::Statement& statement) {
    for (const loops::ArrayId array : arrays_read(program, statement)) readers[array].push_back(&statement);
  });
  return readers;
}

}  // namespace lightline::demand
