// Contractions: functions that pack panels of the two factors and store finished blocks, around the prelude's product.
#include <fmt/format.h>

#include <algorithm>

#include "loops/emit_c/function.h"
#include "loops/emit_c/row.h"

namespace lightline::loops::c {
namespace {

// A list of loops counted by one number, outermost first, and values that use them.
struct Flat {
  std::vector<VarId> vars;
  std::vector<NodeId> values;
};

bool takes_apart(const Nodes& nodes, NodeId root, VarId merged, int64_t inner) {
  bool found = false;
  nodes.for_each(root, [&](const Node& node, NodeId) {
    if (node.kind != NodeKind::call || (node.function != Function::div && node.function != Function::mod)) return;
    found |= nodes.is_var(node.args[0], merged) && nodes.is_literal(node.args[1]) &&
             nodes[node.args[1]].literal.integer == inner;
  });
  return found;
}

// Makes one loop of two neighbours wherever all values allow it.
void merge(Nodes& nodes, Flat& flat, std::vector<NodeId>& others) {
  for (size_t i = flat.vars.size(); i-- > 1;) {
    const VarId outer = flat.vars[i - 1], inner = flat.vars[i];
    const int64_t width = nodes.extent(inner);
    const VarId merged = nodes.add_var(nodes.extent(outer) * width);
    const Substitution by{{outer, nodes.call(Function::div, DType::i64, nodes.var(merged), nodes.integer(width))},
                          {inner, nodes.call(Function::mod, DType::i64, nodes.var(merged), nodes.integer(width))}};
    std::vector<NodeId> values, rest;
    for (const NodeId value : flat.values) values.push_back(nodes.substitute(value, by));
    for (const NodeId value : others) rest.push_back(nodes.substitute(value, by));
    const auto apart = [&](NodeId value) { return takes_apart(nodes, value, merged, width); };
    if (std::ranges::any_of(values, apart) || std::ranges::any_of(rest, apart)) continue;
    flat.values = std::move(values);
    others = std::move(rest);
    flat.vars[i - 1] = merged;
    flat.vars.erase(flat.vars.begin() + ptrdiff_t(i));
  }
}

class ProductWriter {
 public:
  ProductWriter(SteppedProgram& stepped, const ContractionStep& step, const Stored& stored, const std::string& name)
      : stepped_(stepped), step_(step), stored_(stored), name_(name), results_(defined_by(Step{step})) {}

  StepFunction run() {
    const std::string a = pack("a", step_.a, step_.m, "LL_MR");
    const std::string b = pack("b", step_.b, step_.n, fmt::format("LL_NR_{}", suffix(step_.type)));
    const std::string c = store();
    std::ranges::sort(counters_);
    counters_.erase(std::unique(counters_.begin(), counters_.end()), counters_.end());
    StepFunction function;
    std::string fields = "const struct ll_host* H;\n", parameters = "const struct ll_host* H", values = "H";
    for (const ArrayId array : arrays_) {
      const std::string declaration =
          fmt::format("{}{}* restrict {}", is_written(array) ? "" : "const ",
                      storage_type(stepped_.program.arrays[array].dtype), array_name(array));
      fields += declaration + ";\n";
      parameters += ", " + declaration;
      values += ", " + array_name(array);
    }
    for (const VarId var : counters_) {
      fields += fmt::format("int64_t {};\n", var_name(var));
      parameters += fmt::format(", int64_t {}", var_name(var));
      values += ", " + var_name(var);
    }
    function.arrays = arrays_;
    function.counters = counters_;
    function.text = fmt::format("struct {}_data {{\n{}}};\n\n{}{}{}", name_, fields, a, b, c);
    function.text +=
        fmt::format("LL_STEP int {}({}) {{\nconst struct {}_data data = {{{}}};\n", name_, parameters, name_, values);
    function.text +=
        fmt::format("const struct ll_product_{} product = {{{}, {}, {}, {}, &data, {}_pack_a, {}_pack_b, {}_store}};\n",
                    suffix(step_.type), extent(step_.batch), extent(step_.m), extent(step_.n), extent(step_.k), name_,
                    name_, name_);
    function.text +=
        fmt::format("const int failed = ll_multiply_{}(H, &product);\nreturn failed ? failed : {};\n}}\n\n",
                    suffix(step_.type), has_checks_ ? "*H->failed" : "0");
    return function;
  }

