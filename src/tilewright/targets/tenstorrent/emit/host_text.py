"""The part of ``main.cpp`` that is the same for all programs but for its first line."""

from __future__ import annotations

HEADER = """\
// Host program of '{kernel}' for {arch}: {active} of {num_cores} cores.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tt-metalium/bfloat16.hpp>
#include <tt-metalium/buffer.hpp>
#include <tt-metalium/buffer_distribution_spec.hpp>
#include <tt-metalium/device.hpp>
#include <tt-metalium/distributed.hpp>
#include <tt-metalium/host_api.hpp>
#include <tt-metalium/tensor_accessor_args.hpp>
#include <tt-metalium/tilize_utils.hpp>

using namespace tt;
using namespace tt::tt_metal;

// One axis of a tensor: blocks of `granule` elements, each padded to `padded_granule`. If given,
// `starts` is the first element of each block and `limits` the number of its valid elements.
struct Axis {{
    uint32_t extent;
    uint32_t stride;
    uint32_t granule;
    uint32_t padded_granule;
    uint32_t padded;
    std::vector<uint32_t> starts = {{}};
    std::vector<uint32_t> limits = {{}};
}};

struct Layout {{
    std::vector<uint32_t> extents;  // leading dimensions
    std::vector<uint32_t> strides;
    Axis rows;
    Axis columns;

    uint32_t matrices() const {{
        uint32_t count = 1;
        for (uint32_t extent : extents) count *= extent;
        return count;
    }}
    uint32_t height() const {{ return matrices() * rows.padded; }}
    uint32_t width() const {{ return columns.padded; }}
}};

// The element of an axis at a padded position, or `extent` if the position is padding.
static uint32_t element_at(const Axis& axis, uint32_t position) {{
    const uint32_t block = position / axis.padded_granule;
    const uint32_t inside = position % axis.padded_granule;
    const uint32_t start = axis.starts.empty() ? block * axis.granule : axis.starts[block];
    const uint32_t valid = axis.limits.empty() ? axis.granule : axis.limits[block];
    const uint32_t element = start + inside;
    return inside < valid && element < axis.extent ? element : axis.extent;
}}

// Calls `visit(element, position)` for all elements of a tensor that have a padded position.
template <typename Visit>
static void for_each_element(const Layout& layout, Visit visit) {{
    for (uint32_t matrix = 0; matrix < layout.matrices(); ++matrix) {{
        uint32_t base = 0;
        uint32_t rest = matrix;
        for (size_t dim = layout.extents.size(); dim-- > 0;) {{
            base += rest % layout.extents[dim] * layout.strides[dim];
            rest /= layout.extents[dim];
        }}
        for (uint32_t y = 0; y < layout.rows.padded; ++y) {{
            const uint32_t row = element_at(layout.rows, y);
            if (row == layout.rows.extent) continue;
            for (uint32_t x = 0; x < layout.columns.padded; ++x) {{
                const uint32_t column = element_at(layout.columns, x);
                if (column == layout.columns.extent) continue;
                const size_t line = size_t(matrix) * layout.rows.padded + y;
                const size_t element = row * layout.rows.stride + column * layout.columns.stride;
                visit(base + element, line * layout.width() + x);
            }}
        }}
    }}
}}

template <typename T>
static std::vector<T> load(const std::string& path, size_t count) {{
    std::vector<T> elements(count);
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(elements.data()), std::streamsize(count * sizeof(T)));
    if (size_t(file.gcount()) != count * sizeof(T)) {{
        std::fprintf(stderr, "%s: %zu bytes expected\\n", path.c_str(), count * sizeof(T));
        std::exit(1);
    }}
    return elements;
}}

template <typename T>
static std::vector<T> pages_of(const std::vector<T>& elements, const Layout& layout, T padding) {{
    std::vector<T> padded(size_t(layout.height()) * layout.width(), padding);
    for_each_element(layout, [&](size_t element, size_t at) {{ padded[at] = elements[element]; }});
    return tilize_nfaces(padded, layout.height(), layout.width());
}}

template <typename T>
static void store(
    const std::string& path, std::vector<T> elements, std::vector<T> pages, const Layout& layout) {{
    const std::vector<T> padded = untilize_nfaces(pages, layout.height(), layout.width());
    for_each_element(layout, [&](size_t element, size_t at) {{ elements[element] = padded[at]; }});
    std::ofstream file(path, std::ios::binary);
    const auto size_bytes = std::streamsize(elements.size() * sizeof(T));
    file.write(reinterpret_cast<const char*>(elements.data()), size_bytes);
}}
"""
