// One fault of a data-movement kernel for each value of the first argument; 0 has none.
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    uint32_t fault = get_arg_val<uint32_t>(0);
    uint32_t l1 = get_arg_val<uint32_t>(1);
    constexpr auto args = TensorAccessorArgs<0>();
    const auto tensor = TensorAccessor(args, get_arg_val<uint32_t>(2));
    auto semaphore = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0));
    switch (fault) {
        case 1:  // access through a pointer that is no L1 address
            *reinterpret_cast<volatile uint32_t*>(0x40) = 1;
            break;
        case 2:  // misaligned destination
            noc_async_read_page(0, tensor, l1 + 4);
            noc_async_read_barrier();
            break;
        case 3:  // page out of range
            noc_async_read_page(5, tensor, l1);
            noc_async_read_barrier();
            break;
        case 4:  // outside of L1
            noc_async_read_page(0, tensor, 0x1F0000);
            break;
        case 5:  // no such semaphore
            get_semaphore(16);
            break;
        case 6:  // NoC coordinates of no core
            noc_async_read(get_noc_addr(3, 3, l1), l1, 32);
            break;
        case 7:  // write of what has been read, without a barrier
            noc_async_read_page(0, tensor, l1);
            noc_async_write_page(1, tensor, l1);
            noc_async_read_barrier();
            noc_async_write_barrier();
            break;
        case 8:  // read in flight at the end
            noc_async_read_page(0, tensor, l1);
            break;
        case 9:  // a write in flight at the end
            noc_async_read_page(0, tensor, l1);
            noc_async_read_barrier();
            noc_async_write_page(1, tensor, l1);
            noc_async_writes_flushed();
            break;
        case 10:  // a circular buffer that the core does not have
            cb_reserve_back(5, 1);
            break;
        case 11:  // waits for a semaphore that no kernel sets
            noc_semaphore_wait(semaphore, 1);
            break;
        case 12:  // outside every allocation
            noc_async_read_page(0, tensor, 0x30000);
            noc_async_read_barrier();
            break;
        case 13:  // run-time argument that the host did not set
            get_arg_val<uint32_t>(3);
            break;
        case 14:  // polls memory without a call
            while (*semaphore != 1) {
            }
            break;
        case 15:  // waits; the other kernel of the core sets the word
            noc_semaphore_wait(semaphore, 2);
            break;
        case 16:  // sets a word that the other kernel of the core waits for
            for (uint32_t i = 0; i < 64; ++i) {
                noc_async_read_barrier();
            }
            noc_semaphore_set(semaphore, 2);
            break;
        case 17:  // a wrong base address
            noc_async_read_page(0, TensorAccessor(args, get_arg_val<uint32_t>(2) + 32), l1);
            noc_async_read_barrier();
            break;
        default: break;
    }
}
