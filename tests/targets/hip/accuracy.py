"""Measures the header's mathematics: compiled for the host, compared with the C library.

    python -m tests.targets.hip.accuracy [count]     prints a table

The functions of `float` are compared with those of `double` of the host's library, those of
`double` with `long double`. Errors are in units of the last place of the result. Contraction is off
in the functions, so that the device does the same operations; only what the hardware estimates
(exp, log and rsqrt of `float`) differs there.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.targets.hip.support import compile_for_host
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.targets.hip.header import definitions

DOMAINS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "acos": ((-1.0, 1.0), (0.999, 1.0)),
    "acosh": ((1.0, 1.001), (1.0, 100.0)),
    "asin": ((-1.0, 1.0),),
    "asinh": ((-1.0, 1.0), (-100.0, 100.0)),
    "atan": ((-1.0, 1.0), (-10.0, 10.0)),
    "atanh": ((-1.0, 1.0),),
    "cbrt": ((-10.0, 10.0),),
    "cos": ((-10.0, 10.0), (-2000.0, 2000.0), (-1e7, 1e7)),
    "cosh": ((-2.0, 2.0), (-90.0, 90.0)),
    "erf": ((-1.0, 1.0), (-6.5, 6.5)),
    "exp": ((-1.0, 1.0), (-100.0, 100.0)),
    "exp2": ((-1.0, 1.0), (-150.0, 150.0)),
    "expm1": ((-1.0, 1.0), (-50.0, 90.0)),
    "log": ((0.5, 2.0), (0.0, 100.0)),
    "log10": ((0.5, 2.0), (0.0, 100.0)),
    "log1p": ((-1.0, 1.0), (-1.0, 100.0)),
    "log2": ((0.5, 2.0), (0.0, 100.0)),
    "rsqrt": ((0.0, 10.0),),
    "sin": ((-10.0, 10.0), (-2000.0, 2000.0), (-1e7, 1e7)),
    "sinh": ((-2.0, 2.0), (-90.0, 90.0)),
    "sqrt": ((0.0, 10.0),),
    "softsign": ((-1.0, 1.0), (-100.0, 100.0)),
    "tan": ((-10.0, 10.0), (-2000.0, 2000.0), (-1e7, 1e7)),
    "tanh": ((-1.0, 1.0), (-10.0, 10.0)),
    "ceil": ((-10.0, 10.0),),
    "floor": ((-10.0, 10.0),),
    "rint": ((-10.0, 10.0),),
    "round": ((-10.0, 10.0),),
    "trunc": ((-10.0, 10.0),),
    "fabs": ((-10.0, 10.0),),
}
"""Functions of one number, and where they are tried beside random bits."""
PAIRS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "pow": ((0.0, 10.0), (0.99, 1.01)),
    "atan2": ((-10.0, 10.0),),
    "fmod": ((-100.0, 100.0),),
    "copysign": ((-10.0, 10.0),),
    "fmin": ((-10.0, 10.0),),
    "fmax": ((-10.0, 10.0),),
}
"""Functions of two; the second number of `pow` goes further."""

DRIVER = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#define __device__
#define __forceinline__ inline
inline float __builtin_amdgcn_rsqf(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(INFINITY, x)
                                            : float(1.0 / std::sqrt(double(x)));
}
HEADER
static uint64_t state = SEED;
static uint64_t next() {
  state += 0x9e3779b97f4a7c15ull;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}
template <typename T> T from_bits() {
  const uint64_t bits = next();
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T> T within(double low, double high) {
  const T value = T(low + (high - low) * (double(next() >> 11) * 0x1p-53));
  // Nearer to zero every other time.
  return next() & 1 ? value : value * T(std::ldexp(1.0, -int(next() % 12)));
}
template <typename T, typename W> double error(T got, W expected) {
  const T rounded = T(expected);
  if (got != got || rounded != rounded) return (got != got) == (rounded != rounded) ? 0 : 1e30;
  if (got == rounded && (std::isinf(got) || got == 0))
    return std::signbit(got) == std::signbit(rounded) ? 0 : 1e30;
  if (std::isinf(got) != std::isinf(rounded)) {
    // Right at the end of the range.
    const W end = W(std::numeric_limits<T>::max());
    return std::fabs(expected) > end * W(0.999999) ? 1 : 1e30;
  }
  const int place = rounded == 0 ? -100000 : std::ilogb(rounded);
  const int last = std::max(place - std::numeric_limits<T>::digits + 1,
                            std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits);
  return double(std::fabs(W(got) - expected) / std::ldexp(W(1), last));
}
template <typename T> constexpr T special[] = {
    T(0), T(-0.0), T(1), T(-1), T(0.5), T(-0.5), T(2), T(-2), T(3), T(-3), T(1.5), T(-2.5),
    std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
    std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::min(),
    std::numeric_limits<T>::denorm_min(), -std::numeric_limits<T>::denorm_min(),
    std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest(),
    std::numeric_limits<T>::min() / 2, T(1) - std::numeric_limits<T>::epsilon() / 2,
    T(1) + std::numeric_limits<T>::epsilon(), T(1e-3), T(88.5), T(-88.5), T(710.4), T(-745.5),
    T(0.7853981633974483), T(1.5707963267948966), T(3.141592653589793), T(6381956970095103e30),
    T(16777217), T(-16777215), T(4503599627370497), T(1e10)};
template <typename T> struct Worst {
  double most = 0;
  T x = 0, y = 0;
  void take(double found, T at, T other = 0) {
    if (found > most || found != found) most = found, x = at, y = other;
  }
  void print(const char* name) { std::printf("%s %.3f %a %a\n", name, most, double(x), double(y)); }
};
template <typename T, typename W, typename F, typename G>
void one(const char* name, F ours, G reference, int domains, const double* ends) {
  Worst<T> worst;
  const auto take = [&](T x) { worst.take(error<T, W>(ours(x), reference(W(x))), x); };
  for (const T x : special<T>) take(x);
  for (int i = 0; i < COUNT; ++i) take(from_bits<T>());
  for (int d = 0; d < domains; ++d)
    for (int i = 0; i < COUNT; ++i) take(within<T>(ends[2 * d], ends[2 * d + 1]));
  worst.print(name);
}
template <typename T, typename W, typename F, typename G>
void two(const char* name, F ours, G reference, int domains, const double* ends, double reach) {
  Worst<T> worst;
  const auto take = [&](T x, T y) { worst.take(error<T, W>(ours(x, y), reference(W(x), W(y))), x, y); };
  for (const T x : special<T>)
    for (const T y : special<T>) take(x, y);
  for (int i = 0; i < COUNT; ++i) take(from_bits<T>(), from_bits<T>());
  for (int d = 0; d < domains; ++d)
    for (int i = 0; i < COUNT; ++i)
      take(within<T>(ends[2 * d], ends[2 * d + 1]), within<T>(-reach, reach));
  worst.print(name);
}
int main() {
CALLS
}
"""

