"""The device functions, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """One device function."""

    text: str
    needs: tuple[str, ...] = ()
    """Functions that it calls."""
    headers: tuple[str, ...] = ()


_TYPES: Mapping[str, Function] = {
    "Barrier": Function("using Barrier = unsigned long long;"),
    "shared_address": Function(
        """
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}"""
    ),
    "tensor_map": Function("struct alignas(64) TensorMap { unsigned long long words[16]; };"),
}

_NUMBERS: Mapping[str, Function] = {
    "bits_as": Function(
        """
template <typename To, typename From>
__device__ __forceinline__ To bits_as(const From& value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits, read as another type");
  union Bits {
    From from;
    To to;
    __device__ Bits() {}
  } bits;
  bits.from = value;
  return bits.to;
}"""
    ),
    "floor_divide": Function(
        """
template <typename Int>
__device__ __forceinline__ Int floor_divide(Int a, Int b) {
  const Int quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}"""
    ),
    "ceil_divide": Function(
        """
template <typename Int>
__device__ __forceinline__ Int ceil_divide(Int a, Int b) {
  const Int quotient = a / b;
  return (a % b != 0 && (a < 0) == (b < 0)) ? quotient + 1 : quotient;
}"""
    ),
    "integer_power": Function(
        """
template <typename Int>
__device__ __forceinline__ Int integer_power(Int base, Int exponent) {
  Int result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}"""
    ),
    "max_or_nan": Function(
        """
template <typename T>
__device__ __forceinline__ T max_or_nan(T a, T b) {
  return (a > b || a != a) ? a : b;
}"""
    ),
    "min_or_nan": Function(
        """
template <typename T>
__device__ __forceinline__ T min_or_nan(T a, T b) {
  return (a < b || a != a) ? a : b;
}"""
    ),
    "is_nan": Function(
        """
template <typename T>
__device__ __forceinline__ bool is_nan(T value) {
  return value != value;
}"""
    ),
    "is_inf": Function(
        """
template <typename T>
__device__ __forceinline__ bool is_inf(T value) {
  const double wide = static_cast<double>(value);
  return wide == wide && wide - wide != 0.0;
}"""
    ),
    "is_finite": Function(
        """
template <typename T>
__device__ __forceinline__ bool is_finite(T value) {
  const double wide = static_cast<double>(value);
  return wide - wide == 0.0;
}"""
    ),
}


def _pair(name: str, source: str, target: str, expression: str, header: str) -> Function:
    return Function(
        f"""
__device__ __forceinline__ void {name}({target}* to, const {source}* from) {{
  {expression}
}}""",
        headers=(header,),
    )


_CONVERSIONS: Mapping[str, Function] = {
    "convert_to_half2": _pair(
        "convert_to_half2",
        "float",
        "__half",
        "*reinterpret_cast<__half2*>(to) = __floats2half2_rn(from[0], from[1]);",
        "cuda_fp16.h",
    ),
    "convert_half2": _pair(
        "convert_half2",
        "__half",
        "float",
        "const float2 both = __half22float2(*reinterpret_cast<const __half2*>(from));\n"
        "  to[0] = both.x;\n  to[1] = both.y;",
        "cuda_fp16.h",
    ),
    "convert_to_bfloat162": _pair(
        "convert_to_bfloat162",
        "float",
        "__nv_bfloat16",
        "*reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(from[0], from[1]);",
        "cuda_bf16.h",
    ),
    "convert_bfloat162": _pair(
        "convert_bfloat162",
        "__nv_bfloat16",
        "float",
        "const float2 both = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(from));\n"
        "  to[0] = both.x;\n  to[1] = both.y;",
        "cuda_bf16.h",
    ),
    "convert_to_e4m3x2": _pair(
        "convert_to_e4m3x2",
        "float",
        "__nv_fp8_e4m3",
        "*reinterpret_cast<__nv_fp8x2_storage_t*>(to) = __nv_cvt_float2_to_fp8x2(\n"
        "      make_float2(from[0], from[1]), __NV_SATFINITE, __NV_E4M3);",
        "cuda_fp8.h",
    ),
    "convert_to_e5m2x2": _pair(
        "convert_to_e5m2x2",
        "float",
        "__nv_fp8_e5m2",
        "*reinterpret_cast<__nv_fp8x2_storage_t*>(to) = __nv_cvt_float2_to_fp8x2(\n"
        "      make_float2(from[0], from[1]), __NV_SATFINITE, __NV_E5M2);",
        "cuda_fp8.h",
    ),
}


def _asm(signature: str, text: str, operands: str = "", clobbers: str = '"memory"') -> Function:
    """A device function that is one instruction."""
    inputs = f" :: {operands}" if operands else " ::"
    return Function(
        f"""
