"""How the threads that hold a tile reduce it: which registers, then which threads.

A thread first combines its own registers into a partial result, then combines that with the threads
that own the rest: those whose index differs in some digits. `plan` finds both and verifies the
outcome numerically; `NotALayout` gives the reason where there is no such plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.analysis.layout_inference.fit import Digit, IntArray, digits
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.dialects.tile.expressions import LayoutExpr

_SHOWN = 4
"""How many threads a message lists."""


@dataclass(frozen=True)
class Reduction:
    """A reduction of registers, and across threads."""

    parts: IntArray
    """For every register of the result the registers of the source that go into it."""
    partners: tuple[Digit, ...]
    """Digits of the thread index in which the owners of a line differ, by their weights."""
    limits: tuple[tuple[LayoutExpr, int], ...]
    """Numbers of (thread, register), and what they stay below where there is an element."""


def plan(source: Table, target: Table, axis: int) -> Reduction:
    """How `source` is reduced along `axis` into `target`."""
    found = Reduction(_parts(source, target, axis), _partners(source, axis), _limits(source))
    for column in found.parts.T:
        if digits(column) is None:
            raise NotALayout("no formula gives the registers of a partial result")
    if not _comes_out(found, source, target, axis):
        raise NotALayout(_mismatch(source, target, axis))
    return found


def _mismatch(source: Table, target: Table, axis: int) -> str:
    """Why threads that own a line cannot pass its result to the threads that own that."""
    rank = len(source.shape)
    noun = {(2, 0): "column", (2, 1): "row"}.get((rank, axis), "line")
    lines = np.moveaxis(source.owners, axis, -2)
    lines = lines.reshape(-1, lines.shape[-2] * lines.shape[-1])
    results = target.owners.reshape(len(lines), -1)
    for index, (line, result) in enumerate(zip(lines, results, strict=True)):
        others = sorted(set(result.tolist()) - set(line.tolist()))
        if others:
            return (
                f"{_threads(line)} own {noun} {index}, but its result is needed in thread "
                f"{others[0]} too"
            )
    return f"the threads that own a {noun} are not spaced alike in every {noun}"


def _threads(owners: IntArray) -> str:
    found = sorted(set(owners.tolist()))
    if len(found) > 1 and found[-1] - found[0] + 1 == len(found):
        return f"threads {found[0]} to {found[-1]}"
    shown = ", ".join(map(str, found[:_SHOWN])) + (", ..." if len(found) > _SHOWN else "")
    return f"threads {shown}"


def _limits(source: Table) -> tuple[tuple[LayoutExpr, int], ...]:
    """Bounds that identify unused registers, where some threads own fewer elements than others."""
    for each in (source, *source.countings()):
        filled = each.filled()
        if filled is not None:
            sizes = zip(filled.coordinates(), each.shape, filled.shape, strict=True)
            return tuple((text, size) for text, size, more in sizes if size != more)
    raise NotALayout("no formula gives the element in a register of a thread")


def _parts(source: Table, target: Table, axis: int) -> IntArray:
    moved = np.moveaxis(source.registers, axis, -1)
    results = target.registers.reshape(moved.shape[:-1])
    found: list[list[int]] = []
    for register in range(target.num_registers):
        # A thread holds the same registers of each row that shares a register of the result.
        found.append(sorted(set(moved[results == register].ravel().tolist())))
    if len({len(each) for each in found}) != 1:
        raise NotALayout("results of the reduction combine different numbers of registers")
    return np.array(found, dtype=np.int64)


def _partners(table: Table, axis: int) -> tuple[Digit, ...]:
    line = np.moveaxis(table.owners[..., 0], axis, -1).reshape(-1, table.shape[axis])[0]
    threads = np.array(sorted(set(line.tolist())))
    found = digits(threads - threads[0])
    if found is None:
        raise NotALayout("the threads that share a row are not evenly spaced")
    return tuple(digit for digit in found if digit.radix > 1)


def _comes_out(found: Reduction, source: Table, target: Table, axis: int) -> bool:
    """Whether every owner of a result gets the total of its line, each element counted once."""
    size = source.registers.size
    values = _scattered(size).reshape(source.shape)
    expected = np.moveaxis(values, axis, -1).sum(axis=-1).reshape(-1)
    count = max(source.num_threads, target.num_threads)
    held = np.zeros((count, source.num_registers), dtype=np.int64)
    threads = source.owners.reshape(size, -1)
    held[threads, source.registers.reshape(size, 1)] = values.reshape(size, 1)
    totals = held[:, found.parts].sum(axis=-1)
    for digit in found.partners:
        totals = _across(totals, digit)
    owners = target.owners.reshape(len(expected), -1)
    registers = target.registers.reshape(len(expected), 1)
    return bool((totals[owners, registers] == expected[:, None]).all())


def _scattered(count: int) -> IntArray:
    """Numbers below 2**40 of which no two different choices have the same sum, but by accident."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed >> np.uint64(24)).astype(np.int64)


def _across(totals: IntArray, digit: Digit) -> IntArray:
    """The sum over all threads that differ in a digit only; what is cut short is no use."""
    thread = np.arange(len(totals))
    start = thread - thread // digit.weight % digit.radix * digit.weight
    partners = start[:, None] + np.arange(digit.radix) * digit.weight
    is_whole = partners.max(axis=1, keepdims=True) < len(totals)
    summed = totals[np.minimum(partners, len(totals) - 1)].sum(axis=1)
    return np.where(is_whole, summed, -1)
