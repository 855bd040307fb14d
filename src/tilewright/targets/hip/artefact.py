"""The kernels of a function, compiled for an AMD GPU, and their way to disk and back.

Loads nothing of the compiler: a process that finds its program in the cache needs no more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from tilewright.targets import store
from tilewright.targets.hip.metadata import HipKernelMetadata
from tilewright.targets.host.steps import Step

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

_KIND = "hip-programs"


@dataclass(frozen=True)
class HipKernel:
    """One kernel, compiled."""

    source: str
    code_object: bytes
    isa: str
    """Assembly; empty if the compiler (hiprtc) does not print it."""
    metadata: HipKernelMetadata
    log: str


@dataclass(frozen=True)
class HipProgram:
    """The kernels of a function, and what the host does to launch them."""

    steps: tuple[Step, ...]
    kernels: Mapping[str, HipKernel]
    module: ModuleOp | None = None
    """The IR that was printed; None if the program comes from the disk."""
    remarks: tuple[str, ...] = ()
    """Diagnostics of the compiler."""

    @property
    def source(self) -> str:
        """All sources, concatenated."""
        return "\n".join(each.source for each in self.kernels.values())

    @property
    def registers(self) -> int:
        """Of the kernel that takes the most for each lane, AGPRs included."""
        return max((each.metadata.vgprs for each in self.kernels.values()), default=0)

    @property
    def index_bits(self) -> int:
        """The width that all kernels can address elements with."""
        return min((each.metadata.index_bits for each in self.kernels.values()), default=64)

    @property
    def spill_bytes(self) -> int:
        return sum(each.metadata.spill_bytes for each in self.kernels.values())


def write_program(key: str, program: HipProgram) -> None:
    """Keep it for other processes."""
    listed = [
        {"metadata": asdict(each.metadata), "log": each.log, "name": name}
        for name, each in program.kernels.items()
    ]
    head = {
        "kernels": listed,
        "steps": [step.as_json() for step in program.steps],
        "remarks": program.remarks,
    }
    sections = {"head": json.dumps(head).encode()}
    for name, each in program.kernels.items():
        sections[f"{name}.hip"] = each.source.encode()
        sections[f"{name}.s"] = each.isa.encode()
        sections[f"{name}.hsaco"] = each.code_object
    store.store(_KIND, key, sections)


def read_program(key: str) -> HipProgram | None:
    """The program that was stored under `key`."""
    sections = store.load(_KIND, key)
    if sections is None:
        return None
    try:
        head = json.loads(sections["head"])
        kernels = {
            each["name"]: HipKernel(
                sections[f"{each['name']}.hip"].decode(),
                sections[f"{each['name']}.hsaco"],
                sections[f"{each['name']}.s"].decode(),
                HipKernelMetadata(**_tupled(each["metadata"])),
                each["log"],
            )
            for each in head["kernels"]
        }
        steps = tuple(Step.from_json(each) for each in head["steps"])
        remarks = tuple(head["remarks"])
    except store.DAMAGED:
        return None
    return HipProgram(steps, kernels, None, remarks)


def _tupled(given: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as the tuples that they were before they were written."""
    return {
        name: tuple(cast("list[Any]", each)) if isinstance(each, list) else each
        for name, each in given.items()
    }
