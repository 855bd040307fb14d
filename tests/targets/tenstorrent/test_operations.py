"""Every operation of the compute API on the machine, against NumPy; all formats of a tile.

One kernel holds all operations; a run-time argument selects one, so that it is compiled once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.targets.tenstorrent.own_programs import COMPUTE, READER, WRITER, kernel
from tilewright.dialects.tensix.chips import simulated
from tilewright.targets.tenstorrent.execution import Numerics, RunOptions, RunResult
from tilewright.targets.tenstorrent.formats import TileFormat, tilize, untilize
from tilewright.targets.tenstorrent.program import (
    Accessor,
    Address,
    Buffer,
    ComputeConfig,
    KernelSource,
    Program,
    circular_buffer,
    every_core,
    one_core,
)
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable, run

F32 = np.float32
ERF = np.vectorize(math.erf)
SCALAR = F32(0.75)
BITS = int(np.array([SCALAR]).view(np.uint32)[0])
Reference = Callable[[np.ndarray, np.ndarray], Any]


@dataclass(frozen=True)
class Operation:
    """Device calls that leave a result in DST slot 0, and the same in NumPy."""

    code: str
    reference: Reference
    positive: bool = False


def unary(name: str, reference: Callable[[np.ndarray], Any], positive: bool = False) -> Operation:
    code = f"copy_tile_init(0); copy_tile(0, 0, 0); {name}_tile_init(); {name}_tile(0);"
    return Operation(code, lambda a, b: reference(a), positive)


def scalar(name: str, reference: Callable[[np.ndarray], Any], init: str | None = None) -> Operation:
    init = init or "binop_with_scalar_tile_init"
    code = f"copy_tile_init(0); copy_tile(0, 0, 0); {init}(); {name}_tile(0, {BITS}u);"
    return Operation(code, lambda a, b: reference(a))


def binary(name: str, reference: Reference, positive: bool = False) -> Operation:
    copies = "copy_tile_init(0); copy_tile(0, 0, 1); copy_tile_init(1); copy_tile(1, 0, 2);"
    return Operation(f"{copies} {name}_tile_init(); {name}_tile(1, 2, 0);", reference, positive)


def broadcast(b: np.ndarray, dim: str) -> np.ndarray:
    return {"ROW": b[:1], "COL": b[:, :1], "SCALAR": b[:1, :1]}[dim]


def reduced(a: np.ndarray, pool: str, dim: str) -> np.ndarray:
    """Column 0, row 0 or element [0, 0] holds the result times the scaler, the rest is zero."""
    out = np.zeros((32, 32), F32)
    function = np.max if pool == "MAX" else np.sum
    if dim == "REDUCE_ROW":
        out[:, 0] = function(a, axis=1) * SCALE
    elif dim == "REDUCE_COL":
        out[0] = function(a, axis=0) * SCALE
    else:
        out[0, 0] = function(a) * SCALE * SCALE
    return out


SCALE = F32(0.5)
COPY_A = "copy_tile_init(0); copy_tile(0, 0, 0);"
OPERATIONS: dict[str, Operation] = {
    "exp": unary("exp", np.exp),
    "exp2": unary("exp2", np.exp2),
    "expm1": unary("expm1", np.expm1),
    "log": unary("log", np.log, True),
    "log1p": unary("log1p", np.log1p, True),
    "recip": unary("recip", lambda a: 1 / a),
    "sqrt": unary("sqrt", np.sqrt, True),
    "rsqrt": unary("rsqrt", lambda a: 1 / np.sqrt(a), True),
    "relu": unary("relu", lambda a: np.maximum(a, 0)),
    "gelu": unary("gelu", lambda a: 0.5 * a * (1 + ERF(a / math.sqrt(2)))),
    "sigmoid": unary("sigmoid", lambda a: 1 / (1 + np.exp(-a))),
    "silu": unary("silu", lambda a: a / (1 + np.exp(-a))),
    "tanh": unary("tanh", np.tanh),
    "softsign": unary("softsign", lambda a: a / (1 + np.abs(a))),
    "square": unary("square", np.square),
    "abs": unary("abs", np.abs),
    "negative": unary("negative", np.negative),
    "sign": unary("sign", np.sign),
    "erf": unary("erf", ERF),
    "erfc": unary("erfc", lambda a: 1 - ERF(a)),
    "gtz": unary("gtz", lambda a: a > 0),
    "eqz": unary("eqz", lambda a: a == 0),
    "add_unary": scalar("add_unary", lambda a: a + SCALAR),
    "sub_unary": scalar("sub_unary", lambda a: a - SCALAR),
    "mul_unary": scalar("mul_unary", lambda a: a * SCALAR),
    "div_unary (host inverts)": scalar("div_unary", lambda a: a * SCALAR),
    "rsub_unary": scalar("rsub_unary", lambda a: SCALAR - a),
    "unary_max": scalar("unary_max", lambda a: np.maximum(a, SCALAR), "unary_max_tile_init"),
    "unary_min": scalar("unary_min", lambda a: np.minimum(a, SCALAR), "unary_min_tile_init"),
    "add_binary": binary("add_binary", np.add),
    "sub_binary": binary("sub_binary", np.subtract),
    "mul_binary": binary("mul_binary", np.multiply),
    "div_binary": binary("div_binary", np.divide),
    "rsub_binary": binary("rsub_binary", lambda a, b: b - a),
    "power_binary": binary("power_binary", np.power, True),
    "eq_binary": binary("eq_binary", np.equal),
    "ne_binary": binary("ne_binary", np.not_equal),
    "lt_binary": binary("lt_binary", np.less),
    "gt_binary": binary("gt_binary", np.greater),
    "le_binary": binary("le_binary", np.less_equal),
    "ge_binary": binary("ge_binary", np.greater_equal),
    "binary_max": binary("binary_max", np.maximum),
    "binary_min": binary("binary_min", np.minimum),
    "fill": Operation("fill_tile_init(); fill_tile(0, 2.5f);", lambda a, b: np.full_like(a, 2.5)),
    "where": Operation(
        f"{COPY_A} copy_tile_init(1); copy_tile(1, 0, 1); gtz_tile_init(); gtz_tile(0); "
        "copy_tile(1, 0, 2); negative_tile_init(); negative_tile(2); where_tile_init(); "
        "where_tile<DataFormat::Float32>(0, 1, 2, 0);",
        lambda a, b: np.where(a > 0, b, -b),
    ),
    "typecast to bf16": Operation(
        f"{COPY_A} typecast_tile_init<0, 5>(); typecast_tile<0, 5>(0);",
        lambda a, b: a.astype(ml_dtypes.bfloat16),
    ),
    "typecast to int32 and back": Operation(
        f"{COPY_A} typecast_tile_init<0, 8>(); typecast_tile<0, 8>(0); "
        "typecast_tile_init<8, 0>(); typecast_tile<8, 0>(0);",
        lambda a, b: np.trunc(a),
    ),
    "matmul": Operation(
        "reconfig_data_format<SrcOrder::Reverse>(0, 1); matmul_init(0, 1); matmul_tiles(0, 1, 0, 0, 0);",
        np.matmul,
    ),
    "matmul transposed, twice": Operation(
        "matmul_init(0, 1, 1); matmul_tiles(0, 1, 0, 0, 0); matmul_tiles(0, 1, 0, 0, 0);",
        lambda a, b: 2 * (a @ b.T),
    ),
    "matmul_block": Operation(
        "matmul_block_init(0, 1, 0, 1, 1, 1); matmul_block(0, 1, 0, 0, 0, 0, 1, 1, 1);", np.matmul
    ),
    "add": Operation("add_init(0, 1); add_tiles(0, 1, 0, 0, 0);", np.add),
    "sub": Operation("sub_init(0, 1); sub_tiles(0, 1, 0, 0, 0);", np.subtract),
    "mul": Operation("mul_init(0, 1); mul_tiles(0, 1, 0, 0, 0);", np.multiply),
    "mul accumulates": Operation(
        f"{COPY_A} mul_init(0, 1); mul_tiles(0, 1, 0, 0, 0);", lambda a, b: a + a * b
    ),
    "add overwrites": Operation(
        f"{COPY_A} add_init(0, 1); add_tiles(0, 1, 0, 0, 0);", lambda a, b: a + b
    ),
    "add with acc_to_dest": Operation(
        f"{COPY_A} add_init(0, 1, true); add_tiles(0, 1, 0, 0, 0);", lambda a, b: 2 * a + b
    ),
    "transpose": Operation("transpose_init(0); transpose_tile(0, 0, 0);", lambda a, b: a.T),
    **{
        f"{name} {dim}": Operation(
            f"bcast_init<EltwiseBinaryType::ELW{name.upper()}, BroadcastType::{dim}>(0, 1); "
            f"{name}_tiles_bcast<BroadcastType::{dim}>(0, 1, 0, 0, 0);",
            lambda a, b, f=f, dim=dim: f(a, broadcast(b, dim)),
        )
        for name, f in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply))
        for dim in ("ROW", "COL", "SCALAR")
    },
    **{
        f"{pool} {dim}": Operation(
            f"reduce_init<PoolType::{pool}, ReduceDim::{dim}>(0, 2, 16); "
            f"reduce_tile<PoolType::{pool}, ReduceDim::{dim}>(0, 2, 0, 0, 0);",
            lambda a, b, pool=pool, dim=dim: reduced(a, pool, dim),
        )
        for pool in ("SUM", "AVG", "MAX")
        for dim in ("REDUCE_ROW", "REDUCE_COL", "REDUCE_SCALAR")
    },
}


def compute_source() -> str:
    cases = "\n".join(
        f"        case {i}: {operation.code} break;"
        for i, operation in enumerate(OPERATIONS.values())
    )
    return f"""
