// Runs one program: reads a job, loads the kernels, runs them, writes buffers and a report.
//
//     machine JOB DATA REPORT
//
// JOB is lines of words, written by the driver. DATA holds the DRAM banks and then the L1 segments;
// it is mapped, changed in place, and read back by the driver. REPORT gets one line for each finding.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>

#include "compute.hpp"

namespace tw {

struct Segment {
    Core* core;
    uint32_t address, bytes;
    bool load;
    size_t offset;
};

struct Job {
    std::vector<Segment> segments;
    std::vector<std::pair<std::string, void (*)()>> kernels;
    unsigned timeout = 120;
};

[[noreturn]] inline void give_up(const std::string& message) {
    fprintf(machine.report, "failed\t%s\n", escaped(message).c_str());
    fflush(machine.report);
    _exit(70);
}

inline void (*load_kernel(const std::string& path))() {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        give_up(format("cannot load a kernel: %s", dlerror()));
    }
    void* entry = dlsym(library, "_Z11kernel_mainv");
    if (!entry) {
        entry = dlsym(library, "_ZN17tw_compute_kernel11kernel_mainEv");
    }
    if (!entry) {
        give_up("a kernel has no entry kernel_main()");
    }
    return reinterpret_cast<void (*)()>(entry);
}

inline Core* core_of(int x, int y) { return machine.cores[size_t(y) * machine.columns + x].get(); }

inline void make_cores() {
    size_t bytes = size_t(kWindow) * machine.columns * machine.rows;
    machine.l1_file = memfd_create("l1", 0);
    if (machine.l1_file < 0 || ftruncate(machine.l1_file, bytes) != 0) {
        give_up(format("no memory for L1: %s", strerror(errno)));
    }
    void* whole = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, machine.l1_file, 0);
    if (whole == MAP_FAILED) {
        give_up(format("no memory for L1: %s", strerror(errno)));
    }
    machine.l1 = static_cast<uint8_t*>(whole);
    for (int y = 0; y < machine.rows; ++y) {
        for (int x = 0; x < machine.columns; ++x) {
            auto core = std::make_unique<Core>();
            core->x = x;
            core->y = y;
            core->l1 = machine.l1 + size_t(kWindow) * (size_t(y) * machine.columns + x);
            machine.cores.push_back(std::move(core));
        }
    }
}

inline std::vector<uint32_t> read_words(std::istringstream& line) {
    size_t count;
    line >> count;
    std::vector<uint32_t> words(count);
    for (uint32_t& word : words) {
        line >> word;
    }
    return words;
}

