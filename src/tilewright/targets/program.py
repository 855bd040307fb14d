"""A compiled function: its kernels, what the host does to launch them, and their way to disk.

A program is stored by all that decides what it is, and compiled once, by any process. Loads nothing
of a compiler: a process that finds its program needs no more. Targets add the kernel, with its
source and machine code, the sections of a stored program, and how to compile one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from tilewright.targets import store
from tilewright.targets.host.steps import Step

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class Metadata(Protocol):
    """What a launch and a reader of tables need of a kernel."""

    @property
    def registers(self) -> int: ...
    @property
    def index_bits(self) -> int: ...
    @property
    def spill_bytes(self) -> int: ...

    def as_values(self) -> Mapping[str, Any]:
        """What JSON can hold."""
        ...


class Kernel(Protocol):
    """One kernel, compiled."""

    @property
    def source(self) -> str: ...
    @property
    def metadata(self) -> Metadata: ...
    @property
    def log(self) -> str: ...


K = TypeVar("K", bound=Kernel)
P = TypeVar("P", bound="CompiledProgram[Any]")
S = TypeVar("S")
"""Settings, whose `repr` has all of them."""


@dataclass(frozen=True)
class CompiledProgram(Generic[K]):
    """The kernels of a function, and what the host does to launch them."""

    steps: tuple[Step, ...]
    kernels: Mapping[str, K]
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


@dataclass(frozen=True)
class StoredKernel:
    """A kernel as it was stored."""

    sections: Mapping[str, bytes]
    """Source and machine code, by the ending of their names."""
    metadata: Mapping[str, Any]
    """What its metadata gave as values."""
    log: str


@dataclass(frozen=True)
class ProgramCache(Generic[S, K, P]):
    """The programs of a target on disk."""

    kind: store.Kind
    sections: Callable[[K], Mapping[str, bytes]]
    """What is stored of a kernel, by the ending of its name."""
    kernel: Callable[[StoredKernel], K]
    program: Callable[[tuple[Step, ...], Mapping[str, K], None, tuple[str, ...]], P]
    release: Callable[[S], str]
    """Which compiler it is."""
    compile_as: Callable[[ModuleOp, S], P]
    """Compile; loads the compiler."""

    def key(self, module: ModuleOp, settings: S) -> str:
        """The cache key of the program of `module`."""
        from tilewright.ir.text import print_module

        text = print_module(module, locations=True)
        return store.digest(text, repr(settings), store.our_version(), self.release(settings))

    def compiled(self, module: ModuleOp, settings: S) -> P:
        """The program for `module`: from the disk, or compiled and cached there."""
        key = self.key(module, settings)
        found = self.read(key)
        if found is None:
            found = self.compile_as(module, settings)
            self.write(key, found)
        return found

    def write(self, key: str, program: P) -> None:
        """Keep it for other processes."""
        head = {
            "kernels": [
                {"metadata": each.metadata.as_values(), "log": each.log, "name": name}
                for name, each in program.kernels.items()
            ],
            "steps": [step.as_json() for step in program.steps],
            "remarks": program.remarks,
        }
        found = {"head": json.dumps(head).encode()}
        for name, each in program.kernels.items():
            found |= {f"{name}.{end}": data for end, data in self.sections(each).items()}
        store.store(self.kind, key, found)

    def read(self, key: str) -> P | None:
        """The program that was stored under `key`."""
        sections = store.load(self.kind, key)
        if sections is None:
            return None
        try:
            head = json.loads(sections["head"])
            kernels = {
                each["name"]: self.kernel(self._stored(sections, each)) for each in head["kernels"]
            }
            steps = tuple(Step.from_json(each) for each in head["steps"])
            remarks = tuple(head["remarks"])
        except store.DAMAGED:
            return None
        return self.program(steps, kernels, None, remarks)

    def _stored(self, sections: Mapping[str, bytes], entry: Mapping[str, Any]) -> StoredKernel:
        start = f"{entry['name']}."
        own = {
            name.removeprefix(start): data
            for name, data in sections.items()
            if name.startswith(start)
        }
        return StoredKernel(own, entry["metadata"], entry["log"])
