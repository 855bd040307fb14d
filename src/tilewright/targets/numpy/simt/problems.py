"""What went wrong while a kernel ran, before it has been put into a diagnostic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from tilewright.targets.numpy.simt.api import FaultKind


@dataclass(frozen=True)
class Note:
    """An additional note, perhaps on another op."""

    text: str
    op: Operation | None = None


class SimtRuntimeFault(Exception):
    """Raised by ops; the launch adds the block and the source line."""

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        op: Operation | None = None,
        notes: Sequence[Note] = (),
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.message = message
        self.op = op
        self.notes = tuple(notes)
