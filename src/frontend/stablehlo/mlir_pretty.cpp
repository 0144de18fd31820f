// Pretty forms of StableHLO and CHLO operators, brought to the attributes of their generic forms.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "frontend/stablehlo/mlir_parser.h"

namespace lightline::frontend::mlir {
namespace {

struct Renaming {
  std::string_view operation, pretty, generic;  // an empty operation: of every one
};
constexpr Renaming renamings[] = {
    {"stablehlo.iota", "dim", "iota_dimension"},
    {"stablehlo.dynamic_iota", "dim", "iota_dimension"},
    {"stablehlo.broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.dynamic_broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.broadcast", "sizes", "broadcast_sizes"},
    {"stablehlo.transpose", "dims", "permutation"},
    {"stablehlo.reverse", "dims", "dimensions"},
    {"stablehlo.map", "dims", "dimensions"},
    {"stablehlo.concatenate", "dim", "dimension"},
    {"stablehlo.get_dimension_size", "dim", "dimension"},
    {"stablehlo.set_dimension_size", "dim", "dimension"},
    {"stablehlo.dynamic_slice", "sizes", "slice_sizes"},
    {"stablehlo.pad", "low", "edge_padding_low"},
    {"stablehlo.pad", "high", "edge_padding_high"},
    {"stablehlo.pad", "interior", "interior_padding"},
    {"stablehlo.fft", "type", "fft_type"},
    {"stablehlo.fft", "length", "fft_length"},
    {"stablehlo.rng_bit_generator", "algorithm", "rng_algorithm"},
    {"stablehlo.rng", "distribution", "rng_distribution"},
    {"stablehlo.convolution", "dim_numbers", "dimension_numbers"},
    {"", "stride", "window_strides"},  // of a convolution's window
    {"", "pad", "padding"},
    {"", "lhs_dilate", "lhs_dilation"},
    {"", "rhs_dilate", "rhs_dilation"},
    {"", "reverse", "window_reversal"},
};

std::string generic_name(std::string_view operation, std::string_view pretty) {
  for (const Renaming& renaming : renamings)
    if (renaming.operation == operation && renaming.pretty == pretty) return std::string(renaming.generic);
  return std::string(pretty);
}

}  // namespace

void Parser::pretty(Operation& op) {
  Items items;
  while (!token_.is(':') && !token_.is('}') && token_.kind != TokenKind::end && !token_.is_word("loc")) {
    // what has no operands and no types ends where the next operation begins
    if (op.name == "sdy.mesh" && token_.kind == TokenKind::word) break;
    item(op, items);
    if (!op.result_types.empty()) break;  // a constant's type belongs to its value
  }
  finish_types(op);
  trailing_regions(op, items);
  normalise(op, items);
}

void Parser::item(Operation& op, Items& items) {
  switch (token_.kind) {
    case TokenKind::value: op.operands.push_back(use()); return;
    case TokenKind::symbol:
    case TokenKind::string:
      items.words.emplace_back(token_.text);
      advance();
      return;
    case TokenKind::integer:
    case TokenKind::real:
    case TokenKind::attribute: items.named.emplace_back("value", attribute()); return;
    case TokenKind::arrow:
    case TokenKind::block:
    case TokenKind::type: expected("an operand or an attribute");
    case TokenKind::word: break;
    default:
      if (take(',') || take('=')) return;
      if (token_.is('(')) return group(op, items);
      if (token_.is('[')) return slice_item(items);
      if (token_.is('<')) return skip_balanced();
      if (token_.is('{')) return braces(op);
      expected("an operand or an attribute");
  }
  if (token_.is_word("dense") || token_.is_word("dense_resource")) {
    items.named.emplace_back("value", attribute());
    op.result_types = {items.named.back().value.dense->type};
    return;
  }
  std::string word(token_.text);
  advance();
  if (word == "inits" && token_.is('(')) {
    const size_t before = op.operands.size();
    group(op, items);
    op.attributes.emplace_back("init_count", Attribute::of(int64_t(op.operands.size() - before)));
  } else if (word == "applies") {
    items.applies = std::string(expect_kind(TokenKind::word, "an operation"));
  } else if (token_.is('=')) {
    advance();
    named_item(std::move(word), items);
  } else {
    items.words.push_back(std::move(word));
  }
}

// { key = value, ... }, or a body: { ^bb0(...): ... }
void Parser::braces(Operation& op) {
  expect('{');
  if (token_.kind == TokenKind::block) {
    op.regions.push_back(rest_of_region());
  } else {
    for (auto& entry : rest_of_dictionary()) op.attributes.push_back(std::move(entry));
  }
}

// (%a, %b), (%a init: %b), (%iterArg = %a, ...), (%a, k = 2)
void Parser::group(Operation& op, Items& items) {
  expect('(');
  while (!token_.is(')')) {
    if (token_.kind != TokenKind::value) {
      std::string key(expect_kind(TokenKind::word, "a value or the name of an attribute"));
      expect('=');
      named_item(std::move(key), items);
    } else {
      const Use first = use();
      if (take('=')) {
        items.iteration_arguments.push_back({first.name, {}, {}});
        op.operands.push_back(use());
      } else {
        op.operands.push_back(first);
      }
      if (take_word("init")) {
        expect(':');
        items.inits.push_back(use());
      }
    }
    if (!take(',')) break;
  }
  expect(')');
}

void Parser::named_item(std::string key, Items& items) {
  if (key == "dim_numbers") {
    items.named.emplace_back(std::move(key), convolution_dimensions());
  } else if (token_.is('<')) {
    skip_balanced();
  } else if (token_.kind == TokenKind::integer || token_.is('-')) {
    // no type of its own: a colon belongs to the operation
    items.named.emplace_back(std::move(key), Attribute::of(expect_integer()));
  } else if (token_.is('[')) {
    Attribute first = list();
    if (take_word("x")) {  // contracting_dims = [1] x [0]
      const std::string stem = key == "batching_dims" ? "batching_dimensions" : "contracting_dimensions";
      items.named.emplace_back("lhs_" + stem, std::move(first));
      items.named.emplace_back("rhs_" + stem, list());
    } else {
      items.named.emplace_back(std::move(key), std::move(first));
    }
  } else {
    items.named.emplace_back(std::move(key), attribute());
  }
}

// [0:4, 1:9:2] of a slice, [0] of a tuple's element
void Parser::slice_item(Items& items) {
  Attribute starts, limits, strides;
  starts.kind = limits.kind = strides.kind = Attribute::Kind::list;
  expect('[');
  while (!token_.is(']')) {
    const int64_t start = expect_integer();
    starts.list.push_back(Attribute::of(start));
    if (!take(':')) {
      items.named.emplace_back("index", Attribute::of(start));
      break;
    }
    limits.list.push_back(Attribute::of(expect_integer()));
    strides.list.push_back(Attribute::of(take(':') ? expect_integer() : 1));
    if (!take(',')) break;
  }
  expect(']');
  items.named.emplace_back("start_indices", std::move(starts));
  items.named.emplace_back("limit_indices", std::move(limits));
  items.named.emplace_back("strides", std::move(strides));
}

void Parser::normalise(Operation& op, Items& items) {
  if (op.name == "call" || op.name == "return") op.name.insert(0, "func.");
  op.operands.insert(op.operands.end(), items.inits.begin(), items.inits.end());
  const auto add = [&](std::string key, Attribute value) {
    op.attributes.emplace_back(std::move(key), std::move(value));
  };
  const auto word = [&](size_t i, const char* key) {
    if (i < items.words.size()) add(key, Attribute::of_word(items.words[i]));
  };
  if (op.name == "stablehlo.compare" || op.name == "chlo.broadcast_compare") {
    word(0, "comparison_direction");
    word(1, "compare_type");
  } else if (op.name == "stablehlo.custom_call") {
    word(0, "call_target_name");
  } else if (op.name == "func.call") {
    word(0, "callee");
  } else if (op.name == "stablehlo.composite") {
    word(0, "name");
  }
  for (auto& [key, value] : items.named) {
    if (key == "window" && value.kind == Attribute::Kind::dictionary) {
      for (auto& [part, setting] : value.dictionary) add(generic_name("", part), std::move(setting));
    } else if (key == "format" && value.kind == Attribute::Kind::word) {  // e8m7
      int64_t exponent = -1, mantissa = -1;
      const std::string& text = value.text;
      const size_t m = text.find('m');
      if (text.starts_with('e') && m != std::string::npos) {
        std::from_chars(text.data() + 1, text.data() + m, exponent);
        std::from_chars(text.data() + m + 1, text.data() + text.size(), mantissa);
      }
      add("exponent_bits", Attribute::of(exponent));
      add("mantissa_bits", Attribute::of(mantissa));
    } else {
      add(generic_name(op.name, key), std::move(value));
    }
  }
}

void Parser::trailing_regions(Operation& op, Items& items) {
  if (op.name == "stablehlo.while") {
    while_regions(op, items);
  } else if (op.name == "stablehlo.reduce") {
    reduce_regions(op, items);
  } else {
    while (token_.is('{') || token_.is('(')) {  // other operators with bodies, such as sdy.manual_computation
      if (take('(')) {
        if (!token_.is('{')) expected("'{'");
        op.regions.push_back(region());
        while (take(',')) op.regions.push_back(region());
        expect(')');
      } else {
        op.regions.push_back(region());
      }
    }
  }
}

void Parser::while_regions(Operation& op, Items& items) {
  if (items.iteration_arguments.size() != op.operands.size() || op.result_types.size() != op.operands.size()) {
    // without results the types were still read, but not kept
    fail("a while has as many types as carried values, and results for all of them");
  }
  for (size_t i = 0; i < items.iteration_arguments.size(); ++i) items.iteration_arguments[i].type = op.result_types[i];
  if (take_word("attributes")) dictionary();
  for (const std::string_view part : {"cond", "do"}) {
    if (!take_word(part)) expected(fmt::format("'{}'", part));
    Region body = region();
    body.arguments = items.iteration_arguments;
    op.regions.push_back(std::move(body));
  }
}

void Parser::reduce_regions(Operation& op, Items& items) {
  Region body;
  if (items.applies.empty()) {
    if (!take_word("reducer")) expected("'reducer'");
    std::vector<Region::Argument> accumulated, elements;
    while (take('(')) {
      accumulated.push_back(block_argument());
      expect(',');
      elements.push_back(block_argument());
      expect(')');
    }
    body = region();
    body.arguments = std::move(accumulated);
    body.arguments.insert(body.arguments.end(), std::make_move_iterator(elements.begin()),
                          std::make_move_iterator(elements.end()));
  } else {
    Type scalar = op.result_types.empty() ? Type{} : op.result_types[0];
    scalar.shape.clear();
    body.arguments = {{"lhs", scalar, {}}, {"rhs", scalar, {}}};
    Operation applied, returned;
    applied.name = items.applies;
    applied.offset = returned.offset = op.offset;
    applied.results = {{"result", 1}};
    applied.operands = {{"lhs", 0, op.offset}, {"rhs", 0, op.offset}};
    applied.result_types = {scalar};
    returned.name = "stablehlo.return";
    returned.operands = {{"result", 0, op.offset}};
    body.operations.push_back(std::move(applied));
    body.operations.push_back(std::move(returned));
  }
  op.regions.push_back(std::move(body));
}

}  // namespace lightline::frontend::mlir
