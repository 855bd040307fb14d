"""Barriers: where asynchronous work reports, and where threads wait for it.

An *mbarrier* is a 64-bit object in shared memory that counts arrivals and expected bytes. When both
are complete, its phase flips; waiting means waiting for the phase of a given parity to complete::

    ttng.init_barrier %bar, 1 : Mb              one arrival completes a phase
    ttng.barrier_expect %bar, 32768, %p : Mb    arrive, and expect so many bytes from copies
    ttng.wait_barrier %bar, %parity : Mb

A *named* barrier is one of the sixteen hardware barriers of a CTA.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, i1, i32
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, i32_attr, i32_prop, unit_prop
from tilewright.dialects.ttg.context import num_ctas_at
from tilewright.dialects.ttg.types import MEMDESC
from tilewright.dialects.ttng.base import ttng_traits
from tilewright.dialects.ttng.checks import (
    one_per_cta,
    verify_arrive_count,
    verify_barrier,
    verify_cga_layout,
    verify_from_cta,
)
from tilewright.dialects.ttng.effects import AccessEffect
from tilewright.dialects.ttng.text import RenamedProperties, attributes, opt_i32_prop, rename
from tilewright.ir.text.assembly import AsmOp, Directive
from tilewright.ir.text.flavour import Flavour


@irdl_op_definition
class InitBarrierOp(AsmOp):
    """Makes the memory an mbarrier whose phases take `count` arrivals."""

    name = "ttng.init_barrier"
    alloc = operand_def(MEMDESC)
    count = i32_prop()
    traits = ttng_traits(AccessEffect(writes=("alloc",)))

    ASM: ClassVar[str] = "$alloc `,` $count attr-dict `:` type($alloc)"

    def __init__(self, alloc: Operand, count: int) -> None:
        super().__init__(operands=[alloc], properties={"count": i32_attr(count)})

    def verify_(self) -> None:
        verify_barrier(self, self.alloc.type)
        verify_arrive_count(self.count)


@irdl_op_definition
class InvalBarrierOp(AsmOp):
    """Ends the life of an mbarrier, so that its memory can be used for something else."""

    name = "ttng.inval_barrier"
    alloc = operand_def(MEMDESC)
    traits = ttng_traits(AccessEffect(writes=("alloc",)))

    ASM: ClassVar[str] = "$alloc attr-dict `:` type($alloc)"

    def __init__(self, alloc: Operand) -> None:
        super().__init__(operands=[alloc])

    def verify_(self) -> None:
        verify_barrier(self, self.alloc.type)


@irdl_op_definition
class BarrierExpectOp(AsmOp):
    """Arrives, and adds `size` bytes to what the current phase waits for."""

    name = "ttng.barrier_expect"
    alloc = operand_def(MEMDESC)
    pred = operand_def(i1)
    size = i32_prop()
    from_cta = opt_i32_prop(name="fromCTA")
    traits = ttng_traits(AccessEffect(writes=("alloc",)))

    ASM: ClassVar[str] = "$alloc `,` $size attr-dict `,` $pred `:` type($alloc)"

    def __init__(self, alloc: Operand, size: int, pred: Operand) -> None:
        super().__init__(operands=[alloc, pred], properties={"size": i32_attr(size)})

    def verify_(self) -> None:
        verify_barrier(self, self.alloc.type)
        verify_from_cta(self, self.alloc.type, self.from_cta)


@irdl_op_definition
class WaitBarrierOp(AsmOp):
    """Blocks until the phase of parity `phase` is complete.

    `deps` are buffers that asynchronous work may access until then.
    """

    name = "ttng.wait_barrier"
    alloc = operand_def(MEMDESC)
    phase = operand_def(i32)
    pred = opt_operand_def(i1)
    deps = var_operand_def(MEMDESC)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = ttng_traits(AccessEffect(reads=("alloc",), writes=("alloc",)))

    ASM: ClassVar[str] = (
        "$alloc `,` $phase (`,` $pred^)? (`deps` $deps^)? attr-dict "
        "`:` type($alloc) (`,` type($deps)^)?"
    )

    def __init__(
        self,
        alloc: Operand,
        phase: Operand,
        pred: Operand | None = None,
        deps: Sequence[Operand] = (),
    ) -> None:
        super().__init__(operands=[alloc, phase, pred, deps])

    def verify_(self) -> None:
        verify_barrier(self, self.alloc.type)


_NO_MULTICAST = i32_attr(0)


def _format_arrival(shown: dict[str, Attribute], flavour: Flavour) -> dict[str, Attribute]:
    is_mask = flavour.is_tlx or not flavour.at_least(3, 9)
    return rename(shown, "multicastCTA", "ctaMask") if is_mask else shown


@irdl_op_definition
class ArriveBarrierOp(RenamedProperties):
    """Counts as `count` arrivals: once for all threads, or for each with `per_thread`.

    The bits of `multicast_cta` are the directions of the cluster in which the arrival is repeated
    on the barriers of other CTAs.
    """

    name = "ttng.arrive_barrier"
    alloc = operand_def(MEMDESC)
    pred = opt_operand_def(i1)
    count = i32_prop()
    from_cta = opt_i32_prop(name="fromCTA")
    multicast_cta = i32_prop(0, name="multicastCTA")
    per_thread = unit_prop(name="perThread")
    traits = ttng_traits(AccessEffect(reads=("alloc",), writes=("alloc",)))

    ASM: ClassVar[str] = "$alloc `,` $count (`,` $pred^)? `` custom<Attributes>() `:` type($alloc)"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Attributes": attributes(
            {"fromCTA": None, "multicastCTA": _NO_MULTICAST, "perThread": None},
            _format_arrival,
        )
    }
    OLD_NAMES: ClassVar[Mapping[str, str]] = {"ctaMask": "multicastCTA"}

    def __init__(
        self,
        alloc: Operand,
        count: int = 1,
        pred: Operand | None = None,
        *,
        per_thread: bool = False,
    ) -> None:
        super().__init__(
            operands=[alloc, pred],
            properties={
                "count": i32_attr(count),
                "perThread": UnitAttr() if per_thread else None,
            },
        )

    @property
    def is_multicast(self) -> bool:
        return self.multicast_cta.value.data != 0

    def verify_(self) -> None:
        verify_barrier(self, self.alloc.type)
        verify_arrive_count(self.count)
        if self.is_multicast:
            self._verify_multicast()
        verify_from_cta(self, self.alloc.type, self.from_cta)
        is_routed = self.from_cta is not None and self.from_cta.value.data != num_ctas_at(self) - 1
        if self.is_multicast and is_routed:
            raise VerifyException("fromCTA cannot be combined with multicast arrive")

    def _verify_multicast(self) -> None:
        num_ctas = num_ctas_at(self)
        if num_ctas <= 1:
            raise VerifyException("multicast arrive requires num_ctas > 1")
        if not 0 <= self.multicast_cta.value.data < num_ctas:
            raise VerifyException("multicastCTA exceeds numCTAs - 1")
        if self.per_thread is not None:
            raise VerifyException("multicast arrive does not support perThread")
        verify_cga_layout("multicast barrier", self.alloc.type, [one_per_cta(num_ctas)])


@irdl_op_definition
class AsyncCopyMbarrierArriveOp(AsmOp):
    """Arrives once all asynchronous copies that this thread issued so far are complete."""

    name = "ttng.async_copy_mbarrier_arrive"
    barrier = operand_def(MEMDESC)
    no_increment = unit_prop(name="noIncrement")
    traits = ttng_traits(AccessEffect(writes=("barrier",)))

    ASM: ClassVar[str] = "$barrier attr-dict `:` type($barrier)"

    def __init__(self, barrier: Operand, *, no_increment: bool = False) -> None:
        super().__init__(
            operands=[barrier],
            properties={"noIncrement": UnitAttr() if no_increment else None},
        )


@irdl_op_definition
class NamedBarrierArriveOp(AsmOp):
    """Arrives at a hardware barrier without waiting; `num_threads` counts waiters as well."""

    name = "ttng.arrive_barrier_named"
    bar = operand_def(i32)
    num_threads = operand_def(i32)

    ASM: ClassVar[str] = "$bar `,` $num_threads attr-dict `:` type($bar) `,` type($num_threads)"

    def __init__(self, bar: Operand, num_threads: Operand) -> None:
        super().__init__(operands=[bar, num_threads])


@irdl_op_definition
class NamedBarrierWaitOp(AsmOp):
    """Arrives at a hardware barrier and waits for all `num_threads` threads."""

    name = "ttng.wait_barrier_named"
    bar = operand_def(i32)
    num_threads = operand_def(i32)

    ASM: ClassVar[str] = "$bar `,` $num_threads attr-dict `:` type($bar) `,` type($num_threads)"

    def __init__(self, bar: Operand, num_threads: Operand) -> None:
        super().__init__(operands=[bar, num_threads])
