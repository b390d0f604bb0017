//===- FakeMemory.h - Device memory that the host cannot touch ------------===//
//
// Addresses of the fake device lie in pages without access, so that a host that
// follows one dies at once. What is stored lies elsewhere, at the same offsets:
//
//   device   [ no access ........ 0x7000 ........ ]
//   stored   [ ................... bytes ......... ]
//
// Fresh memory begins with ones: NaN, -1, and no address. It ends where a
// page ends, and what is stored behind it has no access either, so that work of
// the device that runs over its end dies, too; freed addresses come back late.
// Addresses may be reserved alone, and memory mapped behind parts of them.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_BACKEND_FAKEMEMORY_H
#define SHARDC_TESTS_CONFORMANCE_BACKEND_FAKEMEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace shardc::test {

/// Of all fake devices, so that a pointer says by itself where it belongs.
class FakeMemory {
public:
  static FakeMemory &instance();

  std::byte *allocate(int64_t bytes);
  /// What was allocated or reserved, with all that is mapped there.
  void release(std::byte *memory);

  /// Addresses, from a multiple of `page` on, with nothing behind them.
  std::byte *reserve(int64_t bytes, int64_t page);
  /// Puts memory behind pages that were reserved and have none.
  [[nodiscard]] bool map(std::byte *memory, int64_t bytes);
  /// Takes away what was mapped as one.
  void unmap(std::byte *memory);

  bool isDevice(const void *memory) const;
  /// Whether [memory, memory + bytes) is all in one allocation, or all mapped
  /// in one reservation.
  bool holds(const void *memory, int64_t bytes);
  /// If it does, how far that allocation, or what is mapped as one, reaches
  /// ahead of `memory` and behind it.
  bool findRange(const void *memory, int64_t bytes, int64_t &ahead,
                 int64_t &behind);
  /// What to add to an address of the device to be where it is stored.
  std::ptrdiff_t distance() const { return storage - device; }
  /// Where [memory, memory + bytes) of the device is stored; ends the program
  /// where it is not all in one allocation that is still there.
  std::byte *stored(const std::byte *memory, int64_t bytes);
  /// The same for an address alone, which may be just behind the allocation.
  std::byte *stored(const std::byte *memory) { return stored(memory, 0); }

private:
  FakeMemory();
  static constexpr int64_t kBytes = int64_t{64} << 30; ///< of addresses alone
  struct Taken {
    int64_t bytes;
    bool isReserved; ///< only what is mapped there is memory
  };
  using Ranges = std::map<int64_t, Taken>;
  static int64_t endOf(const Ranges::value_type &range);
  int64_t findRoom(int64_t length, int64_t from) const;
  /// An offset for pages that are nobody's, -1: none.
  int64_t findPages(int64_t length);
  bool open(int64_t at, int64_t bytes);
  void close(int64_t at, int64_t bytes);
  bool isMapped(int64_t begin, int64_t end) const;

  std::byte *device;
  std::byte *storage;
  std::mutex mutex;
  int64_t next = 0;                  ///< where room is looked for first
  Ranges taken;                      ///< by offset
  std::map<int64_t, int64_t> mapped; ///< bytes by offset
};

} // namespace shardc::test

#endif // SHARDC_TESTS_CONFORMANCE_BACKEND_FAKEMEMORY_H
