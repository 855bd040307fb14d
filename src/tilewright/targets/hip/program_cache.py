"""Programs on disk, by all that decides what they are: compiled once, by any process.

The compiler is loaded only when there is something to compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.ir.text import print_module
from tilewright.targets.hip.artefact import HipProgram, read_program, write_program
from tilewright.targets.hip.compiler import release
from tilewright.targets.hip.settings import HipSettings
from tilewright.targets.store import digest, our_version

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def program_key(module: ModuleOp, settings: HipSettings) -> str:
    """The cache key of the program of `module`."""
    text = print_module(module, locations=True)
    return digest(text, repr(settings), our_version(), release(settings.arch))


def compiled(module: ModuleOp, settings: HipSettings) -> HipProgram:
    """The program for `module`: from the disk if it is there, else compiled and cached there."""
    key = program_key(module, settings)
    found = read_program(key)
    if found is None:
        from tilewright.targets.hip.compile import compile_as

        found = compile_as(module, settings)
        write_program(key, found)
    return found
