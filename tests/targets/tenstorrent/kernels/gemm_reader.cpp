// One K tile a step: column 0 reads A and multicasts it along its row, row 0 does so with B.
#include "api/dataflow/dataflow_api.h"

template <typename Tensor>
inline void send(uint32_t cb, const Tensor& tensor, uint32_t page, uint32_t xs, uint32_t ys, uint32_t xe, uint32_t ye,
                 uint32_t receivers, uint32_t ready, uint32_t valid) {
    auto ready_ptr = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(ready);
    cb_reserve_back(cb, 1);
    uint32_t pointer = get_write_ptr(cb);
    noc_async_read_page(page, tensor, pointer);
    noc_async_read_barrier();
    noc_semaphore_wait(ready_ptr, receivers);
    noc_semaphore_set(ready_ptr, 0);
    uint64_t data = get_noc_multicast_addr(xs, ys, xe, ye, pointer);
    noc_async_write_multicast(pointer, data, get_tile_size(cb), receivers);
#ifdef ARCH_BLACKHOLE
    noc_async_writes_flushed();
#endif
    uint64_t flag = get_noc_multicast_addr(xs, ys, xe, ye, valid);
    noc_semaphore_set_multicast(valid, flag, receivers);
    cb_push_back(cb, 1);
}

inline void receive(uint32_t cb, uint32_t x, uint32_t y, uint32_t ready, uint32_t valid) {
    auto valid_ptr = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(valid);
    cb_reserve_back(cb, 1);
    noc_semaphore_set(valid_ptr, INVALID);
    noc_semaphore_inc(get_noc_addr(x, y, ready), 1);
    noc_semaphore_wait(valid_ptr, VALID);
    cb_push_back(cb, 1);
}

void kernel_main() {
    uint32_t Kt = get_arg_val<uint32_t>(2);
    uint32_t Nt = get_arg_val<uint32_t>(3);
    uint32_t row = get_arg_val<uint32_t>(4);
    uint32_t column = get_arg_val<uint32_t>(5);
    uint32_t receivers_a = get_arg_val<uint32_t>(6);
    uint32_t receivers_b = get_arg_val<uint32_t>(7);
    constexpr auto a_args = TensorAccessorArgs<0>();
    constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
    const auto a = TensorAccessor(a_args, get_arg_val<uint32_t>(0));
    const auto b = TensorAccessor(b_args, get_arg_val<uint32_t>(1));
    uint32_t ready_a = get_semaphore(0);
    uint32_t valid_a = get_semaphore(1);
    uint32_t ready_b = get_semaphore(2);
    uint32_t valid_b = get_semaphore(3);
    if (column == 0) {
        noc_semaphore_set(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(valid_a), VALID);
    }
    if (row == 0) {
        noc_semaphore_set(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(valid_b), VALID);
    }
    for (uint32_t k = 0; k < Kt; ++k) {
        if (column == 0) {
            send(0, a, row * Kt + k, get_arg_val<uint32_t>(8), get_arg_val<uint32_t>(9), get_arg_val<uint32_t>(10),
                 get_arg_val<uint32_t>(11), receivers_a, ready_a, valid_a);
        } else {
            receive(0, get_arg_val<uint32_t>(16), get_arg_val<uint32_t>(17), ready_a, valid_a);
        }
        if (row == 0) {
            send(1, b, k * Nt + column, get_arg_val<uint32_t>(12), get_arg_val<uint32_t>(13), get_arg_val<uint32_t>(14),
                 get_arg_val<uint32_t>(15), receivers_b, ready_b, valid_b);
        } else {
            receive(1, get_arg_val<uint32_t>(18), get_arg_val<uint32_t>(19), ready_b, valid_b);
        }
    }
}
