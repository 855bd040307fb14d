"""The record of one buffer: what it accepts, what it refuses, and that it stays as it is."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from tilewright.buffers import CUDABuffer


@pytest.mark.parametrize(
    ("location", "persistent", "kind", "pool"),
    [
        ("shared", False, "is_shared", "shared"),
        ("shared", True, "is_shared", "shared"),
        ("local", True, "is_persistent_local", "persistent"),
        ("local", False, "is_local", "local"),
    ],
)
def test_exactly_one_class(location, persistent, kind, pool):
    buffer = CUDABuffer("b", 3, location, persistent)
    kinds = ("is_shared", "is_persistent_local", "is_local")
    assert [name for name in kinds if getattr(buffer, name)] == [kind]
    assert buffer.pool == pool


def test_defaults():
    buffer = CUDABuffer("b", 3, "local")
    assert (buffer.persistent, buffer.aliases, buffer.precision) == (False, None, np.float32)


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("name", 3, TypeError),
        ("name", None, TypeError),
        ("size", 2.0, TypeError),
        ("size", "2", TypeError),
        ("size", None, TypeError),
        ("location", "global", ValueError),
        ("location", None, ValueError),
        ("persistent", 1, TypeError),
        ("persistent", None, TypeError),
        ("aliases", 5, TypeError),
        ("aliases", b"p", TypeError),
        ("alignment", 12, ValueError),
        ("alignment", 0, ValueError),
        ("alignment", "16", TypeError),
    ],
)
def test_refused(field, value, error):
    with pytest.raises(error, match=f"'{field}' must be"):
        CUDABuffer(**{"name": "b", "size": 3, "location": "shared", field: value})


def test_negative_size():
    with pytest.raises(ValueError, match=r"^'size' must be >= 0: -1$"):
        CUDABuffer("b", -1, "shared")


@pytest.mark.parametrize("size", [0, 7, True, np.int32(7), np.uint8(7), np.int64(0)])
def test_sizes_become_int(size):
    assert type(CUDABuffer("b", size, "shared").size) is int
    assert CUDABuffer("b", size, "shared").size == size


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float16, np.float16),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int32, np.int32),
        (np.int64, np.int64),
        ("float32", np.float32),
        (np.dtype("f8"), np.float64),
        ("i4", np.int32),
        (float, np.float64),
    ],
)
def test_precisions(given, kept):
    assert CUDABuffer("b", 1, "shared", precision=given).precision is kept
    assert CUDABuffer("b", 3, "shared", precision=given).nbytes == 3 * np.dtype(kept).itemsize


@pytest.mark.parametrize(
    "given", [np.complex64, np.uint8, bool, "int8", ">f4", "nonsense", 3, "U4"]
)
def test_other_precisions_are_refused(given):
    message = "^Buffer dtype must be one of float16, float32, float64, int32, or int64$"
    with pytest.raises(ValueError, match=message):
        CUDABuffer("b", 1, "shared", precision=given)


def test_frozen():
    buffer = CUDABuffer("b", 3, "shared")
    with pytest.raises(FrozenInstanceError):
        buffer.size = 4
    assert buffer.size == 3


def test_equal_values_are_equal_records():
    assert CUDABuffer("b", np.int64(3), "shared", precision="f4") == CUDABuffer("b", 3, "shared")
    assert len({CUDABuffer("b", 3, "shared"), CUDABuffer("b", 3, "shared")}) == 1


@pytest.mark.parametrize(
    ("location", "persistent", "given"), [("local", False, 4), ("local", True, 8)]
)
def test_alignment_of_per_thread_memory(location, persistent, given):
    assert CUDABuffer("b", 3, location, persistent, alignment=given).align == given
    message = f"Buffer 'b' requires 16-byte alignment; its per-thread memory has {given}."
    with pytest.raises(ValueError, match=message):
        CUDABuffer("b", 3, location, persistent, alignment=16)


def test_alignment_is_at_least_that_of_an_element():
    assert CUDABuffer("b", 3, "shared", precision="f8", alignment=4).align == 8
    assert CUDABuffer("b", 3, "shared", precision="f8", alignment=128).align == 128
