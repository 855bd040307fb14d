"""The text of kernels: one statement an op, in the vendor's API, with the user's lines."""

from pathlib import Path

import pytest

from tests.targets.tenstorrent.machine.gemm_ir import TEXT, TYPES, kernels_of
from tilewright.dialects.tensix import Tensix
from tilewright.targets.cxx.errors import CannotEmit
from tilewright.targets.tenstorrent.emit import compute, dataflow, integers
from tilewright.targets.tenstorrent.emit.emitter import Api
from tilewright.targets.tenstorrent.emit.kernels import emit_kernel
from tilewright.targets.tenstorrent.machine import translate

OPS = Path(__file__).parents[3] / "lit" / "tensix" / "ops.mlir"

COMPUTE = """\
#include <cstdint>

#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"

void kernel_main() {
  const uint32_t count = get_arg_val<uint32_t>(0);
  const uint32_t kt = get_arg_val<uint32_t>(1);
  constexpr uint32_t cb_A = tt::CBIndex::c_0;
  constexpr uint32_t cb_B = tt::CBIndex::c_1;
  constexpr uint32_t cb_C = tt::CBIndex::c_16;
  compute_kernel_hw_startup<SrcOrder::Reverse>(cb_A, cb_B, cb_C);
  matmul_init(cb_A, cb_B);
  for (uint32_t i = 0; i < count; ++i) {
    tile_regs_acquire();
    for (uint32_t k = 0; k < kt; ++k) {
      cb_wait_front(cb_A, 1);
      cb_wait_front(cb_B, 1);
      matmul_tiles(cb_A, cb_B, 0, 0, 0);
      cb_pop_front(cb_A, 1);
      cb_pop_front(cb_B, 1);
    }
    tile_regs_commit();
    tile_regs_wait();
    cb_reserve_back(cb_C, 1);
    pack_tile(0, cb_C);
    cb_push_back(cb_C, 1);
    tile_regs_release();
  }
}
"""

READER_LOOP = """\
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t by = (start_id + i) / nt;
    const uint32_t bx = (start_id + i) % nt;
    for (uint32_t k = 0; k < kt; ++k) {
      cb_reserve_back(cb_A, 1);
      const uint32_t write_ptr = get_write_ptr(cb_A);
      noc_async_read_page(by * kt + k, A, write_ptr);
      cb_reserve_back(cb_B, 1);
      const uint32_t write_ptr_1 = get_write_ptr(cb_B);
      noc_async_read_page(k * nt + bx, B, write_ptr_1);
      noc_async_read_barrier();
      cb_push_back(cb_A, 1);
      cb_push_back(cb_B, 1);
    }
  }
"""


def test_a_gemm():
    kernels = kernels_of(TEXT)
    assert emit_kernel(kernels["compute"], comments=False) == COMPUTE
    reader = emit_kernel(kernels["reader"], comments=False)
    assert READER_LOOP in reader
    assert "  const auto B = TensorAccessor(B_args, b_addr);\n" in reader
    writer = emit_kernel(kernels["writer"], comments=False)
    assert "    noc_async_write_page(start_id + i, C, read_ptr);\n" in writer


def test_statements_carry_the_line_they_come_from():
    text = emit_kernel(kernels_of(TEXT)["compute"])
    assert "      // gemm.mlir:53\n      matmul_tiles(cb_A, cb_B, 0, 0, 0);\n" in text


@pytest.mark.parametrize(
    ("kernel", "statement"),
    [
        ("reader", "page[i] = (i & 240) == 0 ? 0x3f80 : 0;"),
        (
            "reader",
            "noc_async_write_multicast(write_ptr, "
            "get_noc_multicast_addr(1, 1, by, bx, write_ptr), a_page, 1);",
        ),
        ("reader", "noc_semaphore_inc(get_noc_addr(by, bx, sem_ready), 1);"),
        ("reader", "const uint32_t band_rows = rows_left < 4 ? rows_left : 4;"),
        ("compute", "matmul_init(cb_0, cb_1, 1);"),
        ("compute", "matmul_block_init(cb_0, cb_1, 0, 2, 2, 1);"),
        ("compute", "matmul_block(cb_0, cb_1, 0, 0, 0, 0, 2, 2, 1);"),
        ("compute", "add_init(cb_0, cb_1, true);"),
        ("compute", "mul_tiles_bcast<BroadcastType::COL>(cb_0, cb_1, 0, 0, 0);"),
        ("compute", "reduce_init<PoolType::SUM, ReduceDim::REDUCE_ROW>(cb_0, cb_1, cb_16);"),
        ("compute", "rsub_unary_tile(0, 0x00000001);"),
        ("compute", "binary_max_tile(0, 1, 0);"),
        ("compute", "fill_tile(0, 1.0f);"),
        ("compute", "pack_tile<true>(0, cb_24, 1);"),
        ("writer", "noc_async_writes_flushed();"),
    ],
)
def test_every_op_is_one_call(kernel, statement):
    assert f"  {statement}\n" in emit_kernel(kernels_of(OPS.read_text())[kernel])


