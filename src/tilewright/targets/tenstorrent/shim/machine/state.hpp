// The state of the machine: cores with their L1, fibers with their queues, DRAM banks, findings.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../abi.h"

namespace tw {

constexpr uint32_t kPoison = 0xFFF7FFF7;  // a NaN in fp32, bf16 and fp16
constexpr uint32_t kWindow = 2u << 20;    // L1 address space of a core
constexpr uint32_t kLowest = 0x10000;     // lowest device address mapped for kernels
constexpr size_t kStack = 256 << 10;
constexpr int kMaxCbs = 64;

constexpr uint32_t kGranule = 16;
constexpr uint16_t kSeveral = 0xFFFF;

struct Buffer {
    std::string name;
    bool dram, output;
    uint32_t address, stride, page_bytes, pages, core_bytes;  // core_bytes: of an L1 buffer, on each core
    std::vector<uint8_t> written;  // of an output: one flag a byte
    // In DRAM, of every granule: the fiber that writes it and the core that reads it, counted from
    // 1; kSeveral if several cores read it.
    std::vector<uint16_t> writer, reader;
    uint64_t page_reads = 0;
};

struct CircularBufferState {
    bool exists = false, on_buffer = false, shared = false;
    uint32_t base = 0, bytes = 0, page = 1, pages = 0, received = 0, acked = 0;
    int format = 0;
    uint32_t filled() const { return (received - acked) & 0xFFFF; }
};

struct Fiber;

// One action of a kernel; `component` of a clock counts those of its kind.
struct Event {
    Fiber* fiber = nullptr;
    uint32_t component = 0, tick = 0;
    const char* what = "";
};

struct Core;

// The writes to a semaphore of a core: the last store, remote writes since then, and what a fiber
// knows that waits for it.
struct Word {
    Event store;
    std::vector<Event> remote;
    std::vector<uint32_t> seen;
    std::map<Core*, std::vector<uint32_t>> senders;
};

// Pages that a multicast writes.
struct Arrival {
    uint32_t address, bytes;
    Event event;
};

struct Core {
    int x, y, noc_x, noc_y;
    uint8_t* l1;
    CircularBufferState cbs[kMaxCbs];
    std::map<uint32_t, Word> words;       // by address
    std::map<uint32_t, Event> reserves;   // the last one of data movement, by circular buffer
    std::vector<Arrival> arrivals;        // multicasts into pages that have not been pushed
};

// The source of a multicast.
struct Sent {
    uint32_t address, bytes, number;
    std::vector<Core*> targets;
};

// A processor's private pointers of one circular buffer, and what it has claimed.
struct CbView {
    uint32_t wr = 0, rd = 0, reserved = 0, waited = 0, packed = 0;
    std::vector<bool> written;
};

struct Endpoint {
    Core* core = nullptr;  // null: a DRAM bank
    uint32_t bank = 0;
    uint32_t address = 0;
};

enum class TransferKind { Read, Write, Semaphore, Increment };

struct Transfer {
    TransferKind kind;
    Endpoint source;
    std::vector<Endpoint> destinations;
    uint32_t bytes = 0, value = 0;
    bool multicast = false, done = false, flushed = false;
    uint64_t id = 0;  // of a traced transfer
    Fiber* issuer = nullptr;
    unsigned line = 0;
    std::vector<uint8_t> data;  // a snapshot of the source once the write has left
    std::vector<uint32_t> clock;  // of a write to a semaphore: what its issuer knew
    Fiber* writer = nullptr;
};

enum class WaitKind { None, CbSpace, CbPages, SemaphoreEqual, SemaphoreMinimum };

struct Slot {
    float value[1024];
    bool undefined = true;
    bool integer = false;
    bool reduced = false;  // the result of reduce_tile, perhaps changed by the SFPU
    bool unused = false;   // a result that nothing has read or packed
};

enum class Section { Idle, Math, Committed, Pack, Both };

struct Compute {
    int capacity = 8;
    bool fp32 = false, started = false;
    Section section = Section::Idle;
    Slot slots[16];
    int fpu = TW_FPU_NONE, arithmetic = 0, broadcast = 0, flag = 0, sfpu = TW_SFPU_NONE;
    int srca = -1, srcb = -1, out = -1;  // configured formats
    int mask = -1;                       // reduction whose packs are masked, or -1
    bool accumulate_l1 = false;
};

struct Fiber {
    uint16_t id;  // position among all fibers, counted from 1
    Core* core;
    int processor;  // 0 writer, 1 reader, 2 compute
    std::string kernel;
    void (*entry)();
    std::vector<uint32_t> arguments, common;
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool finished = false;
    WaitKind wait = WaitKind::None;
    uint32_t wait_cb = 0, wait_amount = 0, wait_address = 0;
    unsigned line = 0;
    std::vector<Transfer> reads, writes;
    uint32_t position = 0;  // among the fibers
    std::vector<uint32_t> clock;
    uint32_t multicasts = 0, flushed_multicasts = 0;
    std::map<Core*, uint32_t> acknowledged;  // multicasts that a core is known to have received
    std::vector<Sent> sent;
    CbView views[kMaxCbs];
    std::unique_ptr<Compute> compute;
};

struct Traffic {
    uint64_t dram_page_reads = 0, dram_page_writes = 0, multicast_pages = 0;
    uint64_t dram_read_bytes = 0, dram_write_bytes = 0, noc_bytes = 0;
    uint64_t l1_page_reads = 0, l1_page_writes = 0;
};

struct Machine {
    uint32_t l1_bytes = 0, banks = 1, bank_bytes = 0, semaphore_base = 0, semaphore_stride = 16, semaphores = 16;
    uint32_t dram_read_alignment = 32, dram_write_alignment = 16, l1_alignment = 16;
    bool ordered_flags = true, device_numerics = false, trace = false;
    int columns = 1, rows = 1, max_findings = 20, l1_file = -1;
    uint32_t yield_every = 8;  // drawn from the seed
    std::vector<Buffer> buffers;
    std::vector<std::unique_ptr<Core>> cores;
    std::vector<std::unique_ptr<Fiber>> fibers;
    std::set<std::string> off;
    std::mt19937 random;
    uint8_t* l1 = nullptr;
    uint8_t* dram = nullptr;
    Fiber* running = nullptr;
    Core* mapped = nullptr;
    ucontext_t scheduler;
    bool stopped = false;
    int findings = 0;
    uint64_t switches = 0, transfers = 0;
    Traffic traffic;
    FILE* report = nullptr;
};

inline Machine machine;

inline uint32_t draw(uint32_t below) { return machine.random() % below; }

inline std::string format(const char* pattern, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, pattern);
    vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    return text;
}

