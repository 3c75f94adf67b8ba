/// PTX instructions of compute capability 9.0 without an equivalent in CUDA C++, one function each. Addresses of shared
/// memory are 32-bit. The emulator has its own versions (hopper_emulated.hpp). Source: NVIDIA PTX ISA.
#pragma once

#ifndef __CUDACC__
#include "gpu/simt/hopper_emulated.hpp"
#else

#include <cuda.h>

#include <cstdint>

namespace rung::hopper {

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Hides the origin of x from the compiler, which then cannot recompute or simplify it.
__device__ __forceinline__ std::uint32_t opaque(std::uint32_t x) {
  asm volatile("" : "+r"(x));
  return x;
}

// ---- mbarriers ----

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

/// Makes initialised barriers visible to TMA.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Arrives, and sets the number of bytes that TMA will write in this phase.
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives at the same barrier of another block of the cluster. Relaxed, since the thread wrote nothing that the other
/// block reads: .release would put a MEMBAR.GPU into the loop.
__device__ __forceinline__ void barrier_arrive_at(std::uint32_t barrier, int block) {
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %0, %1;\n"
      " mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(block)
      : "memory");
}

/// A barrier for all threads of all blocks of the cluster.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/// The same where no thread reads what another one wrote before the barrier: .release would wait for all its writes to
/// memory.
__device__ __forceinline__ void cluster_meeting() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ int block_in_cluster() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// If `wanted` is not 0, waits with a whole warp for the end of a phase. The vote makes the branch uniform; without it
/// the compiler inserts a YIELD into the loop, which is slow.
__device__ __forceinline__ void barrier_wait_if(std::uint32_t wanted, std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n .reg .pred p;\n setp.eq.u32 p, %2, 0;\n @p bra.uni done;\n"
      "again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      " vote.sync.all.pred p, p, 0xFFFFFFFF;\n"
      " @p bra.uni done;\n bra.uni again;\ndone:\n}" ::"r"(barrier),
      "r"(parity), "r"(wanted)
      : "memory");
}

__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n .reg .pred p;\n"
      "again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      " vote.sync.all.pred p, p, 0xFFFFFFFF;\n"
      " @p bra.uni done;\n bra.uni again;\ndone:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// A named barrier of the block, for `kThreads` of its threads.
template <int kId, int kThreads>
__device__ __forceinline__ void named_barrier() {
  asm volatile("bar.sync %0, %1;" ::"n"(kId), "n"(kThreads) : "memory");
}

/// Arrives at a named barrier without waiting for the others.
template <int kId, int kThreads>
__device__ __forceinline__ void named_arrive() {
  asm volatile("bar.arrive %0, %1;" ::"n"(kId), "n"(kThreads) : "memory");
}

// ---- Memory ----

/// Fetches a tensor map early: otherwise the first load that uses it would wait for it.
__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Loads the box of a matrix that begins at column x of row y.
__device__ __forceinline__ void tma_load(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x,
                                         int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          to),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

/// The same into all blocks of the cluster whose bit is set in `blocks`, at the same place, signalling the mbarrier of
/// each.
__device__ __forceinline__ void tma_multicast(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x,
                                              int y, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(blocks)
      : "memory");
}

/// Stores a box from shared memory, which must not be overwritten until the issuing thread has passed the wait below.
/// The stored data are the first to be evicted from L2, so that other blocks' inputs stay there.
__device__ __forceinline__ void tma_store(const CUtensorMap* map, std::uint32_t from, int x, int y) {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%2, %3}], [%1], %4;" ::"l"(map),
      "r"(from), "r"(x), "r"(y), "l"(policy)
      : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Copies a line of bytes, a multiple of 16, from and to multiples of 16: the same without a tensor map.
__device__ __forceinline__ void bulk_load(std::uint32_t to, const void* from, int bytes, std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
/// Fetches into L2, without waiting.
__device__ __forceinline__ void bulk_prefetch(const void* from, int bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_store(void* to, std::uint32_t from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until all of the thread's stores except `kLeft` have read shared memory.
template <int kLeft>
__device__ __forceinline__ void tma_store_wait() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeft) : "memory");
}
/// Makes what this thread wrote to shared memory visible to TMA.
__device__ __forceinline__ void publish_to_tma() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- Copies of single elements, without waiting ----

