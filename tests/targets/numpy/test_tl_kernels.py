"""Kernels in `tl` whose batches, values or faults are easy to get wrong.

Each is run in batches of several sizes, which must come to the same.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.targets.numpy import NumpyFault

BATCHES = pytest.mark.parametrize("batch", [None, 1, 2])


def fault_of(kernel, grid, *arguments, **options) -> str:
    with pytest.raises(NumpyFault) as caught:
        kernel[grid](*arguments, **options)
    return str(caught.value)


# Loops in loops: what the outer one carries becomes different for each program only when its body
# has been written once.


@tw.jit
def while_in_for(out, N: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, N)
    v = tl.zeros([N], tl.int32)
    s = 0
    for _ in range(3):
        w = v
        c = 2
        while c > 0:
            w = w * 3
            c -= 1
        s += tl.sum(w, 0) + tl.max(tl.cumsum(w, 0), 0)
        v = w + lanes + pid
    tl.store(out + pid, s)


@tw.jit
def for_in_for(out, n):
    pid = tl.program_id(0)
    c = 0
    p = n * 1
    for _ in range(3):
        for _ in range(p):
            c += 1
        p = p + pid
    tl.store(out + pid, c)


@tw.jit
def branch_in_for(out, n):
    pid = tl.program_id(0)
    p = n * 1
    c = 0
    for _ in range(3):
        q = p
        for _ in range(2):
            q += 1
        if q > 6:
            c += q
        p = q + pid
    tl.store(out + pid, c)


@tw.jit
def while_in_branch(out, n):
    pid = tl.program_id(0)
    p = n * 1
    for _ in range(3):
        if pid == 1:
            p += 3
        else:
            w = p & 3
            while w > 0:
                w -= 1
                p = 7
    tl.store(out + pid, p)


@tw.jit
def for_in_while(out, n):
    pid = tl.program_id(0)
    p = n * 1
    c = 0
    turns = 0
    while turns < 3:
        for _ in range(p):
            c += 1
        p = p + pid
        turns += 1
    tl.store(out + pid, c)


@BATCHES
def test_an_outer_loop_that_makes_values_differ_is_seen_by_the_inner_one(batch) -> None:
    def ran(kernel, *arguments, **options):
        out = np.zeros(4, np.int32)
        kernel[(4,)](out, *arguments, **options)
        return out.tolist()

    with tw.running(batch=batch):
        assert ran(while_in_for, N=4) == [1188, 1980, 2772, 3564]
        assert ran(for_in_for, 2) == [6, 9, 12, 15]
        assert ran(for_in_while, 2) == [6, 9, 12, 15]
        assert ran(branch_in_for, 2) == [8, 7 + 10, 8 + 12, 9 + 14]
        assert ran(while_in_branch, 2) == [7, 11, 7, 7]


# Loads whose mask is all true or all false.


@tw.jit
def same_address(x, out, n, N: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, N)
    v = tl.load(x + tl.zeros([N], tl.int32) + pid, mask=lanes < n, other=0)
    tl.store(out + pid, tl.sum(v, axis=0))


@tw.jit
def rows_only(x, out, n, N: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, N)
    offsets = lanes[:, None] + tl.zeros([N, N], tl.int32)
    v = tl.load(x + offsets, mask=(lanes < n)[None, :], other=0)
    tl.store(out + pid, tl.sum(tl.sum(v, axis=1), axis=0))


@BATCHES
@pytest.mark.parametrize("n", [0, 4, 16, 100])
def test_a_load_keeps_the_lanes_of_a_mask_that_is_true_everywhere(batch, n) -> None:
    x, out = np.ones(64, np.int32), np.zeros(4, np.int32)
    with tw.running(batch=batch):
        same_address[(4,)](x, out, n, N=16)
        assert out.tolist() == [min(n, 16)] * 4
        rows_only[(4,)](x, out, n, N=16)
        assert out.tolist() == [min(n, 16) * 16] * 4


@tw.jit
def masked_off(x, out, N: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, N)
    v = tl.load(x + lanes)
    seven = tl.load(x + lanes, mask=v < v, other=7)
    mine = tl.load(x + lanes, mask=lanes < lanes, other=pid + 1)
    out += pid * 4
    tl.store(out, tl.sum(seven, axis=0))
    tl.store(out + 1, tl.argmax(seven, axis=0))
    tl.store(out + 2, tl.max(tl.cumsum(mine, axis=0), axis=0))
    tl.store(out + 3, tl.sum(mine, axis=0))


@BATCHES
def test_a_load_that_is_masked_off_is_other_in_every_lane(batch) -> None:
    out = np.zeros((3, 4), np.int32)
    with tw.running(batch=batch):
        masked_off[(3,)](np.ones(16, np.int32), out, N=16)
    assert out.tolist() == [[112, 0, 16 * p, 16 * p] for p in (1, 2, 3)]


# Batches that are given up.


@tw.jit
def counts_then_turns(count, out, n):
    pid = tl.program_id(0)
    tl.atomic_add(count, 1)
    i = 0
    while i < n + pid:
        i += 1
    tl.store(out + pid, i)


@BATCHES
def test_atomics_before_a_long_loop_happen_once(batch) -> None:
    count, out = np.zeros(1, np.int32), np.zeros(4, np.int32)
    with tw.running(batch=batch):
        counts_then_turns[(4,)](count, out, 12000)
    assert count[0] == 4
    assert out.tolist() == [12000, 12001, 12002, 12003]


@tw.jit
def counts_then_waits(count, flag):
    tl.atomic_add(count, 1)
    while tl.load(flag + tl.program_id(0), volatile=True) == 0:
        pass


def test_atomics_before_an_endless_wait_happen_once() -> None:
    count = np.zeros(1, np.int32)
    text = fault_of(counts_then_waits, (4,), count, np.array([1, 1, 0, 1], np.int32))
    assert (
        "error[TW6012]: deadlock: program (2, 0, 0) waits for memory that no program writes" in text
    )
    assert count[0] == 4


@tw.jit
def waits_by_add(flag):
    if tl.program_id(0) == 0:
        while tl.atomic_add(flag, 0) == 0:
            pass
    else:
        tl.atomic_xchg(flag, 1)


@tw.jit
def waits_by_max(flag):
    if tl.program_id(0) == 0:
        while tl.atomic_max(flag, 0) == 0:
            pass
    else:
        tl.atomic_xchg(flag, 1)


@pytest.mark.parametrize("kernel", [waits_by_add, waits_by_max])
def test_spinning_on_an_atomic_that_changes_nothing_is_waiting(kernel) -> None:
    text = fault_of(kernel, (4,), np.zeros(1, np.int32))
    assert (
        "error[TW6012]: deadlock: program (0, 0, 0) waits for memory that no program writes" in text
    )
    kernel[(4,)](np.ones(1, np.int32))  # what it waits for is there


# Prints before a fault.


@tw.jit
def prints_then_faults(x, out):
    pid = tl.program_id(0)
    tl.device_print("at", pid)
    v = tl.load(x + pid * 3)
    tl.store(out + pid + 3, v)


@tw.jit
def updates_then_faults(x, count):
    pid = tl.program_id(0)
    tl.device_print("at", pid)
    tl.atomic_add(count, 1)
    v = tl.load(x + pid * 3)
    tl.device_print("v", v)


@BATCHES
def test_prints_before_a_fault_are_printed(batch, capsys) -> None:
    out = np.zeros(4, np.float32)
    with tw.running(batch=batch):
        text = fault_of(prints_then_faults, (4,), np.ones(4, np.float32), out)
    assert "store out of bounds: out[4]" in text
    assert capsys.readouterr().out == "pid (0, 0, 0) at: 0\npid (1, 0, 0) at: 1\n"
    assert out.tolist() == [0, 0, 0, 1]


def test_prints_before_a_fault_that_cannot_be_undone_are_those_of_programs_up_to_it(capsys) -> None:
    text = fault_of(updates_then_faults, (4,), np.ones(4, np.float32), np.zeros(1, np.int32))
    assert "load out of bounds: x[6]" in text
    assert "note: program (2, 0, 0)" in text
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"pid ({pid}, 0, 0) at: {pid}" for pid in range(3)]


# Undefined lanes.


@tw.jit
def sorts(x, out, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    v = tl.load(x + lanes, mask=lanes < n)
    tl.store(out + lanes, tl.sort(v), mask=lanes < n)


def test_sorting_what_may_be_undefined_compiles_quickly() -> None:
    count = 1024
    x = np.random.default_rng(0).permutation(count).astype(np.int32)
    out = np.zeros(count, np.int32)
    started = time.process_time()
    sorts[(1,)](x, out, count, N=count)
    assert time.process_time() - started < 5
    assert out.tolist() == list(range(count))
    assert "a stored value is undefined" in fault_of(sorts, (1,), x, out, count - 1, N=count)


@tw.jit
def exchanges(x, y, out, n, N: tl.constexpr, TURNS: tl.constexpr):
    lanes = tl.arange(0, N)
    v = tl.load(x + lanes, mask=lanes < n)
    w = tl.load(y + lanes, mask=lanes < n + 1)
    for _ in tl.static_range(TURNS):
        v, w = tl.where(v > w, w, v), tl.where(v > w, v, w)
    tl.store(out + lanes, w, mask=lanes < n)


def test_code_for_exchanges_of_what_may_be_undefined_grows_with_their_count() -> None:
    x, y = np.arange(16, dtype=np.int32), np.arange(16, dtype=np.int32)[::-1].copy()
    lengths = []
    for turns in (10, 20, 40):
        out = np.zeros(16, np.int32)
        ran = exchanges[(1,)](x, y, out, 9, N=16, TURNS=turns)
        assert out.tolist() == [*np.maximum(x, y)[:9], *[0] * 7]
        lengths.append(len(ran.text("numpy")))
    assert lengths[2] < 5 * lengths[0]


@tw.jit
def chooses(x, y, out, n, m, N: tl.constexpr):
    lanes = tl.arange(0, N)
    v = tl.load(x + lanes, mask=lanes < n)
    w = tl.load(y + lanes, mask=lanes < m)
    tl.store(out + lanes, tl.where(lanes % 2 == 0, v + v, w + v * 0))


def test_a_choice_is_undefined_where_the_chosen_way_is() -> None:
    x, out = np.ones(16, np.int32), np.zeros(16, np.int32)
    chooses[(1,)](x, x, out, 16, 16, N=16)
    assert out.tolist() == [2, 1] * 8
    assert "at element [9]" in fault_of(chooses, (1,), x, x, out, 16, 8, N=16)
    assert "at element [8]" in fault_of(chooses, (1,), x, x, out, 8, 16, N=16)


# Loops that do not count up.


@tw.jit
def steps(out, low, high, step):
    n = 0
    for i in range(low, high, step):
        n += i
    tl.store(out, n)


@tw.jit
def steps_by_program(out, high):
    n = 0
    for i in range(0, high, tl.program_id(0)):
        n += i
    tl.store(out + tl.program_id(0), n)


@tw.jit
def steps_by_constant(out, STEP: tl.constexpr):
    n = 0
    for i in range(0, 5, STEP):
        n += i
    tl.store(out, n)


@pytest.mark.parametrize(
    ("bounds", "advice"),
    [
        ((0, 5, 0), "on a GPU this loop does not terminate"),
        ((0, 5, -2), "on a GPU this loop does not terminate"),
        ((5, 0, -1), "on a GPU the trip count is 0"),
    ],
)
def test_a_step_that_is_not_positive_is_a_fault(bounds, advice) -> None:
    text = fault_of(steps, (1,), np.zeros(1, np.int64), *bounds)
    low, high, step = bounds
    assert (
        f"error[TW6013]: loop step is {step} in program (0, 0, 0): "
        f"the loop counts from {low} to {high}"
    ) in text
    assert advice in text


def test_a_step_of_zero_in_one_program_or_in_all_of_them_is_a_fault() -> None:
    out = np.zeros(3, np.int32)
    assert "is 0 in program (0, 0, 0)" in fault_of(steps_by_program, (3,), out, 5)
    steps_by_program[(3,)](out, 0)
    assert "error[TW6013]" in fault_of(steps_by_constant, (1,), out, STEP=0)


@pytest.mark.parametrize("bounds", [(5, 5, -1), (5, 0, 0), (5, 0, 1)])
def test_loops_without_iterations_accept_any_step(bounds) -> None:
    out = np.full(1, 7, np.int64)
    steps[(1,)](out, *bounds)
    assert out[0] == 0


# Sums of 32 bits.


@tw.jit
def wraps(x, out, big, N: tl.constexpr):
    rows, columns = tl.arange(0, 4), tl.arange(0, N)
    sum = (big + rows[:, None] * N) + (columns[None, :] + 1)
    v = tl.load(x + (sum.to(tl.int64) + 2147483648))
    tl.store(out + rows[:, None] * N + columns[None, :], v)


@BATCHES
@pytest.mark.parametrize("programs", [1, 3])
def test_an_offset_that_wraps_around_to_an_element_is_no_fault(batch, programs) -> None:
    x, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    with tw.running(batch=batch):
        wraps[(programs,)](x, out, 2147483647, N=64)
        assert out.tolist() == x.tolist()
        text = fault_of(wraps, (programs,), x, out, 2147483646, N=64)
    assert "load out of bounds: x[4294967295]" in text


# Descriptors made by a program.


@tw.jit
def describes(x, out, stride, start):
    tensor = tl.make_tensor_descriptor(x + start, [12, 5], [stride, 1], [4, 4])
    lanes = tl.arange(0, 4)
    tl.store(out + lanes[:, None] * 4 + lanes[None, :], tensor.load([1, 0]))


@pytest.mark.parametrize(
    ("stride", "start", "message"),
    [
        (5, 0, "stride 0 is 20 bytes, not a multiple of 16"),
        (8, 1, "base address is 4 bytes past a multiple of 16"),
    ],
)
def test_a_descriptor_that_the_hardware_does_not_take_is_a_fault(stride, start, message) -> None:
    x, out = np.arange(128, dtype=np.float32), np.zeros((4, 4), np.float32)
    text = fault_of(describes, (1,), x, out, stride, start)
    assert f"error[TW6110]: descriptor in program (0, 0, 0): {message}" in text


@pytest.mark.parametrize("start", [0, 4])
def test_a_descriptor_with_aligned_rows_is_fine(start) -> None:
    x, out = np.arange(128, dtype=np.float32), np.zeros((4, 4), np.float32)
    describes[(1,)](x, out, 8, start)
    assert out.tolist() == (start + 8 + np.arange(32).reshape(4, 8))[:, :4].tolist()


# Floats as small integers.


@tw.jit
def to_small(x, a, b, c, d, N: tl.constexpr):
    lanes = tl.arange(0, N)
    v = tl.load(x + lanes)
    tl.store(a + lanes, v.to(tl.int8))
    tl.store(b + lanes, v.to(tl.int16))
    tl.store(c + lanes, v.to(tl.uint8))
    tl.store(d + lanes, v.to(tl.uint16))


def test_floats_out_of_range_of_small_integers_are_those_of_16_bits() -> None:
    x = np.array([65543, -1e20, 1e20, 70000, -3.7, 300, 1.5, -200], np.float32)
    results = [np.zeros(8, dtype) for dtype in (np.int8, np.int16, np.uint8, np.uint16)]
    to_small[(1,)](x, *results, N=8)
    signed = np.array([32767, -32768, 32767, 32767, -3, 300, 1, -200])
    unsigned = np.array([65535, 0, 65535, 65535, 0, 300, 1, 0])
    for result, expected in zip(results, (signed, signed, unsigned, unsigned), strict=True):
        assert result.tolist() == expected.astype(result.dtype).tolist()


@tw.jit
def choose_descriptor(a, b, out, n, N: tl.constexpr):
    pid = tl.program_id(0)
    window = tl.make_tensor_descriptor(a, [N, N], [N, 1], [16, 16])
    total = tl.zeros((16, 16), tl.float32)
    for i in range(n):
        if i >= pid:
            window = tl.make_tensor_descriptor(
                b, [N, N - 4 * pid], [N, 1], [16, 16], padding_option="nan"
            )
        total += window.load([0, 8])
    j = tl.arange(0, 16)
    tl.store(out + pid * 256 + j[:, None] * 16 + j[None, :], total)


def test_a_descriptor_reassigned_under_an_if_in_a_loop_differs_between_programs():
    a = np.arange(1024, dtype=np.float32).reshape(32, 32)[:16, :16].copy()
    a, b = np.ascontiguousarray(a), a * 100
    out = np.zeros((5, 16, 16), np.float32)
    choose_descriptor[(5,)](a, b, out, 4, 16)
    for pid in range(5):
        first = np.zeros((16, 16), np.float32)
        first[:, :8] = a[:, 8:]
        second = np.full((16, 16), np.nan, np.float32)
        width = max(16 - 4 * pid - 8, 0)
        second[:, :width] = b[:, 8 : 8 + width]
        turns = min(pid, 4)
        expected = first * turns
        if turns < 4:
            expected = expected + second * (4 - turns)
        np.testing.assert_array_equal(out[pid], expected)


@tw.jit
def write_by_choice(a, b, N: tl.constexpr):
    pid = tl.program_id(0)
    window = tl.make_tensor_descriptor(a, [N, N], [N, 1], [16, 16])
    if pid == 1:
        window = tl.make_tensor_descriptor(b, [N, N], [N, 1], [16, 16])
    window.store([0, 0], tl.full((16, 16), 1.0, tl.float32) + pid)


def test_a_store_through_a_descriptor_chosen_by_an_if():
    a, b = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    write_by_choice[(2,)](a, b, 16)
    assert (a == 1).all()
    assert (b == 2).all()


# One element that all programs share is a scalar, whatever computed it.


@tw.jit
def dot_of_one_row(x, out, N: tl.constexpr):
    row = tl.load(x + tl.arange(0, 1)[:, None] + tl.arange(0, N)[None, :])
    squares = tl.dot(row, tl.trans(row))
    tl.store(out + tl.program_id(0) + tl.arange(0, 1), tl.sum(squares, axis=0))
    tl.store(out + 8 + tl.program_id(0), tl.sum(squares + squares))


@BATCHES
def test_a_dot_with_one_element(batch) -> None:
    x = np.arange(32, dtype=np.float32)
    out = np.zeros(16, np.float32)
    with tw.running(batch=batch):
        dot_of_one_row[(3,)](x, out, N=32)
    expected = np.zeros(16, np.float32)
    expected[:3], expected[8:11] = 10416, 20832
    np.testing.assert_array_equal(out, expected)
