"""The host description: limits of the chip, addresses, and the tile layout."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilewright.dialects.tensix.chips import BLACKHOLE, WORMHOLE, chip_named, simulated
from tilewright.targets.tenstorrent.allocation import allocate
from tilewright.targets.tenstorrent.formats import TileFormat, tilize, untilize
from tilewright.targets.tenstorrent.program import (
    Accessor,
    Address,
    Buffer,
    CircularBuffer,
    CircularBufferConfig,
    KernelSource,
    NocX,
    Processor,
    Program,
    ProgramError,
    Sharded,
    Space,
    circular_buffer,
    core_rectangle,
    every_core,
    one_core,
)


def program(*configs: CircularBufferConfig, buffers: tuple[Buffer, ...] = ()) -> Program:
    return Program("p", simulated(2, 2), buffers, (), configs)


def test_budget_and_slots_of_wormhole():
    assert WORMHOLE.cb_budget_bytes == 1_368_064
    assert WORMHOLE.dst_tiles(fp32_dest_acc=False, full_sync=False) == 8
    assert WORMHOLE.dst_tiles(fp32_dest_acc=True, full_sync=False) == 4
    assert WORMHOLE.dst_tiles(fp32_dest_acc=False, full_sync=True) == 16


def test_blackhole_noc_columns_have_a_gap():
    columns = [BLACKHOLE.noc_coordinate(x, 0)[0] for x in range(14)]
    assert columns == [*range(1, 8), *range(10, 17)]


def test_a_grid_that_no_board_has_is_rejected():
    with pytest.raises(ValueError, match="core grid 9x8 does not exist on wormhole: at most 8x10"):
        WORMHOLE.with_grid(9, 8)
    with pytest.raises(ValueError, match="core grid 0x1 is empty: use at least 1x1 cores"):
        WORMHOLE.with_grid(0, 1)
    with pytest.raises(ValueError, match="unknown Tenstorrent chip 'greyskull'"):
        chip_named("greyskull")


@pytest.mark.parametrize("shape", [(1,), (31,), (32, 32), (33, 65), (3, 40, 7), (2, 2, 64, 32)])
def test_tilize_and_back(shape: tuple[int, ...]):
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    pages = tilize(values, fill=-1)
    assert pages.shape[1] == 1024
    assert np.array_equal(untilize(pages, shape), values)
    assert (pages == -1).sum() == pages.size - values.size


def test_element_of_a_tile_is_at_the_offset_of_its_face():
    values = np.arange(1024, dtype=np.float32).reshape(32, 32)
    page = tilize(values)[0]
    for r, c in [(0, 0), (0, 17), (16, 3), (31, 31), (5, 9)]:
        assert page[((r // 16) * 2 + c // 16) * 256 + (r % 16) * 16 + c % 16] == values[r, c]


def test_formats_of_numpy_types():
    assert TileFormat.of(ml_dtypes.bfloat16) is TileFormat.BF16
    assert TileFormat.of(np.float32).tile_bytes == 4096
    with pytest.raises(ValueError, match="element type float64 has no tile format"):
        TileFormat.of(np.float64)


def test_dram_buffers_share_an_address_in_all_banks():
    a, b = Buffer("a", 2048, 25), Buffer("b", 4, 3)
    allocation = allocate(program(buffers=(a, b)))
    assert allocation.address("b") - allocation.address("a") == 3 * 2048
    assert allocation.compile_time_words((7, Accessor("b"), Address("a", 4))) == (
        7,
        2,
        32,
        allocation.address("a") + 4,
    )


def test_circular_buffers_on_one_allocation_share_its_address():
    cores = one_core()
    shared = CircularBufferConfig(
        (CircularBuffer(16, TileFormat.BF16, 2048), CircularBuffer(24, TileFormat.FP32, 4096)),
        8192,
        cores,
    )
    allocation = allocate(
        program(circular_buffer(0, TileFormat.BF16, pages=2, cores=cores), shared)
    )
    assert allocation.cb_addresses == (131072, 131072 + 4096)
    assert [shared.pages(cb) for cb in shared.circular_buffers] == [4, 2]
    assert allocation.l1_used_bytes == 4096 + 8192


def test_shards_of_a_grid_are_rectangles():
    layout = Sharded.grid((4, 4), (2, 2), ((0, 0), (1, 0), (0, 1), (1, 1)))
    assert layout.pages[1] == (2, 3, 6, 7)
    buffer = Buffer("a", 2048, 16, Space.L1, layout)
    config = CircularBufferConfig(
        (CircularBuffer(0, TileFormat.BF16, 2048),), 8192, core_rectangle(2, 2), buffer="a"
    )
    allocation = allocate(program(config, buffers=(buffer,)))
    assert allocation.cb_addresses == allocation.buffer_addresses


def test_too_much_l1_lists_the_circular_buffers():
    config = circular_buffer(0, TileFormat.FP32, pages=400, cores=one_core())
    with pytest.raises(ProgramError) as error:
        allocate(program(config))
    assert str(error.value) == (
        "program 'p': 1638400 B of L1 needed, 1368064 B available on sim: "
        "c_0 1638400 | L1 buffers 0"
    )


def test_a_processor_runs_one_kernel():
    cores = one_core()
    kernels = tuple(
        KernelSource(name, Processor.RISCV_0, cores, text="", runtime_args=every_core(cores, 1))
        for name in ("first", "second")
    )
    with pytest.raises(ProgramError, match="kernels 'first' and 'second' both run on RISCV_0"):
        Program("p", simulated(1, 1), (), kernels).verify()


def test_noc_words_are_not_logical_coordinates():
    allocation = allocate(program())
    assert allocation.runtime_word(NocX((1, 0))) == 19


def test_data_movement_kernels_of_a_core_use_different_nocs():
    cores = one_core()
    kernels = (
        KernelSource("reader", Processor.RISCV_1, cores, text="", noc=0),
        KernelSource("writer", Processor.RISCV_0, cores, text=""),
    )
    with pytest.raises(ProgramError, match="kernels 'reader' and 'writer' both use NoC 0"):
        Program("p", simulated(1, 1), (), kernels).verify()


@pytest.mark.parametrize("processor", [Processor.COMPUTE, Processor.RISCV_1])
def test_circular_buffers_of_both_exponent_widths(processor: Processor):
    core = one_core()
    configs = (
        circular_buffer(0, TileFormat.FP16, pages=2, cores=core),
        circular_buffer(1, TileFormat.FP32, pages=2, cores=core),
        circular_buffer(16, TileFormat.BF16, pages=2, cores=core),
    )
    kernels = (KernelSource("k", processor, core, text="void kernel_main() {}"),)
    described = Program("p", simulated(2, 2), (), kernels, configs)
    if processor is not Processor.COMPUTE:
        described.verify()
        return
    with pytest.raises(ProgramError, match="'k': circular buffers c_0 of fp16 and c_16 of bf16 on"):
        described.verify()
