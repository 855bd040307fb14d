"""Programs of a grid that form clusters: the launch option decides what they compute."""

import numpy as np
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def ranks_kernel(out_ptr):
    tl.store(out_ptr + tl.program_id(0), tlx.cluster_cta_rank())


tuned_kernel = triton.autotune([triton.Config({}, ctas_per_cga=(2, 1, 1))], key=[])(ranks_kernel)


@triton.jit
def meet_kernel(out_ptr):
    """The first program of a pair waits until both have arrived at its barrier."""
    bars = tlx.alloc_barriers(1, arrive_count=2)
    tlx.cluster_barrier()
    rank = tlx.cluster_cta_rank()
    tlx.barrier_arrive(bars[0], 1, remote_cta_rank=0)
    tlx.barrier_wait(bars[0], 0, pred=rank == 0)
    tl.store(out_ptr + tl.program_id(0), rank + 10)
    tlx.cluster_barrier()


def launched(kernel, **options):
    out = np.full(4, -1, np.int32)
    kernel[(4,)](out, **options)
    return out.tolist()


assert launched(ranks_kernel) == [0, 0, 0, 0]
assert launched(ranks_kernel, ctas_per_cga=None) == [0, 0, 0, 0]
assert launched(ranks_kernel, ctas_per_cga=(2, 1, 1)) == [0, 1, 0, 1]
assert launched(ranks_kernel, ctas_per_cga=[4, 1, 1]) == [0, 1, 2, 3]
assert launched(tuned_kernel) == [0, 1, 0, 1]
assert launched(meet_kernel, ctas_per_cga=(2, 1, 1)) == [10, 11, 10, 11]
print("all good")
