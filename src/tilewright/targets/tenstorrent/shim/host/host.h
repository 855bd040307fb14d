// The host API: programs are recorded, and run by the driver that started this process.
//
// Buffers get the addresses that the driver's own allocation gives them: DRAM upwards, L1 downwards
// from the top, in the order of their creation. A workload is written to the directory
// $TILEWRIGHT_TT_HOST, one line for each call; then a byte on the request pipe makes the driver
// run it; the reply is k when buffers have their new contents.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "format.h"

#define TT_THROW(...) throw std::runtime_error(fmt::format(__VA_ARGS__))
#define TT_FATAL(condition, ...)                        \
    do {                                                \
        if (!(condition)) {                             \
            TT_THROW("" __VA_OPT__(, ) #condition);     \
        }                                               \
    } while (false)
#define TT_ASSERT(condition, ...) TT_FATAL(condition)

inline constexpr uint32_t INVALID = 0, VALID = 1;

enum class MathFidelity : uint8_t { LoFi, HiFi2, HiFi3, HiFi4 };

class bfloat16 {
public:
    constexpr bfloat16() = default;
    template <typename T>
        requires std::is_arithmetic_v<T>
    constexpr bfloat16(T value) : bits_(rounded(static_cast<float>(value))) {}
    constexpr operator float() const { return std::bit_cast<float>(uint32_t(bits_) << 16); }
    constexpr bool operator==(bfloat16 other) const { return float(*this) == float(other); }
    constexpr auto operator<=>(bfloat16 other) const { return float(*this) <=> float(other); }

private:
    static constexpr uint16_t rounded(float value) {
        uint32_t bits = std::bit_cast<uint32_t>(value);
        return value != value ? uint16_t(bits >> 16 | 64) : uint16_t((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
    }
    uint16_t bits_ = 0;
};

// `bytes` of uniform values in [offset, offset + max), the same for a seed.
inline std::vector<bfloat16> create_random_vector_of_bfloat16_native(size_t bytes, float max, int seed,
                                                                     float offset = 0.0f) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> distribution(0.0f, max);
    std::vector<bfloat16> out(bytes / sizeof(bfloat16));
    for (bfloat16& value : out) {
        value = bfloat16(distribution(random) + offset);
    }
    return out;
}
inline std::vector<uint32_t> create_random_vector_of_bfloat16(size_t bytes, float max, int seed, float offset = 0.0f) {
    std::vector<bfloat16> values = create_random_vector_of_bfloat16_native(bytes, max, seed, offset);
    std::vector<uint32_t> out(bytes / sizeof(uint32_t));
    std::memcpy(out.data(), values.data(), out.size() * sizeof(uint32_t));
    return out;
}

struct tt_xy_pair {
    constexpr tt_xy_pair() = default;
    constexpr tt_xy_pair(std::size_t column, std::size_t row) : x(column), y(row) {}
    constexpr auto operator<=>(const tt_xy_pair&) const = default;
    std::string str() const { return fmt::format("(x={},y={})", x, y); }
    std::size_t x = 0, y = 0;
};
inline std::ostream& operator<<(std::ostream& out, const tt_xy_pair& core) { return out << core.str(); }

namespace tt {

enum class DataFormat : uint8_t {
    Float32 = 0, Float16 = 1, Bfp8 = 2, Float16_b = 5, Bfp8_b = 6, Int32 = 8, UInt16 = 9, UInt32 = 24
};
#define TW_INDEX(i) c_##i = i,
enum CBIndex : uint8_t {
    TW_INDEX(0) TW_INDEX(1) TW_INDEX(2) TW_INDEX(3) TW_INDEX(4) TW_INDEX(5) TW_INDEX(6) TW_INDEX(7)
    TW_INDEX(8) TW_INDEX(9) TW_INDEX(10) TW_INDEX(11) TW_INDEX(12) TW_INDEX(13) TW_INDEX(14) TW_INDEX(15)
    TW_INDEX(16) TW_INDEX(17) TW_INDEX(18) TW_INDEX(19) TW_INDEX(20) TW_INDEX(21) TW_INDEX(22) TW_INDEX(23)
    TW_INDEX(24) TW_INDEX(25) TW_INDEX(26) TW_INDEX(27) TW_INDEX(28) TW_INDEX(29) TW_INDEX(30) TW_INDEX(31)
};
#undef TW_INDEX

inline uint32_t tile_size(DataFormat format) {
    switch (format) {
        case DataFormat::Float32: case DataFormat::Int32: case DataFormat::UInt32: return 4096;
        case DataFormat::Bfp8_b: return 1088;
        default: return 2048;
    }
}

namespace constants {
inline constexpr uint32_t TILE_HEIGHT = 32, TILE_WIDTH = 32, TILE_HW = 1024;
inline constexpr uint32_t FACE_HEIGHT = 16, FACE_WIDTH = 16, FACE_HW = 256;
}  // namespace constants

namespace tt_metal {

using CoreCoord = tt_xy_pair;
using KernelHandle = uint32_t;
using CBHandle = uintptr_t;
using DeviceAddr = uint32_t;
enum class DataMovementProcessor : uint8_t { RISCV_0, RISCV_1 };
enum NOC : uint8_t { RISCV_0_default = 0, RISCV_1_default = 1, NOC_0 = 0, NOC_1 = 1 };
enum class BufferType : uint8_t { DRAM, L1 };
enum class TensorMemoryLayout : uint8_t { INTERLEAVED, HEIGHT_SHARDED = 2, WIDTH_SHARDED, BLOCK_SHARDED };
enum class ShardOrientation : uint8_t { ROW_MAJOR, COL_MAJOR };

struct CoreRange {
    CoreRange(const CoreCoord& core) : start_coord(core), end_coord(core) {}
    CoreRange(const CoreCoord& start, const CoreCoord& end) : start_coord(start), end_coord(end) {}
    std::size_t size() const {
        return (end_coord.x - start_coord.x + 1) * (end_coord.y - start_coord.y + 1);
    }
    std::vector<CoreCoord> cores() const {
        std::vector<CoreCoord> out;
        for (std::size_t y = start_coord.y; y <= end_coord.y; ++y) {
            for (std::size_t x = start_coord.x; x <= end_coord.x; ++x) {
                out.emplace_back(x, y);
            }
        }
        return out;
    }
    struct Iterator {
        const CoreRange* range;
        std::size_t index;
        CoreCoord operator*() const { return range->cores()[index]; }
        Iterator& operator++() { ++index; return *this; }
        bool operator!=(const Iterator& other) const { return index != other.index; }
    };
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, size()}; }
    CoreCoord start_coord, end_coord;
};

class CoreRangeSet {
public:
    CoreRangeSet() = default;
    CoreRangeSet(const CoreRange& range) : ranges_{range} {}
    explicit CoreRangeSet(std::vector<CoreRange> ranges) : ranges_(std::move(ranges)) {}
    const std::vector<CoreRange>& ranges() const { return ranges_; }
    std::size_t num_cores() const {
        std::size_t count = 0;
        for (const CoreRange& range : ranges_) {
            count += range.size();
        }
        return count;
    }

private:
    std::vector<CoreRange> ranges_;
};

using CoreSpec = std::variant<CoreCoord, CoreRange, CoreRangeSet>;

}  // namespace tt_metal
}  // namespace tt

