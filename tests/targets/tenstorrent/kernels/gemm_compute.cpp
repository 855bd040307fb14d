// One output tile: all of K in one DST section.
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"

void kernel_main() {
    uint32_t Kt = get_arg_val<uint32_t>(0);
    compute_kernel_hw_startup<SrcOrder::Reverse>(0, 1, 16);
    matmul_block_init(0, 1, 0, 1, 1, 1);
    tile_regs_acquire();
    for (uint32_t k = 0; k < Kt; ++k) {
        cb_wait_front(0, 1);
        cb_wait_front(1, 1);
        matmul_block(0, 1, 0, 0, 0, 0, 1, 1, 1);
        cb_pop_front(0, 1);
        cb_pop_front(1, 1);
    }
    tile_regs_commit();
    tile_regs_wait();
    cb_reserve_back(16, 1);
    pack_tile(0, 16);
    cb_push_back(16, 1);
    tile_regs_release();
}
