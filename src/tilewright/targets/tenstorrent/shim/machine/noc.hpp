// NoC transfers: queued, performed at a random later moment, at the latest at a barrier.
//
// A NoC address is `kind | fields | address`; only this file knows it:
//
//     bit 60..63 kind: 1 core, 2 rectangle of cores, 3 DRAM bank
//     bit 36..59 x, y (core); xs, ys, xe, ye (rectangle), 6 bits each; bank
//     bit  0..35 address
//
// A destination in L1 is poisoned when the transfer is issued. A write's source is read when the
// write leaves: overwriting it before a flush changes what arrives.
#pragma once

#include "dram.hpp"

namespace tw {

enum : uint64_t { kCore = 1, kRectangle = 2, kBank = 3 };

inline uint64_t encode(uint64_t kind, uint64_t fields, uint64_t address) {
    return kind << 60 | fields << 36 | address;
}
inline uint32_t field(uint64_t address, int index) { return (address >> (36 + 6 * index)) & 63; }
inline uint32_t low(uint64_t address) { return uint32_t(address & ((1ull << 36) - 1)); }

inline Core* core_at_noc(uint32_t x, uint32_t y) {
    for (auto& core : machine.cores) {
        if (core->noc_x == int(x) && core->noc_y == int(y)) {
            return core.get();
        }
    }
    return nullptr;
}

inline Endpoint endpoint_of(uint64_t address, const char* call) {
    Endpoint out;
    out.address = low(address);
    if (address >> 60 == kBank) {
        out.bank = (address >> 36) & 0xFFF;
        if (out.bank >= machine.banks) {
            fatal("bad-address", format("%s: DRAM bank %u of %u", call, out.bank, machine.banks));
        }
    } else if (address >> 60 == kCore) {
        out.core = core_at_noc(field(address, 0), field(address, 1));
        if (!out.core) {
            fatal("bad-address", format("%s: no core at NoC coordinates (%u,%u)", call, field(address, 0),
                                        field(address, 1)));
        }
    } else {
        fatal("bad-address", format("%s: 0x%llx is not a NoC address of one core or bank", call,
                                    (unsigned long long)address));
    }
    return out;
}

inline uint8_t* bytes_at(const Endpoint& end) {
    return end.core ? end.core->l1 + end.address : machine.dram + size_t(end.bank) * machine.bank_bytes + end.address;
}

inline void check_limits(const Endpoint& end, uint32_t bytes, const char* call) {
    uint64_t limit = end.core ? machine.l1_bytes : machine.bank_bytes;
    uint64_t first = end.core ? kLowest : 0;
    if (end.address < first || uint64_t(end.address) + bytes > limit) {
        fatal("bad-address", format("%s: %u B at %s address 0x%x exceed its %llu B", call, bytes,
                                    end.core ? "L1" : "DRAM", end.address, (unsigned long long)limit));
    }
}

inline void check_alignment(const Endpoint& end, bool reading, const char* call) {
    uint32_t required = end.core ? machine.l1_alignment
                        : reading ? machine.dram_read_alignment : machine.dram_write_alignment;
    if (end.address % required) {
        report("misaligned", format("%s: %s address 0x%x is not a multiple of %u", call,
                                    end.core ? "L1" : (reading ? "DRAM read" : "DRAM write"), end.address, required));
    }
}

inline void check_l1_destination(Fiber& fiber, uint32_t address, uint32_t bytes, const char* call) {
    if (in_window(fiber, address, bytes, true) || in_l1_buffer(address, bytes)) {
        return;
    }
    int cb = cb_at(fiber.core, address);
    if (cb >= 0) {
        report("outside-window", format("%s: %u B at 0x%x are outside the reserved pages of c_%d", call, bytes,
                                        address, cb));
    } else {
        report("outside-window", format("%s: %u B at L1 address 0x%x are outside every circular buffer and L1 buffer",
                                        call, bytes, address));
    }
}

inline void check_l1_source(Fiber& fiber, uint32_t address, uint32_t bytes, const char* call) {
    for (const Transfer& read : fiber.reads) {
        if (overlaps(read.destinations[0].address, read.bytes, address, bytes)) {
            report("poisoned-read", format("%s: the source at 0x%x is the destination of the read in flight from line "
                                           "%u; noc_async_read_barrier is required", call, address, read.line));
            return;
        }
    }
    if (cb_at(fiber.core, address) >= 0 && !in_window(fiber, address, bytes, false) && !in_l1_buffer(address, bytes)) {
        report("outside-window", format("%s: the source, %u B at 0x%x, is outside the waited and reserved pages of c_%d",
                                        call, bytes, address, cb_at(fiber.core, address)));
    }
    if (is_poisoned(fiber.core->l1 + address, bytes)) {
        report("poisoned-read", format("%s: the source, %u B at 0x%x, has not been written", call, bytes, address));
    }
}

inline void check_remote(Core* core, uint32_t address, uint32_t bytes, const char* call) {
    if (in_l1_buffer(address, bytes)) {
        return;
    }
    int cb = cb_at(core, address);
    if (cb < 0) {
        report("outside-window", format("%s: %u B at L1 address 0x%x of core (%d,%d) are outside every circular buffer "
                                        "and L1 buffer", call, bytes, address, core->x, core->y));
        return;
    }
    for (auto& fiber : machine.fibers) {
        if (fiber->core == core && in_window(*fiber, address, bytes, true)) {
            return;
        }
    }
    report("outside-window", format("%s: core (%d,%d) has not reserved the pages of c_%d at 0x%x", call, core->x,
                                    core->y, cb, address));
}

// -- performing ------------------------------------------------------------------------------------

inline void perform(Transfer& transfer) {
    if (transfer.done) {
        return;
    }
    transfer.done = true;
    if (transfer.issuer) {
        event("done", transfer.issuer, transfer.id, "");
    }
    if (transfer.kind == TransferKind::Increment) {
        uint32_t word = load_word(transfer.destinations[0].core, transfer.destinations[0].address) + transfer.value;
        std::memcpy(bytes_at(transfer.destinations[0]), &word, 4);
        order_performed(transfer.destinations[0].core, transfer.destinations[0].address, transfer.writer, transfer.clock);
        return;
    }
    const uint8_t* source = transfer.data.empty() ? bytes_at(transfer.source) : transfer.data.data();
    std::vector<uint8_t> copy(source, source + transfer.bytes);
    for (const Endpoint& to : transfer.destinations) {
        std::memcpy(bytes_at(to), copy.data(), transfer.bytes);
        if (transfer.kind == TransferKind::Semaphore && to.core) {
            order_performed(to.core, to.address, transfer.writer, transfer.clock);
        }
    }
}

inline bool same_destination(const Transfer& a, const Transfer& b) {
    for (const Endpoint& x : a.destinations) {
        for (const Endpoint& y : b.destinations) {
            if (x.core == y.core && (x.core || x.bank == y.bank)) {
                return true;
            }
        }
    }
    return false;
}

// Whether the write at `index` may be performed now: writes to one destination arrive in order.
inline bool may_perform(const std::vector<Transfer>& queue, size_t index) {
    const Transfer& transfer = queue[index];
    for (size_t i = 0; i < index; ++i) {
        const Transfer& earlier = queue[i];
        if (earlier.done || !same_destination(earlier, transfer)) {
            continue;
        }
        bool unordered = earlier.multicast != transfer.multicast ||
                         (!machine.ordered_flags && !earlier.flushed && earlier.kind != transfer.kind);
        if (!unordered) {
            return false;
        }
    }
    return true;
}

// Queue a transfer; `what` describes it in a trace.
inline void queue(std::vector<Transfer>& transfers, Transfer&& transfer, const char* what) {
    if (machine.trace) {
        transfer.id = ++machine.transfers;
        transfer.issuer = machine.running;
        machine.running->line = tw_current_line;
        event("issue", transfer.issuer, transfer.id, format("%s, %u B", what, transfer.bytes));
    }
    transfers.push_back(std::move(transfer));
}

// Forget transfers that no later check needs: a write from a CB is needed until it is flushed.
inline void drop_done(Fiber& fiber) {
    auto gone = [](const Transfer& t) {
        return t.done && (t.kind != TransferKind::Write || t.multicast || (t.flushed && t.destinations[0].core));
    };
    fiber.writes.erase(std::remove_if(fiber.writes.begin(), fiber.writes.end(), gone), fiber.writes.end());
}

inline void perform_random_transfer() {
    if (draw(2)) {
        return;
    }
    Fiber& fiber = *machine.fibers[draw(machine.fibers.size())];
    std::vector<Transfer>& queue = draw(2) ? fiber.reads : fiber.writes;
    if (queue.empty()) {
        return;
    }
    size_t index = draw(queue.size());
    if (&queue == &fiber.reads || may_perform(queue, index)) {
        perform(queue[index]);
    }
}

inline bool perform_all_transfers() {
    bool any = false;
    for (auto& fiber : machine.fibers) {
        for (auto* queue : {&fiber->reads, &fiber->writes}) {
            for (Transfer& transfer : *queue) {
                any |= !transfer.done;
                perform(transfer);
            }
        }
    }
    return any;
}

template <typename Covered>
void complete(std::vector<Transfer>& queue, Covered covered) {
    for (size_t i = 0; i < queue.size(); ++i) {
        if (!covered(queue[i])) {
            continue;
        }
        for (size_t j = 0; j < i; ++j) {
            if (same_destination(queue[j], queue[i]) && queue[j].multicast == queue[i].multicast) {
                perform(queue[j]);
            }
        }
        perform(queue[i]);
    }
    queue.erase(std::remove_if(queue.begin(), queue.end(), covered), queue.end());
}

inline void finish_fiber(Fiber& fiber) {
    if (!fiber.reads.empty()) {
        report("push-before-barrier",
               format("kernel ends with %zu reads in flight, the first from line %u; noc_async_read_barrier is required",
                      fiber.reads.size(), fiber.reads[0].line));
    }
    for (const Transfer& write : fiber.writes) {
        if (write.kind == TransferKind::Write && !write.destinations[0].core) {
            report("pop-before-write", format("kernel ends with the write of line %u to DRAM in flight; "
                                              "noc_async_write_barrier is required", write.line));
            break;
        }
    }
    if (fiber.compute && fiber.compute->section != Section::Idle) {
        report("dst-section", "kernel ends between tile_regs_acquire and tile_regs_release");
    }
}

inline uint64_t pages_of(Core* core, uint32_t address, uint32_t bytes) {
    int cb = cb_at(core, address);
    uint32_t page = cb >= 0 ? core->cbs[cb].page : bytes;
    return std::max<uint64_t>(1, bytes / std::max<uint32_t>(page, 1));
}

// Pages of an L1 buffer; 0 for bytes of no buffer.
inline uint64_t l1_pages(uint32_t address, uint32_t bytes) {
    const Buffer* buffer = l1_buffer_at(address, bytes);
    return buffer ? std::max<uint64_t>(1, bytes / buffer->stride) : 0;
}

inline uint64_t dram_pages(const Endpoint& end, uint32_t bytes) {
    Buffer* buffer = buffer_at(end, bytes);
    return buffer ? std::max<uint64_t>(1, bytes / buffer->stride) : 1;
}

}  // namespace tw

