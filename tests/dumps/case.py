"""What one dump is made from: a kernel, how it is specialised, and where it compiles.

The kernel files list their cases with `case(...)`. Argument types use the spelling of Triton's
ahead-of-time tool: `"*fp32:16"` is a pointer (or integer) known to be divisible by 16, and
`"*fp32:16S"` adds that the pointed-to buffer is smaller than 2 GiB, which only the AMD backend
asks about. Arguments that have a value in `constexprs` need no type.

    case("vector_add", vector_add, dict(x="*fp32:16", n="i32"), dict(BLOCK=1024))

Targets are short names; `TARGETS` maps them to what Triton wants to know about the machine.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import triton
from triton.backends.compiler import GPUTarget

TARGETS: Mapping[str, GPUTarget] = {
    "sm80": GPUTarget("cuda", 80, 32),
    "sm90": GPUTarget("cuda", 90, 32),
    "sm100": GPUTarget("cuda", 100, 32),
    "sm120": GPUTarget("cuda", 120, 32),
    "gfx942": GPUTarget("hip", "gfx942", 64),
    "gfx950": GPUTarget("hip", "gfx950", 64),
    "gfx1250": GPUTarget("hip", "gfx1250", 32),
}

NVIDIA = ("sm80", "sm90", "sm100")
COMMON = (*NVIDIA, "gfx942")
HOPPER_UP = ("sm90", "sm100")
EVERYWHERE = (*COMMON, "sm120", "gfx950", "gfx1250")

Version = tuple[int, int]
AttrPath = tuple[int, ...]

_major, _minor, *_ = triton.__version__.split(".")
TRITON_VERSION: Version = (int(_major), int(_minor))


@dataclass(frozen=True)
class Case:
    """One kernel, fully specialised, with the targets and Triton releases that accept it."""

    name: str
    kernel: Any
    signature: Mapping[str, Any]
    constexprs: Mapping[str, Any]
    attrs: Mapping[AttrPath, list[list[Any]]]
    options: Mapping[str, Any]
    targets: tuple[str, ...]
    since: Version = (0, 0)
    until: Version = (99, 99)
    target_since: Mapping[str, Version] = field(default_factory=dict)
    text_only: tuple[str, ...] = ()
    """Targets where Triton prints TTGIR that its own later stages cannot finish."""
    unsteady: tuple[str, ...] = ()
    """Targets where Triton's own passes order the TTGIR differently from run to run."""

    @property
    def language(self) -> str:
        """`triton` or `gluon`: which front end reads the kernel."""
        return "gluon" if self.kernel.is_gluon() else "triton"

    @property
    def is_available(self) -> bool:
        """Whether the installed Triton has what the kernel uses."""
        return self.since <= TRITON_VERSION <= self.until

    @property
    def available_targets(self) -> tuple[str, ...]:
        """The targets on which the installed Triton compiles it."""
        if not self.is_available:
            return ()
        return tuple(
            target
            for target in self.targets
            if self.target_since.get(target, self.since) <= TRITON_VERSION
        )

    def attrs_for(self, target: str) -> dict[AttrPath, list[list[Any]]]:
        """Argument attributes; the 2 GiB promise is one that only the AMD backend understands."""
        is_hip = TARGETS[target].backend == "hip"
        kept = {
            path: [attr for attr in attrs if is_hip or attr[0] != "tt.pointer_range"]
            for path, attrs in self.attrs.items()
        }
        return {path: attrs for path, attrs in kept.items() if attrs}


def case(
    name: str,
    kernel: Any,
    signature: Mapping[str, Any],
    constexprs: Mapping[str, Any] | None = None,
    *,
    targets: tuple[str, ...] = COMMON,
    since: Version = (0, 0),
    until: Version = (99, 99),
    target_since: Mapping[str, Version] | None = None,
    text_only: tuple[str, ...] = (),
    unsteady: tuple[str, ...] = (),
    **options: Any,
) -> Case:
    """A case from the short spelling: type suffixes become argument attributes."""
    full: dict[str, Any] = {}
    attrs: dict[AttrPath, list[list[Any]]] = {}
    for index, argument in enumerate(kernel.arg_names):
        spelled = signature.get(argument, "constexpr")
        full[argument] = _plain(spelled)
        attrs.update(_attributes((index,), spelled))
    return Case(
        name=name,
        kernel=kernel,
        signature=full,
        constexprs=dict(constexprs or {}),
        attrs=attrs,
        # Named because its default is moving.
        options={"enable_fp_fusion": True, **options},
        targets=targets,
        since=since,
        until=until,
        target_since=dict(target_since or {}),
        text_only=text_only,
        unsteady=unsteady,
    )


def _plain(spelled: Any) -> Any:
    if isinstance(spelled, tuple):
        return tuple(_plain(item) for item in spelled)
    return spelled.partition(":")[0]


def _attributes(path: AttrPath, spelled: Any) -> Iterator[tuple[AttrPath, list[list[Any]]]]:
    if isinstance(spelled, tuple):
        for index, item in enumerate(spelled):
            yield from _attributes((*path, index), item)
        return
    suffix = spelled.partition(":")[2]
    found: list[list[Any]] = []
    if suffix.startswith("16"):
        found.append(["tt.divisibility", 16])
    if suffix.endswith("S"):
        found.append(["tt.pointer_range", 32])
    if found:
        yield path, found
