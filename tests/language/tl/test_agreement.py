"""The advice for two values that should be of one type."""

import pytest
from xdsl.dialects import test

from tilewright.dialects.arith import ConstantOp
from tilewright.language import tl
from tilewright.language.tl.agreement import agreement
from tilewright.language.tl.dtypes import block_type, dtype, pointer_type

BLOCK = block_type(tl.float32, (16, 4))


def written(number: int) -> tuple[object, dtype]:
    return ConstantOp.of(number, tl.int32.to_ir()).results[0], tl.int32


def computed(type: dtype) -> tuple[object, dtype]:
    return test.TestOp(result_types=[type.to_ir()]).results[0], type


@pytest.mark.parametrize(
    ("first", "second", "advice"),
    [
        (written(0), computed(tl.float32), "write 0.0 instead of 0"),
        (computed(tl.float16), written(-3), "write -3.0 instead of -3"),
        (written(1), computed(tl.int64), "convert the int32 with .to(tl.int64)"),
        (computed(tl.int64), computed(tl.float16), "convert the int64 with .to(tl.float16)"),
        (computed(tl.float16), computed(tl.float32), "convert the fp16 with .to(tl.float32)"),
        (
            written(0),
            computed(BLOCK),
            "make it a block from the start, with tl.zeros((16, 4), tl.float32)",
        ),
        (
            computed(block_type(tl.int32, (8,))),
            written(7),
            "make it a block from the start, with tl.full((8,), 7, tl.int32)",
        ),
        (
            computed(BLOCK),
            computed(block_type(tl.float32, (16,))),
            "make both the same shape, or use two names",
        ),
        (computed(pointer_type(tl.float32)), computed(tl.int64), "use two names"),
    ],
)
def test_advice(first, second, advice: str):
    assert agreement(*first, *second) == advice
