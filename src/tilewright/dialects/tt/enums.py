"""The enumerations of ``tt`` ops.

Enumerations are 32-bit integers that formats print as keywords, as upstream does; in an attribute
dictionary the number shows. An ``Enum`` translates both ways::

    ROUNDING.attribute("rtne")    1 : i32
    ROUNDING.keyword(attribute)   "rtne"
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute

from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.syntax import Enum


def _numbered(keywords: str, first: int = 0) -> Enum:
    return Enum({keyword: value for value, keyword in enumerate(keywords.split(), first)})


CACHE_MODIFIER = _numbered("none ca cg wb cs wt cv", first=1)
EVICTION_POLICY = _numbered("evict_normal evict_first evict_last", first=1)
PADDING = _numbered("zero nan", first=1)
RMW_OP = _numbered("and or xor add fadd max min umax umin exch", first=1)
DESCRIPTOR_REDUCE_KIND = _numbered("add min max inc dec and or xor", first=1)
MEM_SEMANTIC = _numbered("relaxed acquire release acq_rel", first=1)
MEM_SYNC_SCOPE = _numbered("gpu cta sys", first=1)
PROGRAM_DIM = _numbered("x y z")
ROUNDING = _numbered("rtz rtne rs")
"""Stochastic rounding, ``rs``, exists in TLX only."""
PROPAGATE_NAN = Enum({"none": 0, "all": 0xFFFF})
INPUT_PRECISION = _numbered("tf32 tf32x3 ieee bf16x3 bf16x6")
SCALE_DOT_ELEM_TYPE = _numbered("e4m3 e5m2 e2m3 e3m2 e2m1 bf16 fp16")


def one_of(enum: Enum) -> Satisfies:
    """The constraint of a property that holds a number of `enum`."""
    values = frozenset(enum.keywords.values())

    def holds(attribute: Attribute) -> bool:
        if not isinstance(attribute, IntegerAttr) or attribute.type != i32:
            return False
        return attribute.value.data in values

    cases = ", ".join(map(str, sorted(values)))
    return Satisfies(f"allowed 32-bit signless integer cases: {cases}", holds, (IntegerAttr,), enum)
