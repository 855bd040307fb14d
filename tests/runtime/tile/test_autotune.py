"""Tuning `T` kernels: which configuration is taken, what is measured and what is remembered."""

import concurrent.futures
import json

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.autotune import ProfileArgs, choose, get_autotune_inputs
from tilewright.runtime.tile.tuning_cache import key_of, recall, remember
from tilewright.runtime.tuning_times import Times


def plus(n, block, amount=1):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] + amount

    return main


A = np.arange(16, dtype=np.float32)
CONFIGS = [{"block": 0}, {"block": 8}, {"block": 4}]


def refusing(n, block=2):
    if block == 0:
        raise ValueError("a block of nothing")
    return plus(n, block)


@tw.autotune(configs=CONFIGS)
@tw.jit(out_idx=-1)
def tuned(n, block=2):
    made = refusing(n, block)
    assert isinstance(made, T.PrimFunc)
    return made


@tw.autotune(configs=[{"block": 8}, {"block": 4}])
@tw.jit
def eager(A, amount, block=2):
    M = T.const("M")
    A: T.Tensor((M,), "float32")
    B = T.empty((M,), "float32")
    with T.Kernel(T.ceildiv(M, block)) as bx:
        for i in T.Parallel(block):
            B[bx * block + i] = A[bx * block + i] + amount
    return B


def test_the_first_that_works_is_taken_and_measured_when_asked():
    kernel = tuned(16)
    assert kernel.config == {"block": 8}
    assert tuned(16) is kernel
    assert (kernel(A) == A + 1).all()
    assert kernel.latency > 0
    assert kernel.ref_latency is None


def test_a_call_that_chooses_itself_is_not_tuned():
    kernel = tuned(16, block=2)
    assert kernel.config is None
    assert kernel.latency is None
    assert "rt.launch(kernel, (8,)" in kernel.get_kernel_source()
    assert "rt.launch(kernel, (2,)" in tuned(16).get_kernel_source()


def test_eager_kernels_run_at_once():
    assert (eager(A, 3) == A + 3).all()
    assert (eager(A, amount=4) == A + 4).all()
    assert (eager(A, 5, block=16) == A + 5).all()
    assert eager.compile(M=16, amount=3).config == {"block": 8}


def test_all_fail():
    with pytest.raises(ValueError, match="a block of nothing") as caught:
        choose("refusing", [{"block": 0}] * 2, lambda config: refusing(4, **config), ProfileArgs())
    assert caught.value.__notes__ == [
        "none of the 2 configurations of refusing works; the error above is for {'block': 0}, the others:\n"
        "  {'block': 0}: a block of nothing"
    ]


def test_configurations_are_checked():
    wrong = tw.autotune(configs=[{"blocks": 8}])(eager.inner)
    with pytest.raises(
        ValueError, match="sets 'blocks', which is not a parameter of eager; parameters: A"
    ):
        wrong(A, 1)
    with pytest.raises(ValueError, match="no configurations"):
        tw.autotune(configs=[])(eager.inner)(A, 1)
    with pytest.raises(TypeError, match="must be applied above @jit"):
        tw.autotune(configs=[])(plus)


