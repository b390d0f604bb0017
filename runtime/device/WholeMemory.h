//===- WholeMemory.h - Growing memory that is all there at once -----------===//
//
// Of a device without pages, and where all of it is less than a page.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_WHOLEMEMORY_H
#define SHARDC_RUNTIME_DEVICE_WHOLEMEMORY_H

#include "runtime/device/Backend.h"

namespace shardc::runtime {

class WholeMemory final : public GrowingMemory {
public:
  /// Null if there is not so much. The device lives longer.
  static std::unique_ptr<GrowingMemory> create(Device &device, int64_t bytes) {
    std::byte *memory = device.allocate(MemoryKind::Device, bytes);
    return std::unique_ptr<GrowingMemory>(
        memory ? new WholeMemory(device, memory, bytes) : nullptr);
  }
  ~WholeMemory() override { device.release(MemoryKind::Device, memory); }

private:
  WholeMemory(Device &device, std::byte *memory, int64_t bytes)
      : GrowingMemory(memory, bytes, /*taken=*/bytes), device(device) {}
  bool grow(int64_t) override { return false; }

  Device &device;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_WHOLEMEMORY_H
