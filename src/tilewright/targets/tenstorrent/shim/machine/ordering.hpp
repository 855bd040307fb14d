// Happens-before between kernels of different cores: the order that semaphores establish.
//
// Every fiber has a vector clock: the latest event of each fiber that precedes its own, and how many data
// multicasts of each fiber have arrived for certain. Increments and flags carry it to the fibers that
// wait for them. Two accesses without order are reported under every schedule, not only under one
// that happens to be unlucky.
#pragma once

#include "fibers.hpp"

namespace tw {

inline void init_clock(Fiber& fiber) { fiber.clock.resize(2 * machine.fibers.size()); }
inline size_t data_of(const Fiber& fiber) { return machine.fibers.size() + fiber.position; }

inline Event next_event(Fiber& fiber, const char* what) {
    init_clock(fiber);
    return Event{&fiber, fiber.position, ++fiber.clock[fiber.position], what};
}

inline bool follows(Fiber& fiber, const Event& event) {
    init_clock(fiber);
    return event.fiber == &fiber || fiber.clock[event.component] >= event.tick;
}

inline void join(std::vector<uint32_t>& clock, const std::vector<uint32_t>& other) {
    clock.resize(std::max(clock.size(), other.size()));
    for (size_t i = 0; i < other.size(); ++i) {
        clock[i] = std::max(clock[i], other[i]);
    }
}

inline std::string fiber_text(const Event& event) {
    return format("kernel '%s' of core (%d,%d)", event.fiber->kernel.c_str(), event.fiber->core->x, event.fiber->core->y);
}

// -- semaphores ------------------------------------------------------------------------------------

inline Word& word_at(Core* core, uint32_t address) { return core->words[address]; }

inline void report_race(const char* call, uint32_t address, const Event& other) {
    report("semaphore-owner", format("%s: writes semaphore %u in no order with the %s of %s: one of them can be lost",
                                     call, (address - machine.semaphore_base) / machine.semaphore_stride, other.what,
                                     fiber_text(other).c_str()));
}

// A store to the own semaphore: all remote writes have to precede it.
inline void order_store(Fiber& fiber, uint32_t address) {
    Word& word = word_at(fiber.core, address);
    for (const Event& remote : word.remote) {
        if (!follows(fiber, remote)) {
            report_race("noc_semaphore_set", address, remote);
            break;
        }
    }
    word.store = next_event(fiber, "store");
    word.remote.clear();
}

// A write to a semaphore of another core.
inline void order_remote(Fiber& fiber, Core* target, uint32_t address, const char* what, const char* call) {
    Word& word = word_at(target, address);
    bool increment = std::strcmp(what, "increment") == 0;
    const Event* racing = word.store.fiber && !follows(fiber, word.store) ? &word.store : nullptr;
    for (const Event& remote : word.remote) {
        bool both = increment && std::strcmp(remote.what, "increment") == 0;
        if (!racing && !both && !follows(fiber, remote)) {
            racing = &remote;
        }
    }
    if (racing) {
        report_race(call, address, *racing);
    }
    word.remote.push_back(next_event(fiber, what));
}

// What a write to a semaphore carries: `data` multicasts of this fiber arrive before it.
inline std::vector<uint32_t> carried(Fiber& fiber, uint32_t data) {
    init_clock(fiber);
    std::vector<uint32_t> out = fiber.clock;
    out[data_of(fiber)] = data;
    return out;
}

// A write to a semaphore has been performed.
inline void order_performed(Core* target, uint32_t address, Fiber* issuer, const std::vector<uint32_t>& clock) {
    Word& word = word_at(target, address);
    join(word.seen, clock);
    word.senders[issuer->core] = clock;
}

inline void order_wait_ended(Fiber& fiber, uint32_t address) {
    init_clock(fiber);
    Word& word = word_at(fiber.core, address);
    join(fiber.clock, word.seen);
    for (const auto& [core, clock] : word.senders) {
        uint32_t& known = fiber.acknowledged[core];
        known = std::max(known, clock[data_of(fiber)]);
    }
}

// -- pages -----------------------------------------------------------------------------------------

inline void order_reserve(Fiber& fiber, uint32_t cb) {
    if (fiber.processor != 2) {
        fiber.core->reserves[cb] = next_event(fiber, "reserve");
    }
}

// A multicast of pages: its destinations have to be reserved, and receive it before they push.
inline void order_multicast(Fiber& fiber, uint32_t l1, uint32_t bytes, const std::vector<Endpoint>& destinations,
                            const std::vector<int>& cbs, const char* call) {
    init_clock(fiber);
    ++fiber.multicasts;
    Event event{&fiber, uint32_t(data_of(fiber)), fiber.multicasts, "multicast"};
    Sent sent{l1, bytes, fiber.multicasts, {}};
    for (size_t i = 0; i < destinations.size(); ++i) {
        const Endpoint& to = destinations[i];
        if (to.core == fiber.core) {
            continue;
        }
        sent.targets.push_back(to.core);
        to.core->arrivals.push_back(Arrival{to.address, bytes, event});
        if (cbs[i] < 0) {
            continue;
        }
        auto reserve = to.core->reserves.find(cbs[i]);
        if (reserve == to.core->reserves.end() || !follows(fiber, reserve->second)) {
            report("outside-window", format("%s: core (%d,%d) may not have reserved the pages of c_%d at 0x%x: no "
                                            "semaphore signals it",
                                            call, to.core->x, to.core->y, cbs[i], to.address));
        }
    }
    auto& all = fiber.sent;
    all.erase(std::remove_if(all.begin(), all.end(), [&](const Sent& s) { return overlaps(s.address, s.bytes, l1, bytes); }),
              all.end());
    all.push_back(std::move(sent));
}

inline void order_push(Fiber& fiber, uint32_t index, uint32_t pages, uint32_t address, uint32_t bytes) {
    auto& arrivals = fiber.core->arrivals;
    for (const Arrival& arrival : arrivals) {
        if (overlaps(arrival.address, arrival.bytes, address, bytes) && !follows(fiber, arrival.event)) {
            report("unwritten-page", format("cb_push_back(c_%u, %u): %s multicasts into these pages, and no semaphore "
                                            "signals that they have arrived",
                                            index, pages, fiber_text(arrival.event).c_str()));
            break;
        }
    }
    auto pushed = [&](const Arrival& each) { return overlaps(each.address, each.bytes, address, bytes); };
    arrivals.erase(std::remove_if(arrivals.begin(), arrivals.end(), pushed), arrivals.end());
}

inline void order_flush(Fiber& fiber) {
    fiber.flushed_multicasts = fiber.multicasts;
    fiber.sent.clear();
}

// A read into bytes that a multicast may still be sending.
inline void order_overwrite(Fiber& fiber, uint32_t l1, uint32_t bytes, const char* call) {
    for (size_t i = 0; i < fiber.sent.size(); ++i) {
        const Sent& sent = fiber.sent[i];
        bool received = true;
        for (Core* core : sent.targets) {
            received &= fiber.acknowledged[core] >= sent.number;
        }
        if (overlaps(sent.address, sent.bytes, l1, bytes) && !received) {
            report("pop-before-write", format("%s: %u B at 0x%x overwrite the source of a multicast that may be in "
                                              "flight; noc_async_writes_flushed is required before it",
                                              call, bytes, l1));
            fiber.sent.erase(fiber.sent.begin() + i);
            return;
        }
    }
}

}  // namespace tw