extern "C" {

uint64_t tw_core_address(uint32_t noc_x, uint32_t noc_y, uint32_t address) {
    return tw::encode(tw::kCore, (noc_x & 63) | (noc_y & 63) << 6, address);
}
uint64_t tw_own_address(uint32_t address) {
    tw::Core* core = tw::machine.running->core;
    return tw_core_address(core->noc_x, core->noc_y, address);
}
uint64_t tw_rectangle_address(uint32_t xs, uint32_t ys, uint32_t xe, uint32_t ye, uint32_t address) {
    return tw::encode(tw::kRectangle, (xs & 63) | (ys & 63) << 6 | (xe & 63) << 12 | uint64_t(ye & 63) << 18, address);
}
uint64_t tw_bank_address(int dram, uint32_t bank, uint32_t address) {
    if (dram) {
        return tw::encode(tw::kBank, bank & 0xFFF, address);
    }
    tw::Core* core = tw::machine.cores[bank % tw::machine.cores.size()].get();
    return tw_core_address(core->noc_x, core->noc_y, address);
}
uint32_t tw_page_stride(int dram, uint32_t page_bytes) {
    uint32_t alignment = dram ? tw::machine.dram_read_alignment : tw::machine.l1_alignment;
    return (page_bytes + alignment - 1) / alignment * alignment;
}
uint64_t tw_page_address(int dram, uint32_t base, uint32_t stride, uint32_t page, uint32_t offset) {
    uint32_t banks = dram ? tw::machine.banks : uint32_t(tw::machine.cores.size());
    return tw_bank_address(dram, page % banks, base + page / banks * stride + offset);
}

void tw_check_page(int dram, uint32_t base, uint32_t stride, uint32_t page) {
    using namespace tw;
    for (const Buffer& buffer : machine.buffers) {
        if (buffer.dram == bool(dram) && buffer.address == base) {
            if (page >= buffer.pages) {
                report("page-range", format("page %u of '%s', which has %u pages", page, buffer.name.c_str(),
                                            buffer.pages));
            } else if (stride != buffer.stride) {
                report("page-range", format("'%s' has pages %u B apart, the accessor assumes %u B",
                                            buffer.name.c_str(), buffer.stride, stride));
            }
            return;
        }
    }
    report("page-range", format("accessor base address 0x%x is not the address of a buffer", base));
}

void tw_read(uint64_t source, uint32_t l1, uint32_t bytes) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    Transfer read{TransferKind::Read};
    read.source = endpoint_of(source, "noc_async_read");
    read.destinations = {Endpoint{fiber.core, 0, l1}};
    read.bytes = bytes;
    read.line = tw_current_line;
    check_limits(read.source, bytes, "noc_async_read");
    check_limits(read.destinations[0], bytes, "noc_async_read");
    check_alignment(read.source, true, "noc_async_read");
    check_alignment(read.destinations[0], false, "noc_async_read");
    check_l1_destination(fiber, l1, bytes, "noc_async_read");
    order_overwrite(fiber, l1, bytes, "noc_async_read");
    if (!read.source.core) {
        check_dram(read.source, bytes, "noc_async_read");
        mark_read(fiber, read.source, bytes);
        uint64_t pages = dram_pages(read.source, bytes);
        machine.traffic.dram_page_reads += pages;
        if (Buffer* buffer = buffer_at(read.source, bytes)) {
            buffer->page_reads += pages;
        }
        machine.traffic.dram_read_bytes += bytes;
    } else {
        machine.traffic.noc_bytes += bytes;
        machine.traffic.l1_page_reads += l1_pages(read.source.address, bytes);
    }
    bool own = read.source.core == fiber.core && overlaps(read.source.address, bytes, l1, bytes);
    if (!own) {
        poison(fiber.core->l1 + l1, bytes);
    }
    queue(fiber.reads, std::move(read), "read");
    maybe_yield();
}

