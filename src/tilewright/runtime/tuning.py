"""Fast tuning on a GPU: compile in parallel, and cache the fastest configuration on disk.

Most of the time to tune goes into compiling, which happens in processes of its own; so threads
compile for several configurations concurrently. Times are cached by the kernel's text, the list of
configurations, the tuning key and the GPU; ``TILEWRIGHT_AUTOTUNE=fresh`` measures again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from tilewright.runtime.config import Config
from tilewright.runtime.fingerprint import Fingerprint, Nameless
from tilewright.runtime.pointer.compiled import CompiledKernel
from tilewright.targets import store
from tilewright.targets.triton import installation

_KIND = "tuning"
_TIMES = "times"
_MAX_WORKERS = 8

Times = list[float | None]
"""Milliseconds of each configuration; None for one that does not run."""


def compile_together(calls: Sequence[Callable[[], object]]) -> None:
    """Do all of `calls`, several at a time. What fails will fail again where it is reported."""
    workers = min(len(calls), os.cpu_count() or 1, _MAX_WORKERS)
    if workers < 2:
        return

    def quietly(call: Callable[[], object]) -> None:
        with contextlib.suppress(Exception):
            call()

    with ThreadPoolExecutor(workers) as pool:
        # Each with the options of a ``with`` around the launch.
        for call in calls:
            pool.submit(copy_context().run, quietly, call)


def tuning_name(compiled: object, configs: Sequence[Config], key: tuple[object, ...]) -> str | None:
    """What the outcome of this tuning is called on disk, where it has a name."""
    if not isinstance(compiled, CompiledKernel):  # a user's own wrapper of kernels
        return None
    # Tuning on the host needs no driver.
    from tilewright.runtime.cuda.context import device_properties

    fingerprint = Fingerprint()
    try:
        fingerprint.add(compiled.kernel)
        fingerprint.add(key)
        for config in configs:
            fingerprint.add((tuple(config.all_kwargs().items()), config.pre_hook))
    except Nameless:
        return None
    machine = f"{device_properties(compiled.device).name} {compiled.choice}"
    versions = (installation.fingerprint(), store.our_version())
    return store.digest(fingerprint.text, machine, *versions)


def remembered(name: str | None, count: int) -> Times | None:
    """The times that were measured under `name`, if it was for as many configurations."""
    if name is None or os.environ.get("TILEWRIGHT_AUTOTUNE") == "fresh":
        return None
    found = store.load(_KIND, name)
    if found is None:
        return None
    try:
        times = [None if each is None else float(each) for each in json.loads(found[_TIMES])]
    except store.DAMAGED:
        return None
    fits = len(times) == count and any(time is not None for time in times)
    return times if fits else None


def remember(name: str | None, times: Times) -> None:
    """Keep what was measured."""
    if name is not None:
        store.store(_KIND, name, {_TIMES: json.dumps(times).encode()})
