"""Programs on disk, by all that decides what they are: compiled once, by any process.

The compiler is loaded only when there is something to compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.ir.text import print_module
from tilewright.targets.cuda.artefact import Program, read_program, write_program
from tilewright.targets.cuda.nvrtc import release
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.store import digest, our_version

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def program_key(module: ModuleOp, settings: Settings) -> str:
    """The cache key of the program of `module`."""
    text = print_module(module, locations=True)
    return digest(text, repr(settings), our_version(), release())


def compiled(module: ModuleOp, settings: Settings) -> Program:
    """The program for `module`: from the disk if it is there, else compiled and cached there."""
    key = program_key(module, settings)
    found = read_program(key)
    if found is None:
        from tilewright.targets.cuda.compile import compile_as

        found = compile_as(module, settings)
        write_program(key, found)
    return found