namespace tw_host {

using tt::tt_metal::CoreCoord;
using tt::tt_metal::CoreRange;
using tt::tt_metal::CoreRangeSet;
using tt::tt_metal::CoreSpec;

struct Device {
    std::string directory;
    uint32_t columns = 1, rows = 1, banks = 1, dram_alignment = 32, l1_alignment = 16, dram = 0, l1 = 0;
    std::vector<std::pair<uint32_t, uint32_t>> noc;
    int request = -1, reply = -1, buffers = 0;
    std::string lines;  // of buffers
};

inline Device& device() {
    static Device found = [] {
        Device out;
        const char* directory = std::getenv("TILEWRIGHT_TT_HOST");
        if (!directory) {
            throw std::runtime_error("TILEWRIGHT_TT_HOST is not set: start host programs with the source executor");
        }
        out.directory = directory;
        std::ifstream chip(out.directory + "/chip");
        chip >> out.columns >> out.rows >> out.banks >> out.dram_alignment >> out.l1_alignment >> out.dram >> out.l1 >>
            out.request >> out.reply;
        out.noc.resize(out.columns * out.rows);
        for (auto& [x, y] : out.noc) {
            chip >> x >> y;
        }
        return out;
    }();
    return found;
}

inline uint32_t align_up(uint32_t size, uint32_t alignment) { return (size + alignment - 1) / alignment * alignment; }

inline std::vector<CoreRange> ranges_of(const CoreSpec& spec) {
    if (const auto* core = std::get_if<CoreCoord>(&spec)) {
        return {CoreRange(*core)};
    }
    if (const auto* range = std::get_if<CoreRange>(&spec)) {
        return {*range};
    }
    return std::get<CoreRangeSet>(spec).ranges();
}

inline std::string text_of(const CoreSpec& spec) {
    std::vector<CoreRange> ranges = ranges_of(spec);
    std::string out = std::to_string(ranges.size());
    for (const CoreRange& range : ranges) {
        out += fmt::format(" {} {} {} {}", range.start_coord.x, range.start_coord.y, range.end_coord.x,
                           range.end_coord.y);
    }
    return out;
}

template <typename Words>
std::string text_of_words(const Words& words) {
    std::string out = std::to_string(std::size(words));
    for (uint32_t word : words) {
        out += ' ' + std::to_string(word);
    }
    return out;
}

}  // namespace tw_host

