#include "tests/conformance/backend/FakeMemory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace shardc::test {

constexpr int64_t kPage = 4096;
constexpr int64_t kAlignment = 256;  ///< as GPUs allocate
constexpr int64_t kFilled = 1 << 20; ///< more would cost time alone

static std::byte *reserve(int64_t bytes, int protection) {
  void *memory = mmap(nullptr, static_cast<size_t>(bytes), protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "fake device: no room for its addresses\n");
    std::abort();
  }
  return static_cast<std::byte *>(memory);
}

/// Of an allocation: its pages, and one behind them that is nobody's.
static int64_t endOf(const std::pair<const int64_t, int64_t> &taken) {
  return (taken.first + taken.second + kPage - 1) / kPage * kPage + kPage;
}

FakeMemory::FakeMemory()
    : device(reserve(kBytes, PROT_NONE)), storage(reserve(kBytes, PROT_NONE)) {}

FakeMemory &FakeMemory::instance() {
  static auto &memory = *new FakeMemory;
  return memory;
}

/// The first offset from `from` on with so many bytes free; -1 if none.
int64_t FakeMemory::findRoom(int64_t length, int64_t from) const {
  int64_t at = from;
  auto behind = taken.lower_bound(from);
  if (behind != taken.begin())
    at = std::max(at, endOf(*std::prev(behind)));
  for (; behind != taken.end(); ++behind) {
    if (behind->first / kPage * kPage - at >= length)
      break;
    at = endOf(*behind);
  }
  return at + length <= kBytes ? at : -1;
}

std::byte *FakeMemory::allocate(int64_t bytes) {
  if (bytes < 0 || bytes > kBytes)
    return nullptr;
  const int64_t room = std::max<int64_t>(
      (bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  const int64_t pages = (room + kPage - 1) / kPage * kPage;
  std::lock_guard lock(mutex);
  int64_t at = findRoom(pages + kPage, next);
  if (at < 0)
    at = findRoom(pages + kPage, 0);
  if (at < 0 || mprotect(storage + at, static_cast<size_t>(pages),
                         PROT_READ | PROT_WRITE) != 0)
    return nullptr;
  next = at + pages + kPage;
  at += pages - room;
  taken.emplace(at, bytes);
  std::memset(storage + at, 0xff,
              static_cast<size_t>(std::min(bytes, kFilled)));
  return device + at;
}

void FakeMemory::release(std::byte *memory) {
  if (!memory)
    return;
  std::lock_guard lock(mutex);
  auto found = taken.find(memory - device);
  if (found == taken.end()) {
    std::fprintf(stderr,
                 "fake device: %p is released, but is no memory of "
                 "the device\n",
                 static_cast<void *>(memory));
    std::abort();
  }
  const int64_t begin = found->first / kPage * kPage;
  const auto length = static_cast<size_t>(endOf(*found) - begin);
  madvise(storage + begin, length, MADV_DONTNEED);
  mprotect(storage + begin, length, PROT_NONE);
  taken.erase(found);
}

bool FakeMemory::isDevice(const void *memory) const {
  return memory >= device && memory < device + kBytes;
}

bool FakeMemory::holds(const void *memory, int64_t bytes) {
  if (!isDevice(memory) || bytes < 0)
    return false;
  std::lock_guard lock(mutex);
  const int64_t offset = static_cast<const std::byte *>(memory) - device;
  auto behind = taken.upper_bound(offset);
  return behind != taken.begin() &&
         offset + bytes <= std::prev(behind)->first + std::prev(behind)->second;
}

std::byte *FakeMemory::stored(const std::byte *memory, int64_t bytes) {
  if (holds(memory, bytes))
    return storage + (memory - device);
  std::fprintf(stderr,
               "fake device: %lld bytes at %p are used, but are not the "
               "device's, or were released\n",
               static_cast<long long>(bytes),
               static_cast<const void *>(memory));
  std::abort();
}

} // namespace shardc::test
