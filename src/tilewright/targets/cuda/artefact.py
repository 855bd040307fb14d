"""The kernels of a function, compiled, and their way to disk and back.

Loads nothing of the compiler: a process that finds its program in the cache needs no more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from tilewright.targets import store
from tilewright.targets.cuda.metadata import KernelMetadata, TensorMapSpec
from tilewright.targets.host.steps import Step

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

_KIND = "programs"


@dataclass(frozen=True)
class DeviceKernel:
    """One kernel, compiled."""

    source: str
    cubin: bytes
    metadata: KernelMetadata
    log: str


@dataclass(frozen=True)
class Program:
    """The kernels of a function, and what the host does to launch them."""

    steps: tuple[Step, ...]
    kernels: Mapping[str, DeviceKernel]
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
        """Of the kernel that takes the most for each thread."""
        return max((each.metadata.registers for each in self.kernels.values()), default=0)

    @property
    def index_bits(self) -> int:
        """The width that all kernels can address elements with."""
        return min((each.metadata.index_bits for each in self.kernels.values()), default=64)

    @property
    def spill_bytes(self) -> int:
        return sum(each.metadata.spill_bytes for each in self.kernels.values())


def write_program(key: str, program: Program) -> None:
    """Keep it for other processes."""
    listed = [
        {"facts": asdict(each.metadata), "log": each.log, "name": name}
        for name, each in program.kernels.items()
    ]
    head = {
        "kernels": listed,
        "steps": [step.as_json() for step in program.steps],
        "remarks": program.remarks,
    }
    sections = {"head": json.dumps(head).encode()}
    for name, each in program.kernels.items():
        sections[f"{name}.cu"] = each.source.encode()
        sections[f"{name}.cubin"] = each.cubin
    store.store(_KIND, key, sections)


def read_program(key: str) -> Program | None:
    """The program that was stored under `key`."""
    sections = store.load(_KIND, key)
    if sections is None:
        return None
    try:
        head = json.loads(sections["head"])
        kernels = {
            each["name"]: DeviceKernel(
                sections[f"{each['name']}.cu"].decode(),
                sections[f"{each['name']}.cubin"],
                _metadata(each["facts"]),
                each["log"],
            )
            for each in head["kernels"]
        }
        steps = tuple(Step.from_json(each) for each in head["steps"])
        remarks = tuple(head["remarks"])
    except store.DAMAGED:
        return None
    return Program(steps, kernels, None, remarks)


def _metadata(given: Mapping[str, Any]) -> KernelMetadata:
    values = _tupled(given)
    maps: Sequence[Mapping[str, Any]] = values.pop("tensor_maps")
    return KernelMetadata(
        **values, tensor_maps=tuple(TensorMapSpec(**_tupled(each)) for each in maps)
    )


def _tupled(given: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as the tuples that they were before they were written."""
    return {
        name: tuple(cast("list[Any]", each)) if isinstance(each, list) else each
        for name, each in given.items()
    }
