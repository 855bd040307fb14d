"""Binding, specialisation and compilation of kernels, without running them."""

from __future__ import annotations

import copy as copying
import pickle
import threading
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.ir.diagnostics import CompileError
from tilewright.runtime.grid import launch_grid, reachable_arrays
from tilewright.runtime.options import current_run_options


@tw.jit
def copy(src, dst, n, scale=2.0, BLOCK: tl.constexpr = 16):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(dst + offsets, tl.load(src + offsets, mask=inside) * scale, mask=inside)


def _aligned(count, offset=0, dtype=np.float32):
    """An array whose address is a multiple of 64, plus `offset` bytes."""
    memory = np.zeros(count * np.dtype(dtype).itemsize + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    return memory[start : start + count * np.dtype(dtype).itemsize].view(dtype)


def test_the_signature_tells_what_a_kernel_was_compiled_for():
    compiled = copy.warmup(_aligned(32), _aligned(32, offset=4), 33)
    assert compiled.signature == {
        "src": "*fp32",
        "dst": "*fp32",
        "n": "i32",
        "scale": "fp32",
        "BLOCK": "constexpr",
    }
    assert compiled.constants == {"BLOCK": 16}
    assert compiled.divisible == ("src",)


def test_what_is_known_of_arguments_is_in_the_ir():
    text = copy.ir(_aligned(32), _aligned(32, offset=4), 48)
    assert "%src: !tt.ptr<f32> {tt.divisibility = 16 : i32}" in text
    assert "%dst: !tt.ptr<f32>," in text
    assert "%n: i32 {tt.divisibility = 16 : i32}" in text
    assert "%scale: f32)" in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "constexpr"),
        (2, "i32"),
        (-1, "i32"),
        (2**31, "i64"),
        (2**63, "u64"),
        (np.int64(5), "i32"),
        (True, "u1"),
    ],
)
def test_integers_get_the_first_type_that_holds_them(value, expected):
    x = _aligned(4)
    assert copy.warmup(x, x, value).signature["n"] == expected


def test_an_integer_that_fits_nowhere_is_refused():
    x = _aligned(4)
    with pytest.raises(OverflowError, match="does not fit into 64 bits"):
        copy.warmup(x, x, 2**64)


def test_equal_kinds_of_arguments_share_one_compiled_kernel():
    @tw.jit
    def scaled(src, n):
        tl.store(src, tl.load(src) * n)

    x = _aligned(4)
    assert scaled.warmup(x, 3) is scaled.warmup(x, 5)
    assert scaled.warmup(x, 3) is not scaled.warmup(x, 16)
    assert scaled.warmup(x, 3) is not scaled.warmup(x.astype(np.float64), 3)
    assert scaled.warmup(x, 3) is not scaled.warmup(x, 3, num_warps=8)


def test_constants_that_are_equal_but_of_different_types_are_different():
    @tw.jit
    def stored(dst, VALUE: tl.constexpr):
        tl.store(dst, VALUE)

    x = _aligned(4)
    texts = {stored.ir(x, value) for value in (1, 1.0, True)}
    assert len(texts) == 3
    assert "0.000000e+00" in stored.ir(x, 0.0)
    assert "-0.000000e+00" in stored.ir(x, -0.0)


@dataclass(frozen=True)
class Shape:
    rows: object


def test_constants_with_equal_parts_of_different_types_are_different():
    @tw.jit
    def stored(dst, VALUE: tl.constexpr):
        tl.store(dst, VALUE[0])

    @tw.jit
    def stored_rows(dst, VALUE: tl.constexpr):
        tl.store(dst, VALUE.rows)

    x = _aligned(4)
    assert len({stored.ir(x, (value, 2)) for value in (1, 1.0, True)}) == 3
    assert len({stored_rows.ir(x, Shape(value)) for value in (1, 1.0, True)}) == 3


def test_do_not_specialize_keeps_a_value_out_of_the_code():
    @tw.jit(do_not_specialize=["n"])
    def stored(dst, n):
        tl.store(dst, n)

    x = _aligned(4, dtype=np.int32)
    assert stored.warmup(x, 1) is stored.warmup(x, 16)


def test_a_kernel_is_traced_again_when_a_global_changes(monkeypatch):
    @tw.jit
    def stored(dst):
        tl.store(dst, FACTOR)

    x = _aligned(4, dtype=np.int32)
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(3))
    assert "constant 3" in stored.ir(x)
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(4))
    assert "constant 4" in stored.ir(x)
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(4.0))
    assert "constant 4.0" in stored.ir(x)


