"""The instructions in a cubin, as the disassembler that comes with Triton shows them."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tilewright.targets.triton import installation


class NoDisassembler(Exception):
    """There is no disassembler, or it does not take the cubin."""


def disassembled(cubin: bytes) -> str:
    """The text of the instructions, with the lines of the source they come from."""
    try:
        directory = installation.directory()
    except installation.TritonMissing:
        raise NoDisassembler(
            f"the disassembler comes with Triton, which is not installed: {installation.INSTALL}"
        ) from None
    tool = directory / "backends" / "nvidia" / "bin" / "nvdisasm"
    if not tool.exists():
        raise NoDisassembler(f"this Triton comes without a disassembler ({tool})")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "kernel.cubin")
        path.write_bytes(cubin)
        command = [str(tool), "--print-code", "--print-line-info", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoDisassembler(done.stderr.strip())
    return done.stdout
