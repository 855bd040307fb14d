"""Choosing a configuration, with a launchable that records what it is given."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.runtime.autotune import autotune
from tilewright.runtime.config import Config
from tilewright.runtime.heuristics import heuristics
from tilewright.runtime.launchable import Launchable


class Recorder(Launchable):
    """A kernel of three parameters; BLOCK sizes in `broken` do not compile."""

    name = "recorder"
    arg_names = ("x", "n", "BLOCK")

    def __init__(self, broken=()):
        self.broken = broken
        self.calls = []

    def run(self, *args, grid, warmup=False, **kwargs):
        if kwargs["BLOCK"] in self.broken:
            engine = DiagnosticEngine()
            engine.error(None, "too big")
            raise CompileError(engine)
        self.calls.append((kwargs["BLOCK"], warmup))
        if not warmup:
            args[0][0] += 1


CONFIGS = [Config({"BLOCK": size}, num_warps=size // 32) for size in (64, 128, 256)]


def test_the_first_configuration_that_compiles_is_taken():
    inner = Recorder(broken=(64,))
    tuned = autotune(CONFIGS, key=["n"])(inner)
    x = np.zeros(1)
    tuned[(1,)](x, 10)
    assert inner.calls == [(128, True), (128, False)]
    assert tuned.best_config is CONFIGS[1]
    assert x[0] == 1


def test_the_choice_is_remembered_per_key():
    inner = Recorder()
    tuned = autotune(CONFIGS, key=["n"])(inner)
    for n in (10, 10, 11):
        tuned[(1,)](np.zeros(1), n)
    assert [warmup for _, warmup in inner.calls] == [True, False, False, True, False]


def test_do_bench_measures_every_configuration_and_restores_arguments():
    inner = Recorder(broken=(64,))
    times = iter([3.0, 1.0])

    def do_bench(call, quantiles):
        call()
        return [next(times)] * 3

    tuned = autotune(CONFIGS, key=["n"], restore_value=["x"], do_bench=do_bench)(inner)
    x = np.zeros(1)
    tuned[(1,)](x, 10)
    assert tuned.best_config is CONFIGS[2]
    assert x[0] == 1  # only the launch that was asked for is left
    assert [tuned.configs_timings[config] for config in CONFIGS[1:]] == [3.0, 1.0]


def test_pruning_comes_first():
    inner = Recorder()
    keep_large = {"early_config_prune": lambda configs, args, **_: configs[1:]}
    autotune(CONFIGS, key=["n"], prune_configs_by=keep_large)(inner)[(1,)](np.zeros(1), 1)
    assert inner.calls[-1] == (128, False)


def test_a_performance_model_ranks():
    inner = Recorder()
    model = {"perf_model": lambda BLOCK, **_: -BLOCK, "top_k": 1}
    autotune(CONFIGS, key=["n"], prune_configs_by=model)(inner)[(1,)](np.zeros(1), 1)
    assert inner.calls[-1] == (256, False)


def test_nothing_that_compiles_raises_the_first_error():
    tuned = autotune(CONFIGS, key=["n"])(Recorder(broken=(64, 128, 256)))
    with pytest.raises(CompileError, match="too big") as failed:
        tuned[(1,)](np.zeros(1), 1)
    (note,) = failed.value.__notes__
    assert note.startswith("none of the 3 configurations of recorder compiles")
    assert note.count("too big") == 2


def test_tuned_parameters_cannot_be_passed():
    with pytest.raises(ValueError, match="BLOCK is set by the autotune configurations"):
        autotune(CONFIGS, key=["n"])(Recorder())[(1,)](np.zeros(1), 1, BLOCK=32)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"'m' is not a parameter of recorder"):
        autotune(CONFIGS, key=["m"])(Recorder())


def test_a_hook_of_the_configuration_sees_all_arguments():
    seen = []
    config = Config({"BLOCK": 64}, pre_hook=lambda args: seen.append((args["n"], args["BLOCK"])))
    autotune([config], key=[])(Recorder())[(1,)](np.zeros(1), 5)
    assert seen == [(5, 64)]


def test_a_hook_of_the_configuration_runs_before_a_kernel_is_only_compiled():
    """It may set the block shapes of descriptors, on which the code depends."""
    seen = []
    config = Config({"BLOCK": 64}, pre_hook=lambda args: seen.append(args["BLOCK"]))
    autotune([config], key=[])(Recorder()).warmup(np.zeros(1), 5, grid=(1,))
    assert seen == [64]


def test_heuristics_compute_parameters_from_arguments():
    inner = Recorder()
    heuristics({"BLOCK": lambda args: args["n"] * 2})(inner)[(1,)](np.zeros(1), 8)
    assert inner.calls == [(16, False)]


def test_heuristics_that_look_up_a_missing_argument_say_which_there_are():
    with pytest.raises(KeyError, match="unknown launch argument 'm'; expected one of x, n"):
        heuristics({"BLOCK": lambda args: args["m"]})(Recorder())[(1,)](np.zeros(1), 8)


def test_heuristics_for_unknown_parameters_are_refused():
    with pytest.raises(ValueError, match="has no such parameter"):
        heuristics({"EVEN": lambda args: True})(Recorder())


def test_configurations_compare_by_what_they_set():
    assert Config({"BLOCK": 64}) == Config({"BLOCK": 64})
    assert Config({"BLOCK": 64}) != Config({"BLOCK": 64}, num_warps=8)
    assert str(Config({"BLOCK": 64}, maxnreg=128)) == (
        "BLOCK: 64, num_warps: 4, num_stages: 3, num_ctas: 1, maxnreg: 128"
    )


def test_what_timed_runs_added_up_is_cleared_before_the_launch():
    def do_bench(call, quantiles):
        call()
        call()
        return 1.0

    x = np.zeros(1)
    tuned = autotune(CONFIGS, key=["n"], reset_to_zero=["x"], do_bench=do_bench)(Recorder())
    tuned[(1,)](x, 10)
    assert x[0] == 1
