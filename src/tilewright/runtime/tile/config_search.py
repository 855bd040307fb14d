"""The best of several configurations.

All of them are traced, which is quick; then they are compiled in parallel, and measured one
at a time as they get ready. What cannot be compiled, or is wrong, is left out and reported. Of
equally quick ones the first in the list is taken, whichever was ready first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from tilewright.language.T.prim_func import PrimFunc
from tilewright.runtime.cuda.driver import is_available
from tilewright.runtime.executors.current import Executing, current_executing
from tilewright.runtime.progress import QUIET_SECONDS, progress_lines
from tilewright.runtime.tile.compile_ahead import as_compiled
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.trials import Config, ProfileArgs, Trial, Workbench
from tilewright.runtime.tile.tuning_cache import Times, key_of, recall, remember
from tilewright.runtime.tile.tuning_items import MODEL, TIME, WORK, described, headline, predicted

inputs_for_tuning: ContextVar[tuple[Any, ...] | None] = ContextVar("inputs", default=None)
"""Tensors that the user set."""


@dataclass(frozen=True)
class AutotuneResult:
    """The configuration that was chosen, its kernel, and what became of the others."""

    kernel: CompiledTileKernel
    config: Config | None = None
    trials: tuple[Trial, ...] = ()
    """One for each configuration that was tried, in their order."""

    @property
    def latency(self) -> float | None:
        """Milliseconds of this machine."""
        return self.kernel.latency

    @property
    def ref_latency(self) -> float | None:
        return self.kernel.ref_latency

    @property
    def func(self) -> PrimFunc:
        return self.kernel.prim_func

    @property
    def libcode(self) -> str:
        return self.kernel.get_kernel_source()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out and why, and what was measured only briefly."""
        return tuple(str(each) for each in self.trials if each.remark)


class TuningFailed(Exception):
    """What another process reports about a configuration."""


def choose(
    name: str,
    configs: Sequence[Config],
    compiled: Callable[[Config], CompiledTileKernel],
    profile: ProfileArgs,
    arguments: object = (),
) -> AutotuneResult:
    """The best of `configs`, or the first that works where times do not count."""
    tuning = _Tuning(name, configs, profile, arguments)
    spread = current_executing()
    if tuning.is_modelled(compiled):
        return (
            tuning.by_model(compiled) if spread is None else tuning.across(compiled, spread, MODEL)
        )
    if spread is not None and _is_timed():
        reason = tuning.stays()
        if reason is None:
            return tuning.across(compiled, spread, TIME)
        sys.stderr.write(f"tuning {name} in this process: {reason}\n")
    return tuning.by_time(compiled) if _is_timed() else tuning.by_order(compiled)


def _is_timed() -> bool:
    setting = os.environ.get("TILEWRIGHT_AUTOTUNE")
    return is_available() if setting is None else setting in ("time", "fresh")