_REFERENCES: Mapping[str, str] = {
    "rsqrt": "W(1) / std::sqrt(x)",
    "rint": "std::rint(x)",
    "softsign": "x / (W(1) + std::fabs(x))",
}


@dataclass(frozen=True)
class Worst:
    """The largest error that was found, and where."""

    ulps: float
    at: tuple[float, float]


def _call(name: str, type: str, wide: str, suffix: str) -> str:
    domains = DOMAINS.get(name) or PAIRS[name]
    ends = ", ".join(f"{low!r}, {high!r}" for low, high in domains)
    head = f"  {{ const double ends[] = {{{ends}}}; using W = {wide};\n    "
    if name in DOMAINS:
        reference = _REFERENCES.get(name, f"std::{name}(x)")
        return (
            f'{head}one<{type}, W>("{name}{suffix}", [](auto x) {{ return tw::{name}{suffix}(x); }},'
            f" [](W x) -> W {{ return {reference}; }}, {len(domains)}, ends); }}"
        )
    # Of two zeros either may be the smaller one.
    zero = " + 0" if name in ("fmin", "fmax") else ""
    return (
        f'{head}two<{type}, W>("{name}{suffix}",'
        f" [](auto x, auto y) {{ return tw::{name}{suffix}(x, y){zero}; }},"
        f" [](W x, W y) -> W {{ return std::{name}(x, y){zero}; }}, {len(domains)}, ends,"
        f" {300.0 if name == 'pow' else 20.0}); }}"
    )


def measured(
    directory: Path,
    count: int,
    *,
    seed: int = 1,
    names: Iterable[str] = (*DOMAINS, *PAIRS),
    changed: Iterable[tuple[str, str]] = (),
) -> dict[str, Worst]:
    """The largest error of each function, over `count` arguments of each kind.

    `changed` plants faults in the text of the header.
    """
    each = [
        (name, type, wide, suffix)
        for type, wide, suffix in (("float", "double", "f"), ("double", "long double", ""))
        for name in names
    ]
    header = definitions([f"{name}{suffix}" for name, *_, suffix in each], {}, chip_named("gfx942"))
    for old, new in changed:
        assert old in header, old
        header = header.replace(old, new)
    calls = [_call(*given) for given in each]
    text = DRIVER.replace("HEADER", header).replace("CALLS", "\n".join(calls))
    text = text.replace("SEED", str(seed)).replace("COUNT", str(count))
    source, program = directory / "accuracy.cpp", directory / "accuracy"
    source.write_text(text, encoding="utf-8")
    compile_for_host(source, program, ["-O0" if count < 10_000 else "-O1"])
    output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    found: dict[str, Worst] = {}
    for line in output.splitlines():
        name, ulps, x, y = line.split()
        found[name] = Worst(float(ulps), (float.fromhex(x), float.fromhex(y)))
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as directory:
        for name, worst in measured(Path(directory), count, seed=seed).items():
            print(f"{name:10} {worst.ulps:8.3f} ulp at {worst.at[0]!r}, {worst.at[1]!r}")


if __name__ == "__main__":
    main()
