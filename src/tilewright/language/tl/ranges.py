"""What a ``for`` can run over, and how a ``while`` can be annotated.

    for i in range(n):                      a loop of the IR, even if n is known
    for i in tl.range(n, num_stages=3):     the same, with hints for the compiler
    for i in tl.static_range(4):            unrolled: i is known in each round

A counted loop goes upwards. A negative step, which has to be known, is turned around: the loop runs
over the mirrored range and its variable is ``last - i + first``.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects import arith, ub
from tilewright.dialects.llvm import LoopAnnotationAttr, LoopLICMAttr
from tilewright.frontend.builder import current
from tilewright.frontend.vocabulary import CountedLoop
from tilewright.language.tl.constants import is_python_scalar, to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import integer_cast
from tilewright.language.tl.dtypes import dtype
from tilewright.language.tl.promotion import integer_promote
from tilewright.language.tl.tensor import Operand, tensor


class range:
    """A range of integers that a loop of the kernel runs over.

    num_stages: how many rounds of the loop are in flight at once (software pipelining).
    loop_unroll_factor: how many rounds to put into one.
    disallow_acc_multi_buffer: keep one buffer for the accumulator of a `dot` in the loop.
    flatten: make one loop of this one and those inside it.
    warp_specialize: give memory, matrix and vector operations of the loop warps of their own.
    disable_licm: leave computations that are the same in each round inside the loop.
    multi_cta: let the CTAs of a cluster share the rounds (TLX). Here each CTA does all of them,
        which computes the same.
    """

    def __init__(
        self,
        arg1: Operand,
        arg2: Operand | None = None,
        step: Operand | None = None,
        num_stages: int | None = None,
        loop_unroll_factor: int | None = None,
        disallow_acc_multi_buffer: bool = False,
        flatten: bool = False,
        warp_specialize: bool = False,
        disable_licm: bool = False,
        multi_cta: bool = False,
    ) -> None:
        self.start: Operand = 0 if arg2 is None else unwrap(arg1)
        self.end: Operand = unwrap(arg1 if arg2 is None else arg2)
        self.step: Operand = 1 if step is None else unwrap(step)
        self.num_stages = unwrap(num_stages)
        self.loop_unroll_factor = unwrap(loop_unroll_factor)
        self.disallow_acc_multi_buffer = unwrap(disallow_acc_multi_buffer)
        self.flatten = unwrap(flatten)
        self.warp_specialize = unwrap(warp_specialize)
        self.disable_licm = unwrap(disable_licm)
        self.multi_cta = unwrap(multi_cta)

    def __iter__(self) -> NoReturn:
        raise RuntimeError(
            "a range of a kernel can only be used in a `for` of a kernel; where the values are "
            "needed at compile time, use tl.static_range"
        )

    def known(self) -> Sequence[int] | None:
        """The integers themselves, if the bounds are known at compile time."""
        bounds = (self.start, self.end, self.step)
        known = [bound for bound in bounds if isinstance(bound, int)]
        return tuple(builtins.range(*known)) if len(known) == len(bounds) else None

    def attributes(self) -> Mapping[str, Attribute]:
        """The hints, as attributes of the loop."""
        integers = {
            "tt.num_stages": self.num_stages,
            "tt.loop_unroll_factor": self.loop_unroll_factor,
        }
        flags = {
            "tt.disallow_acc_multi_buffer": self.disallow_acc_multi_buffer,
            "tt.flatten": self.flatten,
            "tt.warp_specialize": self.warp_specialize,
        }
        return {
            **{name: IntegerAttr(n, i32) for name, n in integers.items() if n is not None},
            **{name: UnitAttr() for name, is_set in flags.items() if is_set},
            **(NO_LICM if self.disable_licm else {}),
        }

    def loop(self) -> CountedLoop:
        """The loop of the IR over this range."""
        start, end, step = self.start, self.end, self.step
        is_downwards = is_python_scalar(step) and step < 0
        if is_downwards:
            start, end, step = end, start, -step
        bounds = [to_tensor(start), to_tensor(end), to_tensor(step)]
        _check(bounds)
        type = integer_promote(integer_promote(bounds[0].dtype, bounds[1].dtype), bounds[2].dtype)
        signed = type.is_int_signed()
        lower, upper, step = (integer_cast(x, type, signed=signed).handle for x in bounds)
        # Where the induction variable will be known from; it goes with the first clean-up.
        current().insert(ub.PoisonOp(type.to_ir()))
        index = _mirrored(lower, upper, type) if is_downwards else _plain(type)
        return CountedLoop(lower, upper, step, index, self.attributes())


class static_range:
    """A range of integers, known when the kernel is compiled, that a loop is unrolled over."""

    def __init__(self, arg1: int, arg2: int | None = None, step: int | None = None) -> None:
        self.start = _known(0 if arg2 is None else arg1, "start")
        self.end = _known(arg1 if arg2 is None else arg2, "end")
        self.step = _known(1 if step is None else step, "step")

    def __iter__(self) -> Iterator[int]:
        return iter(builtins.range(self.start, self.end, self.step))

    def __len__(self) -> int:
        return len(builtins.range(self.start, self.end, self.step))


class condition:
    """The condition of a ``while``, with a hint for the compiler."""

    def __init__(self, arg1: Operand, disable_licm: bool = False) -> None:
        self.condition = unwrap(arg1)
        self.disable_licm = unwrap(disable_licm)

    def attributes(self) -> Mapping[str, Attribute]:
        """The hint, as attributes of the loop."""
        return NO_LICM if self.disable_licm else {}


NO_LICM: Mapping[str, Attribute] = {
    "llvm.loop_annotation": LoopAnnotationAttr.of(
        licm=LoopLICMAttr.of(
            disable=BoolAttr.from_bool(True), versioningDisable=BoolAttr.from_bool(True)
        )
    )
}


def _known(value: int, role: str) -> int:
    value = unwrap(value)
    if isinstance(value, tensor) or not isinstance(value, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"{value} used as tl.static_range {role} value is not a constexpr: a fully unrolled "
            "loop requires a compile-time trip count. Use range instead"
        )
    return value


def _check(bounds: list[tensor]) -> None:
    if not all(bound.dtype.is_int() for bound in bounds):
        types = ", ".join(str(bound.dtype) for bound in bounds)
        raise TypeError(f"For loop bounds and step must all be ints, are ({types})")
    for role, bound in zip(("lower bound", "upper bound", "step"), bounds, strict=True):
        if bound.numel != 1:
            raise TypeError(f"For {role} must be a scalar, got {bound.type}")


def _plain(type: dtype) -> Callable[[SSAValue], tensor]:
    return lambda iv: tensor(iv, type)


def _mirrored(lower: SSAValue, upper: SSAValue, type: dtype) -> Callable[[SSAValue], tensor]:
    def index(iv: SSAValue) -> tensor:
        builder = current()
        down = builder.insert(arith.SubiOp(upper, iv)).results[0]
        return tensor(builder.insert(arith.AddiOp(down, lower)).results[0], type)

    return index
