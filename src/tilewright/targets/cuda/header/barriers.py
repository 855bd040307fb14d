"""Barriers, fences, clusters, and registers that move between warps."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.function import Function, asm


def _from_hopper_on(name: str, instruction: str) -> Function:
    """An instruction that older GPUs do not need: their kernels run sequentially."""
    return Function(
        f"""
__device__ __forceinline__ void {name}() {{
#if __CUDA_ARCH__ >= 900
  asm volatile("{instruction}" ::: "memory");
#endif
}}"""
    )


BARRIERS: Mapping[str, Function] = {
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
    "barrier_arrive_copies": Function(
        """
// Arrives once the copies (cp.async) that this thread has started are complete.
__device__ __forceinline__ void barrier_arrive_copies(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];"
               :: "r"(shared_address(barrier)) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "barrier_arrive_copies_noinc": Function(
        """
// The same; the arrival is one of those that the barrier was initialised with.
__device__ __forceinline__ void barrier_arrive_copies_noinc(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];"
               :: "r"(shared_address(barrier)) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "barrier_wait": Function(
        """
// Returns once the phase of this parity has completed.
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
    "fence_barrier_init": asm("fence_barrier_init()", "fence.mbarrier_init.release.cluster;"),
    "fence_async": asm("fence_async()", "fence.proxy.async.shared::cta;"),
    "fence_async_all": asm("fence_async_all()", "fence.proxy.async;"),
    "named_barrier_sync": asm(
        "named_barrier_sync(int id, int threads)",
        "bar.sync %0, %1;",
        '"r"(id), "r"(threads)',
    ),
    "named_barrier_arrive": asm(
        "named_barrier_arrive(int id, int threads)",
        "bar.arrive %0, %1;",
        '"r"(id), "r"(threads)',
    ),
    "cluster_arrive": asm("cluster_arrive()", "barrier.cluster.arrive.release.aligned;"),
    "cluster_wait": asm("cluster_wait()", "barrier.cluster.wait.acquire.aligned;"),
    "grid_trigger": _from_hopper_on("grid_trigger", "griddepcontrol.launch_dependents;"),
    "grid_wait": _from_hopper_on("grid_wait", "griddepcontrol.wait;"),
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
// True in one lane of a convergent warp.
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
