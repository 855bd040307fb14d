"""Buffer accesses: a scalar base pointer and a tensor of 32-bit offsets.

The hardware checks the offset of each element against the size of the buffer and adds it to the
base, so that a masked-out element costs no branch. `stride` is a hint for the cache: the distance
of rows. Types of offsets and mask follow from those of the values and are not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.amdg.text import (
    ACCESS,
    POLICY,
    parse_modifier,
    parse_named_operand,
    print_modifier,
    print_named_operand,
    types,
)
from tilewright.dialects.tt.base import Operand, enum_prop, i32_attr, i32_prop
from tilewright.dialects.tt.cache_text import CachedAccess, writes_clauses
from tilewright.dialects.tt.constraints import BOOL_LIKE, I32_LIKE, I32_TENSOR, PTR, TENSOR
from tilewright.dialects.tt.enums import MEM_SEMANTIC, MEM_SYNC_SCOPE, RMW_OP
from tilewright.dialects.tt.types import PtrType
from tilewright.dialects.ttg.types import MEMDESC, TOKEN_TYPE
from tilewright.dialects.ttng.effects import AccessEffect
from tilewright.dialects.type_utils import element_type_of, i1_like, with_element_type
from tilewright.ir.text.assembly import AsmOp, Directive, TypeRule
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

_SEGMENTS = (AttrSizedOperandSegments(as_property=True),)
_READS = AccessEffect(reads=("ptr",))
_WRITES = AccessEffect(writes=("ptr",))
_UPDATES = AccessEffect(reads=("ptr",), writes=("ptr",))


def _rules(value: str) -> Mapping[str, TypeRule]:
    """Types of the operands that have the shape of `value`."""
    return {
        "offsets": TypeRule(
            f"{value} and offsets have the same shape",
            lambda types: with_element_type(types[value], i32),
        ),
        "mask": TypeRule(
            f"{value} and mask have the same shape", lambda types: i1_like(types[value])
        ),
    }


def verify_pointee(what: str, ptr: Attribute, value: Attribute) -> None:
    """Raise if `ptr` does not point to elements of `value`."""
    assert isinstance(ptr, PtrType), "checked by the operand's constraint"
    if ptr.pointee != element_type_of(value):
        raise VerifyException(
            f"failed to verify that {what} element type matches the pointed type of ptr"
        )


@irdl_op_definition
class BufferLoadOp(CachedAccess):
    """The elements at `offsets`; `other` where the mask is false."""

    name = "amdg.buffer_load"
    ptr = operand_def(PTR)
    offsets = operand_def(I32_TENSOR)
    stride = opt_operand_def(i32)
    mask = opt_operand_def(BOOL_LIKE)
    other = opt_operand_def(TENSOR)
    policy = opt_prop_def(Attribute, prop_name=POLICY)
    contiguity = i32_prop(1)
    result = result_def(TENSOR)
    irdl_options = _SEGMENTS
    traits = traits_def(_READS)

    ASM: ClassVar[str] = (
        "$ptr `[` $offsets `]` (`,` $mask^)? (`,` $other^)? `` "
        "custom<Access>($cachePolicy, $contiguity) `:` custom<Types>()"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Access": ACCESS,
        "Types": types("result", lambda op: op.result),
    }
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        **_rules("result"),
        "other": TypeRule("result and other have the same type", lambda types: types["result"]),
    }

    def __init__(
        self,
        ptr: Operand,
        offsets: Operand,
        mask: Operand | None = None,
        other: Operand | None = None,
        *,
        stride: Operand | None = None,
        policy: Attribute | None = None,
        contiguity: int = 1,
    ) -> None:
        base, index = SSAValue.get(ptr), SSAValue.get(offsets)
        assert isinstance(base.type, PtrType)
        super().__init__(
            operands=[base, index, stride, mask, other],
            result_types=[with_element_type(index.type, base.type.pointee)],
            properties={POLICY: policy, "contiguity": i32_attr(contiguity)},
        )

    @override
    def verify_(self) -> None:
        verify_pointee("result", self.ptr.type, self.result.type)


@irdl_op_definition
class BufferStoreOp(CachedAccess):
    """Writes elements to `offsets`, except where the mask is false."""

    name = "amdg.buffer_store"
    value = operand_def(TENSOR)
    ptr = operand_def(PTR)
    offsets = operand_def(I32_TENSOR)
    stride = opt_operand_def(i32)
    mask = opt_operand_def(BOOL_LIKE)
    policy = opt_prop_def(Attribute, prop_name=POLICY)
    contiguity = i32_prop(1)
    irdl_options = _SEGMENTS
    traits = traits_def(_WRITES)

    ASM: ClassVar[str] = (
        "$value `,` $ptr `[` $offsets `]` (`,` $mask^)? `` "
        "custom<Access>($cachePolicy, $contiguity) `:` custom<Types>()"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Access": ACCESS,
        "Types": types("value", lambda op: op.value),
    }
    TYPES: ClassVar[Mapping[str, TypeRule]] = _rules("value")

    def __init__(
        self,
        value: Operand,
        ptr: Operand,
        offsets: Operand,
        mask: Operand | None = None,
        *,
        stride: Operand | None = None,
        policy: Attribute | None = None,
        contiguity: int = 1,
    ) -> None:
        super().__init__(
            operands=[value, ptr, offsets, stride, mask],
            properties={POLICY: policy, "contiguity": i32_attr(contiguity)},
        )

    @override
    def verify_(self) -> None:
        verify_pointee("value", self.ptr.type, self.value.type)


@irdl_op_definition
class BufferAtomicRMWOp(AsmOp):
    """Combines elements with those at `offsets`; returns what was there before."""

    name = "amdg.buffer_atomic_rmw"
    ptr = operand_def(PTR)
    offsets = operand_def(I32_TENSOR)
    value = operand_def(TENSOR)
    stride = opt_operand_def(i32)
    mask = opt_operand_def(BOOL_LIKE)
    atomic_rmw_op = enum_prop(RMW_OP)
    sem = enum_prop(MEM_SEMANTIC)
    scope = enum_prop(MEM_SYNC_SCOPE)
    contiguity = i32_prop(1)
    result = result_def(TENSOR)
    irdl_options = _SEGMENTS
    traits = traits_def(_UPDATES)

    ASM: ClassVar[str] = (
        "$atomic_rmw_op `,` $sem `,` $scope `,` $value `,` $ptr `[` $offsets `]` (`,` $mask^)? `` "
        "custom<Access>($contiguity) `:` custom<Types>()"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Access": ACCESS,
        "Types": types("result", lambda op: op.result),
    }
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        **_rules("result"),
        "value": TypeRule("result and value have the same type", lambda types: types["result"]),
    }

    def __init__(
        self,
        kind: str,
        ptr: Operand,
        offsets: Operand,
        value: Operand,
        mask: Operand | None = None,
        *,
        sem: str = "acq_rel",
        scope: str = "gpu",
        stride: Operand | None = None,
    ) -> None:
        operand = SSAValue.get(value)
        super().__init__(
            operands=[ptr, offsets, operand, stride, mask],
            result_types=[operand.type],
            properties={
                "atomic_rmw_op": RMW_OP.attribute(kind),
                "sem": MEM_SEMANTIC.attribute(sem),
                "scope": MEM_SYNC_SCOPE.attribute(scope),
            },
        )

    @override
    def verify_(self) -> None:
        verify_pointee("result", self.ptr.type, self.result.type)


@irdl_op_definition
class BufferAtomicCASOp(AsmOp):
    """Writes `val` where `cmp` is found at `offsets`; returns what was there before."""

    name = "amdg.buffer_atomic_cas"
    ptr = operand_def(PTR)
    offsets = operand_def(I32_TENSOR)
    cmp = operand_def(TENSOR)
    val = operand_def(TENSOR)
    stride = opt_operand_def(i32)
    sem = enum_prop(MEM_SEMANTIC)
    scope = enum_prop(MEM_SYNC_SCOPE)
    contiguity = i32_prop(1)
    result = result_def(TENSOR)
    traits = traits_def(_UPDATES)

    ASM: ClassVar[str] = (
        "$sem `,` $scope `,` $cmp `,` $val `,` $ptr `[` $offsets `]` `` "
        "custom<Access>($contiguity) `:` custom<Types>()"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Access": ACCESS,
        "Types": types("result", lambda op: op.result),
    }
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "offsets": _rules("result")["offsets"],
        "cmp": TypeRule("result and cmp have the same type", lambda types: types["result"]),
        "val": TypeRule("result and val have the same type", lambda types: types["result"]),
    }

    @override
    def verify_(self) -> None:
        verify_pointee("result", self.ptr.type, self.result.type)


# -- to shared memory ----------------------------------------------------------------------------


def _parse_source(parser: IRParser, state: ParseState) -> None:
    for name in ("mask", "other", "stride"):
        state.operands[name] = parse_named_operand(parser, name)
    state.types["stride"] = (i32,) * len(state.operands["stride"])
    policy: Attribute | None = parse_modifier(parser)
    if parser.next_text == POLICY:
        parser.parse_keyword(POLICY)
        parser.parse_punctuation("=")
        policy = parser.parse_attribute()
    if policy is not None:
        state.properties[POLICY] = policy


def _print_source(printer: IRPrinter, op: Any) -> None:
    for name in ("mask", "other", "stride"):
        print_named_operand(printer, name, getattr(op, name))
    if op.policy is None:
        return
    if writes_clauses(printer.flavour):
        print_modifier(printer, op.policy)
        return
    printer.print_string(f" {POLICY} = ")
    printer.print_attribute(op.policy)


def _parse_transfer(parser: IRParser, state: ParseState) -> None:
    bare = parser.next_text == "<"
    state.types["ptr"] = (parser.parse_bare(PtrType) if bare else parser.parse_type(),)
    parser.parse_punctuation("[")
    offsets = parser.parse_type()
    parser.parse_punctuation("]")
    state.types["offsets"] = (offsets,)
    state.types["mask"] = (i1_like(offsets),) * len(state.operands["mask"])
    state.types["other"] = (parser.parse_type(),) if state.operands["other"] else ()


def _print_transfer(printer: IRPrinter, op: Any) -> None:
    is_old = writes_clauses(printer.flavour)
    (printer.print_stripped if is_old else printer.print_attribute)(op.ptr.type)
    printer.print_string("[")
    printer.print_attribute(op.offsets.type)
    printer.print_string("] ")
    if op.other is not None:
        printer.print_attribute(op.other.type)


@irdl_op_definition
class BufferLoadToLocalOp(CachedAccess):
    """Copies the elements at `offsets` to shared memory, asynchronously."""

    name = "amdg.buffer_load_to_local"
    dest = operand_def(MEMDESC)
    ptr = operand_def(PTR)
    offsets = operand_def(I32_LIKE)
    mask = opt_operand_def(BOOL_LIKE)
    other = opt_operand_def(TENSOR)
    stride = opt_operand_def(i32)
    policy = opt_prop_def(Attribute, prop_name=POLICY)
    contiguity = i32_prop(1)
    token = result_def(TOKEN_TYPE)
    irdl_options = _SEGMENTS
    traits = traits_def(AccessEffect(reads=("ptr",), writes=("dest",)))

    ASM: ClassVar[str] = (
        "$ptr `[` $offsets `]` `` custom<Source>($cachePolicy) `into` $dest attr-dict "
        "`:` custom<Transfer>() `->` stripped(type($dest))"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Source": Directive(_parse_source, _print_source),
        "Transfer": Directive(_parse_transfer, _print_transfer),
    }

    def __init__(
        self,
        dest: Operand,
        ptr: Operand,
        offsets: Operand,
        mask: Operand | None = None,
        other: Operand | None = None,
        *,
        stride: Operand | None = None,
        policy: Attribute | None = None,
        contiguity: int = 1,
    ) -> None:
        super().__init__(
            operands=[dest, ptr, offsets, mask, other, stride],
            result_types=[TOKEN_TYPE],
            properties={POLICY: policy, "contiguity": i32_attr(contiguity)},
        )
