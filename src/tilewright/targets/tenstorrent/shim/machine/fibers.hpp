// Fibers on one OS thread, a seeded schedule, and the report of a deadlock.
//
// The running core's L1 is mapped at its device addresses, because kernels turn 32-bit addresses
// into pointers; it is mapped again whenever a fiber of another core is resumed.
#pragma once

#include "state.hpp"

namespace tw {

void perform_random_transfer();
bool perform_all_transfers();
void finish_fiber(Fiber& fiber);

inline uint32_t load_word(const Core* core, uint32_t address) {
    uint32_t value;
    std::memcpy(&value, core->l1 + address, 4);
    return value;
}

inline bool is_ready(const Fiber& fiber) {
    const CircularBufferState& cb = fiber.core->cbs[fiber.wait_cb];
    switch (fiber.wait) {
        case WaitKind::None: return true;
        case WaitKind::CbSpace: return cb.pages - cb.filled() >= fiber.wait_amount;
        case WaitKind::CbPages: return cb.filled() >= fiber.wait_amount;
        case WaitKind::SemaphoreEqual: return load_word(fiber.core, fiber.wait_address) == fiber.wait_amount;
        case WaitKind::SemaphoreMinimum: return load_word(fiber.core, fiber.wait_address) >= fiber.wait_amount;
    }
    return true;
}

inline std::string describe_cb(const CircularBufferState& cb, uint32_t index) {
    return format("c_%u: %u of %u pages filled, received %u, acked %u", index, cb.filled(), cb.pages, cb.received,
                  cb.acked);
}

inline std::string describe_wait(const Fiber& fiber) {
    const CircularBufferState& cb = fiber.core->cbs[fiber.wait_cb];
    uint32_t semaphore = (fiber.wait_address - machine.semaphore_base) / machine.semaphore_stride;
    switch (fiber.wait) {
        case WaitKind::CbSpace:
            return format("cb_reserve_back(c_%u, %u); %s", fiber.wait_cb, fiber.wait_amount,
                          describe_cb(cb, fiber.wait_cb).c_str());
        case WaitKind::CbPages:
            return format("cb_wait_front(c_%u, %u); %s", fiber.wait_cb, fiber.wait_amount,
                          describe_cb(cb, fiber.wait_cb).c_str());
        case WaitKind::SemaphoreEqual:
        case WaitKind::SemaphoreMinimum:
            return format("noc_semaphore_wait%s(semaphore %u, %u); its value is %u",
                          fiber.wait == WaitKind::SemaphoreMinimum ? "_min" : "", semaphore, fiber.wait_amount,
                          load_word(fiber.core, fiber.wait_address));
        default: return "running";
    }
}

inline void report_deadlock() {
    std::string text = "deadlock: every unfinished kernel is blocked";
    Fiber* first = nullptr;
    int listed = 0, unfinished = 0;
    for (auto& fiber : machine.fibers) {
        if (fiber->finished) {
            continue;
        }
        ++unfinished;
        first = first ? first : fiber.get();
        if (++listed <= 24) {
            text += format("\ncore (%d,%d) %s line %u: %s", fiber->core->x, fiber->core->y, fiber->kernel.c_str(),
                           fiber->line, describe_wait(*fiber).c_str());
        }
    }
    if (unfinished > listed) {
        text += format("\n%d more kernels", unfinished - listed);
    }
    machine.off.erase("deadlock");
    report_at(first, "deadlock", text);
    machine.stopped = true;
}

inline void map_core(Core* core) {
    if (machine.mapped == core) {
        return;
    }
    off_t offset = core->l1 - machine.l1;
    void* at = mmap((void*)uintptr_t(kLowest), kWindow - kLowest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                    machine.l1_file, offset + kLowest);
    if (at == MAP_FAILED) {
        fprintf(machine.report, "unavailable\tL1 cannot be mapped at address 0x%x: %s; vm.mmap_min_addr must be at most 65536\n",
                kLowest, strerror(errno));
        fflush(machine.report);
        _exit(77);
    }
    machine.mapped = core;
}

inline void yield_fiber() {
    Fiber* fiber = machine.running;
    fiber->line = tw_current_line;
    swapcontext(&fiber->context, &machine.scheduler);
    tw_current_line = fiber->line;
}

// Let other kernels run here, sometimes: orders that only a busy machine shows.
inline void maybe_yield() {
    if (draw(machine.yield_every) == 0) {
        yield_fiber();
    }
}

inline void block(WaitKind kind, uint32_t cb, uint32_t address, uint32_t amount) {
    Fiber* fiber = machine.running;
    fiber->wait = kind;
    fiber->wait_cb = cb;
    fiber->wait_address = address;
    fiber->wait_amount = amount;
    bool blocked = !is_ready(*fiber);
    if (blocked) {
        fiber->line = tw_current_line;
        event("block", fiber, 0, machine.trace ? describe_wait(*fiber) : "");
    }
    if (blocked || draw(machine.yield_every) == 0) {
        yield_fiber();
    }
    if (blocked) {
        event("resume", fiber, 0, "");
    }
    fiber->wait = WaitKind::None;
}

inline void start_fiber() {
    machine.running->entry();
    machine.running->line = tw_current_line;
    finish_fiber(*machine.running);
    machine.running->finished = true;
    swapcontext(&machine.running->context, &machine.scheduler);
}

inline void prepare_fiber(Fiber& fiber) {
    fiber.stack = std::make_unique<char[]>(kStack);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = &machine.scheduler;
    makecontext(&fiber.context, start_fiber, 0);
}

inline void run_fibers() {
    std::vector<Fiber*> ready;
    while (!machine.stopped) {
        ready.clear();
        bool unfinished = false;
        for (auto& fiber : machine.fibers) {
            unfinished |= !fiber->finished;
            if (!fiber->finished && is_ready(*fiber)) {
                ready.push_back(fiber.get());
            }
        }
        if (!unfinished) {
            break;
        }
        if (ready.empty()) {
            if (!perform_all_transfers()) {
                report_deadlock();
            }
            continue;
        }
        perform_random_transfer();
        machine.running = ready[draw(ready.size())];
        map_core(machine.running->core);
        ++machine.switches;
        swapcontext(&machine.scheduler, &machine.running->context);
        machine.running = nullptr;
    }
    perform_all_transfers();
}

}  // namespace tw
