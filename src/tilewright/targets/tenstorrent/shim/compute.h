// Compute kernels: DST sections, the FPU, the SFPU, the packer.
//
// The three compute processors run one source file. Under the DST protocol they behave like one
// sequential thread, so the file is compiled once and UNPACK, MATH and PACK are all active.
#pragma once

#include "common.h"

#define UNPACK(...) __VA_ARGS__
#define MATH(...) __VA_ARGS__
#define PACK(...) __VA_ARGS__

enum class SrcOrder : uint8_t { Regular, Reverse };
enum class VectorMode : uint8_t { None, R, C, RC };
enum class BroadcastType : uint8_t { NONE = TW_BCAST_NONE, COL = TW_BCAST_COL, ROW = TW_BCAST_ROW, SCALAR = TW_BCAST_SCALAR };
enum class EltwiseBinaryType : uint8_t { ELWADD = TW_ADD, ELWSUB = TW_SUB, ELWMUL = TW_MUL };
inline constexpr EltwiseBinaryType ELWADD = EltwiseBinaryType::ELWADD;
inline constexpr EltwiseBinaryType ELWSUB = EltwiseBinaryType::ELWSUB;
inline constexpr EltwiseBinaryType ELWMUL = EltwiseBinaryType::ELWMUL;
enum PoolType : uint8_t { SUM = TW_POOL_SUM, AVG = TW_POOL_AVG, MAX = TW_POOL_MAX };
enum ReduceDim : uint8_t { REDUCE_ROW = TW_REDUCE_ROW, REDUCE_COL = TW_REDUCE_COL, REDUCE_SCALAR = TW_REDUCE_SCALAR };

