// Buffers in DRAM: which one an address belongs to, who writes and who reads each part of it.
//
// A part of a buffer has one writing kernel. Only the core of that kernel may have read it before: the
// reader of a core does not wait for its writer, and cores do not wait for each other.
#pragma once

#include "circular_buffers.hpp"

namespace tw {

// The buffer whose bytes of one bank contain a DRAM range, or null.
inline Buffer* buffer_at(const Endpoint& end, uint32_t bytes) {
    for (Buffer& buffer : machine.buffers) {
        uint32_t rows = (buffer.pages + machine.banks - 1 - end.bank) / machine.banks;
        if (buffer.dram && end.address >= buffer.address &&
            end.address + bytes <= buffer.address + rows * buffer.stride) {
            return &buffer;
        }
    }
    return nullptr;
}

inline void check_dram(const Endpoint& end, uint32_t bytes, const char* call) {
    if (!buffer_at(end, bytes)) {
        report("page-range", format("%s: %u B at address 0x%x of DRAM bank %u are outside every buffer", call, bytes,
                                    end.address, end.bank));
    }
}

inline std::string name_of(const Fiber& fiber) {
    return format("%s on core (%d,%d)", fiber.kernel.c_str(), fiber.core->x, fiber.core->y);
}

// Calls `visit(granule, page)` for the granules of a range of a bank, in the order of addresses.
template <typename Visit>
void for_each_granule(const Buffer& buffer, const Endpoint& end, uint32_t bytes, Visit visit) {
    uint32_t first = (end.address - buffer.address) / kGranule, granules = buffer.stride / kGranule;
    uint32_t last = (end.address - buffer.address + bytes - 1) / kGranule;
    for (uint32_t i = first; i <= last; ++i) {
        uint32_t page = i / granules * machine.banks + end.bank;
        if (page < buffer.pages) {
            visit(size_t(page) * granules + i % granules, page);
        }
    }
}

inline void mark_read(Fiber& fiber, const Endpoint& end, uint32_t bytes) {
    Buffer* buffer = buffer_at(end, bytes);
    if (!buffer) {
        return;
    }
    uint16_t core = uint16_t(fiber.core->y * machine.columns + fiber.core->x + 1);
    uint16_t writer = 0;
    uint32_t at = 0;
    for_each_granule(*buffer, end, bytes, [&](size_t granule, uint32_t page) {
        uint16_t& reader = buffer->reader[granule];
        reader = reader == 0 || reader == core ? core : kSeveral;
        if (buffer->writer[granule] && buffer->writer[granule] != fiber.id) {
            writer = buffer->writer[granule];
            at = page;
        }
    });
    if (writer) {
        report("unordered-access", format("reads page %u of '%s', which %s writes in the same run: nothing orders the "
                                          "two", at, buffer->name.c_str(),
                                          name_of(*machine.fibers[writer - 1]).c_str()));
    }
}

inline void mark_written(Fiber& fiber, const Endpoint& end, uint32_t bytes) {
    Buffer* buffer = buffer_at(end, bytes);
    if (!buffer) {
        return;
    }
    if (buffer->output) {
        for (uint32_t i = 0; i < bytes; ++i) {
            uint32_t row = (end.address - buffer->address + i) / buffer->stride;
            uint32_t page = row * machine.banks + end.bank, offset = (end.address - buffer->address + i) % buffer->stride;
            if (offset < buffer->page_bytes && page < buffer->pages) {
                buffer->written[size_t(page) * buffer->page_bytes + offset] = 1;
            }
        }
    }
    uint16_t core = uint16_t(fiber.core->y * machine.columns + fiber.core->x + 1);
    uint16_t other = 0;
    bool read = false;
    uint32_t at = 0;
    for_each_granule(*buffer, end, bytes, [&](size_t granule, uint32_t page) {
        uint16_t& writer = buffer->writer[granule];
        uint16_t reader = buffer->reader[granule];
        if (writer && writer != fiber.id) {
            other = writer;
            at = page;
        }
        if (reader && reader != core) {
            read = true;
            at = page;
        }
        writer = fiber.id;
    });
    if (other) {
        report("two-writers", format("page %u of '%s' is written by %s too", at, buffer->name.c_str(),
                                     name_of(*machine.fibers[other - 1]).c_str()));
    }
    if (read) {
        report("unordered-access", format("writes page %u of '%s', which another core reads in the same run: nothing "
                                          "orders the two", at, buffer->name.c_str()));
    }
}

}  // namespace tw
