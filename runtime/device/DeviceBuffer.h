//===- DeviceBuffer.h - Memory that a device gave -------------------------===//
//
// Owns it, as AlignedBuffer owns the host's. The device lives longer.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_DEVICEBUFFER_H
#define SHARDC_RUNTIME_DEVICE_DEVICEBUFFER_H

#include "runtime/device/Backend.h"

#include <utility>

namespace shardc::runtime {

class DeviceBuffer {
public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer &&other) noexcept { swap(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() { release(); }

  /// Replaces the memory by `bytes` new ones (contents are lost); false if
  /// there are none. The old ones are given back first, so no work may still
  /// use them.
  [[nodiscard]] bool allocate(Device &from, MemoryKind ofKind, int64_t bytes) {
    release();
    device = &from;
    kind = ofKind;
    memory = from.allocate(kind, bytes);
    length = memory ? bytes : 0;
    return memory != nullptr;
  }
  void release() {
    if (memory)
      device->release(kind, memory);
    memory = nullptr;
    length = 0;
  }

  std::byte *data() const { return memory; }
  int64_t size() const { return length; }

private:
  void swap(DeviceBuffer &other) {
    std::swap(device, other.device);
    std::swap(kind, other.kind);
    std::swap(memory, other.memory);
    std::swap(length, other.length);
  }

  Device *device = nullptr;
  MemoryKind kind = MemoryKind::Device;
  std::byte *memory = nullptr;
  int64_t length = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_DEVICEBUFFER_H
