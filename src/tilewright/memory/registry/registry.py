"""All components' buffers, by owner, and how children's pools become slices of their parents'.

A kernel is built from nested device functions. Each component registers its buffers under itself;
a parent registers each child as two entries of its own, one for the child's shared pool and one
for its persistent pool. Offsets are relative at every level, so no component has absolute ones::

    kernel   shared  |step_shared..............................|
    step             |k1....|k2....|solver_shared.............|
    solver                         |residual......|direction..|

The sizes of a child are read when it is registered. Buffers it registers later are missed until
the parent registers it again; `refresh` does that for a whole tree, and the strict policy refuses
to build allocators from sizes that are too small.

Owners are held weakly: a group goes when its owner goes. Recorded children are held strongly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tilewright.memory import planner
from tilewright.memory.registry.allocators import numba_backend
from tilewright.memory.registry.buffer import LOCATIONS, CUDABuffer, Pool
from tilewright.memory.registry.calls import (
    Component,
    calls_in_order,
    check_tree,
    pool_blocks,
)
from tilewright.memory.registry.group import BufferGroup, Dialect, Policy, roll_up_names
from tilewright.memory.registry.guards import Canary, Span, guard_words_between
from tilewright.memory.registry.ir_text import guards_text
from tilewright.memory.registry.ir_ttg import ttg_guards
from tilewright.memory.registry.layout import Layouts
from tilewright.memory.registry.locking import locked
from tilewright.memory.registry.planning import Live, Planner

_SUFFIX = "_location"


class BufferRegistry:
    """Groups of buffers by owner. The arguments are those of the groups it makes."""

    def __init__(
        self,
        *,
        policy: Policy = "compat",
        planner: Planner | None = None,
        guard_words: int = 0,
    ) -> None:
        BufferGroup(policy=policy, guard_words=guard_words)  # refuses bad arguments now
        self.policy: Policy = policy
        self.guard_words = guard_words
        self._planner = planner
        self._groups: WeakKeyDictionary[object, BufferGroup] = WeakKeyDictionary()

    @locked
    def register(
        self,
        name: str,
        parent: object,
        size: int,
        location: str,
        persistent: bool = False,
        aliases: str | None = None,
        precision: npt.DTypeLike = np.float32,
        *,
        alignment: int | None = None,
    ) -> None:
        """Register a buffer of `parent`; the same name again replaces it."""
        group = self._group(parent)
        if group is None:
            group = BufferGroup(
                policy=self.policy, planner=self._planner, guard_words=self.guard_words
            )
            # As upstream: an owner whose first buffer is refused is known, and has none.
            self._groups[parent] = group
        group.register(name, size, location, persistent, aliases, precision, alignment=alignment)

    @locked
    def update_buffer(self, name: str, parent: object, **values: Any) -> tuple[bool, bool]:
        """Change fields of a buffer: whether it is known, whether it changed."""
        group = self._group(parent)
        return group.update_buffer(name, **values) if group is not None else (False, False)

    @locked
    def update(
        self,
        parent: object,
        updates_dict: Mapping[str, Any] | None = None,
        silent: bool = False,
        **kwargs: Any,
    ) -> set[str]:
        """Move buffers by keys ``<buffer>_location``; the keys of buffers that exist.

        Other keys are ignored, whatever `silent` is: a settings dictionary passes through many
        components. All values are checked before anything moves.
        """
        updates = {**(updates_dict or {}), **kwargs}
        group = self._group(parent)
        if group is None:
            return set()
        requested = {
            key.removesuffix(_SUFFIX): value
            for key, value in updates.items()
            if key.endswith(_SUFFIX)
        }
        for name, location in requested.items():
            if location not in LOCATIONS:
                raise ValueError(
                    f"Invalid location '{location}' for buffer '{name}'. "
                    "Must be 'shared' or 'local'."
                )
        return {f"{name}{_SUFFIX}" for name in group.relocate(requested)}

    def clear_layout(self, parent: object) -> None:
        """Drop the layouts of `parent`."""
        if (group := self._group(parent)) is not None:
            group.invalidate_layouts()

    @locked
    def clear_own(self, parent: object) -> None:
        """Remove the buffers of `parent`; not those of its children."""
        self._groups.pop(parent, None)

    @locked
    def clear_parent(self, parent: object) -> None:
        """Forget the buffers of `parent` and of everything below it."""
        group = self._groups.pop(parent, None)
        if group is None:
            return
        # The group is gone already, so a cycle of children ends here.
        for child in group.children.values():
            self.clear_parent(child)

    @locked
    def reset(self) -> None:
        """Forget everything."""
        self._groups.clear()

    def layouts(self, parent: object) -> Layouts:
        """The offsets of the buffers of `parent`; human-readable."""
        return self._known(parent).layouts()

    def shared_buffer_size(self, parent: object) -> int:
        group = self._group(parent)
        return group.shared_buffer_size() if group is not None else 0

    def local_buffer_size(self, parent: object) -> int:
        group = self._group(parent)
        return group.local_buffer_size() if group is not None else 0

    def persistent_local_buffer_size(self, parent: object) -> int:
        group = self._group(parent)
        return group.persistent_local_buffer_size() if group is not None else 0

    def relocatable_buffer_names(self, parent: object) -> tuple[str, ...]:
        group = self._group(parent)
        return group.relocatable_names() if group is not None else ()

    def nonaliased_elements(self, parent: object, names: Iterable[str]) -> int:
        group = self._group(parent)
        return group.nonaliased_elements(names) if group is not None else 0

    @locked
    def declared_local_elements(self, parent: object) -> int:
        """Per-thread memory: local arrays of the whole tree and the persistent pool of its root.

        A component that contains itself adds nothing the second time. One that is reached over two
        paths counts twice, because each call site has local arrays of its own.
        """
        return self._local_below(parent, ()) + self.persistent_local_buffer_size(parent)

    def _local_below(self, parent: object, path: tuple[object, ...]) -> int:
        group = self._group(parent)
        if group is None or any(parent is above for above in path):
            return 0
        inner = (*path, parent)
        below = sum(self._local_below(child, inner) for child in group.children.values())
        return group.local_buffer_size() + below

    @locked
    def get_allocator(self, name: str, parent: object, zero: bool = False) -> Callable[..., Any]:
        """A device function ``(shared, persistent) -> array`` for a buffer of `parent`."""
        return self._allocatable(parent).get_allocator(name, zero)

    @locked
    def get_allocator_ir(
        self,
        name: str,
        parent: object,
        zero: bool = False,
        *,
        dialect: Dialect = "memref",
        num_warps: int = 4,
    ) -> str:
        """The same as a function in IR (strict policy). `num_warps` is that of a ``ttg`` kernel."""
        group = self._allocatable(parent)
        child = next((c for n, c in group.children.items() if roll_up_names(n)[0] == name), None)
        inner = self._group(child) if dialect == "ttg" and child is not None else None
        region = inner.pool_ir() if inner is not None and inner.shared_buffer_size() else None
        return group.get_allocator_ir(
            name, zero, dialect=dialect, num_warps=num_warps, region=region
        )

    @locked
    def get_pool_ir(self, parent: object) -> str:
        """The op that makes the shared pool of `parent`, as ``%pool``, in Triton's dialect."""
        return self._allocatable(parent).pool_ir().text

    @locked
    def get_canary_ir(
        self, parent: object, *, dialect: Dialect = "memref", num_warps: int = 4
    ) -> str:
        """Functions ``@arm`` and ``@check`` in IR for the guards below `parent` (strict policy).

        A ``ttg`` kernel has guards in shared memory only, and as many counters.
        """
        group = self._known(parent)
        if self.policy != "strict":
            raise ValueError("IR allocators take byte pools, which need policy 'strict'.")
        canary = self.canary(parent)
        if dialect == "ttg":
            return ttg_guards(canary, group.pool_ir(), num_warps)
        return guards_text(canary)

    def _allocatable(self, parent: object) -> BufferGroup:
        group = self._known(parent)
        if self.policy == "strict":
            self._refuse_stale(parent)
        return group

    def _known(self, parent: object) -> BufferGroup:
        group = self._group(parent)
        if group is None:
            raise KeyError(f"Parent {parent} has no registered buffer group.")
        return group

    @locked
    def register_child(
        self,
        parent: Any,
        child: object,
        name: str | None = None,
        *,
        calls: Sequence[tuple[int, int]] | None = None,
    ) -> tuple[str, str]:
        """Reserve space for `child` in `parent`, as large as its pools are now; the entries' names.

        `calls` are the intervals of the parent's time in which the child runs (strict policy):
        shared scratch of children that never run at the same time may overlap. Without them, or
        when the call is repeated without them, the child counts as it did before.
        """
        base = f"child_{id(child)}" if name is None else name
        shared_name, persistent_name = roll_up_names(base)
        precision = parent.precision
        shared, persistent = self._pools_of(child, precision)
        live = _live(calls, base, self.policy)
        shared_align, persistent_align = self._alignments_of(child)
        self.register(
            shared_name, parent, shared, "shared", precision=precision, alignment=shared_align
        )
        self.register(
            persistent_name,
            parent,
            persistent,
            "local",
            persistent=True,
            precision=precision,
            alignment=persistent_align,
        )
        group = self._groups[parent]
        group.children[base] = child
        if live is not None:
            group.calls[base] = live
            group.invalidate_layouts()
        return shared_name, persistent_name

    @locked
    def register_calls(self, parent: object, order: Sequence[str]) -> None:
        """Set the order in which `parent` calls its recorded children, by name (strict policy).

        A name may come several times. A child that is not named keeps its previous calls.
        """
        group = self._known(parent)
        unknown = [name for name in order if name not in group.children]
        if unknown:
            raise KeyError(f"Child '{unknown[0]}' not registered for parent.")
        if self.policy != "strict":
            raise ValueError("Call intervals need policy 'strict'.")
        group.calls.update(calls_in_order(order))
        group.invalidate_layouts()

    @locked
    def pool_blocks(
        self, parent: Any, name: str, live: planner.Live = planner.ALWAYS
    ) -> tuple[planner.Block, ...]:
        """The pools of `parent` in bytes, as rigid blocks of a larger problem; none where empty."""
        itemsize = np.dtype(parent.precision).itemsize
        return pool_blocks(self._known(parent), itemsize, name, live)

    @locked
    def verify(self, parent: object) -> None:
        """Prove again, from the layouts of the whole tree below `parent`, that buffers keep apart
        while they are needed (strict policy). Raises PlanError where they do not."""
        if self.policy != "strict":
            raise ValueError("A proof needs policy 'strict': compat may overlap what is in use.")
        self._refuse_stale(parent)
        check_tree(self._component(self._known(parent), "", (parent,)))

    def _component(self, group: BufferGroup, path: str, above: tuple[object, ...]) -> Component:
        children: dict[str, Component] = {}
        for name, child in group.children.items():
            inner = self._group(child)
            if inner is not None and not any(child is each for each in above):
                children[name] = self._component(inner, f"{path}{name}.", (*above, child))
        return Component(group, path, children)

    @locked
    def get_child_allocators(
        self, parent: Any, child: object, name: str | None = None
    ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """`register_child`, then the allocators of both entries."""
        shared_name, persistent_name = self.register_child(parent, child, name)
        return self.get_allocator(shared_name, parent), self.get_allocator(persistent_name, parent)

    @locked
    def get_toplevel_allocators(self, kernel: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """``alloc_shared()``: dynamic shared memory as float32; ``alloc_persistent()``: an array
        of ``kernel.persistent_local_elements`` elements of ``kernel.precision``, at least one."""
        backend = numba_backend()
        elements, precision = max(1, kernel.persistent_local_elements), kernel.precision
        if self.policy == "strict":
            # Views of any element type are taken from this pool: make it of the widest.
            if self._group(kernel) is not None:
                self.verify(kernel)
            nbytes = elements * np.dtype(precision).itemsize
            elements, precision = _elements(nbytes, np.float64), np.float64
        return backend.dynamic_shared(), backend.persistent_pool(elements, precision)

    @locked
    def refresh(self, parent: object) -> None:
        """Register all recorded children of the tree below `parent` again, the lowest first."""
        self._refresh(parent, ())

    def _refresh(self, parent: object, path: tuple[object, ...]) -> None:
        group = self._group(parent)
        if group is None or any(parent is above for above in path):
            return
        for base, child in list(group.children.items()):
            self._refresh(child, (*path, parent))
            self.register_child(parent, child, base)

    @locked
    def canary(self, parent: object) -> Canary:
        """The guard words of `parent` and of everything below it (canary mode)."""
        group = self._known(parent)
        if not self.guard_words:
            raise ValueError("Canary mode is off: make the registry with guard_words=1 or more.")
        self._refuse_stale(parent)
        shared = tuple(self._spans(group, "shared", 0, "", (parent,)))
        persistent = tuple(self._spans(group, "persistent", 0, "", (parent,)))
        return Canary(
            (*shared, *persistent),
            guard_words_between(shared, group.shared_buffer_size()),
            guard_words_between(persistent, group.persistent_local_buffer_size()),
            bytewise=self.policy == "strict",
        )

    def _spans(
        self, group: BufferGroup, pool: Pool, base: int, prefix: str, path: tuple[object, ...]
    ) -> Iterator[Span]:
        at = group.layouts()
        windows = at.shared if pool == "shared" else at.persistent
        children = {f"{name}_{pool}": (name, child) for name, child in group.children.items()}
        for name, window in windows.items():
            if window.stop == window.start:
                continue
            start = base + window.start
            child_name, child = children.get(name, (name, None))
            inner = self._group(child) if child is not None else None
            if inner is None or any(child is above for above in path):
                yield Span(pool, start, base + window.stop, f"{prefix}{name}")
            else:
                deeper = (*path, child)
                yield from self._spans(inner, pool, start, f"{prefix}{child_name}.", deeper)

    @locked
    def _group(self, parent: object) -> BufferGroup | None:
        # `in` is False for an owner that cannot be referenced weakly, where `get` raises.
        if parent not in self._groups:
            return None
        return self._groups[parent]

    def _pools_of(self, child: object, precision: npt.DTypeLike) -> tuple[int, int]:
        """Sizes of a child's pools, in elements of its parent."""
        sizes = self.shared_buffer_size(child), self.persistent_local_buffer_size(child)
        if self.policy != "strict":
            return sizes
        return _elements(sizes[0], precision), _elements(sizes[1], precision)

    def _alignments_of(self, child: object) -> tuple[int | None, int | None]:
        """Bytes that a child's pools must start at a multiple of; compat has no requirement."""
        group = self._group(child)
        if group is None or self.policy != "strict":
            return None, None
        return group.shared_alignment(), group.persistent_alignment()

    def _refuse_stale(self, parent: object, path: tuple[object, ...] = ()) -> None:
        group = self._group(parent)
        if group is None or any(parent is above for above in path):
            return
        for base, child in group.children.items():
            self._refuse_stale(child, (*path, parent))
            for name, pool in zip(roll_up_names(base), (0, 1), strict=True):
                if (entry := group.entries.get(name)) is not None:
                    size = self._pools_of(child, entry.precision)[pool]
                    _refuse_outgrown(base, entry, size, self._alignments_of(child)[pool])


def _refuse_outgrown(base: str, entry: CUDABuffer, size: int, align: int | None) -> None:
    if size <= entry.size and (align or 1) <= entry.align:
        return
    raise ValueError(
        f"Child '{base}' has grown since it was registered: '{entry.name}' has {entry.size} "
        f"elements by {entry.align} bytes and needs {size} by {align or entry.align}. "
        "Call refresh(parent) first."
    )


def _elements(nbytes: int, precision: npt.DTypeLike) -> int:
    return -(-nbytes // np.dtype(precision).itemsize)


def _live(calls: Sequence[tuple[int, int]] | None, base: str, policy: Policy) -> Live:
    if calls is None:
        return None
    if policy != "strict":
        raise ValueError(f"Child '{base}': call intervals need policy 'strict'.")
    for start, stop in calls:
        if start >= stop:
            raise ValueError(
                f"Child '{base}': a call needs a start before its stop: {start}, {stop}"
            )
    return tuple(calls)


buffer_registry = BufferRegistry()
"""The registry that components use unless they are given another."""
