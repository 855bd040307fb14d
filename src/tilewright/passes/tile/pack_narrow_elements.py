"""`pack-narrow-elements`: elements of 4 bits are halves of bytes in tensors, and bytes elsewhere.

    %A: memref<64x64xf4E2M1FN, #global>        %A: memref<64x32xi8, #global>
    %S: memref<32x64xf4E2M1FN, #shared>   ->   %S: memref<32x64xi8, #shared>

Two elements of a tensor that follow each other along its last dimension share a byte, the first one
in its lower half; strides count elements. In shared memory and registers an element has a byte of
its own: threads write elements there independently of each other, and GEMMs of bytes
take them as they are.

A copy from a tensor moves bytes, and a loop divides them; a copy to a tensor does it the other way
round. An element that is read is taken from its byte. Iterations that store the two halves of a
byte become one (`element_pairs`); where two threads would each store a half, and where the first
column of a copy is not known to be even, the kernel is refused (TW6017). A single half is stored by
reading, changing and writing the byte. All levels run what this makes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    Float4E2M1FNType,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    i8,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.memref import DimOp, LoadOp, StoreOp
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    CopyOp,
    FillOp,
    GemmOp,
    ParallelOp,
    RegionOp,
    Space,
    names,
    space_of,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.tensor_memory import Tcgen05GemmOp
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text.floats import float_bits
from tilewright.ir.traversal import walk
from tilewright.passes.tile import narrow_values as narrow
from tilewright.passes.tile.element_pairs import halved, parity, split_loops
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.narrow_values import Kind, is_narrow
from tilewright.passes.tile.packed_copies import UNSUPPORTED, PackedCopies

_EXPANDED = "float4_e2m1_unpacked"
_MOVED = frozenset(
    (
        *("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
        *("arith.shli", "arith.select"),
        *("scf.if", "scf.for", "scf.while", "scf.yield", "scf.condition", "tile.yield"),
        "tile.parallel",
    )
)
"""What does the same to the lower half of a byte as to 4 bits, or passes values on."""
_FLOATS = frozenset(
    f"arith.{name}"
    for name in (
        *("addf", "subf", "mulf", "divf", "negf"),
        *("maximumf", "minimumf", "maxnumf", "minnumf"),
    )
)
"""Computed as float32."""


@dataclass(frozen=True)
class PackNarrowElements(Pass):
    """Store elements of 4 bits in bytes."""

    name = "pack-narrow-elements"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in list(module.ops):
            if isinstance(function, FuncOp) and function.body.blocks:
                _check_expanded(function, engine)
                if has_narrow(function):
                    _Function(function, engine).pack()


def has_narrow(root: Operation) -> bool:
    """Whether there are elements of 4 bits."""
    return any(
        is_narrow(element_type_of(value.type))
        for op in walk(root)
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))
    )


def _check_expanded(function: FuncOp, engine: DiagnosticEngine) -> None:
    """Report elements that TMA expands, and that something else than a tensor core reads."""
    for op in walk(function):
        if isinstance(op, Tcgen05GemmOp) and op.is_scaled:
            for value in (op.a, op.b):
                owner = base_of(value).owner
                if element_type_of(value.type) == i8 and not _is_expanded(owner):
                    engine.error(
                        op,
                        "a block-scaled GEMM multiplies no integers: elements of 4 bits are those "
                        f"of {_EXPANDED}",
                        UNSUPPORTED,
                    )
        elif isinstance(op, AllocOp) and _is_expanded(op):
            users = [use.operation for use in op.result.uses]
            parts = [each for each in users if isinstance(each, RegionOp)]
            users += [use.operation for each in parts for use in each.result.uses]
            for user in users:
                if not isinstance(user, RegionOp | AsyncCopyOp | Tcgen05GemmOp):
                    engine.error(
                        user,
                        f"elements of {_EXPANDED} are written by T.tma_copy and read by "
                        "block-scaled GEMMs only: 16 of them are the first 8 of 16 bytes",
                        UNSUPPORTED,
                    )
                    return


def _is_expanded(owner: object) -> bool:
    """Whether a buffer has elements of 4 bits that TMA expands."""
    return isinstance(owner, AllocOp) and owner.dtype is not None and owner.dtype.data == _EXPANDED


@dataclass
class _Function(PackedCopies):
    """Types, accesses and arithmetic of a function with elements of 4 bits; and its copies."""

    values: dict[SSAValue, Kind] = field(default_factory=dict[SSAValue, Kind])
    """Of scalars; integers of an operation have no sign, and are SIGNED here."""
    pairs: dict[StoreOp, StoreOp] = field(default_factory=dict[StoreOp, StoreOp])

    def pack(self) -> None:
        self.pairs = split_loops(self.function, self._is_half)
        self._retype_all()
        regions: list[RegionOp] = []
        for op in list(walk(self.function)):
            if op.parent_op() is not None and op is not self.function and self._concerns(op):
                self._lower(op)
                regions += [op] if isinstance(op, RegionOp) and op.parent_op() is not None else []
        for op in regions:
            if not op.result.first_use:
                Rewriter().erase(op)

    def _is_half(self, op: StoreOp) -> bool:
        is_global = space_of(op.memref.type) is Space.GLOBAL
        return is_global and is_narrow(element_type_of(op.memref.type))

    # -- types -------------------------------------------------------------------------------

    def _retype_all(self) -> None:
        found = [
            value
            for op in walk(self.function)
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))
            if is_narrow(element_type_of(value.type)) and not isinstance(value.owner, RegionOp)
        ]
        for value in found:
            element, type = element_type_of(value.type), value.type
            if not isinstance(type, MemRefType):
                kind = Kind.FLOAT if isinstance(element, Float4E2M1FNType) else Kind.SIGNED
                if isinstance(value.owner, LoadOp) and kind is Kind.SIGNED:
                    kind = self.kinds.get(value.owner.memref, kind)
                self.values[Rewriter().retype(value, i8)] = kind
                continue
            kind = _kind_of(value, element)
            self._set_dtype(value, kind)
            packed = self._packed_type(value, type)
            name = value.name_hint
            retyped = Rewriter().retype(value, packed)
            retyped.name_hint = name
            self.kinds[retyped] = kind
        body = self.function.body.block
        outputs = self.function.function_type.outputs.data
        inputs = [each.type for each in body.args]
        self.function.function_type = FunctionType.from_lists(inputs, outputs)

    def _packed_type(self, value: SSAValue, type: MemRefType[Attribute]) -> MemRefType[Attribute]:
        shape, layout = list(shape_of(type)), type.layout
        if space_of(type) is Space.GLOBAL:
            if shape[-1] != DYNAMIC_INDEX:
                if shape[-1] % 2:
                    self._refuse(value, f"its rows have {shape[-1]} elements, an odd count")
                shape[-1] //= 2
            if isinstance(layout, StridedLayoutAttr):
                layout = self._packed_strides(value, layout)
        return MemRefType(i8, shape, layout, type.memory_space)

    def _packed_strides(self, value: SSAValue, layout: StridedLayoutAttr) -> StridedLayoutAttr:
        *outer, last = [
            None if isinstance(each, NoneAttr) else each.data for each in layout.strides.data
        ]
        if last != 1 or any(each is not None and each % 2 for each in outer):
            self._refuse(value, "its strides are not those of whole bytes")
        strides = [*(None if each is None else each // 2 for each in outer), 1]
        return StridedLayoutAttr(strides, layout.offset)

    def _set_dtype(self, value: SSAValue, kind: Kind) -> None:
        """Declare the bytes as integers with the sign of the elements."""
        if isinstance(value.owner, AllocOp):
            value.owner.dtype = StringAttr(kind.dtype)
        if not isinstance(value, BlockArgument) or self.function.arg_attrs is None:
            return
        dictionaries = list(cast("ArrayAttr[DictionaryAttr]", self.function.arg_attrs).data)
        old = dictionaries[value.index]
        new = {k: v for k, v in old.data.items() if k != names.SHAPE}
        dictionaries[value.index] = DictionaryAttr({**new, names.DTYPE: StringAttr("uint8")})
        self.function.arg_attrs = ArrayAttr(dictionaries)

    # -- ops ---------------------------------------------------------------------------------

    def _concerns(self, op: Operation) -> bool:
        return any(
            value in self.values or value in self.kinds or self._kind(value) is not None
            for value in (*op.operands, *op.results)
        )

    def _lower(self, op: Operation) -> None:
        code = IndexBuilder(op)
        if isinstance(op, RegionOp):
            if not self._is_packed(op.base):
                self._replace(op, RegionOp(op.base, op.offsets, op.extents))
        elif isinstance(op, AllocOp) or op.name in _MOVED:
            return
        elif isinstance(op, LoadOp):
            self._load(op, code)
        elif isinstance(op, StoreOp):
            self._store(op, code)
        elif isinstance(op, CopyOp):
            self._copy(op, code)
        elif isinstance(op, AsyncCopyOp):
            self._expand(op, code)
        elif isinstance(op, FillOp):
            self._fill(op, code)
        elif isinstance(op, DimOp):
            self._dim(op)
        elif isinstance(op, arith.ConstantOp):
            self._constant(op)
        elif op.name.startswith("arith."):
            self._compute(op, code)
        elif not (isinstance(op, GemmOp) and self._takes_bytes(op)):
            self._refuse(op, f"{op.name} has no form for them")

    def _takes_bytes(self, op: GemmOp) -> bool:
        kinds = [self._kind(each) for each in (op.a, op.b)]
        return Kind.FLOAT not in kinds and None not in kinds

    def _replace(self, op: Operation, new: Operation) -> None:
        kind = self.values.get(op.results[0]) if op.results else None
        Rewriter().replace_op(op, new)
        if kind is not None:
            self.values[new.results[0]] = kind

    def _give(self, op: Operation, value: SSAValue, kind: Kind | None = None) -> None:
        """Let a value replace the result of an op."""
        rewriter = Rewriter()
        rewriter.replace_all_uses(op.results[0], value)
        rewriter.erase(op)
        if kind is not None:
            self.values[value] = kind

    def _load(self, op: LoadOp, code: IndexBuilder) -> None:
        if not self._is_packed(op.memref):
            return
        position = halved(code, op.indices[-1])
        byte = code.add(LoadOp(op.memref, self._indices(op, position.byte, code))).results[0]
        self._give(
            op, self._half(code, byte, op.indices[-1], position.parity), self.kinds[op.memref]
        )

    def _indices(self, op: LoadOp | StoreOp, byte: Mixed, code: IndexBuilder) -> list[SSAValue]:
        return [*op.indices[:-1], code.index(byte)]

    def _store(self, op: StoreOp, code: IndexBuilder) -> None:
        buffer = op.memref
        if not self._is_packed(buffer):
            kind = self.kinds.get(base_of(buffer))
            if kind is not None:
                op.operands[0] = narrow.normalised(code, op.value, kind)
            return
        if op in self.pairs.values():
            return  # stored with the upper half
        if (lower := self.pairs.get(op)) is not None:
            position = halved(code, lower.indices[-1])
            byte = self._joined(code, lower.value, op.value)
            code.add(StoreOp(byte, buffer, self._indices(op, position.byte, code)))
            Rewriter().erase(lower)
            Rewriter().erase(op)
            return
        self._store_half(op, code)

    def _store_half(self, op: StoreOp, code: IndexBuilder) -> None:
        """Change a half of a byte."""
        if _shares_bytes(op):
            self._refuse(
                op,
                "its iterations store single elements, and two of them share a byte",
                "let the last index be a variable of the loop, or that plus an even integer",
            )
            return
        position = halved(code, op.indices[-1])
        indices = self._indices(op, position.byte, code)
        byte = code.add(LoadOp(op.memref, indices)).results[0]
        rest = code.add(arith.AndiOp(byte, narrow.constant(code, 0xF0 - 256, i8))).results[0]
        as_lower = code.add(arith.OriOp(rest, narrow.low(code, op.value))).results[0]
        as_upper = self._joined(code, byte, op.value)
        if position.parity is None:
            even = self._is_even(code, op.indices[-1])
            byte = code.add(arith.SelectOp(even, as_lower, as_upper)).results[0]
        else:
            byte = as_upper if position.parity else as_lower
        code.add(StoreOp(byte, op.memref, indices))
        Rewriter().erase(op)

    def _fill(self, op: FillOp, code: IndexBuilder) -> None:
        kind = self._kind(op.dst)
        if kind is None:
            return
        if self._is_packed(op.dst):
            region = self._bytes_of(op, op.dst, code)
            if region is not None:
                byte = self._joined(code, op.value, op.value)
                code.add(FillOp(region, byte))
                Rewriter().erase(op)
            return
        op.operands[1] = narrow.normalised(code, op.value, kind)

    def _dim(self, op: DimOp) -> None:
        if not self._is_packed(op.source):
            return
        index = constant_value(op.index)
        last = len(shape_of(op.source.type)) - 1
        if not isinstance(index, IntegerAttr) or index.value.data != last:
            return
        uses = list(op.result.uses)
        two = arith.ConstantOp.of(2, op.result.type)
        double = arith.MuliOp(op.result, two.results[0])
        Rewriter().insert_after(op, [two, double])
        for use in uses:
            use.operation.operands[use.index] = double.results[0]

    def _constant(self, op: arith.ConstantOp) -> None:
        value = op.value
        if isinstance(value, FloatAttr):
            bits = int(float_bits(value.value.data, Float4E2M1FNType()))
        else:
            assert isinstance(value, IntegerAttr)
            bits = value.value.data & 0xF
        self._replace(op, arith.ConstantOp.of(bits, i8))

    def _compute(self, op: Operation, code: IndexBuilder) -> None:
        given = [self.values.get(each) for each in op.operands]
        made = self.values.get(op.results[0])
        if op.name in ("arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp", "arith.extf"):
            kind = given[0]
            assert kind is not None
            if kind is not Kind.FLOAT:
                is_signed = op.name in ("arith.extsi", "arith.sitofp")
                kind = Kind.SIGNED if is_signed else Kind.UNSIGNED
            value = narrow.widened(code, op.operands[0], kind, op.results[0].type)
            self._give(op, value)
        elif op.name in ("arith.trunci", "arith.fptosi", "arith.fptoui", "arith.truncf"):
            assert made is not None
            value = op.operands[0]
            if given[0] is not None:
                value = narrow.widened(code, value, given[0], narrow.F32)
            self._give(op, narrow.narrowed(code, value, made), made)
        elif op.name == "arith.bitcast":
            self._give(op, op.operands[0], made)
        elif op.name == "arith.cmpi":
            for index, value in enumerate(op.operands):
                op.operands[index] = narrow.shifted(code, value)
        elif op.name == "arith.cmpf" or op.name in _FLOATS:
            for index, value in enumerate(op.operands):
                op.operands[index] = narrow.decoded(code, value)
            if made is not None:
                self._round(op, made)
        else:
            self._refuse(op, f"{op.name} has no form for them: convert them first")

    def _round(self, op: Operation, kind: Kind) -> None:
        """Make the result of an op a float32, and of that one of 4 bits."""
        del self.values[op.results[0]]
        following = op.next_op
        assert following is not None, "a block ends with another op"
        wide = Rewriter().retype(op.results[0], narrow.F32)
        uses = list(wide.uses)
        value = narrow.encoded(IndexBuilder(following), wide)
        for use in uses:
            use.operation.operands[use.index] = value
        self.values[value] = kind


def _kind_of(buffer: SSAValue, element: Attribute) -> Kind:
    if isinstance(element, AnyFloat):
        return Kind.FLOAT
    owner = buffer.owner
    if isinstance(owner, Block):
        assert isinstance(buffer, BlockArgument)
        dtype = argument_attributes(buffer).get(names.DTYPE)
    else:
        dtype = owner.dtype if isinstance(owner, AllocOp) else None
    is_without_sign = isinstance(dtype, StringAttr) and dtype.data.startswith("uint")
    return Kind.UNSIGNED if is_without_sign else Kind.SIGNED


def _shares_bytes(op: StoreOp) -> bool:
    """Whether other iterations of a parallel loop may store the other half of the byte."""
    known = parity(op.indices[-1])
    if known is not None:
        return False
    pending, seen = [op.indices[-1]], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument) and isinstance(value.block.parent_op(), ParallelOp):
            return True
        if isinstance(value.owner, Operation):
            pending += value.owner.operands
    return False
