#include "loops/interpret/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "loops/interpret/statement.h"
#include "loops/opaque/opaque.h"

namespace lightline::loops {
namespace {

using namespace interpreter;

constexpr int64_t memory_limit = int64_t(64) << 30;

struct PreparedStatement;

struct PreparedRepeat {
  const Repeat* repeat = nullptr;
  std::vector<PreparedStatement> body;
  std::set<ArrayId> own;  // what the body defines
};

struct PreparedStatement {
  const Statement* statement = nullptr;
  std::variant<std::monostate, PreparedCompute, PreparedScatter, PreparedRepeat> prepared;
  std::vector<ArrayId> dead;  // arrays that nothing reads afterwards
};

int64_t bytes_of(const Array& array) {
  const auto count = element_count(array.shape);
  return count.ok() ? *count * byte_size(array.dtype) : INT64_MAX;
}

Tensor copy_of(const Tensor& tensor) { return Tensor::dense_copy(tensor.view()); }

class Interpreter {
 public:
  explicit Interpreter(const Program& program) : program_(program), machine_(program), owned_(program.arrays.size()) {}

  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) {
    LL_DO(check_inputs(inputs));
    LL_TRY(auto prepared_list, prepare_block(program_.statements));
    find_dead(prepared_list);
    LL_DO(check_memory(prepared_list));
    for (size_t i = 0; i < inputs.size(); ++i) machine_.arrays[program_.inputs[i]] = &inputs[i];
    for (const PreparedStatement& prepared : prepared_list) {
      LL_DO(run_statement(prepared));
      for (const ArrayId array : prepared.dead) owned_[array] = Tensor();
    }
    return take_outputs();
  }

 private:
  const Array& array(ArrayId id) const { return program_.arrays[id]; }

  Status check_inputs(const std::vector<Tensor>& inputs) const {
    if (inputs.size() != program_.inputs.size())
      return Error{ErrorCode::usage,
                   fmt::format("program '{}' takes {} inputs, but {} are given", program_.name, program_.inputs.size(),
                               inputs.size()),
                   "",
                   {}};
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Array& declared = array(program_.inputs[i]);
      if (inputs[i].dtype() != declared.dtype)
        return Error{ErrorCode::type,
                     fmt::format("input '{}' is declared {}, but {} is given", declared.name, name(declared.dtype),
                                 name(inputs[i].dtype())),
                     "",
                     {}};
      if (inputs[i].shape() != declared.shape)
        return Error{ErrorCode::shape,
                     fmt::format("input '{}' is declared {}, but {} is given", declared.name, to_string(declared.shape),
                                 to_string(inputs[i].shape())),
                     "",
                     {}};
    }
    return Ok{};
  }

  // ---- before running ----
  Result<std::vector<PreparedStatement>> prepare_block(const std::vector<Statement>& statements) {
    std::vector<PreparedStatement> prepared_list;
    for (const Statement& statement : statements) {
      PreparedStatement& prepared = prepared_list.emplace_back();
      prepared.statement = &statement;
      if (const auto* compute = std::get_if<Compute>(&statement.node)) {
        LL_TRY(prepared.prepared, prepare_compute(program_, *compute));
      } else if (const auto* scatter = std::get_if<Scatter>(&statement.node)) {
        LL_TRY(prepared.prepared, prepare_scatter(program_, *scatter));
      } else if (const auto* repeat = std::get_if<Repeat>(&statement.node)) {
        PreparedRepeat inner{repeat, {}, {}};
        LL_TRY(inner.body, prepare_block(repeat->body));
        for (const Statement& own : repeat->body)
          for (const ArrayId result : results_of(own)) inner.own.insert(result);
        prepared.prepared = std::move(inner);
      }
    }
    return prepared_list;
  }

  template <class Use>
  static void for_each_use(const PreparedStatement& prepared, const Use& use) {
    const auto& node = prepared.statement->node;
    if (const auto* compute = std::get_if<PreparedCompute>(&prepared.prepared)) {
      for (const ReadCode& read : compute->code.reads) use(read.array);
    } else if (const auto* scatter = std::get_if<PreparedScatter>(&prepared.prepared)) {
      for (const ReadCode& read : scatter->code.reads) use(read.array);
      if (const ArrayId init = std::get<Scatter>(node).init_array; init != none) use(init);
    } else if (const auto* opaque = std::get_if<Opaque>(&node)) {
      for (const ArrayId operand : opaque->operands) use(operand);
    } else if (const auto* repeat = std::get_if<PreparedRepeat>(&prepared.prepared)) {
      for (const auto& carry : repeat->repeat->carries) use(carry.init), use(carry.next);
      for (const ArrayId stacked : repeat->repeat->stacked) use(stacked);
      for (const PreparedStatement& inner : repeat->body) for_each_use(inner, use);
    }
  }

