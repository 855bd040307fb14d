// Circular buffers: page counters shared by a core's processors, pointers private to each of them.
#pragma once

#include "ordering.hpp"

namespace tw {

inline CircularBufferState& cb_of(Fiber& fiber, uint32_t index, const char* call) {
    if (index >= kMaxCbs || !fiber.core->cbs[index].exists) {
        fatal("bad-address", format("%s: core has no circular buffer c_%u", call, index));
    }
    return fiber.core->cbs[index];
}

inline CbView& view_of(Fiber& fiber, uint32_t index) {
    CbView& view = fiber.views[index];
    if (view.wr == 0) {
        view.wr = view.rd = fiber.core->cbs[index].base;
    }
    return view;
}

inline uint32_t end_of(const CircularBufferState& cb) { return cb.base + cb.pages * cb.page; }

inline uint32_t advanced(const CircularBufferState& cb, uint32_t pointer, uint32_t pages) {
    uint32_t next = pointer + pages * cb.page;
    return next >= end_of(cb) ? cb.base + (next - end_of(cb)) % (cb.pages * cb.page) : next;
}

inline void check_straddle(const CircularBufferState& cb, uint32_t index, uint32_t pointer, uint32_t pages,
                           const char* call) {
    if (pointer + pages * cb.page > end_of(cb)) {
        report("straddling-wrap", format("%s(c_%u, %u) crosses the end of the buffer: page %u of %u, %u pages", call,
                                         index, pages, (pointer - cb.base) / cb.page, cb.pages, pages));
    }
}

inline void reserve(Fiber& fiber, uint32_t index, uint32_t pages) {
    CircularBufferState& cb = cb_of(fiber, index, "cb_reserve_back");
    if (pages > cb.pages) {
        fatal("over-reserve", format("cb_reserve_back(c_%u, %u): the buffer has %u pages", index, pages, cb.pages));
    }
    block(WaitKind::CbSpace, index, 0, pages);
    CbView& view = view_of(fiber, index);
    view.reserved = std::max(view.reserved, pages);
    order_reserve(fiber, index);
}

inline void check_written(Fiber& fiber, CircularBufferState& cb, CbView& view, uint32_t index, uint32_t pages) {
    if (!fiber.compute) {
        return;
    }
    view.written.resize(std::max<size_t>(view.written.size(), pages));
    // Pages of a whole shard that lie outside of the tensor have no contents; pages of an output that
    // were not written are reported when it is read back.
    const bool is_whole_shard = cb.on_buffer && pages == cb.pages;
    for (uint32_t i = 0; i < pages && !is_whole_shard; ++i) {
        if (!view.written[i]) {
            report("unwritten-page", format("cb_push_back(c_%u, %u): page %u was not packed since the last push", index,
                                            pages, i));
            break;
        }
    }
    view.written.erase(view.written.begin(), view.written.begin() + pages);
}

// Pages that a data-movement kernel pushes without any data in them.
inline void check_moved(Fiber& fiber, CircularBufferState& cb, CbView& view, uint32_t index, uint32_t pages) {
    if (fiber.compute || cb.on_buffer || cb.shared) {
        return;
    }
    for (uint32_t i = 0; i < pages && view.wr + (i + 1) * cb.page <= end_of(cb); ++i) {
        if (is_poisoned(fiber.core->l1 + view.wr + i * cb.page, cb.page)) {
            report("unwritten-page", format("cb_push_back(c_%u, %u): page %u has not been written", index, pages, i));
            return;
        }
    }
}

inline void push(Fiber& fiber, uint32_t index, uint32_t pages) {
    CircularBufferState& cb = cb_of(fiber, index, "cb_push_back");
    CbView& view = view_of(fiber, index);
    if (pages > view.reserved) {
        report("push-without-reserve",
               format("cb_push_back(c_%u, %u): %u pages reserved", index, pages, view.reserved));
    }
    check_straddle(cb, index, view.wr, pages, "cb_push_back");
    order_push(fiber, index, pages, view.wr, pages * cb.page);
    for (const Transfer& read : fiber.reads) {
        if (overlaps(read.destinations[0].address, read.bytes, view.wr, pages * cb.page)) {
            report("push-before-barrier",
                   format("cb_push_back(c_%u, %u): the read issued at line %u into these pages is in flight; "
                          "noc_async_read_barrier is required before the push",
                          index, pages, read.line));
            break;
        }
    }
    for (auto& other : machine.fibers) {
        for (const Transfer& write : other->writes) {
            for (const Endpoint& to : write.destinations) {
                if (!write.done && write.kind == TransferKind::Write && to.core == fiber.core &&
                    overlaps(to.address, write.bytes, view.wr, pages * cb.page)) {
                    report("push-before-barrier",
                           format("cb_push_back(c_%u, %u): a write of core (%d,%d), %s line %u, into these pages is in "
                                  "flight; its flag arrived first",
                                  index, pages, other->core->x, other->core->y, other->kernel.c_str(), write.line));
                }
            }
        }
    }
    check_written(fiber, cb, view, index, pages);
    check_moved(fiber, cb, view, index, pages);
    cb.received += pages;
    view.wr = advanced(cb, view.wr, pages);
    view.reserved -= std::min(view.reserved, pages);
    view.packed = 0;
    fiber.line = tw_current_line;
    event("push", &fiber, index, std::to_string(pages));
}

inline void wait_pages(Fiber& fiber, uint32_t index, uint32_t pages) {
    CircularBufferState& cb = cb_of(fiber, index, "cb_wait_front");
    if (pages > cb.pages) {
        fatal("over-wait", format("cb_wait_front(c_%u, %u): the buffer has %u pages", index, pages, cb.pages));
    }
    block(WaitKind::CbPages, index, 0, pages);
    CbView& view = view_of(fiber, index);
    view.waited = std::max(view.waited, pages);
}

// Whether a write that has not left yet reads this range: a multicast from pages that compute pops.
inline bool is_write_source(const Core* core, uint32_t address, uint32_t bytes) {
    for (auto& fiber : machine.fibers) {
        for (const Transfer& write : fiber->writes) {
            if (!write.done && write.data.empty() && write.source.core == core &&
                overlaps(write.source.address, write.bytes, address, bytes)) {
                return true;
            }
        }
    }
    return false;
}

inline void pop(Fiber& fiber, uint32_t index, uint32_t pages) {
    CircularBufferState& cb = cb_of(fiber, index, "cb_pop_front");
    CbView& view = view_of(fiber, index);
    if (pages > view.waited) {
        report("pop-without-wait", format("cb_pop_front(c_%u, %u): %u pages waited for", index, pages, view.waited));
    }
    check_straddle(cb, index, view.rd, pages, "cb_pop_front");
    for (const Transfer& write : fiber.writes) {
        if (write.kind == TransferKind::Write && !write.flushed &&
            overlaps(write.source.address, write.bytes, view.rd, pages * cb.page)) {
            report("pop-before-write",
                   format("cb_pop_front(c_%u, %u): the write issued at line %u from these pages is in flight; "
                          "noc_async_writes_flushed or noc_async_write_barrier is required before the pop",
                          index, pages, write.line));
            break;
        }
    }
    if (!cb.on_buffer && !cb.shared && !is_write_source(fiber.core, view.rd, pages * cb.page)) {
        uint32_t stop = std::min(view.rd + pages * cb.page, end_of(cb));
        poison(fiber.core->l1 + view.rd, stop - view.rd);
    }
    cb.acked += pages;
    view.rd = advanced(cb, view.rd, pages);
    view.waited -= std::min(view.waited, pages);
    fiber.line = tw_current_line;
    event("pop", &fiber, index, std::to_string(pages));
}

// Whether [address, address + bytes) is claimed by `fiber` for writing (or reading) in some CB.
inline bool in_window(Fiber& fiber, uint32_t address, uint32_t bytes, bool writing) {
    for (uint32_t i = 0; i < kMaxCbs; ++i) {
        const CircularBufferState& cb = fiber.core->cbs[i];
        if (!cb.exists || address < cb.base || address + bytes > end_of(cb)) {
            continue;
        }
        CbView& view = view_of(fiber, i);
        bool reserved = address >= view.wr && address + bytes <= view.wr + view.reserved * cb.page;
        bool waited = address >= view.rd && address + bytes <= view.rd + view.waited * cb.page;
        if (cb.on_buffer || reserved || (!writing && waited)) {
            return true;
        }
    }
    return false;
}

inline int cb_at(const Core* core, uint32_t address) {
    for (int i = 0; i < kMaxCbs; ++i) {
        const CircularBufferState& cb = core->cbs[i];
        if (cb.exists && address >= cb.base && address < cb.base + cb.bytes) {
            return i;
        }
    }
    return -1;
}

inline const Buffer* l1_buffer_at(uint32_t address, uint32_t bytes) {
    for (const Buffer& buffer : machine.buffers) {
        if (!buffer.dram && address >= buffer.address && address + bytes <= buffer.address + buffer.core_bytes) {
            return &buffer;
        }
    }
    return nullptr;
}

inline bool in_l1_buffer(uint32_t address, uint32_t bytes) { return l1_buffer_at(address, bytes) != nullptr; }

}  // namespace tw