def test_a_kernel_is_traced_again_when_a_module_or_class_around_it_changes(monkeypatch):
    @tw.jit
    def stored(dst):
        tl.store(dst, sizes.inner.FACTOR + Sizes.EXTRA)

    inner = ModuleType("inner")
    inner.FACTOR = tl.constexpr(3)
    sizes = ModuleType("sizes")
    sizes.inner = inner

    class Sizes:
        EXTRA = tl.constexpr(10)

    x = _aligned(4, dtype=np.int32)
    stored[(1,)](x)
    assert x[0] == 13
    inner.FACTOR = tl.constexpr(4)
    stored[(1,)](x)
    assert x[0] == 14
    Sizes.EXTRA = tl.constexpr(20)
    stored[(1,)](x)
    assert x[0] == 24


def test_a_kernel_is_traced_again_when_what_it_computes_with_at_compile_time_changes(monkeypatch):
    @tw.constexpr_function
    def rows():
        return doubled(ROWS)

    @tw.jit
    def stored(dst):
        tl.store(dst, rows())

    x = _aligned(4, dtype=np.int32)
    stored[(1,)](x)
    assert x[0] == 6
    monkeypatch.setitem(globals(), "ROWS", 5)
    stored[(1,)](x)
    assert x[0] == 10
    monkeypatch.setitem(globals(), "BY", 3)
    stored[(1,)](x)
    assert x[0] == 15


ROWS = 3
BY = 2


def doubled(x):
    return BY * x


def test_a_kernel_is_what_its_file_was_when_it_was_imported(tmp_path):
    path = tmp_path / "edited.py"
    text = (
        "import tilewright as tw\nfrom tilewright import tl\n"
        "@tw.jit\ndef stored(dst):\n    tl.store(dst, 1)\n"
    )
    path.write_text(text)
    names = {"__name__": "edited"}
    exec(compile(text, str(path), "exec"), names)
    path.write_text(text.replace("dst, 1", "dst, 22"))
    x = _aligned(4, dtype=np.int32)
    names["stored"][(1,)](x)
    assert x[0] == 1


FACTOR = tl.constexpr(3)


def test_tuples_become_several_arguments():
    @tw.jit
    def pair(pointers, n):
        tl.store(pointers[1], tl.load(pointers[0]) + n)

    x = _aligned(4)
    text = pair.ir((x, x), 3)
    assert text.count("!tt.ptr<f32> {tt.divisibility") == 2


def test_none_is_compiled_in():
    @tw.jit
    def maybe(dst, bias):
        if bias is None:
            tl.store(dst, 1.0)
        else:
            tl.store(dst, tl.load(bias))

    x = _aligned(4)
    assert "tt.load" not in maybe.ir(x, None)
    assert "tt.load" in maybe.ir(x, x)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing a value for src, dst, n"),
        ((1, 2, 3, 4, 5, 6), {}, "takes 5 arguments, got 6"),
        ((1, 2, 3), {"n": 4}, "two values for parameter 'n'"),
        (
            (1, 2, 3),
            {"BLOK": 4},
            r"'BLOK' is neither a parameter of copy nor a launch option; parameters: src, .* options: num_warps",
        ),
    ],
)
def test_wrong_calls_are_explained(args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        copy.warmup(*args, **kwargs)


def test_an_argument_of_no_use_to_a_kernel_is_explained():
    with pytest.raises(TypeError, match=r"argument 'src': a kernel cannot take a dict.*constexpr"):
        copy.warmup({}, {}, 1)


def test_wrong_kernels_raise_a_compile_error_with_the_line():
    @tw.jit
    def wrong(dst):
        tl.store(dst, missing)  # noqa: F821

    with pytest.raises(CompileError, match=r"test_jit\.py:\d+:\d+: error.*missing"):
        wrong.warmup(_aligned(4))


def test_a_kernel_cannot_be_called_like_a_function():
    with pytest.raises(RuntimeError, match=r"launch it with copy\[grid\]"):
        copy(_aligned(4), _aligned(4), 3)


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        (3, (3, 1, 1)),
        ((3,), (3, 1, 1)),
        ((3, 4), (3, 4, 1)),
        ([np.int64(2), 3, 4], (2, 3, 4)),
        (lambda meta: (meta["n"] // 2,), (5, 1, 1)),
        (np.int64(4), (4, 1, 1)),
    ],
)
def test_grids_have_one_to_three_axes(grid, expected):
    assert launch_grid(grid, {"n": 10}, copy) == expected


@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        ((), ValueError, "has 0 axes"),
        ((1, 2, 3, 4), ValueError, "has 4 axes"),
        ((2.5,), TypeError, r"is 2.5, expected an integer: use cdiv\(n, BLOCK\)"),
        ((-1,), ValueError, "is -1"),
        ((1, 2**16), ValueError, "GPUs allow 0 to 65535"),
        (None, TypeError, "is None: expected a tuple of one to three integers"),
        ({4}, TypeError, "a tuple of one to three integers"),
        (lambda meta: None, TypeError, "is None"),
    ],
)
def test_wrong_grids_are_explained(grid, error, message):
    with pytest.raises(error, match=message):
        launch_grid(grid, {}, copy)


