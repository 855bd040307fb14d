"""Every command of ``tilewright``: its flags, examples and exit codes. Only data."""

from __future__ import annotations

from tilewright.cli.commands.compiling import COMPILE, OPS, OPT, PASSES
from tilewright.cli.commands.executing import CHECK, RUN, TUNE
from tilewright.cli.commands.shared import DEFAULT_TARGET
from tilewright.cli.commands.showing import ANALYZE, CHECKS, LAYOUT, MEMORY
from tilewright.cli.commands.tools import CACHE, COMPLETION, DEMO, EXPLAIN, LSP, SHELLS, STUDIO

COMMANDS = (
    *(OPT, PASSES, OPS, RUN, CHECK, ANALYZE, COMPILE, MEMORY, LAYOUT, TUNE, STUDIO, LSP),
    *(EXPLAIN, CACHE, DEMO, COMPLETION),
)
BY_NAME = {each.name: each for each in COMMANDS}

KERNEL_TOOLS = (RUN, CHECK, ANALYZE, MEMORY, LAYOUT, COMPILE, TUNE)
"""The commands that take every kernel."""

__all__ = [
    "ANALYZE",
    "BY_NAME",
    "CACHE",
    "CHECK",
    "CHECKS",
    "COMMANDS",
    "COMPILE",
    "COMPLETION",
    "DEFAULT_TARGET",
    "DEMO",
    "EXPLAIN",
    "KERNEL_TOOLS",
    "LAYOUT",
    "LSP",
    "MEMORY",
    "OPS",
    "OPT",
    "PASSES",
    "RUN",
    "SHELLS",
    "STUDIO",
    "TUNE",
]
