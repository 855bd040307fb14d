// exp(x - max) / sum over rows of tiles: c_0 in, c_2 scaler, c_24 max, c_25 exp, c_26 1 / sum, c_16 out
#include "api/compute/bcast.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/eltwise_unary/recip.h"
#include "api/compute/reduce.h"

void kernel_main() {
    uint32_t rows = get_arg_val<uint32_t>(0);
    uint32_t width = get_arg_val<uint32_t>(1);
    compute_kernel_hw_startup(0, 2, 16);
    cb_wait_front(2, 1);
    for (uint32_t row = 0; row < rows; ++row) {
        cb_wait_front(0, width);
        reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(0, 2, 24);
        tile_regs_acquire();
        for (uint32_t i = 0; i < width; ++i) {
            reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(0, 2, i, 0, 0);
        }
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(24, 1);
        pack_tile(0, 24);
        cb_push_back(24, 1);
        tile_regs_release();
        reduce_uninit();

        cb_wait_front(24, 1);
        sub_bcast_cols_init(0, 24);
        exp_tile_init();
        cb_reserve_back(25, width);
        for (uint32_t i = 0; i < width; ++i) {
            tile_regs_acquire();
            sub_tiles_bcast<BroadcastType::COL>(0, 24, i, 0, 0);
            exp_tile(0);
            tile_regs_commit();
            tile_regs_wait();
            pack_tile(0, 25);
            tile_regs_release();
        }
        cb_push_back(25, width);
        cb_pop_front(24, 1);
        cb_pop_front(0, width);

        cb_wait_front(25, width);
        reduce_init<PoolType::SUM, ReduceDim::REDUCE_ROW>(25, 2, 26);
        recip_tile_init();
        tile_regs_acquire();
        for (uint32_t i = 0; i < width; ++i) {
            reduce_tile<PoolType::SUM, ReduceDim::REDUCE_ROW>(25, 2, i, 0, 0);
        }
        recip_tile(0);
        tile_regs_commit();
        tile_regs_wait();
        cb_reserve_back(26, 1);
        pack_tile(0, 26);
        cb_push_back(26, 1);
        tile_regs_release();
        reduce_uninit();

        cb_wait_front(26, 1);
        mul_bcast_cols_init(25, 26);
        for (uint32_t i = 0; i < width; ++i) {
            tile_regs_acquire();
            mul_tiles_bcast<BroadcastType::COL>(25, 26, i, 0, 0);
            tile_regs_commit();
            tile_regs_wait();
            cb_reserve_back(16, 1);
            pack_tile(0, 16);
            cb_push_back(16, 1);
            tile_regs_release();
        }
        cb_pop_front(26, 1);
        cb_pop_front(25, width);
    }
    cb_pop_front(2, 1);
}
