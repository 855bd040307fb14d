#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    uint32_t a_addr = get_arg_val<uint32_t>(0);
    uint32_t b_addr = get_arg_val<uint32_t>(1);
    uint32_t start = get_arg_val<uint32_t>(2);
    uint32_t count = get_arg_val<uint32_t>(3);
    constexpr auto a_args = TensorAccessorArgs<0>();
    constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
    const auto a = TensorAccessor(a_args, a_addr);
    const auto b = TensorAccessor(b_args, b_addr);
    for (uint32_t i = start; i < start + count; ++i) {
        cb_reserve_back(tt::CBIndex::c_0, 1);
        uint32_t a_ptr = get_write_ptr(tt::CBIndex::c_0);
        noc_async_read_page(i, a, a_ptr);
        cb_reserve_back(tt::CBIndex::c_1, 1);
        uint32_t b_ptr = get_write_ptr(tt::CBIndex::c_1);
        noc_async_read_page(i, b, b_ptr);
        noc_async_read_barrier();
        cb_push_back(tt::CBIndex::c_0, 1);
        cb_push_back(tt::CBIndex::c_1, 1);
    }
}