void tw_write(uint32_t l1, uint64_t destination, uint32_t bytes) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    Transfer write{TransferKind::Write};
    write.source = Endpoint{fiber.core, 0, l1};
    write.destinations = {endpoint_of(destination, "noc_async_write")};
    write.bytes = bytes;
    write.line = tw_current_line;
    const Endpoint& to = write.destinations[0];
    check_limits(write.source, bytes, "noc_async_write");
    check_limits(to, bytes, "noc_async_write");
    check_alignment(write.source, false, "noc_async_write");
    check_alignment(to, false, "noc_async_write");
    check_l1_source(fiber, l1, bytes, "noc_async_write");
    if (to.core) {
        check_remote(to.core, to.address, bytes, "noc_async_write");
        machine.traffic.noc_bytes += bytes;
        machine.traffic.l1_page_writes += l1_pages(to.address, bytes);
        if (to.core != fiber.core || !overlaps(to.address, bytes, l1, bytes)) {
            poison(bytes_at(to), bytes);
        }
    } else {
        check_dram(to, bytes, "noc_async_write");
        mark_written(fiber, to, bytes);
        machine.traffic.dram_page_writes += dram_pages(to, bytes);
        machine.traffic.dram_write_bytes += bytes;
    }
    queue(fiber.writes, std::move(write), "write");
    maybe_yield();
}

