#include "runtime/device/host/HostPages.h"

#include <sys/mman.h>

namespace shardc::runtime {
namespace {

size_t roundToPages(int64_t bytes) {
  return static_cast<size_t>((bytes + kHostPage - 1) / kHostPage * kHostPage);
}

class HostPages final : public GrowingMemory {
public:
  HostPages(std::byte *memory, int64_t bytes) : GrowingMemory(memory, bytes) {}
  ~HostPages() override { munmap(memory, roundToPages(length)); }

private:
  bool grow(int64_t bytes) override {
    const size_t end = roundToPages(bytes);
    if (mprotect(memory, end, PROT_READ | PROT_WRITE) != 0)
      return false;
    taken = static_cast<int64_t>(end);
    return true;
  }
};

} // namespace

std::unique_ptr<GrowingMemory> reserveHostPages(int64_t bytes) {
  // Not MAP_NORESERVE: where the system counts, mprotect is to say that there
  // is no memory, rather than that a kernel dies of it.
  void *memory = mmap(nullptr, roundToPages(bytes), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  return std::make_unique<HostPages>(static_cast<std::byte *>(memory), bytes);
}

} // namespace shardc::runtime
