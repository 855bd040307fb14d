"""PTX to machine code, and what the assembler reports about it: registers, spills, stack."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.targets.ptxas_log import PtxasLog


class PtxasFailed(Exception):
    """The assembler did not take the PTX; the text is its output."""


@dataclass(frozen=True)
class Assembled:
    """Machine code with its use of resources."""

    code: bytes
    version: str = ""
    registers: int = 0
    stack_bytes: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    barriers: int = 0
    performance_remarks: tuple[str, ...] = ()
    """Performance remarks of the assembler, for example serialised wgmma instructions."""
    scalar_registers: int = 0
    scalar_spills: int = 0
    """SGPRs that spill into lanes of VGPRs; AMD only, as the rest."""
    accumulation_registers: int = 0
    static_shared: int = 0

    @property
    def spill_bytes(self) -> int:
        return max(self.spill_stores, self.spill_loads)


def assemble(ptx: str, tool: Path, arch: str, flags: Sequence[str], version: str) -> Assembled:
    """The machine code of `ptx` for `arch`, with the lines of the user's source."""
    with tempfile.TemporaryDirectory() as directory:
        source, target = Path(directory, "kernel.ptx"), Path(directory, "kernel.cubin")
        source.write_text(ptx)
        command = [str(tool), "-lineinfo", "-v", *flags, f"--gpu-name={arch}"]
        command += [str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PtxasFailed(done.stderr.strip() or f"ptxas exited with {done.returncode}")
        return described(target.read_bytes(), done.stderr, version)


def described(cubin: bytes, log: str, version: str) -> Assembled:
    """`cubin` with what `log`, the assembler's output, reports."""
    found = PtxasLog.read(log)
    return Assembled(
        cubin,
        version=version,
        registers=found.registers,
        stack_bytes=found.stack_bytes,
        spill_stores=found.spill_stores,
        spill_loads=found.spill_loads,
        barriers=found.barriers,
        performance_remarks=found.performance_remarks,
    )
