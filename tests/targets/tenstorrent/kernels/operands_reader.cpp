// One tile of each of three operands: c_0, c_1, c_2.
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    constexpr auto a_args = TensorAccessorArgs<0>();
    constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
    constexpr auto s_args = TensorAccessorArgs<b_args.next_compile_time_args_offset()>();
    const auto a = TensorAccessor(a_args, get_arg_val<uint32_t>(0));
    const auto b = TensorAccessor(b_args, get_arg_val<uint32_t>(1));
    const auto s = TensorAccessor(s_args, get_arg_val<uint32_t>(2));
    cb_reserve_back(0, 1);
    cb_reserve_back(1, 1);
    cb_reserve_back(2, 1);
    noc_async_read_page(0, a, get_write_ptr(0));
    noc_async_read_page(0, b, get_write_ptr(1));
    noc_async_read_page(0, s, get_write_ptr(2));
    noc_async_read_barrier();
    cb_push_back(0, 1);
    cb_push_back(1, 1);
    cb_push_back(2, 1);
}
