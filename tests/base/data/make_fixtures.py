"""Writes the tensor files beside this script, with NumPy, ml_dtypes and safetensors as the reference.

Values are those of lightline::random_tensor with seed 7, so that the tests can recompute them.
"""

import pathlib
import zipfile

import ml_dtypes
import numpy as np
from numpy.lib import format as npy_format
from safetensors import TensorSpec, serialize

HERE = pathlib.Path(__file__).parent
MASK = (1 << 64) - 1
TYPES: dict[str, np.dtype] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "f4e2m1": np.dtype(ml_dtypes.float4_e2m1fn),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
    "c64": np.dtype(np.complex64),
}
SAFETENSORS_NAMES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
    "bool": "bool",
    "c64": "complex64",
}


def splitmix64(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def random_array(dtype: str, shape: tuple[int, ...], seed: int = 7) -> np.ndarray:
    count = int(np.prod(shape))

    def draw(i: int) -> int:
        return splitmix64(((seed << 32) + i) & MASK)

    def uniform(i: int) -> float:
        return (draw(i) >> 40) * 2.0**-24 * 2 - 1

    if dtype == "c64":
        values = [complex(uniform(2 * i), uniform(2 * i + 1)) for i in range(count)]
    elif dtype == "bool":
        values = [draw(i) >> 63 for i in range(count)]
    elif dtype[0] in "iu":
        values = [(draw(i) >> 33) % 10 for i in range(count)]
    else:
        values = [uniform(i) for i in range(count)]
    return np.array(values).astype(TYPES[dtype]).reshape(shape)


def write_versions() -> None:
    array = random_array("f32", (3, 4))
    for version in (2, 3):
        with (HERE / f"version{version}.npy").open("wb") as file:
            npy_format.write_array(file, array, version=(version, 0))
    np.save(HERE / "fortran.npy", np.asfortranarray(random_array("i32", (2, 3, 4))))
    np.save(HERE / "fortran_big_endian.npy", np.asfortranarray(random_array("i16", (2, 3, 4)).astype(">i2")))
    for dtype in ("f64", "f32", "f16", "i64", "i32", "i16", "c64"):
        array = random_array(dtype, (3, 4))
        np.save(HERE / f"big_endian_{dtype}.npy", array.astype(array.dtype.newbyteorder(">")))
    np.save(HERE / "scalar.npy", random_array("f32", ()))
    np.save(HERE / "empty.npy", random_array("f32", (0, 3)))


def write_unsupported() -> None:
    for code in ("u2", "u4", "u8", "c16", "f16", "U5", "S3"):
        np.save(HERE / f"unsupported_{code}.npy", np.zeros(2, dtype=code))
    np.save(HERE / "unsupported_O.npy", np.array([None, 1], dtype=object))
    np.save(HERE / "unsupported_records.npy", np.zeros(2, dtype=[("x", "f4"), ("y", "i4")]))


def write_rounding() -> None:
    """Numbers of all magnitudes, ties and near-ties among them, and what they round to."""
    rng = np.random.default_rng(1)
    scale = np.exp2(rng.integers(-30, 20, 400))
    values = np.concatenate(
        [rng.uniform(-2, 2, 400) * scale, rng.integers(-64, 65, 200) / 32, rng.integers(1, 2**20, 200) * 2.0**-26]
    )
    special = [
        0.0,
        -0.0,
        448,
        464,
        464.00003,
        480,
        57344,
        61439.996,
        61440,
        65504,
        65519.996,
        65520,
        5,
        0.25,
        0.75,
        np.inf,
        -np.inf,
    ]
    f32 = np.concatenate([values, special, 3.3895e38 + rng.uniform(-1e36, 1e36, 50)]).astype(np.float32)
    columns = {"f32": f32}
    with np.errstate(over="ignore"):
        for name in ("f16", "bf16", "f8e4m3", "f8e5m2", "f4e2m1"):
            rounded = f32.astype(TYPES[name])
            columns[name] = rounded.view(np.int16 if rounded.itemsize == 2 else np.uint8)
    np.savez_compressed(HERE / "rounding.npz", **columns)


def write_safetensors(arrays: dict[str, np.ndarray]) -> None:
    def spec(dtype: str, shape: tuple[int, ...], data: np.ndarray) -> TensorSpec:
        return TensorSpec(dtype=dtype, shape=shape, data_ptr=data.ctypes.data, data_len=data.nbytes)

    nibbles = arrays["f4e2m1"].view(np.uint8).reshape(-1)
    packed = (nibbles[0::2] | nibbles[1::2] << 4).astype(np.uint8)
    specs = {
        name: spec(SAFETENSORS_NAMES[name], array.shape, array) for name, array in arrays.items() if name != "f4e2m1"
    }
    specs["f4e2m1"] = spec("float4_e2m1fn_x2", (3, 2), packed)
    (HERE / "all.safetensors").write_bytes(serialize(specs, metadata={"made by": "safetensors"}))


def main() -> None:
    arrays = {name: random_array(name, (3, 4)) for name in TYPES}
    for name, array in arrays.items():
        np.save(HERE / f"{name}.npy", array)
    np.savez(HERE / "stored.npz", **arrays)
    np.savez_compressed(HERE / "deflated.npz", **arrays)
    with zipfile.ZipFile(HERE / "comment.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"a comment, PK\5\6 included"
        archive.write(HERE / "f32.npy", "f32.npy")
    write_versions()
    write_unsupported()
    write_rounding()
    write_safetensors(arrays)


if __name__ == "__main__":
    main()
