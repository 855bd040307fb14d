// The compute API as of 2025: full inits that also configure the hardware, and the older entry.
#pragma once

#define NAMESPACE tw_compute_kernel
#define MAIN kernel_main()

namespace ckernel {

ALWI void mm_init(uint32_t in0, uint32_t in1, uint32_t out, uint32_t transpose = 0, TW_LINE) {
    compute_kernel_hw_startup<SrcOrder::Reverse>(in0, in1, out, tw_line);
    matmul_init(in0, in1, transpose, tw_line);
}
ALWI void mm_init_short(uint32_t in0, uint32_t in1, uint32_t transpose = 0, TW_LINE) {
    matmul_init(in0, in1, transpose, tw_line);
}
ALWI void mm_block_init(uint32_t in0, uint32_t in1, uint32_t out, uint32_t transpose = 0, uint32_t ct = 1,
                        uint32_t rt = 1, uint32_t kt = 1, TW_LINE) {
    compute_kernel_hw_startup<SrcOrder::Reverse>(in0, in1, out, tw_line);
    matmul_block_init(in0, in1, transpose, ct, rt, kt, tw_line);
}
ALWI void mm_block_init_short(uint32_t in0, uint32_t in1, uint32_t transpose = 0, uint32_t ct = 1, uint32_t rt = 1,
                              uint32_t kt = 1, TW_LINE) {
    matmul_block_init(in0, in1, transpose, ct, rt, kt, tw_line);
}
ALWI void matmul_tiles(uint32_t in0, uint32_t in1, uint32_t i0, uint32_t i1, uint32_t idst, uint32_t transpose,
                       TW_LINE) {
    tw::at(tw_line);
    tw_matmul(in0, in1, i0, i1, idst);
}
ALWI void binary_op_init_common(uint32_t icb0, uint32_t icb1, uint32_t ocb, TW_LINE) {
    compute_kernel_hw_startup(icb0, icb1, ocb, tw_line);
}
ALWI void unary_op_init_common(uint32_t icb, uint32_t ocb, TW_LINE) { init_sfpu(icb, ocb, tw_line); }

ALWI void add_tiles_init(uint32_t icb0, uint32_t icb1, bool acc = false, TW_LINE) { add_init(icb0, icb1, acc, tw_line); }
ALWI void sub_tiles_init(uint32_t icb0, uint32_t icb1, bool acc = false, TW_LINE) { sub_init(icb0, icb1, acc, tw_line); }
ALWI void mul_tiles_init(uint32_t icb0, uint32_t icb1, TW_LINE) { mul_init(icb0, icb1, true, tw_line); }

template <EltwiseBinaryType op, BroadcastType dim>
ALWI void init_bcast(uint32_t icb0, uint32_t icb1, uint32_t ocb, TW_LINE) {
    compute_kernel_hw_startup(icb0, icb1, ocb, tw_line);
    bcast_init<op, dim>(icb0, icb1, tw_line);
}
#define TW_SHORT_INITS(name)                                                    \
    ALWI void name##_bcast_rows_init_short(uint32_t icb0, uint32_t icb1, TW_LINE) {   \
        name##_bcast_rows_init(icb0, icb1, tw_line);                            \
    }                                                                           \
    ALWI void name##_bcast_cols_init_short(uint32_t icb0, uint32_t icb1, TW_LINE) {   \
        name##_bcast_cols_init(icb0, icb1, tw_line);                            \
    }                                                                           \
    ALWI void name##_tiles_bcast_scalar_init_short(uint32_t icb0, uint32_t icb1, TW_LINE) { \
        name##_bcast_scalar_init(icb0, icb1, tw_line);                          \
    }
TW_SHORT_INITS(add)
TW_SHORT_INITS(sub)
TW_SHORT_INITS(mul)
#undef TW_SHORT_INITS
ALWI void add_bcast_scalar_init_short(uint32_t icb0, uint32_t icb1, TW_LINE) {
    add_bcast_scalar_init(icb0, icb1, tw_line);
}

ALWI void transpose_wh_init(uint32_t icb, uint32_t ocb, TW_LINE) {
    tw::at(tw_line);
    tw_hw_startup(icb, icb, ocb);
    transpose_init(icb, tw_line);
}
ALWI void transpose_wh_init_short(uint32_t icb, TW_LINE) { transpose_init(icb, tw_line); }
ALWI void transpose_wh_tile(uint32_t icb, uint32_t i, uint32_t idst, TW_LINE) {
    transpose_tile(icb, i, idst, tw_line);
}

}  // namespace ckernel