 private:
  Nodes& nodes() { return stepped_.nodes; }
  int64_t extent(const std::vector<VarId>& vars) {
    int64_t product = 1;
    for (const VarId var : vars) product *= nodes().extent(var);
    return product;
  }
  bool is_written(ArrayId array) const { return std::ranges::find(results_, array) != results_.end(); }

  NodeId flatten(NodeId value) {
    return nodes().flatten(value, [&](ArrayId array) { return row_major(stepped_.program.arrays[array].shape); });
  }

  Writer make_writer(const std::vector<NodeId>& values) {
    Writer writer(nodes());
    for (const NodeId value : values)
      nodes().for_each(value, [&](const Node& node, NodeId) {
        if (node.kind == NodeKind::load)
          writer.set_access(node.array, {array_name(node.array), stepped_.program.arrays[node.array].dtype});
      });
    return writer;
  }

  // The values of variables from their common number.
  void decode(Writer& writer, const std::vector<VarId>& vars, const std::string& number, size_t count) {
    int64_t below = 1;
    for (size_t i = vars.size(); i > 0; --i) {
      const VarId var = vars[i - 1];
      if (i <= count) {
        writer.bring(var);
        writer.line(fmt::format("const int64_t {} = {} / {}{};", var_name(var), number, below,
                                i == 1 ? "" : fmt::format(" % {}", nodes().extent(var))));
      }
      below *= nodes().extent(var);
    }
  }

  // Runs of the last variable: from `from` to `to` in the common number, each with its other variables decoded.
  void runs(Writer& writer, const std::vector<VarId>& vars, const std::string& number, const std::string& from,
            const std::string& to, const std::function<void(const std::string& first, const std::string& end)>& body) {
    const VarId last = vars.back();
    if (vars.size() == 1) return body(from, to);
    const std::string first = writer.fresh("first"), end = writer.fresh("end"), count = writer.fresh("count");
    writer.open();
    writer.line(fmt::format("const int64_t {} = {} % {}, {} = ll_min_index({}, {} + {} - {}), {} = {} - {};", first,
                            number, nodes().extent(last), end, nodes().extent(last), first, to, number, count, end,
                            first));
    decode(writer, vars, number, vars.size() - 1);
    body(first, end);
    const std::string text = writer.close();
    writer.line(fmt::format("for (int64_t {} = {}; {} < {};) {{\n{}{} += {};\n}}", number, from, number, to, text,
                            number, count));
  }

  std::string finish(Writer& writer, const std::string& head) {
    has_checks_ |= writer.has_checks();
    std::string text = head + fmt::format(
                                  "const struct {}_data* D = (const struct {}_data*)data;\nconst struct ll_host* H = "
                                  "D->H;\n(void)H;\n(void)batch;\n",
                                  name_, name_);
    for (const ArrayId array : writer.arrays()) use(array, text);
    for (const VarId var : writer.outer_vars()) {
      counters_.push_back(var);
      text += fmt::format("const int64_t {} = D->{};\n", var_name(var), var_name(var));
    }
    return text + writer.close() + "}\n\n";
  }
  void use(ArrayId array, std::string& text) {
    if (std::ranges::find(arrays_, array) == arrays_.end()) arrays_.push_back(array);
    text += fmt::format("{}{}* restrict {} = D->{};\n", is_written(array) ? "" : "const ",
                        storage_type(stepped_.program.arrays[array].dtype), array_name(array), array_name(array));
  }

  // Whether neighbours along the last of `vars` lie next to each other in every array that has them.
  bool is_contiguous(const Flat& flat, NodeId value) {
    bool contiguous = true, any = false;
    nodes().for_each(value, [&](const Node& node, NodeId) {
      if (node.kind != NodeKind::load) return;
      const auto step = nodes().coefficient(nodes().operands(node)[0], flat.vars.back());
      any |= step == 1;
      contiguous &= step == 1 || step == 0;
    });
    return any && contiguous;
  }

