#include "runtime/base/AlignedBuffer.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdlib>

namespace shardc::runtime {
namespace {

/// Aligned to huge pages, which the system may or may not have left; null where
/// there is no memory. What does not fill one lies in small pages: of a huge one
/// all would be taken, and memory is counted before it is (HostNeeds.h).
std::byte *allocateHugePages(int64_t bytes) {
  const int64_t whole = bytes & ~(kHugePage - 1);
  auto *memory = static_cast<std::byte *>(std::aligned_alloc(
      static_cast<size_t>(kHugePage), static_cast<size_t>(whole + kHugePage)));
#ifdef MADV_HUGEPAGE
  if (memory) {
    (void)madvise(memory, static_cast<size_t>(whole), MADV_HUGEPAGE);
    (void)madvise(memory + whole, static_cast<size_t>(kHugePage),
                  MADV_NOHUGEPAGE);
  }
#endif
  return memory;
}

} // namespace

std::byte *allocateAligned(int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX - 2 * kHugePage)
    return nullptr;
  if (bytes >= 2 * kHugePage)
    return allocateHugePages(bytes);
  return static_cast<std::byte *>(
      std::aligned_alloc(static_cast<size_t>(kBufferAlignment),
                         static_cast<size_t>(alignBuffer(bytes ? bytes : 1))));
}

} // namespace shardc::runtime
