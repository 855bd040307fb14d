"""Errors found by a run of a Tenstorrent program on the machine model: TW72xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry


def _entry(code: str, title: str, meaning: str, example: str, fix: str) -> CodeEntry:
    return CodeEntry(code=code, title=title, meaning=meaning, example=example, fix=fix)


ENTRIES = (
    _entry(
        "TW7201",
        "Deadlock",
        "Every unfinished kernel is blocked, or a kernel polls memory without a call. The message "
        "has the call and the circular-buffer or semaphore state of each kernel.",
        "cb_reserve_back(c_0, 1);          // the compute kernel never pops c_0",
        "Match pushes and pops, and reserve only pages that the consumer releases.",
    ),
    _entry(
        "TW7202",
        "Reserve of more pages than the circular buffer has",
        "`cb_reserve_back` can never succeed, because the count exceeds the capacity.",
        "cb_reserve_back(c_0, 4);          // c_0 has 2 pages",
        "Reserve at most the capacity, or give the circular buffer more pages.",
    ),
    _entry(
        "TW7203",
        "Wait for more pages than the circular buffer has",
        "`cb_wait_front` can never succeed, because the count exceeds the capacity.",
        "cb_wait_front(c_0, 4);            // c_0 has 2 pages",
        "Wait for at most the capacity, or give the circular buffer more pages.",
    ),
    _entry(
        "TW7204",
        "Push without reserve",
        "A page is packed or pushed that cb_reserve_back has not claimed: the consumer may still "
        "read it.",
        "cb_push_back(c_16, 1);            // without cb_reserve_back(c_16, 1)",
        "Call cb_reserve_back before the page is written.",
    ),
    _entry(
        "TW7205",
        "Pop without wait",
        "More pages are popped than cb_wait_front has waited for.",
        "cb_pop_front(c_0, 2);             // after cb_wait_front(c_0, 1)",
        "Wait for as many pages as are popped.",
    ),
    _entry(
        "TW7206",
        "Access crosses the end of a circular buffer",
        "Pointers wrap only exactly at the end; a push, a pop or a tile index that crosses it "
        "accesses memory after the buffer.",
        "cb_push_back(c_0, 3);             // c_0 has 4 pages, 3 are already pushed",
        "Choose a capacity that all block sizes divide.",
    ),
    _entry(
        "TW7207",
        "Pages pushed and not popped",
        "A circular buffer is not empty when all kernels have finished.",
        "cb_push_back(c_0, 1);             // no kernel pops it",
        "Pop every page that is pushed.",
    ),
    _entry(
        "TW7208",
        "Read of a tile that was not waited for",
        "A compute kernel unpacks a tile beyond the pages of cb_wait_front.",
        "cb_wait_front(c_0, 1); copy_tile(c_0, 1, 0);",
        "Wait for all tiles that are read.",
    ),
    _entry(
        "TW7209",
        "Read of memory that was not written",
        "The source is poison: no transfer, pack or store has written it, or a transfer into it is "
        "in flight.",
        "noc_async_read_page(i, a, l1); noc_async_write_page(i, c, l1);   // no read barrier",
        "Issue the barrier before the data is used, and write the page before the push.",
    ),
    _entry(
        "TW7210",
        "Push of a page that was not packed",
        "A compute kernel pushes more pages than it has packed since the last push.",
        "cb_reserve_back(c_16, 2); pack_tile(0, c_16); cb_push_back(c_16, 2);",
        "Pack every page before it is pushed.",
    ),
    _entry(
        "TW7211",
        "Push before the read has arrived",
        "A page is pushed, or a kernel ends, while a read into it is in flight. With a multicast, "
        "the flag arrived before the data.",
        "noc_async_read_page(i, a, l1); cb_push_back(c_0, 1);",
        "Call noc_async_read_barrier before the push; on Blackhole, flush between data and flag.",
    ),
    _entry(
        "TW7212",
        "Pop before the write has left",
        "A page is popped, or a kernel ends, while a write from it is in flight.",
        "noc_async_write_page(i, c, l1); cb_pop_front(c_16, 1);",
        "Call noc_async_writes_flushed or noc_async_write_barrier before the pop.",
    ),
    _entry(
        "TW7213",
        "Operation outside its DST section",
        "Math is allowed between tile_regs_acquire and tile_regs_commit, packs between "
        "tile_regs_wait and tile_regs_release, and the four calls only in this order.",
        "tile_regs_acquire(); add_tiles(c_0, c_1, 0, 0, 0); pack_tile(0, c_16);",
        "Keep the order acquire, math, commit, wait, pack, release.",
    ),
    _entry(
        "TW7214",
        "DST slot out of range",
        "DST has 8 slots of 16 bits or 4 of 32 bits, twice as many with full sync.",
        "copy_tile(c_0, 0, 8);             // half sync, 16 bits",
        "Use fewer slots, or split the work into several sections.",
    ),
    _entry(
        "TW7215",
        "Undefined DST slot",
        "The SFPU or the packer reads a slot that no operation has written since "
        "tile_regs_acquire.",
        "tile_regs_acquire(); exp_tile(0);",
        "Write the slot first: copy_tile, fill_tile or an FPU operation.",
    ),
    _entry(
        "TW7216",
        "Missing or wrong init",
        "An operation runs after the init of another one, before compute_kernel_hw_startup, or "
        "with a data format that is not configured.",
        "matmul_init(c_0, c_1); copy_tile(c_24, 0, 0);",
        "Call the init of the operation, and reconfig_data_format where formats change.",
    ),
    _entry(
        "TW7217",
        "Misaligned NoC address",
        "L1 addresses and DRAM writes are aligned to 16 bytes, DRAM reads to 32 on Wormhole and 64 "
        "on Blackhole.",
        "noc_async_read(address, l1 + 4, 32);",
        "Align both ends of the transfer.",
    ),
    _entry(
        "TW7218",
        "Page out of range",
        "A page id is not below the page count of its buffer, or a transfer is outside every "
        "DRAM buffer.",
        "noc_async_read_page(64, a, l1);   // a has 64 pages",
        "Correct the index, or the run-time arguments of the core.",
    ),
    _entry(
        "TW7219",
        "Transfer outside the claimed pages",
        "The destination of a transfer is not reserved, its source is neither waited for nor "
        "reserved, or the address is in no allocation.",
        "noc_async_read_page(i, a, get_write_ptr(c_0) + 2048);   // one page reserved",
        "Reserve or wait for all pages of the transfer.",
    ),
    _entry(
        "TW7220",
        "Two writers of one page",
        "Two kernels write the same bytes of a buffer in DRAM. One kernel may write them again: "
        "its writes to one destination arrive in order.",
        "noc_async_write_page(0, c, l1);   // on every core",
        "Give each page to one core.",
    ),
    _entry(
        "TW7221",
        "Output page not written",
        "The program ends and some pages of an output have not been written.",
        "for (uint32_t i = start; i < start + count - 1; ++i) { ... }",
        "Make the cores cover all pages.",
    ),
    _entry(
        "TW7222",
        "Semaphore set while another kernel of the core waits on it",
        "A local store to a semaphore races with the wait of the core's other kernel.",
        "noc_semaphore_set(ready, 0);      // the reader waits on it",
        "Let only the waiting kernel reset the semaphore.",
    ),
    _entry(
        "TW7223",
        "Multicast count differs from its rectangle",
        "`num_dests` counts the destinations, without the sender unless the call includes it.",
        "noc_async_write_multicast(l1, rectangle, 2048, 8);   // the rectangle has 7 other cores",
        "Pass the number of cores that the rectangle reaches.",
    ),
    _entry(
        "TW7224",
        "Run-time argument out of range",
        "The kernel reads an argument that the host has not set on this core.",
        "get_arg_val<uint32_t>(7);         // the host set 7 arguments",
        "Set as many arguments as the kernel reads.",
    ),
    _entry(
        "TW7225",
        "Address outside of memory",
        "An address, a NoC coordinate, a semaphore or a circular-buffer index does not exist, or a "
        "kernel accesses a pointer that is no L1 address.",
        "noc_async_read_page(0, a, 0x200000);",
        "Use addresses from get_write_ptr, get_read_ptr and the host's arguments.",
    ),
    _entry(
        "TW7226",
        "Unused DST result",
        "A DST slot is released with a result that was neither packed nor read by the SFPU.",
        "matmul_tiles(c_0, c_1, 0, 0, 1); ... pack_tile(0, c_16); tile_regs_release();",
        "Pack the slot that holds the result.",
    ),
    _entry(
        "TW7227",
        "Page read and written without order",
        "A kernel reads bytes in DRAM that another kernel writes in the same run, and nothing "
        "orders the two: the reader of a core runs ahead of its writer, and cores do not wait for "
        "each other. A writer may overwrite what the reader of its own core has read.",
        "noc_async_read_page(i + 1, a, l1);   // the next core writes page i + 1 of a",
        "Write to another buffer, or split the kernel between the write and the read.",
    ),
)
