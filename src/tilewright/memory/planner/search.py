"""The exact search of one part: which height to try, in which order, for how long.

The kernel decides one question, "does this part fit below this limit?", and takes from a few
hundred nodes to forever, depending on which of two equally low blocks it prefers. Three
preferences are tried in turn, each for a while and for longer in every round; none is started
again. From the second round on there is also one that starts from what was learned: blocks of the
loads that broke most often come first.

Which limit: the lower bound, as it is often reached, or the capacity of the space while no plan
fits it. Between rounds an easier limit, halfway to the best plan so far, lowers that one, so
that there is something to show whenever the search is stopped. A limit that is shown to be out of
reach becomes the lower bound. A few steps of a hill climb over orders come between the rounds too:
they cost little, and make the easier limits easier to choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tilewright.memory.planner.accelerate import PYTHON, Engine
from tilewright.memory.planner.climb import Climb
from tilewright.memory.planner.decompose import SubProblem
from tilewright.memory.planner.effort import Meter
from tilewright.memory.planner.greedy import Quick, best_quick, lifetime
from tilewright.memory.planner.kernel import FOUND, GOING, NONE
from tilewright.memory.planner.state import LIMIT, NODES, State, Tables
from tilewright.memory.planner.tables import fresh_state, tables_of

_FIRST_NODES = 200
_FIRST_NODES_A_BLOCK = 2
_OLDER_COUNTS = 0.5
_TRIALS_A_ROUND = 24


@dataclass(frozen=True)
class Measures:
    """The inputs of preferences, by block. The crowd is the largest load a block is part of."""

    crowd: list[int]
    lifetime: list[int]
    area: list[int]


Preference = Callable[[Measures, int], tuple[int, int, int]]

PREFERENCES: tuple[tuple[str, Preference], ...] = (
    ("crowd and lifetime", lambda m, n: (m.crowd[n], m.lifetime[n], m.area[n])),
    ("crowd and area", lambda m, n: (m.crowd[n], m.area[n], m.lifetime[n])),
    ("lifetime", lambda m, n: (m.lifetime[n], m.area[n], m.crowd[n])),
)
"""Which of two blocks that could go to the same offset is placed first: the larger by this key."""


@dataclass
class Line:
    """One way through the tree of decisions, stopped where its nodes ran out."""

    name: str
    tables: Tables
    state: State
    engine: Engine = PYTHON
    is_over: bool = False

    def run(self, engine: Engine, nodes: int) -> int:
        """Go on for some nodes; the kernel's status."""
        if engine is not self.engine:
            self.engine = engine
            self.tables, self.state = engine.tables(self.tables), engine.state(self.state)
        return engine.run(self.tables, self.state, nodes)


@dataclass
class Campaign:
    """All lines that search for one limit."""

    limit: int
    lines: list[Line] = field(default_factory=list[Line])
    rounds: int = 0


