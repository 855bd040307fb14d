"""``tilelang.cuda.intrinsics.sparse_layout``: the metadata of sparse operands."""

from __future__ import annotations

from tilewright.language.T.dtypes import DTYPES
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.sparse import group_of

_BITS_PER_GROUP = 4
_NAMES = ("float32", "float16", "bfloat16", "int8", "uint8", "float8_e4m3fn", "float8_e5m2")

GROUP_CONFIG = {DTYPES[name]: group_of(DTYPES[name].bits) for name in _NAMES}
"""Elements that are stored, of how many."""


def get_e_factor(a_dtype: object, meta_dtype: object) -> int:
    """How many elements of A one element of E is about."""
    _, group = GROUP_CONFIG[Dtype(a_dtype)]
    return Dtype(meta_dtype).bits // _BITS_PER_GROUP * group


def get_e_replicate_factor(a_dtype: object) -> int:
    """How many neighbouring threads hold the same element of E."""
    return 1 if Dtype(a_dtype).bits <= 8 else 2


class _TorchNames(dict[object, str]):
    """The name of a dtype of torch, without importing torch."""

    def __missing__(self, key: object) -> str:
        return str(Dtype(key))


TORCH_NAMES = _TorchNames()
