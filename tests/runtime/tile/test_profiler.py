"""Timing and comparing `T` kernels with inputs that are made up."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.allclose import assert_close
from tilewright.runtime.tile.input_generators import get_tensor_supply


def kernel_of(dtype, shape=(64,), amount=1):
    @T.prim_func
    def more(A: T.Tensor(shape, dtype), B: T.Tensor(shape, dtype)):
        with T.Kernel(1) as _:
            for i in T.Parallel(shape[0]):
                B[i] = A[i] + T.cast(amount, dtype)

    return tw.compile(more, out_idx=-1)


KINDS = tw.TensorSupplyType


@pytest.mark.parametrize(
    ("kind", "dtype", "least", "greatest"),
    [
        (KINDS.Integer, "float32", -2, 2),
        (KINDS.Integer, "uint8", 0, 2),
        (KINDS.Auto, "int32", -2, 2),
        (KINDS.Auto, "bool", 0, 1),
        (KINDS.Auto, "float8_e4m3fn", -128, 128),
        (KINDS.Auto, "bfloat16", -1, 1),
        (KINDS.Uniform, "float16", -1, 1),
        (KINDS.Uniform, "int8", 1, 1),
        (KINDS.Normal, "float32", -6, 4),
        (KINDS.Randn, "float32", -5, 5),
        (KINDS.Zero, "float32", 0, 0),
        (KINDS.One, "float16", 1, 1),
    ],
)
def test_supplies(kind, dtype, least, greatest):
    param = kernel_of(dtype if dtype != "bool" else "int8", (1000,)).params[0]
    if dtype == "bool":
        param = type(param)("A", "tensor", T.dtype("bool"), (1000,))
    made = np.asarray(get_tensor_supply(kind)(param))
    assert made.dtype == T.dtype(dtype).as_numpy()
    values = made.astype(np.float64)
    assert least <= values.min() <= values.max() <= greatest
    assert (values.min() == values.max()) == (least == greatest)


def test_supplies_repeat_and_differ():
    param = kernel_of("float32").params[0]
    first, second = get_tensor_supply(KINDS.Normal), get_tensor_supply(KINDS.Normal)
    one, other = first(param), first(param)
    assert (one == second(param)).all()
    assert (one != other).any()
    assert -1.5 < one.mean() < -0.5


def test_open_sizes_have_to_be_told():
    m = T.dynamic("m")
    kernel = kernel_of("float32", (m,))
    profiler = kernel.get_profiler()
    with pytest.raises(ValueError, match="A has size m, unknown before a call"):
        profiler.do_bench()
    assert profiler.do_bench(dynamic_symbolic_constraints={"m": 8}, n_repeat=1) > 0


def test_assert_allclose():
    profiler = kernel_of("float32").get_profiler(KINDS.Integer)
    profiler.assert_allclose(lambda a: a + 1)
    with pytest.raises(AssertionError) as caught:
        profiler.assert_allclose(lambda a: a + 2)
    assert "more, result 0 and reference differ in 64 of 64 elements (100.00%, 1.00% are" in str(
        caught.value
    )
    with pytest.raises(AssertionError, match="more returns 1 tensors, the reference 2"):
        profiler.assert_allclose(lambda a: (a, a))
    profiler.assert_allclose(lambda a: (None,))
    profiler.assert_allclose(lambda a: a + 1, [np.full(64, 5, np.float32)])


def test_a_small_part_may_differ():
    wanted = np.zeros(200, np.float32)
    found = wanted.copy()
    found[7] = 1
    assert_close(found, wanted, max_mismatched_ratio=0.005)
    with pytest.raises(
        AssertionError, match=r"differ in 1 of 200 .* first at \[7\] is 1 instead of 0"
    ):
        assert_close(found, wanted, max_mismatched_ratio=0.004)
    with pytest.raises(AssertionError, match=r"has shape \(200,\), reference has shape \(100,\)"):
        assert_close(found, wanted[:100])
    assert_close(np.array([np.nan, 1.004]), np.array([np.nan, 1.0]))
    with pytest.raises(AssertionError):
        assert_close(np.array([np.nan]), np.array([np.nan]), equal_nan=False)


def test_a_check_of_the_authors_own():
    seen = []
    kernel_of("float32").get_profiler(KINDS.One).manual_assert_close(
        lambda a: [a], manual_check_prog=lambda *results: seen.append(results)
    )
    ((found,), (wanted,)) = seen[0]
    assert (found == 2).all()
    assert (wanted == 1).all()


def test_run_once():
    profiler = kernel_of("float32").get_profiler(KINDS.One)
    assert (profiler.run_once() == 2).all()
    assert (profiler.run_once(lambda a: a * 7) == 7).all()
    assert (profiler(np.zeros(64, np.float32)) == 1).all()
    assert profiler.result_idx == (1,)


def test_consistency_starts_from_the_same_inputs():
    @T.prim_func
    def add_up(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as _:
            for i in T.Parallel(8):
                A[i] = A[i] + 1

    tw.compile(add_up).get_profiler().assert_consistent(repeat=3)

    kernel = kernel_of("float32")
    runs = iter(range(100))
    changing = kernel.get_profiler()
    changing.kernel = lambda a: a + next(runs)
    changing.kernel.inputs, changing.kernel.name = kernel.inputs, "changing"
    with pytest.raises(AssertionError, match=r"changing is not consistent: result 0 of run 1"):
        changing.assert_consistent(repeat=2)


def test_do_bench_measures_as_often_as_it_is_told():
    calls = []
    least = tw.do_bench(lambda: calls.append(1), _n_warmup=3, _n_repeat=5, return_mode="min")
    assert (len(calls), least > 0) == (8, True)
    quarter, half = tw.do_bench(lambda: None, warmup=1, rep=1, quantiles=[0.25, 0.5])
    assert 0 < quarter <= half
    with pytest.raises(ValueError, match="return_mode must be one of min, max, mean, median"):
        tw.do_bench(lambda: None, return_mode="all")
    with pytest.raises(ValueError, match="backend must be one of event, cupti, cudagraph"):
        tw.do_bench(lambda: None, backend="clock")


def test_do_bench_runs_long_calls_once(monkeypatch):
    clock = iter(range(0, 1000, 10))  # every look at the clock is 10 s later
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    calls = []
    assert tw.do_bench(lambda: calls.append(1), warmup=25, rep=100) == 10_000
    assert len(calls) == 1


class TorchTensor:
    """As much of a tensor of torch as comparing touches."""

    device = "cuda:0"

    def __init__(self, values):
        self.values = np.asarray(values, np.float16)
        self.shape = self.values.shape

    def is_floating_point(self):
        return True

    def element_size(self):
        return 2

    def numel(self):
        return self.values.size

    def float(self):
        return self

    def isclose(self, other, rtol, atol, equal_nan):
        return np.isclose(self.values, other.values, rtol=rtol, atol=atol, equal_nan=equal_nan)

    def __array__(self, dtype=None, copy=None):
        raise LookupError("brought to the host")


TorchTensor.__module__ = "torch"


def test_tensors_on_a_gpu_are_compared_there():
    values = np.ones(1000)
    values[0] = 2
    assert_close(TorchTensor(values), TorchTensor(np.ones(1000)), max_mismatched_ratio=0.001)
    with pytest.raises(LookupError, match="brought to the host"):  # to say which ones differ
        assert_close(TorchTensor(values), TorchTensor(np.ones(1000)), max_mismatched_ratio=0.0)