void tw_multicast(uint32_t l1, uint64_t rectangle, uint32_t bytes, uint32_t num_dests, int include_self,
                  int semaphore) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    const char* call = semaphore ? "noc_semaphore_set_multicast" : "noc_async_write_multicast";
    if (rectangle >> 60 != kRectangle) {
        fatal("bad-address", format("%s: 0x%llx is not a multicast address", call, (unsigned long long)rectangle));
    }
    Transfer write{semaphore ? TransferKind::Semaphore : TransferKind::Write};
    write.source = Endpoint{fiber.core, 0, l1};
    write.bytes = bytes;
    write.multicast = true;
    write.line = tw_current_line;
    int xs = field(rectangle, 0), ys = field(rectangle, 1), xe = field(rectangle, 2), ye = field(rectangle, 3);
    for (auto& core : machine.cores) {
        bool inside = core->noc_x >= std::min(xs, xe) && core->noc_x <= std::max(xs, xe) &&
                      core->noc_y >= std::min(ys, ye) && core->noc_y <= std::max(ys, ye);
        if (inside && (include_self || core.get() != fiber.core)) {
            write.destinations.push_back(Endpoint{core.get(), 0, low(rectangle)});
        }
    }
    if (write.destinations.size() != num_dests || num_dests == 0) {
        report("multicast-count", format("%s: num_dests is %u, the rectangle (%d,%d)..(%d,%d) reaches %zu cores", call,
                                         num_dests, xs, ys, xe, ye, write.destinations.size()));
    }
    check_limits(write.source, bytes, call);
    check_alignment(write.source, false, call);
    if (!semaphore) {
        check_l1_source(fiber, l1, bytes, call);
        machine.traffic.multicast_pages += pages_of(fiber.core, l1, bytes);
    }
    for (const Endpoint& to : write.destinations) {
        check_limits(to, bytes, call);
        check_alignment(to, false, call);
        if (!semaphore) {
            check_remote(to.core, to.address, bytes, call);
            machine.traffic.noc_bytes += bytes;
            if (to.core != fiber.core || to.address != l1) {
                poison(bytes_at(to), bytes);
            }
        }
    }
    if (semaphore) {
        write.writer = &fiber;
        write.clock = carried(fiber, machine.ordered_flags ? fiber.multicasts : fiber.flushed_multicasts);
        for (const Endpoint& to : write.destinations) {
            order_remote(fiber, to.core, to.address, "multicast", call);
            write.clock[fiber.position] = fiber.clock[fiber.position];
        }
    } else {
        std::vector<int> cbs;
        for (const Endpoint& to : write.destinations) {
            cbs.push_back(in_l1_buffer(to.address, bytes) ? -1 : cb_at(to.core, to.address));
        }
        order_multicast(fiber, l1, bytes, write.destinations, cbs, call);
    }
    drop_done(fiber);
    if (!write.destinations.empty()) {
        queue(fiber.writes, std::move(write), semaphore ? "semaphore multicast" : "multicast");
    }
    maybe_yield();
}

