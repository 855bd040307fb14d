"""Configuration of FPU, SFPU and packer: start-up, inits, formats, and the sections of DST.

tensix.hw_startup %c0, %c1, %c16 {matmul} : ...
tensix.init matmul (%c0, %c1) : ...
tensix.init bcast mul col (%c0, %c1) : ...
tensix.init unary exp
tensix.dst_acquire     math may write DST; every slot is undefined
tensix.dst_commit      math has finished
tensix.dst_wait        the packer may read DST
tensix.dst_release     the packer has finished
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr, i64
from xdsl.irdl import irdl_op_definition, operand_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tensix.base import COMPUTE, TensixOp
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.functions import (
    BINARY,
    BINARY_DST,
    BROADCASTS,
    INIT_BUFFERS,
    INIT_KINDS,
    REDUCE_DIMS,
    REDUCTIONS,
    UNARY,
    UNARY_SCALAR,
    InitKey,
)
from tilewright.dialects.tensix.types import CB, Role
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    mark,
    mark_prop,
    opt_keyword_prop,
    string,
)
from tilewright.dialects.tile.mixed import opt_integers, opt_integers_attr, opt_integers_prop
from tilewright.ir.text.syntax import AttributeSyntax, IntegerArray


class ComputeOp(TensixOp):
    """Base of ops that only compute kernels execute."""

    ROLES: ClassVar[tuple[Role, ...]] = COMPUTE


@irdl_op_definition
class HwStartupOp(ComputeOp):
    """Configures unpackers, math and packer once; with ``matmul``, operands in reverse order."""

    name = "tensix.hw_startup"

    in0 = operand_def(CB)
    in1 = operand_def(CB)
    out = operand_def(CB)
    matmul = mark_prop()

    ASM: ClassVar[str] = (
        "$in0 `,` $in1 `,` $out attr-dict `:` type($in0) `,` type($in1) `,` type($out)"
    )

    def __init__(self, in0: Operand, in1: Operand, out: Operand, *, matmul: bool = False) -> None:
        super().__init__(operands=[in0, in1, out], properties=given(matmul=mark(matmul)))


KINDS = KeywordSyntax(tuple(INIT_KINDS))
_FORMATS = tuple(format.value for format in Format)
_FUNCTIONS: Mapping[str, Sequence[str]] = {
    "binary": BINARY,
    "bcast": BINARY,
    "reduce": REDUCTIONS,
    "unary": UNARY,
    "unary_scalar": ("",),
    "binary_dst": BINARY_DST,
}
FUNCTIONS = KeywordSyntax(
    tuple(dict.fromkeys((*BINARY, *REDUCTIONS, *UNARY, *UNARY_SCALAR, *BINARY_DST, *_FORMATS)))
)
_DIMS: Mapping[str, Sequence[str]] = {
    "bcast": BROADCASTS,
    "reduce": REDUCE_DIMS,
    "typecast": _FORMATS,
}
DIMS = KeywordSyntax(tuple(dict.fromkeys((*BROADCASTS, *REDUCE_DIMS, *_FORMATS))))


@irdl_op_definition
class InitOp(ComputeOp):
    """Configures one engine for one kind of op.

    `function` is that of binary, broadcast, reduce, unary and DST-binary ops; `dim` is what a
    broadcast repeats or a reduction reduces. For a typecast these two are its formats.
    """

    name = "tensix.init"

    kind = keyword_prop(KINDS)
    function = opt_keyword_prop(FUNCTIONS)
    dim = opt_keyword_prop(DIMS)
    block = opt_integers_prop()
    """Columns, rows and depth of ``matmul_block``, in tiles."""
    transpose = mark_prop()
    """The tiles of operand 1 of a matmul are transposed."""
    accumulate = mark_prop()
    """Add and subtract accumulate into DST."""
    cbs = var_operand_def(CB)

    ASM: ClassVar[str] = (
        "$kind ($function^)? ($dim^)? ($block^)? attr-dict (`(` $cbs^ `)` `:` type($cbs))?"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"block": IntegerArray(i64)}

    def __init__(self, key: InitKey, cbs: Sequence[Operand] = ()) -> None:
        super().__init__(
            operands=[cbs],
            properties=given(
                kind=StringAttr(key.kind),
                function=string(key.function or None),
                dim=string(key.dim or None),
                block=opt_integers_attr(key.block or None),
                transpose=mark(key.transpose),
                accumulate=mark(key.accumulate),
            ),
        )

    @property
    def key(self) -> InitKey:
        """The configuration that this init makes."""
        return InitKey(
            self.kind.data,
            "" if self.function is None else self.function.data,
            "" if self.dim is None else self.dim.data,
            self.transpose is not None,
            self.accumulate is not None,
            opt_integers(self.block) or (),
        )

    @override
    def verify_(self) -> None:
        super().verify_()
        key = self.key
        expected = INIT_BUFFERS.get(key.kind, 0)
        if len(self.cbs) != expected:
            raise VerifyException(
                f"'{key.kind}' takes {expected} circular buffers, got {len(self.cbs)}"
            )
        functions = _FORMATS if key.kind == "typecast" else _FUNCTIONS.get(key.kind, ("",))
        _verify_keyword("function", key.kind, key.function, functions)
        _verify_keyword("dim", key.kind, key.dim, _DIMS.get(key.kind, ("",)))
        if (key.kind == "matmul_block") != bool(key.block) or len(key.block) not in (0, 3):
            raise VerifyException(
                "matmul_block, and no other kind, takes [columns, rows, depth] in tiles"
            )


def _verify_keyword(what: str, kind: str, found: str, allowed: Sequence[str]) -> None:
    if found not in allowed:
        known = ", ".join(allowed) or "none"
        raise VerifyException(f"{what} of '{kind}' must be one of {known}; got '{found}'")


@irdl_op_definition
class ReconfigOp(ComputeOp):
    """Sets the unpackers to the formats of two buffers; with ``matmul``, in reverse order."""

    name = "tensix.reconfig"

    in0 = operand_def(CB)
    in1 = operand_def(CB)
    matmul = mark_prop()

    ASM: ClassVar[str] = "$in0 `,` $in1 attr-dict `:` type($in0) `,` type($in1)"

    def __init__(self, in0: Operand, in1: Operand, *, matmul: bool = False) -> None:
        super().__init__(operands=[in0, in1], properties=given(matmul=mark(matmul)))


@irdl_op_definition
class PackReconfigOp(ComputeOp):
    """Sets the packer to the format of a buffer."""

    name = "tensix.pack_reconfig"

    out = operand_def(CB)

    ASM: ClassVar[str] = "$out attr-dict `:` type($out)"

    def __init__(self, out: Operand) -> None:
        super().__init__(operands=[out])


@irdl_op_definition
class PackL1AccOp(ComputeOp):
    """Switches the packer between storing (0) and adding to what the page holds (1)."""

    name = "tensix.pack_l1_acc"

    enabled = integer_prop()

    ASM: ClassVar[str] = "$enabled attr-dict"

    def __init__(self, enabled: bool) -> None:
        super().__init__(properties=given(enabled=integer_attr(int(enabled))))

    @override
    def verify_(self) -> None:
        super().verify_()
        if self.enabled.value.data not in (0, 1):
            raise VerifyException(f"must be 0 or 1, got {self.enabled.value.data}")


class SectionOp(ComputeOp):
    """Base of the four steps of the DST protocol."""

    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class DstAcquireOp(SectionOp):
    """Math takes a section of DST, whose slots are undefined."""

    name = "tensix.dst_acquire"


@irdl_op_definition
class DstCommitOp(SectionOp):
    """Math hands the section to the packer."""

    name = "tensix.dst_commit"


@irdl_op_definition
class DstWaitOp(SectionOp):
    """The packer waits for a committed section."""

    name = "tensix.dst_wait"


@irdl_op_definition
class DstReleaseOp(SectionOp):
    """The packer gives the section back; its slots become undefined."""

    name = "tensix.dst_release"
