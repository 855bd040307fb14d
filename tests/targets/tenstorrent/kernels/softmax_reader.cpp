// A row of tiles at a time, twice the depth; the scaler tile is filled once.
#include "api/dataflow/dataflow_api.h"
#include "api/numeric/bfloat16.h"

void kernel_main() {
    uint32_t addr = get_arg_val<uint32_t>(0);
    uint32_t rows = get_arg_val<uint32_t>(1);
    uint32_t width = get_arg_val<uint32_t>(2);
    constexpr auto args = TensorAccessorArgs<0>();
    const auto tensor = TensorAccessor(args, addr);
    cb_reserve_back(2, 1);
    auto scaler = reinterpret_cast<volatile tt_l1_ptr uint16_t*>(get_write_ptr(2));
    for (uint32_t face = 0; face < 4; ++face) {
        for (uint32_t i = 0; i < 16; ++i) {
            scaler[face * 256 + i] = fp32_to_bf16_truncate(1.0f);
        }
    }
    cb_push_back(2, 1);
    for (uint32_t row = 0; row < rows; ++row) {
        cb_reserve_back(0, width);
        uint32_t pointer = get_write_ptr(0);
        for (uint32_t i = 0; i < width; ++i) {
            noc_async_read_page(row * width + i, tensor, pointer + i * get_tile_size(0));
        }
        noc_async_read_barrier();
        cb_push_back(0, width);
    }
}