__device__ __forceinline__ void {signature} {{
  asm volatile("{text}"{inputs} : {clobbers});
}}""",
        needs=("shared_address",) if "shared_address" in operands else (),
    )


_BARRIERS: Mapping[str, Function] = {
    "barrier_init": Function(
        """
__device__ __forceinline__ void barrier_init(Barrier* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "barrier_arrive": Function(
        """
__device__ __forceinline__ void barrier_arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
               :: "r"(shared_address(barrier)) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "barrier_arrive_remote": Function(
        """
__device__ __forceinline__ void barrier_arrive_remote(Barrier* barrier, unsigned block) {
  asm volatile(
      "{\\n"
      ".reg .b32 there;\\n"
      "mapa.shared::cluster.u32 there, %0, %1;\\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\\n"
      "}"
      :: "r"(shared_address(barrier)), "r"(block) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "barrier_expect": Function(
        """
__device__ __forceinline__ void barrier_expect(Barrier* barrier, unsigned bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
               :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "barrier_arrive_expect": Function(
        """
__device__ __forceinline__ void barrier_arrive_expect(Barrier* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "barrier_wait": Function(
        """
// Returns once the phase of this parity is over.
__device__ __forceinline__ void barrier_wait(Barrier* barrier, unsigned parity) {
  asm volatile(
      "{\\n"
      ".reg .pred done;\\n"
      "again:\\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\\n"
      "@!done bra again;\\n"
      "}"
      :: "r"(shared_address(barrier)), "r"(parity) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "fence_barrier_init": _asm("fence_barrier_init()", "fence.mbarrier_init.release.cluster;"),
    "fence_async": _asm("fence_async()", "fence.proxy.async.shared::cta;"),
    "named_barrier_sync": _asm(
        "named_barrier_sync(int id, int threads)",
        "bar.sync %0, %1;",
        '"r"(id), "r"(threads)',
    ),
    "named_barrier_arrive": _asm(
        "named_barrier_arrive(int id, int threads)",
        "bar.arrive %0, %1;",
        '"r"(id), "r"(threads)',
    ),
    "cluster_arrive": _asm("cluster_arrive()", "barrier.cluster.arrive.release.aligned;"),
    "cluster_wait": _asm("cluster_wait()", "barrier.cluster.wait.acquire.aligned;"),
    "cluster_rank": Function(
        """
__device__ __forceinline__ int cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}"""
    ),
    "elect": Function(
        """
// True in one lane of a warp that is here as a whole.
__device__ __forceinline__ bool elect() {
  unsigned chosen;
  asm volatile(
      "{\\n"
      ".reg .pred mine;\\n"
      "elect.sync _|mine, 0xffffffff;\\n"
      "selp.b32 %0, 1, 0, mine;\\n"
      "}"
      : "=r"(chosen));
  return chosen != 0;
}"""
    ),
    "registers_more": Function(
        """
template <int count>
__device__ __forceinline__ void registers_more() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(count));
}"""
    ),
    "registers_fewer": Function(
        """
template <int count>
__device__ __forceinline__ void registers_fewer() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(count));
}"""
    ),
}

_COPIES: Mapping[str, Function] = {
    "cp_async": Function(
        """
// Starts the copy of a few bytes to shared memory. 16 at once need not pass the L1 cache.
template <int bytes>
__device__ __forceinline__ void cp_async(void* to, const void* from) {
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"(shared_address(to)), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :: "r"(shared_address(to)), "l"(from), "n"(bytes) : "memory");
}

// As above, with zeros from byte `valid` on.
template <int bytes>
__device__ __forceinline__ void cp_async(void* to, const void* from, int valid) {
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(to)), "l"(from), "r"(valid) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :: "r"(shared_address(to)), "l"(from), "n"(bytes), "r"(valid) : "memory");
}""",
        ("shared_address",),
    ),
    "cp_async_commit": _asm("cp_async_commit()", "cp.async.commit_group;"),
    "cp_async_wait": Function(
        """
template <int pending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
}"""
    ),
    "bulk_commit": _asm("bulk_commit()", "cp.async.bulk.commit_group;"),
    "bulk_wait": Function(
        """
template <int pending>
__device__ __forceinline__ void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" :: "n"(pending) : "memory");
}"""
    ),
    "bulk_wait_read": Function(
        """
