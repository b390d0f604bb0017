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

static std::byte *reserveAll(int64_t bytes) {
  void *memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "fake device: no room for its addresses\n");
    std::abort();
  }
  return static_cast<std::byte *>(memory);
}

/// What the host does with addresses that are not the device's.
[[noreturn]] static void dieOf(const void *memory, const char *what) {
  std::fprintf(stderr,
               "fake device: %p is %s, but is no memory of the device\n",
               memory, what);
  std::abort();
}

static int64_t roundUp(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Its pages, and one behind them that is nobody's.
int64_t FakeMemory::endOf(const Ranges::value_type &range) {
  return roundUp(range.first + range.second.bytes, kPage) + kPage;
}

FakeMemory::FakeMemory()
    : device(reserveAll(kBytes)), storage(reserveAll(kBytes)) {}

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

int64_t FakeMemory::findPages(int64_t length) {
  int64_t at = findRoom(length + kPage, next);
  if (at < 0)
    at = findRoom(length + kPage, 0);
  if (at >= 0)
    next = at + length + kPage;
  return at;
}

bool FakeMemory::open(int64_t at, int64_t bytes) {
  if (mprotect(storage + at, static_cast<size_t>(bytes),
               PROT_READ | PROT_WRITE) != 0)
    return false;
  std::memset(storage + at, 0xff,
              static_cast<size_t>(std::min(bytes, kFilled)));
  return true;
}

void FakeMemory::close(int64_t at, int64_t bytes) {
  madvise(storage + at, static_cast<size_t>(bytes), MADV_DONTNEED);
  mprotect(storage + at, static_cast<size_t>(bytes), PROT_NONE);
}

std::byte *FakeMemory::allocate(int64_t bytes) {
  if (bytes < 0 || bytes > kBytes)
    return nullptr;
  const int64_t room = std::max(roundUp(bytes, kAlignment), kAlignment);
  const int64_t pages = roundUp(room, kPage);
  std::lock_guard lock(mutex);
  int64_t at = findPages(pages);
  if (at < 0 || !open(at, pages))
    return nullptr;
  at += pages - room;
  taken[at] = {bytes, /*isReserved=*/false};
  return device + at;
}

std::byte *FakeMemory::reserve(int64_t bytes, int64_t page) {
  if (bytes <= 0 || bytes > kBytes)
    return nullptr;
  std::lock_guard lock(mutex);
  int64_t at = findPages(roundUp(bytes, kPage) + page);
  if (at < 0)
    return nullptr;
  const auto address = reinterpret_cast<int64_t>(device) + at;
  at += roundUp(address, page) - address;
  taken[at] = {bytes, /*isReserved=*/true};
  return device + at;
}

bool FakeMemory::map(std::byte *memory, int64_t bytes) {
  std::lock_guard lock(mutex);
  const int64_t at = memory - device;
  auto behind = taken.upper_bound(at);
  if (behind == taken.begin() || bytes <= 0)
    return false;
  const auto &[begin, range] = *std::prev(behind);
  auto next = mapped.lower_bound(at);
  const bool isFree = (next == mapped.end() || at + bytes <= next->first) &&
                      (next == mapped.begin() ||
                       std::prev(next)->first + std::prev(next)->second <= at);
  if (!range.isReserved || at + bytes > begin + range.bytes || !isFree ||
      !open(at, bytes))
    return false;
  mapped[at] = bytes;
  return true;
}

void FakeMemory::unmap(std::byte *memory) {
  std::lock_guard lock(mutex);
  auto found = mapped.find(memory - device);
  if (found == mapped.end())
    dieOf(memory, "unmapped");
  close(found->first, found->second);
  mapped.erase(found);
}

void FakeMemory::release(std::byte *memory) {
  if (!memory)
    return;
  std::lock_guard lock(mutex);
  auto found = taken.find(memory - device);
  if (found == taken.end())
    dieOf(memory, "released");
  const int64_t begin = found->first / kPage * kPage, end = endOf(*found);
  close(begin, end - begin);
  mapped.erase(mapped.lower_bound(begin), mapped.lower_bound(end));
  taken.erase(found);
}

bool FakeMemory::isDevice(const void *memory) const {
  return memory >= device && memory < device + kBytes;
}

/// Several that lie behind each other count as one.
bool FakeMemory::isMapped(int64_t begin, int64_t end) const {
  auto piece = mapped.upper_bound(begin);
  if (piece == mapped.begin())
    return begin == end;
  for (--piece; begin < end; ++piece) {
    if (piece == mapped.end() || piece->first > begin ||
        piece->first + piece->second <= begin)
      return false;
    begin = piece->first + piece->second;
  }
  return true;
}

bool FakeMemory::holds(const void *memory, int64_t bytes) {
  if (!isDevice(memory) || bytes < 0)
    return false;
  std::lock_guard lock(mutex);
  const int64_t offset = static_cast<const std::byte *>(memory) - device;
  auto behind = taken.upper_bound(offset);
  if (behind == taken.begin())
    return false;
  const auto &[begin, range] = *std::prev(behind);
  return offset + bytes <= begin + range.bytes &&
         (!range.isReserved || isMapped(offset, offset + bytes));
}

bool FakeMemory::findRange(const void *memory, int64_t bytes, int64_t &ahead,
                           int64_t &behind) {
  if (!holds(memory, bytes))
    return false;
  std::lock_guard lock(mutex);
  const int64_t offset = static_cast<const std::byte *>(memory) - device;
  const auto &[begin, range] = *std::prev(taken.upper_bound(offset));
  ahead = range.isReserved ? 0 : offset - begin;
  behind = range.isReserved ? bytes : begin + range.bytes - offset;
  return true;
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