class _Tuning:
    """One choice."""

    def __init__(
        self, name: str, configs: Sequence[Config], profile: ProfileArgs, arguments: object
    ) -> None:
        self.name = name
        self.configs = configs
        self.arguments = arguments
        self.bench = Workbench(profile, inputs_for_tuning.get())
        self.kernels: dict[int, CompiledTileKernel] = {}
        """Those that could be traced, by the number of their configuration."""
        self.keys: dict[int, str] = {}
        """The cache keys of their times."""
        self.faults: dict[int, Exception] = {}
        self.times: dict[int, Times] = {}
        self.remarks: dict[int, str] = {}
        """The predicted cycles of a configuration."""

    # -- where times do not count --------------------------------------------------------------

    def by_order(self, compiled: Callable[[Config], CompiledTileKernel]) -> AutotuneResult:
        """The first that works; it is measured when its latency is read."""
        for index, config in enumerate(self.configs):
            try:
                kernel = compiled(config)
                self.bench.check(kernel)
            except Exception as error:  # whatever is wrong with it, the next one may do
                self.faults[index] = error
                continue
            kernel.config = config
            kernel.measure_with(partial(self.bench.measure, kernel))
            return AutotuneResult(kernel, config, self._trials())
        raise self._nothing_works()

    # -- where a model predicts them -----------------------------------------------------------

    def is_modelled(self, compiled: Callable[[Config], CompiledTileKernel]) -> bool:
        """Whether the kernels are for a target whose cost model compares them."""
        for config in self.configs:
            try:
                own = compiled(config).tenstorrent
            except Exception:  # reported by the search itself
                continue
            return own is not None and own.has_fixed_plan
        return False

    def by_model(self, compiled: Callable[[Config], CompiledTileKernel]) -> AutotuneResult:
        """The quickest according to the cost model; times are predictions."""
        start = perf_counter()
        for index, config in enumerate(self.configs):
            try:
                kernel = compiled(config)
                found = predicted(kernel)
            except Exception as error:  # whatever is wrong with it, the next one may do
                self.faults[index] = error
                continue
            self.kernels[index] = kernel
            kernel.config = config
            self._know(index, found)
        return self._quickest_right(start, "model, not measured")

    def _know(self, index: int, found: Mapping[str, Any]) -> None:
        self.times[index] = Times(found["latency"])
        if found["remark"]:
            self.remarks[index] = found["remark"]

    def _quickest_right(
        self, start: float, how: str, *, is_measured: bool = False
    ) -> AutotuneResult:
        """The quickest whose results are those of the reference."""
        while self.times:
            best = self._best()
            kernel = self.kernels[best]
            try:
                self.bench.check(kernel)
            except Exception as error:  # wrong: the next one
                self.faults[best] = error
                del self.times[best]
                continue
            if not is_measured:
                kernel.measure_with(partial(self.bench.measure, kernel))
            seconds = perf_counter() - start
            if seconds > QUIET_SECONDS:
                sys.stderr.write(f"{self._summary(seconds)} ({how})\n")
            return AutotuneResult(kernel, self.configs[best], self._trials())
        raise self._nothing_works()

    # -- on other processes or machines ----------------------------------------------------------

    def stays(self) -> str | None:
        """Why the kernels have to be measured in this process, if they have to."""
        if self.bench.given is not None:
            return "its inputs are those of set_autotune_inputs, which are in its memory"
        if self.bench.profile.supply_prog is not None:
            return "its inputs are made by supply_prog, a function of this process"
        return None

    def across(
        self, compiled: Callable[[Config], CompiledTileKernel], spread: Executing, how: str
    ) -> AutotuneResult:
        """The quickest; each is compiled and measured, or predicted, wherever the executor is."""
        # One process alone does without.
        from tilewright.runtime.executors.gather import gathered, journal, merged
        from tilewright.runtime.executors.pools import pool_of
        from tilewright.runtime.executors.work import Work

        start = perf_counter()
        items: dict[int, dict[str, Any]] = {}
        for index, config in enumerate(self.configs):
            try:
                kernel = compiled(config)
                items[index] = described(kernel, how, self.bench.profile)
            except Exception as error:  # whatever is wrong with it, the next one may do
                self.faults[index] = error
                continue
            self.kernels[index] = kernel
        work, values = Work.of(WORK), list(items.values())
        with (
            journal(spread.log) as log,
            pool_of(spread.where, patience_s=spread.patience_s) as pool,
        ):
            found = gathered(
                *(work, values),
                pool=pool,
                log=log,
                things="configurations",
                name=f"tuning {self.name}",
            )
            outcomes = merged(found, work, values)
        for index, outcome in zip(items, outcomes, strict=True):
            if outcome.status != "done":
                self.faults[index] = TuningFailed(str(outcome))
            elif "fault" in outcome.value:
                self.faults[index] = TuningFailed(outcome.value["fault"])
            else:
                self.kernels[index].config = self.configs[index]
                self._know(index, outcome.value)
        if how == MODEL:
            return self._quickest_right(start, "model, not measured")
        for index, times in self.times.items():
            self.kernels[index].latency = times.latency
        return self._quickest_right(start, f"measured by {pool.name}", is_measured=True)

    # -- where they do -------------------------------------------------------------------------

    def by_time(self, compiled: Callable[[Config], CompiledTileKernel]) -> AutotuneResult:
        """The quickest."""
        start = perf_counter()
        profile, total = self.bench.profile, len(self.configs)
        show = progress_lines(f"tuning {self.name}", "configurations")
        unknown = self._unknown(compiled)
        with closing(as_compiled(unknown, total, profile.num_workers, profile.timeout)) as ready:
            for index, fault in ready:
                show(len(self.times) + len(self.faults), total)
                if fault is not None:
                    self.faults[index] = fault
                else:
                    self._measure(index)
        show(total, total)
        if not self.times:
            raise self._nothing_works()
        seconds = perf_counter() - start
        if seconds > QUIET_SECONDS:
            sys.stderr.write(f"{self._summary(seconds)}\n")
        best = self._best()
        return AutotuneResult(self.kernels[best], self.configs[best], self._trials())

    def _unknown(
        self, compiled: Callable[[Config], CompiledTileKernel]
    ) -> Iterator[tuple[int, CompiledTileKernel]]:
        """Trace all; those whose times are not known."""
        brief: dict[int, Times] = {}
        for index, config in enumerate(self.configs):
            try:
                kernel = compiled(config)
                key = key_of(kernel, config, self.arguments, self.bench.given)
            except Exception as error:  # whatever is wrong with it, the next one may do
                self.faults[index] = error
                continue
            self.kernels[index], self.keys[index] = kernel, key
            known = recall(key)
            if known is None:
                yield index, kernel
            elif known.is_brief:
                brief[index] = known
            else:
                self._take(index, known)
        for index, known in brief.items():
            if self._is_slow(known.latency):
                self._take(index, known)
            else:  # the one that it was compared with is not among these
                yield index, self.kernels[index]

    def _take(self, index: int, times: Times) -> None:
        self.times[index] = times
        kernel = self.kernels[index]
        kernel.config = self.configs[index]
        kernel.latency, kernel.ref_latency = times.latency, times.ref_latency

    def _measure(self, index: int) -> None:
        kernel = self.kernels[index]
        try:
            self.bench.check(kernel)
            self.bench.measure(kernel, self._best_latency())
        except Exception as error:
            self.faults[index] = error
            return
        latency = kernel.latency or 0.0
        times = Times(latency, kernel.ref_latency, is_brief=self._is_slow(latency))
        self._take(index, times)
        remember(self.keys[index], times)

    def _best_latency(self) -> float | None:
        return min((each.latency for each in self.times.values()), default=None)

    def _is_slow(self, latency: float) -> bool:
        """Whether a time is so far from the best that it was not worth measuring for long."""
        limit = self.bench.limit(self._best_latency())
        return limit is not None and latency > limit

    def _best(self) -> int:
        return min(self.times, key=lambda index: (self.times[index].latency, index))

    # -- telling -------------------------------------------------------------------------------

    def _trials(self) -> tuple[Trial, ...]:
        found: list[Trial] = []
        for index, config in enumerate(self.configs):
            if index in self.faults:
                found.append(Trial(config, None, headline(self.faults[index])))
            elif index in self.times:
                times = self.times[index]
                brief = "measured briefly: clearly slower than the best" if times.is_brief else ""
                remark = self.remarks.get(index, brief)
                found.append(Trial(config, times.latency, remark))
        return tuple(found)

    def _summary(self, seconds: float) -> str:
        best = self._best()
        text = (
            f"tuning {self.name}: {self.configs[best]} takes {self.times[best].latency:.4g} ms, "
            f"the minimum of {len(self.times)} configurations, in {seconds:.1f} s"
        )
        if self.faults:
            first = min(self.faults)
            text += (
                f"; {len(self.faults)} failed, the first of them {self.configs[first]}: "
                f"{headline(self.faults[first])}"
            )
        return text

    def _nothing_works(self) -> Exception:
        (index, first), *rest = sorted(self.faults.items(), key=lambda each: each[0])
        others = "\n".join(f"  {self.configs[each]}: {headline(error)}" for each, error in rest)
        first.add_note(
            f"none of the {len(self.faults)} configurations of {self.name} works; the error "
            f"above is for {self.configs[index]}" + (f", the others:\n{others}" if others else "")
        )
        return first
