"""Views, splitting, joining, rearranging, padding, triangles."""

from __future__ import annotations

from typing import Any

import torch
from harness import ALL, BF16, BOOL, C64, F32, F64, FLOATS, I32, I64, INTEGERS, NUMBERS, Suite, T


def cases(suite: Suite) -> None:
    shapes(suite)
    permutations(suite)
    parts(suite)
    splitting(suite)
    joining(suite)
    orders(suite)
    padding(suite)
    triangles(suite)
    scattered(suite)
    mutations(suite)


def shapes(suite: Suite) -> None:
    for name in ("view", "reshape", "_unsafe_view"):
        suite.case(f"aten.{name}", T(2, 6), [3, 4], dtypes=ALL)
        suite.case(f"aten.{name}", T(2, 6, 5), [4, -1])
        suite.case(f"aten.{name}", T(1, 1), [])
        suite.case(f"aten.{name}", T(0, 3), [3, 0])
    suite.case("aten.view_copy", T(2, 6), [12])
    suite.case("aten.view_as", T(2, 6), T(3, 4))
    suite.case("aten.reshape_as", T(2, 6), T(3, 4))
    suite.case("aten.flatten.using_ints", T(2, 3, 4))
    suite.case("aten.flatten.using_ints", T(2, 3, 4), 1)
    suite.case("aten.flatten.using_ints", T(2, 3, 4), -3, -2)
    suite.case("aten.flatten.using_ints", T())
    suite.case("aten.unflatten.int", T(2, 12), 1, [3, -1])
    suite.case("aten.unflatten.int", T(12, 2), -2, [2, 2, 3])
    suite.case("aten.ravel", T(2, 3))
    suite.case("aten.expand", T(2, 1, 4), [2, 3, 4], dtypes=ALL)
    suite.case("aten.expand", T(1, 4), [5, -1, -1])
    suite.case("aten.expand", T(), [2, 3])
    suite.case("aten.expand_copy", T(1, 4), [3, 4])
    suite.case("aten.expand_as", T(1, 4), T(3, 4))
    suite.case("aten.broadcast_to", T(1, 4), [3, 4])
    suite.case("aten.broadcast_tensors", [T(3, 1), T(4), T(2, 1, 1)])
    suite.case("aten.meshgrid", [T(3), T(4), T(2)])
    suite.case("aten.meshgrid.indexing", [T(3), T(4), T(2)], indexing="xy")
    suite.case("aten.meshgrid.indexing", [T(3), T(4)], indexing="ij")
    suite.case("aten.squeeze", T(1, 3, 1), in_place=False)
    suite.case("aten.squeeze.dim", T(1, 3, 1), 0, in_place=False)
    suite.case("aten.squeeze.dim", T(1, 3, 1), 1, in_place=False)
    suite.case("aten.squeeze.dims", T(1, 3, 1), [0, -1], in_place=False)
    suite.case("aten.squeeze_copy", T(1, 3, 1))
    suite.case("aten.unsqueeze", T(2, 3), 1, in_place=False)
    suite.case("aten.unsqueeze", T(2, 3), -1, in_place=False)
    suite.case("aten.unsqueeze", T(), 0, in_place=False)
    for rank in (1, 2, 3):
        for shape in ((), (3,), (3, 4), (2, 3, 4)):
            suite.case(f"aten.atleast_{rank}d", T(*shape))
    suite.case("aten.atleast_2d.Sequence", [T(3), T()])


def permutations(suite: Suite) -> None:
    suite.case("aten.permute", T(2, 3, 4), [2, 0, 1], dtypes=ALL)
    suite.case("aten.permute", T(2, 3, 4), [-1, -3, -2])
    suite.case("aten.permute_copy", T(2, 3, 4), [2, 0, 1])
    suite.case("aten.transpose.int", T(2, 3, 4), 0, -1, in_place=False)
    suite.case("aten.transpose.int", T(2, 3, 4), -2, -1, in_place=False)
    suite.case("aten.swapaxes", T(2, 3, 4), 0, 2, in_place=False)
    suite.case("aten.swapdims", T(2, 3, 4), 0, 2, in_place=False)
    suite.case("aten.t", T(2, 3), in_place=False)
    suite.case("aten.t", T(3), in_place=False)
    suite.case("aten.numpy_T", T(2, 3, 4))
    suite.case("aten.mT", T(2, 3, 4))
    suite.case("aten.adjoint", T(2, 3, 4), dtypes=(F32, C64))
    suite.case("aten.mH", T(3, 4))
    suite.case("aten.movedim.int", T(2, 3, 4), 0, -1)
    suite.case("aten.movedim.intlist", T(2, 3, 4, 5), [0, 1], [2, 0])
    suite.case("aten.moveaxis.int", T(2, 3, 4), 2, 0)


