"""Rules of the ops of a task: those of the NumPy target, and of shared and tensor memory."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.numpy.emitter import Rule
from tilewright.targets.numpy.ops import RULES as BASE_RULES
from tilewright.targets.numpy.tasks.ops import copies, mma, partitions, sync, tensor_mover, views

RULES: Mapping[str, Rule] = {
    **BASE_RULES,
    **copies.RULES,
    **mma.RULES,
    **partitions.RULES,
    **sync.RULES,
    **tensor_mover.RULES,
    **views.RULES,
}
