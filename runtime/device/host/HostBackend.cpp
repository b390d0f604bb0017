//===- HostBackend.cpp - The host as a device -----------------------------===//
//
// Work is done when it is enqueued, so that streams and events have nothing to
// order.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/Message.h"
#include "runtime/device/WholeMemory.h"
#include "runtime/device/host/HostKernelLibrary.h"
#include "runtime/device/host/HostMemory.h"
#include "runtime/device/host/HostPages.h"
#include "runtime/launch/HostThreads.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace shardc::runtime {
namespace {

class HostEvent final : public DeviceEvent {
public:
  Status synchronize() override { return Status::ok(); }
};

class HostStream final : public DeviceStream {
public:
  Status copy(std::byte *to, const std::byte *from, const CopyShape &shape,
              CopyDirection) override {
    if (shape.rowBytes <= 0)
      return Status::ok();
    for (int64_t row = 0; row < shape.rows; ++row)
      std::memmove(to + row * shape.toPitch, from + row * shape.fromPitch,
                   static_cast<size_t>(shape.rowBytes));
    return Status::ok();
  }
  Status launch(const Kernel &kernel, const KernelCall &call,
                const CollectiveSite &) override {
    return kernel.run(call);
  }
  Status record(DeviceEvent &) override { return Status::ok(); }
  Status wait(const DeviceEvent &) override { return Status::ok(); }
  Status synchronize() override { return Status::ok(); }
};

Status describeHost(DeviceInfo &info) {
  HostMemory memory;
  SHARDC_RETURN_IF_ERROR(hostMemory(memory));
  info.name =
      message("host, ", hostCores(), hostCores() == 1 ? " core" : " cores");
  info.memoryBytes = memory.bytes;
  info.freeBytes = memory.free;
#if defined(__x86_64__)
  const std::vector<std::string> targets = hostTargets();
  info.architecture = targets.empty() ? "x86-64" : targets.front();
#elif defined(__aarch64__)
  info.architecture = "aarch64";
#endif
  return Status::ok();
}

class HostDevice final : public Device {
public:
  explicit HostDevice(DeviceInfo info) : described(std::move(info)) {}
  const DeviceInfo &info() const override { return described; }
  bool isHost() const override { return true; }

  std::byte *allocate(MemoryKind, int64_t bytes) override {
    return allocateAligned(bytes);
  }
  void release(MemoryKind, std::byte *memory) override { std::free(memory); }
  std::unique_ptr<GrowingMemory> reserve(int64_t bytes) override {
    if (bytes > INT64_MAX - kHostPage)
      return nullptr;
    return bytes > kHostPage ? reserveHostPages(bytes)
                             : WholeMemory::create(*this, bytes);
  }

  Status createStream(std::unique_ptr<DeviceStream> &stream) override {
    stream = std::make_unique<HostStream>();
    return Status::ok();
  }
  Status createEvent(std::unique_ptr<DeviceEvent> &event) override {
    event = std::make_unique<HostEvent>();
    return Status::ok();
  }
  const Kernel *findKernel(std::string_view name) const override {
    return findHostKernel(name);
  }
  Status loadKernels(const KernelFiles &files,
                     std::unique_ptr<KernelLibrary> &library) override {
    return openHostKernels(files, library);
  }

private:
  const DeviceInfo described;
};

class HostBackend final : public Backend {
public:
  std::string_view name() const override { return "host"; }
  Status findDevices(std::vector<DeviceInfo> &devices) override {
    devices.assign(1, {});
    return describeHost(devices.front());
  }
  Status open(int number, std::unique_ptr<Device> &device) override {
    if (number != 0)
      return argumentError("there is no device host:", number,
                           "; the host is one device, host:0");
    DeviceInfo info;
    SHARDC_RETURN_IF_ERROR(describeHost(info));
    device = std::make_unique<HostDevice>(std::move(info));
    return Status::ok();
  }
};

} // namespace

Backend &hostBackend() {
  // Never destroyed, since a rank that hangs may still use it.
  static auto &backend = *new HostBackend;
  return backend;
}

} // namespace shardc::runtime
