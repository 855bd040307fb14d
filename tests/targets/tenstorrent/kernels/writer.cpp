#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    uint32_t addr = get_arg_val<uint32_t>(0);
    uint32_t start = get_arg_val<uint32_t>(1);
    uint32_t count = get_arg_val<uint32_t>(2);
    constexpr auto out = tt::CBIndex::c_16;
    constexpr auto args = TensorAccessorArgs<0>();
    const auto tensor = TensorAccessor(args, addr);
    for (uint32_t i = start; i < start + count; ++i) {
        cb_wait_front(out, 1);
        uint32_t pointer = get_read_ptr(out);
        noc_async_write_page(i, tensor, pointer);
        noc_async_writes_flushed();
        cb_pop_front(out, 1);
    }
    noc_async_write_barrier();
}
