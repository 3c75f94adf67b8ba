/// The functions of hopper_ptx.hpp for the emulator, which has the same units (common/emulator/async.hpp).
#pragma once

#include <atomic>
#include <cstring>

#include "common/emulator/async.hpp"
#include "common/problem/narrow_float.hpp"
#include "gpu/host/tensor_map.hpp"
#include "gpu/simt/simt.hpp"

namespace rung::hopper {
inline namespace RUNG_EMULATION {

RUNG_INLINE std::uint32_t shared_address(const void* p, Where where = Where::current()) {
  return shared_address_of(p, where);
}
RUNG_INLINE std::uint32_t opaque(std::uint32_t x) { return x; }

// ---- mbarriers ----

RUNG_INLINE void barrier_init(std::uint32_t barrier, int count, Where where = Where::current()) {
  init_mbarrier(barrier, count, where);
}
RUNG_INLINE void publish_barriers() { fence_for_units(); }
RUNG_INLINE void barrier_expect(std::uint32_t barrier, int bytes, Where where = Where::current()) {
  arrive_at_mbarrier(barrier, bytes, -1, where);
}
RUNG_INLINE void barrier_arrive(std::uint32_t barrier, Where where = Where::current()) {
  arrive_at_mbarrier(barrier, 0, -1, where);
}
RUNG_INLINE void barrier_arrive_at(std::uint32_t barrier, int block, Where where = Where::current()) {
  arrive_at_mbarrier(barrier, 0, block, where);
}
RUNG_INLINE void cluster_barrier(Where where = Where::current()) { meet_cluster(where); }
RUNG_INLINE void cluster_meeting(Where where = Where::current()) { meet_cluster(where); }
RUNG_INLINE int block_in_cluster() { return rank_in_cluster(); }
RUNG_INLINE void barrier_wait(std::uint32_t barrier, std::uint32_t parity, Where where = Where::current()) {
  wait_for_phase(barrier, parity, where);
}
RUNG_INLINE void barrier_wait_if(std::uint32_t wanted, std::uint32_t barrier, std::uint32_t parity,
                                 Where where = Where::current()) {
  if (wanted != 0) wait_for_phase(barrier, parity, where);
}
template <int kId, int kThreads>
RUNG_INLINE void named_barrier(Where where = Where::current()) {
  arrive_at_named_barrier(kId, kThreads, true, where);
}
template <int kId, int kThreads>
RUNG_INLINE void named_arrive(Where where = Where::current()) {
  arrive_at_named_barrier(kId, kThreads, false, where);
}

// ---- Memory ----

RUNG_INLINE void prefetch_map(const CUtensorMap*) {}
RUNG_INLINE void tma_load(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x, int y,
                          Where where = Where::current()) {
  load_box(to, *map, barrier, x, y, 0, where);
}
RUNG_INLINE void tma_multicast(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int x, int y,
                               std::uint16_t blocks, Where where = Where::current()) {
  load_box(to, *map, barrier, x, y, blocks, where);
}
RUNG_INLINE void tma_store(const CUtensorMap* map, std::uint32_t from, int x, int y, Where where = Where::current()) {
  store_box(*map, from, x, y, where);
}
RUNG_INLINE void bulk_load(std::uint32_t to, const void* from, int bytes, std::uint32_t barrier,
                           Where where = Where::current()) {
  load_line(to, from, bytes, barrier, where);
}
RUNG_INLINE void bulk_prefetch(const void*, int) {}  // the contents of L2 are not modelled
RUNG_INLINE void bulk_store(void* to, std::uint32_t from, int bytes, Where where = Where::current()) {
  store_line(to, from, bytes, where);
}
template <int kLeft>
RUNG_INLINE void tma_store_wait() {
  wait_for_stores(kLeft);
}
RUNG_INLINE void publish_to_tma() { fence_for_units(); }

RUNG_INLINE void copy_element(std::uint32_t to, const mem<float>* from, bool inside, Where where = Where::current()) {
  begin_copy(shared_memory_at(to, sizeof(float), where), from, sizeof(float), inside ? 0 : sizeof(float));
}
RUNG_INLINE void barrier_arrive_after_copies(std::uint32_t barrier, Where where = Where::current()) {
  arrive_at_mbarrier_after_copies(barrier, where);
}
RUNG_INLINE void wait_for_all_copies() { await_copies(0); }

/// The element of shared memory at an address.
template <typename Vector>
RUNG_INLINE mem<Vector>& shared_element(std::uint32_t address, Where where) {
  return *static_cast<mem<Vector>*>(shared_memory_at(address, sizeof(Vector), where));
}
RUNG_INLINE std::uint32_t read_ahead_from(std::uint32_t next, std::uint32_t present, bool is_last) {
  return is_last ? present : next;
}
RUNG_INLINE void read_shared(reg<float> (&to)[4], std::uint32_t address, Where where = Where::current()) {
  const float4 quad = shared_element<float4>(address, where);
  to[0] = quad.x, to[1] = quad.y, to[2] = quad.z, to[3] = quad.w;
}
RUNG_INLINE float read_shared_element(std::uint32_t address, Where where = Where::current()) {
  return shared_element<float>(address, where);
}
RUNG_INLINE void fma_into(reg<float>& sum, reg<float> a, reg<float> b) { sum = fmaf(a, b, sum); }
RUNG_INLINE void write_shared(std::uint32_t address, const reg<float>* quad, Where where = Where::current()) {
  shared_element<float4>(address, where) = make_float4(quad[0], quad[1], quad[2], quad[3]);
}
RUNG_INLINE std::uint32_t address_in(int block, std::uint32_t address) { return address_in_block(block, address); }
/// Not counted: the memory is another block's.
RUNG_UNTRACED inline float4 read_cluster(std::uint32_t address, Where where = Where::current()) {
  check_cluster_read(address, sizeof(float4), where);
  float4 quad;
  std::memcpy(static_cast<void*>(&quad), shared_memory_at(address, sizeof quad, where), sizeof quad);
  return quad;
}
RUNG_INLINE void write_shared_pair(std::uint32_t address, float2 pair, Where where = Where::current()) {
  shared_element<float2>(address, where) = pair;
}
RUNG_INLINE void write_shared_pair(std::uint32_t address, int2 pair, Where where = Where::current()) {
  shared_element<int2>(address, where) = pair;
}

RUNG_INLINE void release(unsigned* flag, unsigned value) { release_flag(flag, value); }
RUNG_INLINE unsigned acquire(const unsigned* flag) { return acquire_flag(flag); }

// ---- Warps and kernels ----

RUNG_INLINE bool elect_one(Where where = Where::current()) {
  converge_warp(ConvergencePoint::election, ~0u, 0, where);
  return lane_of_thread() == 0;
}
template <int kRegisters>
RUNG_INLINE void more_registers() {}
template <int kRegisters>
RUNG_INLINE void fewer_registers() {}
RUNG_INLINE void wait_for_previous_kernel() {}
RUNG_INLINE void allow_next_kernel() {}

// ---- Numbers ----

RUNG_INLINE std::uint32_t halves_of(float2 pair) {
  return to_fp16(static_cast<float>(pair.x)) | std::uint32_t{to_fp16(static_cast<float>(pair.y))} << 16;
}
RUNG_INLINE float2 floats_of(std::uint32_t halves) {
  return make_float2(from_fp16(static_cast<Fp16>(halves & 0xffff)), from_fp16(static_cast<Fp16>(halves >> 16)));
}

}  // namespace RUNG_EMULATION
}  // namespace rung::hopper
