"""Shapes, creation and constants: result types, refusals and ops as in Triton."""

import pytest

pytest.importorskip("triton", reason="the outcomes are compared with Triton's")

from tests.language.tl import against_triton
from tests.language.tl.outcomes import Batch, Case, check

PARAMETERS = {"a": "fp32", "n": "i32", "p": "*fp16"}
PROLOGUE = (
    "x = tl.broadcast_to(a, 16)",
    "y = tl.broadcast_to(a, 8)",
    "m = tl.broadcast_to(a, 16, 16)",
    "t = tl.broadcast_to(a, 2, 16, 4)",
    "one = tl.broadcast_to(n, 1)",
    "k = tl.full((16,), 1, tl.int32)",
    "km = tl.full((8, 16), 2.5, tl.float32)",
    "row = tl.full((1, 16), 3, tl.int32)",
)

INDEXING = """
x[None, :]; x[:, None]; x[None]; x[:, None, None]; x[:]; x[None, :, None]; m[:, None, :]; a[None]
a[None, None]; k[None, :]; k[:, None]; x[0]; x[:, :]; x[1:]; x[::2]; x[n]; x[:, None, :]; a[:]
"""
BROADCASTING = """
m + x; x + m; m + x[:, None]; x[:, None] + x[None, :]; t + a; a * m; x - y
t + x; t + x[:, None]; m + t; k + x[:, None]; k[:, None] * k; km + k; km + k[:, None]; one + x
tl.broadcast(x, m); tl.broadcast(x, y); tl.broadcast(a, x); tl.broadcast_to(x, 16)
tl.broadcast_to(x, (16,)); tl.broadcast_to(x, [16]); tl.broadcast_to(x, 4, 16)
tl.broadcast_to(x[None, :], 8, 16); x[:, None].broadcast_to((16, 2)); tl.broadcast_to(k[None, :], 8, 16)
tl.broadcast_to(x, 3); tl.broadcast_to(x, 8); tl.broadcast_to(a, (4, 4)); tl.broadcast_to(p, 2)
tl.broadcast_to(a, 2**21); tl.broadcast_to(k, 16); tl.broadcast_to(row, 8, 16); row + km; row + m
tl.full((8, 1), 2, tl.int32) + row; tl.full((8, 1), 1.5, tl.float32) * tl.broadcast_to(a, 1, 16)
tl.where(row > 2, km, row); tl.broadcast(row, km); tl.broadcast_to(tl.full((1, 1), 1, tl.int1), 4, 4)
"""
RESHAPING = """
tl.reshape(m, 256); m.reshape(4, 64); m.reshape([64, 4]); m.reshape((2, 2, 64)); m.reshape(16, 15)
m.reshape(128); m.reshape(16, 16, can_reorder=True); tl.view(m, 256); m.view(8, 32); k.reshape(4, 4)
km.reshape(128); tl.reshape(one, ()); one.item(); x.item(); n.item(); x.reshape(16); x.reshape(2, 8)
tl.reshape(x, []); tl.full((1,), 3, tl.int32).item(); row.reshape(16); row.reshape(1, 16)
"""
PERMUTING = """
tl.trans(m); m.T; x.T; t.T; tl.trans(t); tl.trans(t, 2, 0, 1); tl.trans(t, (2, 1, 0)); t.trans([1, 0, 2])
tl.permute(t, (0, 2, 1)); t.permute(1, 0, 2); tl.permute(t, 0, 1); tl.permute(t, 0, 0, 1); tl.trans(x)
tl.trans(km); km.permute(1, 0); tl.permute(t, -1, 0, 1); tl.trans(x, 0); tl.permute(t, 0, 1, 2); row.T; tl.permute(row, 0, 1)
"""
DIMENSIONS = """
tl.expand_dims(x, 0); tl.expand_dims(x, 1); tl.expand_dims(x, -1); x.expand_dims(axis=(0, 2))
tl.expand_dims(x, [0, 1]); tl.expand_dims(x, 3); tl.expand_dims(x, -3); tl.expand_dims(x, (0, 0))
tl.expand_dims(a, 0); tl.expand_dims(a, (0, 1)); tl.expand_dims(3, 0); tl.expand_dims(m, (1, 3))
tl.expand_dims(k, 1); row[None, :, :]; row[:, None]
"""
JOINING = """
tl.join(x, x); tl.join(a, a); tl.join(a, x); tl.join(m, x); tl.join(x, y); tl.join(k, k)
tl.split(tl.join(x, x)); tl.join(a, a).split(); tl.split(x); tl.split(t); tl.split(tl.join(m, m))
tl.cat(x, x); tl.cat(m, m, dim=1); tl.cat(m, m, dim=-1); tl.cat(x, x, can_reorder=True); tl.cat(m, m)
tl.cat(x, m); tl.cat(x, y); tl.cat(m, m, dim=2); tl.cat(m, m, True); tl.cat(t, t, dim=1); tl.cat(k, k)
"""
CREATION = """
tl.arange(0, 16); tl.arange(5, 21); tl.arange(0, 1); tl.arange(0, 3); tl.arange(4, 4); tl.arange(8, 0)
tl.arange(0, 2**33); tl.arange(0, n); tl.arange(-8, 8); tl.arange(1, 1025)
tl.full((4, 8), 1.5, tl.float16); tl.full((16,), a, tl.float32); tl.full((16,), a, tl.float16)
tl.full((), 3, tl.int32); tl.full([], 1.5, tl.bfloat16); tl.full((16,), 300, tl.int8)
tl.full((16,), 1.5, tl.int32); tl.full((16,), 0.0, tl.int32); tl.full((16,), -1, tl.uint8)
tl.full((16,), 2**63, tl.uint64); tl.full((16,), 2**63, tl.int64); tl.full((16,), 2**40, tl.int32)
tl.full((16,), True, tl.float32); tl.full((16,), 3.7, tl.int1); tl.full((16,), 0.0, tl.int1)
tl.full((16,), 1.5, tl.float8e5); tl.full((16,), float("inf"), tl.float32)
tl.full((16,), float("-inf"), tl.float16); tl.full((16,), float("nan"), tl.bfloat16)
tl.full((16,), float("nan"), tl.float64); tl.full((16,), 1e300, tl.float32); tl.full((16,), x, tl.float32)
tl.full((16,), one, tl.int32); tl.full((3,), 1, tl.int32); tl.full((16, 1), n, tl.int64)
tl.full((16,), 0.1, tl.float16); tl.full((16,), 65519.9999, tl.float16); tl.full((16,), 65520, tl.float16)
tl.full((16,), 0.3, tl.bfloat16); tl.full((16,), 123456.789, tl.bfloat16); tl.full((16,), -2, tl.int16)
tl.program_id(0); tl.program_id(1); tl.program_id(axis=2); tl.program_id(3); tl.num_programs(0)
tl.num_programs(axis=2); tl.num_programs(-1); k + k; -k; ~k; k.to(tl.float32); k.to(tl.int1); k << 2
k.to(tl.int64); km.to(tl.float16); km.to(tl.float8e5); tl.where(k > 0, km, 0); k.to(tl.uint32)
"""
LITERALS = """
True; 0; 3; -3; 2**31 - 1; 2**31; -(2**31); -(2**31) - 1; 2**32 - 1; 2**32; 2**63 - 1; 2**63; 2**64 - 1; 2**64
-(2**63); -(2**63) - 1; 0.0; -0.0; 1.5; 3.4028234663852886e38; 3.4028235677973366e38; 1e300; 2.0**-126; 2.0**-127; 1e-40
float("inf"); float("-inf"); float("nan"); 0.1; 1e-30; 16777217.0; None; "text"
"""

