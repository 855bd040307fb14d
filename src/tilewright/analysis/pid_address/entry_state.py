"""The start of an analysis: arguments, grid and conditions as symbols, values and facts.

Arguments that the caller gives are constants from the start, so everything that follows from them
is found by the ordinary rules. Names that already mean something in polynomials keep their percent
sign when an argument has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.analysis.affine import Context, Formula, Interval, Poly, Space
from tilewright.analysis.pid_address.atoms import AXES, MAX_PROGRAMS, Atoms, Role
from tilewright.analysis.pid_address.conditions import parse_condition
from tilewright.analysis.pid_address.errors import AnalysisError
from tilewright.analysis.pid_address.report import AccessProperties, Param
from tilewright.analysis.pid_address.types import integer_range, is_boolean, is_integer
from tilewright.analysis.pid_address.values import (
    Base,
    Boolean,
    Data,
    Descriptor,
    Integer,
    Pointer,
    Value,
)
from tilewright.dialects.functions import FunctionOp
from tilewright.dialects.tile.attributes import Space as TileSpace
from tilewright.dialects.tile.names import SHAPE
from tilewright.dialects.tile.types import PtrType, space_of
from tilewright.dialects.tt import FuncOp, GetNumProgramsOp, TensorDescType
from tilewright.dialects.type_utils import PointerLike, element_type_of, shape_of
from tilewright.ir.text.names import ValueNames
from tilewright.ir.traversal import walk

_RESERVED = re.compile(r"(pid|np|lane)\d+")
_DIVISIBILITY = "tt.divisibility"
_DESCRIPTOR = f"!{TensorDescType.name}"


@dataclass(frozen=True)
class Start:
    """Where the evaluation of a kernel begins."""

    space: Space
    atoms: Atoms
    ctx: Context
    conditions: tuple[Formula, ...]
    """The facts that the caller gave."""
    arguments: tuple[Value, ...]
    params: tuple[Param, ...]
    grid: tuple[int | None, int | None, int | None]
    notes: tuple[str, ...]


def start(function: FunctionOp, names: ValueNames, facts: AccessProperties) -> Start:
    """The symbols and facts for a kernel; raises ``AnalysisError`` if they cannot all hold."""
    grid = _grid(facts.grid)
    space = Space()
    atoms = Atoms(space, grid)
    maker = _Arguments(function, names, facts, atoms)
    values = maker.values()
    _check_buffers(facts.buffers, maker.params)
    ctx = _with_grid(space.root, atoms, function)
    ctx, conditions = _with_conditions(ctx, atoms, maker.symbols, facts.assumptions)
    params, notes = tuple(maker.params), tuple(maker.notes)
    return Start(space, atoms, ctx, conditions, values, params, grid, notes)


def _grid(given: Sequence[int | None] | None) -> tuple[int | None, int | None, int | None]:
    if given is None:
        return (None, None, None)
    if not 1 <= len(given) <= AXES:
        raise AnalysisError(f"a grid has 1 to {AXES} axes, not {len(given)}")
    for axis, count in enumerate(given):
        if count is not None and not 1 <= count <= MAX_PROGRAMS[axis]:
            raise AnalysisError(
                f"the grid has {count} programs along axis {axis}; "
                f"it needs 1 to {MAX_PROGRAMS[axis]}"
            )
    x, y, z = (*given, *[1] * (AXES - len(given)))
    return (x, y, z)


def _check_buffers(buffers: Mapping[str, int], params: Sequence[Param]) -> None:
    pointers = [
        param.name for param in params if param.is_pointer or param.type.startswith(_DESCRIPTOR)
    ]
    for name, size in buffers.items():
        if name not in pointers:
            known = ", ".join(pointers) or "none"
            raise AnalysisError(
                f"there is no pointer '{name}' to give a size; the kernel has {known}"
            )
        if size < 0:
            raise AnalysisError(f"the buffer '{name}' cannot hold {size} bytes")


def _with_grid(ctx: Context, atoms: Atoms, function: FunctionOp) -> Context:
    """Program ids are below the number of programs, where code reads that number."""
    module = function.parent_op() or function
    axes = {op.dimension for op in walk(module) if isinstance(op, GetNumProgramsOp)}
    for axis in sorted(axes):
        ctx = ctx.assume(ctx.compare("<", atoms.pids[axis], atoms.programs[axis]))
    return ctx


def _with_conditions(
    ctx: Context, atoms: Atoms, symbols: Mapping[str, Poly], conditions: Sequence[str]
) -> tuple[Context, tuple[Formula, ...]]:
    known = dict(symbols)
    formulas: list[Formula] = []
    for axis in range(AXES):
        known[f"pid{axis}"] = atoms.pids[axis]
        known[f"np{axis}"] = atoms.programs[axis]
    for text in conditions:
        formula = parse_condition(ctx, text, known)
        ctx = ctx.assume(formula)
        if formula.truth is False or ctx.unreachable:
            raise AnalysisError(f"the condition '{text}' contradicts the other facts")
        formulas.append(formula)
    return ctx, tuple(formulas)


class _Arguments:
    """Values for the arguments of a kernel."""

    def __init__(
        self, function: FunctionOp, names: ValueNames, facts: AccessProperties, atoms: Atoms
    ) -> None:
        self._function = function
        self._names = names
        self._given = dict(facts.args)
        self._atoms = atoms
        self._space = atoms.space
        self.symbols: dict[str, Poly] = {}
        """Integer arguments by name."""
        self.params: list[Param] = []
        self.notes: list[str] = []

    def values(self) -> tuple[Value, ...]:
        args = list(self._function.args)
        self._check_given(args)
        values = [self._value(index, arg) for index, arg in enumerate(args)]
        for index, arg in enumerate(args):
            if isinstance(arg.type, TensorDescType):
                values[index] = self._descriptor(arg, index, args, values)
        return tuple(values)

    def _check_given(self, args: Sequence[SSAValue]) -> None:
        integers = {
            self._names.of(arg)
            for arg in args
            if not shape_of(arg.type) and (is_integer(arg.type) or is_boolean(arg.type))
        }
        everything = {self._names.of(arg) for arg in args}
        tensors = {self._names.of(arg) for arg in args if isinstance(arg.type, MemRefType)}
        for name in self._given:
            if name.rsplit(".", 2)[0] in tensors:
                continue
            if name not in everything:
                known = ", ".join(self._names.of(arg) for arg in args)
                raise AnalysisError(f"there is no argument '{name}'; the kernel has {known}")
            if name not in integers:
                raise AnalysisError(
                    f"the argument '{name}' is not an integer: it cannot be given a value"
                )

    def _divisibility(self, index: int) -> int | None:
        found = self._function.argument_attributes(index).get(_DIVISIBILITY)
        return found.value.data if isinstance(found, IntegerAttr) else None

    def _value(self, index: int, arg: SSAValue) -> Value:
        name, divisor = self._names.of(arg), self._divisibility(index)
        element = element_type_of(arg.type)
        value, symbol = self._of_type(name, arg, element, divisor)
        self.params.append(
            Param(
                name,
                str(arg.type),
                divisor,
                isinstance(element, PointerLike) or space_of(arg.type) is TileSpace.GLOBAL,
                None if symbol is None else symbol.atom,
            )
        )
        return value

    def _of_type(
        self, name: str, arg: SSAValue, element: Attribute, divisor: int | None
    ) -> tuple[Value, Poly | None]:
        zero = self._space.zero
        if isinstance(arg.type, MemRefType):
            return self._tensor(name, arg, divisor), None
        if isinstance(arg.type, PtrType):
            return Pointer(self._base(name, divisor), Integer(zero, zero)), None
        shape = shape_of(arg.type)
        if isinstance(element, PointerLike) and not shape:
            address = self._atoms.address(f"%{name}", divisor)
            base = Base(f"%{name}", address, divisor, address.deps_mask)
            return Pointer(base, Integer(zero, zero)), None
        if isinstance(element, PointerLike):
            return self._pointers(name, shape), None
        if is_integer(arg.type):
            symbol = self._integer(name, arg.type, shape, divisor)
            return Integer(symbol, symbol), symbol if not shape else None
        if is_boolean(arg.type):
            return self._boolean(name, shape)
        return Data(0), None

    def _base(self, name: str, divisor: int | None) -> Base:
        address = self._atoms.address(f"%{name}", divisor)
        return Base(f"%{name}", address, divisor, address.deps_mask)

    def _tensor(self, name: str, arg: SSAValue, divisor: int | None) -> Value:
        """A tensor of the tile language: sizes by the kernel's symbols, strides from the layout."""
        assert isinstance(arg.type, MemRefType)
        if space_of(arg.type) is not TileSpace.GLOBAL:
            return Data(0)
        sizes = [
            self._size(name, "shape", dim, size, arg)
            for dim, size in enumerate(arg.type.get_shape())
        ]
        zero = self._space.zero
        return Descriptor(
            self._base(name, divisor),
            Integer(zero, zero),
            tuple(sizes),
            tuple(self._strides(name, arg, sizes)),
            (),
        )

    def _size(self, name: str, attribute: str, dim: int, size: int, arg: SSAValue) -> Integer:
        if size != DYNAMIC_INDEX:
            known = self._space.const(size)
        else:
            known = self._open_size(name, attribute, dim, arg)
        return Integer(known, known)

    def _open_size(self, name: str, attribute: str, dim: int, arg: SSAValue) -> Poly:
        """A run-time extent or stride: given by ``A.shape.0``, named as in the kernel."""
        text = f"{name}.{attribute}.{dim}"
        if text in self._given:
            return self._space.const(self._given[text])
        index = list(self._function.args).index(arg)
        written = self._function.argument_attributes(index).get(SHAPE)
        if attribute == "shape" and isinstance(written, ArrayAttr):
            symbol = written.data[dim]
            if isinstance(symbol, StringAttr) and symbol.data.isidentifier():
                text = symbol.data
        if text not in self.symbols:
            self.symbols[text] = self._symbol(text, Interval(0, 2**63 - 1), 1)
        return self.symbols[text]

    def _strides(self, name: str, arg: SSAValue, sizes: Sequence[Integer]) -> list[Integer]:
        assert isinstance(arg.type, MemRefType)
        layout = arg.type.layout
        if isinstance(layout, StridedLayoutAttr):
            given = [
                stride.data if isinstance(stride, IntAttr) else DYNAMIC_INDEX
                for stride in layout.strides.data
            ]
            return [
                self._size(name, "stride", dim, stride, arg) for dim, stride in enumerate(given)
            ]
        strides: list[Integer] = []
        step = self._space.one
        for size in reversed(sizes):
            strides.insert(0, Integer(step, step))
            step = step * size.expr
        return strides

    def _integer(
        self, name: str, type: Attribute, shape: Sequence[int], divisor: int | None
    ) -> Poly:
        limits = integer_range(type)
        if shape:
            lanes = self._lane_mask(shape)
            return self._atoms.opaque(f"%{name}", lanes, shape, limits)
        if name in self._given:
            value = self._given[name]
            if value not in limits:
                raise AnalysisError(f"{name} = {value} does not fit its type {type}")
            if divisor is not None and value % divisor:
                self.notes.append(
                    f"{name} = {value} is not a multiple of {divisor}, which the kernel is "
                    "specialised for"
                )
            known = self._space.const(value)
        else:
            known = self._symbol(name, limits, divisor or 1)
        self.symbols[name] = known
        return known

    def _symbol(self, name: str, limits: Interval, divisor: int) -> Poly:
        text = f"%{name}" if _RESERVED.fullmatch(name) else name
        role = Role("arg", name)
        return self._space.symbol(text, limits, divisor, deps=(f"arg {name}",), role=role)

    def _boolean(self, name: str, shape: Sequence[int]) -> tuple[Value, Poly | None]:
        if shape:
            mask = self._lane_mask(shape)
            return Boolean(self._atoms.predicate(f"%{name}", mask, shape)), None
        if name in self._given:
            truth = self._space.true if self._given[name] else self._space.false
            return Boolean(truth), None
        symbol = self._symbol(name, Interval(0, 1), 1)
        self.symbols[name] = symbol
        return Boolean(self._space.root.compare("!=", symbol, 0)), symbol

    def _lane_mask(self, shape: Sequence[int]) -> int:
        mask = 0
        for dim, extent in enumerate(shape):
            mask |= self._atoms.lane(dim, extent).deps_mask
        return mask

    def _pointers(self, name: str, shape: Sequence[int]) -> Pointer:
        """A tensor of pointers from outside: each lane has a base of its own."""
        limits = Interval.of_bits(64)
        address = self._atoms.opaque(f"%{name}", self._lane_mask(shape), shape, limits)
        zero = self._space.zero
        return Pointer(Base(f"*%{name}", address, None, address.deps_mask), Integer(zero, zero))

    def _descriptor(
        self, arg: SSAValue, index: int, args: Sequence[SSAValue], values: Sequence[Value]
    ) -> Value:
        """A descriptor with the shape and strides that follow it in the signature.

        Rows of a descriptor are contiguous, so the last stride is 1 whatever is given.
        """
        assert isinstance(arg.type, TensorDescType)
        block = arg.type.shape
        rank = len(block)
        following = [
            value
            for value, one in zip(
                values[index + 1 : index + 1 + 2 * rank],
                args[index + 1 : index + 1 + 2 * rank],
                strict=True,
            )
            if isinstance(value, Integer) and not shape_of(one.type)
        ]
        name = self._names.of(arg)
        if len(following) < 2 * rank:
            following = [
                self._hidden(name, attribute, dim)
                for attribute in ("shape", "stride")
                for dim in range(rank)
            ]
        one, zero = self._space.one, self._space.zero
        address = self._atoms.address(f"%{name}", None)
        return Descriptor(
            Base(f"%{name}", address, None, address.deps_mask),
            Integer(zero, zero),
            tuple(following[:rank]),
            (*following[rank : 2 * rank - 1], Integer(one, one)),
            block,
            is_argument=True,
        )

    def _hidden(self, name: str, attribute: str, dim: int) -> Integer:
        """A part of a descriptor that the signature does not show."""
        text = f"{name}.{attribute}.{dim}"
        limits = Interval(0, 2**31 - 1 if attribute == "shape" else 2**63 - 1)
        symbol = self._symbol(text, limits, 1)
        return Integer(symbol, symbol)


def kernel_of(root: Operation, name: str | None) -> FuncOp:
    """The function to analyse: a given one, or the only public one of a module."""
    if isinstance(root, FuncOp):
        return root
    functions = [op for op in walk(root) if isinstance(op, FuncOp) and not op.is_declaration]
    if name is not None:
        found = [function for function in functions if function.sym_name.data == name]
        if not found:
            known = ", ".join(function.sym_name.data for function in functions) or "none"
            raise AnalysisError(f"there is no function '{name}'; the module has {known}")
        return found[0]
    public = [function for function in functions if function.is_public]
    if not public:
        raise AnalysisError("the module has no public function to analyse")
    if len(public) > 1:
        known = ", ".join(function.sym_name.data for function in public)
        raise AnalysisError(
            f"the module has several public functions ({known}): name one (--function)"
        )
    return public[0]
