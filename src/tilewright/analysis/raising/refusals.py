"""Why a kernel is not raised: a code, the op, the reason and what would help.

A kernel is raised as a whole or not at all, so all reasons are collected before anything is
written. The codes are public (``ir/codes/raising.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, locate

NO_COUNTERPART = "TW8001"
ADDRESS = "TW8002"
MASK = "TW8003"
NO_EXTENT = "TW8004"
CARRIED_POINTER = "TW8005"
CONTROL_FLOW = "TW8006"
ELEMENT_TYPE = "TW8010"
DOT = "TW8011"
POINTER_FROM_DATA = "TW8012"
SLOW = "TW8020"


@dataclass(frozen=True)
class Refusal:
    """One op that has no form at tile level."""

    code: str
    op: Operation = field(compare=False)
    reason: str
    help: str

    def report(self, engine: DiagnosticEngine) -> Diagnostic:
        """Emit the remark; what becomes of the kernel is reported by the caller."""
        text = f"not raised to tiles: {self.reason}"
        remark = engine.remark(locate(self.op), text, self.code)
        return remark.note(None, f"help: {self.help}")

    def report_slow(self, engine: DiagnosticEngine) -> Diagnostic:
        """Emit the remark about a kernel that is raised all the same."""
        remark = engine.remark(
            locate(self.op), f"raised to tiles, but slow: {self.reason}", self.code
        )
        return remark.note(None, f"help: {self.help}")

    def __str__(self) -> str:
        return f"{self.code} {self.op.name}: {self.reason}"


class Refusals:
    """The reasons found so far; each op and code once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, str], Refusal] = {}

    def add(self, code: str, op: Operation, reason: str, help: str) -> None:
        self._found.setdefault((code, id(op), reason), Refusal(code, op, reason, help))

    def __iter__(self):
        return iter(self._found.values())

    def __bool__(self) -> bool:
        return bool(self._found)

    def listed(self) -> tuple[Refusal, ...]:
        return tuple(self._found.values())
