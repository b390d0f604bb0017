#include "tests/conformance/cuda/SimulatedAccess.h"

#include "runtime/device/cuda/kernels/Launch.h"
#include "tests/conformance/backend/FakeMemory.h"
#include "tests/conformance/cuda/SimulatedDevice.h"
#include "tests/conformance/cuda/SimulatedStream.h"

#include <cstdio>
#include <string>
#include <vector>

namespace shardc::testing {
namespace {

constexpr uint32_t kWarps = 1024 / warpSize;
/// In the place of a thread or a warp: more than one.
constexpr uint16_t kSeveral = 0xffff;

/// Who used a byte last, in which stretch between barriers.
struct Use {
  uint32_t ofBlock = 0, ofWarp = 0; ///< numbers of the stretches
  uint16_t thread = 0;
  bool isAtomic = false;

  uint16_t warp() const {
    return thread == kSeveral ? kSeveral
                              : static_cast<uint16_t>(thread / warpSize);
  }
};

/// `warp` stays known where several of its threads have read.
struct SharedByte {
  Use written, read;
  uint16_t readingWarp = 0;
};

/// Of this thread of the host, which runs one block at a time. Stretches are
/// numbered on from block to block, so that nothing is cleared.
struct Watch {
  bool isRunning = false;
  uint16_t thread = 0;
  uintptr_t begin = 0, end = 0; ///< of shared memory
  uint32_t ofBlock = 1;
  uint32_t ofWarp[kWarps] = {};
  SharedByte *bytes = nullptr;
  /// Allocations that were used last.
  struct Range {
    uintptr_t begin = 1, end = 0;
  } known[8];
  unsigned next = 0;
};
constinit thread_local Watch watch;
thread_local std::vector<SharedByte> sharedBytes; ///< owns `watch.bytes`

/// What the simulation has behind shared memory, which is nobody's.
constexpr uintptr_t kBehind = 4096;

[[noreturn]] void refuseRace(uint16_t other, bool isRead, Access access) {
  auto nameOf = [](uint16_t thread) {
    return thread == kSeveral ? std::string("others") : std::to_string(thread);
  };
  refuseInKernel(("a race in shared memory: thread " +
                  std::to_string(watch.thread) +
                  (access == Access::Read ? " reads" : " writes") + " what " +
                  nameOf(other) + (isRead ? " read" : " wrote") +
                  " without a barrier between them")
                     .c_str());
}

/// Whether a use of another thread has no barrier behind it.
bool isOpen(const Use &use, uint16_t warp) {
  if (use.ofBlock != watch.ofBlock || use.thread == watch.thread)
    return false;
  const auto mine = static_cast<uint16_t>(watch.thread / warpSize);
  return warp != mine || use.ofWarp == watch.ofWarp[mine];
}

void useShared(SharedByte &byte, Access access) {
  const auto warp = static_cast<uint16_t>(watch.thread / warpSize);
  const bool isAtomic = access == Access::Atomic;
  const Use now = {watch.ofBlock, watch.ofWarp[warp], watch.thread, isAtomic};
  if (isOpen(byte.written, byte.written.warp()) &&
      !(isAtomic && byte.written.isAtomic))
    refuseRace(byte.written.thread, false, access);
  if (access != Access::Read) {
    if (isOpen(byte.read, byte.readingWarp))
      refuseRace(byte.read.thread, true, access);
    // A plain write of this thread stays one for those of the others.
    const bool wasPlain = byte.written.ofBlock == now.ofBlock &&
                          byte.written.ofWarp == now.ofWarp &&
                          byte.written.thread == now.thread &&
                          !byte.written.isAtomic;
    byte.written = now;
    byte.written.isAtomic &= !wasPlain;
    return;
  }
  if (byte.read.ofBlock != now.ofBlock) {
    byte.read = now;
    byte.readingWarp = warp;
  } else if (byte.readingWarp != warp) {
    byte.readingWarp = byte.read.thread = kSeveral;
  } else if (byte.read.ofWarp != now.ofWarp) {
    byte.read = now;
  } else if (byte.read.thread != now.thread) {
    byte.read.thread = kSeveral;
  }
}

/// Memory of a GPU, which is in no allocation that was used before.
void findAllocation(uintptr_t at, size_t bytes, Access access) {
  test::FakeMemory &memory = test::FakeMemory::instance();
  const auto *device =
      reinterpret_cast<const std::byte *>(at) - memory.distance();
  if (!memory.isDevice(device))
    return; // the thread's own, or the launch's arguments
  int64_t begin = 0, end = 0;
  if (!memory.findRange(device, static_cast<int64_t>(bytes), begin, end))
    refuseInKernel((std::to_string(bytes) + " bytes that a kernel " +
                    (access == Access::Read ? "reads" : "writes") +
                    " are not all in one allocation")
                       .c_str());
  // No peer access is ever enabled here.
  const int owner = simulatedOwner(device), mine = simulatedRunningDevice();
  if (owner >= 0 && mine >= 0 && owner != mine)
    refuseInKernel(("a kernel of cuda:" + std::to_string(mine) +
                    " uses memory of cuda:" + std::to_string(owner))
                       .c_str());
  Watch::Range &range = watch.known[watch.next++ % std::size(watch.known)];
  range.begin = at - static_cast<uintptr_t>(begin);
  range.end = at + static_cast<uintptr_t>(end);
}

} // namespace

void beginSimulatedThread(unsigned thread) {
  watch.thread = static_cast<uint16_t>(thread);
  watch.isRunning = true;
}

void endSimulatedThread() { watch.isRunning = false; }

void watchShared(const std::byte *memory, size_t bytes) {
  watch.begin = reinterpret_cast<uintptr_t>(memory);
  watch.end = watch.begin + bytes;
  if (sharedBytes.size() < bytes)
    sharedBytes.resize(bytes);
  watch.bytes = sharedBytes.data();
  barrierOfBlock();
  for (Watch::Range &range : watch.known) // may have been freed
    range = {};
}

void barrierOfBlock() { ++watch.ofBlock; }
void barrierOfWarp(size_t warp) { ++watch.ofWarp[warp]; }

void noteAccess(const void *memory, size_t bytes, Access access) {
  if (!watch.isRunning || bytes == 0)
    return;
  const auto at = reinterpret_cast<uintptr_t>(memory);
  if (at >= watch.begin && at < watch.end + kBehind) {
    if (at + bytes > watch.end)
      refuseInKernel("a kernel leaves shared memory");
    for (uintptr_t i = at; i < at + bytes; ++i)
      useShared(watch.bytes[i - watch.begin], access);
    return;
  }
  for (const Watch::Range &range : watch.known)
    if (at >= range.begin && at + bytes <= range.end)
      return;
  findAllocation(at, bytes, access);
}

} // namespace shardc::testing

