"""Device functions for numba-cuda and its simulator. Importing this module loads numba.

Two habits of the compilers shape this file. A branch that is never taken is checked all the same,
so each function here holds the one branch it needs. And the simulator exchanges ``cuda`` in the
globals of the module that defines a device function, so ``cuda`` has to be a global here.

A local array belongs to the frame that makes it; it survives the return of ``allocate_buffer``
because every function here is inlined into its caller.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

numba: Any = import_module("numba")  # Any: numba has no type information
cuda: Any = import_module("numba.cuda")

DeviceFunction = Callable[..., Any]


def _device(function: DeviceFunction) -> DeviceFunction:
    return cuda.jit(device=True, inline="always")(function)


def from_shared(start: int, stop: int) -> DeviceFunction:
    def allocate_buffer(shared: Any, persistent: Any) -> Any:
        return shared[start:stop]

    return _device(allocate_buffer)


def from_persistent(start: int, stop: int) -> DeviceFunction:
    def allocate_buffer(shared: Any, persistent: Any) -> Any:
        return persistent[start:stop]

    return _device(allocate_buffer)


def from_local(elements: int, precision: npt.DTypeLike) -> DeviceFunction:
    def allocate_buffer(shared: Any, persistent: Any) -> Any:
        return cuda.local.array(elements, precision)

    return _device(allocate_buffer)


def view_of_shared(start: int, stop: int, precision: npt.DTypeLike) -> DeviceFunction:
    byte = np.uint8

    def allocate_buffer(shared: Any, persistent: Any) -> Any:
        return shared.view(byte)[start:stop].view(precision)

    return _device(allocate_buffer)


def view_of_persistent(start: int, stop: int, precision: npt.DTypeLike) -> DeviceFunction:
    byte = np.uint8

    def allocate_buffer(shared: Any, persistent: Any) -> Any:
        return persistent.view(byte)[start:stop].view(precision)

    return _device(allocate_buffer)


def zeroed(take: DeviceFunction, elements: int) -> DeviceFunction:
    """`take`, followed by clearing the first `elements` elements, at every call.

    The zero is a literal, which takes the array's element type: numba-cuda makes invalid code of a
    captured float16 constant.
    """

    def allocate_buffer(shared: Any, persistent: Any) -> Any:
        array = take(shared, persistent)
        for i in range(elements):
            array[i] = 0
        return array

    return _device(allocate_buffer)


def dynamic_shared() -> DeviceFunction:
    """The kernel's dynamic shared memory as float32; its length is that of the launch."""
    single = numba.float32

    def alloc_shared() -> Any:
        return cuda.shared.array(0, dtype=single)

    return _device(alloc_shared)


def persistent_pool(elements: int, precision: npt.DTypeLike) -> DeviceFunction:
    element = numba.from_dtype(np.dtype(precision))

    def alloc_persistent() -> Any:
        return cuda.local.array(elements, dtype=element)

    return _device(alloc_persistent)


def guards(
    shared_words: tuple[int, ...],
    persistent_words: tuple[int, ...],
    bytewise: bool,
    pattern: tuple[int, int, int],
) -> tuple[DeviceFunction, DeviceFunction]:
    """``arm(shared, persistent)`` and ``check(shared, persistent, report)`` for these guard words.

    `check` adds one to ``report[i]`` for every call that finds guard word i changed.
    """
    build_arm, build_check = (_arm_bytes, _check_bytes) if bytewise else (_arm, _check)
    arm_shared, arm_persistent = (build_arm(w, pattern) for w in (shared_words, persistent_words))
    check_shared = build_check(shared_words, pattern, 0)
    check_persistent = build_check(persistent_words, pattern, len(shared_words))

    def arm(shared: Any, persistent: Any) -> None:
        arm_shared(shared)
        arm_persistent(persistent)

    def check(shared: Any, persistent: Any, report: Any) -> None:
        check_shared(shared, report)
        check_persistent(persistent, report)

    return _device(arm), _device(check)


def _arm(words: tuple[int, ...], pattern: tuple[int, int, int]) -> DeviceFunction:
    table, count = np.array([*words, 0], np.int32), len(words)
    base, step, period = pattern

    def arm_pool(pool: Any) -> None:
        offsets = cuda.const.array_like(table)
        for i in range(count):
            pool[offsets[i]] = base + step * offsets[i] % period

    return _device(arm_pool)


def _check(words: tuple[int, ...], pattern: tuple[int, int, int], first: int) -> DeviceFunction:
    table, count = np.array([*words, 0], np.int32), len(words)
    base, step, period = pattern

    def check_pool(pool: Any, report: Any) -> None:
        offsets = cuda.const.array_like(table)
        for i in range(count):
            if pool[offsets[i]] != base + step * offsets[i] % period:
                cuda.atomic.add(report, first + i, 1)

    return _device(check_pool)


def _arm_bytes(words: tuple[int, ...], pattern: tuple[int, int, int]) -> DeviceFunction:
    arm, byte = _arm(words, pattern), np.uint8

    def arm_pool(pool: Any) -> None:
        arm(pool.view(byte))

    return _device(arm_pool)


def _check_bytes(
    words: tuple[int, ...], pattern: tuple[int, int, int], first: int
) -> DeviceFunction:
    check, byte = _check(words, pattern, first), np.uint8

    def check_pool(pool: Any, report: Any) -> None:
        check(pool.view(byte), report)

    return _device(check_pool)
