//===- AlignedBuffer.h - Memory for tensors -------------------------------===//
//
// Owns uninitialised memory aligned to 64 bytes (a cache line, an AVX-512
// register). Running out of memory is an answer, not an exception.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_ALIGNEDBUFFER_H
#define SHARDC_RUNTIME_BASE_ALIGNEDBUFFER_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace shardc::runtime {

inline constexpr int64_t kBufferAlignment = 64;
/// What the system takes at once where memory is large.
inline constexpr int64_t kHugePage = int64_t(2) << 20;

/// The next multiple of kBufferAlignment; `bytes` at most INT64_MAX - 63.
constexpr int64_t alignBuffer(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) & ~(kBufferAlignment - 1);
}

/// Uninitialised memory aligned to kBufferAlignment, which std::free releases;
/// null if there is none, never null for 0 bytes. Large memory lies in huge
/// pages where the system has some: reading weights from beginning to end then
/// meets a hundredth of the page faults and of the misses in page tables.
std::byte *allocateAligned(int64_t bytes);

class AlignedBuffer {
public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer &&other) noexcept { swap(other); }
  AlignedBuffer &operator=(AlignedBuffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~AlignedBuffer() { std::free(memory); }

  /// Replaces the memory by `bytes` new ones (contents are lost); false if
  /// there are none. Never null afterwards, even for 0 bytes.
  [[nodiscard]] bool allocate(int64_t bytes) {
    std::free(memory);
    memory = nullptr;
    length = 0;
    memory = allocateAligned(bytes);
    length = memory ? bytes : 0;
    return memory != nullptr;
  }

  std::byte *data() const { return memory; }
  int64_t size() const { return length; }

private:
  void swap(AlignedBuffer &other) {
    std::swap(memory, other.memory);
    std::swap(length, other.length);
  }

  std::byte *memory = nullptr;
  int64_t length = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_ALIGNEDBUFFER_H
