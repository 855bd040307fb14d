"""The best of several configurations.

The loop is that of all tuners (`runtime.tuning`). Where times count, all configurations are traced,
which is quick; then they are compiled in parallel, and measured one at a time as they get ready.
What cannot be compiled, or is wrong, is left out and reported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tilewright.language.T.prim_func import PrimFunc
from tilewright.runtime.cuda.driver import is_available
from tilewright.runtime.executors.current import Executing, current_executing
from tilewright.runtime.progress import QUIET_SECONDS, progress_lines
from tilewright.runtime.tile.compile_ahead import as_compiled
from tilewright.runtime.tile.config_model import ranked
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.trials import Config, ProfileArgs, Trial, Workbench
from tilewright.runtime.tile.tuning_cache import key_of, recall, remember
from tilewright.runtime.tile.tuning_items import MODEL, TIME, WORK, described, predicted
from tilewright.runtime.tuning import (
    Backend,
    Found,
    Ready,
    headline,
    no_progress,
    nothing_works,
    search,
)
from tilewright.runtime.tuning_times import Times

if TYPE_CHECKING:
    from tilewright.runtime.executors.pools import Pool
    from tilewright.runtime.executors.work import Outcome

tuning_top: ContextVar[int] = ContextVar("configurations that are measured", default=0)
"""How many that a model ranks first; 0 for all."""
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


Compile = Callable[[Config], CompiledTileKernel]


def choose(
    name: str,
    configs: Sequence[Config],
    compiled: Compile,
    profile: ProfileArgs,
    arguments: object = (),
) -> AutotuneResult:
    """The best of `configs`, or the first that works where times do not count."""
    given = (name, configs, compiled, profile, arguments)
    elsewhere = current_executing()
    if _is_modelled(configs, compiled):
        return (_ByModel(*given) if elsewhere is None else _Elsewhere(*given, elsewhere)).result()
    if not _is_timed():
        return _ByOrder(*given).result()
    # The quickest come first: what is clearly slower than they are is measured briefly.
    configs = ranked(configs, compiled, tuning_top.get())
    given = (name, configs, compiled, profile, arguments)
    reason = _stays(profile)
    if elsewhere is not None and reason is None:
        return _TimedElsewhere(*given, elsewhere).result()
    if elsewhere is not None:
        sys.stderr.write(f"tuning {name} in this process: {reason}\n")
    return _ByTime(*given).result()


def _is_timed() -> bool:
    setting = os.environ.get("TILEWRIGHT_AUTOTUNE")
    return is_available() if setting is None else setting in ("time", "fresh")


def _stays(profile: ProfileArgs) -> str | None:
    """Why the kernels have to be measured in this process, if they have to."""
    if inputs_for_tuning.get() is not None:
        return "its inputs are those of set_autotune_inputs, which are in its memory"
    if profile.supply_prog is not None:
        return "its inputs are made by supply_prog, a function of this process"
    return None


def _is_modelled(configs: Sequence[Config], compiled: Compile) -> bool:
    """Whether the kernels are for a target whose cost model compares them."""
    for config in configs:
        try:
            own = compiled(config).tenstorrent
        except Exception:  # reported by the search itself
            continue
        return own is not None and own.has_fixed_plan
    return False


class _Tuning(Backend):
    """One choice. Whatever is wrong with a configuration, the next one may do."""

    how: str | None = ""
    """How the times were found, for the summary of long work; None if there is none."""

    def __init__(
        self,
        name: str,
        configs: Sequence[Config],
        compiled: Compile,
        profile: ProfileArgs,
        arguments: object,
    ) -> None:
        self.name = name
        self.configs = configs
        self.compiled = compiled
        self.arguments = arguments
        self.bench = Workbench(profile, inputs_for_tuning.get())
        self.found = Found(len(configs))
        self.kernels: dict[int, CompiledTileKernel] = {}
        """Those that could be traced, by the index of their configuration."""
        self.remarks: dict[int, str] = {}
        """The predicted cycles of a configuration."""
        self.show = no_progress

    def result(self) -> AutotuneResult:
        """The choice; raises the first error if nothing works."""
        start = perf_counter()
        best = search(self, self.found, self.show)
        if best is None:
            raise nothing_works(self.name, self.configs, self.found)
        seconds = perf_counter() - start
        if self.how is not None and seconds > QUIET_SECONDS:
            sys.stderr.write(f"{self._summary(seconds)}{self.how}\n")
        return AutotuneResult(self.kernels[best], self.configs[best], self._trials())

    # -- what most of them do ------------------------------------------------------------------

    def ready(self, found: Found) -> Ready:
        for index, config in enumerate(self.configs):
            try:
                kernel = self.kernels[index] = self.compiled(config)
            except Exception as error:
                yield index, error
            else:
                kernel.config = config
                yield index, None

    def is_enough(self, index: int) -> bool:
        return False

    def is_fault(self, index: int, error: Exception) -> bool:
        return True

    def check(self, index: int) -> None:
        """Compare with the reference; the time is measured when it is read."""
        kernel = self.kernels[index]
        self.bench.check(kernel)
        kernel.measure_with(partial(self.bench.measure, kernel))

    # -- reports -------------------------------------------------------------------------------

    def _trials(self) -> tuple[Trial, ...]:
        times, faults = self.found.times, self.found.faults
        trials: list[Trial] = []
        for index, config in enumerate(self.configs):
            if index in faults:
                trials.append(Trial(config, None, headline(faults[index])))
            elif index in times:
                is_brief = times[index].is_brief
                brief = "measured briefly: clearly slower than the best" if is_brief else ""
                remark = self.remarks.get(index, brief)
                trials.append(Trial(config, times[index].latency, remark))
        return tuple(trials)

    def _summary(self, seconds: float) -> str:
        times, faults = self.found.times, self.found.faults
        best = self.found.best
        text = (
            f"tuning {self.name}: {self.configs[best]} takes {times[best].latency:.4g} ms, "
            f"the minimum of {len(times)} configurations, in {seconds:.1f} s"
        )
        if faults:
            first = min(faults)
            text += (
                f"; {len(faults)} failed, the first of them {self.configs[first]}: "
                f"{headline(faults[first])}"
            )
        return text


class _ByOrder(_Tuning):
    """The first that works, where times do not count."""

    how = None

    def is_enough(self, index: int) -> bool:
        self.check(index)
        return True


class _ByModel(_Tuning):
    """The quickest according to the cost model of the target, if its results are right."""

    how = " (model, not measured)"

    def measure(self, index: int, best: float | None) -> Times:
        return self.known(index, predicted(self.kernels[index]))

    def known(self, index: int, tried: Mapping[str, Any]) -> Times:
        """The time in what is reported of a configuration."""
        if tried["remark"]:
            self.remarks[index] = tried["remark"]
        return Times(tried["latency"])

    def confirm(self, index: int) -> None:
        self.check(index)


class _Elsewhere(_ByModel):
    """The same, wherever the executor is."""

    kind = MODEL

    def __init__(
        self,
        name: str,
        configs: Sequence[Config],
        compiled: Compile,
        profile: ProfileArgs,
        arguments: object,
        executing: Executing,
    ) -> None:
        super().__init__(name, configs, compiled, profile, arguments)
        self.executing = executing
        self.tried: dict[int, Mapping[str, Any]] = {}

    def ready(self, found: Found) -> Ready:
        items: dict[int, dict[str, Any]] = {}
        for index, fault in super().ready(found):
            if fault is not None:
                yield index, fault
                continue
            try:
                items[index] = described(self.kernels[index], self.kind, self.bench.profile)
            except Exception as error:
                yield index, error
        for index, outcome in zip(items, self._outcomes(list(items.values())), strict=True):
            if outcome.status != "done":
                yield index, TuningFailed(str(outcome))
            elif "fault" in outcome.value:
                yield index, TuningFailed(outcome.value["fault"])
            else:
                self.tried[index] = outcome.value
                yield index, None

    def _outcomes(self, items: Sequence[dict[str, Any]]) -> Sequence[Outcome]:
        # One process alone does without.
        from tilewright.runtime.executors.gather import gathered, journal, merged
        from tilewright.runtime.executors.pools import pool_of
        from tilewright.runtime.executors.work import Work

        work, executing, name = Work.of(WORK), self.executing, f"tuning {self.name}"
        with (
            journal(executing.log) as log,
            pool_of(executing.where, patience_s=executing.patience_s) as pool,
        ):
            self.note_pool(pool)
            found = gathered(work, items, pool=pool, log=log, things="configurations", name=name)
            return merged(found, work, items)

    def note_pool(self, pool: Pool) -> None:
        """What does the work."""

    def measure(self, index: int, best: float | None) -> Times:
        return self.known(index, self.tried[index])


class _TimedElsewhere(_Elsewhere):
    """The quickest, as measured wherever the executor is."""

    kind = TIME

    def note_pool(self, pool: Pool) -> None:
        self.how = f" (measured by {pool.name})"

    def measure(self, index: int, best: float | None) -> Times:
        times = super().measure(index, best)
        self.kernels[index].latency = times.latency
        return times

    def confirm(self, index: int) -> None:
        self.bench.check(self.kernels[index])


class _ByTime(_Tuning):
    """The quickest."""

    def __init__(
        self,
        name: str,
        configs: Sequence[Config],
        compiled: Compile,
        profile: ProfileArgs,
        arguments: object,
    ) -> None:
        super().__init__(name, configs, compiled, profile, arguments)
        self.keys: dict[int, str] = {}
        """The cache keys of their times."""
        self.show = progress_lines(f"tuning {name}", "configurations")

    def ready(self, found: Found) -> Ready:
        profile = self.bench.profile
        return as_compiled(self._unknown(), found.total, profile.num_workers, profile.timeout)

    def _unknown(self) -> Iterator[tuple[int, CompiledTileKernel]]:
        """Trace all; those whose times are not known."""
        brief: dict[int, Times] = {}
        for index, config in enumerate(self.configs):
            try:
                kernel = self.compiled(config)
                key = key_of(kernel, config, self.arguments, self.bench.given)
            except Exception as error:
                self.found.faults[index] = error
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
            if self._is_slow(known.latency, self.found.best_latency):
                self._take(index, known)
            else:  # the one that it was compared with is not among these
                yield index, self.kernels[index]

    def _take(self, index: int, times: Times) -> None:
        self.found.times[index] = times
        kernel = self.kernels[index]
        kernel.config = self.configs[index]
        kernel.latency, kernel.ref_latency = times.latency, times.ref_latency

    def measure(self, index: int, best: float | None) -> Times:
        kernel = self.kernels[index]
        self.bench.check(kernel)
        self.bench.measure(kernel, best)
        latency = kernel.latency or 0.0
        times = Times(latency, kernel.ref_latency, is_brief=self._is_slow(latency, best))
        self._take(index, times)
        remember(self.keys[index], times)
        return times

    def _is_slow(self, latency: float, best: float | None) -> bool:
        """Whether a time is so far from the best that it was not worth measuring for long."""
        limit = self.bench.limit(best)
        return limit is not None and latency > limit