void tw_barrier(int kind) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    fiber.line = tw_current_line;
    auto all = [](const Transfer&) { return true; };
    auto increments = [](const Transfer& t) { return t.kind == TransferKind::Increment; };
    auto others = [](const Transfer& t) { return t.kind != TransferKind::Increment; };
    if (kind == TW_BARRIER_READ || kind == TW_BARRIER_FULL) {
        complete(fiber.reads, all);
    }
    if (kind == TW_BARRIER_WRITE || kind == TW_BARRIER_FULL) {
        complete(fiber.writes, others);
    }
    if (kind == TW_BARRIER_ATOMIC || kind == TW_BARRIER_FULL) {
        complete(fiber.writes, increments);
    }
    if (kind == TW_BARRIER_WRITE || kind == TW_BARRIER_FULL || kind == TW_BARRIER_FLUSH) {
        order_flush(fiber);
    }
    if (kind == TW_BARRIER_FLUSH) {
        for (Transfer& write : fiber.writes) {
            if (!write.done && others(write) && write.data.empty()) {
                write.data.assign(bytes_at(write.source), bytes_at(write.source) + write.bytes);
            }
            write.flushed = true;
        }
    }
    drop_done(fiber);
    maybe_yield();
}

uint32_t tw_semaphore_address(uint32_t id) {
    using namespace tw;
    if (id >= machine.semaphores) {
        fatal("bad-address", format("get_semaphore(%u): a core has %u semaphores", id, machine.semaphores));
    }
    return machine.semaphore_base + id * machine.semaphore_stride;
}

