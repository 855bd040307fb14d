"""What every op of a task does: the tables of the NumPy target, with those of on-chip memory."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.numpy.emitter import Rule
from tilewright.targets.numpy.ops import RULES as BASE_RULES
from tilewright.targets.numpy.tasks.ops import copies, mma, partitions, sync, views

RULES: Mapping[str, Rule] = {
    **BASE_RULES,
    **copies.RULES,
    **mma.RULES,
    **partitions.RULES,
    **sync.RULES,
    **views.RULES,
}
