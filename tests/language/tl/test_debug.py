"""Printing, asserting, hints: what is left in the kernel, and what happens while it compiles."""

import pytest

from tests.language.tl.against_triton import check, our_module, our_text
from tilewright.ir.diagnostics import CompileError

SIGNATURE = dict(x="*fp32", n="i32")


def _kernel(*lines: str) -> str:
    body = "\n    ".join(lines)
    return f"""
@jit
def kernel(x, n, N: tl.constexpr):
    o = tl.arange(0, N)
    v = tl.load(x + o)
    {body}
"""


@pytest.mark.parametrize(
    "line",
    [
        'tl.device_print("")',
        'tl.device_print("hello")',
        'tl.device_print(" hello")',
        'tl.device_print("n", n)',
        'tl.device_print("n:", n)',
        'tl.device_print("n: ", n)',
        'tl.device_print(" n ", n, v)',
        'tl.device_print("both", o, v, hex=True)',
        'tl.device_print("number", 3, 1.5, True)',
        'print("pid", n)',
        "tl.debug_barrier()",
        "tl.assume(n > 0)",
        "tl.assume(N > 0)",
        'tl.device_assert(n > 0, "positive")',
        "tl.device_assert(o < n)",
        'tl.device_assert(o < n, "inside", mask=v > 0)',
        'tl.device_assert(n > 0, "one", mask=n < 5)',
        'assert n > 0, "positive"',
        'tl.device_print("v", tl.expect_zero(v, o > 3))',
    ],
)
@pytest.mark.parametrize("debug", [True, False])
def test_what_runs_on_the_device(line: str, debug: bool) -> None:
    check(_kernel(line), SIGNATURE, dict(N=16), debug=debug)


@pytest.mark.parametrize(
    "hint",
    [
        "tl.multiple_of(o, 8)",
        "tl.multiple_of(o, [16])",
        "tl.max_contiguous(o, 4)",
        "tl.max_constancy(o, [4])",
        "tl.multiple_of(o[:, None] + o[None, :], [8, 16])",
        "tl.max_contiguous(tl.multiple_of(o % n, N), N)",
        "tl.multiple_of(tl.program_id(0), 2)",
        "tl.max_constancy(o[:, None] + o[None, :], (4, 4))",
    ],
)
def test_hints(hint: str) -> None:
    text = check(_kernel(f'tl.device_print("hint", {hint})'), SIGNATURE, dict(N=16))
    assert "tt.divisibility" in text or "tt.contiguity" in text or "tt.constancy" in text


def test_a_hint_about_a_parameter_leaves_no_trace() -> None:
    check(_kernel('tl.device_print("n", tl.multiple_of(n, 16))'), SIGNATURE, dict(N=16))


HINTS_ACROSS_CALLS = """
@jit
def place(start, N: tl.constexpr):
    start = tl.multiple_of(start, N)
    own = tl.max_contiguous(start + tl.arange(0, N), N)
    return own

@jit
def kernel(x, n, N: tl.constexpr):
    start = tl.program_id(0) * N
    offsets = tl.multiple_of(place(start, N), N)
    tl.store(x + offsets, start)
    row = tl.multiple_of(tl.program_id(0) * N, N)
    tl.store(x + row, n)
"""


def test_hints_on_arguments_and_results_of_calls_are_lost_as_in_triton() -> None:
    text = check(HINTS_ACROSS_CALLS, {"x": "*i32", "n": "i32"}, {"N": 16})
    assert text.count("tt.divisibility") == 1
    assert text.count("tt.contiguity") == 1


HINTS_IN_LOOPS = """
@jit
def inner(p, m, N: tl.constexpr):
    tl.multiple_of(p, 32)
    own = p + 1
    for j in range(m):
        own = tl.multiple_of(own, 4) + j
    return own

@jit
def kernel(x, n, N: tl.constexpr):
    p = x + tl.arange(0, N)
    q = p + n
    other = q + 1
    at = n * 2
    for i in range(n):
        tl.multiple_of(p, 16)
        tl.multiple_of(other, 64)
        tl.multiple_of(i, 8)
        q += N
        tl.max_contiguous(q, N)
        k = at + 3
        for j in range(i, n):
            p += j
            tl.max_constancy(tl.multiple_of(p, 2), 4)
            tl.max_contiguous(q, 8)
            k += 1
            tl.multiple_of(at, 4)
        p += N
        tl.store(p, k)
        tl.store(q, inner(at, n, N))
        at += n
    while at < n:
        tl.multiple_of(at, 128)
        at = at * 2
    tl.store(other, at)
"""


def test_hints_about_what_loops_carry() -> None:
    """The op has them that makes the first value, and the loop by the number of its argument."""
    text = check(HINTS_IN_LOOPS, {"x": "*i32", "n": "i32"}, {"N": 16})
    assert text.count("tt.divisibility = dense<16>") == 1
    assert text.count("tt.divisibility_arg1 = dense<16>") == 1
    assert "tt.divisibility_arg0 = dense<128>" in text


def test_printing_while_compiling(capsys: pytest.CaptureFixture[str]) -> None:
    source = _kernel(
        'tl.static_print("N =", N, v.dtype, sep=" ", end="!\\n")', "tl.static_print(v.shape)"
    )
    our_module(source, SIGNATURE, dict(N=16))
    assert capsys.readouterr().out == "N = 16 fp32!\n(16,)\n"


def test_tensors_printed_while_compiling_are_their_types(
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = _kernel("tl.static_print(v)", "tl.static_print(v[:, None], n)")
    our_module(source, SIGNATURE, dict(N=16))
    expected = "fp32[constexpr[16]]\nfp32[constexpr[16], constexpr[1]] int32[]\n"
    assert capsys.readouterr().out == expected


def test_asserting_while_compiling() -> None:
    held = _kernel("tl.static_assert(N == 16)", 'tl.static_assert(v.dtype.is_fp32(), "fp32")')
    assert "assert" not in our_text(held, SIGNATURE, dict(N=16))
    with pytest.raises(CompileError, match="N is odd"):
        our_module(
            _kernel('tl.static_assert(N % 2 == 0, "N is odd")').replace("N)", "16)"),
            SIGNATURE,
            dict(N=15),
        )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tl.static_assert(n > 0)", "Assertion condition could not be determined at compile-time: it is int1[]"),
        ("tl.device_print(n)", "is not string: the first argument of device_print is a string"),
        ("tl.device_print('häh', n)", "is not an ascii string"),
        ("tl.multiple_of(o, [8, 8])", "Shape of input to multiple_of does not match the length of values"),
        ("tl.max_contiguous(n, [8])", "Shape of input to max_contiguous does not match the length of values"),
        ("tl.multiple_of(o, [1.5])", "values element 0 must have type `constexpr[int]`, got `float`"),
        ("tl.multiple_of(o, n)", "tensor"),
    ],
)  # fmt: skip
def test_wrong_calls_say_what_is_wrong(line: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        our_module(_kernel(line), SIGNATURE, dict(N=16))
    assert message in str(caught.value)
