"""Random numbers of threads: the published values of Philox, offsets, sequences, floats."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import CompileError


@tw.jit
def numbers(seed, sequence, offset, count=8):
    seed: T.uint64
    sequence: T.uint32
    offset: T.uint32
    out = T.empty((4, count), "uint32")
    with T.Kernel(1, threads=4):
        thread = T.get_thread_binding()
        T.rng_init(seed, sequence, offset + thread * count)
        for i in T.serial(count):
            out[thread, i] = T.rng_rand()
    return out


def test_the_first_block_is_the_published_one():
    # philox4x32 10, counter and key 0: Random123's known-answer test.
    expected = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert list(numbers(0, 0, 0)[0, :4]) == expected


def test_threads_continue_one_sequence():
    all_of_them = numbers(42, 7, 0, count=32).reshape(-1)
    assert len(set(all_of_them)) == 128
    assert (numbers(42, 7, 5).reshape(-1) == all_of_them[5 : 5 + 32]).all()
    assert not set(all_of_them) & set(numbers(42, 8, 0).reshape(-1))
    assert not set(all_of_them) & set(numbers(43, 7, 0).reshape(-1))
    assert (numbers(42 + 2**32, 7, 0)[0] != all_of_them[:8]).all()


def test_floats_are_above_zero_and_up_to_one():
    @tw.jit
    def floats(seed):
        seed: T.uint32
        out = T.empty((64, 32), "float32")
        with T.Kernel(1, threads=64):
            thread = T.get_thread_binding()
            T.rng_init(seed)
            for i in T.serial(32):
                out[thread, i] = T.rng_rand_float()
        return out

    found = floats(1)
    assert (found > 0).all() and (found <= 1).all()
    assert abs(found.mean() - 0.5) < 0.02 and abs(found.var() - 1 / 12) < 0.01
    assert len(np.unique(found)) > 2000


def test_numbers_on_a_gpu_need_no_library():
    source = tw.compile(numbers.get_tir(0, 0, 0), target="cuda:sm_90a").get_kernel_source()
    assert "curand" not in source and "numbers_kernel" in source


def test_what_is_not_supported_is_refused():
    def without_seed(x: T.Tensor((1,), "uint32")):
        with T.Kernel(1, threads=1):
            x[0] = T.rng_rand()

    def other(x: T.Tensor((1,), "uint32")):
        with T.Kernel(1, threads=1):
            T.rng_init(1, 0, 0, generator="curandStateXORWOW_t")

    with pytest.raises(CompileError, match=r"no T\.rng_init is before it"):
        T.prim_func(without_seed)
    with pytest.raises(CompileError, match="'curandStateXORWOW_t' is not supported"):
        T.prim_func(other)