namespace tt::tt_metal {

struct Program {
    std::string lines;
    uint32_t kernels = 0, semaphores = 0;
};
inline Program CreateProgram() { return {}; }

using Shape = std::vector<uint32_t>;

// Shard i, row by row, is on the i-th core. Shapes are in pages.
class BufferDistributionSpec {
public:
    BufferDistributionSpec(const Shape& tensor, const Shape& shard, std::vector<CoreCoord> cores)
        : tensor_(tensor), shard_(shard), cores_(std::move(cores)) {
        TT_FATAL(tensor_.size() == 2 && shard_.size() == 2 && shard_[0] > 0 && shard_[1] > 0);
        uint32_t down = (tensor_[0] + shard_[0] - 1) / shard_[0], across = (tensor_[1] + shard_[1] - 1) / shard_[1];
        TT_FATAL(down * across <= cores_.size());
        cores_.resize(down * across);
    }
    const Shape& tensor_shape_in_pages() const { return tensor_; }
    const Shape& shard_shape_in_pages() const { return shard_; }
    const std::vector<CoreCoord>& cores() const { return cores_; }
    uint32_t core_pages() const { return shard_[0] * shard_[1]; }

private:
    Shape tensor_, shard_;
    std::vector<CoreCoord> cores_;
};

struct ShardSpecBuffer {
    ShardSpecBuffer(const CoreRangeSet& cores, const std::array<uint32_t, 2>& shape, ShardOrientation orientation,
                    const std::array<uint32_t, 2>& page, const std::array<uint32_t, 2>& tensor)
        : grid(cores), shape(shape), page(page), tensor(tensor) {
        TT_FATAL(orientation == ShardOrientation::ROW_MAJOR);
    }
    CoreRangeSet grid;
    std::array<uint32_t, 2> shape, page, tensor;
};

class BufferShardingArgs {
public:
    BufferShardingArgs() = default;
    BufferShardingArgs(BufferDistributionSpec spec) : spec_(std::move(spec)) {}
    BufferShardingArgs(const ShardSpecBuffer& shards, TensorMemoryLayout layout) {
        TT_FATAL(layout != TensorMemoryLayout::INTERLEAVED);
        std::vector<CoreCoord> cores;
        for (const CoreRange& range : shards.grid.ranges()) {
            std::vector<CoreCoord> more = range.cores();
            cores.insert(cores.end(), more.begin(), more.end());
        }
        spec_.emplace(Shape{shards.tensor[0], shards.tensor[1]},
                      Shape{shards.shape[0] / shards.page[0], shards.shape[1] / shards.page[1]}, cores);
    }
    const std::optional<BufferDistributionSpec>& buffer_distribution_spec() const { return spec_; }

private:
    std::optional<BufferDistributionSpec> spec_;
};

namespace distributed {

struct MeshShape {};
struct MeshCoordinate {
    template <typename... T> MeshCoordinate(T...) {}
};
struct MeshCoordinateRange {
    explicit MeshCoordinateRange(const MeshShape&) {}
};
struct MeshCommandQueue {};

class MeshDevice {
public:
    static std::shared_ptr<MeshDevice> create_unit_mesh(int) {
        tw_host::device();
        return std::make_shared<MeshDevice>();
    }
    MeshCommandQueue& mesh_command_queue() { return queue_; }
    CoreCoord compute_with_storage_grid_size() const {
        return {tw_host::device().columns, tw_host::device().rows};
    }
    CoreCoord worker_core_from_logical_core(const CoreCoord& core) const {
        const tw_host::Device& device = tw_host::device();
        auto [x, y] = device.noc.at(core.y * device.columns + core.x);
        return {x, y};
    }
    MeshShape shape() const { return {}; }
    bool close() { return true; }

private:
    MeshCommandQueue queue_;
};

struct MeshWorkload {
    void add_program(const MeshCoordinateRange&, Program&& program) { programs.push_back(std::move(program)); }
    std::vector<Program> programs;
};

struct ReplicatedBufferConfig {
    uint64_t size = 0;
};
struct DeviceLocalBufferConfig {
    uint64_t page_size = 0;
    BufferType buffer_type = BufferType::DRAM;
    BufferShardingArgs sharding_args;
    std::optional<bool> bottom_up;
};

class MeshBuffer {
public:
    static std::shared_ptr<MeshBuffer> create(const ReplicatedBufferConfig& config,
                                              const DeviceLocalBufferConfig& local, MeshDevice*) {
        tw_host::Device& device = tw_host::device();
        auto out = std::make_shared<MeshBuffer>();
        out->id_ = device.buffers++;
        out->dram_ = local.buffer_type == BufferType::DRAM;
        out->page_ = uint32_t(local.page_size);
        out->size_ = config.size;
        uint32_t pages = uint32_t((config.size + local.page_size - 1) / local.page_size);
        uint32_t banks = out->dram_ ? device.banks : device.columns * device.rows;
        uint32_t alignment = out->dram_ ? device.dram_alignment : device.l1_alignment;
        const auto& shards = out->shards_ = local.sharding_args.buffer_distribution_spec();
        TT_FATAL(!(shards && out->dram_));
        uint32_t on_bank = shards ? shards->core_pages() : (pages + banks - 1) / banks;
        uint32_t bytes = on_bank * tw_host::align_up(out->page_, alignment);
        if (out->dram_) {
            out->address_ = device.dram;
            device.dram = tw_host::align_up(device.dram + bytes, alignment);
        } else {
            device.l1 = (device.l1 - bytes) / alignment * alignment;
            out->address_ = device.l1;
        }
        device.lines += fmt::format("buffer {} {} {} {} {} {}", out->id_, int(out->dram_), out->page_, pages,
                                    out->address_, shards ? shards->cores().size() : 0);
        if (shards) {
            device.lines += fmt::format(" {} {} {} {}", shards->tensor_shape_in_pages()[0],
                                        shards->tensor_shape_in_pages()[1], shards->shard_shape_in_pages()[0],
                                        shards->shard_shape_in_pages()[1]);
            for (const CoreCoord& core : shards->cores()) {
                device.lines += fmt::format(" {} {}", core.x, core.y);
            }
        }
        device.lines += '\n';
        return out;
    }
    int id() const { return id_; }
    const std::optional<BufferDistributionSpec>& buffer_distribution_spec() const { return shards_; }
    MeshBuffer* get_backing_buffer() { return this; }
    DeviceAddr address() const { return address_; }
    uint64_t size() const { return size_; }
    bool is_dram() const { return dram_; }
    uint32_t aligned_page_size() const {
        const tw_host::Device& device = tw_host::device();
        return tw_host::align_up(page_, dram_ ? device.dram_alignment : device.l1_alignment);
    }
    std::string path() const { return tw_host::device().directory + "/buffer" + std::to_string(id_); }

private:
    int id_ = 0;
    std::optional<BufferDistributionSpec> shards_;
    bool dram_ = true;
    uint32_t page_ = 0, address_ = 0;
    uint64_t size_ = 0;
};

template <typename T>
void EnqueueWriteMeshBuffer(MeshCommandQueue&, const std::shared_ptr<MeshBuffer>& buffer, const std::vector<T>& data,
                            bool = false) {
    TT_FATAL(data.size() * sizeof(T) == buffer->size());
    std::ofstream file(buffer->path(), std::ios::binary);
    file.write(reinterpret_cast<const char*>(data.data()), std::streamsize(data.size() * sizeof(T)));
}

template <typename T>
void EnqueueReadMeshBuffer(MeshCommandQueue&, std::vector<T>& data, const std::shared_ptr<MeshBuffer>& buffer,
                           bool = true) {
    data.resize(buffer->size() / sizeof(T));
    std::ifstream file(buffer->path(), std::ios::binary);
    file.read(reinterpret_cast<char*>(data.data()), std::streamsize(data.size() * sizeof(T)));
    TT_FATAL(size_t(file.gcount()) == data.size() * sizeof(T));
}

template <typename T>
void WriteShard(MeshCommandQueue& queue, const std::shared_ptr<MeshBuffer>& buffer, const std::vector<T>& data,
                const MeshCoordinate&, bool = false) {
    EnqueueWriteMeshBuffer(queue, buffer, data);
}
template <typename T>
void ReadShard(MeshCommandQueue& queue, std::vector<T>& data, const std::shared_ptr<MeshBuffer>& buffer,
               const MeshCoordinate&, bool = true) {
    EnqueueReadMeshBuffer(queue, data, buffer);
}

inline void EnqueueMeshWorkload(MeshCommandQueue&, MeshWorkload& workload, bool) {
    tw_host::Device& device = tw_host::device();
    for (const Program& program : workload.programs) {
        std::ofstream(device.directory + "/program") << device.lines << program.lines;
        char byte = 'r';
        if (write(device.request, &byte, 1) != 1 || read(device.reply, &byte, 1) != 1 || byte != 'k') {
            throw std::runtime_error("the program did not run to its end");
        }
    }
}

inline void Finish(MeshCommandQueue&) {}

}  // namespace distributed

class CircularBufferConfig {
public:
    CircularBufferConfig(uint32_t bytes, const std::map<uint8_t, DataFormat>& formats)
        : bytes_(bytes), formats_(formats) {}
    CircularBufferConfig& set_page_size(uint8_t index, uint32_t bytes) {
        pages_[index] = bytes;
        return *this;
    }
    CircularBufferConfig& set_globally_allocated_address(const distributed::MeshBuffer& buffer) {
        TT_FATAL(buffer.buffer_distribution_spec().has_value());
        buffer_ = buffer.id();
        return *this;
    }
    std::string line(const CoreSpec& cores) const {
        std::string out = fmt::format("cb {} {}", bytes_, formats_.size());
        for (const auto& [index, format] : formats_) {
            auto page = pages_.find(index);
            out += fmt::format(" {} {} {}", int(index), int(format),
                               page == pages_.end() ? tile_size(format) : page->second);
        }
        return out + ' ' + std::to_string(buffer_) + ' ' + tw_host::text_of(cores) + '\n';
    }

private:
    uint32_t bytes_;
    int buffer_ = -1;  // whose shard the pages are
    std::map<uint8_t, DataFormat> formats_;
    std::map<uint8_t, uint32_t> pages_;
};

struct DataMovementConfig {
    DataMovementProcessor processor = DataMovementProcessor::RISCV_0;
    NOC noc = NOC::RISCV_0_default;
    std::vector<uint32_t> compile_args;
    std::map<std::string, std::string> defines;
    std::unordered_map<std::string, uint32_t> named_compile_args;
};
struct ReaderDataMovementConfig : DataMovementConfig {
    explicit ReaderDataMovementConfig(std::vector<uint32_t> words = {})
        : DataMovementConfig{DataMovementProcessor::RISCV_1, NOC::RISCV_1_default, std::move(words), {}, {}} {}
};
struct WriterDataMovementConfig : DataMovementConfig {
    explicit WriterDataMovementConfig(std::vector<uint32_t> words = {})
        : DataMovementConfig{DataMovementProcessor::RISCV_0, NOC::RISCV_0_default, std::move(words), {}, {}} {}
};
struct ComputeConfig {
    MathFidelity math_fidelity = MathFidelity::HiFi4;
    bool fp32_dest_acc_en = false;
    bool dst_full_sync_en = false;
    bool math_approx_mode = false;
    std::vector<uint32_t> compile_args;
    std::map<std::string, std::string> defines;
    std::unordered_map<std::string, uint32_t> named_compile_args;
};

inline CBHandle CreateCircularBuffer(Program& program, const CoreSpec& cores, const CircularBufferConfig& config) {
    program.lines += config.line(cores);
    return 0;
}

inline uint32_t CreateSemaphore(Program& program, const std::variant<CoreRange, CoreRangeSet>& cores,
                                uint32_t initial) {
    CoreSpec spec = std::visit([](const auto& each) { return CoreSpec(each); }, cores);
    program.lines += fmt::format("semaphore {} {} {}\n", program.semaphores, initial, tw_host::text_of(spec));
    return program.semaphores++;
}

inline KernelHandle CreateKernel(
    Program& program, const std::string& path, const CoreSpec& cores,
    const std::variant<DataMovementConfig, ComputeConfig>& config) {
    std::string line = fmt::format("kernel {} ", program.kernels);
    if (const auto* movement = std::get_if<DataMovementConfig>(&config)) {
        line += fmt::format("{} {} 0 0", int(movement->processor), int(movement->noc));
    } else {
        const auto& compute = std::get<ComputeConfig>(config);
        line += fmt::format("2 0 {} {}", int(compute.fp32_dest_acc_en), int(compute.dst_full_sync_en));
    }
    std::visit([&](const auto& each) {
        line += ' ' + tw_host::text_of_words(each.compile_args) + ' ' + std::to_string(each.named_compile_args.size());
        for (const auto& [name, value] : each.named_compile_args) {
            line += ' ' + name + ' ' + std::to_string(value);
        }
        line += ' ' + std::to_string(each.defines.size());
        for (const auto& [name, value] : each.defines) {
            line += ' ' + name + ' ' + (value.empty() ? "1" : value);
        }
    }, config);
    program.lines += line + ' ' + tw_host::text_of(cores) + ' ' + path + '\n';
    return program.kernels++;
}

template <typename Words = std::initializer_list<uint32_t>>
void SetRuntimeArgs(Program& program, KernelHandle kernel, const CoreSpec& cores, const Words& words) {
    program.lines +=
        fmt::format("args {} {} {}\n", kernel, tw_host::text_of(cores), tw_host::text_of_words(words));
}
template <typename Words = std::initializer_list<uint32_t>>
void SetCommonRuntimeArgs(Program& program, KernelHandle kernel, const Words& words) {
    program.lines += fmt::format("common {} {}\n", kernel, tw_host::text_of_words(words));
}

class TensorAccessorArgs {
public:
    explicit TensorAccessorArgs(const distributed::MeshBuffer& buffer)
        : words_{buffer.is_dram() ? 2u : 0u, buffer.aligned_page_size()} {
        if (const auto& shards = buffer.buffer_distribution_spec()) {
            const tw_host::Device& device = tw_host::device();
            words_[0] |= 1;
            words_.insert(words_.end(), {2u, uint32_t(shards->cores().size())});
            for (const Shape& shape : {shards->tensor_shape_in_pages(), shards->shard_shape_in_pages()}) {
                words_.insert(words_.end(), shape.begin(), shape.end());
            }
            for (size_t i = 0; i < shards->cores().size(); ++i) {
                const CoreCoord& core = shards->cores()[i];
                auto [x, y] = device.noc.at(core.y * device.columns + core.x);
                if (i % 2 == 0) {
                    words_.push_back(x << 8 | y);
                } else {
                    words_.back() |= (x << 8 | y) << 16;
                }
            }
        }
    }
    void append_to(std::vector<uint32_t>& words) const { words.insert(words.end(), words_.begin(), words_.end()); }

private:
    std::vector<uint32_t> words_;
};

// Columns first unless `row_wise`; the first cores get one unit more where it does not divide.
inline std::tuple<uint32_t, CoreRangeSet, CoreRangeSet, CoreRangeSet, uint32_t, uint32_t> split_work_to_cores(
    CoreCoord grid, uint32_t units, bool row_wise = false) {
    uint32_t count = std::min<uint32_t>(units, uint32_t(grid.x * grid.y));
    uint32_t each = count ? units / count : 0, more = count ? units % count : 0;
    std::vector<CoreRange> all, first, second;
    for (uint32_t i = 0; i < count; ++i) {
        CoreCoord core = row_wise ? CoreCoord(i % grid.x, i / grid.x) : CoreCoord(i / grid.y, i % grid.y);
        all.emplace_back(core);
        (more == 0 || i < more ? first : second).emplace_back(core);
    }
    uint32_t units_first = more ? each + 1 : each, units_second = more ? each : 0;
    return {count, CoreRangeSet(all), CoreRangeSet(first), CoreRangeSet(second), units_first, units_second};
}
inline CoreRangeSet num_cores_to_corerangeset(uint32_t count, CoreCoord grid, bool row_wise = false) {
    return std::get<1>(split_work_to_cores(grid, std::min<uint32_t>(count, uint32_t(grid.x * grid.y)), row_wise));
}
inline auto split_work_to_cores(const CoreRangeSet& grid, uint32_t units, bool row_wise = false) {
    const CoreRange& range = grid.ranges().at(0);
    return split_work_to_cores(CoreCoord(range.end_coord.x + 1, range.end_coord.y + 1), units, row_wise);
}

}  // namespace tt::tt_metal

namespace tw_host {
// Offset of element (r, c) of a matrix of `width` columns in its tiles of four faces.
inline size_t tiled_offset(size_t r, size_t c, size_t width) {
    size_t tile = r / 32 * (width / 32) + c / 32, y = r % 32, x = c % 32;
    return tile * 1024 + (y / 16 * 2 + x / 16) * 256 + y % 16 * 16 + x % 16;
}
}  // namespace tw_host

template <typename T>
std::vector<T> tilize_nfaces(const std::vector<T>& values, uint32_t height, uint32_t width) {
    std::vector<T> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        size_t matrix = i / (size_t(height) * width), inside = i % (size_t(height) * width);
        out[matrix * height * width + tw_host::tiled_offset(inside / width, inside % width, width)] = values[i];
    }
    return out;
}
template <typename T>
std::vector<T> untilize_nfaces(const std::vector<T>& values, uint32_t height, uint32_t width) {
    std::vector<T> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        size_t matrix = i / (size_t(height) * width), inside = i % (size_t(height) * width);
        out[i] = values[matrix * height * width + tw_host::tiled_offset(inside / width, inside % width, width)];
    }
    return out;
}
