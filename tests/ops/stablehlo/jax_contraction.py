"""Products of matrices, convolutions, windows and linear algebra."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax_suite import BF16, BOOL, C64, F16, F32, F64, FLOATS, I8, I32, I64, NUMBERS, U8, Suite, X

LOOSE = (2e-4, 2e-4)


def cases(suite: Suite) -> None:
    products(suite)
    einsums(suite)
    convolutions(suite)
    windows(suite)
    norms(suite)
    solvers(suite)
    factorisations(suite)
    polynomials(suite)


def products(suite: Suite) -> None:
    suite.call("jnp.dot", X(3, 4), X(4, 5), dtypes=(*NUMBERS, C64, I8), grad=True)
    suite.call("jnp.dot", X(4), X(4))
    suite.call("jnp.dot", X(2, 3, 4), X(5, 4, 6))
    suite.call("jnp.matmul", X(3, 4), X(4, 5), dtypes=(*FLOATS, I32, BOOL), grad=True)
    suite.call("jnp.matmul", X(2, 1, 3, 4), X(5, 4, 6), grad=True)
    suite.call("jnp.matmul", X(4), X(2, 4, 3))
    suite.call("jnp.matmul", X(3, 4), X(4, 5), preferred_element_type=jnp.float32, dtypes=(BF16, F16))
    for name in ("vdot", "inner"):
        suite.call(f"jnp.{name}", X(4), X(4), dtypes=(F32, C64, I32))
    suite.call("jnp.inner", X(3, 4), X(5, 4))
    suite.call("jnp.outer", X(3), X(4), dtypes=(F32, I32), grad=True)
    suite.call("jnp.vecdot", X(3, 4), X(4))
    suite.call("jnp.matvec", X(2, 3, 4), X(2, 4))
    suite.call("jnp.vecmat", X(2, 3), X(2, 3, 4))
    suite.call("jnp.tensordot", X(2, 3, 4), X(4, 3, 5), axes=((1, 2), (1, 0)), grad=True)
    suite.call("jnp.tensordot", X(2, 3), X(3, 4), axes=1)
    suite.call("jnp.kron", X(2, 3), X(3, 2), dtypes=(F32, I32))
    suite.call("jnp.cross", X(5, 3), X(3), grad=True)
    suite.call("jnp.cross", X(5, 2), X(5, 2))
    for name in ("dot", "batch_matmul"):
        suite.call(f"lax.{name}", *((X(2, 3, 4), X(2, 4, 5)) if name[0] == "b" else (X(3, 4), X(4, 5))))
    suite.call("lax.dot_general", X(2, 3, 4, 5), X(2, 5, 6, 3), (((3, 1), (1, 3)), ((0,), (0,))), grad=True)
    suite.call(
        "lax.dot_general", X(3, 4), X(5, 4), (((1,), (1,)), ((), ())), preferred_element_type=jnp.int32, dtypes=(I8,)
    )
    ragged_products(suite)


def ragged_products(suite: Suite) -> None:
    """Groups may be empty, and rows past the last group give 0."""
    sizes = X(3, dtype=I32, values=[2, 0, 5])
    suite.call("lax.ragged_dot", X(9, 4), X(3, 4, 5), sizes, dtypes=FLOATS, grad=True)
    suite.call("lax.ragged_dot", X(7, 4), X(3, 4, 5), sizes, preferred_element_type=jnp.int32, dtypes=(I8,))
    of_batches = X(2, 3, dtype=I32, values=[2, 3, 1, 4, 0, 4])
    suite.program("ragged_batches", jax.vmap(lax.ragged_dot), X(2, 8, 4), X(2, 3, 4, 5), of_batches)
    summed = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    suite.call("lax.ragged_dot_general", X(9, 4), X(9, 5), sizes, summed, dtypes=(F32, BF16))
    batched = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (0,), ())
    suite.call("lax.ragged_dot_general", X(9, 2, 4), X(9, 4, 5), sizes, batched)


def einsums(suite: Suite) -> None:
    for text, *shapes in (
        ("ij,jk->ik", (3, 4), (4, 5)),
        ("bij,bkj->bik", (2, 3, 4), (2, 5, 4)),
        ("ij->ji", (3, 4)),
        ("ii->i", (4, 4)),
        ("ii", (4, 4)),
        ("ij->", (3, 4)),
        ("i,j->ij", (3,), (4,)),
        ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)),
        ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
        ("...i,ij->...j", (2, 3, 4), (4, 5)),
        ("bi,bi->b", (3, 4), (3, 4)),
        ("abc,cd,bd->ad", (2, 3, 4), (4, 5), (3, 5)),
    ):
        suite.call("jnp.einsum", text, *(X(*shape) for shape in shapes), grad=True)


def convolutions(suite: Suite) -> None:
    image, kernel = X(2, 4, 9, 8), X(6, 4, 3, 3)
    conv = "lax.conv_general_dilated"
    suite.call("lax.conv", image, kernel, (1, 1), "SAME", dtypes=(F32, BF16, F64), grad=True)
    suite.call("lax.conv_with_general_padding", image, kernel, (2, 1), ((1, 0), (2, 1)), (1, 1), (1, 2))
    suite.call(conv, image, kernel, (2, 2), "SAME", grad=True)
    suite.call(conv, image, kernel, (1, 2), ((1, 2), (0, 1)), rhs_dilation=(2, 2), grad=True)
    suite.call(conv, image, kernel, (1, 1), ((2, 2), (2, 2)), lhs_dilation=(2, 3), grad=True)
    suite.call(conv, image, kernel, (1, 1), ((-1, 2), (3, -1)))
    suite.call(conv, image, X(6, 2, 3, 3), (1, 1), "VALID", feature_group_count=2, grad=True)
    suite.call(conv, image, X(4, 1, 3, 3), (2, 1), "SAME", feature_group_count=4)
    suite.call(conv, X(4, 3, 6, 6), X(8, 3, 3, 3), (1, 1), "VALID", batch_group_count=2)
    for numbers in (("NHWC", "HWIO", "NHWC"), ("NHWC", "OHWI", "NCHW"), ("CNHW", "IOHW", "NHWC")):
        letters = dict(zip(numbers[0], (0, 0, 0, 0), strict=True))
        left = X(*({"N": 2, "C": 4, "H": 6, "W": 5}[c] for c in letters))
        right = X(*({"O": 3, "I": 4, "H": 3, "W": 2}[c] for c in numbers[1]))
        suite.call(conv, left, right, (1, 1), "SAME", dimension_numbers=numbers, grad=True)
    suite.call(conv, X(2, 3, 10), X(5, 3, 4), (2,), "SAME", dimension_numbers=("NCH", "OIH", "NCH"))
    suite.call(conv, X(1, 2, 4, 5, 6), X(3, 2, 2, 3, 2), (1, 2, 1), "SAME")
    suite.call(conv, image, kernel, (1, 1), "SAME", preferred_element_type=jnp.float32, dtypes=(BF16,))
    suite.call(conv, X(1, 3, 6, 6), X(2, 3, 3, 3), (1, 1), "SAME", preferred_element_type=jnp.int32, dtypes=(I8,))
    for padding in ("SAME", "VALID"):
        suite.call("lax.conv_transpose", X(2, 5, 5, 3), X(3, 3, 3, 4), (2, 2), padding, grad=True)
    suite.call("lax.conv_general_dilated_patches", X(2, 3, 6, 6), (2, 3), (1, 2), "VALID")
    suite.call("lax.conv_general_dilated_local", X(1, 2, 4, 4), X(3, 8, 3, 3), (1, 1), "VALID", (2, 2))
    for mode in ("full", "same", "valid"):
        suite.call("jnp.convolve", X(10), X(4), mode=mode)
        suite.call("jnp.correlate", X(10), X(4), mode=mode)
    suite.call("jsp.signal.convolve2d", X(6, 5), X(3, 2), mode="same")
    suite.call("jsp.signal.convolve", X(6, 5), X(3, 2))


def windows(suite: Suite) -> None:
    def pooled(reducer: object, start: float, window: tuple, strides: tuple, padding: object, **more: object) -> object:
        return lambda x: lax.reduce_window(x, x.dtype.type(start), reducer, window, strides, padding, **more)

    image = X(2, 7, 6, 3)
    for name, reducer, start in (("add", lax.add, 0.0), ("max", lax.max, -jnp.inf), ("min", lax.min, jnp.inf)):
        suite.program(
            f"window_{name}",
            pooled(reducer, start, (1, 3, 2, 1), (1, 2, 1, 1), "SAME"),
            image,
            dtypes=(F32, BF16, F64),
            grad=True,
        )
        suite.program(
            f"window_{name}_valid", pooled(reducer, start, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), image, grad=True
        )
    suite.program("window_mul", pooled(lax.mul, 1.0, (1, 3, 2, 1), (1, 2, 1, 1), "SAME"), image)
    suite.program("window_max_int", pooled(lax.max, -100, (3, 2), (1, 2), "SAME"), X(6, 7), dtypes=(I32, I64))
    suite.program(
        "window_dilated", pooled(lax.add, 0.0, (2, 2), (1, 1), ((1, 1), (0, 2)), window_dilation=(2, 1)), X(6, 7)
    )
    suite.program(
        "window_base_dilated", pooled(lax.add, 0.0, (3, 2), (1, 1), ((1, 1), (0, 2)), base_dilation=(2, 3)), X(4, 5)
    )
    suite.program("window_smooth", pooled(jnp.logaddexp, -jnp.inf, (3,), (1,), "SAME"), X(9))


def norms(suite: Suite) -> None:
    suite.call("jnp.linalg.norm", X(3, 4), grad=True, dtypes=FLOATS)
    for order in (1, 2, 3, jnp.inf, -jnp.inf, 0):
        suite.call("jnp.linalg.norm", X(3, 4), ord=order, axis=1)
    for order in ("fro", 1, -1, jnp.inf, -jnp.inf):
        suite.call("jnp.linalg.norm", X(3, 4), ord=order)
    suite.call("jnp.linalg.vector_norm", X(3, 4), axis=0)
    suite.call("jnp.linalg.matrix_norm", X(3, 4))
    suite.call("jnp.linalg.matrix_power", X(4, 4), 3)
    suite.call("jnp.linalg.matrix_power", X(4, 4), 5)
    suite.call("jnp.linalg.multi_dot", [X(3, 4), X(4, 5), X(5, 2)])
    for name, shapes in (
        ("matmul", ((3, 4), (4, 5))),
        ("outer", ((3,), (4,))),
        ("cross", ((3,), (3,))),
        ("vecdot", ((4,), (4,))),
    ):
        suite.call(f"jnp.linalg.{name}", *(X(*shape) for shape in shapes))
    suite.call("jnp.linalg.tensordot", X(2, 3), X(3, 4), axes=1)
    suite.call("jnp.linalg.trace", X(4, 4))
    suite.call("jnp.linalg.diagonal", X(4, 4))
    suite.call("jnp.linalg.matrix_transpose", X(3, 4))


def solvers(suite: Suite) -> None:
    matrix = X(4, 4, symmetric=True)
    for name, more in (("inv", ()), ("det", ()), ("slogdet", ()), ("solve", (X(4, 3),))):
        suite.call(
            f"jnp.linalg.{name}", matrix, *more, dtypes=(F32, F64), grad=name != "slogdet", tolerance={F32: LOOSE}
        )
        suite.call(f"jnp.linalg.{name}", X(2, 4, 4, symmetric=True), *(X(2, 4, 3) for _ in more), tolerance=LOOSE)
    suite.call("jnp.linalg.solve", matrix, X(4), tolerance=LOOSE)
    for name in ("inv", "det"):
        suite.call(f"jnp.linalg.{name}", X(3, 3, symmetric=True), tolerance=LOOSE)
    suite.call("jnp.linalg.cholesky", matrix, dtypes=(F32, F64), grad=True, tolerance={F32: LOOSE})
    suite.call("jnp.linalg.cholesky", X(2, 4, 4, symmetric=True), upper=True, tolerance=LOOSE)
    suite.call("jsp.linalg.cholesky", matrix, tolerance=LOOSE)
    suite.call(
        "jsp.linalg.cho_solve", (X(4, 4, values=[2, 0, 0, 0, 1, 3, 0, 0, 0, 1, 2, 0, 1, 1, 0, 2]), True), X(4, 2)
    )
    suite.call("jsp.linalg.cho_factor", matrix, tolerance=LOOSE)
    suite.call("jsp.linalg.solve", matrix, X(4, 2), assume_a="pos", tolerance=LOOSE)
    suite.call("jsp.linalg.inv", matrix, tolerance=LOOSE)
    suite.call("jsp.linalg.det", matrix, tolerance=LOOSE)
    for lower in (True, False):
        for trans in (0, 1):
            suite.call(
                "jsp.linalg.solve_triangular", matrix, X(4, 3), lower=lower, trans=trans, grad=True, tolerance=LOOSE
            )
    suite.call("lax.linalg.triangular_solve", matrix, X(3, 4), left_side=False, lower=True, tolerance=LOOSE)
    suite.call("lax.linalg.triangular_solve", matrix, X(4, 3), left_side=True, unit_diagonal=True, tolerance=LOOSE)
    shifted = X(3, 3, values=(3, 0.5, -1j, 1 + 1j, 2 - 1j, 0.25, -0.5j, 1, 2j))
    for flags in ({"lower": True}, {"transpose_a": True}, {"transpose_a": True, "conjugate_a": True}):
        suite.call("lax.linalg.triangular_solve", shifted, X(3, 2), left_side=True, dtypes=(C64,), **flags)
    suite.call("lax.linalg.cholesky", matrix, tolerance=LOOSE)
    suite.call("jsp.linalg.lu_factor", matrix, tolerance=LOOSE)
    suite.call("jsp.linalg.lu_solve", (matrix, X(4, dtype=I32, values=[0, 1, 2, 3])), X(4, 2), tolerance=LOOSE)
    suite.call("jnp.linalg.tensorsolve", X(4, 4, symmetric=True), X(4), tolerance=LOOSE)
    suite.call("jnp.linalg.tensorinv", X(4, 4, symmetric=True), ind=1, tolerance=LOOSE)
    suite.call("jsp.linalg.expm", X(3, 3, low=-0.5, high=0.5), tolerance=LOOSE)
    suite.call("jsp.linalg.block_diag", X(2, 2), X(3, 1))
    suite.call("jsp.linalg.toeplitz", X(4), X(3))


def factorisations(suite: Suite) -> None:
    """What has no loops is named, with its shapes."""
    suite.call("jnp.linalg.qr", X(4, 3), tolerance=LOOSE)
    suite.call("jnp.linalg.svd", X(4, 3), full_matrices=False, runs=False)
    suite.call("jnp.linalg.svdvals", X(4, 3), runs=False)
    suite.call("jnp.linalg.eigh", X(4, 4, symmetric=True), runs=False)
    suite.call("jnp.linalg.eigvalsh", X(4, 4, symmetric=True), runs=False)
    suite.call("jnp.linalg.pinv", X(4, 3), runs=False)
    suite.call("jnp.linalg.matrix_rank", X(4, 3), runs=False)
    suite.call("jnp.linalg.cond", X(4, 3), runs=False)
    suite.call("jnp.linalg.lstsq", X(4, 3), X(4), runs=False)
    suite.call("jnp.linalg.eig", X(4, 4), runs=False)


def polynomials(suite: Suite) -> None:
    suite.call("jnp.polyval", X(4), X(3, 5), grad=True)
    for name in ("polyadd", "polysub", "polymul"):
        suite.call(f"jnp.{name}", X(4), X(3))
    suite.call("jnp.polyder", X(5), 2)
    suite.call("jnp.polyint", X(5), 1)
    suite.call("jnp.convolve", X(5), X(3), dtypes=(I32,))
    suite.call("jnp.vander", X(4), 4, increasing=True, dtypes=(F32, I32, U8))
