"""What FPU and SFPU functions compute, on whole tiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from tilewright.targets.tenstorrent.machine.tiles import Tile

_erf = np.frompyfunc(math.erf, 1, 1)


_erfc = np.frompyfunc(math.erfc, 1, 1)


def _of_doubles(function: Any, x: Tile) -> Tile:
    return function(x.astype(np.float64)).astype(np.float32)


def _gelu(x: Tile) -> Tile:
    scaled = (x / np.sqrt(np.float32(2))).astype(np.float64)
    return x * np.float32(0.5) * (1 + cast("Any", _erf(scaled)).astype(np.float32))


UNARY: Mapping[str, Callable[[Tile], Tile]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "recip": lambda x: np.float32(1) / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: np.float32(1) / np.sqrt(x),
    "relu": lambda x: np.where(x > 0, x, x.dtype.type(0)),
    "gelu": _gelu,
    "sigmoid": lambda x: np.float32(1) / (np.float32(1) + np.exp(-x)),
    "tanh": np.tanh,
    "square": lambda x: x * x,
    "abs": np.abs,
    "negative": np.negative,
    "sign": np.sign,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "erf": lambda x: _of_doubles(_erf, x),
    "erfc": lambda x: _of_doubles(_erfc, x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "softsign": lambda x: x / (1 + np.abs(x)),
}

BINARY: Mapping[str, Callable[[Tile, Tile], Tile]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rsub": lambda a, b: b - a,
    "power": lambda a, b: a**b,
    "max": np.maximum,
    "min": np.minimum,
    "eq": lambda a, b: (a == b).astype(a.dtype),
    "ne": lambda a, b: (a != b).astype(a.dtype),
    "lt": lambda a, b: (a < b).astype(a.dtype),
    "gt": lambda a, b: (a > b).astype(a.dtype),
    "le": lambda a, b: (a <= b).astype(a.dtype),
    "ge": lambda a, b: (a >= b).astype(a.dtype),
}

INTEGER_BINARY: Mapping[str, Callable[[Tile, Tile], Tile]] = {
    **{f"{name}_int": BINARY[name] for name in ("add", "sub", "mul", "max", "min")},
    **{f"{name}_int": BINARY[name] for name in ("eq", "ne", "lt", "gt", "le", "ge")},
    "div_int": lambda a, b: np.trunc(a / np.where(b == 0, 1, b).astype(np.float64)),
    "floordiv_int": lambda a, b: np.floor(a / np.where(b == 0, 1, b).astype(np.float64)),
}
"""Functions of int32 tiles, modulo 2^32; a division by 0 gives the dividend."""


def with_scalar(function: str, tile: Tile, scalar: Tile) -> Tile:
    """A function of a tile and a scalar; a division multiplies by the reciprocal."""
    if function == "div":
        return tile * (np.float32(1) / scalar)
    return BINARY[function](tile, scalar)


def broadcast(tile: Tile, dim: str) -> Tile:
    """Row 0, column 0 or element [0, 0] of a tile, to be repeated."""
    if dim == "row":
        return tile[:1, :]
    return tile[:, :1] if dim == "col" else tile[:1, :1]


def reduced(tile: Tile, scaler: Tile, function: str, dim: str) -> Tile:
    """A reduction, in column 0, row 0 or element [0, 0] of a tile.

    Outside of the result a sum leaves zeros and a maximum leaves undefined elements (NaN).
    """
    weights = scaler[0, :]
    if function == "max":
        found = np.full_like(tile, np.nan)
        scale = scaler[0, 0]
        if dim == "row":
            found[:, 0] = tile.max(axis=1) * scale
        elif dim == "col":
            found[0, :] = tile.max(axis=0) * scale
        else:
            found[0, 0] = tile.max() * scale
        return found
    found = np.zeros_like(tile)
    if dim == "row":
        found[:, 0] = tile @ weights
    elif dim == "col":
        found[0, :] = weights @ tile
    else:
        found[0, 0] = weights @ tile @ weights
    return found


def masked(tile: Tile, dim: str) -> Tile:
    """What the packer stores after a reduction: zeros outside of the result."""
    found = np.zeros_like(tile)
    if dim == "row":
        found[:, 0] = tile[:, 0]
    elif dim == "col":
        found[0, :] = tile[0, :]
    else:
        found[0, 0] = tile[0, 0]
    return found
