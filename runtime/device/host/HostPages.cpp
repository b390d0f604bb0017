#include "runtime/device/host/HostPages.h"

#include "runtime/base/AlignedBuffer.h"

#include <sys/mman.h>

namespace shardc::runtime {
namespace {

/// From so many bytes on memory that fills from the front lies in huge pages: of the
/// last one the system takes what nobody has touched, which is a sixteenth at most.
constexpr int64_t kManyHugePages = 16 * kHugePage;

size_t roundToPages(int64_t bytes) {
  return static_cast<size_t>((bytes + kHostPage - 1) / kHostPage * kHostPage);
}

/// Addresses that the system has given: some are left unused before huge pages.
struct Addresses {
  std::byte *first;
  size_t bytes;
};

class HostPages final : public GrowingMemory {
public:
  HostPages(Addresses all, std::byte *memory, int64_t bytes)
      : GrowingMemory(memory, bytes), all(all) {}
  ~HostPages() override { munmap(all.first, all.bytes); }

  void fillsFromFront() override {
#ifdef MADV_HUGEPAGE
    if (length >= kManyHugePages)
      (void)madvise(memory, roundToPages(length), MADV_HUGEPAGE);
#endif
  }

private:
  bool grow(int64_t bytes) override {
    const size_t end = roundToPages(bytes);
    if (mprotect(memory, end, PROT_READ | PROT_WRITE) != 0)
      return false;
    taken = static_cast<int64_t>(end);
    return true;
  }

  Addresses all;
};

} // namespace

std::unique_ptr<GrowingMemory> reserveHostPages(int64_t bytes) {
  const bool isAligned = bytes >= kManyHugePages;
  const size_t whole =
      roundToPages(bytes) + (isAligned ? size_t(kHugePage) : 0);
  // Not MAP_NORESERVE: where the system counts, mprotect is to say that there
  // is no memory, rather than that a kernel dies of it.
  void *addresses =
      mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (addresses == MAP_FAILED)
    return nullptr;
  auto *memory = static_cast<std::byte *>(addresses);
  const Addresses all{memory, whole};
  if (isAligned)
    memory += -reinterpret_cast<uintptr_t>(memory) & uintptr_t(kHugePage - 1);
#ifdef MADV_NOHUGEPAGE // as some systems would have all memory in huge ones
  (void)madvise(memory, roundToPages(bytes), MADV_NOHUGEPAGE);
#endif
  return std::make_unique<HostPages>(all, memory, bytes);
}

} // namespace shardc::runtime
