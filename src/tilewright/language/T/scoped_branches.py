"""Branches and exits of TVM's script, for kernels that are written in it.

    with T.If(c):                   if c: A else: B
        with T.Then(): A
        with T.Else(): B
    T.loop_break()                  break

What a side assigns is not seen after it, as with every region; memory is (``T.alloc_var``).
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Block, Region

from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.frontend.functions.calls import current_control
from tilewright.frontend.merging import end_block
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import OUTSIDE, kernel, trace
from tilewright.language.T.vocabulary import TILE


class Branch:
    """``with T.If(condition)``: holds the sides, and becomes an ``scf.if``."""

    def __init__(self, condition: Any) -> None:
        self._condition = condition
        self.decided: bool | None = None
        """The condition, where it is known now."""
        self.op: IfOp | None = None
        self.sides: set[bool] = set()
        """Those that were written."""

    def __enter__(self) -> None:
        kernel("T.If")
        test = TILE.condition(self._condition)
        trace().branches.append(self)
        if isinstance(test, bool):
            self.decided = test
            return
        self.op = IfOp(test, [], Region(Block()), Region(Block()))
        current().insert(self.op)

    def __exit__(self, *_: object) -> None:
        trace().branches.pop()
        if True not in self.sides:
            raise FrontendError("T.If needs a `with T.Then():` inside", code=BAD_ARGUMENT)
        if self.op is not None and False not in self.sides:
            self.op.else_region.erase_block(self.op.else_region.block)
        trace().writes += 1


class Side:
    """``with T.Then()`` and ``with T.Else()``."""

    is_once = False

    def __init__(self, side: bool) -> None:
        self._side = side
        name = f"T.{'Then' if side else 'Else'}"
        if not trace().branches:
            raise FrontendError(f"{name} must be inside `with T.If(...)`", code=BAD_ARGUMENT)
        self._branch: Branch = trace().branches[-1]
        if side in self._branch.sides:
            raise FrontendError(f"T.If has one {name}", code=BAD_ARGUMENT)
        if not side and True not in self._branch.sides:
            raise FrontendError("T.Else comes after T.Then", code=BAD_ARGUMENT)
        self._branch.sides.add(side)

    @property
    def is_region(self) -> bool:
        return self._branch.op is not None

    def is_skipped(self) -> bool:
        """Whether the condition is known, and this is the other side."""
        return self._branch.decided is (not self._side)

    def __enter__(self) -> None:
        op = self._branch.op
        if op is None:
            return
        builder = current()
        trace().read_elements()
        self._outer, self._location = builder.block, builder.location()
        builder.block = (op.then_region if self._side else op.else_region).block

    def __exit__(self, *_: object) -> None:
        if self._branch.op is None:
            return
        builder = current()
        end_block(builder.block, YieldOp(), self._location)
        builder.block = self._outer
        trace().writes += 1


def If(condition: Any) -> Branch:
    """A branch: ``with T.If(c):`` around ``with T.Then():`` and ``with T.Else():``."""
    return Branch(condition)


def Then() -> Side:
    """What is done where the condition of the ``T.If`` around it holds."""
    return Side(True)


def Else() -> Side:
    """What is done where the condition of the ``T.If`` around it does not hold."""
    return Side(False)


def loop_break() -> None:
    """``break``: leave the innermost loop."""
    from tilewright.language.T.control import TileControl

    control = current_control()
    if not isinstance(control, TileControl):
        raise FrontendError("T.loop_break belongs into a loop of a kernel", code=OUTSIDE)
    control.exit_("break")
    control.guard_rest()