class PartSearch:
    """The best plan of a part so far, and all that is known about lower ones."""

    def __init__(self, part: SubProblem, meter: Meter) -> None:
        self.part = part
        self._quick = best_quick(part, lambda: meter.is_late)
        self.best: Quick = self._quick
        self.best_at = 0
        self.lower = part.bound
        self.nodes = 0
        self._campaigns: dict[int, Campaign] = {}
        self._tables: Tables | None = None
        self._measures: Measures | None = None
        self._climb: Climb | None = None

    @property
    def is_proved(self) -> bool:
        """Whether no plan is lower than the best one."""
        return self.lower >= self.best.height

    def improve(self, meter: Meter, enough: int = 0, capacity: int | None = None) -> None:
        """Search until the best plan is no higher than `enough`, or proved, or the effort ends."""
        while not (self.is_proved or self.best.height <= enough or meter.is_empty):
            limit = self._next_limit(enough, capacity)
            if self._campaign(limit).rounds:
                self._round((limit + self.best.height) // 2, meter, is_short=True)
            self._round(self._next_limit(enough, capacity), meter)
            self._climb_on(meter, enough)

    def _climb_on(self, meter: Meter, enough: int) -> None:
        """Some more trials of the hill climb, which started from the quick plan."""
        climb = self._climb = self._climb or Climb(self.part, self._quick)
        for _ in range(_TRIALS_A_ROUND):
            if self.is_proved or self.best.height <= enough or meter.is_empty:
                break
            climb.trial()
            meter.spent += climb.nodes_a_trial
            if climb.best.height < self.best.height:
                self.best, self.best_at = climb.best, meter.spent
        self._drop_decided()

    def _next_limit(self, enough: int, capacity: int | None) -> int:
        lowest = max(self.lower, enough)
        if capacity is not None and lowest < capacity < self.best.height:
            return capacity
        if self.lower > self.part.bound:
            # The bound is out of reach, so the least height may be anywhere above it.
            return (lowest + self.best.height - 1) // 2
        return lowest

    def _campaign(self, limit: int) -> Campaign:
        return self._campaigns.setdefault(limit, Campaign(limit))

    def _round(self, limit: int, meter: Meter, is_short: bool = False) -> None:
        """Every line of a campaign a bit further, until its limit is decided."""
        if not self.lower <= limit < self.best.height:
            return
        campaign = self._campaign(limit)
        first = _FIRST_NODES + _FIRST_NODES_A_BLOCK * len(self.part.blocks)
        quota = first << campaign.rounds
        count = 1 if is_short else len(PREFERENCES) + campaign.rounds
        campaign.rounds += 1
        for index in range(count):
            if index == len(campaign.lines):
                campaign.lines.append(self._line(campaign))
            self._follow(campaign.lines[index], quota, meter)
            if meter.is_empty or not self.lower <= limit < self.best.height:
                break
        self._drop_decided()

    def _follow(self, line: Line, quota: int, meter: Meter) -> None:
        """One line for some nodes, with looks at the effort in between."""
        while quota > 0 and not line.is_over and not meter.is_empty:
            engine = meter.engine
            before = int(line.state.at[NODES])
            status = line.run(engine, meter.grant(min(quota, engine.nodes_a_look)))
            used = int(line.state.at[NODES]) - before
            quota -= used
            self.nodes += used
            meter.spent += used
            line.is_over = status != GOING
            self._note(line, status, meter)

    def _note(self, line: Line, status: int, meter: Meter) -> None:
        limit = int(line.state.at[LIMIT])
        if status == NONE:
            self.lower = max(self.lower, limit + 1)
        if status != FOUND:
            return
        offsets = tuple(int(offset) for offset in line.state.offset)
        height = self.part.height(offsets)
        if height < self.best.height:
            self.best = Quick(offsets, height, f"exact search by {line.name}")
            self.best_at = meter.spent

    def _drop_decided(self) -> None:
        for limit in [*self._campaigns]:
            if not self.lower <= limit < self.best.height:
                del self._campaigns[limit]

    def _line(self, campaign: Campaign) -> Line:
        """The next line of a campaign, before its first node."""
        tables = self._tables = self._tables or tables_of(self.part)
        measures = self._measures = self._measures or _measures(self.part)
        index = len(campaign.lines)
        name, key = PREFERENCES[index % len(PREFERENCES)]
        scores = [0.0] * len(self.part.blocks)
        if index >= len(PREFERENCES):
            name = f"what failed before, then {name}"
            scores = self._scores(campaign)
        order = sorted(
            range(len(scores)), key=lambda n: (-scores[n], *(-x for x in key(measures, n)), n)
        )
        rank = [0] * len(order)
        for position, block in enumerate(order):
            rank[block] = position
        state = fresh_state(self.part, tables, campaign.limit, 1 + campaign.rounds)
        return Line(name, tables._replace(rank=rank), state)

    def _scores(self, campaign: Campaign) -> list[float]:
        """The average failure count of the loads of a block, with later lines counting more."""
        broken = [0.0] * len(self.part.loads)
        for line in campaign.lines:
            hits = [int(count) for count in line.state.hits]
            total = max(sum(hits), 1)
            for load, count in enumerate(hits):
                broken[load] = broken[load] * _OLDER_COUNTS + count / total
        totals = [0.0] * len(self.part.blocks)
        counts = [0] * len(totals)
        for load, weight in zip(self.part.loads, broken, strict=True):
            for member in load.members:
                totals[member] += weight
                counts[member] += 1
        return [total / count for total, count in zip(totals, counts, strict=True)]


def _measures(part: SubProblem) -> Measures:
    crowd = [0] * len(part.blocks)
    for load in part.loads:
        for member in load.members:
            crowd[member] = max(crowd[member], load.minimum)
    lifetimes = [lifetime(block) for block in part.blocks]
    areas = [length * block.size for length, block in zip(lifetimes, part.blocks, strict=True)]
    return Measures(crowd, lifetimes, areas)
