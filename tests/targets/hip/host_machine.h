// AMD's machine as far as the builtins of clang show it, on the host.
//
// Every lane is a fiber. A lane runs until it needs others: a barrier of its block, or an operation
// of its wave (exchange, vote, matrix instruction). Lanes of a wave that meet in an operation are
// those that wait in it when no lane of the wave can go on: the others are inactive, as in a branch.
// The order in which lanes run is drawn from a seed.
//
// Before this: WAVE (lanes), GENERATION (9, 11, 12), FNUZ (whether fp8 is of that family).
#include <ucontext.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <sys/mman.h>

#define __device__
#define __global__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define address_space(n)
#define amdgpu_flat_work_group_size(...)
#define amdgpu_waves_per_eu(...)

namespace host {

constexpr int MOST = 1024, STACK = 512 * 1024;
enum State { RUNS, AT_BARRIER, IN_WAVE_OP, DONE };

struct Lane {
  ucontext_t context;
  State state;
  const char* op;           // the operation of the wave that it waits in
  unsigned long long mask;  // lanes that take part
  unsigned long long id;    // of the operation
  alignas(64) unsigned char given[3][128];
};

inline Lane lanes[MOST];
inline char* stacks;
inline ucontext_t scheduler;
inline int me, threads;
inline unsigned block_index[3], grid[3];
inline const char* fault;
inline unsigned long long seed = 1;

inline unsigned long long drawn() {
  seed += 0x9e3779b97f4a7c15ull;
  unsigned long long z = seed;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  return z ^ z >> 29;
}

inline void wait() { swapcontext(&lanes[me].context, &scheduler); }

inline void fail(const char* why) {
  if (!fault) fault = why;
  lanes[me].state = DONE;
  while (true) wait();
}

inline void barrier() {
  lanes[me].state = AT_BARRIER;
  wait();
}

// All active lanes of the wave give their operands; afterwards those of any lane can be read.
template <typename A, typename B = int, typename C = int>
void meet(const char* op, const A& a, const B& b = 0, const C& c = 0) {
  Lane& lane = lanes[me];
  static_assert(sizeof(A) <= 128 && sizeof(B) <= 128 && sizeof(C) <= 128);
  std::memcpy(lane.given[0], &a, sizeof(A));
  std::memcpy(lane.given[1], &b, sizeof(B));
  std::memcpy(lane.given[2], &c, sizeof(C));
  lane.op = op;
  lane.state = IN_WAVE_OP;
  wait();
}

// After `meet` and its reads: no lane overwrites operands that others still have to read.
inline void part() {
  lanes[me].op = "part";
  lanes[me].state = IN_WAVE_OP;
  wait();
}

inline int lane_index() { return me % WAVE; }

template <typename T> T given(int lane, int operand = 0) {
  T value;
  std::memcpy(&value, lanes[me / WAVE * WAVE + lane].given[operand], sizeof(T));
  return value;
}

inline bool is_active(int lane) { return lanes[me].mask >> lane & 1; }

// What another lane gave; nothing comes from an inactive one.
inline unsigned from(int lane) { return is_active(lane) ? given<unsigned>(lane) : 0; }

// Releases the lanes of a wave that wait in the operation of the first of them.
inline bool release(int wave) {
  int first = -1;
  const int start = wave * WAVE, end = start + WAVE < threads ? start + WAVE : threads;
  for (int n = start; n < end; ++n) {
    if (lanes[n].state == RUNS) return false;
    if (lanes[n].state == IN_WAVE_OP && first < 0) first = n;
  }
  if (first < 0) return false;
  static unsigned long long count;
  unsigned long long mask = 0;
  ++count;
  for (int n = start; n < end; ++n)
    if (lanes[n].state == IN_WAVE_OP && lanes[n].op == lanes[first].op) mask |= 1ull << (n - start);
  for (int n = start; n < end; ++n)
    if (mask >> (n - start) & 1) lanes[n].state = RUNS, lanes[n].mask = mask, lanes[n].id = count;
  return true;
}

inline const void* poisoned[64];
inline int poisoned_count;

// LDS has no values when a block starts.
inline void poison(void* start, size_t bytes) {
  for (int n = 0; n < poisoned_count; ++n)
    if (poisoned[n] == start) return;
  if (poisoned_count < 64) poisoned[poisoned_count++] = start;
  std::memset(start, 0xff, bytes);
}

template <typename Body> Body* body;
template <typename Body> void entry() {
  (*body<Body>)();
  lanes[me].state = DONE;
  while (true) wait();
}

template <typename Body> const char* run_block(Body& given_body) {
  body<Body> = &given_body;
  if (!stacks)
    stacks = (char*)mmap(nullptr, size_t(MOST) * STACK, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  poisoned_count = 0;
  for (int n = 0; n < threads; ++n) {
    getcontext(&lanes[n].context);
    lanes[n].context.uc_stack.ss_sp = stacks + size_t(n) * STACK;
    lanes[n].context.uc_stack.ss_size = STACK;
    lanes[n].context.uc_link = nullptr;
    makecontext(&lanes[n].context, (void (*)())&entry<Body>, 0);
    lanes[n].state = RUNS;
  }
  while (!fault) {
    bool went_on = false;
    const int start = int(drawn() % threads);
    for (int n = 0; n < threads; ++n) {
      me = (start + n) % threads;
      if (lanes[me].state != RUNS) continue;
      went_on = true;
      swapcontext(&scheduler, &lanes[me].context);
      if (fault) return fault;
    }
    for (int wave = 0; wave * WAVE < threads; ++wave) went_on |= release(wave);
    if (went_on) continue;
    int waiting = 0;
    for (int n = 0; n < threads; ++n) waiting += lanes[n].state == AT_BARRIER;
    if (waiting == 0) return nullptr;
    if (waiting < threads) return "some threads end before a barrier that others wait at";
    for (int n = 0; n < threads; ++n) lanes[n].state = RUNS;
  }
  return fault;
}

// An instruction written as assembly: a barrier, or something that only waits.
inline void assembly(const char* text) {
  if (std::strstr(text, "s_barrier")) barrier();
}

// -- numbers -----------------------------------------------------------------------------------

inline float half_value(unsigned short bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float sign = bits >> 15 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024.0f + mantissa, exponent - 25)
                          : std::ldexp(float(mantissa), -24));
}

