"""Arguments for a kernel without a description, from its source.

A parameter is a pointer if an address is computed from it, an array of indices if what is loaded
from it enters an address or a loop bound, a flag if the source tests it alone. Names distinguish
sizes, strides and block sizes. The values make no sense to the project; two runs of the same kernel
on the same values have to agree all the same. Kernels whose accesses then leave their arrays are
counted as such.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tilewright import tl
from tilewright.runtime.descriptors import TensorDescriptor
from tilewright.runtime.pointer.jit import JITFunction

MEMORY = (
    "load",
    "store",
    "make_block_ptr",
    "make_tensor_descriptor",
    "_experimental_descriptor_load",
)
_SAME_BASE = ("multiple_of", "advance", "cast")
ELEMENTS = 1 << 19
ROW = 136
"""The length of rows in memory: more than any size, so rows are padded."""
_INDEX = re.compile(
    r"idx|index|indice|(^|_)ids?($|_)|offset|cu_|seqlen|lens?$|label|target|table|block_map"
)
_STARTS = re.compile(r"cu_|offsets?$|seqlen|starts?$")
_MASK = re.compile(r"mask$|^mask")
_FLOAT = re.compile(
    r"eps|scale|alpha|beta|gamma$|dropout|(^|_)p$|slope|momentum|(^|_)lr$|temp|softcap|smooth|float|factor|"
    r"coef|theta|lambda|weight$|ratio|threshold|value$|normalizer|limit|margin|decay|epsilon|clamp|reg$"
)
_BLOCK = re.compile(r"^B[A-Z]$|BLOCK|TILE|^BLK|block_size|_BLK|^B[A-Z]\d?$|CHUNK")
_DTYPE = re.compile(r"dtype|DTYPE|_TYPE$|_type$|^dot_out")
_FLAG = re.compile(r"(USE|IS|HAS|STORE|OUTPUT|SAVE|DO|NEED|WITH|ENABLE|CAUSAL|RETURN)_?|[Cc]ausal")
_HEADS = re.compile(r"^H[QV]?$|^HKV$|head(s|_num)|HEADS$|^G$|n_heads|groups?$|GROUPS?$|^NG$")
_STRIDE = re.compile(r"stride|_s[a-z]$|_bs$|_rs$")


@dataclass
class Reading:
    """What the source shows about the parameters."""

    pointers: set[str] = field(default_factory=set[str])
    indices: set[str] = field(default_factory=set[str])
    flags: set[str] = field(default_factory=set[str])
    strings: dict[str, str] = field(default_factory=dict[str, str])
    """Parameters that are compared with strings, and the first of those."""
    ranges: set[str] = field(default_factory=set[str])
    """Parameters that are lengths of ranges: powers of two."""
    locks: set[str] = field(default_factory=set[str])
    descriptors: dict[str, int] = field(default_factory=dict[str, int])
    """Parameters whose own methods access memory, and their rank."""
    axes: set[int] = field(default_factory=set[int])
    has_gemm: bool = False


@dataclass(frozen=True)
class Variant:
    """One choice of values."""

    size: int
    flags: bool
    block: int = 32

    def __str__(self) -> str:
        return f"size {self.size}, flags {'on' if self.flags else 'off'}, blocks of {self.block}"


VARIANTS = (
    Variant(29, False),
    Variant(29, True),
    Variant(1, False),
    Variant(33, True),
    Variant(64, False, 16),
)


@cache
def reading_of(kernel: JITFunction) -> Reading:
    return _Reader(kernel).reading


class _Reader:
    def __init__(self, kernel: JITFunction) -> None:
        source = textwrap.dedent(inspect.getsource(kernel.fn))
        (self.function,) = [
            each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)
        ]
        self.scope = kernel.fn.__globals__
        self.names = set(kernel.arg_names)
        self.reading = Reading()
        self.assigned: dict[str, list[ast.expr]] = {}
        self._assignments()
        for node in ast.walk(self.function):
            if isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
                self._test(node.test)
            elif isinstance(node, ast.Compare):
                self._compare(node)
            elif isinstance(node, ast.Attribute) and node.attr == "element_ty":
                self._pointer(node.value)
        for name in self.names:
            if re.search(r"_ptrs?$|_pointer$|^ptr_|^p_", name):
                self.reading.pointers.add(name)
        self.reading.pointers -= {each.name for each in kernel.parameters if each.is_constexpr}

    def _assignments(self) -> None:
        for node in ast.walk(self.function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value)
            elif isinstance(node, ast.AugAssign):
                self._assign(node.target, ast.BinOp(node.target, node.op, node.value))

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple):
            values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
            for one, other in zip(target.elts, values, strict=False):
                self._assign(one, other)

    def _roots(self, expr: ast.expr, seen: frozenset[str] = frozenset()) -> set[str]:
        """The names at the base of an address."""
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub)):
            return self._roots(expr.left, seen) | (
                self._roots(expr.right, seen) if isinstance(expr.left, ast.Constant) else set()
            )
        if isinstance(expr, ast.IfExp):
            return self._roots(expr.body, seen) | self._roots(expr.orelse, seen)
        if isinstance(expr, ast.Name):
            found = {expr.id} & self.names
            if expr.id in seen:
                return found
            for value in self.assigned.get(expr.id, ()):
                found |= self._roots(value, seen | {expr.id})
            return found
        if isinstance(expr, ast.Call):
            function = expr.func
            if isinstance(function, ast.Attribute) and function.attr == "to":
                return self._roots(function.value, seen)
            if isinstance(function, ast.Attribute) and function.attr in (
                "multiple_of",
                "advance",
                "cast",
            ):
                return self._roots(expr.args[0], seen)
        return set()

    def _pointer(self, expr: ast.expr) -> None:
        self.reading.pointers |= self._roots(expr)

    def _call(self, node: ast.Call) -> None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        base = next((each.value for each in node.keywords if each.arg in ("base", "pointer")), None)
        if node.args and base is None:
            base = node.args[0]
        if self._is_access_of_descriptor(node):
            self._descriptor(node)
        elif (name in MEMORY or name.startswith("atomic_")) and base is not None:
            self._pointer(base)
            self._index_loads(base)
            if name == "atomic_cas":
                self.reading.locks |= self._roots(base)
            for keyword in node.keywords:
                if keyword.arg in ("offsets", "shape"):
                    self._index_loads(keyword.value)
                elif keyword.arg == "block_shape":
                    self.reading.ranges |= {
                        each.id
                        for each in ast.walk(keyword.value)
                        if isinstance(each, ast.Name) and each.id in self.names
                    }
        elif name in ("dot", "dot_scaled"):
            self.reading.has_gemm = True
        elif name in ("program_id",):
            axis = node.args[0] if node.args else node.keywords[0].value
            if isinstance(axis, ast.Constant):
                self.reading.axes.add(int(axis.value))
        elif name == "arange":
            self.reading.ranges |= {
                each.id
                for each in node.args
                if isinstance(each, ast.Name) and each.id in self.names
            }
        elif name in ("range", "static_range"):
            for each in node.args:
                self._index_loads(each)
        callee = self.scope.get(name) if isinstance(function, ast.Name) else None
        if isinstance(callee, JITFunction):
            inner = reading_of(callee)
            self.reading.axes |= inner.axes
            self.reading.has_gemm |= inner.has_gemm
            pairs = [*zip(callee.arg_names, node.args, strict=False)]
            pairs += [(each.arg, each.value) for each in node.keywords if each.arg]
            for parameter, value in pairs:
                if parameter in inner.pointers:
                    self._pointer(value)
                roots = self._roots(value)
                if parameter in inner.indices:
                    self.reading.indices |= roots
                if parameter in inner.ranges:
                    self.reading.ranges |= roots
                if parameter in inner.locks:
                    self.reading.locks |= roots
                if parameter in inner.flags:
                    self.reading.flags |= roots
                if parameter in inner.strings:
                    self.reading.strings |= dict.fromkeys(roots, inner.strings[parameter])

    def _is_access_of_descriptor(self, node: ast.Call) -> bool:
        """`desc.load([row, column])` of a parameter."""
        function = node.func
        return (
            isinstance(function, ast.Attribute)
            and function.attr in ("load", "store", "atomic_add")
            and isinstance(function.value, ast.Name)
            and function.value.id in self.names
            and bool(node.args)
            and isinstance(node.args[0], (ast.List, ast.Tuple))
        )

    def _descriptor(self, node: ast.Call) -> None:
        assert isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
        assert isinstance(node.args[0], (ast.List, ast.Tuple))
        self.reading.descriptors[node.func.value.id] = len(node.args[0].elts)

    def _index_loads(self, expr: ast.expr, depth: int = 0) -> None:
        """Arrays whose elements are part of an address."""
        if depth > 6:
            return
        for node in ast.walk(expr):
            if isinstance(node, ast.Call):
                function = node.func
                if isinstance(function, ast.Attribute) and function.attr == "load" and node.args:
                    self.reading.indices |= self._roots(node.args[0])
            elif isinstance(node, ast.Name):
                for value in self.assigned.get(node.id, ()):
                    if not (isinstance(value, ast.Name) and value.id == node.id):
                        self._index_loads(value, depth + 1)

    def _test(self, test: ast.expr) -> None:
        if isinstance(test, ast.Name) and test.id in self.names:
            self.reading.flags.add(test.id)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._test(test.operand)
        elif isinstance(test, ast.BoolOp):
            for each in test.values:
                self._test(each)

    def _compare(self, node: ast.Compare) -> None:
        for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            if isinstance(one, ast.Name) and isinstance(other, ast.Constant):
                if isinstance(other.value, str):
                    self.reading.strings.setdefault(one.id, other.value)
                elif isinstance(other.value, bool):
                    self.reading.flags.add(one.id)


def grid_of(kernel: JITFunction) -> tuple[int, int, int]:
    """Two or three programs along the axes that the kernel looks at."""
    axes = reading_of(kernel).axes
    x, y, z = (count if axis in axes else 1 for axis, count in enumerate((3, 2, 2)))
    return x, y, z


def arguments_of(
    kernel: JITFunction,
    variant: Variant,
    floats: Any = None,
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A value for each parameter; some are `given`, of an array the type of its elements."""
    given = {} if given is None else given
    reading = reading_of(kernel)
    strides = _strides([name for name in kernel.arg_names if _is_stride(name, reading)])
    values: dict[str, Any] = {}
    for parameter in kernel.parameters:
        name = parameter.name
        if name in given:
            value = given[name]
            is_type = isinstance(value, type) and issubclass(value, np.generic)
            values[name] = _filled(name, value) if is_type else value
        elif name in reading.descriptors:
            values[name] = _described(name, reading, variant, floats)
        elif name in reading.pointers:
            values[name] = _array(name, reading, floats)
        elif name in strides and not parameter.is_constexpr:
            values[name] = strides[name]
        elif parameter.is_constexpr:
            values[name] = _constant(name, parameter, reading, variant, strides)
        elif name in reading.flags:
            values[name] = variant.flags
        elif kernel.fn.__annotations__.get(name) in ("float", float) or _FLOAT.search(name):
            values[name] = 0.5
        else:
            values[name] = _size(name, variant)
    return values


