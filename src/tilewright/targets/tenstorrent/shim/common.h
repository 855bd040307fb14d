// What kernels of every processor have: arguments, circular buffers, constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "abi.h"

#define tt_l1_ptr
#define tt_reg_ptr
#define FORCE_INLINE inline __attribute__((always_inline))
#define ALWI inline __attribute__((always_inline))

namespace tw {

// The line of a call, as a hidden last parameter; explicit, so that no argument converts to it.
struct Line {
    constexpr explicit Line(unsigned value) : number(value) {}
    unsigned number;
};

inline void at(Line line) { tw_current_line = line.number; }

}  // namespace tw

#define TW_LINE tw::Line tw_line = tw::Line(__builtin_LINE())

namespace tw {

// Hidden: an inline variable of one name is otherwise the same for all kernels of the process.
#ifdef KERNEL_COMPILE_TIME_ARGS
__attribute__((visibility("hidden"))) inline constexpr uint32_t compile_time_words[] = {KERNEL_COMPILE_TIME_ARGS};
inline constexpr uint32_t compile_time_count = sizeof(compile_time_words) / sizeof(uint32_t);
#else
inline constexpr uint32_t compile_time_words[] = {0};
inline constexpr uint32_t compile_time_count = 0;
#endif

template <uint32_t index>
constexpr uint32_t compile_time_argument() {
    static_assert(index < compile_time_count, "index of a compile-time argument out of range");
    return compile_time_words[index];
}

// A word that exists only if `used`.
constexpr uint32_t compile_time_word(bool used, uint32_t index) {
    return used && index < compile_time_count ? compile_time_words[index] : 0;
}

struct NamedArgument {
    const char* name;
    uint32_t value;
};

constexpr bool same_text(const char* a, const char* b) {
    for (; *a && *a == *b; ++a, ++b) {
    }
    return *a == *b;
}

#ifdef KERNEL_COMPILE_TIME_ARG_MAP
inline constexpr NamedArgument named_arguments[] = {KERNEL_COMPILE_TIME_ARG_MAP};
#else
inline constexpr NamedArgument named_arguments[] = {{"", 0}};
#endif

uint32_t no_compile_time_argument_of_that_name();

// The call after the loop is no constant expression: an unknown name is a compile error.
constexpr uint32_t named_argument(const char* name) {
    for (const NamedArgument& each : named_arguments) {
        if (same_text(each.name, name)) {
            return each.value;
        }
    }
    return no_compile_time_argument_of_that_name();
}

}  // namespace tw

#define get_compile_time_arg_val(index) (tw::compile_time_argument<(index)>())
#define get_named_compile_time_arg_val(name) (tw::named_argument(name))
inline constexpr auto& kernel_compile_time_args = tw::compile_time_words;

template <typename T>
FORCE_INLINE T get_arg_val(int index, TW_LINE) {
    static_assert(sizeof(T) == 4, "run-time arguments have 4 bytes");
    tw::at(tw_line);
    uint32_t word = tw_argument(index, 0);
    T value;
    std::memcpy(&value, &word, 4);
    return value;
}

template <typename T>
FORCE_INLINE T get_common_arg_val(int index, TW_LINE) {
    static_assert(sizeof(T) == 4, "run-time arguments have 4 bytes");
    tw::at(tw_line);
    uint32_t word = tw_argument(index, 1);
    T value;
    std::memcpy(&value, &word, 4);
    return value;
}

inline uint8_t get_absolute_logical_x() { return tw_logical(0); }
inline uint8_t get_absolute_logical_y() { return tw_logical(1); }

inline constexpr uint32_t INVALID = 0;
inline constexpr uint32_t VALID = 1;

enum class DataFormat : uint8_t {
    Float32 = 0,
    Float16 = 1,
    Bfp8 = 2,
    Bfp4 = 3,
    Tf32 = 4,
    Float16_b = 5,
    Bfp8_b = 6,
    Bfp4_b = 7,
    Int32 = 8,
    UInt16 = 9,
    Int8 = 14,
    UInt32 = 24,
    UInt8 = 30,
    Invalid = 255
};

namespace tt {

using ::DataFormat;

#define TW_CB_INDICES(X)                                                                                       \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18)     \
    X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32) X(33) X(34) X(35) X(36) \
    X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49) X(50) X(51) X(52) X(53) X(54) \
    X(55) X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63)