  std::string pack(const std::string& side, NodeId factor, const std::vector<VarId>& lanes, const std::string& width) {
    Flat lane{lanes, {flatten(factor)}}, depth{step_.k, {}};
    std::vector<NodeId> nothing;
    merge(nodes(), lane, nothing);
    depth.values = lane.values;
    merge(nodes(), depth, nothing);
    const NodeId value = depth.values[0];
    Writer writer = make_writer({value});
    decode(writer, step_.batch, "batch", step_.batch.size());
    const bool along_depth = !is_contiguous(lane, value) && is_contiguous(depth, value);
    writer.open();
    writer.line(
        fmt::format("{}* restrict panel = out + (p - from) * (k1 - k0);\nconst int64_t end = ll_min_index(to, p + {});",
                    value_type(step_.type), width));
    writer.line(
        fmt::format("if (end - p < {}) for (int64_t i = 0; i < {} * (k1 - k0); ++i) panel[i] = 0;", width, width));
    if (along_depth)
      pack_rows(writer, lane, depth, value, width);
    else
      pack_columns(writer, lane, depth, value, width);
    const std::string body = writer.close();
    writer.line(fmt::format("for (int64_t p = from; p < to; p += {}) {{\n{}}}", width, body));
    return finish(writer, fmt::format("static void {}_pack_{}(const void* data, int64_t batch, int64_t from, int64_t "
                                      "to, int64_t k0, int64_t k1, {}* out) {{\n",
                                      name_, side, value_type(step_.type)));
  }

  // Lane after lane, each along k.
  void pack_rows(Writer& writer, const Flat& lane, const Flat& depth, NodeId value, const std::string& width) {
    writer.open();
    decode(writer, lane.vars, "l", lane.vars.size());
    runs(writer, depth.vars, "k", "k0", "k1", [&](const std::string& first, const std::string& end) {
      const VarId var = depth.vars.back();
      const std::string start = depth.vars.size() == 1 ? "k0" : fmt::format("({} - (k - k0))", first);
      write_row(nodes(), writer,
                {.var = var,
                 .from = first,
                 .to = end,
                 .values = {value},
                 .body =
                     [&] {
                       writer.line(fmt::format("panel[({} - {}) * {} + (l - p)] = {};", var_name(var), start, width,
                                               writer.value(value)));
                     },
                 .is_vector = false});
    });
    const std::string body = writer.close();
    writer.line(loop_head("l", "p", "end") + body + "}");
  }

  // Runs of lanes, for one k after another.
  void pack_columns(Writer& writer, const Flat& lane, const Flat& depth, NodeId value, const std::string& width) {
    runs(writer, lane.vars, "l", "p", "end", [&](const std::string& first, const std::string& end) {
      const VarId var = lane.vars.back();
      writer.open();
      for (const VarId each : depth.vars) writer.bring(each);
      writer.line(fmt::format("{}* restrict row = panel + (k - k0) * {}{};", value_type(step_.type), width,
                              lane.vars.size() == 1 ? "" : " + (l - p)"));
      write_row(nodes(), writer,
                {.var = var, .from = first, .to = end, .values = {value}, .body = [&] {
                   writer.line(fmt::format("row[{} - {}] = {};", var_name(var), first, writer.value(value)));
                 }});
      std::string advance;
      for (size_t i = depth.vars.size(); i-- > 0;) {
        const std::string name = var_name(depth.vars[i]);
        advance += i == 0 ? fmt::format("++{};\n", name)
                          : fmt::format("if (++{} == {}) {{ {} = 0;\n", name, nodes().extent(depth.vars[i]), name);
      }
      advance += std::string(depth.vars.size() - 1, '}') + "\n";
      const std::string body = writer.close();
      std::string start;
      int64_t below = 1;
      for (size_t i = depth.vars.size(); i-- > 0;) {
        start +=
            fmt::format("int64_t {} = k0 / {} % {};\n", var_name(depth.vars[i]), below, nodes().extent(depth.vars[i]));
        below *= nodes().extent(depth.vars[i]);
      }
      writer.line("{\n" + start + loop_head("k", "k0", "k1") + body + advance + "}\n}");
    });
  }

  struct Target {  // one array that a finished element goes to
    ArrayId array = none;
    NodeId value = none;  // `none`: the sum itself
    NodeId position = none;
    bool is_read = false;
  };

