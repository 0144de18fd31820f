// Contractions: functions that pack panels of the two factors and store finished blocks, around the prelude's product.
#include <fmt/format.h>

#include <algorithm>

#include "loops/emit_c/function.h"
#include "loops/emit_c/row.h"

namespace lightline::loops::c {
namespace {

class ProductWriter {
 public:
  ProductWriter(SteppedProgram& stepped, const ProductKernel& kernel, const Stored& stored, const std::string& name)
      : stepped_(stepped), kernel_(kernel), stored_(stored), name_(name) {}

  StepFunction run() {
    const std::string a = pack("a", kernel_.a, "LL_MR");
    const std::string b = pack("b", kernel_.b, fmt::format("LL_NR_{}", suffix(kernel_.type)));
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
                    suffix(kernel_.type), kernel_.batch_size, kernel_.rows_size, kernel_.columns_size,
                    kernel_.depth_size, name_, name_, name_);
    function.text +=
        fmt::format("const int failed = ll_multiply_{}(H, &product);\nreturn failed ? failed : {};\n}}\n\n",
                    suffix(kernel_.type), has_checks_ ? "*H->failed" : "0");
    return function;
  }

 private:
  Nodes& nodes() { return stepped_.nodes; }
  bool is_written(ArrayId array) const {
    return std::ranges::find(kernel_.targets, array, &ProductTarget::array) != kernel_.targets.end();
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

  std::string pack(const std::string& side, const PackedFactor& factor, const std::string& width) {
    Writer writer = make_writer({factor.value});
    decode(writer, kernel_.batch, "batch", kernel_.batch.size());
    writer.open();
    writer.line(
        fmt::format("{}* restrict panel = out + (p - from) * (k1 - k0);\nconst int64_t end = ll_min_index(to, p + {});",
                    value_type(kernel_.type), width));
    writer.line(
        fmt::format("if (end - p < {}) for (int64_t i = 0; i < {} * (k1 - k0); ++i) panel[i] = 0;", width, width));
    if (factor.along_depth)
      pack_rows(writer, factor, width);
    else
      pack_columns(writer, factor, width);
    const std::string body = writer.close();
    writer.line(fmt::format("for (int64_t p = from; p < to; p += {}) {{\n{}}}", width, body));
    return finish(writer, fmt::format("static void {}_pack_{}(const void* data, int64_t batch, int64_t from, int64_t "
                                      "to, int64_t k0, int64_t k1, {}* out) {{\n",
                                      name_, side, value_type(kernel_.type)));
  }

  // Lane after lane, each along k.
  void pack_rows(Writer& writer, const PackedFactor& factor, const std::string& width) {
    writer.open();
    decode(writer, factor.lanes, "l", factor.lanes.size());
    runs(writer, factor.depth, "k", "k0", "k1", [&](const std::string& first, const std::string& end) {
      const VarId var = factor.depth.back();
      const std::string start = factor.depth.size() == 1 ? "k0" : fmt::format("({} - (k - k0))", first);
      write_row(nodes(), writer,
                {.var = var,
                 .from = first,
                 .to = end,
                 .guards = factor.guards,
                 .body =
                     [&] {
                       writer.line(fmt::format("panel[({} - {}) * {} + (l - p)] = {};", var_name(var), start, width,
                                               writer.value(factor.value)));
                     },
                 .is_vector = false});
    });
    const std::string body = writer.close();
    writer.line(loop_head("l", "p", "end") + body + "}");
  }

  // Runs of lanes, for one k after another.
  void pack_columns(Writer& writer, const PackedFactor& factor, const std::string& width) {
    runs(writer, factor.lanes, "l", "p", "end", [&](const std::string& first, const std::string& end) {
      const VarId var = factor.lanes.back();
      writer.open();
      for (const VarId each : factor.depth) writer.bring(each);
      writer.line(fmt::format("{}* restrict row = panel + (k - k0) * {}{};", value_type(kernel_.type), width,
                              factor.lanes.size() == 1 ? "" : " + (l - p)"));
      write_row(nodes(), writer,
                {.var = var, .from = first, .to = end, .guards = factor.guards, .body = [&] {
                   writer.line(fmt::format("row[{} - {}] = {};", var_name(var), first, writer.value(factor.value)));
                 }});
      std::string advance;
      for (size_t i = factor.depth.size(); i-- > 0;) {
        const std::string name = var_name(factor.depth[i]);
        advance += i == 0 ? fmt::format("++{};\n", name)
                          : fmt::format("if (++{} == {}) {{ {} = 0;\n", name, nodes().extent(factor.depth[i]), name);
      }
      advance += std::string(factor.depth.size() - 1, '}') + "\n";
      const std::string body = writer.close();
      std::string start;
      int64_t below = 1;
      for (size_t i = factor.depth.size(); i-- > 0;) {
        start += fmt::format("int64_t {} = k0 / {} % {};\n", var_name(factor.depth[i]), below,
                             nodes().extent(factor.depth[i]));
        below *= nodes().extent(factor.depth[i]);
      }
      writer.line("{\n" + start + loop_head("k", "k0", "k1") + body + advance + "}\n}");
    });
  }

  std::string store() {
    std::vector<NodeId> values;
    for (const ProductTarget& target : kernel_.targets) {
      values.push_back(target.position);
      if (target.value != none) values.push_back(target.value);
    }
    Writer writer = make_writer(values);
    decode(writer, kernel_.batch, "batch", kernel_.batch.size());
    writer.open();
    decode(writer, kernel_.rows, "m", kernel_.rows.size());
    writer.line(fmt::format("const {}* restrict row = c + (m - m0) * width;", value_type(kernel_.type)));
    runs(writer, kernel_.columns, "n", "n0", "n1", [&](const std::string& first, const std::string& end) {
      const VarId var = kernel_.columns.back();
      const std::string start = kernel_.columns.size() == 1 ? "n0" : fmt::format("({} - (n - n0))", first);
      write_row(nodes(), writer, {.var = var, .from = first, .to = end, .guards = kernel_.guards, .body = [&] {
                                    for (const ProductTarget& target : kernel_.targets)
                                      write_target(writer, target, fmt::format("row[{} - {}]", var_name(var), start));
                                  }});
    });
    const std::string body = writer.close();
    writer.line(loop_head("m", "m0", "m1") + body + "}");
    const std::string head = fmt::format(
        "static void {}_store(const void* data, int64_t batch, int64_t m0, int64_t m1, int64_t n0, int64_t n1, const "
        "{}* c, int64_t width) {{\n",
        name_, value_type(kernel_.type));
    std::string pointers;
    for (const ProductTarget& target : kernel_.targets)
      if (stored_[target.array] && std::ranges::find(writer.arrays(), target.array) == writer.arrays().end())
        use(target.array, pointers);
    std::string text = finish(writer, head);
    const size_t at = text.find("(void)H;\n");
    return text.insert(at, pointers);
  }

  void write_target(Writer& writer, const ProductTarget& target, const std::string& sum) {
    const DType dtype = stepped_.program.arrays[target.array].dtype;
    std::string value = target.value != none ? writer.value(target.value) : sum;
    if (target.value == none && compute_type(dtype) != kernel_.type)
      value = cast_text(kernel_.type, dtype, value);
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
  const ProductKernel& kernel_;
  const Stored& stored_;
  std::string name_;
  std::vector<ArrayId> arrays_;
  std::vector<VarId> counters_;
  bool has_checks_ = false;
};

}  // namespace

StepFunction emit_product(SteppedProgram& stepped, const ProductKernel& kernel, const Stored& stored,
                          const std::string& name) {
  return ProductWriter(stepped, kernel, stored, name).run();
}

}  // namespace lightline::loops::c
