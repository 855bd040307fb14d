"""Exchange between the lanes of a wave, through registers; votes.

`ds_bpermute` fetches from any lane, through the LDS hardware. A fixed xor of lane numbers within a
row of 16 is one DPP move, or two on gfx9, which has mirrors (xor 7, xor 15) and permutations of
four lanes, and no other xor of a row.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.dialects.amd.exchange import WAVE
from tilewright.dialects.tile.lanes import WarpReduceOp
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.targets.hip.header.function import Function, device

_COMBINE: Mapping[str, str] = {
    "sum": "a + b",
    "max": "a > b ? a : b",
    "min": "a < b ? a : b",
    "bitand": "a & b",
    "bitor": "a | b",
    "bitxor": "a ^ b",
}

_BY_WORDS = """
// A value of any size, moved in words of 32 bits.
template <typename T, typename Move>
__device__ __forceinline__ T by_words(T value, Move move) {
  constexpr int words = (sizeof(T) + 3) / 4;
  unsigned held[words] = {};
  __builtin_memcpy(held, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i) held[i] = move(held[i]);
  __builtin_memcpy(&value, held, sizeof(T));
  return value;
}"""

_PINNED = """
// The same value, which the compiler computes where this is written.
template <typename T>
__device__ __forceinline__ T pinned(T value) {
  if constexpr (sizeof(T) == 8) {
    asm("" : "+v"(value));
  } else {
    unsigned word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    asm("" : "+v"(word));
    __builtin_memcpy(&value, &word, sizeof(T));
  }
  return value;
}"""

_FETCH = """
// The value of another lane.
template <typename T>
__device__ __forceinline__ T fetch(T value, int from) {
  return by_words(value, [from](unsigned word) {
    return unsigned(__builtin_amdgcn_ds_bpermute(from * 4, int(word)));
  });
}"""

_DPP = """
template <int control>
__device__ __forceinline__ unsigned dpp(unsigned word) {
@  return __builtin_amdgcn_update_dpp(0, word, control, 0xf, 0xf, true);
}"""

_IN_VECTOR_REGISTER = """  // LLVM 19 folds a uniform word into sums that cannot take it.
  asm("" : "+v"(word));
