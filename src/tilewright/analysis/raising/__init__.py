"""Decisions of ``raise-to-tile``: how a kernel on pointers becomes one on tiles.

    refusals              why a kernel is not raised
    kinds, support        what each op is, and which have a form at tile level
    addresses             polynomials of addresses over values of the program
    accesses, views       the memory of pointers: tensors, boxes, masks
    values                which tensors are buffers, which are computed where used
    slots                 which values share a buffer
    loops                 overlapped or sequential
    planner, plan         all of it together, as a value

Nothing here changes IR; ``passes/tile/raise_to_tile.py`` applies the plan.
"""

from tilewright.analysis.raising.plan import Access, RaisePlan
from tilewright.analysis.raising.planner import plan_raising
from tilewright.analysis.raising.refusals import Refusal, Refusals
from tilewright.analysis.raising.views import Box, View

__all__ = ["Access", "Box", "RaisePlan", "Refusal", "Refusals", "View", "plan_raising"]