  // Whatever an outer statement defines, inside its blocks too, dies after its last use in the outer list.
  void find_dead(std::vector<PreparedStatement>& prepared_list) const {
    std::vector<size_t> last(program_.arrays.size(), SIZE_MAX);
    for (size_t i = 0; i < prepared_list.size(); ++i) {
      for_each_definition(prepared_list[i], [&](ArrayId defined) { last[defined] = i; });
      for_each_use(prepared_list[i], [&](ArrayId used) {
        if (last[used] != SIZE_MAX) last[used] = i;
      });
    }
    for (const Output& output : program_.outputs) last[output.array] = SIZE_MAX;
    for (ArrayId id = 0; id < last.size(); ++id)
      if (last[id] != SIZE_MAX) prepared_list[last[id]].dead.push_back(id);
  }

  template <class Use>
  static void for_each_definition(const PreparedStatement& prepared, const Use& use) {
    for (const ArrayId result : results_of(*prepared.statement)) use(result);
    if (const auto* repeat = std::get_if<PreparedRepeat>(&prepared.prepared)) {
      for (const auto& carry : repeat->repeat->carries) use(carry.inner);
      for (const PreparedStatement& inner : repeat->body) for_each_definition(inner, use);
    }
  }

  Status check_memory(const std::vector<PreparedStatement>& prepared_list) const {
    int64_t live = 0;
    auto add = [&](ArrayId id) -> Status {
      const int64_t more = bytes_of(array(id));
      if (more > memory_limit - live)
        return Error{ErrorCode::limit,
                     fmt::format("'{}' would take the memory in use beyond {} GiB", array(id).name, memory_limit >> 30),
                     "run the program on smaller arrays",
                     {}};
      live += more;
      return Ok{};
    };
    for (const PreparedStatement& prepared : prepared_list) {
      Status status = Ok{};
      for_each_definition(prepared, [&](ArrayId id) {
        if (status.ok()) status = add(id);
      });
      LL_DO(status);
      for (const ArrayId id : prepared.dead) live -= bytes_of(array(id));
    }
    for (const Output& output : program_.outputs)
      if (std::find(program_.inputs.begin(), program_.inputs.end(), output.array) != program_.inputs.end())
        LL_DO(add(output.array));
    return Ok{};
  }

  // ---- running ----
  // Memory for a result, perhaps that of an earlier step of the repeat around it.
  Result<Tensor*> make(ArrayId id) {
    Tensor& tensor = owned_[id];
    if (tensor.dtype() != array(id).dtype || tensor.shape() != array(id).shape) {
      LL_TRY(tensor, Tensor::allocate(array(id).dtype, array(id).shape));
    }
    machine_.arrays[id] = &tensor;
    return &tensor;
  }

  Status run_statement(const PreparedStatement& prepared) {
    if (const auto* compute = std::get_if<PreparedCompute>(&prepared.prepared)) {
      LL_TRY(Tensor * result, make(compute->result));
      return run_compute(program_, *compute, machine_, *result);
    }
    if (const auto* scatter = std::get_if<PreparedScatter>(&prepared.prepared))
      return run(std::get<Scatter>(prepared.statement->node), *scatter);
    if (const auto* repeat = std::get_if<PreparedRepeat>(&prepared.prepared)) return run(*repeat);
    if (const auto* opaque = std::get_if<Opaque>(&prepared.statement->node)) return run(*opaque);
    const auto& constant = std::get<Constant>(prepared.statement->node);
    LL_TRY(Tensor * result, make(constant.result));
    run_constant(constant.values, *result);
    return Ok{};
  }

