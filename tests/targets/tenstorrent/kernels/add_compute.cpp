// relu(a + b), one tile at a time
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/eltwise_unary/relu.h"

void kernel_main() {
    uint32_t count = get_arg_val<uint32_t>(0);
    constexpr auto in0 = tt::CBIndex::c_0;
    constexpr auto in1 = tt::CBIndex::c_1;
    constexpr auto out = tt::CBIndex::c_16;
    compute_kernel_hw_startup(in0, in1, out);
    add_init(in0, in1);
    relu_tile_init();
    for (uint32_t i = 0; i < count; ++i) {
        cb_wait_front(in0, 1);
        cb_wait_front(in1, 1);
        tile_regs_acquire();
        add_tiles(in0, in1, 0, 0, 0);
        relu_tile(0);
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(out, 1);
        pack_tile(0, out);
        cb_push_back(out, 1);
        tile_regs_release();
        cb_pop_front(in0, 1);
        cb_pop_front(in1, 1);
    }
}