"""

_XOR_9 = """
template <int mask>
__device__ __forceinline__ unsigned xor_word(unsigned word) {
  if constexpr (mask == 0) return word;
  else if constexpr (mask == 1) return dpp<0xB1>(word);    // [1, 0, 3, 2]
  else if constexpr (mask == 2) return dpp<0x4E>(word);    // [2, 3, 0, 1]
  else if constexpr (mask == 3) return dpp<0x1B>(word);    // [3, 2, 1, 0]
  else if constexpr (mask < 8) return xor_word<mask ^ 7>(dpp<0x141>(word));    // half mirror
  else if constexpr (mask < 16) return xor_word<mask ^ 15>(dpp<0x140>(word));  // mirror
  else if constexpr (mask < 32) return __builtin_amdgcn_ds_swizzle(int(word), mask << 10 | 31);
  else return __builtin_amdgcn_ds_bpermute((lane() ^ mask) * 4, int(word));
}"""

_XOR_11 = """
template <int mask>
__device__ __forceinline__ unsigned xor_word(unsigned word) {
  if constexpr (mask == 0) return word;
  else if constexpr (mask < 16) return dpp<0x160 + mask>(word);  // row_xmask
  else {
    // The other row of 16, lane for lane.
    unsigned other =
        __builtin_amdgcn_permlanex16(word, word, 0x76543210u, 0xfedcba98u, false, false);
    // LLVM before 22 would move it into a branch that only some lanes take.
    asm("" : "+v"(other));
    return xor_word<(mask & 15)>(other);
  }
}"""

_INTERLEAVE = """
// Lanes 16 apart interleave `count` registers: both get those of the lower lane and of the upper
// one in turns.
template <int count, typename T>
__device__ __forceinline__ void interleave(T* all, const T* own) {
  constexpr int each = 4 / sizeof(T);  // elements of a word
  const bool upper = lane() & 16;
  // Bytes of the first and the second word of two lanes: 0 to 3 of this lane, 4 to 7 of the other.
  const unsigned first = sizeof(T) == 4   ? (upper ? 0x07060504u : 0x03020100u)
                         : sizeof(T) == 2 ? (upper ? 0x01000504u : 0x05040100u)
                                          : (upper ? 0x01050004u : 0x05010400u);
  const unsigned second = sizeof(T) == 4   ? (upper ? 0x03020100u : 0x07060504u)
                          : sizeof(T) == 2 ? (upper ? 0x03020706u : 0x07060302u)
                                           : (upper ? 0x03070206u : 0x07030602u);
#pragma unroll
  for (int i = 0; i < count; i += each) {
    unsigned word;
    __builtin_memcpy(&word, own + i, 4);
    const unsigned other = xor_word<16>(word);
    const unsigned both[2] = {__builtin_amdgcn_perm(other, word, first),
                              __builtin_amdgcn_perm(other, word, second)};
    __builtin_memcpy(all + 2 * i, both, 8);
  }
}"""

_LANE_XOR = """
// The value of the lane whose index differs in the bits of `mask`.
template <int mask, typename T>
__device__ __forceinline__ T shuffle_xor_by(T value) {
  return by_words(value, [](unsigned word) { return xor_word<mask>(word); });
}"""


def _shuffle(name: str, parameter: str, body: str, wave: int) -> Function:
    return device(
        f"template <typename T>@T {name}(T value, int {parameter}, int width = {wave})",
        f"  const int me = lane(), first = me & -width;\n{body}",
        ("lane", "fetch"),
    )


def _reduction(kind: str) -> Function:
    """Of 32 threads: half of a wave of 64."""
    steps: list[str] = []
    mask = 1
    while mask < WarpReduceOp.LANES:
        steps.append(f"  b = shuffle_xor_by<{mask}>(a);\n  a = {_COMBINE[kind]};")
        mask *= 2
    return device(
        f"template <typename T>@T warp_{kind}(T a)",
        "\n".join(["  T b;", *steps, "  return a;"]),
        ("shuffle_xor_by",),
    )


def exchange(chip: Chip) -> Mapping[str, Function]:
    """Shuffles, reductions of a wave, votes."""
    wave = chip.wave
    mask = "unsigned" if wave == 32 else "unsigned long long"
    return {
        "by_words": Function(_BY_WORDS),
        "pinned": Function(_PINNED),
        "fetch": Function(_FETCH, ("by_words",)),
        "dpp": Function(_DPP.replace("@", _IN_VECTOR_REGISTER if chip.generation >= 12 else "")),
        "xor_word": Function(_XOR_9 if chip.generation == 9 else _XOR_11, ("dpp", "lane")),
        "shuffle_xor_by": Function(_LANE_XOR, ("by_words", "xor_word")),
        **({"interleave": Function(_INTERLEAVE, ("xor_word", "lane"))} if wave == WAVE else {}),
        "shuffle_xor": _shuffle(
            "shuffle_xor",
            "mask",
            "  const int other = me ^ mask;\n"
            "  return fetch(value, (other & -width) == first ? other : me);",
            wave,
        ),
        "shuffle_up": _shuffle(
            "shuffle_up",
            "distance",
            "  const int other = me - distance;\n"
            "  return fetch(value, other >= first ? other : me);",
            wave,
        ),
        "shuffle_down": _shuffle(
            "shuffle_down",
            "distance",
            "  const int other = me + distance;\n"
            "  return fetch(value, other < first + width ? other : me);",
            wave,
        ),
        "shuffle_from": _shuffle(
            "shuffle_from",
            "index",
            "  return fetch(value, first | (index & (width - 1)));",
            wave,
        ),
        **{f"warp_{kind}": _reduction(kind) for kind in _COMBINE},
        "ballot": device(
            f"{mask} ballot(bool vote)", f"  return __builtin_amdgcn_ballot_w{wave}(vote);"
        ),
        "vote_any": device("bool vote_any(bool vote)", "  return ballot(vote) != 0;", ("ballot",)),
        "vote_all": device("bool vote_all(bool vote)", "  return ballot(!vote) == 0;", ("ballot",)),
        "first": device(
            "template <typename T>@T first(T value)",
            "  return by_words(value, [](unsigned word) {\n"
            "    return unsigned(__builtin_amdgcn_readfirstlane(int(word)));\n  });",
            ("by_words",),
        ),
        "at": device(
            "template <int from, typename T>@T at(T value)",
            "  return by_words(value, [](unsigned word) {\n"
            "    return unsigned(__builtin_amdgcn_readlane(int(word), from));\n  });",
            ("by_words",),
        ),
        "elect": device("bool elect()", "  return lane() == first(lane());", ("lane", "first")),
    }