#include "api/compute/compute_kernel_api.h"
void kernel_main() {{
    compute_kernel_hw_startup(0, 1, 16);
    cb_wait_front(0, 1);
    cb_wait_front(1, 1);
    cb_wait_front(2, 1);
    tile_regs_acquire();
    switch (get_arg_val<uint32_t>(0)) {{
{cases}
    }}
    tile_regs_commit();
    tile_regs_wait();
    cb_reserve_back(16, 1);
    pack_tile(0, 16);
    cb_push_back(16, 1);
    tile_regs_release();
    cb_pop_front(0, 1);
    cb_pop_front(1, 1);
    cb_pop_front(2, 1);
}}
"""


def program(compute: KernelSource, into: TileFormat, out: TileFormat) -> Program:
    core = one_core()
    reader = kernel(
        "operands_reader",
        READER,
        core,
        compile_args=(Accessor("a"), Accessor("b"), Accessor("s")),
        runtime_args=every_core(core, Address("a"), Address("b"), Address("s")),
    )
    writer = kernel(
        "writer",
        WRITER,
        core,
        compile_args=(Accessor("out"),),
        runtime_args=every_core(core, Address("out"), 0, 1),
    )
    cbs = tuple(circular_buffer(i, into, pages=1, cores=core) for i in range(3))
    cbs = (*cbs, circular_buffer(16, out, pages=1, cores=core))
    buffers = tuple(Buffer(name, into.tile_bytes, 1) for name in "abs")
    buffers = (*buffers, Buffer("out", out.tile_bytes, 1, output=True))
    return Program("operations", simulated(1, 1), buffers, (reader, compute, writer), cbs)


def operands(positive: bool) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(3)
    low = 0.125 if positive else -2
    a, b = (draw.uniform(low, 2, (32, 32)).astype(F32) for _ in range(2))
    a[3, 4] = b[3, 4]
    return {"a": a, "b": b, "s": np.full((32, 32), SCALE)}


def executed(program: Program, inputs: dict[str, np.ndarray], options: RunOptions) -> RunResult:
    try:
        return run(program, {k: tilize(v) for k, v in inputs.items()}, options).raise_for_findings()
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"operations were NOT tested: {reason}")


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_the_value_of_numpy(name: str):
    core, operation = one_core(), OPERATIONS[name]
    compute = KernelSource(
        "operations",
        COMPUTE,
        core,
        text=compute_source(),
        runtime_args=every_core(core, [*OPERATIONS].index(name)),
        compute=ComputeConfig(fp32_dest_acc=True),
    )
    inputs = operands(operation.positive)
    result = executed(program(compute, TileFormat.FP32, TileFormat.FP32), inputs, RunOptions())
    actual = untilize(np.frombuffer(result.buffers["out"], F32).reshape(-1, 1024), (32, 32))
    expected = np.asarray(operation.reference(inputs["a"], inputs["b"]), dtype=F32)
    # Sums that cancel differ by roundings of their largest terms: NumPy's order is the machine's.
    absolute = 2e-6 * max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(actual, np.broadcast_to(expected, (32, 32)), 2e-6, absolute)


COPY = """
#include "api/compute/tile_move_copy.h"
void kernel_main() {
    compute_kernel_hw_startup(0, 16);
    copy_tile_init(0);
    for (uint32_t cb = 0; cb < 3; ++cb) {
        cb_wait_front(cb, 1);
    }
    tile_regs_acquire();
    copy_tile(0, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    cb_reserve_back(16, 1);
    pack_tile(0, 16);
    cb_push_back(16, 1);
    tile_regs_release();
    for (uint32_t cb = 0; cb < 3; ++cb) {
        cb_pop_front(cb, 1);
    }
}
"""
FLOATS = (TileFormat.FP32, TileFormat.BF16, TileFormat.FP16)
INTEGERS = (TileFormat.INT32, TileFormat.UINT32, TileFormat.UINT16)
PAIRS = [
    (a, b)
    for a in FLOATS
    for b in FLOATS
    if {a, b} != {TileFormat.BF16, TileFormat.FP16}  # no program has both
] + [(a, a) for a in INTEGERS]


@pytest.mark.parametrize(("into", "out"), PAIRS, ids=lambda each: each.value)
def test_a_copy_converts_between_formats(into: TileFormat, out: TileFormat):
    compute = KernelSource("copy", COMPUTE, one_core(), text=COPY)
    draw = np.random.default_rng(5)
    if into in FLOATS:
        values = draw.normal(size=(32, 32)).astype(into.dtype)
    else:
        values = draw.integers(0, 60000, (32, 32)).astype(into.dtype)
    result = executed(
        program(compute, into, out), {"a": values, "b": values, "s": values}, RunOptions()
    )
    actual = np.frombuffer(result.buffers["out"], out.dtype).reshape(-1, 1024)
    np.testing.assert_array_equal(untilize(actual, (32, 32)), values.astype(out.dtype))


def test_device_like_unpacking_truncates_fp32_to_tf32():
    compute = KernelSource(
        "copy", COMPUTE, one_core(), text=COPY, compute=ComputeConfig(fp32_dest_acc=True)
    )
    values = np.random.default_rng(6).normal(size=(32, 32)).astype(F32)
    inputs = {"a": values, "b": values, "s": values}
    options = RunOptions(numerics=Numerics.DEVICE)
    result = executed(program(compute, TileFormat.FP32, TileFormat.FP32), inputs, options)
    actual = untilize(np.frombuffer(result.buffers["out"], F32).reshape(-1, 1024), (32, 32))
    expected = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(F32)
    np.testing.assert_array_equal(actual, expected)
    narrow = replace(compute, compute=ComputeConfig())
    result = executed(program(narrow, TileFormat.FP32, TileFormat.FP32), inputs, options)
    actual = untilize(np.frombuffer(result.buffers["out"], F32).reshape(-1, 1024), (32, 32))
    np.testing.assert_array_equal(actual, expected.astype(ml_dtypes.bfloat16).astype(F32))
