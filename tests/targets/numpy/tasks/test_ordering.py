"""Right kernels pass under many schedules; with one line changed, the report names the right lines.

The kernels are those of `ordering_kernels.py`. A mutant is the same file with one fragment of text
replaced, run from a temporary directory, so its lines are the ones that reports must name.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.targets.numpy.tasks.faults import TaskFault
from tilewright.targets.numpy.tasks.ordering import OrderingFault, OrderingLog

SOURCE = Path(__file__).with_name("ordering_kernels.py").read_text()
BLOCK, STEPS, ROUNDS = 16, 7, 5
WIDE = 64


def run_ring(module: ModuleType) -> tuple[Any, Any]:
    x = np.arange(BLOCK * BLOCK * STEPS, dtype=np.float32).reshape(BLOCK, -1)
    out = np.full((BLOCK, BLOCK), np.nan, np.float32)
    blocks = tw.TensorDescriptor.from_tensor(x, [BLOCK, BLOCK])
    module.ring[(1,)](blocks, out, STEPS=STEPS, BLOCK=BLOCK)
    return out, x.reshape(BLOCK, STEPS, BLOCK).sum(axis=1)


def run_ping_pong(module: ModuleType) -> tuple[Any, Any]:
    out = np.full((2, ROUNDS, 32), -1, np.int32)
    module.ping_pong[(1,)](out, ROUNDS=ROUNDS)
    expected = np.arange(32)[None] + 100 * np.arange(ROUNDS)[:, None]
    return out, np.stack([expected, expected])


def run_aliased(module: ModuleType) -> tuple[Any, Any]:
    x = np.random.default_rng(1).random((BLOCK, BLOCK), np.float32)
    y = np.full_like(x, np.nan)
    tiles = [tw.TensorDescriptor.from_tensor(each, [BLOCK, BLOCK]) for each in (x, y)]
    z = np.full_like(x, np.nan)
    module.aliased[(1,)](*tiles, z, BLOCK=BLOCK)
    return np.stack([y, z]), np.stack([x * 2, x])


def run_product(module: ModuleType) -> tuple[Any, Any]:
    a = np.random.default_rng(2).random((WIDE, WIDE * 3)).astype(np.float16)
    c = np.full((WIDE, WIDE), np.nan, np.float32)
    tiles = tw.TensorDescriptor.from_tensor(a, [WIDE, WIDE])
    module.product[(1,)](tiles, c, STEPS=3, BLOCK=WIDE)
    blocks = a.astype(np.float64).reshape(WIDE, 3, WIDE).transpose(1, 0, 2)
    return c, (blocks @ blocks).sum(axis=0)


def run_neighbours(module: ModuleType) -> tuple[Any, Any]:
    x = np.arange(64, dtype=np.float32)
    out = np.full_like(x, np.nan)
    module.neighbours[(2,)](x, out, BLOCK=32, ctas_per_cga=(2, 1, 1))
    return out, np.concatenate([x[32:], x[:32]])


Runner = Callable[[ModuleType], tuple[Any, Any]]
RUNNERS: list[Runner] = [run_ring, run_ping_pong, run_aliased, run_product, run_neighbours]


def load(folder: Path, text: str) -> ModuleType:
    path = folder / "kernels.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("kernels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("runner", RUNNERS)
def test_right_kernels_are_quiet_under_many_schedules(runner: Runner, tmp_path: Path) -> None:
    log = OrderingLog()
    with tw.running(schedules=24, recorder=log.recorder):
        got, expected = runner(load(tmp_path, SOURCE))
    np.testing.assert_allclose(got, expected, rtol=1e-3)
    # Its one task waits for what it issues: its events have one order.
    schedules = 1 if runner is run_product else 24
    assert (log.schedules, log.unread(), log.not_analysed) == (schedules, [], {})


def line_of(text: str, words: str) -> int:
    """The number of the only line that holds `words`."""
    found = [number for number, line in enumerate(text.split("\n"), 1) if words in line]
    assert len(found) == 1, f"{words!r} is in lines {found}"
    return found[0]


def mutant(*changes: tuple[str, str]) -> str:
    text = SOURCE
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        text = text.replace(old, new)
    return text


def fault_of(runner: Runner, folder: Path, text: str, seed: int = 0) -> TaskFault:
    log = OrderingLog()
    with tw.running(seed=seed, recorder=log.recorder), pytest.raises(TaskFault) as found:
        runner(load(folder, text))
    assert found.value.seed == seed
    return found.value


def lines_of(fault: OrderingFault, folder: Path) -> set[int]:
    """Every line that a report names."""
    marker = f"{folder / 'kernels.py'}:"
    parts = str(fault).split(marker)[1:]
    return {int(part.partition(":")[0]) for part in parts}


FULL = "                tlx.barrier_wait(full[slot], (k // 2) & 1)\n"
EMPTY = "                tlx.barrier_wait(empty[slot], ((k // 2) & 1) ^ 1)\n"
RELEASE = "                tlx.barrier_arrive(empty[slot], 1)\n"
SUM = "                total += tlx.local_load(tile[slot])\n"
ANNOUNCE = "full[slot], BLOCK * BLOCK * 4"
LOAD = "tlx.async_descriptor_load(x_desc, tile[slot]"
TAKEN = "                tlx.barrier_wait(taken[0], (i & 1) ^ 1)\n"
READY = "                tlx.barrier_wait(ready[0], i & 1)\n"
PUT = "tlx.local_store(box[0]"
GET = "seen = tlx.local_load(box[0])"
GIVE = "                tlx.barrier_arrive(ready[0], 1)\n"
TAKE = "                tlx.barrier_arrive(taken[0], 1)\n"
FENCE = "            tlx.fence_async_shared()\n"
DOUBLE = "tlx.local_store(c[0], value * 2)"
STORE = "tlx.async_descriptor_store(y_desc"
FIRST = "            value = tlx.local_load(a[0])\n"
OTHER = "other = tlx.local_load(a[0])"
DONE = "        acc = tlx.async_dot_wait(0, acc)\n"
DOT = "acc = tlx.async_dot(tile[0]"

CASES: list[tuple[str, Runner, tuple[tuple[str, str], ...], str, tuple[str, ...]]] = [
    # name, kernel, changes, kind, fragments of lines that must be named
    ("no wait for full", run_ring, ((FULL, ""),), "wait", (LOAD, "total +=")),
    ("no wait for empty", run_ring, ((EMPTY, ""),), "wait", ()),
    ("full the wrong way", run_ring, ((FULL, FULL.replace(" & 1)", " & 1 ^ 1)")),), "phase",
     ("barrier_wait(full[slot]",)),
    ("too few bytes", run_ring, ((ANNOUNCE, "full[slot], BLOCK * BLOCK * 2"),), "bytes",
     ("barrier_expect_bytes(full[slot]",)),
    ("release before the read", run_ring, ((SUM + RELEASE, RELEASE + SUM),), "race",
     (LOAD, "total +=", "barrier_arrive(empty")),
    ("no wait for taken", run_ping_pong, ((TAKEN, ""),), "wait", (PUT, GET)),
    ("no wait for ready", run_ping_pong, ((READY, ""),), "wait", (PUT, GET)),
    ("ready the wrong way", run_ping_pong, ((READY, READY.replace("i & 1", "(i & 1) ^ 1")),),
     "phase", ("barrier_wait(ready[0]",)),
    ("too few arrivals", run_ping_pong, (("1, arrive_count=2", "1, arrive_count=1"),), "count",
     ("alloc_barriers(1, arrive_count=1)",)),
    ("no fence", run_aliased, ((FENCE, ""),), "fence", (DOUBLE, STORE)),
    ("no wait for the other reader", run_aliased,
     (("            tlx.barrier_wait(read[0], 0)\n", ""),), "wait", (DOUBLE, OTHER)),
    ("read after the other buffer was written", run_aliased,
     ((DOUBLE, f"{DOUBLE}\n            tlx.local_store(c[0], tlx.local_load(a[0]) * 2)"),),
     "overwritten", (DOUBLE, "tlx.local_store(c[0], tlx.local_load(a[0])")),
    ("product not waited for", run_product, ((DONE, ""), ("    rows, columns = tl.arange(0, BLOCK)"
     "[:, None], tl.arange(0, BLOCK)[None, :]\n    tl.store(c_ptr", DONE[4:] + "    rows, columns ="
     " tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]\n    tl.store(c_ptr")), "wait",
     (DOT, "tlx.async_descriptor_load(a_desc")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("runner", "changes", "kind", "words"), [each[1:] for each in CASES], ids=[c[0] for c in CASES]
)
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_a_fault_is_found_in_every_schedule(
    runner: Runner,
    changes: tuple[tuple[str, str], ...],
    kind: str,
    words: tuple[str, ...],
    seed: int,
    tmp_path: Path,
) -> None:
    """Orders are compared, so no schedule is lucky."""
    text = mutant(*changes)
    fault = fault_of(runner, tmp_path, text, seed)
    assert isinstance(fault, OrderingFault), str(fault)
    assert [each.kind for each in fault.findings] == [kind], str(fault)
    expected = {line_of(text, each.strip()) for each in words}
    assert expected <= lines_of(fault, tmp_path), str(fault)


DEADLOCKS: list[tuple[str, Runner, tuple[tuple[str, str], ...], str, str]] = [
    ("nobody arrives", run_ring, ((RELEASE, ""),), "arrive", "empty"),
    ("too many bytes", run_ring, ((ANNOUNCE, "full[slot], BLOCK * BLOCK * 8"),), "bytes", "full"),
    ("too many arrivals", run_ping_pong, (("arrive_count=2", "arrive_count=3"),), "count", "taken"),
    ("empty the wrong way", run_ring, ((EMPTY, EMPTY.replace(" ^ 1", "")),), "phase", "empty"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("runner", "changes", "kind", "barrier"),
    [each[1:] for each in DEADLOCKS],
    ids=[c[0] for c in DEADLOCKS],
)
def test_a_deadlock_names_the_barrier_and_what_is_missing(
    runner: Runner,
    changes: tuple[tuple[str, str], ...],
    kind: str,
    barrier: str,
    tmp_path: Path,
) -> None:
    fault = fault_of(runner, tmp_path, mutant(*changes))
    assert isinstance(fault, OrderingFault)
    assert fault.kind == "deadlock"
    assert "error[TW6121]: deadlock: " in str(fault)
    assert [(each.kind, each.cause.barrier) for each in fault.findings] == [(kind, barrier)]
    assert "note: most likely: " in str(fault)


def test_buffers_never_read_are_reported(tmp_path: Path) -> None:
    text = mutant(
        (
            "    ready = tlx.alloc_barriers(1)\n",
            "    ready = tlx.alloc_barriers(1)\n"
            "    spare = tlx.local_alloc((32,), tl.int32, 1)\n"
            "    tlx.local_store(spare[0], tl.arange(0, 32))\n",
        )
    )
    log = OrderingLog()
    with tw.running(schedules=2, recorder=log.recorder):
        run_ping_pong(load(tmp_path, text))
    (report,) = log.unread()
    assert report.message == "buffer never read: no task reads spare, which default writes here"
    assert report.code == "TW6139"
    assert report.trail.primary is not None
    assert report.trail.primary.line == line_of(text, "local_store(spare")
    assert [note.message for note in report.notes] == [
        "not read in any of 2 runs; remove the buffer to free its memory"
    ]


def sentences(fault: TaskFault, folder: Path) -> str:
    """The text without the lines of source, and with short names of files."""
    return "\n".join(
        line.replace(f"{folder}/", "")
        for line in str(fault).split("\n")
        if not line.lstrip().split(" ")[0].isdigit() and not line.lstrip().startswith("|")
    )


TWO_BLOCKS = (
    ("for k in range(STEPS):\n                slot = k % 2\n                tlx.barrier_wait(full",
     "for k in range(2):\n                slot = k % 2\n                tlx.barrier_wait(full"),
    ("for k in range(STEPS):\n                slot = k % 2\n                tlx.barrier_wait(emp",
     "for k in range(2):\n                slot = k % 2\n                tlx.barrier_wait(emp"),
)  # fmt: skip


def test_a_read_of_what_was_handed_back_is_stale(tmp_path: Path) -> None:
    """The last block is in the other slot: the sum takes an old one, in good order."""
    text = mutant(
        ("tlx.local_load(tile[slot])", "tlx.local_load(tile[slot & (k < 1)])"), *TWO_BLOCKS
    )
    fault = fault_of(run_ring, tmp_path, text)
    assert isinstance(fault, OrderingFault)
    (finding,) = fault.findings
    assert (finding.kind, finding.cause.barrier) == ("stale", "full")
    assert finding.message == (
        "stale read: read of tile[0] by default (iteration 1) reads data that it has already read, "
        "and nothing after its wait reads the data of the TMA load into tile[1], issued by "
        "partition0 (iteration 1)"
    )
    assert finding.cause.fix.text == "read tile[1] here"


def test_a_load_never_read_is_reported(tmp_path: Path) -> None:
    """The second block is waited for and left out."""
    text = mutant(
        ("total += tlx.local_load(tile[slot])",
         "if k < 1:\n                    total += tlx.local_load(tile[slot])"),
        *TWO_BLOCKS,
    )  # fmt: skip
    log = OrderingLog()
    with tw.running(schedules=3, recorder=log.recorder):
        got, expected = run_ring(load(tmp_path, text))
    assert not np.array_equal(got, expected)
    (report,) = log.unread()
    assert report.message == (
        "buffer never read: no task reads the data of the TMA load into tile[1] (issued by "
        "partition0, iteration 1)"
    )
    assert report.trail.primary is not None
    assert report.trail.primary.line == line_of(text, LOAD)


def test_elements_by_index_are_not_analysed_and_listed(tmp_path: Path) -> None:
    text = mutant(
        ("seen = tlx.local_load(box[0])", "seen = tlx.local_gather(box[0], tl.arange(0, 32), 0)")
    )
    log = OrderingLog()
    with tw.running(schedules=2, recorder=log.recorder):
        got, expected = run_ping_pong(load(tmp_path, text))
    np.testing.assert_array_equal(got, expected)
    line = line_of(text, "local_gather")
    assert list(log.not_analysed) == [f"which elements of box[0] are accessed at kernels.py:{line}"]
    assert log.unread() == []


def test_the_text_of_a_race(tmp_path: Path) -> None:
    text = mutant((SUM + RELEASE, RELEASE + SUM))
    fault = fault_of(run_ring, tmp_path, text)
    read, arrive, copy = (
        line_of(text, words) for words in ("total +=", "barrier_arrive(empty", LOAD)
    )
    golden = GOLDEN.format(read=read, arrive=arrive, copy=copy).strip()
    assert sentences(fault, tmp_path) == golden


def test_the_text_of_an_overwritten_value(tmp_path: Path) -> None:
    again = "tlx.local_store(c[0], tlx.local_load(a[0]) * 2)"
    text = mutant((DOUBLE, f"{DOUBLE}\n            {again}"))
    fault = fault_of(run_aliased, tmp_path, text)
    read, write = line_of(text, again), line_of(text, DOUBLE)
    golden = OVERWRITTEN.format(read=read, write=write).strip()
    assert sentences(fault, tmp_path) == golden


GOLDEN = """
kernels.py:{copy}:17: error[TW6130]: data race: the TMA load into tile[0], issued by \
partition0 (iteration 2) and read of tile[0] by default (iteration 0) access the same 1024 bytes of \
shared memory, and nothing orders them
  kernels.py:{read}:26: note: the other access: read of tile[0] by default
  note: missing: default arrives on empty[0] before the read of tile[0], so the phase that \
partition0 waits for does not cover it
  kernels.py:{arrive}:17: note: smallest fix: arrive on empty[0] after the read
  note: partition0 is the tlx.async_task whose body begins at kernels.py:26
  note: witness: program (0, 0, 0), schedule with seed 0
"""

OVERWRITTEN = """
kernels.py:{read}:35: error[TW6131]: overwritten value: read of a[0] by default returns 1024 bytes \
of shared memory that c[0] has overwritten
  kernels.py:{write}:13: note: the other access: write of c[0] by default
  note: missing: c and a overlap, and c[0] is written before a[0] is read for the last time
  kernels.py:{write}:13: note: smallest fix: read a before c is written, or make them `distinct`
  note: witness: program (0, 0, 0), schedule with seed 0
"""