// Until the stores have read shared memory, which may then be written again.
template <int pending>
__device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(pending) : "memory");
}"""
    ),
    "bulk_load": Function(
        """
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned bytes,
                                          Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "bulk_store": Function(
        """
__device__ __forceinline__ void bulk_store(void* to, const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :: "l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
}""",
        ("shared_address",),
    ),
    "prefetch_map": Function(
        """
__device__ __forceinline__ void prefetch_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}""",
        ("tensor_map",),
    ),
}


def _by_rank(make: str) -> str:
    """One overload for each number of coordinates."""
    texts: list[str] = []
    for rank in range(1, 6):
        names = [f"c{axis}" for axis in range(rank)]
        texts.append(
            make.replace("@rank", str(rank))
            .replace("@parameters", ", ".join(f"int {name}" for name in names))
            .replace("@operands", ", ".join(f'"r"({name})' for name in names))
            .replace("@first", ", ".join(f"%{axis + 2}" for axis in range(rank)))
            .replace("@third", ", ".join(f"%{axis + 3}" for axis in range(rank)))
            .replace("@fourth", ", ".join(f"%{axis + 4}" for axis in range(rank)))
        )
    return "\n\n".join(texts)


_TILES: Mapping[str, Function] = {
    "tma_load": Function(
        _by_rank(
            """__device__ __forceinline__ void tma_load(void* to, const TensorMap* map,
                                         Barrier* barrier, @parameters) {
  asm volatile(
      "cp.async.bulk.tensor.@rankd.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {@third}], [%2];"
      :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier)), @operands : "memory");
}"""
        ),
        ("Barrier", "shared_address", "tensor_map"),
    ),
    "tma_load_multicast": Function(
        _by_rank(
            """__device__ __forceinline__ void tma_load_multicast(void* to, const TensorMap* map,
                                                   Barrier* barrier, unsigned short blocks,
                                                   @parameters) {
  asm volatile(
      "cp.async.bulk.tensor.@rankd.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {@fourth}], [%2], %3;"
      :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier)), "h"(blocks), @operands
      : "memory");
}"""
        ),
        ("Barrier", "shared_address", "tensor_map"),
    ),
    "tma_store": Function(
        _by_rank(
            """__device__ __forceinline__ void tma_store(const TensorMap* map, const void* from,
                                          @parameters) {
  asm volatile("cp.async.bulk.tensor.@rankd.global.shared::cta.bulk_group [%0, {@first}], [%1];"
               :: "l"(map), "r"(shared_address(from)), @operands : "memory");
}"""
        ),
        ("shared_address", "tensor_map"),
    ),
    **{
        f"tma_reduce_{kind}": Function(
            _by_rank(
                f"""__device__ __forceinline__ void tma_reduce_{kind}(const TensorMap* map,
                                               const void* from, @parameters) {{
  asm volatile("cp.reduce.async.bulk.tensor.@rankd.global.shared::cta.{kind}.tile.bulk_group"
               " [%0, {{@first}}], [%1];"
               :: "l"(map), "r"(shared_address(from)), @operands : "memory");
}}"""
            ),
            ("shared_address", "tensor_map"),
        )
        for kind in ("add", "min", "max", "and", "or", "xor")
    },
}


def _matrix_moves() -> dict[str, Function]:
    found: dict[str, Function] = {}
    for count in (1, 2, 4):
        for suffix, qualifier in (("", ""), ("_transposed", ".trans")):
            registers = ", ".join(f"%{index}" for index in range(count))
            outputs = ", ".join(f'"=r"(words[{index}])' for index in range(count))
            inputs = ", ".join(f'"r"(words[{index}])' for index in range(count))
            stored = ", ".join(f"%{index + 1}" for index in range(count))
            load, store = f"ldmatrix_x{count}{suffix}", f"stmatrix_x{count}{suffix}"
            found[load] = Function(
                f"""
__device__ __forceinline__ void {load}(void* to, const void* row) {{
  unsigned* const words = reinterpret_cast<unsigned*>(to);
  asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{qualifier}.shared.b16"
               " {{{registers}}}, [%{count}];"
               : {outputs} : "r"(shared_address(row)) : "memory");
}}""",
                ("shared_address",),
            )
            found[store] = Function(
                f"""
__device__ __forceinline__ void {store}(void* row, const void* from) {{
  const unsigned* const words = reinterpret_cast<const unsigned*>(from);
  asm volatile("stmatrix.sync.aligned.m8n8.x{count}{qualifier}.shared.b16 [%0], {{{stored}}};"
               :: "r"(shared_address(row)), {inputs} : "memory");
}}""",
                ("shared_address",),
            )
    return found


