"""External code, and addresses for it."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from tilewright.dialects.tile.extern import ExternOp, SourceOp
from tilewright.dialects.tile.regions import PtrAtOp, PtrOfOp, ViewOp
from tilewright.dialects.type_utils import element_type_of
from tilewright.targets.cxx.emitter import ATOM, SUM, Emitter, Rule, Text, is_buffer
from tilewright.targets.cxx.memory import address


def _source(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, SourceOp)
    emitter.uses.sources.setdefault(op.text.data)


def _extern(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ExternOp)
    arguments = [emitter.operand(each) for each in op.arguments]
    call = f"{op.callee.data}({', '.join(arguments)})"
    if not op.results_:
        emitter.statement(f"{call};")
        return
    emitter.constant(op.results_[0], Text(call, ATOM))


def _ptr_of(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, PtrOfOp)
    (index,) = op.indices
    emitter.pure_pointer(op.result, Text(address(emitter, op.base, index), SUM))


def _ptr_at(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, PtrAtOp)
    element = emitter.scalar(op.pointee)
    text = f"reinterpret_cast<{element.name}*>({emitter.operand(op.address)})"
    emitter.pure_pointer(op.result, Text(text, ATOM))


def _view(emitter: Emitter, op: Operation) -> None:
    """The same address, as a pointer to other elements perhaps."""
    assert isinstance(op, ViewOp)
    element = emitter.element(op.result)
    source = op.source.type
    if is_buffer(source) and element_type_of(source) == element_type_of(op.result.type):
        emitter.define(op.result, emitter.text(op.source))
        return
    text = f"reinterpret_cast<{element.name}*>({emitter.operand(op.source)})"
    emitter.define(op.result, Text(text, ATOM))


RULES: Mapping[str, Rule] = {
    "tile.source": _source,
    "tile.extern": _extern,
    "tile.ptr_at": _ptr_at,
    "tile.ptr_of": _ptr_of,
    "tile.view": _view,
}
