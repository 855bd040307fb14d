// Compute: DST slots that know they are undefined, unpack, math, pack.
//
// An undefined slot reads as the identity of the reading FPU instruction and as 0 in the
// packer; a SFPU read of it is reported. With device-like numerics, operands are truncated
// as the unpacker does and DST is rounded to 16 bits after every operation unless it has 32.
#pragma once

#include "formats.hpp"
#include "noc.hpp"

namespace tw {

inline Compute& compute_of(const char* call) {
    if (!machine.running->compute) {
        fatal("bad-address", format("%s in a data-movement kernel", call));
    }
    return *machine.running->compute;
}

inline Slot& slot_of(Compute& compute, uint32_t d, const char* call) {
    if (d >= uint32_t(compute.capacity)) {
        fatal("dst-range", format("%s: DST slot %u, the configuration has %d", call, d, compute.capacity));
    }
    return compute.slots[d];
}

inline void require_math(Compute& compute, const char* call) {
    if (!compute.started) {
        report("missing-init", format("%s before compute_kernel_hw_startup", call));
        compute.started = true;
    }
    if (compute.section != Section::Math && compute.section != Section::Both) {
        report("dst-section", format("%s outside tile_regs_acquire .. tile_regs_commit", call));
    }
}

inline void require_fpu(Compute& compute, int kind, int arithmetic, int broadcast, const char* call) {
    bool binary = kind == TW_FPU_BINARY || kind == TW_FPU_REDUCE;
    bool same = compute.fpu == kind &&
                (!binary || (compute.arithmetic == arithmetic && compute.broadcast == broadcast));
    if (!same) {
        report("missing-init", format("%s: the last init of the FPU is for another operation", call));
    }
}

inline void require_format(Compute& compute, int configured, uint32_t cb, const char* operand, const char* call) {
    int actual = machine.running->core->cbs[cb].format;
    if (configured >= 0 && configured != actual) {
        report("missing-init", format("%s: c_%u has data format %d, %s is configured for %d; reconfig_data_format is "
                                      "required", call, cb, actual, operand, configured));
    }
}

inline Slot& vector_operand(Compute& compute, uint32_t d, const char* call) {
    Slot& slot = slot_of(compute, d, call);
    if (slot.undefined) {
        report("undefined-dst", format("%s reads DST slot %u, which no operation has written since tile_regs_acquire",
                                       call, d));
        std::fill(slot.value, slot.value + 1024, 0.0f);
        slot.undefined = false;
    }
    slot.unused = false;
    return slot;
}

inline void define(Compute& compute, Slot& slot, bool vector_unit, bool reduced = false) {
    slot.undefined = false;
    slot.unused = true;
    slot.reduced = vector_unit ? slot.reduced : reduced;
    if (machine.device_numerics && !compute.fp32 && !slot.integer) {
        for (float& value : slot.value) {
            value = vector_unit ? truncate_bf16(value) : round_bf16(value);
        }
    }
}

// The tile `index` pages after the read pointer, as floats.
inline bool unpack(uint32_t cb_index, uint32_t index, const char* call, float* out) {
    Fiber& fiber = *machine.running;
    CircularBufferState& cb = cb_of(fiber, cb_index, call);
    CbView& view = view_of(fiber, cb_index);
    if (index >= view.waited && !cb.on_buffer) {
        report("unpushed-read", format("%s: tile %u of c_%u, %u pages waited for", call, index, cb_index, view.waited));
    }
    uint32_t address = view.rd + index * cb.page;
    if (address + cb.page > end_of(cb)) {
        report("straddling-wrap", format("%s: tile %u of c_%u is past the end of the buffer", call, index, cb_index));
        address = cb.base + (address - cb.base) % (cb.pages * cb.page);
    }
    const uint8_t* tile = fiber.core->l1 + address;
    if (is_poisoned(tile, cb.page)) {
        report("poisoned-read", format("%s: tile %u of c_%u has not been written", call, index, cb_index));
    }
    load_tile(tile, cb.format, out);
    if (machine.device_numerics && cb.format == kFp32) {
        for (int i = 0; i < 1024; ++i) {
            out[i] = truncate_tf32(out[i]);
        }
    }
    return is_integer(cb.format);
}

inline void transpose(float* tile) {
    for (int r = 0; r < 32; ++r) {
        for (int c = r + 1; c < 32; ++c) {
            std::swap(tile[r * 32 + c], tile[c * 32 + r]);
        }
    }
}

inline void begin_accumulation(Slot& slot, float identity) {
    if (slot.undefined) {
        std::fill(slot.value, slot.value + 1024, identity);
        slot.integer = false;
    }
}

inline void multiply(Compute& compute, uint32_t cb0, uint32_t cb1, uint32_t i0, uint32_t i1, uint32_t d,
                     bool transposed, const char* call) {
    float a[1024], b[1024];
    Slot& slot = slot_of(compute, d, call);
    unpack(cb0, i0, call, a);
    unpack(cb1, i1, call, b);
    if (transposed) {
        transpose(b);
    }
    begin_accumulation(slot, 0.0f);
    for (int r = 0; r < 32; ++r) {
        float* row = slot.value + r * 32;
        for (int k = 0; k < 32; ++k) {
            float factor = a[r * 32 + k];
            for (int c = 0; c < 32; ++c) {
                row[c] += factor * b[k * 32 + c];
            }
        }
    }
    define(compute, slot, false);
}

inline const char* arithmetic_name(int op) {
    return op == TW_ADD ? "add_tiles" : op == TW_SUB ? "sub_tiles" : "mul_tiles";
}

inline void require_init(Compute& compute, int id, const char* call) {
    if (compute.sfpu != id) {
        report("missing-init", format("%s: the last init of the SFPU is for another operation", call));
    }
}

inline float apply_unary(int id, float x) {
#define TW_CASE(name, expression) case TW_SFPU_##name: return expression;
    switch (id) { TW_SFPU_UNARY(TW_CASE) }
#undef TW_CASE
    return x;
}
inline float apply_scalar(int id, float x, float s) {
#define TW_CASE(name, expression) case TW_SFPU_##name: return expression;
    switch (id) { TW_SFPU_SCALAR(TW_CASE) }
#undef TW_CASE
    return x;
}
inline float apply_binary(int id, float x, float y) {
#define TW_CASE(name, expression) case TW_SFPU_##name: return expression;
    switch (id) { TW_SFPU_BINARY(TW_CASE) }
#undef TW_CASE
    return x;
}
inline int32_t apply_integer(int id, int32_t x, int32_t y) {
#define TW_CASE(name, expression) case TW_SFPU_##name: return expression;
    switch (id) { TW_SFPU_INTEGER(TW_CASE) }
#undef TW_CASE
    return x;
}
inline bool is_rounding(int id) { return id == TW_SFPU_floor || id == TW_SFPU_ceil || id == TW_SFPU_trunc; }
inline void require_kind(const Slot& slot, uint32_t d, bool integer, const char* call) {
    if (slot.integer != integer) {
        report("missing-init", format("%s reads DST slot %u, which holds %s; typecast_tile is required", call, d,
                                      slot.integer ? "integers" : "floats"));
    }
}
inline const char* sfpu_name(int id) {
#define TW_CASE(name, expression) case TW_SFPU_##name: return #name "_tile";
    switch (id) {
        TW_SFPU_UNARY(TW_CASE)
        TW_SFPU_SCALAR(TW_CASE)
        TW_SFPU_BINARY(TW_CASE)
        TW_SFPU_INTEGER(TW_CASE)
    }
#undef TW_CASE
    return "vector operation";
}

}  // namespace tw

