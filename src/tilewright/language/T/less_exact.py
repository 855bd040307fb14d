"""Functions in CUDA's spelling, ``T.__exp``: they may be less exact than ``T.exp``."""

from __future__ import annotations

from tilewright.language.T.scalars import cos, exp, exp10, fast, log, log2, log10, sin, tan
from tilewright.language.T.votes import ffs, fns
from tilewright.language.T.wide_access import ldg

FAST = {
    "__cos": fast("__cos", cos),
    "__exp": fast("__exp", exp),
    "__exp10": fast("__exp10", exp10),
    "__ffs": ffs,
    "__fns": fns,
    "__ldg": ldg,
    "__log": fast("__log", log),
    "__log10": fast("__log10", log10),
    "__log2": fast("__log2", log2),
    "__sin": fast("__sin", sin),
    "__tan": fast("__tan", tan),
}
"""Functions that may be less exact; whether they are is up to the target."""