#define TW_CB_INDEX(i) c_##i = i,
enum CBIndex : uint8_t { TW_CB_INDICES(TW_CB_INDEX) SIZE = 64 };
#undef TW_CB_INDEX

enum CB : uint8_t {
    c_in0 = 0, c_in1 = 1, c_in2 = 2, c_in3 = 3, c_in4 = 4, c_in5 = 5, c_in6 = 6, c_in7 = 7,
    dataflow0 = 8, dataflow1 = 9, dataflow2 = 10, dataflow3 = 11,
    dataflow4 = 12, dataflow5 = 13, dataflow6 = 14, dataflow7 = 15,
    c_out0 = 16, c_out1 = 17, c_out2 = 18, c_out3 = 19, c_out4 = 20, c_out5 = 21, c_out6 = 22, c_out7 = 23,
    c_intermed0 = 24, c_intermed1 = 25, c_intermed2 = 26, c_intermed3 = 27,
    c_intermed4 = 28, c_intermed5 = 29, c_intermed6 = 30, c_intermed7 = 31
};

namespace constants {
inline constexpr uint32_t TILE_HEIGHT = 32;
inline constexpr uint32_t TILE_WIDTH = 32;
inline constexpr uint32_t TILE_HW = 1024;
inline constexpr uint32_t FACE_HEIGHT = 16;
inline constexpr uint32_t FACE_WIDTH = 16;
inline constexpr uint32_t FACE_HW = 256;
}  // namespace constants

}  // namespace tt

FORCE_INLINE void cb_reserve_back(uint32_t cb, uint32_t pages, TW_LINE) {
    tw::at(tw_line);
    tw_cb(TW_CB_RESERVE, cb, pages);
}
FORCE_INLINE void cb_push_back(uint32_t cb, uint32_t pages, TW_LINE) {
    tw::at(tw_line);
    tw_cb(TW_CB_PUSH, cb, pages);
}
FORCE_INLINE void cb_wait_front(uint32_t cb, uint32_t pages, TW_LINE) {
    tw::at(tw_line);
    tw_cb(TW_CB_WAIT, cb, pages);
}
FORCE_INLINE void cb_pop_front(uint32_t cb, uint32_t pages, TW_LINE) {
    tw::at(tw_line);
    tw_cb(TW_CB_POP, cb, pages);
}
FORCE_INLINE uint32_t get_write_ptr(uint32_t cb, TW_LINE) {
    tw::at(tw_line);
    return tw_cb_pointer(1, cb);
}
FORCE_INLINE uint32_t get_read_ptr(uint32_t cb, TW_LINE) {
    tw::at(tw_line);
    return tw_cb_pointer(0, cb);
}
FORCE_INLINE uint32_t get_tile_size(uint32_t cb) { return tw_tile_bytes(cb); }
FORCE_INLINE uint32_t get_tile_hw(uint32_t) { return 1024; }
FORCE_INLINE DataFormat get_dataformat(uint32_t cb) { return DataFormat(tw_cb_format(cb)); }

class CircularBuffer {
public:
    explicit CircularBuffer(uint32_t cb) : cb_(cb) {}
    uint32_t get_cb_id() const { return cb_; }
    void reserve_back(int32_t pages, TW_LINE) { cb_reserve_back(cb_, pages, tw_line); }
    void push_back(int32_t pages, TW_LINE) { cb_push_back(cb_, pages, tw_line); }
    void wait_front(int32_t pages, TW_LINE) { cb_wait_front(cb_, pages, tw_line); }
    void pop_front(int32_t pages, TW_LINE) { cb_pop_front(cb_, pages, tw_line); }
    uint32_t get_write_ptr(TW_LINE) const { return ::get_write_ptr(cb_, tw_line); }
    uint32_t get_read_ptr(TW_LINE) const { return ::get_read_ptr(cb_, tw_line); }
    uint32_t get_tile_size() const { return tw_tile_bytes(cb_); }

private:
    uint32_t cb_;
};

inline uint16_t fp32_to_bf16_truncate(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return uint16_t(bits >> 16);
}

namespace ckernel {
template <typename T>
inline T load_blocking(volatile T* pointer) {
    return *pointer;
}
}  // namespace ckernel
using namespace ckernel;

void kernel_main();