extern "C" {

void tw_dst(int op) {
    using namespace tw;
    Compute& compute = compute_of("tile_regs");
    struct Step {
        Section from, to;
        const char* call;
    };
    static const Step steps[] = {{Section::Idle, Section::Math, "tile_regs_acquire"},
                                 {Section::Math, Section::Committed, "tile_regs_commit"},
                                 {Section::Committed, Section::Pack, "tile_regs_wait"},
                                 {Section::Pack, Section::Idle, "tile_regs_release"},
                                 {Section::Idle, Section::Both, "acquire_dst"},
                                 {Section::Both, Section::Idle, "release_dst"}};
    const Step& step = steps[op];
    if (compute.section != step.from) {
        static const char* names[] = {"outside any section", "after tile_regs_acquire", "after tile_regs_commit",
                                      "after tile_regs_wait", "after acquire_dst"};
        report("dst-section", format("%s %s", step.call, names[int(compute.section)]));
    }
    compute.section = step.to;
    if (step.to == Section::Idle || step.from == Section::Idle) {
        for (Slot& slot : compute.slots) {
            if (slot.unused) {
                report("unused-dst", format("%s: DST slot %d is released with a result that was not packed", step.call,
                                            int(&slot - compute.slots)));
            }
            slot.undefined = true;
            slot.integer = slot.unused = false;
        }
    }
    maybe_yield();
}

void tw_hw_startup(uint32_t srca, uint32_t srcb, uint32_t out) {
    using namespace tw;
    Compute& compute = compute_of("compute_kernel_hw_startup");
    compute.started = true;
    compute.srca = cb_of(*machine.running, srca, "compute_kernel_hw_startup").format;
    compute.srcb = cb_of(*machine.running, srcb, "compute_kernel_hw_startup").format;
    compute.out = cb_of(*machine.running, out, "compute_kernel_hw_startup").format;
}

void tw_reconfigure(uint32_t cb, int operand) {
    using namespace tw;
    Compute& compute = compute_of("reconfig_data_format");
    int& configured = operand == 0 ? compute.srca : operand == 1 ? compute.srcb : compute.out;
    configured = cb_of(*machine.running, cb, "reconfig_data_format").format;
}

void tw_fpu_init(int kind, int arithmetic, int broadcast, int flag, uint32_t cb0, uint32_t cb1) {
    using namespace tw;
    Compute& compute = compute_of("init");
    cb_of(*machine.running, cb0, "init");
    cb_of(*machine.running, cb1, "init");
    if (!compute.started) {
        report("missing-init", "an init before compute_kernel_hw_startup");
        compute.started = true;
    }
    compute.fpu = kind;
    compute.arithmetic = arithmetic;
    compute.broadcast = broadcast;
    compute.flag = flag;
}

void tw_matmul(uint32_t cb0, uint32_t cb1, uint32_t i0, uint32_t i1, uint32_t d) {
    using namespace tw;
    Compute& compute = compute_of("matmul_tiles");
    require_math(compute, "matmul_tiles");
    require_fpu(compute, TW_FPU_MATMUL, 0, 0, "matmul_tiles");
    require_format(compute, compute.srcb, cb0, "source B", "matmul_tiles");
    require_format(compute, compute.srca, cb1, "source A", "matmul_tiles");
    multiply(compute, cb0, cb1, i0, i1, d, compute.flag, "matmul_tiles");
}

void tw_matmul_block(uint32_t cb0, uint32_t cb1, uint32_t i0, uint32_t i1, uint32_t d, uint32_t transpose, uint32_t ct,
                     uint32_t rt, uint32_t kt) {
    using namespace tw;
    Compute& compute = compute_of("matmul_block");
    require_math(compute, "matmul_block");
    require_fpu(compute, TW_FPU_MATMUL_BLOCK, 0, 0, "matmul_block");
    require_format(compute, compute.srcb, cb0, "source B", "matmul_block");
    require_format(compute, compute.srca, cb1, "source A", "matmul_block");
    if (compute.fpu == TW_FPU_MATMUL_BLOCK &&
        (compute.arithmetic != int(ct) || compute.broadcast != int(rt) || compute.flag != int(transpose))) {
        report("missing-init", format("matmul_block(ct %u, rt %u, transpose %u) after matmul_block_init(ct %d, rt %d, "
                                      "transpose %d)", ct, rt, transpose, compute.arithmetic, compute.broadcast,
                                      compute.flag));
    }
    for (uint32_t r = 0; r < rt; ++r) {
        for (uint32_t c = 0; c < ct; ++c) {
            multiply(compute, cb0, cb1, i0 + r * kt, i1 + c, d + r * ct + c, transpose, "matmul_block");
        }
    }
}

void tw_binary(int arithmetic, int broadcast, uint32_t cb0, uint32_t cb1, uint32_t i0, uint32_t i1, uint32_t d,
               uint32_t row) {
    using namespace tw;
    const char* call = arithmetic_name(arithmetic);
    Compute& compute = compute_of(call);
    require_math(compute, call);
    require_fpu(compute, TW_FPU_BINARY, arithmetic, broadcast, call);
    require_format(compute, compute.srca, cb0, "source A", call);
    require_format(compute, compute.srcb, cb1, "source B", call);
    Slot& slot = slot_of(compute, d, call);
    float a[1024], b[1024];
    bool integer = unpack(cb0, i0, call, a);
    integer |= unpack(cb1, i1, call, b);
    if (integer) {
        fatal("missing-init", format("%s: integer formats are not modelled for the FPU", call));
    }
    bool accumulate = arithmetic == TW_MUL || compute.flag;
    begin_accumulation(slot, 0.0f);
    for (int r = 0; r < 32; ++r) {
        for (int c = 0; c < 32; ++c) {
            float y = broadcast == TW_BCAST_ROW   ? b[row * 32 + c]
                      : broadcast == TW_BCAST_COL ? b[r * 32]
                      : broadcast == TW_BCAST_SCALAR ? b[0]
                                                     : b[r * 32 + c];
            float x = a[r * 32 + c];
            float value = arithmetic == TW_ADD ? x + y : arithmetic == TW_SUB ? x - y : x * y;
            float& out = slot.value[r * 32 + c];
            out = accumulate ? out + value : value;
        }
    }
    slot.integer = false;
    define(compute, slot, false);
}

void tw_copy_tile(int transposed, uint32_t cb, uint32_t i, uint32_t d) {
    using namespace tw;
    const char* call = transposed ? "transpose_tile" : "copy_tile";
    Compute& compute = compute_of(call);
    require_math(compute, call);
    require_fpu(compute, transposed ? TW_FPU_TRANSPOSE : TW_FPU_COPY, 0, 0, call);
    require_format(compute, compute.srca, cb, "source A", call);
    Slot& slot = slot_of(compute, d, call);
    slot.integer = unpack(cb, i, call, slot.value);
    if (transposed) {
        transpose(slot.value);
    }
    define(compute, slot, false);
}

void tw_reduce_init(int pool, int dim, uint32_t cb, uint32_t scaler, uint32_t out) {
    using namespace tw;
    Compute& compute = compute_of("reduce_init");
    cb_of(*machine.running, out, "reduce_init");
    tw_fpu_init(TW_FPU_REDUCE, pool, dim, 0, cb, scaler);
    compute.mask = dim;
}

void tw_reduce_uninit() { tw::compute_of("reduce_uninit").mask = -1; }

void tw_reduce(int pool, int dim, uint32_t cb, uint32_t scaler, uint32_t i, uint32_t is, uint32_t d) {
    using namespace tw;
    Compute& compute = compute_of("reduce_tile");
    require_math(compute, "reduce_tile");
    require_fpu(compute, TW_FPU_REDUCE, pool, dim, "reduce_tile");
    bool swapped = dim == TW_REDUCE_ROW && pool != TW_POOL_MAX;
    require_format(compute, swapped ? compute.srcb : compute.srca, cb, swapped ? "source B" : "source A", "reduce_tile");
    require_format(compute, swapped ? compute.srca : compute.srcb, scaler, swapped ? "source A" : "source B",
                   "reduce_tile");
    Slot& slot = slot_of(compute, d, "reduce_tile");
    float data[1024], scale[1024];
    unpack(cb, i, "reduce_tile", data);
    unpack(scaler, is, "reduce_tile", scale);
    float s = scale[0];
    for (int c = 0; c < 32; ++c) {
        if (scale[c] != s || scale[16 * 32 + c] != s) {
            report("poisoned-read", "reduce_tile: the scaler tile differs within the first rows of its faces");
            break;
        }
    }
    bool maximum = pool == TW_POOL_MAX;
    begin_accumulation(slot, maximum ? -INFINITY : 0.0f);
    double total = maximum ? -INFINITY : 0.0;
    for (int a = 0; a < 32; ++a) {
        double line = maximum ? -INFINITY : 0.0;
        for (int b = 0; b < 32; ++b) {
            float x = dim == TW_REDUCE_COL ? data[b * 32 + a] : data[a * 32 + b];
            line = maximum ? std::fmax(line, x) : line + x;
        }
        if (dim == TW_REDUCE_SCALAR) {
            total = maximum ? std::fmax(total, line) : total + line;
            continue;
        }
        float& out = slot.value[dim == TW_REDUCE_ROW ? a * 32 : a];
        out = maximum ? std::fmax(out, float(line * s)) : float(out + line * s);
    }
    if (dim == TW_REDUCE_SCALAR) {
        float& out = slot.value[0];
        out = maximum ? std::fmax(out, float(total * s * s)) : float(out + total * s * s);
    }
    for (int r = 0; r < 32; ++r) {
        for (int c = 0; c < 32; ++c) {
            bool kept = dim == TW_REDUCE_ROW ? c == 0 : dim == TW_REDUCE_COL ? r == 0 : r + c == 0;
            if (!kept) {
                slot.value[r * 32 + c] = maximum && dim == TW_REDUCE_ROW ? NAN : 0.0f;
            }
        }
    }
    define(compute, slot, false, true);
}

void tw_pack_l1_acc(uint32_t enable) { tw::compute_of("pack_reconfig_l1_acc").accumulate_l1 = enable != 0; }

void tw_pack(uint32_t d, uint32_t cb_index, uint32_t index, int out_of_order) {
    using namespace tw;
    Compute& compute = compute_of("pack_tile");
    Fiber& fiber = *machine.running;
    CircularBufferState& cb = cb_of(fiber, cb_index, "pack_tile");
    CbView& view = view_of(fiber, cb_index);
    if (compute.section != Section::Pack && compute.section != Section::Both) {
        report("dst-section", "pack_tile outside tile_regs_wait .. tile_regs_release");
    }
    require_format(compute, compute.out, cb_index, "the packer", "pack_tile");
    Slot& slot = slot_of(compute, d, "pack_tile");
    if (slot.undefined) {
        report("undefined-dst", format("pack_tile: DST slot %u, which no operation has written since tile_regs_acquire",
                                       d));
    }
    if (compute.mask >= 0 && !slot.reduced && !slot.undefined) {
        report("missing-init", format("pack_tile: DST slot %u is no result of reduce_tile and would be masked like one; "
                                      "reduce_uninit is required", d));
    }
    uint32_t page = out_of_order ? index : view.packed++;
    if (page >= view.reserved && !cb.on_buffer) {
        report("push-without-reserve", format("pack_tile: page %u of c_%u, %u pages reserved", page, cb_index,
                                              view.reserved));
    }
    uint32_t address = view.wr + page * cb.page;
    if (address + cb.page > end_of(cb)) {
        report("straddling-wrap", format("pack_tile: page %u of c_%u is past the end of the buffer", page, cb_index));
        address = cb.base + (address - cb.base) % (cb.pages * cb.page);
    }
    if (view.written.size() <= page) {
        view.written.resize(page + 1);
    }
    view.written[page] = true;
    slot.unused = false;
    float values[1024];
    for (int i = 0; i < 1024; ++i) {
        int r = i / 32, c = i % 32;
        bool kept = compute.mask < 0 || (compute.mask == TW_REDUCE_ROW ? c == 0
                                         : compute.mask == TW_REDUCE_COL ? r == 0 : i == 0);
        values[i] = slot.undefined || !kept ? 0.0f : slot.value[i];
    }
    if (slot.integer != is_integer(cb.format) && !slot.undefined) {
        report("missing-init", format("pack_tile: DST slot %u holds %s, c_%u has data format %d; typecast_tile is "
                                      "required", d, slot.integer ? "integers" : "floats", cb_index, cb.format));
    }
    uint8_t* tile = fiber.core->l1 + address;
    if (compute.accumulate_l1) {
        float before[1024];
        load_tile(tile, cb.format, before);
        for (int i = 0; i < 1024; ++i) {
            values[i] += before[i];
        }
    }
    store_tile(tile, cb.format, values);
}

void tw_sfpu_init(int id) { tw::compute_of("init").sfpu = id; }

void tw_sfpu_unary(int id, uint32_t d) {
    using namespace tw;
    const char* call = sfpu_name(id);
    Compute& compute = compute_of(call);
    require_math(compute, call);
    require_init(compute, is_rounding(id) ? int(TW_SFPU_rounding_op) : id, call);
    Slot& slot = vector_operand(compute, d, call);
    for (float& value : slot.value) {
        value = apply_unary(id, value);
    }
    define(compute, slot, true);
}

void tw_sfpu_scalar(int id, uint32_t d, uint32_t bits) {
    using namespace tw;
    const char* call = sfpu_name(id);
    Compute& compute = compute_of(call);
    require_math(compute, call);
    bool common = id >= TW_SFPU_add_unary && id <= TW_SFPU_rsub_unary;
    require_init(compute, common ? int(TW_SFPU_binop_with_scalar) : id, call);
    Slot& slot = vector_operand(compute, d, call);
    for (float& value : slot.value) {
        value = apply_scalar(id, value, from_bits(bits));
    }
    define(compute, slot, true);
}

void tw_sfpu_binary(int id, uint32_t d0, uint32_t d1, uint32_t out) {
    using namespace tw;
    const char* call = sfpu_name(id);
    Compute& compute = compute_of(call);
    require_math(compute, call);
    require_init(compute, id, call);
    Slot& a = vector_operand(compute, d0, call);
    Slot& b = vector_operand(compute, d1, call);
    require_kind(a, d0, false, call);
    require_kind(b, d1, false, call);
    Slot& slot = slot_of(compute, out, call);
    for (int i = 0; i < 1024; ++i) {
        slot.value[i] = apply_binary(id, a.value[i], b.value[i]);
    }
    slot.integer = false;
    define(compute, slot, true);
}

void tw_sfpu_integer(int id, uint32_t d0, uint32_t d1, uint32_t out) {
    using namespace tw;
    const char* call = sfpu_name(id);
    Compute& compute = compute_of(call);
    require_math(compute, call);
    require_init(compute, id, call);
    Slot& a = vector_operand(compute, d0, call);
    Slot& b = vector_operand(compute, d1, call);
    require_kind(a, d0, true, call);
    require_kind(b, d1, true, call);
    Slot& slot = slot_of(compute, out, call);
    for (int i = 0; i < 1024; ++i) {
        int32_t x = int32_t(to_bits(a.value[i])), y = int32_t(to_bits(b.value[i]));
        slot.value[i] = from_bits(uint32_t(apply_integer(id, x, y)));
    }
    slot.integer = true;
    define(compute, slot, true);
}

void tw_sfpu_fill(uint32_t d, uint32_t bits, int integer) {
    using namespace tw;
    Compute& compute = compute_of("fill_tile");
    require_math(compute, "fill_tile");
    require_init(compute, TW_SFPU_fill, "fill_tile");
    Slot& slot = slot_of(compute, d, "fill_tile");
    std::fill(slot.value, slot.value + 1024, from_bits(bits));
    slot.integer = integer;
    define(compute, slot, true);
}

void tw_sfpu_where(uint32_t condition, uint32_t a, uint32_t b, uint32_t out) {
    using namespace tw;
    Compute& compute = compute_of("where_tile");
    require_math(compute, "where_tile");
    require_init(compute, TW_SFPU_where, "where_tile");
    Slot& c = vector_operand(compute, condition, "where_tile");
    Slot& x = vector_operand(compute, a, "where_tile");
    Slot& y = vector_operand(compute, b, "where_tile");
    Slot& slot = slot_of(compute, out, "where_tile");
    bool integer = x.integer;
    for (int i = 0; i < 1024; ++i) {
        slot.value[i] = c.value[i] != 0.0f ? x.value[i] : y.value[i];
    }
    slot.integer = integer;
    define(compute, slot, true);
}

void tw_sfpu_typecast(uint32_t d, uint32_t from, uint32_t to) {
    using namespace tw;
    Compute& compute = compute_of("typecast_tile");
    require_math(compute, "typecast_tile");
    require_init(compute, TW_SFPU_typecast, "typecast_tile");
    Slot& slot = vector_operand(compute, d, "typecast_tile");
    for (float& value : slot.value) {
        double number = is_integer(from) ? (from == kInt32 ? double(int32_t(to_bits(value))) : double(to_bits(value)))
                                         : double(value);
        if (to == kInt32) {
            value = from_bits(uint32_t(int32_t(number)));
        } else if (is_integer(to)) {
            value = from_bits(uint32_t(std::max(number, 0.0)));
        } else {
            value = to == kBf16 ? round_bf16(float(number)) : to == kFp16 ? float(_Float16(number)) : float(number);
        }
    }
    slot.integer = is_integer(to);
    define(compute, slot, true);
}
}