def _described(name: str, reading: Reading, variant: Variant, floats: Any) -> TensorDescriptor:
    """A descriptor of square blocks, of a tensor that they do not divide."""
    rank = reading.descriptors[name]
    shape = [2] * (rank - 2) + [300, 208][-rank:]
    array = _array(name, reading, floats)[: math.prod(shape)].reshape(shape)
    blocks = [1] * (rank - 2) + [variant.block] * min(rank, 2)
    return TensorDescriptor(
        array, shape, [each // array.itemsize for each in array.strides], blocks
    )


def _is_stride(name: str, reading: Reading) -> bool:
    return bool(_STRIDE.search(name)) and name not in reading.pointers | reading.flags


def _strides(names: list[str]) -> dict[str, int]:
    """Rows are padded; of several strides of an array the last one is 1."""
    groups: dict[str, list[str]] = {}
    for name in names:
        stem, _, last = name.rpartition("_")
        group = stem if len(last) != 2 else f"{stem}_{last[0]}"
        groups.setdefault(group, []).append(name)
    found: dict[str, int] = {}
    for group in groups.values():
        steps = [ROW * 40 * 8, ROW * 40, ROW, 1]
        for name, step in zip(
            group, steps[-len(group) :] if len(group) > 1 else [ROW], strict=False
        ):
            found[name] = step
    return found


def _constant(name: str, parameter: Any, reading: Reading, variant: Variant, strides: Any) -> Any:
    if name in reading.strings:
        return reading.strings[name] if variant.flags else ""
    if name in reading.flags and not _BLOCK.search(name):
        return variant.flags
    if _DTYPE.search(name):
        return tl.float32
    if _BLOCK.search(name) or name in reading.ranges:
        return variant.block
    if parameter.has_default and parameter.default is not None:
        return parameter.default
    if name in strides:
        return strides[name]
    if re.search(r"num_stages|NUM_STAGES", name):
        return 2
    if re.search(r"warps", name):
        return 4
    if _HEADS.search(name):
        return 2
    if re.match(
        r"^(USE|IS|HAS|STORE|OUTPUT|SAVE|DO|NEED|WITH|ENABLE|CAUSAL|RETURN)_?|[Cc]ausal", name
    ):
        return variant.flags
    if _FLOAT.search(name):
        return 0.5
    return _size(name, variant)


def _size(name: str, variant: Variant) -> int:
    if _HEADS.search(name):
        return 2
    if "seed" in name:
        return 1234
    return variant.size


def _filled(name: str, dtype: type[np.generic]) -> np.ndarray:
    """An array of a type: bits of integers, small floats."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, ELEMENTS, dtype, endpoint=True)
    return (rng.standard_normal(ELEMENTS) * 0.5).astype(np.float32).astype(dtype)


def _array(name: str, reading: Reading, floats: Any) -> np.ndarray:
    if name in reading.locks:
        return np.zeros(4096, np.int32)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if _STARTS.search(name) and (name in reading.indices or "cu_" in name):
        return (np.arange(4096) * 16).astype(np.int32)
    if name in reading.indices or _INDEX.search(name):
        return rng.integers(0, 3, 1 << 16).astype(np.int32)
    if _MASK.search(name):
        return rng.integers(0, 2, ELEMENTS).astype(np.int8)
    dtype = floats or (np.float16 if reading.has_gemm else np.float32)
    return (rng.standard_normal(ELEMENTS) * 0.5).astype(np.float32).astype(dtype)