inline void read_line(const std::string& text, Job& job) {
    std::istringstream line(text);
    std::string key;
    line >> key;
    if (key == "seed") {
        unsigned seed;
        line >> seed;
        machine.random.seed(seed);
        machine.yield_every = 2 + draw(15);
    } else if (key == "options") {
        line >> machine.device_numerics >> machine.max_findings >> job.timeout >> machine.trace;
    } else if (key == "off") {
        std::string check;
        line >> check;
        machine.off.insert(check);
    } else if (key == "chip") {
        line >> machine.l1_bytes >> machine.banks >> machine.bank_bytes >> machine.dram_read_alignment >>
            machine.dram_write_alignment >> machine.l1_alignment >> machine.semaphore_base >>
            machine.semaphore_stride >> machine.semaphores >> machine.ordered_flags;
    } else if (key == "grid") {
        line >> machine.columns >> machine.rows;
        make_cores();
    } else if (key == "core") {
        int x, y;
        line >> x >> y;
        line >> core_of(x, y)->noc_x >> core_of(x, y)->noc_y;
    } else if (key == "buffer") {
        Buffer buffer;
        line >> buffer.name >> buffer.dram >> buffer.output >> buffer.address >> buffer.stride >> buffer.page_bytes >>
            buffer.pages >> buffer.core_bytes;
        if (buffer.output) {
            buffer.written.resize(size_t(buffer.pages) * buffer.page_bytes);
        }
        if (buffer.dram) {
            buffer.writer.resize(size_t(buffer.pages) * (buffer.stride / kGranule));
            buffer.reader.resize(buffer.writer.size());
        }
        machine.buffers.push_back(buffer);
    } else if (key == "cb") {
        int x, y, index;
        line >> x >> y >> index;
        CircularBufferState& cb = core_of(x, y)->cbs[index];
        cb.exists = true;
        line >> cb.base >> cb.bytes >> cb.page >> cb.format >> cb.on_buffer >> cb.shared;
        cb.pages = cb.bytes / cb.page;
        if (!cb.on_buffer) {
            poison(core_of(x, y)->l1 + cb.base, cb.bytes);
        }
    } else if (key == "semaphore") {
        int x, y;
        uint32_t id, value;
        line >> x >> y >> id >> value;
        std::memcpy(core_of(x, y)->l1 + machine.semaphore_base + id * machine.semaphore_stride, &value, 4);
    } else if (key == "segment") {
        int x, y;
        Segment segment;
        line >> x >> y >> segment.address >> segment.bytes >> segment.load >> segment.offset;
        segment.core = core_of(x, y);
        job.segments.push_back(segment);
    } else if (key == "kernel") {
        std::string name, path;
        line >> name;
        std::getline(line >> std::ws, path);
        job.kernels.emplace_back(name, load_kernel(path));
    } else if (key == "fiber") {
        auto fiber = std::make_unique<Fiber>();
        int x, y;
        size_t kernel;
        bool fp32, full_sync;
        line >> x >> y >> fiber->processor >> kernel >> fp32 >> full_sync;
        fiber->core = core_of(x, y);
        fiber->kernel = job.kernels[kernel].first;
        fiber->entry = job.kernels[kernel].second;
        fiber->arguments = read_words(line);
        fiber->common = read_words(line);
        if (fiber->processor == 2) {
            fiber->compute = std::make_unique<Compute>();
            fiber->compute->fp32 = fp32;
            fiber->compute->capacity = 16 / (fp32 ? 2 : 1) / (full_sync ? 1 : 2);
        }
        fiber->id = uint16_t(machine.fibers.size() + 1);
        fiber->position = uint32_t(machine.fibers.size());
        machine.fibers.push_back(std::move(fiber));
    }
}

inline void check_end() {
    for (auto& core : machine.cores) {
        for (int i = 0; i < kMaxCbs; ++i) {
            const CircularBufferState& cb = core->cbs[i];
            if (cb.exists && cb.filled() != 0) {
                for (auto& fiber : machine.fibers) {
                    if (fiber->core == core.get()) {
                        fiber->line = 0;
                        report_at(fiber.get(), "unpopped-pages",
                                  format("c_%d ends with %u pages pushed and not popped", i, cb.filled()));
                        break;
                    }
                }
            }
        }
    }
    for (const Buffer& buffer : machine.buffers) {
        std::string pages;
        int count = 0;
        for (uint32_t p = 0; buffer.output && p < buffer.pages; ++p) {
            auto first = buffer.written.begin() + size_t(p) * buffer.page_bytes;
            if (std::find(first, first + buffer.page_bytes, 0) != first + buffer.page_bytes && ++count <= 8) {
                pages += format(" %u", p);
            }
        }
        if (count) {
            report_at(nullptr, "unwritten-output",
                      format("output '%s': %d of %u pages are not written, among them%s", buffer.name.c_str(), count,
                             buffer.pages, pages.c_str()));
        }
    }
}

