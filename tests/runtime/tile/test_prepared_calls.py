"""A call that is repeated launches what its first call launched, and notices what is different.

Each test runs three times: launches through ctypes, launches from C, and the whole call in C.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

import tilewright as tw
from tests.runtime.cuda.fake_driver import SIZES, FakeDriver, Launch
from tests.runtime.cuda.fake_library import FakeLibrary, exchanging
from tests.runtime.cuda.fake_torch import Tensor, fake_torch
from tilewright import T
from tilewright.runtime.cuda.driver import using
from tilewright.runtime.cuda.native import native, reason

SIZE = 1024
BYTES = 4 * SIZE


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = fake_torch()
    monkeypatch.setitem(sys.modules, "torch", made)
    made.empty = lambda shape, dtype, device: Tensor(0x900000, tuple(shape), dtype)
    device = property(lambda self: f"cuda:{self.index}")
    monkeypatch.setattr(Tensor, "device", device, raising=False)
    return made


@pytest.fixture(params=["ctypes", "launches in C", "calls in C"])
def cuda(request: pytest.FixtureRequest) -> Iterator[FakeDriver]:
    if request.param == "ctypes":
        with using(library := FakeDriver()):
            yield library
        return
    if native() is None:
        pytest.skip(f"no launcher in C: {reason()}")
    shown = exchanging(Tensor) if request.param == "calls in C" else nullcontext()
    with using(library := FakeLibrary()), shown:
        yield library


def reading(cuda: FakeDriver, kernel: Any) -> Any:
    """The kernel, of whose parameters the driver knows the sizes."""
    (made,) = kernel.gpu.program.kernels.values()
    cuda.sizes = [SIZES[kind] for kind in made.metadata.parameters]
    return kernel


def numbers_of(launch: Launch, form: str) -> list[Any]:
    """The parameters that have the size of a number."""
    size = struct.calcsize(form)
    return [struct.unpack(form, each)[0] for each in launch.parameters if len(each) == size]


def scaled(*, out_idx: int | None = None) -> Any:
    n = T.dynamic("n")

    @T.prim_func
    def main(
        A: T.Tensor((n,), "float32"),
        B: T.Tensor((n,), "float32"),
        factor: T.float32,
        C: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            for i in T.Parallel(128):
                C[bx * 128 + i] = A[bx * 128 + i] * factor + B[bx * 128 + i]

    return tw.compile(main, out_idx, target="cuda:sm_90a")


def vectors(torch: Any, count: int, *, size: int = SIZE, first: int = 0x100000) -> list[Any]:
    return [Tensor(first + 0x10000 * n, (size,), torch.float32) for n in range(count)]


def test_a_repeated_call_launches_the_same(torch: Any, cuda: FakeDriver) -> None:
    kernel = reading(cuda, scaled())
    a, b, c = vectors(torch, 3)
    for _ in range(4):
        assert kernel(a, b, 2.0, c) is None
    assert len(kernel.gpu.prepared) == 1
    first, *others = cuda.launches
    assert len(others) == 3
    for each in others:
        assert (each.grid, each.block, each.stream) == (first.grid, first.block, first.stream)
        assert each.parameters == first.parameters


def test_calls_are_in_c_where_tensors_can_be_viewed_from_there(
    torch: Any, cuda: FakeDriver
) -> None:
    kernel = reading(cuda, scaled())
    for _ in range(2):
        kernel(*vectors(torch, 2), 2.0, Tensor(0x180000, (SIZE,), torch.float32))
    (prepared,) = kernel.gpu.prepared
    (launcher,) = kernel.gpu.device._launchers.values()
    assert (launcher.native is not None) == isinstance(cuda, FakeLibrary)
    is_viewed = hasattr(Tensor, "__dlpack_c_exchange_api__")
    assert (type(prepared).__name__ == "Call") == is_viewed


def test_addresses_are_those_of_the_call(torch: Any, cuda: FakeDriver) -> None:
    kernel = reading(cuda, scaled())
    for first in (0x100000, 0x100000, 0x200000, 0x300000):
        kernel(
            *vectors(torch, 2, first=first), 2.0, Tensor(first + 0x80000, (SIZE,), torch.float32)
        )
    starts = [min(numbers_of(each, "<Q")) for each in cuda.launches]
    assert starts == [0x100000, 0x100000, 0x200000, 0x300000]


def test_other_sizes_and_numbers_are_noticed(torch: Any, cuda: FakeDriver) -> None:
    kernel = reading(cuda, scaled())
    for size, factor in ((SIZE, 2.0), (SIZE, 2.0), (512, 2.0), (SIZE, 3.0), (SIZE, 2.0)) * 2:
        a, b, c = vectors(torch, 3, size=size)
        kernel(a, b, factor, c)
        launch = cuda.launches[-1]
        assert launch.grid == (size // 128, 1, 1)
        assert factor in numbers_of(launch, "<f")
    assert 1 < len(kernel.gpu.prepared) <= 4


def test_zeros_of_both_signs_are_different(torch: Any, cuda: FakeDriver) -> None:
    kernel = reading(cuda, scaled())
    a, b, c = vectors(torch, 3)
    for factor in (0.0, -0.0, 0.0, -0.0, -0.0):  # the bits of 0.0 are those of no other parameter
        kernel(a, b, factor, c)
        assert struct.pack("<f", factor) in cuda.launches[-1].parameters


@pytest.mark.parametrize("number", [True, 2])
def test_a_number_of_another_type_is_checked_again(
    torch: Any, cuda: FakeDriver, number: object
) -> None:
    kernel = reading(cuda, scaled())
    a, b, c = vectors(torch, 3)
    for _ in range(3):
        kernel(a, b, 1.0 if number is True else 2.0, c)
    known = len(kernel.gpu._calls)
    kernel(a, b, number, c)
    assert len(kernel.gpu._calls) == known + 1


def test_arrays_that_share_bytes_get_the_kernel_for_that(torch: Any, cuda: FakeDriver) -> None:
    kernel = reading(cuda, scaled())
    a, b, c = vectors(torch, 3)
    for _ in range(3):
        kernel(a, b, 2.0, c)
    plain = cuda.launches[-1].function
    for shared in (a, Tensor(a.address + BYTES - 16, (SIZE,), torch.float32)):
        kernel(a, b, 2.0, shared)
    assert len(kernel.gpu._others) == 1
    beside = Tensor(b.address + BYTES, (SIZE,), torch.float32)
    kernel(a, b, 2.0, beside)
    assert cuda.launches[-1].function == plain


def test_what_is_wrong_has_its_message(torch: Any, cuda: FakeDriver) -> None:
    kernel = reading(cuda, scaled())
    a, b, c = vectors(torch, 3)
    for _ in range(3):
        kernel(a, b, 2.0, c)
    launched = len(cuda.launches)
    with pytest.raises(ValueError, match=r"main\.C is misaligned"):
        kernel(a, b, 2.0, Tensor(c.address + 4, (SIZE,), torch.float32))
    with pytest.raises(TypeError, match=r"main\.B has dtype float16"):
        kernel(a, Tensor(b.address, (SIZE,), torch.float16), 2.0, c)
    with pytest.raises(TypeError, match="takes 4 arguments"):
        kernel(a, b, 2.0)
    with pytest.raises(ValueError, match=r"main\.B is on device cuda:1"):
        kernel(a, Tensor(b.address, (SIZE,), torch.float32, 1), 2.0, c)
    assert len(cuda.launches) == launched


def test_outputs_are_made_by_every_call(torch: Any, cuda: FakeDriver) -> None:
    kernel = reading(cuda, scaled(out_idx=-1))
    a, b = vectors(torch, 2)
    made = [kernel(a, b, 2.0) for _ in range(4)]
    assert len({id(each) for each in made}) == 4
    assert {each.shape for each in made} == {(SIZE,)}
    assert all(0x900000 in numbers_of(each, "<Q") for each in cuda.launches)


def test_tensor_maps_are_encoded_once_for_an_address(torch: Any, cuda: FakeDriver) -> None:
    @T.prim_func
    def copy(A: T.Tensor((256, 64), "float16"), B: T.Tensor((256, 64), "float16")):
        with T.Kernel(2, threads=128) as bx:
            tile = T.alloc_shared((128, 64), "float16")
            T.copy(A[bx * 128, 0], tile)
            T.copy(tile, B[bx * 128, 0])

    kernel = reading(cuda, tw.compile(copy, target="cuda:sm_90a"))
    maps = cuda.sizes.count(SIZES["tensormap"])
    for first in (0x100000, 0x100000, 0x100000, 0x500000, 0x500000):
        a, b = (Tensor(first + 0x100000 * n, (256, 64), torch.float16) for n in range(2))
        kernel(a, b)
    assert len(kernel.gpu.prepared) == 1
    addresses = [each["address"] for each in cuda.maps]
    assert sorted(addresses) == sorted(set(addresses))
    assert len(addresses) == 2 * maps > 0
    *_, before, last = cuda.launches
    assert before.parameters == last.parameters != cuda.launches[0].parameters
