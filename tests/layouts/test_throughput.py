"""Rates of tensor cores against the peaks that NVIDIA publishes."""

from __future__ import annotations

import pytest

from tilewright.layouts.hardware.throughput import THROUGHPUT

PEAKS = {
    "A100 SXM": (80, 312.0, 108, 1.41),
    "RTX A6000": (86, 154.8, 84, 1.80),
    "RTX 6000 Ada": (89, 364.2, 142, 2.505),
    "H100 SXM": (90, 989.4, 132, 1.83),
    "B200": (100, 2250.0, 148, 1.86),
    "RTX 5090": (120, 419.0, 170, 2.407),
}
"""Architecture, dense TFLOPS with operands of 16 bits, multiprocessors, and GHz of that peak."""
A100_L2_BYTES, A100_MULTIPROCESSORS = 5120, 108


@pytest.mark.parametrize("gpu", PEAKS)
def test_tensor_cores_reach_the_published_peak(gpu: str):
    arch, teraflops, multiprocessors, gigahertz = PEAKS[gpu]
    peak = THROUGHPUT[arch].mma_flops * multiprocessors * gigahertz * 1e9
    assert peak == pytest.approx(teraflops * 1e12, rel=0.01)


def test_the_l2_cache_of_a100_has_the_published_rate():
    assert THROUGHPUT[80].l2_bytes == A100_L2_BYTES // A100_MULTIPROCESSORS