/// Copies an element of global memory, or 0 if it is not `inside`, where it is not read.
__device__ __forceinline__ void copy_element(std::uint32_t to, const float* from, bool inside) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(inside ? 4 : 0) : "memory");
}
/// Arrives when all copies that the thread has begun are complete.
__device__ __forceinline__ void barrier_arrive_after_copies(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void wait_for_all_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/// The stage from which the next fragments are read. After the last stage it is still `next`, which is not filled any
/// more: the values read are not used, and a choice would cost instructions. The emulator, which reports such reads,
/// takes `present`.
__device__ __forceinline__ std::uint32_t read_ahead_from(std::uint32_t next, std::uint32_t /*present*/,
                                                         bool /*is_last*/) {
  return next;
}

// These two are volatile, so that the compiler's front end keeps their order.
__device__ __forceinline__ void read_shared(float (&to)[4], std::uint32_t address) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(address));
}
__device__ __forceinline__ float read_shared_element(std::uint32_t address) {
  float element;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(element) : "r"(address));
  return element;
}
__device__ __forceinline__ void fma_into(float& sum, float a, float b) {
  asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(a), "f"(b));
}

__device__ __forceinline__ void write_shared(std::uint32_t address, const float* quad) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(quad[0]), "f"(quad[1]), "f"(quad[2]),
               "f"(quad[3])
               : "memory");
}

/// The same address in another block of the cluster, and a read of a float4 there.
__device__ __forceinline__ std::uint32_t address_in(int block, std::uint32_t address) {
  std::uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
  return there;
}
__device__ __forceinline__ float4 read_cluster(std::uint32_t address) {
  float4 quad;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(quad.x), "=f"(quad.y), "=f"(quad.z), "=f"(quad.w)
               : "r"(address));
  return quad;
}
__device__ __forceinline__ void write_shared_pair(std::uint32_t address, float2 pair) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(pair.x), "f"(pair.y) : "memory");
}

__device__ __forceinline__ void write_shared_pair(std::uint32_t address, int2 pair) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(pair.x), "r"(pair.y) : "memory");
}

__device__ __forceinline__ void release(unsigned* flag, unsigned value) {
  asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
__device__ __forceinline__ unsigned acquire(const unsigned* flag) {
  unsigned value;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

// ---- Warps and kernels ----

/// True in exactly one lane of a whole warp; the compiler can rely on that.
__device__ __forceinline__ bool elect_one() {
  std::uint32_t chosen;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, 0xFFFFFFFF;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(chosen));
  return chosen != 0;
}

/// Raises or lowers the number of registers of a warpgroup's threads. Only sm_90a has the instruction: in code for
/// plain sm_90, which some builds of nvcc emit as well, it has no effect.
template <int kRegisters>
__device__ __forceinline__ void more_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}
template <int kRegisters>
__device__ __forceinline__ void fewer_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}

// Programmatic dependent launch: the second kernel waits for the end of the first, which allows it to start early.
__device__ __forceinline__ void wait_for_previous_kernel() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void allow_next_kernel() { asm volatile("griddepcontrol.launch_dependents;"); }

// ---- Numbers ----

/// The nearest FP16 of two numbers, the first in the lower half; and the numbers of two FP16.
__device__ __forceinline__ std::uint32_t halves_of(float2 pair) {
  std::uint32_t halves;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(halves) : "f"(pair.y), "f"(pair.x));
  return halves;
}
__device__ __forceinline__ float2 floats_of(std::uint32_t halves) {
  float2 pair;
  asm("{\n .reg .b16 x, y;\n mov.b32 {x, y}, %2;\n cvt.f32.f16 %0, x;\n cvt.f32.f16 %1, y;\n}"
      : "=f"(pair.x), "=f"(pair.y)
      : "r"(halves));
  return pair;
}

}  // namespace rung::hopper

#endif
