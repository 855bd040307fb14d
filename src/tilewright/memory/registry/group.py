"""The buffers of one component, in order of registration, and their offsets.

Layouts are worked out on first use, all three maps together, and cached until something changes. A
change is checked as a whole before any of it is made, and a layout is published only when it is
complete: whatever raises leaves the group as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from tilewright.memory.registry.aliases import check_cycle, check_persistence, check_request
from tilewright.memory.registry.allocators import byte_allocator
from tilewright.memory.registry.buffer import CUDABuffer
from tilewright.memory.registry.general import GeneralPlanner
from tilewright.memory.registry.guards import with_guards
from tilewright.memory.registry.ir_text import allocator_text
from tilewright.memory.registry.ir_ttg import Pool, pool_of, ttg_allocator
from tilewright.memory.registry.layout import Layouts, compat_layouts
from tilewright.memory.registry.locking import locked
from tilewright.memory.registry.planning import Live, Planner
from tilewright.memory.registry.strict import strict_layouts

Policy: TypeAlias = Literal["compat", "strict"]

Dialect: TypeAlias = Literal["memref", "ttg"]
"""The types of an allocator in IR: MLIR's own buffers, or Triton's shared-memory descriptors."""

_FIELDS = frozenset(field.name for field in fields(CUDABuffer))
_BYTES_PER_GUARD_WORD = 8


class BufferGroup:
    """Buffers and recorded children of one component.

    `policy` is ``"compat"`` (upstream's layouts, in elements) or ``"strict"`` (planned, in bytes);
    `planner` serves the strict policy; `guard_words` switches canary mode on.
    """

    def __init__(
        self,
        entries: Mapping[str, CUDABuffer] | None = None,
        *,
        policy: Policy = "compat",
        planner: Planner | None = None,
        guard_words: int = 0,
    ) -> None:
        if policy not in get_args(Policy):
            raise ValueError(f"Unknown policy '{policy}'. Must be 'compat' or 'strict'.")
        if guard_words < 0:
            raise ValueError(f"'guard_words' must be >= 0: {guard_words}")
        self.entries: dict[str, CUDABuffer] = dict(entries or {})
        self.children: dict[str, object] = {}
        self.calls: dict[str, Live] = {}
        self.policy: Policy = policy
        self.guard_words = guard_words
        self._planner: Planner = planner if planner is not None else GeneralPlanner()
        self._shared_layout: dict[str, slice] | None = None
        self._persistent_layout: dict[str, slice] | None = None
        self._local_sizes: dict[str, int] | None = None
        self._alias_consumption: dict[str, int] = {}
        self._layouts: Layouts | None = None

    @locked
    def register(
        self,
        name: str,
        size: int,
        location: str,
        persistent: bool = False,
        aliases: str | None = None,
        precision: npt.DTypeLike = np.float32,
        *,
        alignment: int | None = None,
    ) -> None:
        """Add a buffer, or replace the one of that name, which keeps its position in the order."""
        check_request(name, aliases, self.entries)
        entry = CUDABuffer(
            name, size, location, persistent, aliases, precision, alignment=alignment
        )
        self._accept({name: entry})

    @locked
    def update_buffer(self, name: str, **values: Any) -> tuple[bool, bool]:
        """Change fields of a buffer: whether there is one of that name, whether it changed."""
        if name not in self.entries:
            return False, False
        new = self._updated(self.entries[name], values)
        if new is None:
            return True, False
        self._accept({name: new})
        return True, True

    @locked
    def relocate(self, locations: Mapping[str, str]) -> set[str]:
        """Give several buffers new locations, all of them or none; the names that exist."""
        known = [name for name in locations if name in self.entries]
        updates = (self._updated(self.entries[n], {"location": locations[n]}) for n in known)
        changes = {new.name: new for new in updates if new is not None}
        if changes:
            self._accept(changes)
        return set(known)

    def _updated(self, old: CUDABuffer, values: Mapping[str, Any]) -> CUDABuffer | None:
        """`old` with new values, or None where they are the old ones."""
        if all(name in _FIELDS and getattr(old, name) == value for name, value in values.items()):
            return None
        new = replace(old, **values)
        if new.aliases != old.aliases:
            check_request(new.name, new.aliases, self.entries)
        return new if new != old else None

    def _accept(self, changes: Mapping[str, CUDABuffer]) -> None:
        proposed = {**self.entries, **changes}
        for name, entry in changes.items():
            check_cycle(name, proposed)
            if entry.alignment is not None and self.policy != "strict":
                raise ValueError(f"Buffer '{name}': alignment needs policy 'strict'.")
        if self.policy == "strict":
            check_persistence(proposed)
        self.entries.update(changes)
        self.invalidate_layouts()

    @locked
    def invalidate_layouts(self) -> None:
        """Drop what was worked out; the next question works it out again."""
        self._shared_layout = None
        self._persistent_layout = None
        self._local_sizes = None
        self._alias_consumption = {}
        self._layouts = None

    def build_layouts(self) -> None:
        """Work out all three maps, unless they are there."""
        self.layouts()

    def layout_aliases(self) -> None:
        """Place the aliases. They are never placed apart from the rest: this builds everything."""
        self.layouts()

    @locked
    def layouts(self) -> Layouts:
        """All three maps, the consumption of alias targets, and notes, as one value."""
        caches = (self._shared_layout, self._persistent_layout, self._local_sizes)
        if self._layouts is not None and None not in caches:
            return self._layouts
        built = self._build()
        self._layouts = built
        self._shared_layout = built.shared
        self._persistent_layout = built.persistent
        self._local_sizes = built.local
        self._alias_consumption = built.consumed
        return built

    def _build(self) -> Layouts:
        if self.policy == "strict":
            lives = {f"{base}_shared": live for base, live in self.calls.items()}
            built = strict_layouts(self.entries, lives, self._planner)
        else:
            built = compat_layouts(self.entries)
        if not self.guard_words:
            return built
        bytewise = self.policy == "strict"
        guard = self.guard_words * (_BYTES_PER_GUARD_WORD if bytewise else 1)
        return with_guards(built, self.entries, guard, bytewise)

    @property
    def shared_layout(self) -> MappingProxyType[str, slice]:
        return MappingProxyType(self.layouts().shared)

    @property
    def persistent_layout(self) -> MappingProxyType[str, slice]:
        return MappingProxyType(self.layouts().persistent)

    @property
    def local_sizes(self) -> MappingProxyType[str, int]:
        return MappingProxyType(self.layouts().local)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the strict policy did otherwise than requested, or surprisingly."""
        return self.layouts().notes

    def shared_buffer_size(self) -> int:
        """End of the shared layout; overlapping aliases add nothing, fallback copies do."""
        return self.layouts().shared_extent

    def persistent_local_buffer_size(self) -> int:
        """End of the persistent layout."""
        return self.layouts().persistent_extent

    def local_buffer_size(self) -> int:
        """Sum of the local arrays."""
        return sum(self.layouts().local.values())

    @locked
    def shared_alignment(self) -> int:
        """Bytes that the start of the shared pool must be a multiple of."""
        return max((self.entries[name].align for name in self.layouts().shared), default=1)

    @locked
    def persistent_alignment(self) -> int:
        """Bytes that the start of the persistent pool must be a multiple of."""
        return max((self.entries[name].align for name in self.layouts().persistent), default=1)

    @locked
    def relocatable_names(self) -> tuple[str, ...]:
        """The component's own buffers: all but what children were rolled up into."""
        rolled_up = {name for base in self.children for name in roll_up_names(base)}
        return tuple(name for name in self.entries if name not in rolled_up)

    @locked
    def nonaliased_elements(self, names: Iterable[str]) -> int:
        """Elements of the named buffers that have no alias target; unknown names count 0."""
        found = (self.entries[name] for name in names if name in self.entries)
        return sum(entry.size for entry in found if entry.aliases is None)

    @locked
    def get_allocator(self, name: str, zero: bool = False) -> Callable[..., Any]:
        """A device function that returns this buffer from the two pools, by the current layout."""
        entry, at = self._entry(name), self.layouts()
        slices = at.shared.get(name), at.persistent.get(name), at.local.get(name)
        if self.policy == "strict":
            return byte_allocator(entry, *slices, zero)
        return entry.build_allocator(*slices, zero)

    @locked
    def get_allocator_ir(
        self,
        name: str,
        zero: bool = False,
        *,
        dialect: Dialect = "memref",
        num_warps: int = 4,
        region: Pool | None = None,
    ) -> str:
        """The allocator as a function in IR that takes byte pools (strict policy).

        `region` is the pool of the child that a roll-up entry stands for, where `dialect` is
        ``"ttg"``: the type of a descriptor has the shape of its pool.
        """
        entry = self._entry(name)
        self._require_bytes()
        if dialect == "ttg":
            return ttg_allocator(entry, self.layouts(), self.pool_ir(), zero, num_warps, region)
        return allocator_text(entry, self.layouts(), zero, name not in self.relocatable_names())

    @locked
    def pool_ir(self) -> Pool:
        """The shared pool as one descriptor of Triton's dialect (strict policy)."""
        self._require_bytes()
        return pool_of(self.layouts(), self.shared_alignment())

    def _require_bytes(self) -> None:
        if self.policy != "strict":
            raise ValueError("IR allocators take byte pools, which need policy 'strict'.")

    def _entry(self, name: str) -> CUDABuffer:
        if name not in self.entries:
            raise KeyError(f"Buffer '{name}' not registered for parent.")
        return self.entries[name]

    def __repr__(self) -> str:
        return f"BufferGroup({', '.join(self.entries)}, policy={self.policy!r})"

    def __str__(self) -> str:
        return str(self.layouts())


def roll_up_names(base: str) -> tuple[str, str]:
    """The entries that stand for a child in its parent: its shared pool, its persistent pool."""
    return f"{base}_shared", f"{base}_persistent"
