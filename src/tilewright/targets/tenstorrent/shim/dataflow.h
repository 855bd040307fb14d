// Data-movement kernels: NoC transfers, address generators, multicast, semaphores.
#pragma once

#include "common.h"

#ifndef NOC_INDEX
#define NOC_INDEX 0
#endif
inline constexpr uint8_t noc_index = NOC_INDEX;
inline constexpr uint32_t NOC_MAX_BURST_SIZE = 8192;

// -- addresses ---------------------------------------------------------------------------------

FORCE_INLINE uint64_t get_noc_addr(uint32_t x, uint32_t y, uint32_t l1, uint8_t = noc_index) {
    return tw_core_address(x, y, l1);
}
FORCE_INLINE uint64_t get_noc_addr(uint32_t l1, uint8_t = noc_index) { return tw_own_address(l1); }

template <bool dram>
FORCE_INLINE uint64_t get_noc_addr_from_bank_id(uint32_t bank, uint32_t address, uint8_t = noc_index) {
    return tw_bank_address(dram, bank, address);
}

FORCE_INLINE uint64_t get_noc_multicast_addr(uint32_t xs, uint32_t ys, uint32_t xe, uint32_t ye, uint32_t l1,
                                             uint8_t = noc_index) {
    return tw_rectangle_address(xs, ys, xe, ye, l1);
}

// -- address generators --------------------------------------------------------------------------

// Of a sharded tensor the words are: flags, page size, rank, cores, the shapes of tensor and shard in
// pages, and the coordinates of the cores, two a word, x in the high byte.
template <uint32_t offset, uint32_t common_offset = 0>
struct TensorAccessorArgs {
    static_assert(offset + 1 < tw::compile_time_count, "accessor offset beyond the compile-time arguments");
    static constexpr uint32_t flags = tw::compile_time_argument<offset>();
    static constexpr uint32_t aligned_page_bytes = tw::compile_time_argument<offset + 1>();
    static constexpr bool is_sharded = (flags & 1) != 0;
    static constexpr bool is_dram = (flags & 2) != 0;
    static_assert((flags & ~3u) == 0, "accessors with run-time shapes are not modelled");
    static_assert(!(is_sharded && is_dram), "accessors of tensors sharded over DRAM banks are not modelled");
    static constexpr uint32_t rank = tw::compile_time_word(is_sharded, offset + 2);
    static constexpr uint32_t num_banks = tw::compile_time_word(is_sharded, offset + 3);
    static_assert(num_banks >> 31 == 0, "accessors of shards that are contiguous on a core are not modelled");
    static constexpr uint32_t words = is_sharded ? 4 + 2 * rank + (num_banks + 1) / 2 : 2;
    static_assert(offset + words <= tw::compile_time_count, "accessor words beyond the compile-time arguments");
    static constexpr uint32_t next_compile_time_args_offset() { return offset + words; }
    static constexpr uint32_t next_common_runtime_args_offset() { return common_offset; }

    static constexpr uint32_t extent(uint32_t dim) { return tw::compile_time_word(true, offset + 4 + dim); }
    static constexpr uint32_t shard_extent(uint32_t dim) {
        return tw::compile_time_word(true, offset + 4 + rank + dim);
    }
    static uint64_t address(uint32_t base, uint32_t stride, uint32_t page, uint32_t shift) {
        uint32_t shard = 0, inside = 0, shard_stride = 1, grid_stride = 1;
        for (uint32_t dim = rank; dim-- > 0;) {
            uint32_t at = page % extent(dim), size = shard_extent(dim);
            page /= extent(dim);
            shard += at / size * grid_stride;
            inside += at % size * shard_stride;
            grid_stride *= (extent(dim) + size - 1) / size;
            shard_stride *= size;
        }
        uint32_t bank = shard % num_banks;
        uint32_t pair = tw::compile_time_word(true, offset + 4 + 2 * rank + bank / 2) >> (bank % 2 * 16);
        uint32_t place = shard / num_banks * shard_stride + inside;
        return tw_core_address(pair >> 8 & 255, pair & 255, base + place * stride + shift);
    }
};

template <typename Args>
class TensorAccessor {
public:
    using tw_address_generator = void;
    TensorAccessor(Args, uint32_t base, uint32_t page_bytes = Args::aligned_page_bytes)
        : page_size(page_bytes), base_(base) {}
    uint64_t get_noc_addr(uint32_t page, uint32_t offset = 0, uint8_t = noc_index) const {
        if constexpr (Args::is_sharded) {
            return Args::address(base_, stride(), page, offset);
        }
        return tw_page_address(Args::is_dram, base_, stride(), page, offset);
    }
    void check(uint32_t page) const { tw_check_page(Args::is_dram, base_, stride(), page); }
    uint32_t get_aligned_page_size() const { return stride(); }
    const uint32_t page_size;

private:
    uint32_t stride() const { return tw_page_stride(Args::is_dram, page_size); }
    uint32_t base_;
};