void tw_semaphore_set(uint32_t address, uint32_t value) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    check_limits(Endpoint{fiber.core, 0, address}, 4, "noc_semaphore_set");
    for (auto& other : machine.fibers) {
        bool waits = other->wait == WaitKind::SemaphoreEqual || other->wait == WaitKind::SemaphoreMinimum;
        if (other.get() != &fiber && other->core == fiber.core && waits && other->wait_address == address) {
            report("semaphore-owner", format("noc_semaphore_set of semaphore %u while kernel '%s' of the same core "
                                             "waits on it at line %u",
                                             (address - machine.semaphore_base) / machine.semaphore_stride,
                                             other->kernel.c_str(), other->line));
        }
    }
    order_store(fiber, address);
    std::memcpy(fiber.core->l1 + address, &value, 4);
    maybe_yield();
}

void tw_semaphore_increment(uint64_t destination, uint32_t value) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    Transfer increment{TransferKind::Increment};
    increment.destinations = {endpoint_of(destination, "noc_semaphore_inc")};
    increment.value = value;
    increment.line = tw_current_line;
    if (!increment.destinations[0].core) {
        fatal("bad-address", "noc_semaphore_inc: the destination is in DRAM");
    }
    check_limits(increment.destinations[0], 4, "noc_semaphore_inc");
    order_remote(fiber, increment.destinations[0].core, increment.destinations[0].address, "increment",
                 "noc_semaphore_inc");
    increment.writer = &fiber;
    increment.clock = carried(fiber, fiber.flushed_multicasts);
    drop_done(fiber);
    queue(fiber.writes, std::move(increment), "semaphore increment");
    maybe_yield();
}

void tw_semaphore_set_remote(uint32_t l1, uint64_t destination) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    Transfer write{TransferKind::Semaphore};
    write.source = Endpoint{fiber.core, 0, l1};
    write.destinations = {endpoint_of(destination, "noc_semaphore_set_remote")};
    write.bytes = 4;
    write.line = tw_current_line;
    check_limits(write.source, 4, "noc_semaphore_set_remote");
    check_limits(write.destinations[0], 4, "noc_semaphore_set_remote");
    if (write.destinations[0].core) {
        order_remote(fiber, write.destinations[0].core, write.destinations[0].address, "remote store",
                     "noc_semaphore_set_remote");
        write.writer = &fiber;
        write.clock = carried(fiber, fiber.flushed_multicasts);
    }
    queue(fiber.writes, std::move(write), "semaphore write");
    maybe_yield();
}

void tw_semaphore_wait(uint32_t address, uint32_t value, int minimum) {
    using namespace tw;
    Fiber& fiber = *machine.running;
    fiber.line = tw_current_line;
    check_limits(Endpoint{fiber.core, 0, address}, 4, "noc_semaphore_wait");
    block(minimum ? WaitKind::SemaphoreMinimum : WaitKind::SemaphoreEqual, 0, address, value);
    order_wait_ended(fiber, address);
}
}
