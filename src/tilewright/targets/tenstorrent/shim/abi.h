// Calls from a kernel into the machine that runs it.
//
// A kernel is compiled to a shared object whose undefined symbols are these functions; the machine
// executable defines and exports them. Addresses of L1 are 32-bit device addresses. NoC addresses
// are 64-bit values that only the machine interprets; adding bytes to one moves within its endpoint.
#pragma once

#include <cstdint>

#include "sfpu_table.h"

enum TwCbOp { TW_CB_RESERVE, TW_CB_PUSH, TW_CB_WAIT, TW_CB_POP };
enum TwBarrier { TW_BARRIER_READ, TW_BARRIER_WRITE, TW_BARRIER_FLUSH, TW_BARRIER_ATOMIC, TW_BARRIER_FULL };
enum TwDst { TW_DST_ACQUIRE, TW_DST_COMMIT, TW_DST_WAIT, TW_DST_RELEASE, TW_DST_ACQUIRE_BOTH, TW_DST_RELEASE_BOTH };
enum TwFpu { TW_FPU_NONE, TW_FPU_MATMUL, TW_FPU_MATMUL_BLOCK, TW_FPU_BINARY, TW_FPU_COPY, TW_FPU_TRANSPOSE, TW_FPU_REDUCE };
enum TwArithmetic { TW_ADD, TW_SUB, TW_MUL };
enum TwBroadcast { TW_BCAST_NONE, TW_BCAST_COL, TW_BCAST_ROW, TW_BCAST_SCALAR };
enum TwPool { TW_POOL_SUM, TW_POOL_AVG, TW_POOL_MAX };
enum TwReduceDim { TW_REDUCE_ROW, TW_REDUCE_COL, TW_REDUCE_SCALAR };
enum TwValueKind { TW_VALUE_SIGNED, TW_VALUE_UNSIGNED, TW_VALUE_FLOAT, TW_VALUE_TEXT };

#define TW_DECLARE_ID(name, expression) TW_SFPU_##name,
enum TwSfpu {
    TW_SFPU_NONE,
    TW_SFPU_UNARY(TW_DECLARE_ID)
    TW_SFPU_SCALAR(TW_DECLARE_ID)
    TW_SFPU_BINARY(TW_DECLARE_ID)
    TW_SFPU_INTEGER(TW_DECLARE_ID)
    TW_SFPU_binop_with_scalar,
    TW_SFPU_rounding_op,
    TW_SFPU_fill,
    TW_SFPU_where,
    TW_SFPU_typecast,
    TW_SFPU_COUNT
};
#undef TW_DECLARE_ID

struct TwValue {
    int kind;
    union {
        long long integer;
        unsigned long long natural;
        double real;
        const char* text;
    };
};

extern "C" {
extern unsigned tw_current_line;

uint32_t tw_argument(int index, int common);
uint32_t tw_logical(int axis);

void tw_cb(int op, uint32_t cb, uint32_t pages);
uint32_t tw_cb_pointer(int write, uint32_t cb);
uint32_t tw_tile_bytes(uint32_t cb);
uint32_t tw_cb_format(uint32_t cb);

uint64_t tw_page_address(int dram, uint32_t base, uint32_t stride, uint32_t page, uint32_t offset);
uint64_t tw_bank_address(int dram, uint32_t bank, uint32_t address);
uint64_t tw_core_address(uint32_t noc_x, uint32_t noc_y, uint32_t address);
uint64_t tw_own_address(uint32_t address);
uint64_t tw_rectangle_address(uint32_t xs, uint32_t ys, uint32_t xe, uint32_t ye, uint32_t address);
uint32_t tw_page_stride(int dram, uint32_t page_bytes);

void tw_check_page(int dram, uint32_t base, uint32_t stride, uint32_t page);
void tw_read(uint64_t source, uint32_t l1, uint32_t bytes);
void tw_write(uint32_t l1, uint64_t destination, uint32_t bytes);
void tw_multicast(uint32_t l1, uint64_t rectangle, uint32_t bytes, uint32_t num_dests, int include_self, int semaphore);
void tw_barrier(int kind);

uint32_t tw_semaphore_address(uint32_t id);
void tw_semaphore_set(uint32_t address, uint32_t value);
void tw_semaphore_increment(uint64_t destination, uint32_t value);
void tw_semaphore_wait(uint32_t address, uint32_t value, int minimum);
void tw_semaphore_set_remote(uint32_t l1, uint64_t destination);

void tw_dst(int op);
void tw_hw_startup(uint32_t srca, uint32_t srcb, uint32_t out);
void tw_reconfigure(uint32_t cb, int operand);
void tw_fpu_init(int kind, int arithmetic, int broadcast, int flag, uint32_t cb0, uint32_t cb1);
void tw_matmul(uint32_t cb0, uint32_t cb1, uint32_t i0, uint32_t i1, uint32_t d);
void tw_matmul_block(uint32_t cb0, uint32_t cb1, uint32_t i0, uint32_t i1, uint32_t d, uint32_t transpose, uint32_t ct,
                     uint32_t rt, uint32_t kt);
void tw_binary(int arithmetic, int broadcast, uint32_t cb0, uint32_t cb1, uint32_t i0, uint32_t i1, uint32_t d,
               uint32_t row);
void tw_copy_tile(int transpose, uint32_t cb, uint32_t i, uint32_t d);
void tw_reduce_init(int pool, int dim, uint32_t cb, uint32_t scaler, uint32_t out);
void tw_reduce_uninit();
void tw_reduce(int pool, int dim, uint32_t cb, uint32_t scaler, uint32_t i, uint32_t is, uint32_t d);
void tw_pack(uint32_t d, uint32_t cb, uint32_t index, int out_of_order);
void tw_pack_l1_acc(uint32_t enable);

void tw_sfpu_init(int id);
void tw_sfpu_unary(int id, uint32_t d);
void tw_sfpu_scalar(int id, uint32_t d, uint32_t bits);
void tw_sfpu_binary(int id, uint32_t d0, uint32_t d1, uint32_t out);
void tw_sfpu_integer(int id, uint32_t d0, uint32_t d1, uint32_t out);
void tw_sfpu_fill(uint32_t d, uint32_t bits, int integer);
void tw_sfpu_where(uint32_t condition, uint32_t a, uint32_t b, uint32_t out);
void tw_sfpu_typecast(uint32_t d, uint32_t from, uint32_t to);

void tw_print(const char* format, const TwValue* values, int count);
}