def parts(suite: Suite) -> None:
    for arguments in (
        (0, 1, 4),
        (1, 0, 3),
        (1, -3, -1),
        (1, 2),
        (0, 0, 9223372036854775807, 2),
        (-1, 1, 100, 3),
        (0, 4, 2),
    ):
        suite.case("aten.slice.Tensor", T(5, 6), *arguments, dtypes=(F32, BF16, I64, BOOL))
    suite.case("aten.slice_copy.Tensor", T(5, 6), 0, 1, 3)
    suite.case("aten.select.int", T(5, 6), 0, 2, dtypes=ALL)
    suite.case("aten.select.int", T(5, 6), -1, -2)
    suite.case("aten.select_copy.int", T(5, 6), 0, 2)
    suite.case("aten.narrow", T(5, 6), 0, 1, 3)
    suite.case("aten.narrow", T(5, 6), 1, -4, 2)
    suite.case("aten.narrow_copy", T(5, 6), 1, 2, 2)
    suite.case("aten.narrow.Tensor", T(5, 6), 1, T(dtype=I64, values=[2]), 3)
    for offset, dim1, dim2 in ((0, 0, 1), (1, 0, 1), (-2, 0, 2), (1, 2, 0), (9, 0, 1)):
        suite.case("aten.diagonal", T(3, 4, 5), offset, dim1, dim2)
    suite.case("aten.diagonal_copy", T(3, 4), 1)
    suite.case("aten.linalg_diagonal", T(2, 3, 4), offset=1)
    suite.case("aten.unfold", T(3, 9), 1, 3, 2)
    suite.case("aten.unfold", T(9, 3), 0, 2, 1)
    suite.case("aten.unfold_copy", T(9, 3), 0, 2, 3)
    suite.case("aten.as_strided", T(4, 6), [3, 2], [6, 2], in_place=False)
    suite.case("aten.as_strided", T(4, 6), [3, 4], [2, 1], 5, in_place=False)
    suite.case("aten.as_strided_copy", T(24), [3, 3], [1, 1], 2)
    suite.case_module(lambda x: x[1:].as_strided((2, 3), (6, 1)) + 1, T(4, 6), name="as_strided_of_a_view")
    suite.case_module(lambda x, i: x.select(0, i.item()), T(4, 6), T(dtype=I64, values=[2]), name="select_moving")


def splitting(suite: Suite) -> None:
    suite.case("aten.split.Tensor", T(7, 3), 3, dtypes=ALL)
    suite.case("aten.split.Tensor", T(3, 7), 2, 1)
    suite.case("aten.split.sizes", T(7, 3), [2, 4, 1])
    suite.case("aten.split_with_sizes", T(3, 7), [2, 4, 1], -1)
    suite.case("aten.split_with_sizes_copy", T(3, 7), [2, 4, 1], -1)
    suite.case("aten.split_copy.Tensor", T(7, 3), 3)
    suite.case("aten.unsafe_split.Tensor", T(7, 3), 3)
    suite.case("aten.chunk", T(7, 3), 3)
    suite.case("aten.chunk", T(3, 7), 4, 1)
    suite.case("aten.unsafe_chunk", T(8, 3), 2)
    suite.case("aten.tensor_split.sections", T(7, 3), 3)
    suite.case("aten.tensor_split.indices", T(7, 3), [2, 5])
    suite.case("aten.tensor_split.indices", T(3, 7), [3, -1], 1)
    suite.case("aten.hsplit.int", T(3, 6), 2)
    suite.case("aten.vsplit.array", T(6, 3), [1, 4])
    suite.case("aten.dsplit.int", T(2, 3, 4), 2)
    suite.case("aten.unbind.int", T(3, 4), dtypes=ALL)
    suite.case("aten.unbind.int", T(3, 4), -1)
    suite.case("aten.unbind_copy.int", T(3, 4), 1)