namespace ckernel {

using ::BroadcastType;
using ::EltwiseBinaryType;
using ::PoolType;
using ::ReduceDim;
using ::SrcOrder;
using ::VectorMode;

// -- DST sections --------------------------------------------------------------------------------

#define TW_DST_CALL(name, op)   \
    ALWI void name(TW_LINE) {   \
        tw::at(tw_line);        \
        tw_dst(op);             \
    }
TW_DST_CALL(tile_regs_acquire, TW_DST_ACQUIRE)
TW_DST_CALL(tile_regs_commit, TW_DST_COMMIT)
TW_DST_CALL(tile_regs_wait, TW_DST_WAIT)
TW_DST_CALL(tile_regs_release, TW_DST_RELEASE)
TW_DST_CALL(acquire_dst, TW_DST_ACQUIRE_BOTH)
TW_DST_CALL(release_dst, TW_DST_RELEASE_BOTH)
#undef TW_DST_CALL

// -- configuration ---------------------------------------------------------------------------------

template <SrcOrder order = SrcOrder::Regular>
ALWI void compute_kernel_hw_startup(uint32_t icb0, uint32_t icb1, uint32_t ocb, TW_LINE) {
    tw::at(tw_line);
    constexpr bool reverse = order == SrcOrder::Reverse;
    tw_hw_startup(reverse ? icb1 : icb0, reverse ? icb0 : icb1, ocb);
}
ALWI void compute_kernel_hw_startup(uint32_t icb, uint32_t ocb, TW_LINE) {
    tw::at(tw_line);
    tw_hw_startup(icb, icb, ocb);
}
ALWI void init_sfpu(uint32_t icb, uint32_t ocb, TW_LINE) {
    tw::at(tw_line);
    tw_hw_startup(icb, icb, ocb);
    tw_fpu_init(TW_FPU_COPY, 0, 0, 0, icb, icb);
}
template <SrcOrder order = SrcOrder::Regular>
ALWI void reconfig_data_format(uint32_t icb0, uint32_t icb1, TW_LINE) {
    tw::at(tw_line);
    constexpr bool reverse = order == SrcOrder::Reverse;
    tw_reconfigure(reverse ? icb1 : icb0, 0);
    tw_reconfigure(reverse ? icb0 : icb1, 1);
}
template <SrcOrder order = SrcOrder::Regular>
ALWI void reconfig_data_format(uint32_t, uint32_t icb0, uint32_t, uint32_t icb1, TW_LINE) {
    reconfig_data_format<order>(icb0, icb1, tw_line);
}
ALWI void reconfig_data_format_srca(uint32_t icb, TW_LINE) {
    tw::at(tw_line);
    tw_reconfigure(icb, 0);
}
ALWI void reconfig_data_format_srca(uint32_t, uint32_t icb, TW_LINE) { reconfig_data_format_srca(icb, tw_line); }
ALWI void reconfig_data_format_srcb(uint32_t icb, TW_LINE) {
    tw::at(tw_line);
    tw_reconfigure(icb, 1);
}
ALWI void reconfig_data_format_srcb(uint32_t, uint32_t icb, TW_LINE) { reconfig_data_format_srcb(icb, tw_line); }
ALWI void pack_reconfig_data_format(uint32_t ocb, TW_LINE) {
    tw::at(tw_line);
    tw_reconfigure(ocb, 2);
}
ALWI void pack_reconfig_data_format(uint32_t, uint32_t ocb, TW_LINE) { pack_reconfig_data_format(ocb, tw_line); }
ALWI void pack_reconfig_l1_acc(uint32_t enable, TW_LINE) {
    tw::at(tw_line);
    tw_pack_l1_acc(enable);
}

// -- FPU -----------------------------------------------------------------------------------

ALWI void matmul_init(uint32_t in0, uint32_t in1, uint32_t transpose = 0, TW_LINE) {
    tw::at(tw_line);
    tw_fpu_init(TW_FPU_MATMUL, 0, 0, transpose, in0, in1);
}
ALWI void matmul_tiles(uint32_t in0, uint32_t in1, uint32_t i0, uint32_t i1, uint32_t idst, TW_LINE) {
    tw::at(tw_line);
    tw_matmul(in0, in1, i0, i1, idst);
}
ALWI void matmul_block_init(uint32_t in0, uint32_t in1, uint32_t transpose = 0, uint32_t ct = 1, uint32_t rt = 1,
                            uint32_t kt = 1, TW_LINE) {
    tw::at(tw_line);
    tw_fpu_init(TW_FPU_MATMUL_BLOCK, int(ct), int(rt), transpose, in0, in1);
}
ALWI void matmul_block(uint32_t in0, uint32_t in1, uint32_t i0, uint32_t i1, uint32_t idst, uint32_t transpose,
                       uint32_t ct, uint32_t rt, uint32_t kt, TW_LINE) {
    tw::at(tw_line);
    tw_matmul_block(in0, in1, i0, i1, idst, transpose, ct, rt, kt);
}

#define TW_BINARY_CALLS(name, op, default_accumulate)                                                             \
    ALWI void name##_init(uint32_t icb0, uint32_t icb1, bool acc_to_dest = default_accumulate, TW_LINE) {         \
        tw::at(tw_line);                                                                                          \
        tw_fpu_init(TW_FPU_BINARY, op, TW_BCAST_NONE, acc_to_dest, icb0, icb1);                                   \
    }                                                                                                             \
    ALWI void name##_tiles(uint32_t icb0, uint32_t icb1, uint32_t i0, uint32_t i1, uint32_t idst, TW_LINE) {      \
        tw::at(tw_line);                                                                                          \
        tw_binary(op, TW_BCAST_NONE, icb0, icb1, i0, i1, idst, 0);                                                \
    }                                                                                                             \
    template <BroadcastType dim>                                                                                  \
    ALWI void name##_tiles_bcast(uint32_t icb0, uint32_t icb1, uint32_t i0, uint32_t i1, uint32_t idst,           \
                                 uint32_t row = 0, TW_LINE) {                                                     \
        tw::at(tw_line);                                                                                          \
        tw_binary(op, int(dim), icb0, icb1, i0, i1, idst, row);                                                   \
    }                                                                                                             \
    ALWI void name##_tiles_bcast_rows(uint32_t icb0, uint32_t icb1, uint32_t i0, uint32_t i1, uint32_t idst,      \
                                      uint32_t row = 0, TW_LINE) {                                                \
        name##_tiles_bcast<BroadcastType::ROW>(icb0, icb1, i0, i1, idst, row, tw_line);                           \
    }                                                                                                             \
    ALWI void name##_tiles_bcast_cols(uint32_t icb0, uint32_t icb1, uint32_t i0, uint32_t i1, uint32_t idst,      \
                                      TW_LINE) {                                                                  \
        name##_tiles_bcast<BroadcastType::COL>(icb0, icb1, i0, i1, idst, 0, tw_line);                             \
    }                                                                                                             \
    ALWI void name##_tiles_bcast_scalar(uint32_t icb0, uint32_t icb1, uint32_t i0, uint32_t i1, uint32_t idst,    \
                                        TW_LINE) {                                                                \
        name##_tiles_bcast<BroadcastType::SCALAR>(icb0, icb1, i0, i1, idst, 0, tw_line);                          \
    }                                                                                                             \
    ALWI void name##_bcast_rows_init(uint32_t icb0, uint32_t icb1, TW_LINE) {                                     \
        tw::at(tw_line);                                                                                          \
        tw_fpu_init(TW_FPU_BINARY, op, TW_BCAST_ROW, default_accumulate, icb0, icb1);                             \
    }                                                                                                             \
    ALWI void name##_bcast_cols_init(uint32_t icb0, uint32_t icb1, TW_LINE) {                                     \
        tw::at(tw_line);                                                                                          \
        tw_fpu_init(TW_FPU_BINARY, op, TW_BCAST_COL, default_accumulate, icb0, icb1);                             \
    }                                                                                                             \
    ALWI void name##_bcast_scalar_init(uint32_t icb0, uint32_t icb1, TW_LINE) {                                   \
        tw::at(tw_line);                                                                                          \
        tw_fpu_init(TW_FPU_BINARY, op, TW_BCAST_SCALAR, default_accumulate, icb0, icb1);                          \
    }
