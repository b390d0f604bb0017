//===- GrowingMemory.h - Memory that is there as far as it is needed ------===//
//
// Addresses for all that may ever come, and memory behind the front of them. It
// grows in place, page by page: what was told an address (a graph, a view)
// stays as it is. With pages of 2 MiB:
//
//   memory = device.reserve(1 << 30)
//   memory->commit(3 << 20)    [####----------------]  4 MiB are there
//   memory->commit(5 << 20)    [######--------------]  6 MiB, with what 4 held
//
// Invariants:
// - Nobody touches what is not there.
// - What comes is uninitialised; what was there stays as it is.
// - Growing does not disturb work that is under way.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_GROWINGMEMORY_H
#define SHARDC_RUNTIME_DEVICE_GROWINGMEMORY_H

#include <cstddef>
#include <cstdint>

namespace shardc::runtime {

class GrowingMemory {
public:
  GrowingMemory(const GrowingMemory &) = delete;
  GrowingMemory &operator=(const GrowingMemory &) = delete;
  /// Gives everything back. No stream may still have work that touches it.
  virtual ~GrowingMemory() = default;

  /// The same for good, aligned to kBufferAlignment. Not null for 0 bytes.
  std::byte *data() const { return memory; }
  /// As far as it can grow.
  int64_t size() const { return length; }
  /// What it takes of the device, to the end of the last page.
  int64_t committed() const { return taken; }

  /// At least so many bytes from the front are there. False: the device has
  /// none left, or they are more than size(); nothing has changed.
  [[nodiscard]] bool commit(int64_t bytes) {
    return bytes <= taken || (bytes <= length && grow(bytes));
  }
  /// A hint: what is touched lies together from the front on, so that the system
  /// may take memory in larger pieces than are touched.
  virtual void fillsFromFront() {}

protected:
  GrowingMemory(std::byte *memory, int64_t length, int64_t taken = 0)
      : memory(memory), length(length), taken(taken) {}

  /// Takes so many bytes in all, or nothing.
  virtual bool grow(int64_t bytes) = 0;

  std::byte *const memory;
  const int64_t length;
  int64_t taken;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_GROWINGMEMORY_H
