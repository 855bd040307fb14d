// DPRINT with `{}` fields; the machine collects the text for each core.
#pragma once

#include <type_traits>

#include "common.h"

struct bf16_t {
    explicit bf16_t(uint16_t bits) : value(bits) {}
    uint16_t value;
};

struct SliceRange {
    uint8_t h0, h1, hs, w0, w1, ws;
    static SliceRange hw0_32_16() { return {0, 32, 16, 0, 32, 16}; }
    static SliceRange hw0_32_8() { return {0, 32, 8, 0, 32, 8}; }
    static SliceRange h0_w0_32() { return {0, 1, 1, 0, 32, 1}; }
};

enum TwSlice { TSLICE_INPUT_CB, TSLICE_OUTPUT_CB, TSLICE_RD_PTR, TSLICE_WR_PTR };

// A part of a tile; its elements are not printed.
struct TileSlice {
    template <typename... Arguments>
    explicit TileSlice(uint32_t cb, Arguments...) : circular_buffer(cb) {}
    uint32_t circular_buffer;
};

namespace tw {

template <typename T>
TwValue print_value(const T& value) {
    TwValue out;
    if constexpr (std::is_same_v<T, bf16_t>) {
        uint32_t bits = uint32_t(value.value) << 16;
        float real;
        std::memcpy(&real, &bits, 4);
        out.kind = TW_VALUE_FLOAT;
        out.real = real;
    } else if constexpr (std::is_same_v<T, TileSlice>) {
        out.kind = TW_VALUE_TEXT;
        out.text = "<tile>";
    } else if constexpr (std::is_floating_point_v<T>) {
        out.kind = TW_VALUE_FLOAT;
        out.real = value;
    } else if constexpr (std::is_convertible_v<T, const char*>) {
        out.kind = TW_VALUE_TEXT;
        out.text = value;
    } else if constexpr (std::is_signed_v<T>) {
        out.kind = TW_VALUE_SIGNED;
        out.integer = value;
    } else {
        out.kind = TW_VALUE_UNSIGNED;
        out.natural = (unsigned long long)(value);
    }
    return out;
}

template <typename... Values>
void print(const char* format, const Values&... values) {
    TwValue list[] = {TwValue{}, print_value(values)...};
    tw_print(format, list + 1, int(sizeof...(values)));
}

}  // namespace tw

#define DPRINT(...) tw::print(__VA_ARGS__)
#define DPRINT_UNPACK(...) tw::print(__VA_ARGS__)
#define DPRINT_MATH(...) tw::print(__VA_ARGS__)
#define DPRINT_PACK(...) tw::print(__VA_ARGS__)
#ifdef TW_PROCESSOR_1
#define DPRINT_DATA0(...)
#define DPRINT_DATA1(...) tw::print(__VA_ARGS__)
#else
#define DPRINT_DATA0(...) tw::print(__VA_ARGS__)
#define DPRINT_DATA1(...)
#endif
