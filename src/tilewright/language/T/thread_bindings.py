"""``T.thread_binding``: a loop over the threads along an axis, or the index of the thread there.

for i in T.thread_binding(32, thread="threadIdx.x"):      each thread runs one iteration
i = T.thread_binding(0, 32, thread="threadIdx.x")         the same index, for what follows
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.frontend.errors import FrontendError
from tilewright.ir.hints import name_hint_of
from tilewright.language.T.expressions import Expr
from tilewright.language.T.hints import attributes_of
from tilewright.language.T.kernel import get_thread_binding, get_thread_extent
from tilewright.language.T.loop_forms import BAD_ARGUMENT, Serial, text_attribute

_AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


class ThreadBinding(Serial):
    """A loop over threads; what a name is assigned is the thread's own index."""

    def __init__(self, start: Any, stop: Any, thread: str, attributes: Mapping[str, Any]) -> None:
        super().__init__(start, stop, op_name="thread_binding", attributes=attributes)
        self.thread = thread

    def take_name(self, name: str) -> Expr:
        """The index of the thread, called `name`."""
        if self.thread not in _AXES:
            raise FrontendError(
                f"T.thread_binding: {self.thread!r} is not an axis of the block: expected one of "
                f"{', '.join(_AXES)}",
                code=BAD_ARGUMENT,
            )
        axis = _AXES.index(self.thread)
        extent = get_thread_extent(axis)
        if (self.start, self.stop) != (0, extent):
            raise FrontendError(
                f"T.thread_binding({self.start}, {self.stop}, thread={self.thread!r}): the block "
                f"has {extent} threads along this axis, so its index runs from 0 to {extent - 1}. "
                f"Use T.thread_binding(0, {extent}, thread={self.thread!r}), or a loop",
                code=BAD_ARGUMENT,
            )
        index = get_thread_binding(axis)
        index.handle.name_hint = name_hint_of(name)
        return index


def thread_binding(
    start: Any,
    stop: Any = None,
    thread: str = "threadIdx.x",
    *,
    annotations: Mapping[str, Any] | None = None,
) -> ThreadBinding:
    """A loop whose iterations are the threads along an axis; assigned to a name, their index."""
    attributes = {**attributes_of(annotations), **text_attribute("tile.thread_binding", thread)}
    return ThreadBinding(start, stop, thread, attributes)
