"""What the assembly of AMD kernels has in its loops, and what a matrix loop must not have.

Loops are read from clang's comments on blocks:

    .LBB0_2:            ; =>This Inner Loop Header: Depth=1
    ; %bb.3:            ;   in Loop: Header=BB0_2 Depth=1

A block belongs to its innermost loop. Names of instructions differ between generations:
``ds_read_b128`` is ``ds_load_b128`` from gfx11 on, ``global_load_dwordx4`` ``global_load_b128``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

_BLOCK = re.compile(r"^(?:\.L(BB\d+_\d+):|; %(bb\.\d+):)\s*(;.*)?$")
_HEADER = re.compile(r"This (?:Inner )?Loop Header: Depth=(\d+)")
_MEMBER = re.compile(r"in Loop: Header=(BB\d+_\d+) Depth=(\d+)")
_INSTRUCTION = re.compile(r"^\s+([a-z]\w+)\b(.*)$")

MATRIX = re.compile(r"v_(?:s?mfmac?|s?wmma|swmmac)_")
LDS_READ = re.compile(r"ds_(?:read|load)\w*")
WIDE_LDS_READ = re.compile(r"ds_(?:read|load)_b128\b")
LDS_WRITE = re.compile(r"ds_(?:write|store)\w*")
GLOBAL_READ = re.compile(r"(?:global|buffer)_load_\w+")
WIDE_GLOBAL_READ = re.compile(r"(?:global|buffer)_load_(?:dwordx4|b128)\b")
_FORBIDDEN = {
    "scratch memory": re.compile(r"scratch_|buffer_(?:load|store)_\w+ \S+ off, s\[0:3\], 0"),
    "accesses of unknown address space": re.compile(r"flat_(?:load|store|atomic)"),
    "copies between VGPRs and AGPRs": re.compile(r"v_accvgpr_"),
    "calls": re.compile(r"s_swappc|s_setpc"),
}


@dataclass
class Loop:
    """The instructions of the blocks of one loop that are in no inner loop."""

    header: str
    depth: int
    instructions: list[str] = field(default_factory=list)

    def count(self, pattern: re.Pattern[str]) -> int:
        return sum(pattern.match(each) is not None for each in self.instructions)

    @property
    def opcodes(self) -> Counter[str]:
        return Counter(each.partition(" ")[0] for each in self.instructions)

    @property
    def has_matrix_instructions(self) -> bool:
        return self.count(MATRIX) > 0

    @property
    def full_waits(self) -> int:
        """Waits until no global load is in flight."""
        return sum(
            bool(re.search(r"\bvmcnt\(0\)|s_wait_loadcnt(?:_dscnt)? 0x0$", each))
            for each in self.instructions
        )


def loops(isa: str) -> list[Loop]:
    """The loops of all kernels, in the order of their headers."""
    found: dict[str, Loop] = {}
    current: Loop | None = None
    name = ""
    is_heading = False
    for line in isa.splitlines():
        block = _BLOCK.match(line)
        if block is not None:
            name, current, is_heading = block[1] or block[2], None, True
        elif line.lstrip().startswith(";") and is_heading:
            pass  # the comment on a block goes on
        else:
            is_heading = False
        if is_heading:
            if header := _HEADER.search(line):
                current = found.setdefault(name, Loop(name, int(header[1])))
            elif member := _MEMBER.search(line):
                current = found.setdefault(member[1], Loop(member[1], int(member[2])))
        elif current is not None and (instruction := _INSTRUCTION.match(line)):
            text = f"{instruction[1]}{instruction[2].split(';')[0]}".rstrip()
            current.instructions.append(re.sub(r"\s+", " ", text))
    return list(found.values())


_BARRIER = re.compile(r"s_barrier(?:_signal)?\b")
_LDS_WAIT = re.compile(r"s_waitcnt .*lgkmcnt\(0\)|s_waitcnt 0$|s_wait_(?:loadcnt_)?dscnt 0x0$")
_LDS_ACCESS = re.compile(r"ds_(?:read|load|write|store|add|min|max|and|or|xor|cmpst|cmpstore)\w*")


_BRANCH = re.compile(r"s_c?branch\w* \.L(BB\d+_\d+)")
_LEAVES = re.compile(r"s_branch |s_endpgm|s_setpc")


@dataclass
class _Block:
    """Instructions with their line numbers, and the blocks that may follow."""

    name: str
    loop: str = ""
    """The header of its innermost loop."""
    lines: list[tuple[int, str]] = field(default_factory=list)
    successors: list[str] = field(default_factory=list)

    def after(self, is_done: bool, found: list[str] | None = None) -> bool:
        """Whether no LDS access is in flight at the end, if so at the start."""
        for index, text in self.lines:
            if _LDS_WAIT.match(text):
                is_done = True
            elif _LDS_ACCESS.match(text):
                is_done = False
            elif _BARRIER.match(text) and not is_done and found is not None:
                found.append(f"{index}: {text}")
        return is_done


def unordered_barriers(isa: str) -> list[str]:
    """Barriers that LDS accesses of the wave may still be in flight at, as lines."""
    blocks = _blocks(isa)
    # At the start of a block nothing is in flight if that is so at the end of all before it.
    is_done = {each.name: True for each in blocks}
    changed = True
    while changed:
        changed = False
        for each in blocks:
            if not each.after(is_done[each.name]):
                for name in each.successors:
                    changed = changed or is_done.get(name, False)
                    is_done[name] = False
    found: list[str] = []
    for each in blocks:
        each.after(is_done[each.name], found)
    return found


def _blocks(isa: str) -> list[_Block]:
    found = [_Block("start")]
    falls_through = True
    for index, line in enumerate(isa.splitlines(), 1):
        if block := _BLOCK.match(line):
            # Names of blocks that nothing branches to repeat from function to function.
            made = _Block(block[1] or f"{block[2]} in line {index}")
            if falls_through:
                found[-1].successors.append(made.name)
            found.append(made)
            falls_through = True
        if line.startswith((".L", ";")) or line.lstrip().startswith(";"):
            if _HEADER.search(line):
                found[-1].loop = found[-1].name
            elif member := _MEMBER.search(line):
                found[-1].loop = found[-1].loop or member[1]
        elif instruction := _INSTRUCTION.match(line):
            text = f"{instruction[1]}{instruction[2].split(';')[0]}".rstrip()
            found[-1].lines.append((index, text))
            if branch := _BRANCH.match(text):
                found[-1].successors.append(branch[1])
            if _LEAVES.match(text):
                falls_through = False
    return found


def whole_chunks(isa: str, loop: Loop) -> Loop:
    """The way through a loop on which all chunks are whole, where some may be cut.

    Of the ways without narrow global loads it has the most loads of 128 bits, and of those the
    fewest waits. It is the loop itself, in which no chunk is cut, if all loads are so wide.
    """
    blocks = {each.name: each for each in _blocks(isa) if each.loop == loop.header}
    best: dict[str, Loop | None] = {}

    def rest(name: str) -> Loop | None:
        """What is executed from a block on until the loop begins again."""
        if name not in best:
            best[name] = None  # until it is known: a way does not go through a block twice
            here = Loop(loop.header, loop.depth, [text for _, text in blocks[name].lines])
            if here.count(GLOBAL_READ) == here.count(WIDE_GLOBAL_READ):
                ways = [_NOTHING] if loop.header in blocks[name].successors else []
                ways += [way for each in blocks[name].successors if (way := following(each))]
                if ways:
                    way = max(
                        ways, key=lambda each: (each.count(WIDE_GLOBAL_READ), -each.full_waits)
                    )
                    here.instructions += way.instructions
                    best[name] = here
        return best[name]

    def following(name: str) -> Loop | None:
        return rest(name) if name in blocks and name != loop.header else None

    found = rest(loop.header)
    assert found is not None, "a loop has a way back to its header"
    return found


_NOTHING = Loop("", 0)


def matrix_loops(isa: str) -> list[Loop]:
    """The loops that multiply matrices."""
    return [each for each in loops(isa) if each.has_matrix_instructions]


def findings(loop: Loop) -> list[str]:
    """What a loop with matrix instructions must not have."""
    return list(_findings(loop))


def _findings(loop: Loop) -> Iterator[str]:
    for what, pattern in _FORBIDDEN.items():
        count = sum(pattern.search(each) is not None for each in loop.instructions)
        if count:
            yield f"{what}: {count}"
    narrow = loop.count(LDS_READ) - loop.count(WIDE_LDS_READ)
    if narrow:
        yield f"LDS reads that are not 128 bits wide: {narrow}"
    narrow = loop.count(GLOBAL_READ) - loop.count(WIDE_GLOBAL_READ)
    if narrow:
        yield f"global loads that are not 128 bits wide: {narrow}"
