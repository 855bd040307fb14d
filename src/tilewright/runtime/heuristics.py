"""Meta-parameters computed from the arguments of each launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tilewright.runtime.launch_errors import GridArguments
from tilewright.runtime.launchable import Launchable

Heuristic = Callable[[dict[str, Any]], Any]


class Heuristics(Launchable):
    """A kernel whose named parameters are computed from the other arguments."""

    def __init__(self, inner: Launchable, values: Mapping[str, Heuristic]) -> None:
        unknown = [name for name in values if name not in inner.arg_names]
        if unknown:
            raise ValueError(
                f"heuristics for {', '.join(unknown)}: {inner.name} has no such parameter; "
                f"parameters: {', '.join(inner.arg_names)}"
            )
        self.inner = inner
        self.values = dict(values)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def arg_names(self) -> tuple[str, ...]:
        return self.inner.arg_names

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        known = GridArguments({**dict(zip(self.arg_names, args, strict=False)), **kwargs})
        for name, heuristic in self.values.items():
            kwargs[name] = known[name] = heuristic(known)
        return self.inner.run(*args, grid=grid, warmup=warmup, **kwargs)


def heuristics(values: Mapping[str, Heuristic]) -> Callable[[Launchable], Heuristics]:
    """Compute constexpr parameters from the arguments: ``{"EVEN": lambda args: ...}``."""

    def decorate(kernel: Launchable) -> Heuristics:
        return Heuristics(kernel, values)

    return decorate