template <bool DRAM>
struct InterleavedAddrGen {
    using tw_address_generator = void;
    uint32_t bank_base_address;
    const uint32_t page_size;
    uint64_t get_noc_addr(uint32_t page, uint32_t offset = 0, uint8_t = noc_index) const {
        return tw_page_address(DRAM, bank_base_address, tw_page_stride(DRAM, page_size), page, offset);
    }
    void check(uint32_t page) const {
        tw_check_page(DRAM, bank_base_address, tw_page_stride(DRAM, page_size), page);
    }
};

template <bool DRAM, uint32_t tile_hw = 1024>
struct InterleavedAddrGenFast {
    using tw_address_generator = void;
    uint32_t bank_base_address;
    uint32_t page_size;
    DataFormat data_format;
    uint64_t get_noc_addr(uint32_t page, uint32_t offset = 0, uint8_t = noc_index) const {
        return tw_page_address(DRAM, bank_base_address, tw_page_stride(DRAM, page_size), page, offset);
    }
    void check(uint32_t page) const {
        tw_check_page(DRAM, bank_base_address, tw_page_stride(DRAM, page_size), page);
    }
};

template <typename Generator, typename = typename Generator::tw_address_generator>
FORCE_INLINE uint64_t get_noc_addr(uint32_t page, const Generator& generator, uint32_t offset = 0,
                                   uint8_t = noc_index) {
    return generator.get_noc_addr(page, offset);
}

// -- transfers -----------------------------------------------------------------------------------

template <uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1>
FORCE_INLINE void noc_async_read(uint64_t source, uint32_t l1, uint32_t bytes, uint8_t = noc_index, TW_LINE) {
    tw::at(tw_line);
    tw_read(source, l1, bytes);
}

template <uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1>
FORCE_INLINE void noc_async_write(uint32_t l1, uint64_t destination, uint32_t bytes, uint8_t = noc_index, TW_LINE) {
    tw::at(tw_line);
    tw_write(l1, destination, bytes);
}

template <typename Generator, typename = typename Generator::tw_address_generator>
FORCE_INLINE void noc_async_read_page(uint32_t page, const Generator& generator, uint32_t l1, uint32_t offset = 0,
                                      uint8_t = noc_index, TW_LINE) {
    tw::at(tw_line);
    generator.check(page);
    tw_read(generator.get_noc_addr(page, offset), l1, generator.page_size - offset);
}

template <typename Generator, typename = typename Generator::tw_address_generator>
FORCE_INLINE void noc_async_write_page(uint32_t page, const Generator& generator, uint32_t l1, uint32_t size = 0,
                                       uint32_t offset = 0, uint8_t = noc_index, TW_LINE) {
    tw::at(tw_line);
    generator.check(page);
    tw_write(l1, generator.get_noc_addr(page, offset), size == 0 ? generator.page_size : size);
}

template <typename Generator, typename = typename Generator::tw_address_generator>
FORCE_INLINE void noc_async_read_tile(uint32_t page, const Generator& generator, uint32_t l1, uint32_t offset = 0,
                                      uint8_t noc = noc_index, TW_LINE) {
    noc_async_read_page(page, generator, l1, offset, noc, tw_line);
}

template <typename Generator, typename = typename Generator::tw_address_generator>
FORCE_INLINE void noc_async_write_tile(uint32_t page, const Generator& generator, uint32_t l1,
                                       uint8_t noc = noc_index, TW_LINE) {
    noc_async_write_page(page, generator, l1, 0, 0, noc, tw_line);
}

#define TW_BARRIER(name, kind)                              \
    FORCE_INLINE void name(uint8_t = noc_index, TW_LINE) {  \
        tw::at(tw_line);                                    \
        tw_barrier(kind);                                   \
    }
TW_BARRIER(noc_async_read_barrier, TW_BARRIER_READ)
TW_BARRIER(noc_async_write_barrier, TW_BARRIER_WRITE)
TW_BARRIER(noc_async_writes_flushed, TW_BARRIER_FLUSH)
TW_BARRIER(noc_async_atomic_barrier, TW_BARRIER_ATOMIC)
TW_BARRIER(noc_async_full_barrier, TW_BARRIER_FULL)
#undef TW_BARRIER

template <uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1>
FORCE_INLINE void noc_async_write_multicast(uint32_t l1, uint64_t rectangle, uint32_t bytes, uint32_t num_dests,
                                            bool = false, uint8_t = noc_index, TW_LINE) {
    tw::at(tw_line);
    tw_multicast(l1, rectangle, bytes, num_dests, 0, 0);
}
FORCE_INLINE void noc_async_write_multicast_loopback_src(uint32_t l1, uint64_t rectangle, uint32_t bytes,
                                                         uint32_t num_dests, bool = false, uint8_t = noc_index,
                                                         TW_LINE) {
    tw::at(tw_line);
    tw_multicast(l1, rectangle, bytes, num_dests, 1, 0);
}

