"""The verdict on a random `T` or `tl` kernel that runs on the host, against NumPy."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.device.pool import Verdict
from tests.fuzz.tile import generator as tile
from tests.fuzz.tile import running as tile_running
from tests.fuzz.tl import generator as tl
from tests.fuzz.tl import running as tl_running

FAMILIES = ("tl", "tl-wide", "T")


@dataclass(frozen=True)
class HostJudge:
    """Judges seeds of one family; those of `T` in every form that the front half gives them."""

    family: str = "tl"

    def source(self, seed: int) -> str:
        """The kernel of a seed."""
        return self._case(seed).source

    def __call__(self, seed: int) -> Verdict:
        try:
            found = self._problems(seed)
        except Exception as error:  # any exception is a finding, and must not end the others
            return Verdict("internal", f"{type(error).__name__}: {error}")
        return Verdict("wrong", "; ".join(found)) if found else Verdict("right")

    def _case(self, seed: int) -> tile.Case | tl.Case:
        if self.family == "T":
            return tile.generate(seed)
        return tl.generate(seed, "wide" if self.family == "tl-wide" else "plain")

    def _problems(self, seed: int) -> list[str]:
        case = self._case(seed)
        if isinstance(case, tile.Case):
            return tile_running.check(case)
        return tl_running.check(case)
