"""Generated kernel inputs: made from the parameters, by kind.

    supply = get_tensor_supply(TensorSupplyType.Normal)
    a, b = supply(kernel.params[0]), supply(kernel.params[1])

The values are the same in every program that draws in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tilewright.language.T.symbols import evaluate, text
from tilewright.runtime.arrays import NumpyArray
from tilewright.runtime.tile.tensors import in_framework

if TYPE_CHECKING:
    from tilewright.language.T.dtypes import dtype as Dtype
    from tilewright.language.T.prim_func import Param

Shape = tuple[int, ...]
Supply = Callable[["Param"], Any]


class TensorSupplyType(Enum):
    """What generated tensors contain."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


def get_tensor_supply(
    supply_type: TensorSupplyType = TensorSupplyType.Integer,
    sizes: Mapping[str, int] | None = None,
    device: str | None = None,
) -> Supply:
    """A function that makes a tensor for a parameter; `sizes` are its open sizes.

    `device` is where tensors are made, if not where the user's program has them.
    """
    if not isinstance(supply_type, TensorSupplyType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"supply_type must be a TensorSupplyType, got {supply_type!r}")
    rng = np.random.default_rng(0)

    def supply(param: Param) -> Any:
        if param.kind != "tensor":
            raise ValueError(f"cannot generate {param.name}, a {param.kind}: pass input_tensors")
        values = _VALUES[supply_type](rng, _shape(param, sizes or {}), param.dtype)
        return in_framework(_converted(values, param.dtype), param.dtype, device)

    return supply


def _shape(param: Param, sizes: Mapping[str, int]) -> Shape:
    found: list[int] = []
    for size in param.shape:
        extent = evaluate(size, sizes)
        if extent is None:
            raise ValueError(
                f"{param.name} has size {text(size)}, unknown before a call: pass "
                "input_tensors, or dynamic_symbolic_constraints={...}"
            )
        found.append(extent)
    return tuple(found)


def _converted(values: NumpyArray, dtype: Dtype) -> NumpyArray:
    expected = dtype.as_numpy()
    # Integers of 8 bits go through float32: ml_dtypes converts to the smallest floats from there.
    is_foreign = expected.type.__module__ == ml_dtypes.__name__
    plain = values.astype(np.float32) if is_foreign else values
    return np.ascontiguousarray(plain.astype(expected))


def _integers(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> NumpyArray:
    if dtype == "bool":
        return rng.integers(0, 2, shape)
    if dtype.is_unsigned:
        return rng.integers(0, 3, shape)
    if dtype.startswith("float8"):
        return rng.integers(-128, 128, shape)
    if dtype.startswith("float4"):
        return rng.integers(0, 16, shape)
    return rng.integers(-2, 3, shape)


def _auto(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> NumpyArray:
    if dtype.storage in ("float16", "bfloat16", "float32"):
        return _uniform(rng, shape, dtype)
    return _integers(rng, shape, dtype)


def _uniform(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> NumpyArray:
    return _ones(rng, shape, dtype) if dtype == "int8" else rng.uniform(-1.0, 1.0, shape)


def _normal(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> NumpyArray:
    return _ones(rng, shape, dtype) if dtype == "int8" else rng.normal(-1.0, 1.0, shape)


def _ones(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> NumpyArray:
    return np.ones(shape)


_VALUES: Mapping[TensorSupplyType, Callable[[np.random.Generator, Shape, Dtype], NumpyArray]] = {
    TensorSupplyType.Integer: _integers,
    TensorSupplyType.Uniform: _uniform,
    TensorSupplyType.Normal: _normal,
    TensorSupplyType.Randn: lambda rng, shape, dtype: rng.standard_normal(shape),
    TensorSupplyType.Zero: lambda rng, shape, dtype: np.zeros(shape),
    TensorSupplyType.One: _ones,
    TensorSupplyType.Auto: _auto,
}