  Status run(const Scatter& scatter, const PreparedScatter& prepared) {
    LL_TRY(Tensor * result, make(scatter.result));
    if (scatter.init_array == none)
      run_constant({program_.exprs[scatter.init_literal].literal}, *result);
    else
      copy_into(*machine_.arrays[scatter.init_array], *result, 0);
    return run_scatter(program_, prepared, machine_, *result);
  }

  Status run(const Opaque& opaque) {
    std::vector<const Tensor*> operands;
    for (const ArrayId operand : opaque.operands) operands.push_back(machine_.arrays[operand]);
    std::vector<Tensor*> results;
    for (const ArrayId id : opaque.results) {
      LL_TRY(results.emplace_back(), make(id));
    }
    Status status = run_opaque(opaque, operands, results);
    if (!status.ok() && !opaque.results.empty())
      status.error().message = fmt::format("in '{}': {}", array(opaque.results[0]).name, status.error().message);
    return status;
  }

  Status run(const PreparedRepeat& prepared) {
    const Repeat& repeat = *prepared.repeat;
    const int64_t count = program_.indices[repeat.counter].extent;
    const size_t carried = repeat.carries.size();
    for (const auto& carry : repeat.carries) machine_.arrays[carry.inner] = machine_.arrays[carry.init];
    for (size_t i = 0; i < repeat.stacked.size(); ++i) LL_DO(make(repeat.results[carried + i]));
    int64_t step = 0;
    for (; step < count && goes_on(repeat); ++step) {
      machine_.indices[repeat.counter] = step;
      for (const PreparedStatement& inner : prepared.body) LL_DO(run_statement(inner));
      for (size_t i = 0; i < repeat.stacked.size(); ++i) {
        const Tensor& part = *machine_.arrays[repeat.stacked[i]];
        copy_into(part, owned_[repeat.results[carried + i]], size_t(step) * part.byte_count());
      }
      carry_over(prepared);
    }
    for (size_t i = 0; i < carried; ++i) {
      const ArrayId inner = repeat.carries[i].inner;
      Tensor& result = owned_[repeat.results[i]];
      if (step > 0)
        std::swap(result, owned_[inner]);
      else
        result = copy_of(*machine_.arrays[inner]);
      machine_.arrays[repeat.results[i]] = &result;
    }
    return Ok{};
  }

  bool goes_on(const Repeat& repeat) const {
    return repeat.condition == none || machine_.arrays[repeat.condition]->get_i64(0) != 0;
  }

  // The yielded arrays become the carried ones, all at once: a block may yield its carried arrays in another order.
  void carry_over(const PreparedRepeat& prepared) {
    const auto& carries = prepared.repeat->carries;
    auto moves = [&](const Repeat::Carry& carry) {
      const auto yields =
          std::count_if(carries.begin(), carries.end(), [&](const auto& other) { return other.next == carry.next; });
      return yields == 1 && prepared.own.contains(carry.next);
    };
    std::vector<Tensor> next;
    for (const auto& carry : carries) next.push_back(moves(carry) ? Tensor() : copy_of(*machine_.arrays[carry.next]));
    for (size_t i = 0; i < carries.size(); ++i) {
      std::swap(owned_[carries[i].inner], moves(carries[i]) ? owned_[carries[i].next] : next[i]);
      machine_.arrays[carries[i].inner] = &owned_[carries[i].inner];
    }
  }

  static void copy_into(const Tensor& from, Tensor& to, size_t offset) {
    if (from.byte_count() > 0) std::memcpy(to.data() + offset, from.data(), from.byte_count());
  }

  std::vector<Tensor> take_outputs() {
    std::vector<Tensor> outputs;
    const auto& list = program_.outputs;
    for (size_t i = 0; i < list.size(); ++i) {
      const ArrayId id = list[i].array;
      const bool is_own = machine_.arrays[id] == &owned_[id];
      const bool again = std::any_of(list.begin() + ptrdiff_t(i) + 1, list.end(),
                                     [&](const Output& later) { return later.array == id; });
      outputs.push_back(is_own && !again ? std::move(owned_[id]) : copy_of(*machine_.arrays[id]));
    }
    return outputs;
  }

  const Program& program_;
  BlockMachine machine_;
  std::vector<Tensor> owned_;
};

}  // namespace

Result<std::vector<Tensor>> interpret(const Program& program, const std::vector<Tensor>& inputs) {
  return Interpreter(program).run(inputs);
}

}  // namespace lightline::loops
