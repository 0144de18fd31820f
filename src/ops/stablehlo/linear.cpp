// StableHLO: Fourier transforms, and the solvers that JAX calls by name (LAPACK on the CPU, cuSOLVER on GPUs).
#include <fmt/format.h>

#include "ops/build/registry.h"
#include "ops/library/linear_algebra/linear_algebra.h"
#include "ops/library/spectral/fourier.h"
#include "ops/stablehlo/stablehlo.h"

namespace lightline::ops {
namespace {

using namespace stablehlo;

void define_fft(OpCall& c) {
  Lowering& l = c.lowering();
  SymbolicTensor x = first_operand(c);
  if (x.dtype == DType::f64) x = l.cast(x, DType::f32);  // complex numbers of two f64 are read as two f32
  const std::vector<int64_t> length = c.integers("fft_length");
  require(!length.empty() && int64_t(length.size()) <= x.rank(), "a transform has more dimensions than its tensor");
  std::vector<int64_t> dims;
  for (int64_t d = x.rank() - int64_t(length.size()); d < x.rank(); ++d) dims.push_back(d);
  const std::string type = c.text("fft_type", "");
  if (type == "FFT") return c.add_result(complex_transform(l, x, dims, Normalisation::none, false));
  if (type == "IFFT") return c.add_result(complex_transform(l, x, dims, Normalisation::by_count, true));
  if (type == "RFFT") return c.add_result(real_transform(l, x, dims, Normalisation::none, true));
  if (type == "IRFFT")
    return c.add_result(
        l.cast(transform_to_real(l, x, dims, Normalisation::by_count, length.back()), result_type_of(c).dtype));
  fail(fmt::format("there is no transform '{}'", type), ErrorCode::unsupported);
}

SymbolicTensor adjoint(Lowering& l, const SymbolicTensor& a, bool conjugates) {
  const SymbolicTensor turned = l.transpose(a, -2, -1);
  if (!conjugates || a.dtype != DType::c64) return turned;
  return l.map(a.dtype, turned.shape, [&](const Indices& i) { return call(Function::conj, l.read(turned, i)); });
}

// The executable factors are those of real matrices in f32 and f64.
bool can_factor(const SymbolicTensor& a) { return a.rank() >= 2 && (a.dtype == DType::f32 || a.dtype == DType::f64); }
// Those of fewer bits are solved in f32.
DType solving_type(DType dtype) { return dtype == DType::c64 ? dtype : compute_type(dtype); }

SymbolicTensor cholesky_factor(OpCall& c, const SymbolicTensor& a, bool lower) {
  require_square(a);
  return c.lowering().opaque("cholesky", {a}, {{"upper", !lower}}, {{a.dtype, a.shape}})[0];
}

void define_cholesky(OpCall& c) {
  const SymbolicTensor a = first_operand(c);
  if (!can_factor(a)) return add_opaque_results(c, "cholesky", {a});
  c.add_result(cholesky_factor(c, a, c.flag("lower", true)));
}

// x of op(a) x = b, or x op(a) = b.
SymbolicTensor triangular(Lowering& l, const SymbolicTensor& a, const SymbolicTensor& b, bool left, bool lower,
                          bool unit, bool transposed, bool conjugates) {
  require_square(a);
  if (!left)
    return l.transpose(triangular(l, a, l.transpose(b, -2, -1), true, lower, unit, !transposed, conjugates), -2, -1);
  const SymbolicTensor factor = transposed ? adjoint(l, a, conjugates) : a;
  return solved_triangular(l, factor, b, lower == transposed, unit);
}

void define_triangular_solve(OpCall& c) {
  const std::vector<SymbolicTensor> x = operands(c);
  require(x.size() == 2 && x[0].rank() >= 2 && x[1].rank() >= 2, "a triangular solve takes two matrices");
  Lowering& l = c.lowering();
  const DType type = solving_type(x[0].dtype);
  const SymbolicTensor a = l.cast(x[0], type), b = l.cast(x[1], type);
  const std::string how = c.text("transpose_a", "NO_TRANSPOSE");
  const SymbolicTensor result = triangular(l, a, b, c.flag("left_side", true), c.flag("lower", true),
                                           c.flag("unit_diagonal", false), how != "NO_TRANSPOSE", how == "ADJOINT");
  c.add_result(l.cast(result, x[1].dtype));
}

// ---- calls by name ----

std::string setting(std::string_view name) { return fmt::format("mhlo.backend_config.{}", name); }
bool setting_is(const OpCall& c, std::string_view name, char letter) { return c.integer(setting(name), 0) == letter; }

void give_success(OpCall& c, size_t result) {
  const TensorType type = result_type_of(c, result);
  const SymbolicTensor zeros = c.lowering().constant(type.dtype, type.shape, {Literal::of(int64_t(0))});
  Formula formula;
  formula.constant = Literal::of(int64_t(0));
  formula.index = [&l = c.lowering()](const Indices&) -> std::optional<Subscript> { return l.constant_index(0); };
  c.lowering().know(zeros, std::move(formula));
  c.add_result(zeros);
}

void call_cholesky(OpCall& c) {
  const SymbolicTensor a = first_operand(c);
  if (!can_factor(a)) return add_opaque_results(c, "cholesky", {a});
  c.add_result(cholesky_factor(c, a, !setting_is(c, "uplo", 'U') && c.flag(setting("lower"), true)));
  give_success(c, 1);
}

void call_elimination(OpCall& c) {
  const SymbolicTensor a = first_operand(c);
  if (!can_factor(a)) return add_opaque_results(c, "lu", {a});
  const Eliminated result = eliminated(c.lowering(), a);
  c.add_result(result.factors);
  c.add_result(result.pivots);
  give_success(c, 2);
}

void call_triangular_solve(OpCall& c) {
  const std::vector<SymbolicTensor> x = operands(c);
  require(x.size() >= 2 && x[0].rank() >= 2 && x[1].rank() >= 2, "a triangular solve takes two matrices");
  const bool transposed = setting_is(c, "trans_x", 'T') || setting_is(c, "trans_x", 'C');
  c.add_result(triangular(c.lowering(), x[0], x[1], !setting_is(c, "side", 'R'), setting_is(c, "uplo", 'L'),
                          setting_is(c, "diag", 'U'), transposed, setting_is(c, "trans_x", 'C')));
}

Definition named(const char* name) {
  return [name](OpCall& c) { add_opaque_results(c, name, operands(c)); };
}

// LAPACK's name in all four precisions, and that of cuSOLVER.
Operator& add_call(Registry& r, const std::string& routine, const Definition& define, const std::string& gpu = "") {
  std::vector<std::string> names;
  for (const char* precision : {"d", "c", "z"})
    names.push_back(fmt::format("stablehlo.custom_call.lapack_{}{}_ffi", precision, routine));
  if (!gpu.empty()) {
    names.push_back("stablehlo.custom_call.cusolver_" + gpu + "_ffi");
    names.push_back("stablehlo.custom_call.hipsolver_" + gpu + "_ffi");
  }
  return r.add(fmt::format("stablehlo.custom_call.lapack_s{}_ffi", routine), "", define, std::move(names));
}

}  // namespace

void register_stablehlo_linear(Registry& r) {
  r.add("stablehlo.fft", "operand", define_fft);
  r.add("stablehlo.cholesky", "a", define_cholesky);
  r.add("stablehlo.triangular_solve", "a, b", define_triangular_solve);
  add_call(r, "potrf", call_cholesky, "potrf");
  add_call(r, "getrf", call_elimination, "getrf");
  add_call(r, "trsm", call_triangular_solve);
  add_call(r, "gesdd", named("svd"), "gesvd").opaque = true;
  add_call(r, "gesvd", named("svd"), "gesvdj").opaque = true;
  add_call(r, "syevd", named("eigh"), "syevd").opaque = true;
  add_call(r, "heevd", named("eigh")).opaque = true;
  add_call(r, "geev", named("eig")).opaque = true;
  add_call(r, "gees", named("schur")).opaque = true;
  add_call(r, "gehrd", named("hessenberg")).opaque = true;
  add_call(r, "sytrd", named("tridiagonal"), "sytrd").opaque = true;
  add_call(r, "gtsv", named("tridiagonal_solve")).opaque = true;
}

}  // namespace lightline::ops
