"""Equal keys on the short way are equal keys on the ordinary way, whatever the arguments are.

Every value in every position, after a first launch with every kind of value: values that get the
same key on the short way must get the same key on the ordinary way.
"""

import sys

import numpy as np
import pytest

import tilewright as tw
from tests.runtime.cuda.fake_torch import Parameter, Tensor, fake_torch
from tilewright import tl
from tilewright.runtime.pointer import fast_launch as fast_module
from tilewright.runtime.pointer.fast_launch import NotOrdinary, fast_path
from tilewright.runtime.specialise import key_of

TORCH = fake_torch()


@tw.jit(do_not_specialize=["loose"], do_not_specialize_on_alignment=["crooked"])
def kernel(free, loose, crooked, wide: tl.int64, real: tl.float32, const: tl.constexpr):
    tl.store(free, 1)


def tensor(address=0x1000, dtype="float16", kind=Tensor):
    return kind(address, (8, 64), getattr(TORCH, dtype))


def descriptor(block, padding="zero", **options):
    return tw.TensorDescriptor.from_tensor(tensor(**options), block, padding)


VALUES = (
    *(0, 1, -1, 7, 15, 16, 17, 32, -16, 2**31 - 1, 2**31 - 16, 2**31, 2**31 + 1, -(2**31)),
    *(-(2**31) - 1, 2**40, 2**40 + 1, 2**63 - 1, 2**63, 2**63 + 1, -(2**63), 2**64 - 1),
    *(True, False, 0.0, -0.0, 1.0, 16.0, -2.5, None, "text", "other"),
    *((1, 2), (1.0, 2), (True, 2), (1, (2, -0.0)), (1, (2, 0.0))),
    *(np.int32(1), np.int64(16), np.int64(2**40), np.float32(1.0), np.bool_(True)),
    *(
        tensor(address, dtype, kind)
        for address in (0x1000, 0x2000, 0x1008, 0x1001)
        for dtype in ("float16", "bfloat16", "float32")
        for kind in (Tensor, Parameter)
    ),
    *(descriptor([8, 64]), descriptor([4, 64]), descriptor([8, 64], "nan")),
    *(descriptor([8, 64], dtype="bfloat16"), descriptor([8, 64], address=0x2000)),
)
FIRST = (3, 2.5, True, None, tensor(), tensor(kind=Parameter), descriptor([8, 64]))


@pytest.mark.parametrize("position", range(len(kernel.parameters)), ids=kernel.arg_names)
@pytest.mark.parametrize("first", FIRST, ids=lambda value: type(value).__name__)
def test_keys_of_both_ways_agree(monkeypatch, position, first):
    monkeypatch.setitem(sys.modules, "torch", TORCH)
    monkeypatch.setattr(fast_module, "current_device", lambda: 0)
    others = [7, 7, 7, 7, 0.5, 8]

    def call(value):
        return [*others[:position], value, *others[position + 1 :]]

    fast = fast_path(kernel, call(first))
    seen = {}
    for value in VALUES:
        try:
            key = fast.launch((1,), *call(value))
        except (NotOrdinary, TypeError):
            continue
        ordinary, _ = key_of(value, kernel.parameters[position])
        assert key is not None
        assert seen.setdefault(key, ordinary) == ordinary, value
    assert len(seen) > 10
