"""Two recordings compared: which cases differ, in which stage first, and how."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from fnmatch import fnmatch
from itertools import zip_longest

from scripts.same_output.recording import Recording
from scripts.same_output.text import (
    BETWEEN_MESSAGES,
    CODE,
    COMMENTS,
    MESSAGES,
    Parts,
    Renames,
    in_any_order,
)

SHOWN_CASES, SHOWN_LINES = 6, 30
_NUMBER = re.compile(r"/\d+-")
_WHAT_MAY_CHANGE = {MESSAGES: "messages reworded", COMMENTS: "comments changed"}


@dataclass(frozen=True)
class Difference:
    """One part of one stage of one case."""

    case: str
    stage: str
    """Its name in the tree after the change, unless it is gone there."""
    part: str
    what: str
    old_case: str
    old_stage: str = ""


@dataclass
class Comparison:
    """What differs between `before` and `after`."""

    before: Recording
    after: Recording
    renames: Renames
    stages: tuple[str, ...] = ()
    """Patterns of the stages to compare; all if there are none."""
    compared: int = 0
    differences: list[Difference] = field(default_factory=list[Difference])
    """In the order of cases and stages."""
    missing: list[str] = field(default_factory=list[str])
    """Cases that are gone, though both recordings are of one selection."""
    new: list[str] = field(default_factory=list[str])

    def is_chosen(self, stage: str) -> bool:
        """Whether a stage is one of those to compare."""
        return not self.stages or any(fnmatch(stage, each) for each in self.stages)

    @property
    def in_code(self) -> list[Difference]:
        return [each for each in self.differences if each.part == CODE]

    def reworded(self, part: str) -> list[Difference]:
        return [each for each in self.differences if each.part == part]

    def is_equal(self, *, strict: bool = False) -> bool:
        return not self.missing and not (self.differences if strict else self.in_code)


def compare(
    before: Recording, after: Recording, renames: Renames, stages: Sequence[str] = ()
) -> Comparison:
    """Compare the cases that both have, in all stages or those that match one of `stages`."""
    found = Comparison(before, after, renames, tuple(stages))
    old = {name_in(after.cases, case, renames): case for case in before.cases}
    if before.selection == after.selection:
        found.missing = [name for name in old if name not in after.cases]
        found.new = [name for name in after.cases if name not in old]
    for name, old_name in old.items():
        if name in after.cases:
            found.compared += 1
            found.differences += _differences(old_name, name, found)
    if not found.compared:
        raise ValueError(f"{before.path} and {after.path} have no case in common")
    return found


def _differences(old_case: str, case: str, found: Comparison) -> Iterator[Difference]:
    renames = found.renames
    new = {stage: parts for stage, parts in found.after.cases[case] if found.is_chosen(stage)}
    numbers = by_occurrence(new)
    chosen = [each for each in found.before.cases[old_case] if found.is_chosen(each[0])]
    plain = by_occurrence(name_in(new, stage, renames) for stage, _ in chosen)
    old = {
        numbers.get(key, stage): (name, parts)
        for (key, stage), (name, parts) in zip(plain.items(), chosen, strict=True)
    }
    texts: tuple[dict[str, Parts], dict[str, Parts]] | None = None
    for stage, (name, parts) in old.items():
        if stage not in new:
            yield Difference(case, stage, CODE, "is gone", old_case, name)
            continue
        for part in sorted({*parts, *new[stage]}):
            if parts.get(part) == new[stage].get(part):
                continue
            if renames:
                texts = texts or _texts(old_case, case, found)
                if _is_renamed(
                    texts[0][name].get(part, ""), texts[1][stage].get(part, ""), renames
                ):
                    continue
            yield Difference(case, stage, part, "differs", old_case, name)
    for stage in new:
        if stage not in old:
            yield Difference(case, stage, CODE, "is new", old_case)


def by_occurrence(stages: Iterable[str]) -> dict[tuple[str, int], str]:
    """Stages by their names without numbers, and how many of the name were before.

    A new pass changes the numbers of all passes after it, and nothing else about them.
    """
    counts = Counter[str]()
    found: dict[tuple[str, int], str] = {}
    for stage in stages:
        name = _NUMBER.sub("/", stage)
        found[name, counts[name]] = stage
        counts[name] += 1
    return found


def name_in(names: Container[str], old: str, renames: Renames) -> str:
    """What `old` is called among `names`: as before, or else by its new name."""
    return old if old in names else renames(old)


def _texts(
    old_case: str, case: str, found: Comparison
) -> tuple[dict[str, Parts], dict[str, Parts]]:
    before, after = found.before.stages(old_case), found.after.stages(case)
    for texts, recording in ((before, found.before), (after, found.after)):
        if texts is None:
            raise ValueError(
                f"{recording.path} has no texts of {case}, and renames need them: "
                "record without --no-texts"
            )
    assert before is not None
    assert after is not None
    return before, after


def _is_renamed(old: str, new: str, renames: Renames) -> bool:
    """Whether `new` is `old` with other names; those of a dictionary are in alphabetic order."""
    old = renames(old)
    # A tree in which not everything is renamed yet has old names too.
    ways = (renames.joined(new), renames(new))
    return old in ways or in_any_order(old) in map(in_any_order, ways)


# -- shown ---------------------------------------------------------------------------------------


def report(found: Comparison, *, strict: bool = False) -> str:
    """All that differs, grouped by the stage that differs first, and a summary."""
    lines: list[str] = []
    shown = found.differences if strict else found.in_code
    for stage, group in _by_first_stage(shown).items():
        lines += _group_lines(stage, group, found)
    if found.missing:
        lines.append(f"{len(found.missing)} cases are gone: {_few(found.missing)}")
    return "\n".join([*lines, *summary(found)]) + "\n"


def summary(found: Comparison) -> list[str]:
    cases = {each.case for each in found.in_code}
    lines = [f"{found.compared} cases compared, {len(cases)} differ"]
    if found.new:
        lines.append(f"{len(found.new)} cases are new: {_few(found.new)}")
    for part, what in _WHAT_MAY_CHANGE.items():
        if reworded := found.reworded(part):
            count = len({each.case for each in reworded})
            lines.append(f"{what}: {len(reworded)} (in {count} cases)")
    return lines


def _by_first_stage(found: list[Difference]) -> dict[str, list[list[Difference]]]:
    """The differences of each case, under the stage of the first without its number."""
    cases: dict[str, list[Difference]] = {}
    for each in found:
        cases.setdefault(each.case, []).append(each)
    groups: dict[str, list[list[Difference]]] = {}
    for each in cases.values():
        title = re.sub(r"(?<=/)\d\d-|#\d+$", "", each[0].stage)
        groups.setdefault(f"{title} {each[0].what}", []).append(each)
    return groups


def _group_lines(title: str, group: list[list[Difference]], found: Comparison) -> Iterator[str]:
    first, *later = group[0]
    yield f"{title} in {len(group)} cases: {_few([each[0].case for each in group])}"
    yield f"  first in {first.case}, stage {first.stage}, {len(later)} later differences"
    lines = difference_lines(first, found)
    yield from (f"    {line}" for line in lines[:SHOWN_LINES])
    if len(lines) > SHOWN_LINES:
        yield f"    … {len(lines) - SHOWN_LINES} more lines: --show {first.case} {first.stage}"


def _few(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_CASES} more" if len(names) > SHOWN_CASES else ""
    return ", ".join(names[:SHOWN_CASES]) + more


def difference_lines(each: Difference, found: Comparison) -> list[str]:
    """The two texts of a difference as a diff."""
    if not (found.before.has_texts(each.old_case) and found.after.has_texts(each.case)):
        return ["(no texts were recorded: record without --no-texts)"]
    old, new = _both(each, found)
    return list(
        unified_diff(old.splitlines(), new.splitlines(), "before", "after", n=1, lineterm="")
    )


def _both(each: Difference, found: Comparison) -> tuple[str, str]:
    before, after = found.before.stages(each.old_case) or {}, found.after.stages(each.case) or {}
    old = found.renames(before.get(each.old_stage, {}).get(each.part, ""))
    return old, after.get(each.stage, {}).get(each.part, "")


def rewordings(found: Comparison) -> list[tuple[str, str]]:
    """Messages that differ, before and after, each pair once."""
    pairs: dict[tuple[str, str], None] = {}
    for each in found.reworded(MESSAGES):
        old, new = (text.split(BETWEEN_MESSAGES) for text in _both(each, found))
        pairs |= {pair: None for pair in zip_longest(old, new, fillvalue="") if pair[0] != pair[1]}
    return list(pairs)
