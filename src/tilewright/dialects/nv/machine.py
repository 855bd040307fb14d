"""Registers, named barriers, clusters and odd instructions.

nv.setmaxnreg dec 24
nv.bar sync 1, 128
%r = nv.cluster.rank
%d = nv.dp4a %a, %b, %c
"""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i1, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.nv.barriers import PlainOp
from tilewright.dialects.tile.access import (
    AccessedRegion,
    Orders,
    RegionAccess,
    States,
    Unit,
    region_of,
)
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    string,
)
from tilewright.dialects.tile.types import PTR
from tilewright.ir.text.assembly import AsmOp

REGISTER_DIRECTIONS = KeywordSyntax(("inc", "dec"))
BAR_MODES = KeywordSyntax(("sync", "arrive"))
_COPY_BYTES = (4, 8, 16)
_NAMED_BARRIERS = 16
_WARP = 32


@irdl_op_definition
class SetMaxNRegOp(AsmOp):
    """Takes registers from the warp group (``dec``), or gives it some (``inc``)."""

    name = "nv.setmaxnreg"
    direction = keyword_prop(REGISTER_DIRECTIONS)
    count = integer_prop()
    traits = traits_def(States())

    ASM: ClassVar[str] = "$direction $count attr-dict"

    def __init__(self, count: int, *, increase: bool) -> None:
        direction = "inc" if increase else "dec"
        super().__init__(properties=given(direction=string(direction), count=integer_attr(count)))

    @override
    def verify_(self) -> None:
        count = self.count.value.data
        if not 24 <= count <= 240 or count % 8:
            raise VerifyException(
                f"register count must be a multiple of 8 from 24 to 240, got {count}"
            )


@irdl_op_definition
class BarOp(AsmOp):
    """A named barrier of the block: wait for `count` threads, or only arrive."""

    name = "nv.bar"
    mode = keyword_prop(BAR_MODES)
    id = integer_prop()
    count = integer_prop()
    traits = traits_def(Orders())

    ASM: ClassVar[str] = "$mode $id `,` $count attr-dict"

    def __init__(self, mode: str, id: int, count: int) -> None:
        super().__init__(
            properties=given(mode=string(mode), id=integer_attr(id), count=integer_attr(count))
        )

    @override
    def verify_(self) -> None:
        id, count = self.id.value.data, self.count.value.data
        if not 0 <= id < _NAMED_BARRIERS:
            raise VerifyException(f"named barrier id must be 0 to 15, got {id}")
        if count < _WARP or count % _WARP:
            raise VerifyException(
                f"thread count of a named barrier must be a multiple of 32, got {count}"
            )


@irdl_op_definition
class ElectOp(AsmOp):
    """Whether this thread is the one its warp has chosen."""

    name = "nv.elect"
    result = result_def(i1)
    traits = traits_def(Pure())
    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[i1])


@irdl_op_definition
class ClusterRankOp(AsmOp):
    """The number of this block in its cluster."""

    name = "nv.cluster.rank"
    result = result_def(i32)
    traits = traits_def(Pure())
    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[i32])


@irdl_op_definition
class ClusterArriveOp(PlainOp):
    """Arrives at the cluster barrier."""

    name = "nv.cluster.arrive"


@irdl_op_definition
class ClusterWaitOp(PlainOp):
    """Waits until all blocks of the cluster have arrived."""

    name = "nv.cluster.wait"


@irdl_op_definition
class GridWaitOp(PlainOp):
    """Waits until the kernels that were launched before are complete, and what they wrote is seen.

    A kernel with it may begin before they end.
    """

    name = "nv.grid.wait"


@irdl_op_definition
class GridTriggerOp(PlainOp):
    """Lets the next kernel begin, if it waits for this one by itself, once all blocks got here."""

    name = "nv.grid.trigger"


@irdl_op_definition
class Dp4aOp(AsmOp):
    """``c`` plus the dot product of the four signed bytes of ``a`` and ``b``."""

    name = "nv.dp4a"
    a = operand_def(i32)
    b = operand_def(i32)
    c = operand_def(i32)
    result = result_def(i32)
    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$a `,` $b `,` $c attr-dict"

    def __init__(self, a: Operand, b: Operand, c: Operand) -> None:
        super().__init__(operands=[a, b, c], result_types=[i32])


@irdl_op_definition
class CpAsyncOp(AsmOp, RegionAccess):
    """Starts the copy of a few bytes by one thread; nothing, or zeros, if the predicate fails."""

    name = "nv.cp_async"
    dst = operand_def(PTR)
    src = operand_def(PTR)
    predicate = opt_operand_def(i1)
    bytes = integer_prop()
    traits = traits_def(Orders())

    ASM: ClassVar[str] = (
        "$dst `,` $src `,` $bytes (`if` $predicate^)? attr-dict `:` type($dst) `,` type($src)"
    )

    def __init__(
        self, dst: Operand, src: Operand, bytes: int, predicate: Operand | None = None
    ) -> None:
        super().__init__(
            operands=[dst, src, predicate], properties=given(bytes=integer_attr(bytes))
        )

    @override
    def reads(self) -> list[AccessedRegion]:
        return [region_of(self.src, self._unit())]

    @override
    def writes(self) -> list[AccessedRegion]:
        return [region_of(self.dst, self._unit())]

    @override
    def is_async(self) -> bool:
        return True

    def _unit(self) -> Unit:
        return "thread"

    @override
    def verify_(self) -> None:
        if self.bytes.value.data not in _COPY_BYTES:
            raise VerifyException(f"copies 4, 8 or 16 bytes, got {self.bytes.value.data}")