using namespace shardc::testing;

// What GCC and Clang call. Symbols of the library itself are not there.
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void **) {}
void __tsan_vptr_update(void **, void *) {}

#define SHARDC_ACCESS(bytes)                                                   \
  void __tsan_read##bytes(void *at) { noteAccess(at, bytes, Access::Read); }   \
  void __tsan_write##bytes(void *at) { noteAccess(at, bytes, Access::Write); } \
  void __tsan_unaligned_read##bytes(void *at) {                                \
    noteAccess(at, bytes, Access::Read);                                       \
  }                                                                            \
  void __tsan_unaligned_write##bytes(void *at) {                               \
    noteAccess(at, bytes, Access::Write);                                      \
  }                                                                            \
  void __tsan_volatile_read##bytes(void *at) {                                 \
    noteAccess(at, bytes, Access::Read);                                       \
  }                                                                            \
  void __tsan_volatile_write##bytes(void *at) {                                \
    noteAccess(at, bytes, Access::Write);                                      \
  }
SHARDC_ACCESS(1)
SHARDC_ACCESS(2)
SHARDC_ACCESS(4)
SHARDC_ACCESS(8)
SHARDC_ACCESS(16)
#undef SHARDC_ACCESS

void __tsan_read_range(void *at, size_t bytes) {
  noteAccess(at, bytes, Access::Read);
}
void __tsan_write_range(void *at, size_t bytes) {
  noteAccess(at, bytes, Access::Write);
}

// Of host code beside the kernels: counts of shared_ptr, std::atomic.
#define SHARDC_ATOMIC(bits, type)                                              \
  type __tsan_atomic##bits##_load(const volatile type *at, int) {              \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                              \
  }                                                                            \
  void __tsan_atomic##bits##_store(volatile type *at, type value, int) {       \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                             \
  }                                                                            \
  type __tsan_atomic##bits##_exchange(volatile type *at, type value, int) {    \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                   \
  }                                                                            \
  type __tsan_atomic##bits##_fetch_add(volatile type *at, type value, int) {   \
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                    \
  }                                                                            \
  type __tsan_atomic##bits##_fetch_sub(volatile type *at, type value, int) {   \
    return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);                    \
  }                                                                            \
  int __tsan_atomic##bits##_compare_exchange_strong(                           \
      volatile type *at, type *expected, type value, int, int) {               \
    return __atomic_compare_exchange_n(at, expected, value, false,             \
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
  }
SHARDC_ATOMIC(8, uint8_t)
SHARDC_ATOMIC(32, uint32_t)
SHARDC_ATOMIC(64, uint64_t)
#undef SHARDC_ATOMIC

} // extern "C"
