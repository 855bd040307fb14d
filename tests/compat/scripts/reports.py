"""Timing and reports, without pandas or matplotlib."""

import sys

import triton
import triton.testing


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["M", "N"],
        x_vals=[2, (3, 5)],
        line_arg="provider",
        line_vals=["ours", "theirs"],
        line_names=["Ours", "Theirs"],
        ylabel="units",
        plot_name="products",
        args={"offset": 1},
    )
)
def benchmark(M, N, provider, offset, extra=0):
    if provider == "ours":
        return M * N + offset + extra
    return M * N / 2, M * N / 4, M * N


benchmark.run(print_data=True, save_path=sys.argv[1], extra=10)

calls = []
times = triton.testing.do_bench(lambda: calls.append(1), rep=1, quantiles=[0.5, 0.2, 0.8])
assert times[1] <= times[0] <= times[2]
assert triton.testing.do_bench(lambda: calls.append(1), rep=0, return_mode="all")[0] >= 0
assert len(calls) >= 4
print("all good")