def test_stages_can_be_printed():
    x = _aligned(16)
    assert "tt.func public @copy" in copy.ir(x, x, 3)
    assert 'loc("' in copy.ir(x, x, 3, locations=True)
    assert "tt.func public @copy" in copy.ir(x, x, 3, stage="optimised")
    with pytest.raises(
        ValueError, match="unknown stage 'ptx'; expected one of ttir, optimised, numpy"
    ):
        copy.ir(x, x, 3, stage="ptx")


def test_constants_of_numpy_are_numbers():
    x = _aligned(32)
    assert copy.warmup(x, x, 3, BLOCK=np.int64(32)) is copy.warmup(x, x, 3, BLOCK=32)


def test_a_constant_that_cannot_be_hashed_is_explained():
    x = _aligned(16)
    with pytest.raises(
        TypeError, match=r"argument 'BLOCK': a constexpr must be hashable, got ndarray"
    ):
        copy.warmup(x, x, 3, BLOCK=np.zeros(3))


@pytest.mark.parametrize("option", ["num_warps", "num_ctas"])
@pytest.mark.parametrize("count", [0, 3, "4"])
def test_warps_and_ctas_come_in_powers_of_two(option, count):
    x = _aligned(16)
    with pytest.raises(ValueError, match=f"{option} is .*, expected 1, 2, 4, 8 or 16"):
        copy.warmup(x, x, 3, **{option: count})


@pytest.mark.parametrize("batch", [0, -1, 2.5])
def test_a_batch_is_a_number_of_programs(batch):
    with (
        pytest.raises(ValueError, match=r"batch is .*, expected the number of programs"),
        tw.running(batch=batch),
    ):
        pass


def test_reads_of_unwritten_memory_are_allowed_by_the_environment(monkeypatch):
    assert current_run_options().check_uninitialised
    monkeypatch.setenv("TILEWRIGHT_CHECK_UNINITIALISED", "0")
    assert not current_run_options().check_uninitialised


def test_a_batch_in_the_environment_is_checked(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_BATCH", "many")
    x = _aligned(16)
    with pytest.raises(ValueError, match="TILEWRIGHT_BATCH is 'many'"):
        copy[(1,)](x, x, 16)


def test_a_compiled_kernel_shows_itself_in_one_line():
    x = _aligned(16)
    assert repr(copy.warmup(x, x, 3)) == (
        "<compiled copy(src: *fp32, dst: *fp32, n: i32, scale: fp32, BLOCK: constexpr)>"
    )


def test_kernels_are_pickled_by_name(monkeypatch):
    monkeypatch.setattr(copy, "__module__", "tilewright.runtime.pointer.jit")
    monkeypatch.setattr("tilewright.runtime.pointer.jit.copy", copy, raising=False)
    assert pickle.loads(pickle.dumps(copy)) is copy
    assert copying.deepcopy(copy) is copy


def test_options_of_a_with_stay_in_their_thread():
    seen = []
    with tw.running(batch=3), tw.reachable(_aligned(4)):
        thread = threading.Thread(
            target=lambda: seen.append((current_run_options().batch, reachable_arrays()))
        )
        thread.start()
        thread.join()
        assert current_run_options().batch == 3
        assert len(reachable_arrays()) == 1
    assert seen == [(None, ())]


def test_debugging_keeps_asserts():
    @tw.jit
    def positive(n):
        tl.device_assert(n > 3, "small")

    assert "tt.assert" not in positive.ir(2)
    with tw.running(debug=True):
        assert "tt.assert" in positive.ir(2)
    assert "tt.assert" in positive.ir(2, debug=True)


def test_arguments_without_a_name_of_their_own_are_a_tuple():
    @tw.jit
    def total(out, *numbers, SCALE: tl.constexpr = 1):
        result = 0
        for each in tl.static_range(len(numbers)):
            result += numbers[each]
        tl.store(out, result * SCALE)

    out = _aligned(1, dtype=np.int32)
    total[(1,)](out, 2, 3, 16, SCALE=10)
    assert out[0] == 210
    total[(1,)](out)
    assert out[0] == 0


def test_tuned_kernels_have_ir():
    tuned = tw.autotune([tw.Config({"BLOCK": 32}), tw.Config({"BLOCK": 64})], key=["n"])(copy)
    x = _aligned(16)
    assert "end = 32" in tuned.ir(x, x, 3)


def test_an_option_of_runs_that_does_not_exist_is_named():
    with (
        pytest.raises(TypeError, match="unknown option 'check_race'; expected debug, batch"),
        tw.running(check_race=True),
    ):
        pass