inline float bf16_value(unsigned short bits) {
  const unsigned word = unsigned(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

// fp8 by the definition of its formats: e4m3 and e5m2, OCP and FNUZ.
inline float fp8_value(unsigned char bits, int mantissa_bits, bool fnuz) {
  const int exponent_bits = 7 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1 + (fnuz ? 1 : 0);
  const int magnitude = bits & 127;
  if (fnuz && bits == 0x80) return NAN;
  if (!fnuz && mantissa_bits == 3 && magnitude == 127) return NAN;
  if (!fnuz && mantissa_bits == 2 && magnitude > 0x7c) return NAN;
  const float sign = bits >> 7 ? -1.0f : 1.0f;
  if (!fnuz && mantissa_bits == 2 && magnitude == 0x7c) return sign * INFINITY;
  const int exponent = magnitude >> mantissa_bits, fraction = magnitude & ((1 << mantissa_bits) - 1);
  if (exponent == 0) return sign * std::ldexp(float(fraction), 1 - bias - mantissa_bits);
  return sign * std::ldexp(float(fraction + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
}

// The nearest code, the even one of two: by looking at all of them.
inline unsigned fp8_nearest(float value, int mantissa_bits, bool fnuz) {
  if (value != value) return fnuz ? 0x80 : 0x7f;
  int best = 0;
  float least = INFINITY;
  for (int code = 0; code < 128; ++code) {
    const float distance = std::fabs(std::fabs(value) - fp8_value(code, mantissa_bits, fnuz));
    if (distance < least || (distance == least && code % 2 == 0)) best = code, least = distance;
  }
  return std::signbit(value) && !(fnuz && best == 0) ? best | 0x80 : best;
}

enum Element { F16, BF16, F32, XF32, I8, U8, E4M3, E5M2, E4M3FNUZ, E5M2FNUZ };

constexpr int size_of(Element element) {
  return element == F32 || element == XF32 ? 4 : element == F16 || element == BF16 ? 2 : 1;
}

inline double element(const unsigned char* from, Element kind) {
  unsigned short small;
  float wide;
  std::memcpy(&small, from, 2);
  switch (kind) {
    case F16: return half_value(small);
    case BF16: return bf16_value(small);
    case F32: case XF32: std::memcpy(&wide, from, 4); return wide;
    case I8: return (signed char)*from;
    case U8: return *from;
    case E4M3: return fp8_value(*from, 3, false);
    case E5M2: return fp8_value(*from, 2, false);
    case E4M3FNUZ: return fp8_value(*from, 3, true);
    case E5M2FNUZ: return fp8_value(*from, 2, true);
  }
  return 0;
}

// -- matrix instructions -----------------------------------------------------------------------

// Which lane holds element (row, k) of an operand, and in which of its registers.
inline void operand_at(bool is_wmma, int side, int depth, int row, int k, int& lane, int& index) {
  if (is_wmma && GENERATION == 11) {  // both halves of the wave hold it
    lane = row;
    index = k;
    return;
  }
  const int groups = WAVE / side, width = depth / groups;
  lane = k / width * side + row;
  index = k % width;
}

// Where register `index` of a lane is in the result.
inline void result_at(bool is_wmma, int side, int lane, int index, int& row, int& column) {
  column = lane % side;
  const int group = lane / side;
  if (is_wmma) row = GENERATION == 11 ? 2 * index + group : 8 * group + index;
  else if (side == 32) row = 8 * (index / 4) + 4 * group + index % 4;
  else row = 4 * group + index;
}

// The operands of one operation, read once for all lanes.
template <typename Sum> struct Operands {
  unsigned long long id = 0;
  Sum a[32][128], b[32][128];
};

template <bool is_wmma, int side, int depth, typename A, typename B, typename C>
C matrix(const char* name, A a, B b, C c, Element first, Element second) {
  meet(name, a, b);
  if (lanes[me].mask != ~0ull >> (64 - WAVE)) fail("a matrix instruction without all lanes");
  using Sum = std::conditional_t<std::is_same_v<decltype(c[0] + 0), int>, int, float>;
  static Operands<Sum> operands;
  if (operands.id != lanes[me].id) {
    operands.id = lanes[me].id;
    const Lane* const wave = lanes + me / WAVE * WAVE;
    for (int row = 0; row < side; ++row)
      for (int k = 0; k < depth; ++k) {
        int lane, at;
        operand_at(is_wmma, side, depth, row, k, lane, at);
        operands.a[row][k] = Sum(element(wave[lane].given[0] + at * size_of(first), first));
        operands.b[row][k] = Sum(element(wave[lane].given[1] + at * size_of(second), second));
      }
  }
  Sum values[sizeof(C) / 4];
  std::memcpy(values, &c, sizeof(C));
  for (int index = 0; index < int(sizeof(C) / 4); ++index) {
    int row, column;
    result_at(is_wmma, side, lane_index(), index, row, column);
    for (int k = 0; k < depth; ++k) values[index] += operands.a[row][k] * operands.b[column][k];
  }
  std::memcpy(&c, values, sizeof(C));
  part();
  return c;
}

typedef unsigned Words2 __attribute__((ext_vector_type(2)));
typedef unsigned Words4 __attribute__((ext_vector_type(4)));

}  // namespace host

// -- builtins ----------------------------------------------------------------------------------

inline int __builtin_amdgcn_workitem_id_x() { return host::me; }
inline int __builtin_amdgcn_workitem_id_y() { return 0; }
inline int __builtin_amdgcn_workitem_id_z() { return 0; }
inline int __builtin_amdgcn_workgroup_id_x() { return host::block_index[0]; }
inline int __builtin_amdgcn_workgroup_id_y() { return host::block_index[1]; }
inline int __builtin_amdgcn_workgroup_id_z() { return host::block_index[2]; }
inline unsigned short __builtin_amdgcn_workgroup_size_x() { return host::threads; }
inline unsigned short __builtin_amdgcn_workgroup_size_y() { return 1; }
inline unsigned short __builtin_amdgcn_workgroup_size_z() { return 1; }
inline unsigned __builtin_amdgcn_grid_size_x() { return host::grid[0] * host::threads; }
inline unsigned __builtin_amdgcn_grid_size_y() { return host::grid[1]; }
inline unsigned __builtin_amdgcn_grid_size_z() { return host::grid[2]; }
inline unsigned __builtin_amdgcn_mbcnt_lo(unsigned mask, unsigned sum) {
  const int lane = host::lane_index();
  return sum + __builtin_popcount(lane < 32 ? mask & ((1u << lane) - 1) : mask);
}
inline unsigned __builtin_amdgcn_mbcnt_hi(unsigned mask, unsigned sum) {
  const int lane = host::lane_index();
  return lane < 32 ? sum : sum + __builtin_popcount(mask & ((1u << (lane - 32)) - 1));
}

#define __builtin_amdgcn_fence(...)
inline void __builtin_amdgcn_s_barrier() { host::barrier(); }
inline void __builtin_amdgcn_s_barrier_signal(int) {}
inline void __builtin_amdgcn_s_barrier_wait(int) { host::barrier(); }
inline void __builtin_amdgcn_wave_barrier() { host::part(); }
inline void __builtin_amdgcn_s_waitcnt(int) {}
inline void __builtin_amdgcn_s_setprio(int) {}
inline void __builtin_amdgcn_sched_group_barrier(int, int, int) {}
inline void __builtin_amdgcn_sched_barrier(int) {}
inline void __builtin_amdgcn_iglp_opt(int) {}
#define __builtin_trap() host::fail("trap")

inline int __builtin_amdgcn_ds_bpermute(int address, int word) {
  host::meet("ds_bpermute", word);
  const int found = host::from(address / 4 % WAVE);
  host::part();
  return found;
}
inline int __builtin_amdgcn_ds_swizzle(int word, int pattern) {
  host::meet("ds_swizzle", word);
  const int lane = host::lane_index(), inner = lane % 32;
  const int other = ((inner & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
  const int found = host::from(lane / 32 * 32 + other);
  host::part();
  return found;
}
inline int __builtin_amdgcn_update_dpp(int old, int word, int control, int rows, int banks, bool) {
  host::meet("update_dpp", word);
  if (rows != 15 || banks != 15) host::fail("masks of DPP moves");
  const int lane = host::lane_index(), row = lane / 16 * 16;
  int other;
  if (control < 0x100) other = lane / 4 * 4 + (control >> 2 * (lane % 4) & 3);
  else if (control == 0x140) other = row + 15 - lane % 16;
  else if (control == 0x141) other = lane / 8 * 8 + 7 - lane % 8;
  else if (control >= 0x160 && control < 0x170 && GENERATION > 9) other = lane ^ (control - 0x160);
  else host::fail("a DPP control that the chip does not have");
  const int found = host::from(other);
  host::part();
  return found;
}
inline unsigned __builtin_amdgcn_permlanex16(unsigned old, unsigned word, unsigned low,
                                             unsigned high, bool, bool) {
  host::meet("permlanex16", word);
  if (GENERATION < 10) host::fail("permlanex16");
  const int lane = host::lane_index(), inner = lane % 16;
  const unsigned select = (inner < 8 ? low >> 4 * inner : high >> 4 * (inner - 8)) & 15;
  const unsigned found = host::from((lane / 16 * 16 ^ 16) + select);
  host::part();
  return found;
}
inline unsigned __builtin_amdgcn_perm(unsigned high, unsigned low, unsigned select) {
  const unsigned long long bytes = (unsigned long long)high << 32 | low;
  unsigned found = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned from = select >> 8 * i & 255;
    if (from > 7) host::fail("a selector of v_perm_b32 that is not a byte");
    found |= unsigned(bytes >> 8 * from & 255) << 8 * i;
  }
  return found;
}
inline int __builtin_amdgcn_readfirstlane(int word) {
  host::meet("readfirstlane", word);
  const int found = host::given<int>(__builtin_ctzll(host::lanes[host::me].mask));
  host::part();
  return found;
}
inline int __builtin_amdgcn_readlane(int word, int lane) {
  host::meet("readlane", word);
  const int found = host::given<int>(lane);
  host::part();
  return found;
}
inline unsigned long long __builtin_amdgcn_ballot_w64(bool vote) {
  host::meet("ballot", vote);
  unsigned long long found = 0;
  for (int lane = 0; lane < WAVE; ++lane)
    if (host::is_active(lane) && host::given<bool>(lane)) found |= 1ull << lane;
  host::part();
  return found;
}
inline unsigned __builtin_amdgcn_ballot_w32(bool vote) {
  return unsigned(__builtin_amdgcn_ballot_w64(vote));
}

inline float __builtin_amdgcn_rsqf(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(INFINITY, x)
                                            : float(1.0 / std::sqrt(double(x)));
}
inline float __builtin_amdgcn_fmed3f(float a, float b, float c) {
  return std::fmax(std::fmin(a, b), std::fmin(std::fmax(a, b), c));
}
inline int __builtin_amdgcn_cvt_pk_fp8_f32(float a, float b, int old, bool high) {
  const unsigned both = host::fp8_nearest(a, 3, FNUZ) | host::fp8_nearest(b, 3, FNUZ) << 8;
  return high ? (old & 0xffff) | both << 16 : (old & 0xffff0000) | both;
}
inline int __builtin_amdgcn_cvt_pk_bf8_f32(float a, float b, int old, bool high) {
  const unsigned both = host::fp8_nearest(a, 2, FNUZ) | host::fp8_nearest(b, 2, FNUZ) << 8;
  return high ? (old & 0xffff) | both << 16 : (old & 0xffff0000) | both;
}
inline float __builtin_amdgcn_cvt_f32_fp8(int word, int byte) {
  return host::fp8_value((unsigned)word >> 8 * byte, 3, FNUZ);
}
inline float __builtin_amdgcn_cvt_f32_bf8(int word, int byte) {
  return host::fp8_value((unsigned)word >> 8 * byte, 2, FNUZ);
}

// One lane runs at a time, so that every update is atomic.
#define __HIP_MEMORY_SCOPE_AGENT 0
#define __HIP_MEMORY_SCOPE_SYSTEM 0
namespace host {
template <typename T> T atomic_load(const T* at, int, int) { return *at; }
template <typename T> void atomic_store(T* at, T value, int, int) { *at = value; }
template <typename T> bool atomic_swap(T* at, T* expected, T value, int, int, int) {
  const T old = *at;
  const bool is_same = old == *expected;
  if (is_same) *at = value;
  *expected = old;
  return is_same;
}
#define UPDATE(name, made)                                        \
  template <typename T> T atomic_##name(T* at, T value, int, int) { \
    const T old = *at;                                            \
    *at = made;                                                   \
    return old;                                                   \
  }
UPDATE(add, T(old + value))
UPDATE(max, old < value ? value : old)
UPDATE(min, value < old ? value : old)
UPDATE(and, T(old & value))
UPDATE(or, T(old | value))
UPDATE(xor, T(old ^ value))
UPDATE(exchange, value)
#undef UPDATE
}  // namespace host
#define __hip_atomic_load host::atomic_load
#define __hip_atomic_store host::atomic_store
#define __hip_atomic_compare_exchange_strong host::atomic_swap
#define __hip_atomic_exchange host::atomic_exchange
#define __hip_atomic_fetch_add host::atomic_add
#define __hip_atomic_fetch_max host::atomic_max
#define __hip_atomic_fetch_min host::atomic_min
#define __hip_atomic_fetch_and host::atomic_and
#define __hip_atomic_fetch_or host::atomic_or
#define __hip_atomic_fetch_xor host::atomic_xor
template <typename Pair> Pair __builtin_amdgcn_global_atomic_fadd_v2f16(Pair* at, Pair value) {
  const Pair old = *at;
  *at = old + value;
  return old;
}
template <typename Pair> Pair __builtin_amdgcn_global_atomic_fadd_v2bf16(Pair* at, Pair value) {
  const Pair old = *at;
  for (int n = 0; n < 2; ++n)
    (*at)[n] = __builtin_bit_cast(short, __bf16(host::bf16_value(old[n]) + host::bf16_value(value[n])));
  return old;
}

struct __amdgpu_buffer_rsrc_t {
  char* base;
  unsigned bytes;
};
inline __amdgpu_buffer_rsrc_t __builtin_amdgcn_make_buffer_rsrc(void* base, short stride, int bytes,
                                                                int flags) {
  if (stride != 0 || flags != (GENERATION == 9 ? 0x27000 : 0x31027000)) host::fail("descriptor");
  return {(char*)base, (unsigned)bytes};
}
#define ACCESS(bits, Type)                                                                      \
  inline Type __builtin_amdgcn_raw_buffer_load_b##bits(__amdgpu_buffer_rsrc_t buffer, int offset, \
                                                       int scalar, int) {                       \
    Type value = {};                                                                            \
    if ((unsigned long long)(unsigned)offset + sizeof(Type) <= buffer.bytes)                    \
      std::memcpy(&value, buffer.base + (unsigned)offset, sizeof(Type));                        \
    return value;                                                                               \
  }                                                                                             \
  inline void __builtin_amdgcn_raw_buffer_store_b##bits(                                        \
      Type value, __amdgpu_buffer_rsrc_t buffer, int offset, int scalar, int) {                 \
    if ((unsigned long long)(unsigned)offset + sizeof(Type) <= buffer.bytes)                    \
      std::memcpy(buffer.base + (unsigned)offset, &value, sizeof(Type));                        \
  }
ACCESS(8, unsigned char)
ACCESS(16, unsigned short)
ACCESS(32, unsigned)
ACCESS(64, host::Words2)
ACCESS(128, host::Words4)
#undef ACCESS

namespace host {
// Lane n writes at the uniform address + n * bytes.
inline void load_lds(__amdgpu_buffer_rsrc_t buffer, void* to, unsigned bytes, int offset) {
  meet("load_lds", to);
  for (int lane = 0; lane < WAVE; ++lane)
    if (is_active(lane) && given<void*>(lane) != to) fail("the LDS address of a copy differs");
  part();
  char* const target = (char*)to + lane_index() * bytes;
  std::memset(target, 0, bytes);
  if ((unsigned long long)(unsigned)offset + bytes <= buffer.bytes)
    std::memcpy(target, buffer.base + (unsigned)offset, bytes);
}
}  // namespace host

// The host's run-time library may lack these.
extern "C" __attribute__((weak)) __bf16 __truncsfbf2(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, 4);
  if (value != value) bits = (bits >> 16 | 0x40) << 16;
  else bits += 0x7fff + (bits >> 16 & 1);
  const unsigned short upper = bits >> 16;
  return __builtin_bit_cast(__bf16, upper);
}
extern "C" __attribute__((weak)) __bf16 __truncdfbf2(double value) {
  // To odd first, so that the second rounding sees what the first one dropped.
  float narrow = float(value);
  if (double(narrow) != value && value == value) {
    unsigned bits;
    std::memcpy(&bits, &narrow, 4);
    if (std::fabs(double(narrow)) > std::fabs(value)) --bits;
    bits |= 1;
    std::memcpy(&narrow, &bits, 4);
  }
  return __truncsfbf2(narrow);
}
