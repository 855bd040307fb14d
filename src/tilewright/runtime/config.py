"""One way to compile and launch a kernel, among those a tuner chooses from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

PreHook = Callable[[dict[str, Any]], object]


@dataclass(eq=False)
class Config:
    """Values of a kernel's constexpr parameters, with launch options.

    `pre_hook` is called with all arguments before a launch with this configuration.
    """

    kwargs: Mapping[str, Any]
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int | None = None
    pre_hook: PreHook | None = None
    ir_override: str | None = field(default=None, repr=False)
    ctas_per_cga: tuple[int, ...] | None = None
    """Programs that run together as a cluster, along each axis of the grid."""

    def options(self) -> dict[str, Any]:
        """The launch options of this configuration."""
        options: dict[str, Any] = {
            "num_warps": self.num_warps,
            "num_stages": self.num_stages,
            "num_ctas": self.num_ctas,
        }
        if self.maxnreg is not None:
            options["maxnreg"] = self.maxnreg
        if self.ctas_per_cga is not None:
            options["ctas_per_cga"] = tuple(self.ctas_per_cga)
        return options

    def all_kwargs(self) -> dict[str, Any]:
        """Everything a launch gets from this configuration."""
        return {**self.kwargs, **self.options()}

    def __str__(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())

    def _identity(self) -> tuple[object, ...]:
        return (*sorted(self.all_kwargs().items()), self.pre_hook)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())
