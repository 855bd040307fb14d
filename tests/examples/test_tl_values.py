"""Every `tl` example against NumPy in float64, batched and one program at a time."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilewright.runtime.options import running

from .tl_examples import NAMES, load

# A few roundings of the result's type, relative to the largest value in it.
_TOLERANCE = {
    np.dtype(np.float16): 2**-9,
    np.dtype(ml_dtypes.bfloat16): 2**-7,
    np.dtype(np.float32): 2**-17,
}


def _assert_close(result, expected):
    assert result.shape == expected.shape
    if result.dtype.kind in "iu":
        np.testing.assert_array_equal(result, expected)
        return
    scale = max(np.abs(expected).max(), 1.0)
    error = np.abs(result.astype(np.float64) - expected).max()
    assert error <= _TOLERANCE[result.dtype] * scale


def _arrays(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch", [None, 1, 3])
def test_results_agree_with_float64(name, batch):
    with running(batch=batch):
        results, references = load(name).example(np.random.default_rng(7))
    for result, expected in zip(_arrays(results), _arrays(references), strict=True):
        _assert_close(result, expected)


@pytest.mark.parametrize("name", NAMES)
def test_batches_change_no_bit(name):
    module = load(name)
    outcomes = []
    for batch in (None, 1):
        with running(batch=batch):
            results, _ = module.example(np.random.default_rng(8))
        outcomes.append([result.tobytes() for result in _arrays(results)])
    assert outcomes[0] == outcomes[1]