def joining(suite: Suite) -> None:
    suite.case("aten.cat", [T(2, 3), T(4, 3)], dtypes=(*ALL, torch.complex64))
    suite.case("aten.cat", [T(2, 3), T(2, 1), T(2, 4)], 1, dtypes=NUMBERS)
    suite.case("aten.cat", [T(2, 3), T(2, 3, dtype=I64), T(2, 3, dtype=F64)], -1)
    suite.case("aten.cat", [T(2, k % 3 + 1) for k in range(17)], 1, dtypes=(F32, BF16))
    suite.case("aten.cat", [T(0), T(2, 3), T(1, 3)])
    suite.case("aten.cat", [T(0, 3), T(2, 3)])
    suite.case("aten.cat", [T(2, 3)])
    suite.case("aten.concat", [T(2, 3), T(4, 3)])
    suite.case("aten.stack", [T(2, 3), T(2, 3), T(2, 3)], dtypes=ALL)
    suite.case("aten.stack", [T(2, 3), T(2, 3)], -1)
    suite.case("aten.stack", [T(2, 3, dtype=I64), T(2, 3)], 1)
    suite.case("aten.stack", [T(), T(), T()])
    for name in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
        suite.case(f"aten.{name}", [T(3), T(3)])
        suite.case(f"aten.{name}", [T(2, 3), T(2, 3)])
    suite.case("aten.hstack", [T(2, 3, 4), T(2, 1, 4)])
    suite.case("aten.column_stack", [T(3), T(3, 2)])
    suite.case("aten.block_diag", [T(2, 3), T(1, 1), T(3), T()])
    suite.case("aten.cartesian_prod", [T(3), T(2), T(4)])


def orders(suite: Suite) -> None:
    suite.case("aten.flip", T(2, 3, 4), [0, 2], dtypes=ALL)
    suite.case("aten.flip", T(2, 3), [-1])
    suite.case("aten.fliplr", T(2, 3))
    suite.case("aten.flipud", T(2, 3))
    suite.case("aten.roll", T(3, 5), [2], [1], dtypes=ALL)
    suite.case("aten.roll", T(3, 5), [-1, 7], [0, 1])
    suite.case("aten.roll", T(3, 5), [4])
    suite.case("aten.repeat", T(2, 3), [2, 1], dtypes=ALL)
    suite.case("aten.repeat", T(3), [2, 2, 3])
    suite.case("aten.repeat", T(2, 3), [1, 0])
    suite.case("aten.tile", T(2, 3), [2])
    suite.case("aten.tile", T(3), [2, 2])
    suite.case("aten.repeat_interleave.self_int", T(2, 3), 3, 1, dtypes=ALL)
    suite.case("aten.repeat_interleave.self_int", T(2, 3), 2)
    suite.case("aten.repeat_interleave.self_int", T(2, 3), 2, -2)
    for turns in (0, 1, 2, 3, -1, 5):
        suite.case("aten.rot90", T(2, 3), turns)
    suite.case("aten.rot90", T(2, 3, 4), 1, [1, 2])
    suite.case("aten.pixel_shuffle", T(2, 12, 3, 4), 2, dtypes=FLOATS)
    suite.case("aten.pixel_shuffle", T(9, 2, 2), 3)
    suite.case("aten.pixel_unshuffle", T(2, 3, 4, 6), 2, dtypes=FLOATS)
    suite.case("aten.channel_shuffle", T(2, 6, 3, 4), 3)