TEXTS = {
    "indexing": INDEXING,
    "broadcasting": BROADCASTING,
    "reshaping": RESHAPING,
    "permuting": PERMUTING,
    "dimensions": DIMENSIONS,
    "joining": JOINING,
    "creation": CREATION,
}


def split(text: str) -> list[str]:
    return [
        each.strip()
        for line in text.strip().splitlines()
        for each in line.split(";")
        if each.strip()
    ]


@pytest.mark.parametrize("name", TEXTS)
def test_same_as_triton(name: str) -> None:
    cases = [Case(text) for text in split(TEXTS[name])]
    good, refused = check(Batch(PARAMETERS, PROLOGUE, cases))
    assert good
    assert refused


def test_type_of_a_number() -> None:
    cases = [Case(f"tl.to_tensor({text})") for text in split(LITERALS)]
    good, refused = check(Batch(PARAMETERS, PROLOGUE, cases))
    assert (good, refused) == (len(cases) - 4, 4)


LIBRARY = (
    "tl.ravel(m)",
    "m.ravel()",
    "tl.zeros((8, 16), tl.float16)",
    "tl.zeros([16], dtype=tl.int64)",
    "tl.zeros_like(m)",
    "tl.interleave(x, x)",
    "tl.interleave(m, m)",
    "tl.interleave(a, a)",
    "tl.squeeze(x[None, :], 0)",
    "tl.squeeze(x[:, None], -1)",
    "tl.unsqueeze(x, 0)",
    "tl.unsqueeze(m, -1)",
    "tl.unsqueeze(m, 1)",
)


@pytest.mark.parametrize("text", LIBRARY)
def test_functions_that_triton_writes_in_triton(text: str) -> None:
    """There they are calls; the ops inside are the same. An assertion keeps them alive."""
    lines = [*PROLOGUE, f"r = {text}", "tl.device_assert(r == r)"]
    source = "@jit\ndef kernel(a, n, p):\n" + "".join(f"    {line}\n" for line in lines)
    text = against_triton.check(source, PARAMETERS, debug=True)
    assert "tt.assert" in text


OVERFLOWING = """
@jit
def kernel(a, b, c, d):
    x = tl.broadcast_to(a, 16) + b
    y = tl.broadcast_to(c, 16) * c - 1
    z = d + d
    w = -x
    v = tl.add(a, b, sanitize_overflow=False)
    tl.device_assert(x > 0)
    tl.device_assert(y > 0)
    tl.device_assert(z > 0)
    tl.device_assert(w > 0)
    tl.device_assert(v > 0)
"""


def test_overflow_is_checked_if_asked_for() -> None:
    parameters = {"a": "i32", "b": "i32", "c": "u8", "d": "i64"}
    text = against_triton.check(OVERFLOWING, parameters, debug=True, sanitize_overflow=True)
    assert text.count("int32 overflow detected for operation add") == 1
    assert text.count("int8 overflow detected for operation") == 2
    assert "int64 overflow" not in text
