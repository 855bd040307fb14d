"""Small kernels of memory accesses only, run two ways: through the memory, in batches, and lane by
lane in plain Python, in the order of the launch.

A `Step` is one op. Each program has one register per lane; loads and atomics mix what they read
into it, stores and atomics write something that depends on it, and addresses may depend on it too.
So whatever goes wrong with the order of accesses ends up in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tilewright.ir.diagnostics import SourceManager
from tilewright.targets.numpy.api import Buffer, NumpyFault, RunOptions, RunReport, Site
from tilewright.targets.numpy.faults import CODES, MemoryFault
from tilewright.targets.numpy.memory import LaunchMemory, open_memory
from tilewright.targets.numpy.owners import OrderConflict

FILE = "kernel.py"
SOURCE = "\n".join(["", "@jit", "def kernel(x_ptr, offs):", "    x = tl.load(x_ptr + offs)"])


def sources() -> SourceManager:
    manager = SourceManager(read_files=False)
    manager.add(FILE, SOURCE)
    return manager


def site(
    kind: str, dtype: Any, shape: tuple[int, ...] = (), root: int | None = 0, **more: Any
) -> Site:
    more.setdefault("in_loop", False)
    more.setdefault("index", 0)
    more.setdefault("text", f"tt.{kind}")
    return Site(
        kind=kind,  # type: ignore[arg-type]
        location=FileLineColLoc(StringAttr(FILE), IntAttr(4), IntAttr(9)),
        dtype=np.dtype(dtype),
        shape=shape,
        root=root,
        **more,
    )


def memory_of(
    sites: Sequence[Site], *arrays: np.ndarray, grid=(1, 1, 1), initialised=True, **options: Any
) -> LaunchMemory:
    """The memory of a launch with arrays called x, y, z."""
    buffers = [
        Buffer(name, array, initialised) for name, array in zip("xyzw", arrays, strict=False)
    ]
    run = RunOptions(sources=sources(), **options)
    memory = open_memory(sites, buffers, grid, run, RunReport())
    memory.begin(np.arange(int(np.prod(grid))))
    return memory


def fails(action) -> MemoryFault:
    with pytest.raises(MemoryFault) as caught:
        action()
    assert isinstance(caught.value, NumpyFault)
    assert caught.value.diagnostic.code == CODES[caught.value.kind]
    return caught.value


def expect(fault: MemoryFault, text: str) -> None:
    assert str(fault) == dedent(text).strip("\n")


@dataclass(frozen=True)
class Step:
    """One op on `buffer`: lane l of program p accesses element table[p][l], moved by the register
    if `follows`, where mask[p][l]."""

    kind: str
    buffer: int
    table: np.ndarray
    mask: np.ndarray | None = None
    follows: bool = False
    rmw: str | None = None
    result_used: bool = True
    known_root: bool = True
    in_loop: bool = False


@dataclass
class Kernel:
    """Steps for `programs` programs of `lanes` lanes, on buffers of one integer type."""

    programs: int
    lanes: int
    steps: list[Step]
    sizes: list[int]
    alias: list[int] = field(default_factory=list)
    """Which array each buffer is; empty for one each."""
    dtype: Any = np.int32

    def arrays(self) -> list[np.ndarray]:
        made = [np.arange(size).astype(self.dtype) * 7 % 5 for size in self.sizes]
        return [made[number] for number in self.alias] if self.alias else made

    def sites(self) -> list[Site]:
        return [
            site(
                step.kind,
                self.dtype,
                (self.lanes,),
                step.buffer if step.known_root else None,
                index=number,
                rmw=step.rmw,
                result_used=step.result_used,
                in_loop=step.in_loop,
            )
            for number, step in enumerate(self.steps)
        ]

    # Lane by lane.

    def run_plainly(self) -> tuple[list[np.ndarray], np.ndarray]:
        arrays = self.arrays()
        registers = np.zeros((self.programs, self.lanes), self.dtype)
        with np.errstate(all="ignore"):
            for program in range(self.programs):
                for step in self.steps:
                    self._step_plainly(step, program, registers[program], arrays)
        return arrays, registers

    def _step_plainly(
        self, step: Step, program: int, register: np.ndarray, arrays: list[np.ndarray]
    ) -> None:
        array = arrays[step.buffer]
        places = [
            self._place(step, program, lane, register[lane], len(array))
            for lane in range(self.lanes)
        ]
        before = register.copy()
        read = [0] * self.lanes
        for lane, place in enumerate(places):
            if step.mask is not None and not step.mask[program][lane]:
                continue
            read[lane] = array[place]
            value = self._value(before[lane], program, lane)
            if step.kind == "store":
                array[place] = value
            elif step.kind == "atomic_rmw":
                array[place] = COMBINE[step.rmw](array[place], value)
            elif step.kind == "atomic_cas" and array[place] == self.dtype(2):
                array[place] = value
        if step.kind in ("load", "atomic_cas") or (step.kind == "atomic_rmw" and step.result_used):
            for lane in range(self.lanes):
                register[lane] = before[lane] * self.dtype(3) + self.dtype(read[lane])

    def _place(self, step: Step, program: int, lane: int, register: Any, size: int) -> int:
        place = int(step.table[program][lane])
        return (place + int(register)) % size if step.follows else place

    def _value(self, register: Any, program: Any, lane: Any) -> Any:
        return (register + program * 5 + lane + 1).astype(self.dtype)

    # Through the memory.

    def run_in_batches(
        self, batch: int, **options: Any
    ) -> tuple[list[np.ndarray], np.ndarray, int]:
        """Memory, registers, and the number of batches that had to run sequentially."""
        arrays = self.arrays()
        buffers = [Buffer(f"b{number}", array) for number, array in enumerate(arrays)]
        grid = (self.programs, 1, 1)
        memory = open_memory(self.sites(), buffers, grid, RunOptions(**options), RunReport())
        batch = 1 if memory.serial_reason else batch
        registers = np.zeros((self.programs, self.lanes), self.dtype)
        undone = 0
        for first in range(0, self.programs, batch):
            programs = np.arange(first, min(first + batch, self.programs))
            try:
                self._run_batch(memory, programs, registers)
            except OrderConflict:
                assert memory.rollback()
                undone += 1
                for program in programs:
                    self._run_batch(memory, np.array([program]), registers)
        return arrays, registers, undone

    def _run_batch(self, memory: LaunchMemory, programs: np.ndarray, registers: np.ndarray) -> None:
        memory.begin(programs)
        mine = np.zeros((len(programs), self.lanes), self.dtype)
        with np.errstate(all="ignore"):
            for number, step in enumerate(self.steps):
                mine = self._step_in_batch(memory, number, step, programs, mine)
        assert memory.finish() is None
        registers[programs] = mine

    def _step_in_batch(
        self,
        memory: LaunchMemory,
        number: int,
        step: Step,
        programs: np.ndarray,
        register: np.ndarray,
    ) -> np.ndarray:
        size = self.sizes[self.alias[step.buffer] if self.alias else step.buffer]
        places = step.table[programs].astype(np.int64)
        if step.follows:
            places = (places + register) % size
        address = (
            memory.address_of(step.buffer),
            *split_terms(places * np.dtype(self.dtype).itemsize),
        )
        mask = () if step.mask is None else (step.mask[programs],)
        lane = np.arange(self.lanes)[None]
        value = self._value(register, programs[:, None], lane)
        if step.kind == "store":
            memory.store(number, address, value, mask)
            return register
        if step.kind == "load":
            read = memory.load(number, address, mask, None)
        elif step.kind == "atomic_rmw":
            read = memory.atomic_rmw(number, address, value, mask)
            if not step.result_used:
                assert read is None
                return register
        else:
            expected = np.full((1, 1), 2, self.dtype)
            read = memory.atomic_cas(number, address, expected, value)
        return (register * self.dtype(3) + read).astype(self.dtype)


def split_terms(places: np.ndarray) -> tuple[np.ndarray, ...]:
    """`places` as the sum of a column and a row, if it is one."""
    column, row = places[:, :1], places[:1] - places[:1, :1]
    if np.array_equal(column + row, places):
        return column, row
    return (places,)


COMBINE = {
    "add": lambda a, b: a + b,
    "fadd": lambda a, b: a + b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "max": max,
    "min": min,
    "umax": lambda a, b: _by_unsigned(max, a, b),
    "umin": lambda a, b: _by_unsigned(min, a, b),
    "exch": lambda a, b: b,
}


def _by_unsigned(choose: Any, a: Any, b: Any) -> Any:
    return choose(a, b, key=lambda value: int(value) % (1 << (8 * value.itemsize)))
