"""Which layout every tensor of a module gets.

Some ops leave no choice: matrix instructions, tensor memory, user-required layouts. Accesses to
memory have a layout that suits their addresses. All other tensors follow them:

1. From the *anchors* (values whose layout is given, then results of accesses) layouts spread
   forward, along ``layout_links``. Given layouts go first, so an accumulator that is carried
   through a loop has the layout of the instruction and not that of its initial value.
2. What is still open is *flexible*: constants, ranges, splats and what is computed of them, and
   what is read from shared memory. It takes the layout that its users require, from the accesses
   and from what step 1 decided. Where users disagree, one wins; the others get a copy computed
   in their layout, or a conversion (see ``apply_layouts``).
3. A value without requirements is blocked, rows first; one read from shared memory in chunks of 16
   bytes, along the dimension that is consecutive there.

Values that must agree because control flow merges them (an argument of a loop and the result it
ends up as) are one node.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.analysis.axis_info import AxisFacts, solve_axis_info
from tilewright.dialects.amdg import BufferStoreOp
from tilewright.dialects.tlx import ReleaseLayoutOp, RequireLayoutOp
from tilewright.dialects.tt import (
    CallOp,
    DescriptorLoadOp,
    DotOp,
    DotScaledOp,
    FuncOp,
    ReturnOp,
    StoreOp,
)
from tilewright.dialects.ttg import LocalLoadOp
from tilewright.dialects.ttg.context import num_ctas_at, num_warps_at, threads_per_warp_at
from tilewright.dialects.ttg.distributed import BlockedEncoding, DotOperandEncoding
from tilewright.dialects.ttg.interfaces import MmaEncoding
from tilewright.dialects.ttg.shared import (
    NvmmaSharedEncoding,
    SharedLinearEncoding,
    SwizzledSharedEncoding,
)
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.dialects.type_utils import (
    bit_width,
    encoding_of,
    is_tensor,
    shape_of,
    tensors_among,
)
from tilewright.ir.interfaces import Edge
from tilewright.ir.traversal import walk
from tilewright.passes.ttg.accesses import PointerAccess, access_of
from tilewright.passes.ttg.amd.direct_copies import DIRECT, DirectCopy, buffer_of, direct_layout
from tilewright.passes.ttg.blocked import default_blocked, row_major
from tilewright.passes.ttg.coalescing import coalesced, in_wide_rows
from tilewright.passes.ttg.layout_links import (
    Link,
    edges_of,
    fixed_layout,
    is_alike,
    links_of,
)
from tilewright.passes.ttg.memdesc_types import memdesc_of

_OF_A_DOT = (BlockedEncoding, MmaEncoding)
"""What a dot gives: the layout of an instruction, or a blocked one until Triton chooses one."""
_GIVEN, _ACCESS, _REQUESTED, _DEFAULT = range(4)
_Entry: TypeAlias = tuple[int, int, SSAValue, Attribute]


@dataclass(frozen=True)
class LayoutPlan:
    """The layout of every tensor, and of every access to memory."""

    layouts: Mapping[SSAValue, Attribute]
    accesses: Mapping[Operation, Attribute]
    flexible: frozenset[SSAValue]
    """Tensors that may be computed again in another layout."""

    def __str__(self) -> str:
        lines = [f"{value.name_hint or '?'}: {layout}" for value, layout in self.layouts.items()]
        return "\n".join(lines)


def plan_layouts(module: ModuleOp) -> LayoutPlan:
    """Decide on all tensors of `module`."""
    return _Planner(module).plan()


@dataclass
class _Links:
    """Links by the values at their ends."""

    leaving: dict[SSAValue, list[Link]] = field(default_factory=dict[SSAValue, "list[Link]"])
    reaching: dict[SSAValue, list[Link]] = field(default_factory=dict[SSAValue, "list[Link]"])

    def add(self, link: Link) -> None:
        self.leaving.setdefault(link.source, []).append(link)
        self.reaching.setdefault(link.target, []).append(link)


class _Planner:
    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._ops = [op for op in walk(module) if op is not module]
        self._links = _Links()
        self._merged: dict[SSAValue, list[SSAValue]] = {}
        self._layouts: dict[SSAValue, Attribute] = {}
        self._accesses: dict[Operation, Attribute] = {}
        self._heap: list[_Entry] = []
        self._count = 0
        for op in self._ops:
            for link in links_of(op):
                self._links.add(link)
            self._merge(op)

    def plan(self) -> LayoutPlan:
        values = list(self._tensors())
        self._seed_anchors(values)
        self._spread(backward=False)
        flexible = frozenset(value for value in values if value not in self._layouts)
        self._seed_demands()
        self._spread(backward=True)
        for value in values:
            if value not in self._layouts:
                self._push(_DEFAULT, value, self._default(value))
                self._spread(backward=True)
        self._agree()
        return LayoutPlan(self._layouts, self._accesses, flexible)

    # -- the graph -------------------------------------------------------------------------------

    def _merge(self, op: Operation) -> None:
        """Inputs that one operand goes to are the same value at different places."""
        groups: dict[tuple[Operation, int], list[SSAValue]] = {}
        for edge in edges_of(op):
            for index, target in enumerate(edge.inputs):
                if is_tensor(target.type):
                    groups.setdefault((edge.source, index), []).append(target)
        for group in groups.values():
            for value in group:
                self._merged.setdefault(value, []).extend(v for v in group if v is not value)

    def _tensors(self) -> Iterator[SSAValue]:
        for op in self._ops:
            for value in op.results:
                if is_tensor(value.type):
                    yield value
            for region in op.regions:
                for block in region.blocks:
                    yield from (arg for arg in block.args if is_tensor(arg.type))

    @cached_property
    def _axis_info(self) -> AxisFacts:
        """What is known of addresses, for which many kernels have no use."""
        return solve_axis_info(self._module)

    # -- seeds -----------------------------------------------------------------------------------

    def _seed_anchors(self, values: list[SSAValue]) -> None:
        for value in values:
            layout = fixed_layout(value)
            if layout is not None:
                self._push(_GIVEN, value, layout)
                continue
            owner = value.owner
            if isinstance(owner, CallOp) or (
                isinstance(owner.parent_op(), FuncOp) and (not isinstance(owner, Operation))
            ):
                # Functions that stay functions agree with their callers on the plainest layout.
                self._push(_GIVEN, value, self._default(value))
        for op in self._ops:
            access = access_of(op)
            if access is None:
                continue
            layout = self._access_layout(op, access)
            self._accesses[op] = layout
            for result in op.results:
                if is_tensor(result.type):
                    self._push(_ACCESS, result, layout)

    def _access_layout(self, op: Operation, access: PointerAccess) -> Attribute:
        direct = op.attributes.get(DIRECT)
        warps, _, warp_size = _capacity(op)
        if isinstance(direct, IntegerAttr) and isinstance(op, DirectCopy):
            return direct_layout(buffer_of(op), direct.value.data, warps, warp_size)
        given = fixed_layout(access.pointers) or _pinned(op)
        if given is not None:
            return given
        return coalesced(
            access.pointers,
            access.mask,
            self._axis_info,
            *_capacity(op),
            base=access.base,
            known_run=access.known_run,
        )

    def _seed_demands(self) -> None:
        for op, layout in self._accesses.items():
            for operand in op.operands:
                self._request(_REQUESTED, operand, layout)
        for value in list(self._layouts):
            self._request_sources(value)

    def _default(self, value: SSAValue) -> Attribute:
        owner = value.owner
        op = owner if isinstance(owner, Operation) else owner.parent_op()
        assert op is not None
        if isinstance(owner, LocalLoadOp | DescriptorLoadOp):
            return in_wide_rows(
                shape_of(value.type), bit_width(value.type), _order(owner), *_capacity(op)
            )
        if isinstance(owner, Operation):
            return default_blocked(shape_of(value.type), *_capacity(op))
        # A block argument belongs to the op in the region, which may be a partition.
        first = owner.first_op or op
        return default_blocked(shape_of(value.type), *_capacity(first))

    # -- spreading -------------------------------------------------------------------------------

    def _push(self, rank: int, value: SSAValue, layout: Attribute) -> None:
        self._count += 1
        heapq.heappush(self._heap, (rank, self._count, value, layout))

    def _request(self, rank: int, value: SSAValue, layout: Attribute) -> None:
        if is_tensor(value.type) and value not in self._layouts and self._can_be(value, layout):
            self._push(rank, value, layout)

    def _can_be(self, value: SSAValue, layout: Attribute) -> bool:
        """Whether what defines `value` can be made to produce it in `layout`."""
        if isinstance(value.owner, DotOp | DotScaledOp) and not isinstance(layout, _OF_A_DOT):
            return False
        links = self._links.reaching.get(value, ())
        return all(link.backward(layout) is not None for link in links)

    def _spread(self, *, backward: bool) -> None:
        while self._heap:
            rank, _, value, layout = heapq.heappop(self._heap)
            if value in self._layouts:
                continue
            if backward and not self._can_be(value, layout) and rank != _DEFAULT:
                continue
            self._layouts[value] = layout
            for other in self._merged.get(value, ()):
                if other not in self._layouts:
                    self._push(_GIVEN, other, layout)
            for link in self._links.leaving.get(value, ()):
                found = link.forward(layout)
                if found is not None and link.target not in self._layouts:
                    self._push(rank, link.target, found)
            if backward:
                self._request_sources(value)

    def _request_sources(self, value: SSAValue) -> None:
        layout = self._layouts[value]
        for link in self._links.reaching.get(value, ()):
            required = link.backward(layout)
            if required is not None:
                self._request(_REQUESTED, link.source, required)

    def _agree(self) -> None:
        """Results of one op that must be alike get the layout of the first."""
        for op in self._ops:
            found = tensors_among(op.results)
            if len(found) > 1 and (is_alike(op) or op.name in ("tt.reduce", "tt.split")):
                for value in found[1:]:
                    self._layouts[value] = self._layouts[found[0]]


def _pinned(op: Operation) -> Attribute | None:
    """The layout that the kernel requires of what `op` stores; None if it leaves it open."""
    value = op.value if isinstance(op, StoreOp | BufferStoreOp) else None
    while value is not None and isinstance(value.owner, ReleaseLayoutOp):
        value = value.owner.src
    return (
        None
        if value is None or not isinstance(value.owner, RequireLayoutOp)
        else fixed_layout(value)
    )


def _order(op: LocalLoadOp | DescriptorLoadOp) -> tuple[int, ...]:
    """The dimensions of what `op` reads in shared memory, the fastest first."""
    layout = unwrapped(memdesc_of(op.src).encoding) if isinstance(op, LocalLoadOp) else None
    if isinstance(layout, NvmmaSharedEncoding | SharedLinearEncoding | SwizzledSharedEncoding):
        return layout.order
    return row_major(len(shape_of(op.results[0].type)))


def _capacity(op: Operation) -> tuple[int, int, int]:
    """The numbers of warps and of CTAs at `op`, and the threads of a warp."""
    return num_warps_at(op) or 4, num_ctas_at(op), threads_per_warp_at(op)


Required: TypeAlias = dict[tuple[Operation, int], Attribute]
"""The layout that an operand must have, by op and index."""


def required_operands(op: Operation, plan: LayoutPlan) -> Required:
    """What `op` requires of its operands; a structured op also covers its terminators.

    Operands that are not mentioned may have any layout.
    """
    access = plan.accesses.get(op)
    if access is not None:
        return {(op, index): access for index, v in enumerate(op.operands) if is_tensor(v.type)}
    if isinstance(op, DotOp | DotScaledOp):
        return _dot_operands(op, plan)
    if isinstance(op, CallOp | ReturnOp):
        return _handed_over(op)
    edges = list(edges_of(op))
    if any(edge.operands for edge in edges):
        return _forwarded(edges, plan)
    links = links_of(op)
    have = {plan.layouts[link.source] for link in links}
    requested: dict[SSAValue, Attribute] = {}
    for link in links:
        target, has = plan.layouts[link.target], plan.layouts[link.source]
        # One layout may be written in several forms: what leads to the target is good as it is, if
        # all operands have the same form.
        is_good = len(have) == 1 and link.forward(has) == target
        found = has if is_good else link.backward(target)
        if found is not None:
            requested.setdefault(link.source, found)
    return {(op, index): requested[v] for index, v in enumerate(op.operands) if v in requested}


def _handed_over(op: CallOp | ReturnOp) -> Required:
    """Functions and callers agree on the layouts in the function's type, else on the default."""
    function = op.parent_op()
    declared: Sequence[Attribute] = op.operand_types
    if isinstance(op, ReturnOp) and isinstance(function, FuncOp):
        declared = function.function_type.outputs.data
    return {
        (op, index): encoding_of(type) or default_blocked(shape_of(type), *_capacity(op))
        for index, type in enumerate(declared)
        if is_tensor(type)
    }


def _forwarded(edges: list[Edge], plan: LayoutPlan) -> Required:
    required: Required = {}
    for edge in edges:
        # What an edge takes along are the last operands of its source.
        first = len(edge.source.operands) - len(edge.operands)
        for index, target in enumerate(edge.inputs[: len(edge.operands)]):
            if is_tensor(target.type):
                required[edge.source, first + index] = plan.layouts[target]
    return required


def _dot_operands(op: DotOp | DotScaledOp, plan: LayoutPlan) -> Required:
    # A dot without a user-chosen layout: blocked, which Triton's own pass optimises.
    parent = plan.layouts[op.results[0]]
    required: Required = {
        (op, index): _dot_operand(plan.layouts[op.operands[index]], index, parent)
        for index in (0, 1)
    }
    required[op, 2] = parent
    return required


def _dot_operand(has: Attribute, index: int, parent: Attribute) -> Attribute:
    """The layout of an operand: what a user gave it if that suits, for its registers of K."""
    if isinstance(has, DotOperandEncoding) and has.op_idx == index and has.parent == parent:
        return has
    return DotOperandEncoding(op_idx=index, parent=parent)
