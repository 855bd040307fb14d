"""Functions that generated code calls, and the names it may use.

Separate from the emitter: nothing here depends on the IR. `HELPERS` maps each name to the module
that a generated file imports it from.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.numpy.dtypes import SCALAR_NAMES

_PACKAGE = "tilewright.targets.numpy.support"
_BY_MODULE = {
    "control": "Control",
    "extrema": "clampf clampf_nan maximumf maxnumf minimumf minnumf",
    "floats": (
        "cast_signed cast_unsigned fma fptosi fptoui int_to_float narrow narrow_rtz round_away "
        "to_single"
    ),
    "integers": (
        "arange ceildivsi ceildivui ctlz ctpop cttz divsi divui floordivsi ipowi less_unsigned "
        "maxui minui mulhisi mulhiui remsi remui shrui"
    ),
    "dot": "dot dot_scaled",
    "reductions": "arg_reduce extreme fold fold_by scan scan_by total",
    "select": "pick",
    "shapes": "cat gather grow histogram join map_packs only within",
    "special": "erf erfc powf",
}

HELPERS: Mapping[str, str] = {
    **dict.fromkeys(SCALAR_NAMES, f"{_PACKAGE}.types"),
    **{
        name: f"{_PACKAGE}.{module}"
        for module, names in _BY_MODULE.items()
        for name in names.split()
    },
}
