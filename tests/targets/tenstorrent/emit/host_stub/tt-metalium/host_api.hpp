// Declarations of the host calls that main.cpp may use, with the vendor's parameter types.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

enum class MathFidelity { LoFi, HiFi2, HiFi3, HiFi4 };

struct bfloat16 {
    bfloat16() = default;
    explicit bfloat16(float) {}
    uint16_t bits = 0;
};

namespace tt {
enum class DataFormat { Float32, Float16, Float16_b, Bfp8_b, UInt32, Int32, UInt16 };
enum CBIndex : uint8_t {
    c_0, c_1, c_2, c_3, c_4, c_5, c_6, c_7, c_8, c_9, c_10, c_11, c_12, c_13, c_14, c_15,
    c_16, c_17, c_18, c_19, c_20, c_21, c_22, c_23, c_24, c_25, c_26, c_27, c_28, c_29, c_30, c_31
};

namespace tt_metal {
using KernelHandle = uint32_t;
enum class DataMovementProcessor { RISCV_0, RISCV_1 };
enum NOC : uint8_t { NOC_0, NOC_1 };
enum class BufferType { DRAM, L1 };

struct CoreCoord {
    CoreCoord(std::size_t, std::size_t) {}
    std::size_t x = 0, y = 0;
};
struct CoreRange {
    CoreRange(const CoreCoord&, const CoreCoord&) {}
};
struct CoreRangeSet {
    explicit CoreRangeSet(std::vector<CoreRange>) {}
};
struct Program {};

struct Shape {
    Shape(std::initializer_list<uint32_t>) {}
};
struct BufferDistributionSpec {
    BufferDistributionSpec(const Shape&, const Shape&, std::vector<CoreCoord>) {}
};
struct BufferShardingArgs {
    BufferShardingArgs() = default;
    BufferShardingArgs(BufferDistributionSpec) {}
};
struct Buffer;

struct CircularBufferConfig {
    CircularBufferConfig(uint32_t, const std::map<uint8_t, DataFormat>&) {}
    CircularBufferConfig& set_page_size(uint8_t, uint32_t) { return *this; }
    CircularBufferConfig& set_globally_allocated_address(const Buffer&) { return *this; }
};
struct DataMovementConfig {
    DataMovementProcessor processor = DataMovementProcessor::RISCV_0;
    NOC noc = NOC_0;
    std::vector<uint32_t> compile_args;
};
struct ComputeConfig {
    MathFidelity math_fidelity = MathFidelity::HiFi4;
    bool fp32_dest_acc_en = false;
    bool dst_full_sync_en = false;
    bool math_approx_mode = false;
    std::vector<uint32_t> compile_args;
};

uint32_t CreateCircularBuffer(Program&, const CoreRangeSet&, const CircularBufferConfig&);
KernelHandle CreateKernel(
    Program&, const std::string&, const CoreRangeSet&, const std::variant<DataMovementConfig, ComputeConfig>&);
void SetRuntimeArgs(const Program&, KernelHandle, const CoreCoord&, const std::vector<uint32_t>&);

namespace distributed {
struct MeshShape {};
struct MeshCoordinateRange {
    explicit MeshCoordinateRange(const MeshShape&) {}
};
struct MeshCommandQueue {};
struct MeshDevice {
    static std::shared_ptr<MeshDevice> create_unit_mesh(int);
    MeshCommandQueue& mesh_command_queue();
    CoreCoord compute_with_storage_grid_size() const;
    MeshShape shape() const;
    bool close();
};
struct MeshWorkload {
    void add_program(const MeshCoordinateRange&, Program&&);
};
struct ReplicatedBufferConfig {
    uint64_t size = 0;
};
struct DeviceLocalBufferConfig {
    uint64_t page_size = 0;
    BufferType buffer_type = BufferType::DRAM;
    BufferShardingArgs sharding_args;
};
struct MeshBuffer {
    static std::shared_ptr<MeshBuffer> create(
        const ReplicatedBufferConfig&, const DeviceLocalBufferConfig&, MeshDevice*);
    uint64_t address() const;
    Buffer* get_backing_buffer() const;
};
template <typename T>
void EnqueueWriteMeshBuffer(MeshCommandQueue&, std::shared_ptr<MeshBuffer>&, std::vector<T>&, bool);
template <typename T>
void EnqueueReadMeshBuffer(MeshCommandQueue&, std::vector<T>&, std::shared_ptr<MeshBuffer>&, bool);
void EnqueueMeshWorkload(MeshCommandQueue&, MeshWorkload&, bool);
}  // namespace distributed

struct TensorAccessorArgs {
    explicit TensorAccessorArgs(const distributed::MeshBuffer&) {}
    void append_to(std::vector<uint32_t>&) const {}
};
}  // namespace tt_metal
}  // namespace tt

template <typename T>
std::vector<T> tilize_nfaces(const std::vector<T>&, uint32_t, uint32_t);
template <typename T>
std::vector<T> untilize_nfaces(const std::vector<T>&, uint32_t, uint32_t);
