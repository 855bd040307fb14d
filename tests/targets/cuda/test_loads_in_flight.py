"""The loads that compiled code has in flight, as its instructions say."""

from __future__ import annotations

import pytest

from tilewright.targets.cuda.loads_in_flight import bytes_in_flight
from tilewright.targets.cuda.nvrtc import compile_source

SUM = """
extern "C" __global__ void total(const float4* __restrict__ x, float* y) {{
  float sum = 0;
  #pragma unroll {unroll}
  for (int i = 0; i < 64; ++i) {{
    const float4 v = x[i * 1024 + threadIdx.x];
    sum += v.x + v.y + v.z + v.w;
  }}
  y[threadIdx.x] = sum;
}}
"""


@pytest.mark.parametrize("unroll", [1, 4])
def test_unrolled_loads_are_in_flight_together(unroll: int) -> None:
    cubin = compile_source(SUM.format(unroll=unroll), "sm_90a").cubin
    assert bytes_in_flight(cubin, "total") == 16 * unroll


def test_a_load_whose_address_is_loaded_waits() -> None:
    source = """
extern "C" __global__ void chain(const int* x, int* y) { y[threadIdx.x] = x[x[threadIdx.x]]; }
"""
    assert bytes_in_flight(compile_source(source, "sm_90a").cubin, "chain") == 4


def test_nothing_is_known_of_other_code() -> None:
    cubin = compile_source(SUM.format(unroll=1), "sm_90a").cubin
    assert bytes_in_flight(cubin, "other") == 0
    assert bytes_in_flight(b"no machine code", "total") == 0