def padding(suite: Suite) -> None:
    suite.case("aten.constant_pad_nd", T(2, 3), [1, 2], dtypes=ALL)
    suite.case("aten.constant_pad_nd", T(2, 3, 4), [1, 0, 2, 1], 2.5, dtypes=FLOATS)
    suite.case("aten.constant_pad_nd", T(2, 3, 4), [-1, 2, 1, -1], 3, dtypes=NUMBERS)
    suite.case("aten.constant_pad_nd", T(2, 3), [1, 1], -float("inf"))
    suite.case("aten.pad", T(2, 3), [1, 2], dtypes=ALL)
    suite.case("aten.pad", T(2, 3), [1, 2], "constant", 1.5)
    two: tuple[Any, ...] = (T(1, 2, 4, 5), [2, 1, 3, 0])
    for mode in ("reflect", "replicate", "circular"):
        suite.case("aten.pad", *two, mode, dtypes=FLOATS)
        suite.case("aten.pad", T(2, 3, 6), [2, 1], mode)
        suite.case("aten.pad", T(1, 2, 3, 4, 5), [1, 2, 2, 1, 1, 1], mode)
    suite.case("aten._pad_circular", T(2, 3, 6), [3, 4])
    for kind in ("reflection", "replication"):
        suite.case(f"aten.{kind}_pad1d", T(2, 3, 6), [2, 1], dtypes=FLOATS)
        suite.case(f"aten.{kind}_pad2d", *two, dtypes=FLOATS)
        suite.case(f"aten.{kind}_pad3d", T(1, 2, 3, 4, 5), [1, 2, 2, 1, 1, 1], dtypes=(F32, F64))
        suite.case(f"aten.{kind}_pad1d_backward", T(2, 3, 9), T(2, 3, 6), [2, 1])
        suite.case(f"aten.{kind}_pad2d_backward", T(1, 2, 7, 8), *two)
        suite.case(f"aten.{kind}_pad3d_backward", T(1, 2, 5, 7, 8), T(1, 2, 3, 4, 5), [1, 2, 2, 1, 1, 1])
    suite.case("aten.replication_pad2d", T(2, 4, 5), [7, 6, 5, 4])


def triangles(suite: Suite) -> None:
    for name in ("tril", "triu"):
        suite.case(f"aten.{name}", T(4, 5), dtypes=ALL)
        for diagonal in (1, -2, 9):
            suite.case(f"aten.{name}", T(2, 4, 5), diagonal)
    suite.case("aten.trace", T(4, 5), dtypes=NUMBERS)
    suite.case("aten.fill_diagonal_", T(4, 5), 2.5, dtypes=FLOATS)
    suite.case("aten.fill_diagonal_", T(3, 3, 3), 7, dtypes=INTEGERS)
    for wrap in (False, True):
        suite.case("aten.fill_diagonal_", T(11, 3), 1, wrap)
    suite.case("aten.trace_backward", T(), [3, 4])
    suite.case("aten.diag", T(4), dtypes=ALL)
    suite.case("aten.diag", T(4), -2)
    suite.case("aten.diag", T(4, 5), 1)
    suite.case("aten.diagflat", T(2, 3), 1)
    suite.case("aten.diag_embed", T(2, 3), dtypes=ALL)
    suite.case("aten.diag_embed", T(2, 3), 1, 0, 2)
    suite.case("aten.diag_embed", T(2, 3), -2)
    suite.case("aten.diagonal_backward", T(3), [3, 4], 1, 0, 1)


def scattered(suite: Suite) -> None:
    suite.case("aten.slice_scatter", T(5, 6), T(2, 6), 0, 1, 3, dtypes=ALL)
    suite.case("aten.slice_scatter", T(5, 6), T(5, 2), 1, 0, 6, 3)
    suite.case("aten.select_scatter", T(5, 6), T(6), 0, -2, dtypes=ALL)
    suite.case("aten.select_scatter", T(5, 6), T(5), 1, 3)
    suite.case("aten.diagonal_scatter", T(5, 6), T(5), 1, dtypes=(F32, I32))
    suite.case("aten.diagonal_scatter", T(2, 5, 6), T(2, 4), -1, 1, 2)
    suite.case("aten.as_strided_scatter", T(4, 6), T(3, 2), [3, 2], [6, 2], 1)


def mutations(suite: Suite) -> None:
    def write_row(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[1] = 3
        y[:, 2].mul_(2)
        return y

    def write_view_of_view(x: torch.Tensor) -> torch.Tensor:
        y = x * 1
        y.view(-1)[3:9].view(2, 3)[1].add_(10)
        return y

    def write_through_transpose(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.t().copy_(y)
        return x + 1

    def read_after_write(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        before = x + 0
        view = x[0]
        x.zero_()
        view.add_(1)
        return before, x * 2

    suite.case_module(write_row, T(4, 5), dtypes=(F32, BF16, I64))
    suite.case_module(write_view_of_view, T(4, 5))
    suite.case_module(write_through_transpose, T(4, 5), T(5, 4))
    suite.case_module(read_after_write, T(4, 5))
