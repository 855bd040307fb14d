// Element formats: a tile in L1 to 32x32 floats in row-major order, and back.
#pragma once

#include "state.hpp"

namespace tw {

enum Format { kFp32 = 0, kFp16 = 1, kBf16 = 5, kBfp8b = 6, kInt32 = 8, kUint16 = 9, kUint32 = 24 };

inline float from_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}
inline uint32_t to_bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

inline uint16_t to_bf16(float value) {
    uint32_t bits = to_bits(value);
    if (std::isnan(value)) {
        return uint16_t(bits >> 16 | 0x40);
    }
    return uint16_t((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}
inline float round_bf16(float value) { return from_bits(uint32_t(to_bf16(value)) << 16); }
inline float truncate_bf16(float value) { return from_bits(to_bits(value) & 0xFFFF0000); }
inline float truncate_tf32(float value) { return from_bits(to_bits(value) & 0xFFFFE000); }

inline bool is_integer(int format) { return format == kInt32 || format == kUint32 || format == kUint16; }

// Offset of element (r, c) in a tile of four faces.
inline uint32_t face_offset(uint32_t r, uint32_t c) {
    return ((r / 16) * 2 + c / 16) * 256 + (r % 16) * 16 + c % 16;
}

inline float load_element(const uint8_t* tile, int format, uint32_t offset) {
    uint16_t half;
    uint32_t word;
    switch (format) {
        case kBf16: std::memcpy(&half, tile + 2 * offset, 2); return from_bits(uint32_t(half) << 16);
        case kFp16: {
            _Float16 value;
            std::memcpy(&value, tile + 2 * offset, 2);
            return float(value);
        }
        case kUint16: std::memcpy(&half, tile + 2 * offset, 2); return from_bits(half);
        case kBfp8b: {
            uint8_t exponent = tile[offset / 16], element = tile[64 + offset];
            float magnitude = std::ldexp(float(element & 127), int(exponent) - 127 - 6);
            return element & 128 ? -magnitude : magnitude;
        }
        default: std::memcpy(&word, tile + 4 * offset, 4); return from_bits(word);
    }
}

inline void load_tile(const uint8_t* tile, int format, float* out) {
    for (uint32_t r = 0; r < 32; ++r) {
        for (uint32_t c = 0; c < 32; ++c) {
            out[r * 32 + c] = load_element(tile, format, face_offset(r, c));
        }
    }
}

// One shared exponent and sixteen elements of sign and seven bits.
inline void store_bfp8(uint8_t* tile, const float* values) {
    for (uint32_t row = 0; row < 64; ++row) {
        int exponent = 0;
        for (uint32_t i = 0; i < 16; ++i) {
            exponent = std::max(exponent, int((to_bits(values[row * 16 + i]) >> 23) & 255));
        }
        tile[row] = uint8_t(exponent);
        for (uint32_t i = 0; i < 16; ++i) {
            float value = values[row * 16 + i];
            long magnitude = std::lrint(std::ldexp(std::fabs(value), 6 + 127 - exponent));
            tile[64 + row * 16 + i] = uint8_t(std::min(magnitude, 127L) | (std::signbit(value) ? 128 : 0));
        }
    }
}

inline void store_tile(uint8_t* tile, int format, const float* values) {
    float faces[1024];
    for (uint32_t r = 0; r < 32; ++r) {
        for (uint32_t c = 0; c < 32; ++c) {
            faces[face_offset(r, c)] = values[r * 32 + c];
        }
    }
    if (format == kBfp8b) {
        return store_bfp8(tile, faces);
    }
    for (uint32_t i = 0; i < 1024; ++i) {
        uint32_t word = to_bits(faces[i]);
        if (format == kBf16) {
            uint16_t half = to_bf16(faces[i]);
            std::memcpy(tile + 2 * i, &half, 2);
        } else if (format == kFp16) {
            _Float16 half = _Float16(faces[i]);
            std::memcpy(tile + 2 * i, &half, 2);
        } else if (format == kUint16) {
            uint16_t half = uint16_t(word);
            std::memcpy(tile + 2 * i, &half, 2);
        } else {
            std::memcpy(tile + 4 * i, &word, 4);
        }
    }
}

}  // namespace tw
