"""``triton.tools.mxfp``: tensors in the formats of the OCP microscaling specification.

``MXFP4Tensor`` holds E2M1 numbers, one in the low four bits of a byte (sign, two bits of exponent,
one of mantissa), ``MXScaleTensor`` E8M0 scales: powers of two as biased exponents, 255 is NaN.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The magnitudes, by their three bits."""
_HALFWAY = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
"""Between consecutive ones; a tie goes to the even code."""
_SIGN_BIT = 8
_E8M0_BIAS, _E8M0_MAX, _E8M0_NAN = 127, 254, 255


def _torch() -> Any:
    return importlib.import_module("torch")


class _Tensor:
    def __init__(self, data: Any = None, size: Any = None, device: Any = None) -> None:
        if data is None and size is None:
            raise ValueError("Either parameter data or size must be provided")
        self.device = device if data is None else data.device
        if data is not None:
            self.data = self._from_float(data)
        else:
            self.size: Any = size if isinstance(size, tuple) else (size,)

    def _from_float(self, values: Any) -> Any:
        raise NotImplementedError

    def _check_float32(self, dtype: Any) -> None:
        if dtype != _torch().float32:
            raise AssertionError(f"conversion is to float32 only, not to {dtype}")


class MXFP4Tensor(_Tensor):
    """E2M1 numbers, one a byte."""

    def random(self) -> MXFP4Tensor:
        torch = _torch()
        self.data = torch.randint(0, 16, size=self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype: Any) -> Any:
        """As float32."""
        self._check_float32(dtype)
        torch = _torch()
        magnitudes = torch.tensor(_E2M1, dtype=dtype, device=self.data.device)
        values = magnitudes[(self.data & 7).long()]
        return torch.where((self.data & _SIGN_BIT) != 0, -values, values)

    def _from_float(self, values: Any) -> Any:
        """The nearest number; too large, infinite and NaN become the largest."""
        torch = _torch()
        largest = torch.full_like(values, _E2M1[-1])
        finite = torch.where(torch.isfinite(values), values.abs(), largest)
        codes = torch.zeros_like(values, dtype=torch.uint8)
        for code, halfway in enumerate(_HALFWAY):
            # A tie rounds up only to an even code.
            above = finite >= halfway if code % 2 else finite > halfway
            codes += above.to(torch.uint8)
        return codes | (torch.signbit(values).to(torch.uint8) * _SIGN_BIT)

    def to_packed_tensor(self, dim: int) -> Any:
        """Two numbers a byte along `dim`, the first in the low bits; an odd end is padded."""
        if not 0 <= dim < self.data.ndim:
            raise AssertionError(f"dimension {dim} of a tensor with {self.data.ndim}")
        torch = _torch()
        data = self.data
        if data.size(dim) % 2:
            end = list(data.shape)
            end[dim] = 1
            data = torch.cat([data, torch.zeros(end, dtype=data.dtype, device=data.device)], dim)
        pairs = data.unflatten(dim, (data.size(dim) // 2, 2))
        return pairs.select(dim + 1, 0) | (pairs.select(dim + 1, 1) << 4)

    def unpack_packed_tensor(self, packed_tensor: Any, dim: int, original_shape: Any) -> Any:
        """One number a byte again, without the padding of an odd end."""
        torch = _torch()
        pairs = torch.stack((packed_tensor & 0xF, (packed_tensor >> 4) & 0xF), dim=dim + 1)
        data = pairs.flatten(dim, dim + 1)
        return data.narrow(dim, 0, original_shape[dim]).to(torch.uint8)


class MXScaleTensor(_Tensor):
    """E8M0 scales, one a byte."""

    def random(self, low: float | None = None, high: float | None = None) -> MXScaleTensor:
        """Scales from `low` to `high`, never NaN."""
        torch = _torch()
        lower = 0 if low is None else max(0, _biased(low))
        upper = _E8M0_MAX if high is None else min(_E8M0_MAX, max(0, _biased(high)))
        if lower > upper:
            raise AssertionError(f"low {low} is more than high {high}")
        self.data = torch.randint(
            lower, upper + 1, size=self.size, dtype=torch.uint8, device=self.device
        )
        return self

    def to(self, dtype: Any) -> Any:
        """As float32."""
        self._check_float32(dtype)
        torch = _torch()
        values = torch.pow(2.0, self.data.to(dtype) - _E8M0_BIAS)
        return torch.where(self.data == _E8M0_NAN, torch.full_like(values, math.nan), values)

    def _from_float(self, values: Any) -> Any:
        """The power of two not above each value; what is not positive and finite is NaN."""
        torch = _torch()
        valid = torch.isfinite(values) & (values > 0)
        exponents = torch.floor(torch.log2(torch.where(valid, values, torch.ones_like(values))))
        biased = torch.clamp(exponents.to(torch.int32) + _E8M0_BIAS, 0, _E8M0_MAX)
        return torch.where(valid, biased, torch.full_like(biased, _E8M0_NAN)).to(torch.uint8)


def _biased(value: float) -> int:
    return int(math.log2(value)) + _E8M0_BIAS