def test_configurations_may_depend_on_the_call():
    made = tw.autotune(configs=lambda n: [{"block": n // 2}])(tuned.inner)
    assert made(16).config == {"block": 8}


def test_wrong_results_count_as_failures():
    def factory(block, amount):
        return plus(16, block, amount)

    tuner = tw.AutoTuner.from_kernel(
        factory, [{"block": 8, "amount": 2}, {"block": 4, "amount": 1}]
    ).set_compile_args(out_idx=[-1], target="auto")
    tuner.set_profile_args(ref_prog=lambda a: a + 1, supply_type=tw.TensorSupplyType.Integer)
    result = tuner.run(warmup=1, rep=1)
    assert result.config == {"block": 4, "amount": 1}
    assert result.latency > 0
    assert result.ref_latency > 0
    assert result.libcode == result.kernel.get_kernel_source()
    assert result.func is result.kernel.prim_func
    tuner.set_profile_args(skip_check=True)
    assert tuner.run().config == {"block": 8, "amount": 2}
    with pytest.raises(TypeError, match="compile: unknown option 'speed'"):
        tuner.set_compile_args(speed=3)


def test_inputs_may_be_given():
    seen = []

    def reference(a):
        seen.append(a)
        return a + 1

    made = tw.autotune(configs=[{"block": 4}], ref_prog=reference)(tuned.inner)
    with tw.set_autotune_inputs([A]):
        assert get_autotune_inputs() == [A]
        made(16)
    assert seen[0] is A
    assert get_autotune_inputs() is None
    supplied = tw.autotune(
        configs=[{"block": 4}], ref_prog=reference, supply_prog=lambda params: [A * len(params)]
    )(tuned.inner)
    supplied(16)
    assert (seen[1] == A).all()


def test_times_decide_if_asked_and_are_remembered(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_AUTOTUNE", "time")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    times = {(2,): 5.0, (4,): 3.0}
    measured = []

    def do_bench(fn, *_, **__):
        grid = (2,) if "(2,)" in fn.func.get_kernel_source() else (4,)
        measured.append(grid)
        return times[grid]

    monkeypatch.setattr("tilewright.runtime.tile.profiler.do_bench", do_bench)
    for _ in range(2):
        result = tw.autotune(configs=CONFIGS)(tw.jit(out_idx=-1)(tuned.inner.function)).tune(16)
        assert (result.config, result.latency) == ({"block": 4}, 3.0)
    assert measured == [(2,), (4,)]
    files = tmp_path.glob("*/autotune-*")
    stored = [json.loads(file.read_bytes().splitlines()[-1])["latency"] for file in files]
    assert sorted(stored) == [3.0, 5.0]


def test_writers_at_the_same_time(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    kernel = tw.compile(plus(16, 4), out_idx=-1)
    times = Times(1.5)
    key = key_of(kernel, {"block": 4}, ())
    assert recall(key) is None
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda _: remember(key, times), range(40)):
            assert recall(key) == times
    (path,) = tmp_path.glob("*/*-*")
    assert path.name == f"autotune-{key}.entry"
    path.write_text("{")
    assert recall(key) is None
    assert key != key_of(kernel, {"block": 8}, ())


def test_a_time_belongs_to_a_compiler(monkeypatch):
    kernel = tw.compile(plus(16, 4), target="cuda:sm_90a")
    before = key_of(kernel, {}, ())
    monkeypatch.setattr("tilewright.runtime.tile.tuning_cache.release", lambda: "another NVRTC")
    assert key_of(kernel, {}, ()) != before


def test_a_choice_depends_on_numbers_of_numpy():
    @tw.autotune(configs=[{"block": 4}])
    @tw.jit
    def times(A, factor, block=8):
        M = T.const("M")
        A: T.Tensor((M,), "float32")
        B = T.empty((M,), "float32")
        with T.Kernel(T.ceildiv(M, block)) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] * factor
        return B

    ones = np.ones(8, np.float32)
    found = [float(times(ones, np.float32(number))[7]) for number in (2, 3)]
    assert found == [2, 3]


def test_a_choice_depends_on_the_tables_of_a_factory():
    @tw.autotune(configs=[{"block": 4}])
    @tw.jit(out_idx=-1)
    def picked(table, block=8):
        number = float(table[0])

        @T.prim_func
        def main(A: T.Tensor((block,), "float32"), B: T.Tensor((block,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(block):
                    B[i] = A[i] + number

        return main

    zeros = np.zeros(4, np.float32)
    found = [float(picked(np.full(3, number))(zeros)[0]) for number in (2.0, 3.0)]
    assert found == [2, 3]
