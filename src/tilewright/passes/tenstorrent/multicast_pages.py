"""A load that one core does for a group: what its sender and its receivers do instead.

    sender                                      receiver
      cb_reserve cb, n                            cb_reserve cb, n
      for r, c: noc_read_tile page, l1            sem_set valid, 0
      noc_barrier read                            sem_inc ready, 1 at sender
      sem_wait ready, receivers                   sem_wait valid, 1
      sem_set ready, 0                            cb_push cb, n
      mcast l1 to rectangle
      sem_mcast valid to rectangle
      cb_push cb, n

A receiver invalidates its flag before it reports readiness: the other order can lose the sender's
flag. On chips that do not order data and flag, the sender flushes between them; with a buffer of
one block, it flushes because the next block overwrites the pages that it sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from xdsl.ir import SSAValue

from tilewright.dialects.tensix.arguments import ArgOp
from tilewright.dialects.tensix.buffers import CBPushOp, CBReserveOp
from tilewright.dialects.tensix.multicast import CORNERS, DESTS, SENDER, Core, Multicast
from tilewright.dialects.tensix.noc import (
    McastOp,
    NocBarrierOp,
    SemIncOp,
    SemMcastOp,
    SemOp,
    SemSetOp,
    SemWaitOp,
)
from tilewright.dialects.tile import CopyOp
from tilewright.passes.tenstorrent.circular_buffers import format_of_buffer, needed_plan
from tilewright.passes.tenstorrent.kernel_code import KernelCode

INVALID, VALID = 0, 1


class Part(Enum):
    """What a core does for a load that is multicast."""

    SENDER = "sender"
    RECEIVER = "receiver"
    ALONE = "alone"
    """The core is in no group of the load, and reads for itself."""


def parts_of(multicast: Multicast, core: Core) -> dict[str, Part]:
    """What a core does, operand by operand."""
    found = {each.operand: Part.ALONE for each in multicast.groups}
    for each in multicast.groups:
        if each.includes(core):
            found[each.operand] = Part.SENDER if core == each.sender else Part.RECEIVER
    return found


def variant_name(parts: dict[str, Part]) -> str:
    """The name of a reader: ``reader_A_sender_B_receiver``."""
    return "_".join(["reader", *(f"{operand}_{part.value}" for operand, part in parts.items())])


def argument_names(operand: str, part: Part) -> list[str]:
    """The run-time arguments of a core for an operand."""
    if part is Part.ALONE:
        return []
    names = (*CORNERS, DESTS) if part is Part.SENDER else SENDER
    return [f"{operand}_{name}" for name in names]


@dataclass
class MulticastCode:
    """The semaphores and arguments of a reader, and the code of its transfers."""

    code: KernelCode
    multicast: Multicast
    parts: dict[str, Part]
    flushes: bool
    """Whether the chip does not order data and flag."""
    _sems: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    _words: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])

    def start(self, loads: Mapping[str, CopyOp]) -> None:
        """Once, before the first block: the flag that a sender copies to its receivers."""
        for operand, part in self.parts.items():
            if part is Part.SENDER:
                self.code.location = loads[operand].location
                valid = self._sem(operand, is_ready=False)
                self.code.add(SemSetOp(valid, self.code.constant(VALID)))

    def end(self) -> None:
        """No transfer is in flight when the kernel ends."""
        parts = self.parts.values()
        if Part.SENDER in parts:
            self.code.add(NocBarrierOp("write"))
        if Part.RECEIVER in parts:
            self.code.add(NocBarrierOp("atomic"))

    def send(self, load: CopyOp, operand: str, source: SSAValue) -> None:
        """After the pages of a block have arrived: give them to the receivers."""
        code = self.code
        plan = needed_plan(load.dst)
        size = code.constant(plan.tiles * format_of_buffer(load.dst).tile_bytes)
        x_start, y_start, x_end, y_end, dests = (
            self._word(f"{operand}_{name}") for name in (*CORNERS, DESTS)
        )
        rectangle = (x_start, y_start, x_end, y_end)
        ready, valid = (self._sem(operand, is_ready=each) for each in (True, False))
        code.add(SemWaitOp(ready, dests))
        code.add(SemSetOp(ready, code.constant(0)))
        code.add(McastOp(source, rectangle, size, dests))
        if self.flushes or plan.pages == plan.tiles:
            code.add(NocBarrierOp("flush"))
        code.add(SemMcastOp(valid, rectangle, dests))

    def receive(self, load: CopyOp, operand: str) -> None:
        """A block that the sender of the group reads."""
        code = self.code
        cb, count = code.cb(load.dst), code.constant(needed_plan(load.dst).tiles)
        x, y = (self._word(f"{operand}_{name}") for name in SENDER)
        ready, valid = (self._sem(operand, is_ready=each) for each in (True, False))
        code.add(CBReserveOp(cb, count))
        code.add(SemSetOp(valid, code.constant(INVALID)))
        code.add(SemIncOp(ready, code.constant(1), x, y))
        code.add(SemWaitOp(valid, code.constant(VALID)))
        code.add(CBPushOp(cb, count))

    def _sem(self, operand: str, *, is_ready: bool) -> SSAValue:
        group = next(each for each in self.multicast.groups if each.operand == operand)
        index = group.ready_sem if is_ready else group.valid_sem
        if index not in self._sems:
            label = f"{operand}_{'ready' if is_ready else 'valid'}"
            self._sems[index] = self.code.head(SemOp(index, label))
        return self._sems[index]

    def _word(self, name: str) -> SSAValue:
        if name not in self._words:
            self._words[name] = self.code.head(ArgOp(0, name))
        return self._words[name]
