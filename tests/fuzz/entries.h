// What the fuzzers run, and regressions_test.cpp replays. Each parses its input; what it accepts must survive being
// written and read again. A broken property throws InternalError.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/stream.h"
#include "base/tar.h"
#include "base/tensor_io.h"
#include "base/zip.h"
#include "demand/analysis.h"
#include "frontend/fx/fx_text.h"
#include "frontend/stablehlo/stablehlo.h"
#include "loops/interpret/interpret.h"
#include "loops/ir/parse.h"
#include "loops/ir/print.h"
#include "loops/ir/verify.h"
#include "loops/plan/planned.h"
#include "ops/lower/lower.h"

namespace lightline::fuzz {

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.size() == 0 || std::memcmp(a.data(), b.data(), a.byte_count()) == 0);
}
inline bool same_bits(const NamedTensors& a, const NamedTensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && same_bits(x.second, y.second); });
}
// Every error must say what is wrong and what to do.
template <class T>
bool well_formed(const Result<T>& result) {
  return result.ok() || (!result.error().message.empty() && !result.error().hint.empty() &&
                         result.error().code != ErrorCode::internal);
}

inline void run_npy(std::string_view input) {
  for (const DType as : {DType::f8e4m3, DType::f4e2m1}) {
    const Result<Tensor> tensor = parse_npy(input, as);
    LL_CHECK(well_formed(tensor));
    if (!tensor.ok()) continue;
    const Result<Tensor> again = parse_npy(format_npy(*tensor), tensor->dtype());
    LL_CHECK(again.ok() && same_bits(*again, *tensor));
  }
}

inline void run_npz(std::string_view input) {
  if (const Result<ZipReader> zip = ZipReader::open(input); zip.ok()) {
    for (const ZipEntry& entry : zip->entries()) LL_CHECK(well_formed(zip->read(entry.name, uint64_t(1) << 22)));
  }
  const Result<NamedTensors> tensors = parse_npz(input);
  LL_CHECK(well_formed(tensors));
  if (!tensors.ok()) return;
  ExpectedTypes as;
  for (const auto& [name, tensor] : *tensors) as.emplace(name, tensor.dtype());
  const Result<std::string> written = format_npz(*tensors);
  LL_CHECK(written.ok());
  const Result<NamedTensors> again = parse_npz(*written, as);
  LL_CHECK(again.ok() && same_bits(*again, *tensors));
}

inline void run_safetensors(std::string_view input) {
  const Result<NamedTensors> tensors = parse_safetensors(input);
  LL_CHECK(well_formed(tensors));
  if (!tensors.ok()) return;
  const Result<std::string> written = format_safetensors(*tensors);
  LL_CHECK(written.ok());
  const Result<NamedTensors> again = parse_safetensors(*written);
  LL_CHECK(again.ok() && same_bits(*again, *tensors));
}

// The result must not depend on how the input is cut into pieces.
inline void run_decompress(std::string_view input) {
  constexpr uint64_t limit = uint64_t(1) << 22;
  const Result<std::string> whole = decompress(input, limit);
  LL_CHECK(well_formed(whole));
  std::string collected;
  const Sink sink = [&](std::string_view piece) -> Status {
    if (piece.size() > limit - collected.size()) return Error{ErrorCode::limit, "too large", "none"};
    collected.append(piece);
    return Ok{};
  };
  StreamDecoder decoder;
  Status status = Ok{};
  for (size_t at = 0, step = 1; at < input.size() && status.ok(); at += step, step = step % 7 + 1)
    status = decoder.feed(input.substr(at, step), sink);
  if (status.ok()) status = decoder.finish(sink);
  LL_CHECK(status.ok() == whole.ok());
  if (whole.ok()) LL_CHECK(collected == *whole);
}

// An upper limit of the work of a block, or infinity where it is not tiny.
inline double points_of(const loops::Program& program, const std::vector<loops::Statement>& block) {
  const auto extent = [&](loops::IndexId index) { return double(program.indices[index].extent); };
  double points = 0;
  for (const loops::Statement& statement : block) {
    double own = 1;
    if (const auto* compute = std::get_if<loops::Compute>(&statement.node)) {
      for (const loops::IndexId index : compute->loops) own *= extent(index);
      for (const loops::IndexId index : compute->reduced) own *= extent(index);
    } else if (const auto* scatter = std::get_if<loops::Scatter>(&statement.node)) {
      for (const loops::IndexId index : scatter->domain) own *= extent(index);
    } else if (const auto* opaque = std::get_if<loops::Opaque>(&statement.node)) {
      for (const loops::ArrayId operand : opaque->operands)
        for (const int64_t side : program.arrays[operand].shape) own *= double(side) * double(side);
    } else if (const auto* repeat = std::get_if<loops::Repeat>(&statement.node)) {
      own = extent(repeat->counter) * (1 + points_of(program, repeat->body));
    }
    points += 1 + own;
  }
  return points;
}
inline bool is_tiny(const loops::Program& program) {
  double elements = 0;
  for (const loops::Array& array : program.arrays) {
    const Result<int64_t> count = element_count(array.shape);
    if (!count.ok()) return false;
    elements += double(*count);
  }
  return elements < 2e4 && points_of(program, program.statements) < 5e4;
}