inline void write_summary() {
    const Traffic& t = machine.traffic;
    fprintf(machine.report, "traffic\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n", (unsigned long long)t.dram_page_reads,
            (unsigned long long)t.dram_page_writes, (unsigned long long)t.multicast_pages,
            (unsigned long long)t.dram_read_bytes, (unsigned long long)t.dram_write_bytes,
            (unsigned long long)t.noc_bytes, (unsigned long long)t.l1_page_reads,
            (unsigned long long)t.l1_page_writes);
    for (const Buffer& buffer : machine.buffers) {
        if (buffer.dram) {
            fprintf(machine.report, "reads\t%s\t%llu\n", buffer.name.c_str(), (unsigned long long)buffer.page_reads);
        }
    }
    fprintf(machine.report, "switches\t%llu\nend\n", (unsigned long long)machine.switches);
    fflush(machine.report);
}

// A raw pointer outside L1, or a loop that never calls the machine.
void on_signal(int number) {
    Fiber* fiber = machine.running;
    if (fiber) {
        fiber->line = tw_current_line;
        machine.max_findings = 1 << 30;
        machine.off.clear();
        if (number == SIGPROF) {
            report_at(fiber, "deadlock", "time limit exceeded: the kernel polls memory, or a loop does not end");
        } else {
            report_at(fiber, "bad-address", "access through a pointer that is no L1 address, after this line");
        }
    } else {
        fprintf(machine.report, "failed\tsignal %d outside kernels\n", number);
    }
    write_summary();
    _exit(0);
}

inline void install_handlers(unsigned timeout) {
    static char stack[64 << 10];
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGPROF}) {
        sigaction(number, &action, nullptr);
    }
    itimerval limit{};  // processor time: a busy host does not count
    limit.it_value.tv_sec = timeout;
    setitimer(ITIMER_PROF, &limit, nullptr);
}

}  // namespace tw

extern "C" void tw_print(const char* pattern, const TwValue* values, int count) {
    using namespace tw;
    std::string text;
    int next = 0;
    for (const char* c = pattern; *c; ++c) {
        if (c[0] == '{' && c[1] != '{') {
            const char* close = strchr(c, '}');
            if (close && next < count) {
                const TwValue& value = values[next++];
                text += value.kind == TW_VALUE_TEXT       ? std::string(value.text)
                        : value.kind == TW_VALUE_FLOAT    ? format("%g", value.real)
                        : value.kind == TW_VALUE_UNSIGNED ? format("%llu", value.natural)
                                                          : format("%lld", value.integer);
                c = close;
                continue;
            }
        }
        text += *c;
    }
    Core* core = machine.running->core;
    fprintf(machine.report, "print\t%d\t%d\t%s\n", core->x, core->y, escaped(text).c_str());
}

int main(int count, char** words) {
    using namespace tw;
    if (count != 4) {
        fprintf(stderr, "usage: machine JOB DATA REPORT\n");
        return 64;
    }
    machine.report = fopen(words[3], "w");
    int data = open(words[2], O_RDWR);
    struct stat size;
    if (!machine.report || data < 0 || fstat(data, &size) != 0) {
        fprintf(stderr, "cannot open %s or %s\n", words[2], words[3]);
        return 66;
    }
    void* mapped = mmap(nullptr, size.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, data, 0);
    if (mapped == MAP_FAILED) {
        give_up(format("cannot map the data: %s", strerror(errno)));
    }
    machine.dram = static_cast<uint8_t*>(mapped);
    Job job;
    std::ifstream lines(words[1]);
    for (std::string line; std::getline(lines, line);) {
        read_line(line, job);
    }
    for (const Segment& segment : job.segments) {
        if (segment.load) {
            std::memcpy(segment.core->l1 + segment.address, machine.dram + segment.offset, segment.bytes);
        }
    }
    for (auto& fiber : machine.fibers) {
        prepare_fiber(*fiber);
    }
    install_handlers(job.timeout);
    run_fibers();
    itimerval none{};
    setitimer(ITIMER_PROF, &none, nullptr);
    if (!machine.stopped) {
        check_end();
    }
    for (const Segment& segment : job.segments) {
        std::memcpy(machine.dram + segment.offset, segment.core->l1 + segment.address, segment.bytes);
    }
    write_summary();
    return 0;
}
