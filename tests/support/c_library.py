"""The library as a C program calls it: many small programs without a process for each."""

from __future__ import annotations

import ctypes
from typing import Any

from lightline_under_test import BINARY


class CTensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
    ]


class LibraryError(Exception):
    """What the library says is wrong."""


class Library:
    def __init__(self) -> None:
        self.c = ctypes.CDLL(str(BINARY.parent / "liblightline.so"))
        for name in ("lightline_input", "lightline_output"):
            getattr(self.c, name).restype = ctypes.POINTER(CTensor)
        for name in ("lightline_input_count", "lightline_output_count"):
            getattr(self.c, name).restype = ctypes.c_size_t

    def _do(self, function: Any, *arguments: Any) -> None:
        error = ctypes.c_char_p()
        if function(*arguments, ctypes.byref(error)) != 0:
            raise LibraryError((error.value or b"?").decode())

    def run(self, text: str, inputs: dict[str, Any], otherwise: Any) -> list[Any]:
        """What the interpreter makes of f32 arrays, given by name; inputs that have none take the last one."""
        import numpy as np

        program, outputs = ctypes.c_void_p(), ctypes.c_void_p()
        encoded = text.encode()
        size = ctypes.c_size_t(len(encoded))
        self._do(self.c.lightline_parse, b"program", encoded, size, ctypes.byref(program))
        try:
            count = self.c.lightline_input_count(program)
            given = (CTensor * count)()
            for i in range(count):
                given[i] = self.c.lightline_input(program, ctypes.c_size_t(i)).contents
                array = inputs.get((given[i].name or b"").decode(), otherwise)
                given[i].data, given[i].bytes = array.ctypes.data, array.nbytes
            self._do(self.c.lightline_run, program, None, given, ctypes.c_size_t(count), ctypes.byref(outputs))
            results = []
            for i in range(self.c.lightline_output_count(outputs)):
                tensor = self.c.lightline_output(outputs, ctypes.c_size_t(i)).contents
                data = ctypes.string_at(tensor.data, tensor.bytes) if tensor.bytes else b""
                results.append(np.frombuffer(data, np.float32).reshape(tensor.shape[: tensor.rank]))
            self.c.lightline_free_outputs(outputs)
            return results
        finally:
            self.c.lightline_free_program(program)
