"""`tl.device_print` as a GPU prints: one line an element, and one a thread for scalars."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl


@tw.jit
def one(x, N: tl.constexpr, HEX: tl.constexpr):
    tl.device_print("x", tl.load(x + tl.arange(0, N)), hex=HEX)


@tw.jit
def several(x):
    tile = tl.load(x + tl.arange(0, 2)[:, None] * 16 + tl.arange(0, 16)[None, :])
    tl.device_print("", tile, tl.program_id(1))


@tw.jit
def other(x):
    tl.device_print("nothing")
    tl.device_print("address", x)


def printed(capsys: pytest.CaptureFixture[str], kernel, grid, *args, **constants) -> list[str]:
    with tw.running(printing_threads=64):
        kernel[grid](*args, **constants)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (np.array([1, -2], np.int8), ["1", "-2"]),
        (np.array([1, 254], np.uint8), ["1", "254"]),
        (np.array([1.5, -0.0], np.float16), ["1.500000", "-0.000000"]),
        (np.array([2**40, -1], np.int64), [str(2**40), "-1"]),
    ],
)
def test_a_line_an_element(capsys, values: np.ndarray, texts: list[str]) -> None:
    lines = printed(capsys, one, (1,), values, N=2, HEX=False)
    assert lines == [f"pid (0, 0, 0) idx ({i}) x: {text}" for i, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (np.array([1, -2], np.int16), ["0x0001", "0xfffe"]),
        (np.array([1.5, -np.inf], np.float32), ["0x1.8000000000000p+0", "-inf"]),
    ],
)
def test_hexadecimal_elements(capsys, values: np.ndarray, texts: list[str]) -> None:
    lines = printed(capsys, one, (1,), values, N=2, HEX=True)
    assert [line.rpartition(": ")[2] for line in lines] == texts


def test_operands_are_numbered_and_indices_aligned(capsys) -> None:
    lines = printed(capsys, several, (1, 2), np.arange(32, dtype=np.int32))
    assert len(lines) == 2 * (32 + 64)
    assert lines[0] == "pid (0, 0, 0) idx (0,  0): (operand 0) 0"
    assert lines[31] == "pid (0, 0, 0) idx (1, 15): (operand 0) 31"
    assert lines[32:96] == ["pid (0, 0, 0) idx (): (operand 1) 0"] * 64
    assert lines[-1] == "pid (0, 1, 0) idx (): (operand 1) 1"


def test_every_thread_prints_a_text(capsys) -> None:
    counts = Counter(printed(capsys, other, (1,), np.zeros(4, np.int32)))
    (text, _), (address, _) = sorted(counts.items(), reverse=True)
    assert text == "pid (0, 0, 0) nothing"
    assert address.startswith("pid (0, 0, 0) idx () address: 0x")
    assert set(counts.values()) == {64}