_PRODUCTS: Mapping[str, Function] = {
    "matrix_descriptor": Function(
        """
// Where an operand of a warp group's product lies in shared memory, and how.
template <int swizzle, int leading, int stride>
__device__ __forceinline__ unsigned long long matrix_descriptor(const void* start) {
  constexpr unsigned long long pattern =
      swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  constexpr unsigned long long shape = (pattern << 62)
      | (static_cast<unsigned long long>(stride >> 4) << 32)
      | (static_cast<unsigned long long>(leading >> 4) << 16);
  return shape | ((shared_address(start) & 0x3ffff) >> 4);
}""",
        ("shared_address",),
    ),
    "wgmma_fence": _asm("wgmma_fence()", "wgmma.fence.sync.aligned;"),
    "wgmma_commit": _asm("wgmma_commit()", "wgmma.commit_group.sync.aligned;"),
    "wgmma_wait": Function(
        """
template <int pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(pending) : "memory");
}"""
    ),
    "settle_late": Function(
        """
// As `settle`, for products that were in flight over a branch. ptxas then moves reads of the sums
// before the wait; a branch that is never taken, but that it cannot know, keeps them behind it.
template <typename T, int count>
__device__ __forceinline__ void settle_late(T (&registers)[count]) {
  unsigned processors;
  asm("mov.u32 %0, %%nsmid;" : "=r"(processors));
  asm volatile("{\\n.reg .pred never;\\nsetp.eq.u32 never, %0, 0;\\n@never exit;\\n}"
               :: "r"(processors) : "memory");
  settle(registers);
}""",
        ("settle",),
    ),
    "settle": Function(
        """
// The registers hold what the products made of them: no read of them comes before this.
template <int count>
__device__ __forceinline__ void settle(float (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i]) :: "memory");
}

template <int count>
__device__ __forceinline__ void settle(int (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(registers[i]) :: "memory");
}"""
    ),
    **_matrix_moves(),
}

_COMBINE: Mapping[str, str] = {
    "sum": "a + b",
    "max": "a > b ? a : b",
    "min": "a < b ? a : b",
    "bitand": "a & b",
    "bitor": "a | b",
    "bitxor": "a ^ b",
}

_ATOMICS: Mapping[str, Function] = {
    f"atomic_{name}": Function(
        f"""
__device__ __forceinline__ int atomic_{name}(int* place, int value) {{
  return atomic{name.capitalize()}(place, value);
}}

__device__ __forceinline__ float atomic_{name}(float* place, float value) {{
  int before = __float_as_int(*place);
  while ({condition}) {{
    const int seen = atomicCAS(reinterpret_cast<int*>(place), before, __float_as_int(value));
    if (seen == before) break;
    before = seen;
  }}
  return __int_as_float(before);
}}"""
    )
    for name, condition in (
        ("max", "__int_as_float(before) < value"),
        ("min", "__int_as_float(before) > value"),
    )
}

_EXCHANGE: Mapping[str, Function] = {
    "shuffle_xor": Function(
        """
template <typename T>
__device__ __forceinline__ T shuffle_xor(T value, int mask, int width = 32) {
  return __shfl_xor_sync(0xffffffffu, value, mask, width);
}"""
    ),
    "shuffle_up": Function(
        """
template <typename T>
__device__ __forceinline__ T shuffle_up(T value, int distance, int width = 32) {
  return __shfl_up_sync(0xffffffffu, value, distance, width);
}"""
    ),
    "shuffle_down": Function(
        """
template <typename T>
__device__ __forceinline__ T shuffle_down(T value, int distance, int width = 32) {
  return __shfl_down_sync(0xffffffffu, value, distance, width);
}"""
    ),
    "shuffle_from": Function(
        """
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int lane, int width = 32) {
  return __shfl_sync(0xffffffffu, value, lane, width);
}"""
    ),
    **{
        f"warp_{kind}": Function(
            f"""
template <typename T>
__device__ __forceinline__ T warp_{kind}(T a) {{
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {{
    const T b = __shfl_xor_sync(0xffffffffu, a, mask);
    a = {expression};
  }}
  return a;
}}"""
        )
        for kind, expression in _COMBINE.items()
    },
}

FUNCTIONS: Mapping[str, Function] = {
    **_TYPES,
    **_NUMBERS,
    **_CONVERSIONS,
    **_BARRIERS,
    **_COPIES,
    **_TILES,
    **_PRODUCTS,
    **_EXCHANGE,
    **_ATOMICS,
}
