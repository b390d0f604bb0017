#include "tests/conformance/backend/FakeMemory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace shardc::test {

static std::byte *reserve(int64_t bytes, int protection) {
  void *memory = mmap(nullptr, static_cast<size_t>(bytes), protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "fake device: no room for its addresses\n");
    std::abort();
  }
  return static_cast<std::byte *>(memory);
}

FakeMemory::FakeMemory()
    : device(reserve(kBytes, PROT_NONE)),
      storage(reserve(kBytes, PROT_READ | PROT_WRITE)) {}

FakeMemory &FakeMemory::instance() {
  static auto &memory = *new FakeMemory;
  return memory;
}

std::byte *FakeMemory::allocate(int64_t bytes) {
  // Whole pages, and one between neighbours that is nobody's.
  constexpr int64_t kPage = 4096;
  const int64_t length = (bytes / kPage + 2) * kPage;
  std::lock_guard lock(mutex);
  int64_t at = 0;
  for (const auto &[offset, size] : taken) {
    if (offset - at >= length)
      break;
    at = offset + (size / kPage + 2) * kPage;
  }
  if (bytes < 0 || at + length > kBytes)
    return nullptr;
  taken.emplace(at, bytes);
  std::memset(storage + at, 0xff, static_cast<size_t>(bytes));
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
  madvise(storage + found->first, static_cast<size_t>(found->second + 1),
          MADV_DONTNEED);
  taken.erase(found);
}

bool FakeMemory::isDevice(const void *memory) const {
  return memory >= device && memory < device + kBytes;
}

std::byte *FakeMemory::stored(const std::byte *memory, int64_t bytes) {
  std::lock_guard lock(mutex);
  const int64_t offset = memory - device;
  auto next = taken.upper_bound(offset);
  if (isDevice(memory) && next != taken.begin()) {
    auto in = std::prev(next);
    if (offset + bytes <= in->first + in->second ||
        (bytes == 0 && in->second == 0))
      return storage + offset;
  }
  std::fprintf(stderr,
               "fake device: %lld bytes at %p are used, but are not the "
               "device's, or were released\n",
               static_cast<long long>(bytes),
               static_cast<const void *>(memory));
  std::abort();
}

} // namespace shardc::test