TW_BINARY_CALLS(add, TW_ADD, false)
TW_BINARY_CALLS(sub, TW_SUB, false)
TW_BINARY_CALLS(mul, TW_MUL, true)
#undef TW_BINARY_CALLS

template <EltwiseBinaryType op, BroadcastType dim>
ALWI void bcast_init(uint32_t icb0, uint32_t icb1, TW_LINE) {
    tw::at(tw_line);
    tw_fpu_init(TW_FPU_BINARY, int(op), int(dim), op == EltwiseBinaryType::ELWMUL, icb0, icb1);
}

ALWI void copy_tile_to_dst_init_short(uint32_t cb, uint32_t transpose = 0, TW_LINE) {
    tw::at(tw_line);
    tw_fpu_init(transpose ? TW_FPU_TRANSPOSE : TW_FPU_COPY, 0, 0, 0, cb, cb);
}
ALWI void copy_tile_to_dst_init_short_with_dt(uint32_t, uint32_t cb, uint32_t transpose = 0, TW_LINE) {
    tw::at(tw_line);
    tw_reconfigure(cb, 0);
    copy_tile_to_dst_init_short(cb, transpose, tw_line);
}
ALWI void copy_tile_init(uint32_t cb, TW_LINE) { copy_tile_to_dst_init_short(cb, 0, tw_line); }
ALWI void copy_tile(uint32_t cb, uint32_t i, uint32_t idst, TW_LINE) {
    tw::at(tw_line);
    tw_copy_tile(0, cb, i, idst);
}
ALWI void transpose_init(uint32_t cb, TW_LINE) {
    tw::at(tw_line);
    tw_fpu_init(TW_FPU_TRANSPOSE, 0, 0, 0, cb, cb);
}
ALWI void transpose_tile(uint32_t cb, uint32_t i, uint32_t idst, TW_LINE) {
    tw::at(tw_line);
    tw_copy_tile(1, cb, i, idst);
}

template <PoolType pool, ReduceDim dim>
ALWI void reduce_init(uint32_t icb, uint32_t scaler, uint32_t ocb, TW_LINE) {
    tw::at(tw_line);
    tw_reduce_init(pool, dim, icb, scaler, ocb);
}
ALWI void reduce_uninit(uint32_t = 0, TW_LINE) {
    tw::at(tw_line);
    tw_reduce_uninit();
}
template <PoolType pool, ReduceDim dim>
ALWI void reduce_tile(uint32_t icb, uint32_t scaler, uint32_t i, uint32_t is, uint32_t idst, TW_LINE) {
    tw::at(tw_line);
    tw_reduce(pool, dim, icb, scaler, i, is, idst);
}

template <bool out_of_order = false>
ALWI void pack_tile(uint32_t idst, uint32_t ocb, uint32_t index = 0, TW_LINE) {
    tw::at(tw_line);
    tw_pack(idst, ocb, index, out_of_order);
}

// -- SFPU -------------------------------------------------------------------------------------

