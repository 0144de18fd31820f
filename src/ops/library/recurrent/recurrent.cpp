// Recurrent networks: the input's share of all gates as one contraction over the whole sequence, then a repeat over
// time with the recurrent product inside.
#include <fmt/format.h>

#include "ops/build/registry.h"
#include "ops/library/contraction/contraction.h"
#include "ops/library/random/dropout.h"
#include "ops/library/rearranging/rearranging.h"
#include "ops/library/reduction/reduction.h"

namespace lightline::ops {
namespace {

enum class Cell : uint8_t { relu, tanh, lstm, gru };  // in the order of PyTorch's modes

int64_t gate_count(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

struct CellWeights {
  SymbolicTensor input, hidden;  // [gates * size, ...]
  std::optional<SymbolicTensor> input_bias, hidden_bias;
  std::optional<SymbolicTensor> projection;  // [projected, size]
};

struct State {
  SymbolicTensor hidden;               // [batch, size]
  std::optional<SymbolicTensor> cell;  // LSTM
};

// The gates of one step before their nonlinearities: shares of the input and of the hidden state, each with its bias.
struct Gates {
  Lowering& l;
  std::function<Scalar(const Subscript& batch, const Subscript& gate)> from_input;
  SymbolicTensor from_hidden;
  const CellWeights& weights;
  int64_t size;

  Scalar bias(const std::optional<SymbolicTensor>& vector, Scalar sum, const Subscript& gate) const {
    return vector ? sum + convert(l.read(*vector, {gate}), sum.type) : sum;
  }
  Scalar input(const Indices& i, int64_t gate) const {
    const Subscript at = i[1] + gate * size;
    return bias(weights.input_bias, from_input(i[0], at), at);
  }
  Scalar hidden(const Indices& i, int64_t gate) const {
    const Subscript at = i[1] + gate * size;
    return bias(weights.hidden_bias, l.read(from_hidden, {i[0], at}), at);
  }
  Scalar both(const Indices& i, int64_t gate) const { return input(i, gate) + hidden(i, gate); }
};

Scalar sigmoid(Scalar x) { return call(Function::sigmoid, x); }
Scalar tanh(Scalar x) { return call(Function::tanh, x); }

SymbolicTensor lstm_cell_state(const Gates& gates, const SymbolicTensor& previous) {
  Lowering& l = gates.l;
  return l.map(previous.dtype, previous.shape, [&](const Indices& i) {
    return sigmoid(gates.both(i, 1)) * l.read(previous, i) + sigmoid(gates.both(i, 0)) * tanh(gates.both(i, 2));
  });
}

State next_state(Cell cell, const Gates& gates, const State& state) {
  Lowering& l = gates.l;
  const DType dtype = state.hidden.dtype;
  if (cell == Cell::lstm) {
    const SymbolicTensor next = lstm_cell_state(gates, *state.cell);
    SymbolicTensor hidden =
        l.map(dtype, next.shape, [&](const Indices& i) { return sigmoid(gates.both(i, 3)) * tanh(l.read(next, i)); });
    if (gates.weights.projection)
      hidden = contract(l, dtype, {hidden, {0, 1}}, {*gates.weights.projection, {2, 1}}, {0, 2});
    return {hidden, next};
  }
  return {l.map(dtype, state.hidden.shape,
                [&](const Indices& i) {
                  if (cell == Cell::relu) return max(gates.both(i, 0), 0.0);
                  if (cell == Cell::tanh) return tanh(gates.both(i, 0));
                  const Scalar reset = sigmoid(gates.both(i, 0)), update = sigmoid(gates.both(i, 1)),
                               fresh = tanh(gates.input(i, 2) + reset * gates.hidden(i, 2));
                  return (l.read(state.hidden, i) - fresh) * update + fresh;
                }),
          std::nullopt};
}

// The product of the hidden state with its weight, in the compute type.
SymbolicTensor recurrent_product(Lowering& l, const SymbolicTensor& hidden, const SymbolicTensor& weight) {
  return contract(l, compute_type(hidden.dtype), {hidden, {0, 1}}, {weight, {2, 1}}, {0, 2});
}

void check_weights(Cell cell, const CellWeights& weights, int64_t features, const State& state) {
  require(weights.input.rank() == 2 && weights.hidden.rank() == 2, "the weights of a recurrent network are matrices");
  const int64_t rows = gate_count(cell) * (state.cell ? *state.cell : state.hidden).shape[1];
  if (weights.input.shape != Shape{rows, features})
    fail(fmt::format("the input weight is {}, not {}", to_string(weights.input.shape), to_string({rows, features})));
  if (weights.hidden.shape != Shape{rows, state.hidden.shape[1]})
    fail(fmt::format("the hidden weight is {}, not {}", to_string(weights.hidden.shape),
                     to_string({rows, state.hidden.shape[1]})));
  for (const auto& bias : {weights.input_bias, weights.hidden_bias})
    require(!bias || bias->shape == Shape{rows}, "a bias of a recurrent network does not fit");
}

struct Sequence {
  SymbolicTensor outputs;  // [time, batch, size]
  State last;
};

// One layer in one direction over x[time, batch, features]; backward runs from the end.
Sequence run_layer(Lowering& l, Cell cell, const SymbolicTensor& x, const State& start, const CellWeights& weights,
                   bool backward) {
  check_weights(cell, weights, x.shape[2], start);
  const int64_t steps = x.shape[0], size = weights.hidden.shape[0] / gate_count(cell);
  const SymbolicTensor shares = contract(l, compute_type(x.dtype), {x, {0, 1, 2}}, {weights.input, {3, 2}}, {0, 1, 3});
  std::vector<SymbolicTensor> init{start.hidden};
  if (start.cell) init.push_back(*start.cell);
  const std::vector<SymbolicTensor> results =
      l.repeat(steps, init, [&](const Subscript& step, const std::vector<SymbolicTensor>& carried) {
        State state{carried[0], start.cell ? std::optional(carried[1]) : std::nullopt};
        const Subscript time = backward ? steps - 1 - step : step;
        const Gates gates{l,
                          [&](const Subscript& batch, const Subscript& gate) {
                            return l.read(shares, {time, batch, gate});
                          },
                          recurrent_product(l, state.hidden, weights.hidden), weights, size};
        state = next_state(cell, gates, state);
        RepeatYield yield{{state.hidden}, {state.hidden}};
        if (state.cell) yield.next.push_back(*state.cell);
        return yield;
      });
  const SymbolicTensor outputs = backward ? l.slice(results.back(), 0, steps - 1, steps, -1) : results.back();
  return {outputs, {results[0], start.cell ? std::optional(results[1]) : std::nullopt}};
}

std::vector<CellWeights> layers_of(const std::vector<SymbolicTensor>& params, size_t count, bool has_biases,
                                   bool has_projection) {
  const size_t per_layer = 2 + (has_biases ? 2 : 0) + (has_projection ? 1 : 0);
  if (params.size() != count * per_layer)
    fail(fmt::format("a recurrent network of {} layers and directions has {} parameters, not {}", count,
                     count * per_layer, params.size()));
  std::vector<CellWeights> layers;
  for (size_t i = 0; i < count; ++i) {
    const SymbolicTensor* own = &params[i * per_layer];
    CellWeights weights{own[0], own[1], {}, {}, {}};
    if (has_biases) weights.input_bias = own[2], weights.hidden_bias = own[3];
    if (has_projection) weights.projection = own[per_layer - 1];
    layers.push_back(std::move(weights));
  }
  return layers;
}

void packed(OpCall& c, const std::string& name) {
  std::vector<SymbolicTensor> operands{c.tensor("data"), c.tensor("batch_sizes")};
  for (const std::string_view list : {"hx", "params"})
    for (const SymbolicTensor& tensor : c.tensors(list)) operands.push_back(tensor);
  add_opaque_results(c, name + "_packed", operands);
}

void recurrent_network(OpCall& c, Cell cell, const std::string& name) {
  if (c.has("batch_sizes")) return packed(c, name);
  Lowering& l = c.lowering();
  const bool batch_first = c.flag("batch_first", false), is_lstm = cell == Cell::lstm;
  const size_t directions = c.flag("bidirectional", false) ? 2 : 1;
  const int64_t layers = c.integer("num_layers", 1);
  const std::vector<SymbolicTensor> start = c.tensors("hx");
  SymbolicTensor x = c.tensor("input");
  require(x.rank() == 3 && layers >= 1 && start.size() == (is_lstm ? 2 : 1),
          "a recurrent network needs an input of rank 3, a layer, and its states");
  if (batch_first) x = l.transpose(x, 0, 1);
  const size_t count = product(std::vector<int64_t>{layers, int64_t(directions)});
  for (const SymbolicTensor& state : start)
    require(state.rank() == 3 && state.shape[0] == int64_t(count) && state.shape[1] == x.shape[1],
            "the states of a recurrent network do not fit");
  const bool has_projection = is_lstm && start[0].shape[2] != start[1].shape[2];
  const std::vector<CellWeights> weights =
      layers_of(c.tensors("params"), count, c.flag("has_biases", true), has_projection);
  const double dropout = c.flag("train", false) ? c.number("dropout", 0) : 0;
  std::vector<SymbolicTensor> hidden, cells;
  for (size_t layer = 0; layer < size_t(layers); ++layer) {
    std::vector<SymbolicTensor> outputs;
    for (size_t direction = 0; direction < directions; ++direction) {
      const size_t at = layer * directions + direction;
      const State state{l.select(start[0], 0, int64_t(at)),
                        is_lstm ? std::optional(l.select(start[1], 0, int64_t(at))) : std::nullopt};
      const Sequence sequence = run_layer(l, cell, x, state, weights[at], direction == 1);
      outputs.push_back(sequence.outputs);
      hidden.push_back(sequence.last.hidden);
      if (is_lstm) cells.push_back(*sequence.last.cell);
    }
    x = directions == 1 ? outputs[0] : joined(l, outputs, 2);
    if (layer + 1 < size_t(layers)) x = drop_out(l, x, dropout);
  }
  c.add_result(batch_first ? l.transpose(x, 0, 1) : x);
  // one state needs no copy to be stacked
  const auto give_states = [&](const std::vector<SymbolicTensor>& states) {
    c.add_result(count == 1 ? l.unsqueeze(states[0], 0) : stacked(l, states, 0));
  };
  give_states(hidden);
  if (is_lstm) give_states(cells);
}

// One layer and direction, as oneDNN runs it: (outputs, last hidden, last cell, workspace).
void mkldnn_layer(OpCall& c) {
  Lowering& l = c.lowering();
  const int64_t mode = c.integer("mode");
  require(mode >= 0 && mode <= 3, "a recurrent network's mode is 0 to 3");
  const Cell cell = Cell(mode);
  const bool batch_first = c.flag("batch_first", false);
  SymbolicTensor x = c.tensor("input");
  require(x.rank() == 3, "a recurrent network needs an input of rank 3");
  if (batch_first) x = l.transpose(x, 0, 1);
  const SymbolicTensor hidden = c.tensor("hx_"), cells = c.tensor("cx_");
  require(hidden.size() == product(std::vector<int64_t>{x.shape[1], c.integer("hidden_size")}),
          "the state of a recurrent network does not fit");
  const Shape flat{x.shape[1], c.integer("hidden_size")};
  const bool has_biases = c.flag("has_biases", true);
  const CellWeights weights{c.tensor("weight0"),
                            c.tensor("weight1"),
                            has_biases ? c.tensor_if("weight2") : std::nullopt,
                            has_biases ? c.tensor_if("weight3") : std::nullopt,
                            {}};
  const State start{l.reshape(hidden, flat), cell == Cell::lstm ? std::optional(l.reshape(cells, flat)) : std::nullopt};
  const Sequence sequence = run_layer(l, cell, x, start, weights, c.flag("reverse", false));
  c.add_result(batch_first ? l.transpose(sequence.outputs, 0, 1) : sequence.outputs);
  c.add_result(l.reshape(sequence.last.hidden, hidden.shape));
  c.add_result(sequence.last.cell ? l.reshape(*sequence.last.cell, cells.shape) : cells);
  const auto workspace = c.recorded(3);
  c.add_result(l.constant(workspace ? workspace->dtype : DType::u8, workspace ? workspace->shape : Shape{0},
                          {Literal::of(int64_t(0))}));
}

// A single step: input[batch, features], or one vector.
void single_step(OpCall& c, Cell cell) {
  Lowering& l = c.lowering();
  SymbolicTensor x = c.tensor("input");
  std::vector<SymbolicTensor> start = c.tensors("hx");
  const bool single = x.rank() == 1;
  require(!start.empty(), "a recurrent cell needs its states");
  if (single)
    for (SymbolicTensor* tensor : {&x, &start[0], &start.back()})
      if (tensor->rank() == 1) *tensor = l.unsqueeze(*tensor, 0);
  require(x.rank() == 2 && start.size() == (cell == Cell::lstm ? 2 : 1),
          "a recurrent cell needs a matrix of inputs and its states");
  for (const SymbolicTensor& state : start)
    require(state.rank() == 2 && state.shape[0] == x.shape[0], "the states of a recurrent cell do not fit");
  const CellWeights weights{c.tensor("w_ih"), c.tensor("w_hh"), c.tensor_if("b_ih"), c.tensor_if("b_hh"), {}};
  State state{start[0], cell == Cell::lstm ? std::optional(start[1]) : std::nullopt};
  check_weights(cell, weights, x.shape[1], state);
  const SymbolicTensor shares = recurrent_product(l, x, weights.input);
  const Gates gates{l,
                    [&](const Subscript& batch, const Subscript& gate) {
                      return l.read(shares, {batch, gate});
                    },
                    recurrent_product(l, state.hidden, weights.hidden), weights,
                    weights.hidden.shape[0] / gate_count(cell)};
  state = next_state(cell, gates, state);
  c.add_result(single ? l.squeeze(state.hidden, 0) : state.hidden);
  if (state.cell) c.add_result(single ? l.squeeze(*state.cell, 0) : *state.cell);
}

// A step from gates that are products already. The last result is what the backward kernel reads.
void fused_step(OpCall& c, Cell cell) {
  Lowering& l = c.lowering();
  const SymbolicTensor from_input = c.tensor("input_gates"), from_hidden = c.tensor("hidden_gates"),
                       previous = c.tensor(cell == Cell::lstm ? "cx" : "hx");
  require(previous.rank() == 2 && from_input.rank() == 2 && from_input.shape == from_hidden.shape &&
              from_input.shape == Shape{previous.shape[0], gate_count(cell) * previous.shape[1]},
          "the gates of a recurrent cell do not fit");
  const CellWeights weights{from_input, from_hidden, c.tensor_if("input_bias"), c.tensor_if("hidden_bias"), {}};
  const int64_t size = previous.shape[1];
  const Gates gates{l,
                    [&](const Subscript& batch, const Subscript& gate) {
                      return l.read(from_input, {batch, gate});
                    },
                    from_hidden, weights, size};
  const State next = next_state(cell, gates, {previous, cell == Cell::lstm ? std::optional(previous) : std::nullopt});
  c.add_result(next.hidden);
  if (next.cell) c.add_result(*next.cell);
  std::vector<SymbolicTensor> kept;
  const auto keep = [&](const std::function<Scalar(const Indices&)>& body) {
    kept.push_back(l.map(previous.dtype, previous.shape, body));
  };
  if (cell == Cell::lstm) {
    for (int64_t gate = 0; gate < 4; ++gate)
      keep([&](const Indices& i) { return gate == 2 ? tanh(gates.both(i, gate)) : sigmoid(gates.both(i, gate)); });
  } else {
    for (int64_t gate = 0; gate < 2; ++gate) keep([&](const Indices& i) { return sigmoid(gates.both(i, gate)); });
    keep([&](const Indices& i) { return tanh(gates.input(i, 2) + sigmoid(gates.both(i, 0)) * gates.hidden(i, 2)); });
    kept.push_back(previous);
    keep([&](const Indices& i) { return gates.hidden(i, 2); });
  }
  c.add_result(joined(l, kept, 1));
}

}  // namespace

void register_recurrent(Registry& r) {
  const std::string parameters =
      "input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first";
  const std::string cell_parameters = "input, hx, w_ih, w_hh, b_ih, b_hh";
  const std::pair<const char*, Cell> cells[] = {
      {"lstm", Cell::lstm}, {"gru", Cell::gru}, {"rnn_tanh", Cell::tanh}, {"rnn_relu", Cell::relu}};
  for (const auto& [name, cell] : cells) {
    r.add(name, parameters, [cell = cell, name = std::string(name)](OpCall& c) { recurrent_network(c, cell, name); });
    r.add(std::string(name) + "_cell", cell_parameters, [cell = cell](OpCall& c) { single_step(c, cell); });
  }
  r.add("_thnn_fused_lstm_cell", "input_gates, hidden_gates, cx, input_bias, hidden_bias",
        [](OpCall& c) { fused_step(c, Cell::lstm); });
  r.add("_thnn_fused_gru_cell", "input_gates, hidden_gates, hx, input_bias, hidden_bias",
        [](OpCall& c) { fused_step(c, Cell::gru); });
  r.add("mkldnn_rnn_layer",
        "input, weight0, weight1, weight2, weight3, hx_, cx_, reverse, batch_sizes, mode, hidden_size, num_layers, "
        "has_biases, bidirectional, batch_first, train",
        mkldnn_layer);
}

}  // namespace lightline::ops