extern "C" {

unsigned tw_current_line = 0;

void tw_cb(int op, uint32_t cb, uint32_t pages) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    fiber.line = tw_current_line;
    switch (op) {
        case TW_CB_RESERVE: return reserve(fiber, cb, pages);
        case TW_CB_PUSH: push(fiber, cb, pages); return maybe_yield();
        case TW_CB_WAIT: return wait_pages(fiber, cb, pages);
        default: pop(fiber, cb, pages); return maybe_yield();
    }
}

uint32_t tw_cb_pointer(int write, uint32_t cb) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    cb_of(fiber, cb, write ? "get_write_ptr" : "get_read_ptr");
    CbView& view = view_of(fiber, cb);
    return write ? view.wr : view.rd;
}

uint32_t tw_cb_format(uint32_t cb) { return tw::cb_of(*tw::machine.running, cb, "get_dataformat").format; }

uint32_t tw_tile_bytes(uint32_t cb) {
    switch (tw::cb_of(*tw::machine.running, cb, "get_tile_size").format) {
        case 0: case 8: case 24: return 4096;
        case 6: return 1088;
        case 14: case 30: return 1024;
        default: return 2048;
    }
}

uint32_t tw_argument(int index, int common) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    const std::vector<uint32_t>& words = common ? fiber.common : fiber.arguments;
    if (index < 0 || size_t(index) >= words.size()) {
        report("argument-range", format("get_%sarg_val(%d): the host set %zu words", common ? "common_" : "", index,
                                        words.size()));
        return 0;
    }
    return words[index];
}

uint32_t tw_logical(int axis) {
    tw::Core* core = tw::machine.running->core;
    return axis ? core->y : core->x;
}
}