#define TW_UNARY_CALLS(name, expression)                \
    template <auto...>                                  \
    ALWI void name##_tile_init(TW_LINE) {               \
        tw::at(tw_line);                                \
        tw_sfpu_init(TW_SFPU_##name);                   \
    }                                                   \
    template <auto...>                                  \
    ALWI void name##_tile(uint32_t idst, TW_LINE) {     \
        tw::at(tw_line);                                \
        tw_sfpu_unary(TW_SFPU_##name, idst);            \
    }
TW_SFPU_UNARY(TW_UNARY_CALLS)
#undef TW_UNARY_CALLS

ALWI void binop_with_scalar_tile_init(TW_LINE) {
    tw::at(tw_line);
    tw_sfpu_init(TW_SFPU_binop_with_scalar);
}
#define TW_SCALAR_CALLS(name, expression)                            \
    ALWI void name##_tile_init(TW_LINE) {                            \
        tw::at(tw_line);                                             \
        tw_sfpu_init(TW_SFPU_##name);                                \
    }                                                                \
    ALWI void name##_tile(uint32_t idst, uint32_t bits, TW_LINE) {   \
        tw::at(tw_line);                                             \
        tw_sfpu_scalar(TW_SFPU_##name, idst, bits);                  \
    }
TW_SFPU_SCALAR(TW_SCALAR_CALLS)
#undef TW_SCALAR_CALLS

#define TW_BINARY_SFPU_CALLS(name, expression)                                        \
    ALWI void name##_tile_init(TW_LINE) {                                             \
        tw::at(tw_line);                                                              \
        tw_sfpu_init(TW_SFPU_##name);                                                 \
    }                                                                                 \
    template <auto...>                                                                \
    ALWI void name##_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, TW_LINE) {   \
        tw::at(tw_line);                                                              \
        tw_sfpu_binary(TW_SFPU_##name, idst0, idst1, odst);                           \
    }
TW_SFPU_BINARY(TW_BINARY_SFPU_CALLS)
#undef TW_BINARY_SFPU_CALLS

#define TW_INTEGER_SFPU_CALLS(name, expression)                                       \
    template <auto...>                                                                \
    ALWI void name##_tile_init(TW_LINE) {                                             \
        tw::at(tw_line);                                                              \
        tw_sfpu_init(TW_SFPU_##name);                                                 \
    }                                                                                 \
    template <auto...>                                                                \
    ALWI void name##_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, TW_LINE) {   \
        tw::at(tw_line);                                                              \
        tw_sfpu_integer(TW_SFPU_##name, idst0, idst1, odst);                          \
    }
TW_SFPU_INTEGER(TW_INTEGER_SFPU_CALLS)
#undef TW_INTEGER_SFPU_CALLS

ALWI void rounding_op_tile_init(TW_LINE) {
    tw::at(tw_line);
    tw_sfpu_init(TW_SFPU_rounding_op);
}

ALWI void fill_tile_init(TW_LINE) {
    tw::at(tw_line);
    tw_sfpu_init(TW_SFPU_fill);
}
ALWI void fill_tile(uint32_t idst, float value, TW_LINE) {
    tw::at(tw_line);
    tw_sfpu_fill(idst, __builtin_bit_cast(uint32_t, value), 0);
}
ALWI void fill_tile_bitcast(uint32_t idst, uint32_t bits, TW_LINE) {
    tw::at(tw_line);
    tw_sfpu_fill(idst, bits, 0);
}
template <DataFormat format>
ALWI void fill_tile_int(uint32_t idst, uint32_t value, TW_LINE) {
    tw::at(tw_line);
    tw_sfpu_fill(idst, value, 1);
}
ALWI void where_tile_init(TW_LINE) {
    tw::at(tw_line);
    tw_sfpu_init(TW_SFPU_where);
}
template <DataFormat format>
ALWI void where_tile(uint32_t condition, uint32_t a, uint32_t b, uint32_t out, TW_LINE) {
    tw::at(tw_line);
    tw_sfpu_where(condition, a, b, out);
}
template <uint32_t from, uint32_t to>
ALWI void typecast_tile_init(TW_LINE) {
    tw::at(tw_line);
    tw_sfpu_init(TW_SFPU_typecast);
}
template <uint32_t from, uint32_t to>
ALWI void typecast_tile(uint32_t idst, TW_LINE) {
    tw::at(tw_line);
    tw_sfpu_typecast(idst, from, to);
}

}  // namespace ckernel

#ifdef TW_API_2025
#include "compute_2025.h"
#endif
