// One fault of a compute kernel for each value of the first argument; 0 copies c_0 to c_16.
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/matmul.h"
#include "api/compute/tile_move_copy.h"

void kernel_main() {
    uint32_t fault = get_arg_val<uint32_t>(0);
    if (fault != 1) {
        compute_kernel_hw_startup(0, 16);
    }
    if (fault != 2) {
        copy_tile_init(0);
    }
    cb_wait_front(0, 1);
    tile_regs_acquire();
    if (fault == 3) {
        exp_tile_init();
        exp_tile(1);  // undefined
    }
    copy_tile(0, 0, fault == 4 ? 8 : 0);
    if (fault == 5) {
        exp_tile(0);  // no init
    }
    if (fault == 6) {
        copy_tile_init(1);
        copy_tile(1, 0, 1);  // fp32 after bf16 without reconfiguration, not waited for
    }
    if (fault == 10) {
        copy_tile(0, 0, 1);  // never packed
    }
    tile_regs_commit();
    tile_regs_wait();
    if (fault == 7) {
        copy_tile(0, 0, 0);  // math outside its section
    }
    cb_reserve_back(16, 1);
    pack_tile(fault == 8 ? 1 : 0, 16);
    cb_push_back(16, 1);
    if (fault != 9) {
        tile_regs_release();
    }
    cb_pop_front(0, 1);
}
