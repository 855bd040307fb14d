"""`warp_pipeline_stage`: cuts the body of a loop into stages that warps run shifted (AMD)."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32

from tilewright.dialects import rocdl
from tilewright.frontend.builder import current
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.options import current_options

_MAX_PRIORITY = 3
_DEFAULT_LABEL = "cluster"


class warp_pipeline_stage:
    """One stage; ends with a border that the compiler finds.

    `priority` from 0 to 3 describes how urgent its instructions are.
    """

    __slots__ = ("label", "priority")

    def __init__(self, label: str | None = None, *, priority: int | None = None) -> None:
        name, urgency = unwrap(label), unwrap(priority)
        if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"label must be a string or None, got {type(name).__name__}")
        if urgency is not None and not 0 <= urgency <= _MAX_PRIORITY:
            raise ValueError(f"priority must be 0-3, got {urgency}")
        self.label = name
        self.priority = urgency

    def __enter__(self) -> Self:
        if current_options().target.is_cuda:
            raise ValueError("tlx.warp_pipeline_stage is only supported on AMD (HIP) targets")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            return
        op = rocdl.SchedBarrierOp(0)
        op.attributes["triton.warp_pipeline.border"] = StringAttr(self.label or _DEFAULT_LABEL)
        if self.priority is not None:
            name = "triton.warp_pipeline.priority"
            op.attributes[name] = IntegerAttr(self.priority, i32)
        current().insert(op)
