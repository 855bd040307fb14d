"""Which command takes which kernel, and why not where it does not: the tables of docs/cli.md.

Every combination has an entry: `YES`, or the code and the sentence that the command ends with,
which it takes from here. Each is a test (`tests/cli/test_every_input.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tilewright.cli.commands import KERNEL_TOOLS
from tilewright.cli.languages import LANGUAGES

SCRIPT, COMPAT, TEXT = "`FILE.py`", "`--compat FILE.py`", "IR text"
INPUTS = (SCRIPT, COMPAT, TEXT)
TARGETS = ("cuda:sm_90a", "hip:gfx942", "tenstorrent:wormhole", "triton:sm_90")
COMMANDS = tuple(each.name for each in KERNEL_TOOLS)


@dataclass(frozen=True)
class Support:
    """What a command does with a kernel."""

    code: int = 0
    printed: str = ""
    """A part of the sentence that it ends with, if it has no result."""
    reason: str = ""
    """The same for the table."""

    def __str__(self) -> str:
        return self.reason or "yes"


YES = Support()

ONE_CONFIGURATION = Support(
    3, "is IR text, which is one configuration", "no: IR text is one configuration"
)
_NOT_RUN = Support(
    2,
    "expected --target tenstorrent:wormhole",
    "no: Triton's machine code runs on GPUs only, without --target",
)
_STORAGE = Support(
    1,
    "has no counterpart on the Tenstorrent target",
    "without aliased storage and tasks, which are of GPUs (TW7070)",
)
NO_LAYOUTS = Support(2, "has no layouts", "no: tiles of 32 x 32 are in circular buffers")

TUNED_WHERE_THEY_RUN = Support(
    2, "kernels are tuned where they run", "without --target, for the GPU of the arrays"
)
MEMORY_OF_TRITON = Support(
    2,
    "Triton's own code has its memory in its TTGIR",
    "by way of `compile -o DIR`, then `memory DIR/*.ttgir.final`",
)

_OF_INPUTS: Mapping[tuple[str, str, str], Support] = MappingProxyType(
    {("tune", language, TEXT): ONE_CONFIGURATION for language in LANGUAGES}
)
_OF_TRITON: Mapping[str, Support] = MappingProxyType(
    {
        "run": _NOT_RUN,
        "check": _NOT_RUN,
        "analyze": Support(
            2,
            "kernels are not raised to tiles for 'triton:sm_90'",
            "no: without --target, the kernel is analysed as Triton has it",
        ),
        "memory": MEMORY_OF_TRITON,
        "layout": Support(2, "has no layouts", "no: `compile --stage ttgir.final` has them"),
        "tune": TUNED_WHERE_THEY_RUN,
    }
)


def of_input(command: str, language: str, input: str) -> Support:
    """A kernel without a target."""
    return _OF_INPUTS.get((command, language, input), YES)


def of_target(command: str, language: str, target: str) -> Support:
    """A script with ``--target``."""
    if target.startswith("triton"):
        if (command, language) == ("compile", "T"):
            return Support(
                2,
                "T kernels have targets like cuda:sm_90a",
                "no: Triton compiles kernels on pointers",
            )
        return _OF_TRITON.get(command, YES)
    if target.startswith("tenstorrent"):
        if command == "layout":
            return NO_LAYOUTS
        return _STORAGE if language == "tlx" else YES
    return YES
