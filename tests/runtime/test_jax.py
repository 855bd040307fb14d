"""Arrays of JAX as arguments and results, and DLPack capsules of memory that is ours."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright import T, tl
from tilewright.runtime import dlpack
from tilewright.runtime.dlpack import CPU, HostExport, capsule_of


@tw.jit(out_idx=-1)
def added(M, N, dtype):
    @T.prim_func
    def add(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(M) as row:
            for column in T.Parallel(N):
                C[row, column] = A[row, column] + B[row, column]

    return add


@tw.jit
def doubled(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * 2)


class Exported:
    """Memory that is known by its address only, as that of a GPU is."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return CPU, 0

    def __dlpack__(self, **_):
        array = self.array
        return capsule_of(array.ctypes.data, array.shape, array.dtype, (CPU, 0), array)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool", "complex64"])
def test_a_capsule_is_the_memory_itself(dtype):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    held = len(dlpack._held)
    view = np.from_dlpack(Exported(array))
    assert view.dtype == array.dtype
    np.testing.assert_array_equal(view, array)
    array[1, 2, 3] = 0
    assert view[1, 2, 3] == 0
    assert len(dlpack._held) == held + 1
    del view
    gc.collect()
    assert len(dlpack._held) == held


def test_memory_lives_as_long_as_its_consumer():
    array = np.arange(3.0).view(type("Owner", (np.ndarray,), {}))
    alive = weakref.ref(array)
    view = np.from_dlpack(Exported(array))
    del array
    gc.collect()
    assert alive() is not None
    assert view.tolist() == [0.0, 1.0, 2.0]
    del view
    gc.collect()
    assert alive() is None


def test_a_capsule_without_a_consumer_is_released():
    held = len(dlpack._held)
    capsule = Exported(np.zeros(3)).__dlpack__()
    assert len(dlpack._held) == held + 1
    del capsule
    gc.collect()
    assert len(dlpack._held) == held
    with pytest.raises(TypeError, match="DLPack has no element type"):
        Exported(np.zeros(3, "datetime64[s]")).__dlpack__()


@pytest.fixture
def jnp(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    return pytest.importorskip(
        "jax.numpy", reason="JAX is not installed: its arrays are not tested"
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_a_tile_kernel_takes_arrays_of_jax_and_returns_one(jnp, dtype):
    a = jnp.arange(128).reshape(8, 16).astype(dtype)
    b = jnp.ones((8, 16), dtype)
    c = added(8, 16, dtype)(a, b)
    assert type(c) is type(a)
    assert c.dtype == a.dtype
    assert bool((c == a + b).all())


def test_results_of_launches_go_to_jax_without_a_copy(jnp):
    x, out = jnp.arange(16.0), np.empty(16, np.float32)
    doubled[(1,)](x, out, BLOCK=16)
    assert jnp.from_dlpack(out).tolist() == [2.0 * n for n in range(16)]
    small = np.arange(4).astype(ml_dtypes.bfloat16)
    import jax

    assert jax.dlpack.from_dlpack(HostExport(small)).tolist() == [0, 1, 2, 3]


def test_an_array_of_jax_is_never_written(jnp):
    x, out = jnp.arange(16.0), jnp.zeros(16)
    with pytest.raises(tw.NumpyFault, match="out_ptr is read-only"):
        doubled[(1,)](x, out, BLOCK=16)
    assert not out.any()
