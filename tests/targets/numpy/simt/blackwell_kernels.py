"""Kernels in `T` for Blackwell: pairs of blocks, chains through tensor memory, block scales."""

from __future__ import annotations

from tilewright import T


def specialised_gemm(M, N, K, block_M=128, block_N=64, block_K=64, num_stages=2, pair=False):
    """One warp loads, one issues, all store; with `pair` two blocks share the columns of B."""
    k_iters, ctas = K // block_K, 2 if pair else 1
    barriers = T.alloc_cluster_barrier if pair else T.alloc_barrier

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "bfloat16"),
        B: T.Tensor((K, N), "bfloat16"),
        C: T.Tensor((M, N), "bfloat16"),
    ):
        with T.ClusterKernel(M // block_M, N // block_N, threads=128, cluster_dims=ctas) as (
            bx,
            by,
        ):
            A_shared = T.alloc_shared((num_stages, block_M, block_K), "bfloat16")
            B_shared = T.alloc_shared((num_stages, block_K, block_N // ctas), "bfloat16")
            C_tmem = T.alloc_tmem([block_M, block_N], "float32")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            C_shared = T.alloc_shared((block_M, block_N), "bfloat16")
            loaded = barriers([32 * ctas] * num_stages)
            consumed = barriers([1] * num_stages)
            full = T.alloc_barrier([1])
            tx = T.get_thread_binding()
            rank = T.block_rank_in_cluster() if pair else 0
            T.use_swizzle(4)
            if tx < 32:
                for k in T.serial(k_iters):
                    slot = k % num_stages
                    T.mbarrier_wait_parity(consumed[slot], ((k // num_stages) & 1) ^ 1)
                    T.tma_copy(
                        A[bx * block_M : (bx + 1) * block_M, k * block_K : (k + 1) * block_K],
                        A_shared[slot, :, :],
                        barrier=loaded[slot],
                    )
                    first = (by * ctas + rank) * block_N // ctas
                    last = (by * ctas + rank + 1) * block_N // ctas
                    T.tma_copy(
                        B[k * block_K : (k + 1) * block_K, first:last],
                        B_shared[slot, :, :],
                        barrier=loaded[slot],
                    )
                    if pair:
                        T.mbarrier_arrive(loaded[slot], 0)
                    else:
                        T.mbarrier_arrive(loaded[slot])
            elif rank == 0 and tx < 64:
                for k in T.serial(k_iters):
                    slot = k % num_stages
                    T.mbarrier_wait_parity(loaded[slot], (k // num_stages) & 1)
                    T.tcgen05_gemm(
                        A_shared[slot, :, :],
                        B_shared[slot, :, :],
                        C_tmem,
                        mbar=consumed[slot],
                        clear_accum=k == 0,
                        use_2cta=pair,
                    )
                T.tcgen05_mma_arrive(full, arrive_2cta=pair)
            T.mbarrier_wait_parity(full, 0)
            T.copy(C_tmem, C_local)
            T.copy(C_local, C_shared)
            T.copy(C_shared, C[bx * block_M, by * block_N])

    return main


def released_early(tiles, block_N=256, part_N=64, out="bfloat16"):
    """A warp begins the next GEMM while 128 threads store the result of the last, part by part."""

    @T.prim_func
    def main(
        A: T.Tensor((tiles, 128, 64), "bfloat16"),
        B: T.Tensor((64, block_N), "bfloat16"),
        C: T.Tensor((tiles, 128, block_N), out),
    ):
        with T.Kernel(1, threads=256):
            A_shared = T.alloc_shared((128, 64), "bfloat16")
            B_shared = T.alloc_shared((64, block_N), "bfloat16")
            C_shared = T.alloc_shared((128, part_N), out)
            C_tmem = T.alloc_tmem((128, block_N), "float32")
            C_local = T.alloc_fragment((128, block_N), "float32")
            loaded = T.alloc_barrier(32)
            consumed = T.alloc_barrier(1)
            free = T.alloc_barrier(128)
            tx = T.get_thread_binding()
            if tx < 32:
                for tile in T.serial(tiles):
                    T.mbarrier_wait_parity(consumed, (tile & 1) ^ 1)
                    T.tma_copy(A[tile, :, :], A_shared, barrier=loaded)
                    T.tma_copy(B, B_shared, barrier=loaded)
                    T.mbarrier_arrive(loaded)
            elif tx < 64:
                for tile in T.serial(tiles):
                    T.mbarrier_wait_parity(free, (tile & 1) ^ 1)
                    T.mbarrier_wait_parity(loaded, tile & 1)
                    T.tcgen05_gemm(A_shared, B_shared, C_tmem, mbar=consumed, clear_accum=True)
            elif tx >= 128:
                for tile in T.serial(tiles):
                    T.mbarrier_wait_parity(consumed, tile & 1)
                    T.copy(C_tmem, C_local)
                    T.mbarrier_arrive(free)
                    for i in T.unroll(block_N // part_N):
                        columns = slice(i * part_N, (i + 1) * part_N)
                        T.copy(C_local[:, columns], C_shared)
                        T.copy(C_shared, C[tile, :, columns])

    return main


def few_rows(columns, threads, accum="float16"):
    """64 rows of a result, whose fragment is laid out in pairs of columns."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "float16"),
        B: T.Tensor((64, columns), "float16"),
        C: T.Tensor((64, columns), accum),
    ):
        with T.Kernel(1, threads=threads):
            A_shared = T.alloc_shared((64, 64), "float16")
            B_shared = T.alloc_shared((64, columns), "float16")
            C_tmem = T.alloc_tmem((64, columns), accum)
            C_local = T.alloc_fragment((64, columns), accum)
            done = T.alloc_barrier(1)
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.tcgen05_gemm(A_shared, B_shared, C_tmem, mbar=done, clear_accum=True)
            T.mbarrier_wait_parity(done, 0)
            T.copy(C_tmem, C_local)
            for i, j in T.Parallel(64, columns):
                C_local[i, j] = C_local[i, j] + T.cast(i % 8 * 2 + j % 16, accum)
            T.copy(C_local, C)

    return main


def several_matrices(count, columns, part):
    """Matrices of tensor memory, written by parts of rows and read as one."""
    shape = (count, 128, columns)

    @T.prim_func
    def main(A: T.Tensor(shape, "float32"), C: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=128):
            held = T.alloc_tmem(shape, "float32")
            before = T.alloc_fragment(shape, "float32")
            after = T.alloc_fragment(shape, "float32")
            T.copy(A, before)
            for first in range(0, columns, part):
                columns_of_part = slice(first, first + part)
                T.copy(before[:, :, columns_of_part], held[:, :, columns_of_part])
            T.copy(held, after)
            T.copy(after, C)

    return main


def stored_in_branches(rows, block_N=256, out="float32"):
    """Whole tiles are stored through shared memory, the last rows element by element."""

    @T.prim_func
    def main(
        A: T.Tensor((rows, 64), "bfloat16"),
        B: T.Tensor((64, block_N), "bfloat16"),
        C: T.Tensor((rows, block_N), out),
    ):
        with T.Kernel(T.ceildiv(rows, 128), threads=128) as bx:
            A_shared = T.alloc_shared((128, 64), "bfloat16")
            B_shared = T.alloc_shared((64, block_N), "bfloat16")
            C_shared = T.alloc_shared((128, block_N), out)
            C_tmem = T.alloc_tmem((128, block_N), "float32")
            C_local = T.alloc_fragment((128, block_N), "float32")
            C_cast = T.alloc_fragment((128, block_N), out)
            done = T.alloc_barrier(1)
            T.copy(A[bx * 128, 0], A_shared)
            T.copy(B, B_shared)
            T.tcgen05_gemm(A_shared, B_shared, C_tmem, mbar=done, clear_accum=True)
            T.mbarrier_wait_parity(done, 0)
            T.copy(C_tmem, C_local)
            if (bx + 1) * 128 <= rows:
                T.copy(C_local, C_shared)
                T.copy(C_shared, C[bx * 128, 0])
            elif bx * 128 < rows:
                T.copy(C_local, C_cast)
                for i, j in T.Parallel(128, block_N):
                    if bx * 128 + i < rows:
                        C[bx * 128 + i, j] = C_cast[i, j]

    return main


def chained_gemms(M, N, K, columns):
    """(A @ B) @ D: the first product is the operand in tensor memory of the second."""

    @T.prim_func
    def main(
        A: T.Tensor((M, K), "bfloat16"),
        B: T.Tensor((N, K), "bfloat16"),
        D: T.Tensor((N, columns), "bfloat16"),
        C: T.Tensor((M, columns), "float32"),
    ):
        with T.Kernel(1, threads=256):
            A_shared = T.alloc_shared((M, K), "bfloat16")
            B_shared = T.alloc_shared((N, K), "bfloat16")
            D_shared = T.alloc_shared((N, columns), "bfloat16")
            S_tmem = T.alloc_tmem((M, N), "float32")
            P_tmem = T.alloc_tmem((M, N), "bfloat16")
            C_tmem = T.alloc_tmem((M, columns), "float32")
            S_local = T.alloc_fragment((M, N), "float32")
            P_local = T.alloc_fragment((M, N), "bfloat16")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.copy(D, D_shared)
            T.gemm(A_shared, B_shared, S_tmem, transpose_B=True, clear_accum=True)
            T.copy(S_tmem, S_local)
            T.copy(S_local, P_local)
            T.copy(P_local, P_tmem)
            T.gemm(P_tmem, D_shared, C_tmem, clear_accum=True)
            T.copy(C_tmem, C)

    return main


def scaled_gemm(M, N, K, block_N=128, block_K=128, granularity=128, num_stages=2, fours=""):
    """Operands of 8 bits with a scale for each 128 along K, four of them in a word.

    Those named in `fours` have 4 bits in their tensor, and 8 in shared memory.
    """
    block_M, k_iters = 128, K // block_K
    a_type, b_type = ("float4_e2m1fn" if side in fours else "float8_e4m3fn" for side in "AB")
    a_held, b_held = ("float4_e2m1_unpacked" if side in fours else "float8_e4m3fn" for side in "AB")
    period = granularity * 4 // block_K
    groups = -(-K // (4 * granularity))

    @T.prim_func
    def main(
        A: T.Tensor((M, K), a_type),
        B: T.Tensor((N, K), b_type),
        SFA: T.Tensor((groups * M,), "uint32"),
        SFB: T.Tensor((groups * N,), "uint32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(M // block_M, N // block_N, threads=128) as (bx, by):
            A_shared = T.alloc_shared((num_stages, block_M, block_K), a_held)
            B_shared = T.alloc_shared((num_stages, block_N, block_K), b_held)
            SFA_shared = T.alloc_shared((num_stages, block_M), "uint32")
            SFB_shared = T.alloc_shared((num_stages, block_N), "uint32")
            C_tmem = T.alloc_tmem([block_M, block_N], "float32")
            SFA_tmem = T.alloc_tmem([128, block_M // 128 * 4], "uint32")
            SFB_tmem = T.alloc_tmem([128, block_N // 128 * 4], "uint32")
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            loaded = T.alloc_barrier([32] * num_stages)
            ordered = T.alloc_barrier([32] * num_stages)
            consumed = T.alloc_barrier([1] * num_stages)
            full = T.alloc_barrier([1])
            tx = T.get_thread_binding()
            if tx < 32:
                for k in T.serial(k_iters):
                    slot = k % num_stages
                    T.mbarrier_wait_parity(consumed[slot], ((k // num_stages) & 1) ^ 1)
                    T.tma_copy(
                        A[bx * block_M : (bx + 1) * block_M, k * block_K : (k + 1) * block_K],
                        A_shared[slot, :, :],
                        barrier=loaded[slot],
                    )
                    T.tma_copy(
                        B[by * block_N : (by + 1) * block_N, k * block_K : (k + 1) * block_K],
                        B_shared[slot, :, :],
                        barrier=loaded[slot],
                    )
                    if k % period == 0:
                        a, b = k // period * M + bx * block_M, k // period * N + by * block_N
                        T.tma_copy(SFA[a : a + block_M], SFA_shared[slot, :], barrier=loaded[slot])
                        T.tma_copy(SFB[b : b + block_N], SFB_shared[slot, :], barrier=loaded[slot])
                    T.mbarrier_arrive(loaded[slot])
            elif tx < 64:
                for k in T.serial(k_iters):
                    slot = k % num_stages
                    phase = (k // num_stages) & 1
                    T.mbarrier_wait_parity(loaded[slot], phase)
                    T.mbarrier_wait_parity(ordered[slot], phase)
                    if k % period == 0:
                        T.tcgen05_cp_warpx4(SFA_shared[slot, :], SFA_tmem)
                        T.tcgen05_cp_warpx4(SFB_shared[slot, :], SFB_tmem)
                    T.tcgen05_gemm_blockscaled(
                        A_shared[slot, :, :],
                        B_shared[slot, :, :],
                        C_tmem,
                        SFA_tmem,
                        SFB_tmem,
                        transpose_B=True,
                        mbar=consumed[slot],
                        clear_accum=k == 0,
                        k_start=k * block_K,
                        sf_a_granularity_k=granularity,
                        sf_b_granularity_k=granularity,
                    )
                T.tcgen05_mma_arrive(full)
            elif tx < 96:
                for k in T.serial(k_iters):
                    slot = k % num_stages
                    T.mbarrier_wait_parity(loaded[slot], (k // num_stages) & 1)
                    if k % period == 0:
                        T.tcgen05_sf_warp_transpose(SFA_shared[slot, :])
                        T.tcgen05_sf_warp_transpose(SFB_shared[slot, :])
                        T.fence_proxy_async()
                    T.mbarrier_arrive(ordered[slot])
            T.mbarrier_wait_parity(full, 0)
            T.sync_threads()
            T.copy(C_tmem, C_local)
            T.copy(C_local, C[bx * block_M, by * block_N])

    return main


def attention(keys, dim=128, block=128, overwrite=False):
    """exp2(scores - maximum) @ V, and sums of rows; a thread has a row of scores and of results.

    With `overwrite` the scores in tensor memory are gone before they are needed again.
    """

    @T.prim_func
    def main(
        Q: T.Tensor((block, 64), "bfloat16"),
        K: T.Tensor((keys, 64), "bfloat16"),
        V: T.Tensor((keys, dim), "bfloat16"),
        Sums: T.Tensor((block,), "float32"),
        Output: T.Tensor((block, dim), "float32"),
    ):
        with T.Kernel(1, threads=128):
            Q_shared = T.alloc_shared((block, 64), "bfloat16")
            K_shared = T.alloc_shared((block, 64), "bfloat16")
            V_shared = T.alloc_shared((block, dim), "bfloat16")
            P_shared = T.alloc_shared((block, block), "bfloat16")
            S_tmem = T.alloc_tmem((block, block), "float32")
            D_tmem = T.alloc_tmem((block, dim), "float32")
            S = T.alloc_fragment((block, block), "float32")
            zeros = T.alloc_fragment((block, block), "float32")
            P = T.alloc_fragment((block, block), "bfloat16")
            D = T.alloc_fragment((block, dim), "float32")
            result = T.alloc_fragment((block, dim), "float32")
            maximum = T.alloc_fragment((block,), "float32")
            previous = T.alloc_fragment((block,), "float32")
            scale = T.alloc_fragment((block,), "float32")
            part = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(Q, Q_shared)
            T.fill(result, 0)
            T.fill(total, 0)
            T.fill(zeros, 0)
            T.fill(maximum, -T.infinity("float32"))
            for k in T.serial(keys // block):
                T.copy(K[k * block : (k + 1) * block, :], K_shared)
                T.copy(V[k * block : (k + 1) * block, :], V_shared)
                T.gemm(Q_shared, K_shared, S_tmem, transpose_B=True, clear_accum=True)
                T.copy(S_tmem, S)
                for i, j in T.Parallel(block, block):
                    S[i, j] = T.if_then_else(k * block + j < i, S[i, j], -8.0)
                T.copy(maximum, previous)
                T.reduce_max(S, maximum, dim=1, clear=False)
                if overwrite:
                    T.copy(zeros, S_tmem)
                for i in T.Parallel(block):
                    scale[i] = T.exp2(previous[i] - maximum[i])
                for i, j in T.Parallel(block, block):
                    S[i, j] = T.exp2(S[i, j] - maximum[i])
                T.reduce_sum(S, part, dim=1)
                for i in T.Parallel(block):
                    total[i] = total[i] * scale[i] + part[i]
                for i, j in T.Parallel(block, dim):
                    result[i, j] *= scale[i]
                T.copy(S, P)
                T.copy(P, P_shared)
                T.gemm(P_shared, V_shared, D_tmem, clear_accum=True)
                T.copy(D_tmem, D)
                for i, j in T.Parallel(block, dim):
                    result[i, j] += D[i, j]
            T.copy(total, Sums)
            T.copy(result, Output)

    return main
