"""What can be launched over a grid: a kernel, or one with something chosen before each launch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any


class Launchable(ABC):
    """`kernel[grid](...)` and `kernel.warmup(...)`, in terms of `run`."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the kernel function."""

    @property
    @abstractmethod
    def arg_names(self) -> tuple[str, ...]:
        """The names of its parameters, in order."""

    @abstractmethod
    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Compile for these arguments and, unless this is a `warmup`, run on `grid`."""

    def ir(self, *args: Any, stage: str = "ttir", locations: bool = False, **kwargs: Any) -> str:
        """The text of the kernel for these arguments, as `stage` leaves it."""
        return self.warmup(*args, **kwargs).text(stage, locations=locations)

    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> Any:
        """Compile for these arguments and run nothing."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return partial(self.run, grid=grid)
