"""Requirements on tensors that have layouts: loads satisfy them, else conversions do.

``tlx.require_layout`` on a tensor is satisfied without a conversion where all that the value can
come from, through branches and loops, are loads from shared memory: these load in the required
layout then, and what carries the value has it as well::

    %a = local_load %b   : tensor<.., #blocked>     #dot
    for iter_args(%r = %a : tensor<.., #blocked>)   #dot
      %d = require_layout %r : #blocked -> #dot     gone

All users of these values have to agree or convert anyway. Where that fails, and for
``tlx.release_layout``, the op becomes ``ttg.convert_layout``. Tensors without layouts keep their
requirements: layouts are given to them later.

An operand of an MMA that is written to a buffer only to be read back from it is such a requirement,
too, unless the layout of the buffer is the user's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tlx import ReleaseLayoutOp, RequireLayoutOp
from tilewright.dialects.tlx.attributes import DummyRegisterLayout, is_unverified
from tilewright.dialects.tt.layout_rules import is_deferred
from tilewright.dialects.ttg import ConvertLayoutOp, LocalAllocOp, LocalLoadOp
from tilewright.dialects.ttg.distributed import DotOperandEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import LayoutMark
from tilewright.dialects.type_utils import encoding_of, is_tensor, with_encoding
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.layout_links import edges_of


def satisfy_tensors(module: ModuleOp, rewriter: Rewriter) -> None:
    """Let loads have the layouts that tensors require, and convert everything else."""
    _forward_stored_operands(module, rewriter)
    for op in [each for each in walk(module) if isinstance(each, RequireLayoutOp)]:
        if _is_decided(op):
            _retype_loads(op, module, rewriter)
    for op in list(walk(module)):
        if isinstance(op, RequireLayoutOp | ReleaseLayoutOp) and _is_decided(op):
            if op.src.type == op.result.type:
                rewriter.replace_op(op, (), [op.src])
            else:
                rewriter.replace_op(op, ConvertLayoutOp(op.src, op.result.type))


def _is_decided(op: RequireLayoutOp | ReleaseLayoutOp) -> bool:
    """Whether both sides of `op` are tensors with layouts that are not placeholders."""
    return all(is_tensor(each.type) and _is_layout(encoding_of(each.type)) for each in _sides(op))


def _sides(op: RequireLayoutOp | ReleaseLayoutOp) -> tuple[SSAValue, SSAValue]:
    return op.src, op.result


def _is_layout(layout: Attribute | None) -> bool:
    if layout is None or isinstance(layout, DummyRegisterLayout):
        return False
    return not is_deferred(layout) and not is_unverified(layout)


# -- operands that are stored and loaded again ---------------------------------------------------


def _forward_stored_operands(module: ModuleOp, rewriter: Rewriter) -> None:
    for op in [each for each in walk(module) if isinstance(each, LocalAllocOp)]:
        loads = [use.operation for use in op.result.uses]
        if op.src is None or not _is_layout(encoding_of(op.src.type)) or _is_marked(op.result):
            continue
        if not all(isinstance(load, LocalLoadOp) for load in loads):
            continue
        for load in loads:
            layout = encoding_of(load.results[0].type)
            if isinstance(layout, DotOperandEncoding):
                rewriter.replace_op(load, RequireLayoutOp(op.src, layout))
        if op.result.first_use is None:
            rewriter.erase(op)


def _is_marked(value: SSAValue) -> bool:
    layout = value.type.encoding if isinstance(value.type, MemDescType) else encoding_of(value.type)
    return isinstance(layout, LayoutMark)


# -- loads ---------------------------------------------------------------------------------------


@dataclass
class Carried:
    """Which values control flow hands to which."""

    sources: dict[SSAValue, list[SSAValue]] = field(
        default_factory=lambda: defaultdict[SSAValue, list[SSAValue]](list)
    )
    targets: dict[SSAValue, list[SSAValue]] = field(
        default_factory=lambda: defaultdict[SSAValue, list[SSAValue]](list)
    )
    ends: set[tuple[Operation, SSAValue]] = field(default_factory=set[tuple[Operation, SSAValue]])

    @classmethod
    def of(cls, module: ModuleOp) -> Carried:
        found = cls()
        for op in walk(module):
            for edge in edges_of(op):
                for source, target in zip(edge.operands, edge.inputs, strict=False):
                    found.sources[target].append(source)
                    found.targets[source].append(target)
                    found.ends.add((edge.source, source))
        return found

    def origins(self, value: SSAValue) -> list[SSAValue]:
        """What `value` can come from, itself if control flow does not hand it on."""
        return [each for each in self.connected([value], both=False) if not self.sources.get(each)]

    def connected(self, start: Iterable[SSAValue], *, both: bool = True) -> Sequence[SSAValue]:
        """All values of which one can become another; without `both`, only what `start` was."""
        found = dict.fromkeys(start)
        queue = list(found)
        while queue:
            value = queue.pop()
            near = [*self.sources.get(value, ()), *(self.targets.get(value, ()) if both else ())]
            new = [each for each in near if each not in found]
            found.update(dict.fromkeys(new))
            queue.extend(new)
        return list(found)


def _retype_loads(op: RequireLayoutOp, module: ModuleOp, rewriter: Rewriter) -> None:
    """Let the loads that `op` gets its value from have its layout, if nothing is against it."""
    required = encoding_of(op.result.type)
    carried = Carried.of(module)
    values = carried.connected([op.src])
    for value in values:
        if not carried.sources.get(value) and not _can_load(value):
            return
        if not all(_agrees(use.operation, value, required, carried) for use in value.uses):
            return
    for value in values:
        assert is_tensor(value.type)
        rewriter.retype(value, with_encoding(value.type, required))


def _can_load(value: SSAValue) -> bool:
    return isinstance(value.owner, LocalLoadOp) and not _is_marked(value)


def _agrees(user: Operation, value: SSAValue, layout: Attribute | None, carried: Carried) -> bool:
    """Whether `user` takes `value` in `layout`."""
    if isinstance(user, RequireLayoutOp):
        return encoding_of(user.result.type) == layout
    return isinstance(user, ConvertLayoutOp) or (user, value) in carried.ends