// What parses is printed to text that parses to the same program with the same comments, and prints as itself.
inline void check_canonical(const loops::Program& program) {
  const std::string printed = loops::print(program);
  const Result<loops::Program> again = loops::parse(printed, "printed");
  LL_CHECK(again.ok() && loops::equal(program, *again));
  LL_CHECK(loops::print(*again) == printed);
  LL_CHECK(std::equal(program.comments.begin(), program.comments.end(), again->comments.begin(), again->comments.end(),
                      [](const loops::Comment& a, const loops::Comment& b) {
                        return a.text == b.text && a.line == b.line && a.trailing == b.trailing;
                      }));
}

// What is accepted survives printing; what is tiny runs, on inputs of any value.
inline void run_loops(std::string_view input) {
  const auto in_words = [](const auto& result) {
    return result.ok() || (!result.error().message.empty() && result.error().code != ErrorCode::internal);
  };
  Result<loops::Program> program = loops::parse(input, "input");
  LL_CHECK(in_words(program));
  if (!program.ok()) return;
  check_canonical(*program);
  const Status verified = loops::verify(*program, input, "input");
  LL_CHECK(in_words(verified));
  if (!verified.ok()) return;
  const demand::Analysis analysis = demand::analyze(*program);  // whatever its sizes
  LL_CHECK(analysis.fused.bytes() >= 0 && analysis.fused.work.total_macs() >= 0);
  if (!is_tiny(*program)) return;
  std::vector<Tensor> inputs;
  for (const loops::ArrayId id : program->inputs)
    inputs.push_back(random_tensor(program->arrays[id].dtype, program->arrays[id].shape, 1 + inputs.size(), 5));
  LL_CHECK(in_words(loops::interpret(*program, inputs)));
}

// A program, then a schedule or a plan for it: refused in words, or it prints as text that parses to itself. What
// emitted C can follow is planned.
inline void run_schedule(std::string_view input) {
  namespace plan = loops::plan;
  const auto in_words = [](const auto& result) {
    return result.ok() || (!result.error().message.empty() && result.error().code != ErrorCode::internal);
  };
  const size_t end = input.find("\n}\n");
  if (end == std::string_view::npos) return;
  const std::string_view source = input.substr(0, end + 3), text = input.substr(end + 3);
  const Result<loops::Program> program = loops::parse_and_verify(source, "program");
  if (!program.ok() || !is_tiny(*program)) return;
  if (text.starts_with("plan")) {
    const Result<plan::Plan> parsed = plan::parse_plan(*program, text, "input");
    LL_CHECK(in_words(parsed));
    if (!parsed.ok()) return;
    const Status verified = plan::verify(*program, *parsed);
    LL_CHECK(in_words(verified));
    if (!verified.ok()) return;
    const Result<plan::Plan> again = plan::parse_plan(*program, plan::print(*program, *parsed), "printed");
    LL_CHECK(again.ok() && *again == *parsed);
    return;
  }
  const Result<plan::Schedule> parsed = plan::parse_schedule(*program, text, "input");
  LL_CHECK(in_words(parsed));
  if (!parsed.ok()) return;
  const Status verified = plan::verify(*program, *parsed);
  LL_CHECK(in_words(verified));
  if (!verified.ok()) return;
  const Result<plan::Schedule> again = plan::parse_schedule(*program, plan::print(*program, *parsed), "printed");
  LL_CHECK(again.ok() && *again == *parsed);
  LL_CHECK(in_words(plan::plan_program(*program, *parsed)));
}

// Python source of a captured program: refused in words, or a graph that lowers or is refused in words.
inline void run_fx_text(std::string_view input) {
  const Result<graph::Graph> graph = frontend::parse_fx_text(input, "input");
  LL_CHECK(graph.ok() || (!graph.error().message.empty() && graph.error().code != ErrorCode::internal));
  if (!graph.ok()) return;
  LL_CHECK(graph::check(*graph).ok());
  const Result<ops::Lowered> lowered = ops::lower(*graph);
  LL_CHECK(lowered.ok() || !lowered.error().message.empty());
}

// What a tar archive gives must not depend on how it is cut into pieces.
inline void run_tar(std::string_view input) {
  const auto read = [&](size_t step) {
    std::string seen;
    TarStream stream([](std::string_view name) { return name.size() % 2 == 0; },
                     [&](const std::string& name, std::string content) -> Status {
                       seen += name + '=' + content + ';';
                       return Ok{};
                     });
    Status status = Ok{};
    for (size_t at = 0; at < input.size() && status.ok(); at += step) status = stream.feed(input.substr(at, step));
    if (status.ok()) status = stream.finish();
    LL_CHECK(well_formed(status));
    return std::pair(status.ok(), seen);
  };
  LL_CHECK(read(input.size() + 1) == read(37));
}

// StableHLO text: what is accepted becomes loops or is refused in words, and runs if it is tiny.
inline void run_stablehlo(std::string_view input) {
  const auto in_words = [](const auto& result) {
    return result.ok() || (!result.error().message.empty() && result.error().code != ErrorCode::internal);
  };
  const Result<graph::Graph> graph = frontend::parse_stablehlo(input, "input");
  LL_CHECK(in_words(graph));
  if (!graph.ok()) return;
  const Result<ops::Lowered> lowered = ops::lower(*graph);
  LL_CHECK(in_words(lowered));
  if (!lowered.ok() || !is_tiny(lowered->program)) return;
  std::vector<Tensor> inputs;
  for (const loops::ArrayId id : lowered->program.inputs) {
    const loops::Array& array = lowered->program.arrays[id];
    inputs.push_back(random_tensor(array.dtype, array.shape, 1 + inputs.size(), 5));
  }
  LL_CHECK(in_words(loops::interpret(lowered->program, inputs)));
}

}  // namespace lightline::fuzz
