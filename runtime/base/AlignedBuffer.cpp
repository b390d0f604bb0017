#include "runtime/base/AlignedBuffer.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdlib>

namespace shardc::runtime {
namespace {

constexpr int64_t kHugePage = int64_t(2) << 20;

/// Aligned and rounded up to huge pages, which the system may or may not have
/// left; null where there is no memory.
std::byte *allocateHugePages(int64_t bytes) {
  const int64_t rounded = (bytes + kHugePage - 1) & ~(kHugePage - 1);
  void *memory = std::aligned_alloc(static_cast<size_t>(kHugePage),
                                    static_cast<size_t>(rounded));
#ifdef MADV_HUGEPAGE
  if (memory)
    (void)madvise(memory, static_cast<size_t>(rounded), MADV_HUGEPAGE);
#endif
  return static_cast<std::byte *>(memory);
}

} // namespace

std::byte *allocateAligned(int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX - kHugePage)
    return nullptr;
  if (bytes >= 2 * kHugePage) // at most a third of it is left over
    return allocateHugePages(bytes);
  return static_cast<std::byte *>(
      std::aligned_alloc(static_cast<size_t>(kBufferAlignment),
                         static_cast<size_t>(alignBuffer(bytes ? bytes : 1))));
}

} // namespace shardc::runtime
