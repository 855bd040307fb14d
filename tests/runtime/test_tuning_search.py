"""The loop of tuners, on configurations whose fates are drawn at random."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from tilewright.runtime.tuning import Backend, Found, no_progress, nothing_works, search
from tilewright.runtime.tuning_times import Times


@dataclass
class Drawn(Backend):
    """Configurations become ready in any order; 0 in `fates` is fine, 1 to 3 fail at a stage."""

    times: list[float]
    fates: list[int]
    order: list[int]
    known: dict[int, float] = field(default_factory=dict)
    enough: bool = False
    limits: list[float | None] = field(default_factory=list)
    is_closed: bool = False

    def ready(self, found):
        found.times.update({index: Times(each) for index, each in self.known.items()})
        try:
            for index in self.order:
                yield index, ValueError(f"compile {index}") if self.fates[index] == 1 else None
        finally:
            self.is_closed = True

    def is_enough(self, index):
        return self.enough

    def measure(self, index, best):
        self.limits.append(best)
        if self.fates[index] == 2:
            raise ValueError(f"measure {index}")
        return Times(self.times[index])

    def confirm(self, index):
        if self.fates[index] == 3:
            raise ValueError(f"confirm {index}")

    def is_fault(self, index, error):
        return isinstance(error, ValueError)


def drawn(seed: int) -> Drawn:
    generator = random.Random(seed)
    count = generator.randint(1, 6)
    order = generator.sample(range(count), count)
    known = {index: float(generator.randint(1, 3)) for index in order if generator.random() < 0.2}
    return Drawn(
        [float(generator.randint(1, 3)) for _ in range(count)],
        [generator.choice((0, 0, 0, 1, 2, 3)) for _ in range(count)],
        [index for index in order if index not in known],
        known,
    )


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_the_quickest_that_works_is_taken(first):
    for seed in range(first, first + 100):
        case = drawn(seed)
        found = Found(len(case.times))
        fine = [
            (case.known.get(index, time), index)
            for index, time in enumerate(case.times)
            if case.fates[index] == 0 or (index in case.known and case.fates[index] != 3)
        ]
        assert search(case, found, no_progress) == (min(fine)[1] if fine else None), seed
        assert case.is_closed
        for index in case.order:
            if case.fates[index] in (1, 2):
                assert str(found.faults[index]).endswith(f" {index}")
        slowest = [limit for limit in case.limits if limit is not None]
        assert slowest == sorted(slowest, reverse=True)  # the limit is the best until then


def test_the_first_in_the_order_of_readiness_is_enough():
    case = Drawn([1.0, 2.0], [1, 0], [0, 1], enough=True)
    assert search(case, Found(2), no_progress) == 1
    assert case.limits == []
    assert case.is_closed


def test_an_error_that_is_no_fault_of_a_configuration_ends_the_search():
    class Broken(Drawn):
        def measure(self, index, best):
            raise KeyError("driver")

    case = Broken([1.0], [0], [0])
    with pytest.raises(KeyError, match="driver"):
        search(case, Found(1), no_progress)
    assert case.is_closed


def test_progress_counts_what_is_decided():
    seen = []
    search(Drawn([1.0, 2.0, 3.0], [0, 2, 0], [0, 1, 2]), Found(3), lambda *each: seen.append(each))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_the_error_names_all_configurations():
    found = Found(3, faults={2: ValueError("late"), 0: ValueError("a\nb.py:1: error: early")})
    error = nothing_works("kernel", ["A", "B", "C"], found)
    assert str(error).endswith("early")
    assert error.__notes__ == [
        "none of the 2 configurations of kernel works; the error above is for A, the others:\n"
        "  C: late"
    ]