inline std::string escaped(const std::string& text) {
    std::string out;
    for (char c : text) {
        out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\\' ? "\\\\" : std::string(1, c);
    }
    return out;
}

inline bool enabled(const char* check) { return machine.off.count(check) == 0; }

inline void stop() {
    machine.stopped = true;
    if (machine.running) {
        Fiber* fiber = machine.running;
        swapcontext(&fiber->context, &machine.scheduler);
    }
}

// Report a finding at `fiber`; the run continues unless there are too many of them.
inline void report_at(Fiber* fiber, const char* check, const std::string& message) {
    if (!enabled(check)) {
        return;
    }
    fprintf(machine.report, "finding\t%s\t%d\t%d\t%s\t%u\t%s\n", check, fiber ? fiber->core->x : -1,
            fiber ? fiber->core->y : -1, fiber ? escaped(fiber->kernel).c_str() : "", fiber ? fiber->line : 0,
            escaped(message).c_str());
    fflush(machine.report);
    if (++machine.findings >= machine.max_findings) {
        stop();
    }
}

inline void report(const char* check, const std::string& message) {
    machine.running->line = tw_current_line;
    report_at(machine.running, check, message);
}

// Report and end the run: the kernel cannot go on.
inline void fatal(const char* check, const std::string& message) {
    machine.off.erase(check);
    report(check, message);
    stop();
}

// One line of the trace, if there is one: kind, core, kernel, line, key, text.
inline void event(const char* kind, Fiber* fiber, unsigned long long key, const std::string& text) {
    if (machine.trace) {
        fprintf(machine.report, "event\t%s\t%d\t%d\t%s\t%u\t%llu\t%s\n", kind, fiber->core->x, fiber->core->y,
                escaped(fiber->kernel).c_str(), fiber->line, key, escaped(text).c_str());
    }
}

inline void poison(uint8_t* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        bytes[i] = uint8_t(kPoison >> (8 * (i % 4)));
    }
}

// Whether all of a range is poison: a tile that no transfer and no pack has written.
inline bool is_poisoned(const uint8_t* bytes, size_t count) {
    if (count < 16) {
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        if (bytes[i] != uint8_t(kPoison >> (8 * (i % 4)))) {
            return false;
        }
    }
    return true;
}

inline bool overlaps(uint32_t a, uint32_t a_bytes, uint32_t b, uint32_t b_bytes) {
    return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace tw