// -- semaphores ----------------------------------------------------------------------------------

FORCE_INLINE uint32_t get_semaphore(uint32_t id, TW_LINE) {
    tw::at(tw_line);
    return tw_semaphore_address(id);
}
FORCE_INLINE void noc_semaphore_set(volatile uint32_t* word, uint32_t value, TW_LINE) {
    tw::at(tw_line);
    tw_semaphore_set(uint32_t(uintptr_t(word)), value);
}
template <bool posted = false>
FORCE_INLINE void noc_semaphore_inc(uint64_t destination, uint32_t value, uint8_t = noc_index, uint8_t = 0, TW_LINE) {
    tw::at(tw_line);
    tw_semaphore_increment(destination, value);
}
FORCE_INLINE void noc_semaphore_wait(volatile uint32_t* word, uint32_t value, TW_LINE) {
    tw::at(tw_line);
    tw_semaphore_wait(uint32_t(uintptr_t(word)), value, 0);
}
FORCE_INLINE void noc_semaphore_wait_min(volatile uint32_t* word, uint32_t value, TW_LINE) {
    tw::at(tw_line);
    tw_semaphore_wait(uint32_t(uintptr_t(word)), value, 1);
}
FORCE_INLINE void noc_semaphore_set_multicast(uint32_t l1, uint64_t rectangle, uint32_t num_dests, bool = false,
                                              uint8_t = noc_index, TW_LINE) {
    tw::at(tw_line);
    tw_multicast(l1, rectangle, 4, num_dests, 0, 1);
}
FORCE_INLINE void noc_semaphore_set_multicast_loopback_src(uint32_t l1, uint64_t rectangle, uint32_t num_dests,
                                                           bool = false, uint8_t = noc_index, TW_LINE) {
    tw::at(tw_line);
    tw_multicast(l1, rectangle, 4, num_dests, 1, 1);
}
FORCE_INLINE void noc_semaphore_set_remote(uint32_t l1, uint64_t destination, uint8_t = noc_index, TW_LINE) {
    tw::at(tw_line);
    tw_semaphore_set_remote(l1, destination);
}

// -- objects -------------------------------------------------------------------------------------

template <typename T>
struct noc_traits_t {
    static_assert(sizeof(T) == 0, "NoC transfers of this type are not modelled");
};

template <typename Args>
struct noc_traits_t<TensorAccessor<Args>> {
    struct src_args_type {
        uint32_t page_id{};
        uint32_t offset_bytes = 0;
    };
    using dst_args_type = src_args_type;
    static uint64_t address(const TensorAccessor<Args>& tensor, const src_args_type& at) {
        tensor.check(at.page_id);
        return tensor.get_noc_addr(at.page_id, at.offset_bytes);
    }
};

template <>
struct noc_traits_t<CircularBuffer> {
    struct src_args_type {
        uint32_t offset_bytes{};
    };
    using dst_args_type = src_args_type;
    static uint32_t source(const CircularBuffer& cb, const src_args_type& at) {
        return cb.get_read_ptr() + at.offset_bytes;
    }
    static uint32_t destination(const CircularBuffer& cb, const src_args_type& at) {
        return cb.get_write_ptr() + at.offset_bytes;
    }
};

class Noc {
public:
    Noc() : noc_(noc_index) {}
    explicit Noc(uint8_t noc) : noc_(noc) {}
    uint8_t get_noc_id() const { return noc_; }

    template <typename Source, typename Destination>
    void async_read(const Source& source, const Destination& destination, uint32_t bytes,
                    const typename noc_traits_t<Source>::src_args_type& from,
                    const typename noc_traits_t<Destination>::dst_args_type& to, TW_LINE) const {
        tw::at(tw_line);
        uint64_t address = noc_traits_t<Source>::address(source, from);
        uint32_t l1 = noc_traits_t<Destination>::destination(destination, to);
        noc_async_read(address, l1, bytes, noc_, tw_line);
    }
    template <typename Source, typename Destination>
    void async_write(const Source& source, const Destination& destination, uint32_t bytes,
                     const typename noc_traits_t<Source>::src_args_type& from,
                     const typename noc_traits_t<Destination>::dst_args_type& to, TW_LINE) const {
        tw::at(tw_line);
        uint64_t address = noc_traits_t<Destination>::address(destination, to);
        uint32_t l1 = noc_traits_t<Source>::source(source, from);
        noc_async_write(l1, address, bytes, noc_, tw_line);
    }
    void async_read_barrier(TW_LINE) const { noc_async_read_barrier(noc_, tw_line); }
    void async_write_barrier(TW_LINE) const { noc_async_write_barrier(noc_, tw_line); }
    void async_writes_flushed(TW_LINE) const { noc_async_writes_flushed(noc_, tw_line); }
    void async_atomic_barrier(TW_LINE) const { noc_async_atomic_barrier(noc_, tw_line); }

private:
    uint8_t noc_;
};
