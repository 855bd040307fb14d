"""Mutants of kernels, all of them in one compiled kernel: a run-time argument selects one.

Every call statement of the device API is dropped, exchanged with the call statement after it, or
called with one argument increased by one; where several semaphores have names, with another one;
where a rectangle has named corners, with one of them for both. A mutant is a *synchronisation* mutant if it changes only
when something happens: such a mutant may not give a wrong result without a finding. A *value*
mutant computes something else; a sanitizer has to report it only where memory or a protocol is
concerned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SYNCHRONISATION = (
    *("cb_reserve_back", "cb_push_back", "cb_wait_front", "cb_pop_front"),
    *("noc_async_read_barrier", "noc_async_write_barrier", "noc_async_writes_flushed"),
    *("noc_semaphore_set", "noc_semaphore_inc", "noc_semaphore_wait", "noc_semaphore_wait_min"),
    *("noc_semaphore_set_multicast", "tile_regs_acquire", "tile_regs_commit"),
    *("tile_regs_wait", "tile_regs_release", "compute_kernel_hw_startup"),
)
CHANGED = {
    "cb_reserve_back": (1,),
    "cb_push_back": (1,),
    "cb_wait_front": (1,),
    "cb_pop_front": (1,),
    "noc_async_read_page": (0, 2),
    "noc_async_write_page": (0, 2),
    "noc_async_write_multicast": (0, 2, 3),
    "noc_semaphore_set_multicast": (2,),
    "noc_semaphore_wait": (1,),
    "noc_semaphore_set": (1,),
    "noc_semaphore_inc": (1,),
    "matmul_tiles": (2, 3, 4),
    "matmul_block": (2, 3, 4, 5, 6, 7),
    "add_tiles": (2, 3, 4),
    "copy_tile": (1, 2),
    "pack_tile": (0,),
    "relu_tile": (0,),
    "exp_tile": (0,),
    "recip_tile": (0,),
    "reduce_tile": (2, 3, 4),
    "sub_tiles_bcast": (2, 3, 4),
    "mul_tiles_bcast": (2, 3, 4),
}
"""Positions of arguments that are increased."""

_CALL = re.compile(r"^(\s*)(\w+)((?:<[\w:, ]+>)?)\((.*)\);\s*$")
_INIT = re.compile(r"\w*_init$|reduce_uninit$")
_SEMAPHORE = re.compile(r"const uint32_t (sem_\w+) = get_semaphore")
_END = re.compile(r"\b(\w+_[xy])_end\b")
_DATA = re.compile(r"noc_async_(read|write)|\w+_tiles?(_bcast)?$|matmul_block$")


@dataclass(frozen=True)
class Mutant:
    kernel: str
    id: int
    line: int
    change: str
    synchronisation: bool

    def __str__(self) -> str:
        return f"{self.kernel}:{self.line} {self.change}"


@dataclass(frozen=True)
class _Call:
    indent: str
    name: str
    template: str
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.name}{self.template}({', '.join(self.arguments)});"

    @property
    def is_synchronisation(self) -> bool:
        return self.name in SYNCHRONISATION or _INIT.match(self.name) is not None


def _split(arguments: str) -> tuple[str, ...]:
    parts, depth, current = [], 0, ""
    for character in arguments:
        depth += (character in "(<{[") - (character in ")>}]")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return (*parts, current.strip()) if current.strip() else tuple(parts)


def _call(line: str) -> _Call | None:
    found = _CALL.match(line)
    if found is None:
        return None
    call = _Call(found[1], found[2], found[3], _split(found[4]))
    known = call.is_synchronisation or _DATA.match(call.name)
    return call if known else None


def _replacements(call: _Call, semaphores: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names that may stand for those of a call: the other one, and the own one."""
    text = " ".join(call.arguments)
    for own in semaphores:
        if re.search(rf"\b{own}\b", text):
            yield from ((other, own) for other in semaphores if other != own)
    for start in dict.fromkeys(_END.findall(text)):
        yield f"{start}_start", f"{start}_end"


def instrument(kernel: str, source: str) -> tuple[str, tuple[Mutant, ...]]:
    """The source with all mutants in it, and what they change; the argument 0 changes nothing."""
    mutants: list[Mutant] = []
    lines = source.split("\n")
    out: list[str] = []
    moved: tuple[int, _Call] | None = None
    semaphores = _SEMAPHORE.findall(source)

    def new(line_no: int, change: str, synchronisation: bool) -> int:
        mutants.append(Mutant(kernel, len(mutants) + 1, line_no, change, synchronisation))
        return len(mutants)

    for line_no, line in enumerate(lines, start=1):
        call = _call(line)
        if call is None:
            out.append(line)
            moved = None
            continue
        arguments = list(call.arguments)
        for position in CHANGED.get(call.name, ()):
            if position < len(arguments):
                counted = call.name.startswith(("cb_", "noc_semaphore"))
                id_ = new(line_no, f"argument {position} of {call.text} + 1", counted)
                arguments[position] = f"({arguments[position]}) + (TW_MUTANT == {id_})"
        for other, own in _replacements(call, semaphores):
            id_ = new(line_no, f"{other} for {own} in {call.text}", True)
            pattern = rf"\b{own}\b(?! :)"
            chosen = f"(TW_MUTANT == {id_} ? {other} : {own} )"
            arguments = [re.sub(pattern, chosen, each) for each in arguments]
        changed = _Call(call.indent, call.name, call.template, tuple(arguments))
        drop = new(line_no, f"drop {call.text}", call.is_synchronisation)
        guard = f"TW_MUTANT != {drop}"
        after = ""
        if moved is not None:
            after = f" if (TW_MUTANT == {moved[0]}) {{ {moved[1].text} }}"
            moved = None
        follower = _call(lines[line_no]) if line_no < len(lines) else None
        if follower is not None and (call.is_synchronisation or follower.is_synchronisation):
            id_ = new(line_no, f"move {call.text} after {follower.text}", True)
            guard += f" && TW_MUTANT != {id_}"
            moved = (id_, call)
        out.append(f"{call.indent}if ({guard}) {{ {changed.text} }}{after}")
    head = "#define TW_MUTANT get_common_arg_val<uint32_t>(0)\n#line 1\n"
    return head + "\n".join(out), tuple(mutants)
