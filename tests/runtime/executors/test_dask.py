"""Fuzzing, tuning and schedules on a real Dask cluster of four processes: as in one process.

The long runs are marked ``slow``: `pytest tests/runtime/executors -m slow`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")

import tilewright as tw
from tests.fuzz.host import HostJudge
from tests.fuzz.judging import WORK, described
from tests.runtime.executors import items
from tests.runtime.executors.clusters import Cluster, started
from tests.runtime.executors.kernels import CONFIGS, RING, tuned_matmul
from tilewright.cli import main
from tilewright.runtime.executors.cluster import ClusterUnavailable
from tilewright.runtime.executors.gather import gathered, merged
from tilewright.runtime.executors.pools import Where, pool_of
from tilewright.runtime.executors.work import Outcome, Work

SAMPLE = range(0, 2000, 80)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with started(tmp_path_factory.mktemp("dask"), workers=4) as running:
        yield running


def fuzzed(
    seeds: Sequence[int], where: Where = None, half_way: Callable[[], object] | None = None
) -> list[Outcome]:
    """Verdicts on seeds of `tl`; `half_way` is called when half of them are known."""
    work = Work.of(WORK)
    values = [{**described(HostJudge("tl")), "seed": seed} for seed in seeds]

    def watched(found: Iterator) -> Iterator:
        for count, each in enumerate(found):
            if count == len(seeds) // 2 and half_way is not None:
                half_way()
            yield each

    with pool_of(where, patience_s=120) as pool:
        return merged(watched(gathered(work, values, pool=pool)), work, values)


def told(outcomes: Sequence[Outcome]) -> list[object]:
    return [each.result for each in outcomes]


def test_fuzzing_on_a_cluster_that_loses_a_worker_is_fuzzing_in_one_process(cluster: Cluster):
    killed: list[int] = []
    across = fuzzed(SAMPLE, cluster.address, lambda: killed.append(cluster.kill_a_worker()))
    assert len(killed) == 1
    assert len({each.worker for each in across}) > 2
    assert told(across) == told(fuzzed(SAMPLE))
    assert {each.value["outcome"] for each in across} == {"right"}


@pytest.mark.slow
def test_two_thousand_seeds_are_judged_the_same_with_a_worker_killed_half_way(cluster: Cluster):
    across = fuzzed(range(2000), cluster.address, cluster.kill_a_worker)
    assert told(across) == told(fuzzed(range(2000)))


def test_tuning_sixty_configurations_chooses_the_same(cluster: Cluster):
    here = tuned_matmul().tune(512, 512, 512)
    with tw.executing(cluster.address):
        across = tuned_matmul().tune(512, 512, 512)
    assert len(here.trials) == len(CONFIGS) == 60
    assert across.config == here.config
    assert across.trials == here.trials
    assert len({each.latency for each in across.trials}) > 10


TUNED = """\
import numpy as np
import tilewright as tw
from tilewright import tl

CONFIGS = [tw.Config({"BLOCK": block}, num_warps=warps) for block in (64, 128) for warps in (2, 4)]

@tw.autotune(configs=CONFIGS, key=["n"])
@tw.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)

x = np.ones(1000, np.float32)
y = np.empty_like(x)
scale[lambda meta: (tw.cdiv(1000, meta["BLOCK"]),)](x, y, 1000)
print("right:", bool((y == 2).all()))
"""


@pytest.fixture
def tune(tmp_path, monkeypatch, capsys):
    """Runs `tilewright tune --cluster ADDRESS tuned.py`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "tuned.py").write_text(TUNED)

    def run(address: str) -> tuple[int, str, str]:
        code = main.run(["tune", "--cluster", address, "-o", "table.json", "tuned.py"])
        return code, *capsys.readouterr()

    return run


def test_the_command_tunes_on_a_cluster(cluster, tune, tmp_path):
    code, out, err = tune(cluster.address)
    assert (code, "right: True" in err) == (0, True), err
    head, *rows = out.splitlines()
    assert head.startswith("scale(n=1000, x_ptr=float32, y_ptr=float32) on cpu: measured")
    assert len(rows) == 4 and all("num_warps=" in row for row in rows)
    assert len(json.loads((tmp_path / "table.json").read_text())["rows"]) == 1


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:1", "no Dask scheduler responds at tcp://127.0.0.1:1: start one with"),
        ("here:1", "'here:1' is no address of a Dask scheduler; expected tcp://HOST:PORT"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_line(tune, monkeypatch, address, message):
    monkeypatch.setattr("tilewright.runtime.executors.cluster._CONNECT_SECONDS", 0.5)
    code, out, err = tune(address)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert message in err.splitlines()[-1]


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """Runs `tilewright check FLAGS ring.py`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def run(text: str, *flags: str) -> tuple[int, str, str]:
        (tmp_path / "ring.py").write_text(text)
        code = main.run(["check", *flags, "ring.py"])
        out, err = capsys.readouterr()
        return code, out, re.sub(r"^schedules: .* left\n", "", err, flags=re.MULTILINE)

    return run


FAULTS = {
    "none": ("", ""),
    "no wait": ("                tlx.barrier_wait(full[slot], (block // 2) & 1)\n", ""),
    "wrong phase": ("(full[slot], (block // 2) & 1)", "(full[slot], (block // 2) & 1 ^ 1)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fifty_schedules_are_reported_as_in_one_process(cluster, checked, fault):
    text = RING.format(factor=2).replace(*FAULTS[fault])
    here = checked(text, "--schedules", "50")
    across = checked(text, "--schedules", "50", "--cluster", cluster.address)
    assert across == here
    if fault == "none":
        assert here[:2] == (1, "True\n")
        assert "no task reads spare" in here[2]
        assert "not read in any of 50 runs" in here[2]
    else:
        assert "error[TW613" in here[2]


def test_an_item_that_always_dies_is_poisonous_and_its_workers_stay(cluster: Cluster):
    work = Work.of(items.WORK)
    values = [*({"n": n} for n in range(8)), {"n": 9, "ends": "killed"}]
    before = set(cluster.worker_processes())
    with pool_of(cluster.address) as pool:
        outcomes = merged(gathered(work, values, pool=pool), work, values)
    assert [each.status for each in outcomes] == ["done"] * 8 + ["died"]
    assert (outcomes[-1].tries, outcomes[-1].reason) == (
        3,
        "the worker process exited with SIGKILL",
    )
    assert set(cluster.worker_processes()) == before


def test_addresses_without_a_scheduler_and_schedulers_without_workers_are_named(
    tmp_path, monkeypatch
):
    from tilewright.runtime.executors import cluster as module

    monkeypatch.setattr(module, "_CONNECT_SECONDS", 1.0)
    monkeypatch.setattr(module, "_WORKERS_SECONDS", 1.0)
    with pytest.raises(ClusterUnavailable, match="'host:1' is no address of a Dask scheduler"):
        pool_of("host:1").__enter__()
    with pytest.raises(
        ClusterUnavailable, match=r"no Dask scheduler responds at tcp://127\.0\.0\.1:9"
    ):
        pool_of("tcp://127.0.0.1:9").__enter__()
    with (
        started(tmp_path, workers=0) as empty,
        pytest.raises(ClusterUnavailable, match=r"has no workers: start some"),
    ):
        pool_of(empty.address).__enter__()


def test_without_dask_a_cluster_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterUnavailable) as missing:
        pool_of("tcp://127.0.0.1:9").__enter__()
    assert str(missing.value) == (
        "tcp://127.0.0.1:9 needs Dask, which is not installed: pip install 'tilewright[dask]'"
    )