  std::string store() {
    std::vector<Target> targets = find_targets();
    Flat columns{step_.n, {}}, rows{step_.m, {}};
    for (const Target& target : targets) {
      columns.values.push_back(target.position);
      if (target.value != none) columns.values.push_back(target.value);
    }
    std::vector<NodeId> nothing;
    merge(nodes(), columns, nothing);
    rows.values = columns.values;
    merge(nodes(), rows, nothing);
    size_t next = 0;
    for (Target& target : targets) {
      target.position = rows.values[next++];
      if (target.value != none) target.value = rows.values[next++];
    }
    Writer writer = make_writer(rows.values);
    decode(writer, step_.batch, "batch", step_.batch.size());
    writer.open();
    decode(writer, rows.vars, "m", rows.vars.size());
    writer.line(fmt::format("const {}* restrict row = c + (m - m0) * width;", value_type(step_.type)));
    runs(writer, columns.vars, "n", "n0", "n1", [&](const std::string& first, const std::string& end) {
      const VarId var = columns.vars.back();
      const std::string start = columns.vars.size() == 1 ? "n0" : fmt::format("({} - (n - n0))", first);
      std::vector<NodeId> values;
      for (const Target& target : targets)
        if (target.value != none) values.push_back(target.value);
      write_row(nodes(), writer, {.var = var, .from = first, .to = end, .values = values, .body = [&] {
                                    for (const Target& target : targets)
                                      write_target(writer, target, fmt::format("row[{} - {}]", var_name(var), start));
                                  }});
    });
    const std::string body = writer.close();
    writer.line(loop_head("m", "m0", "m1") + body + "}");
    const std::string head = fmt::format(
        "static void {}_store(const void* data, int64_t batch, int64_t m0, int64_t m1, int64_t n0, int64_t n1, const "
        "{}* c, int64_t width) {{\n",
        name_, value_type(step_.type));
    std::string pointers;
    for (const Target& target : targets)
      if (stored_[target.array] && std::ranges::find(writer.arrays(), target.array) == writer.arrays().end())
        use(target.array, pointers);
    std::string text = finish(writer, head);
    const size_t at = text.find("(void)H;\n");
    return text.insert(at, pointers);
  }

  // The sum and the maps that follow it, all in the contraction's variables.
  std::vector<Target> find_targets() {
    std::vector<Target> targets;
    const auto add = [&](const FoldedCompute& folded, NodeId value) {
      Target target{folded.result, value, none, false};
      std::vector<NodeId> subscripts;
      size_t level = 0;
      for (const VarId var : folded.dims)
        subscripts.push_back(var == none ? nodes().integer(0) : nodes().var(step_.folded.loops[level++]));
      target.position = nodes().position(subscripts, row_major(stepped_.program.arrays[folded.result].shape));
      targets.push_back(target);
    };
    add(step_.folded, none);
    for (const FoldedCompute& folded : step_.epilogue) {
      Substitution by;
      for (size_t i = 0; i < folded.loops.size(); ++i) by.emplace(folded.loops[i], nodes().var(step_.folded.loops[i]));
      const NodeId value = flatten(nodes().substitute(folded.body, by));
      nodes().for_each(value, [&](const Node& node, NodeId) {
        if (node.kind != NodeKind::load) return;
        for (Target& target : targets) target.is_read |= target.array == node.array;
      });
      add(folded, value);
    }
    return targets;
  }

  void write_target(Writer& writer, const Target& target, const std::string& sum) {
    const DType dtype = stepped_.program.arrays[target.array].dtype;
    std::string value = target.value != none ? writer.value(target.value) : sum;
    if (target.value == none && compute_type(dtype) != step_.type)
      value = cast_text(step_.type, dtype, value);
    else if (compute_type(dtype) != dtype && target.is_read)
      value = cast_text(compute_type(dtype), dtype, value);
    const std::string own = writer.fresh("x");
    writer.line(fmt::format("const {} {} = {};", value_type(dtype), own, value));
    if (stored_[target.array])
      writer.line(
          fmt::format("{}[{}] = {};", array_name(target.array), writer.index(target.position), to_storage(dtype, own)));
    if (target.is_read) {
      writer.define(nodes().load_at(target.array, target.position, none, {}), own);
      if (!stored_[target.array]) writer.set_access(target.array, {own, dtype, true, writer.depth()});
    }
  }

  SteppedProgram& stepped_;
  const ContractionStep& step_;
  const Stored& stored_;
  std::string name_;
  std::vector<ArrayId> results_;
  std::vector<ArrayId> arrays_;
  std::vector<VarId> counters_;
  bool has_checks_ = false;
};

}  // namespace

StepFunction emit_contraction(SteppedProgram& stepped, const ContractionStep& step, const Stored& stored,
                              const std::string& name) {
  return ProductWriter(stepped, step, stored, name).run();
}

}  // namespace lightline::loops::c