def test_a_division_by_a_scalar_passes_the_reciprocal():
    text = f"""{TYPES}
tensix.kernel @compute role(compute) {{
  %a = tensix.cb 0 : !cb
  %z = arith.constant 0 : index
  %four = arith.constant {0x40800000} : index
  tensix.hw_startup %a, %a, %a : !cb, !cb, !cb
  tensix.init copy (%a) : !cb
  tensix.init unary_scalar
  tensix.dst_acquire
  tensix.copy_tile %a[%z] -> %z : !cb
  tensix.unary_scalar div %z, %four
  tensix.dst_commit
  tensix.dst_wait
  tensix.dst_release
}}"""
    assert "  div_unary_tile(0, 0x3e800000);\n" in emit_kernel(kernels_of(text)["compute"])


def test_an_order_without_a_closed_form_is_a_table():
    text = f"""{TYPES}
tensix.kernel @reader role(reader) {{
  %t = tensix.arg 0 "t"
  %rows = arith.constant 2 : index
  %columns = arith.constant 4 : index
  %by, %bx = tensix.raster z_order %t, %rows, %columns
  %s = tensix.sem 0
  tensix.sem_set %s, %by
  tensix.sem_set %s, %bx
}}"""
    found = emit_kernel(kernels_of(text)["reader"])
    assert "constexpr uint16_t block_ids[8] = {\n    0, 1, 4, 5, 2, 3, 6, 7,\n};\n" in found
    assert "const uint32_t block_id = block_ids[t];" in found
    assert "uint32_t*>(sem0), block_id / 4);" in found


def test_an_op_of_another_level_is_refused():
    kernels = kernels_of(TEXT)
    kernels["compute"].role_name = kernels["reader"].role_name
    with pytest.raises(CannotEmit, match=r"'tensix.hw_startup' cannot be emitted"):
        emit_kernel(kernels["compute"])


def test_emitters_and_executor_handle_the_same_ops():
    emitted = {**integers.RULES, **dataflow.CIRCULAR_BUFFERS, **dataflow.RULES, **compute.RULES}
    executed = translate.__globals__["_RULES"]
    before_the_split = {
        op.name for op in Tensix.operations if not any(role for role in getattr(op, "ROLES", ()))
    }
    of_kernels = {op.name for op in Tensix.operations} - before_the_split | {"tensix.end"}
    assert of_kernels <= set(emitted)
    assert of_kernels <= set(executed)
    assert set(emitted) == set(executed), "integer arithmetic, too"


def test_the_older_level_of_the_api():
    kernels = kernels_of(TEXT)
    compute = emit_kernel(kernels["compute"], api=Api.OLDER, comments=False)
    assert '#include "compute_kernel_api/matmul.h"\n' in compute
    assert "namespace NAMESPACE {\nvoid MAIN {\n" in compute
    assert "  mm_init(cb_A, cb_B, cb_C);\n  mm_init_short(cb_A, cb_B);\n" in compute
    assert "      matmul_tiles(cb_A, cb_B, 0, 0, 0, 0);\n" in compute
    reader = emit_kernel(kernels["reader"], api=Api.OLDER, comments=False)
    assert (
        "  const InterleavedAddrGenFast<true> A = {.bank_base_address = a_addr, "
        ".page_size = 2048, .data_format = DataFormat::Float16_b};\n" in reader
    )
    assert "      noc_async_read_tile(by * kt + k, A, write_ptr);\n" in reader
    every = emit_kernel(kernels_of(OPS.read_text())["compute"], api=Api.OLDER, comments=False)
    for statement in (
        "mm_block_init_short(cb_0, cb_1, 0, 2, 2, 1);",
        "add_tiles_init(cb_0, cb_1, true);",
        "mul_bcast_cols_init_short(cb_0, cb_1);",
        "transpose_wh_init_short(cb_24);",
        "transpose_wh_tile(cb_24, 0, 1);",
    ):
        assert f"  {statement}\n" in every
