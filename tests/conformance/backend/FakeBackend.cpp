//===- FakeBackend.cpp - A device for machines that have none -------------===//
//
// A plugin with the host's kernels, for tests. It is as unlike the host as a
// GPU is: the host cannot touch its memory, and nothing is done before somebody
// waits for it. So what runs on it right uses the interface right.
//
//   SHARDC_FAKE_DEVICES   how many there are (default 64)
//   SHARDC_FAKE_MEMORY    bytes that each has (default 4 GiB)
//   SHARDC_FAKE_PAGE      bytes by which memory grows (default 4096; 0: it
//                         comes at once)
//   SHARDC_FAKE_REFUSE    a device number that is refused
//   SHARDC_FAKE_LACKS     kernels that it does not have: "MatMul,Gather"
//
//===----------------------------------------------------------------------===//
#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/Message.h"
#include "runtime/device/Plugin.h"
#include "runtime/device/WholeMemory.h"
#include "runtime/device/host/HostKernelLibrary.h"
#include "tests/conformance/backend/FakeMemory.h"
#include "tests/conformance/backend/FakeStream.h"

#include <atomic>
#include <cstdlib>
#include <map>

using namespace shardc::runtime;

namespace shardc::test {
namespace {

int64_t setting(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// As it is now: a test may say that there is none any more.
int64_t memoryOfEach() {
  return setting("SHARDC_FAKE_MEMORY", int64_t{4} << 30);
}

DeviceInfo describe(int number) {
  DeviceInfo info;
  info.number = number;
  info.name = "fake device";
  info.architecture = "fake_1";
  info.memoryBytes = memoryOfEach();
  info.freeBytes = info.memoryBytes;
  if (setting("SHARDC_FAKE_REFUSE", -1) == number)
    info.refusal = "its architecture is too old; use another device";
  return info;
}

/// Bytes that are taken of a device.
class FakeTaken {
public:
  bool take(int64_t more, int64_t most) {
    std::lock_guard lock(mutex);
    if (more > most - bytes)
      return false;
    bytes += more;
    return true;
  }
  void giveBack(int64_t less) {
    std::lock_guard lock(mutex);
    bytes -= less;
  }

private:
  std::mutex mutex;
  int64_t bytes = 0;
};

class FakePages final : public GrowingMemory {
public:
  FakePages(FakeTaken &device, std::byte *memory, int64_t bytes, int64_t page)
      : GrowingMemory(memory, bytes), device(device), page(page) {}
  ~FakePages() override {
    FakeMemory::instance().release(memory);
    device.giveBack(taken);
  }

private:
  bool grow(int64_t bytes) override {
    const int64_t piece = (bytes - taken + page - 1) / page * page;
    if (!device.take(piece, memoryOfEach()))
      return false;
    if (!FakeMemory::instance().map(memory + taken, piece)) {
      device.giveBack(piece);
      return false;
    }
    taken += piece;
    return true;
  }

  FakeTaken &device;
  const int64_t page;
};

class FakeDevice final : public Device {
public:
  explicit FakeDevice(int number) : described(describe(number)) {}

  const DeviceInfo &info() const override { return described; }

  std::byte *allocate(MemoryKind kind, int64_t bytes) override {
    if (bytes < 0 || bytes > INT64_MAX - 2 * kBufferAlignment)
      return nullptr;
    if (kind == MemoryKind::Staging)
      return static_cast<std::byte *>(std::aligned_alloc(
          kBufferAlignment,
          static_cast<size_t>(alignBuffer(bytes > 0 ? bytes : 1))));
    if (!taken.take(bytes, memoryOfEach()))
      return nullptr;
    std::byte *memory = FakeMemory::instance().allocate(bytes);
    if (!memory) {
      taken.giveBack(bytes);
      return nullptr;
    }
    std::lock_guard lock(mutex);
    sizes[memory] = bytes;
    return memory;
  }
  void release(MemoryKind kind, std::byte *memory) override {
    if (kind == MemoryKind::Staging)
      return std::free(memory);
    if (!memory)
      return;
    std::lock_guard lock(mutex);
    taken.giveBack(sizes[memory]);
    sizes.erase(memory);
    FakeMemory::instance().release(memory);
  }
  std::unique_ptr<GrowingMemory> reserve(int64_t bytes) override {
    const int64_t page = setting("SHARDC_FAKE_PAGE", 4096);
    if (page == 0 || bytes <= 0)
      return WholeMemory::create(*this, bytes);
    if (bytes > INT64_MAX - page)
      return nullptr;
    std::byte *memory =
        FakeMemory::instance().reserve((bytes + page - 1) / page * page, page);
    return memory ? std::make_unique<FakePages>(taken, memory, bytes, page)
                  : nullptr;
  }
  Status createStream(std::unique_ptr<DeviceStream> &stream) override {
    stream = std::make_unique<FakeStream>();
    return Status::ok();
  }
  Status createEvent(std::unique_ptr<DeviceEvent> &event) override {
    event = std::make_unique<FakeEvent>();
    return Status::ok();
  }
  const Kernel *findKernel(std::string_view name) const override {
    const char *lacks = std::getenv("SHARDC_FAKE_LACKS");
    const std::string all = message(",", lacks ? lacks : "", ",");
    return all.find(message(",", name, ",")) == std::string::npos
               ? findHostKernel(name) // of this library
               : nullptr;
  }
  Status loadKernels(const KernelFiles &files,
                     std::unique_ptr<KernelLibrary> &library) override {
    return openHostKernels(files, library);
  }

private:
  const DeviceInfo described;
  std::mutex mutex;
  std::map<std::byte *, int64_t> sizes;
  FakeTaken taken;
};

class FakeBackend final : public Backend {
public:
  std::string_view name() const override { return "fake"; }
  Status findDevices(std::vector<DeviceInfo> &devices) override {
    const int64_t count = setting("SHARDC_FAKE_DEVICES", 64);
    devices.clear();
    for (int number = 0; number < count; ++number)
      devices.push_back(describe(number));
    if (devices.empty())
      return artifactError("no fake devices; set SHARDC_FAKE_DEVICES");
    return Status::ok();
  }
  Status open(int number, std::unique_ptr<Device> &device) override {
    if (number < 0 || number >= setting("SHARDC_FAKE_DEVICES", 64))
      return argumentError("there is no device fake:", number);
    device = std::make_unique<FakeDevice>(number);
    return Status::ok();
  }
};

} // namespace
} // namespace shardc::test

extern "C" const PluginDescription *shardrtPlugin() {
  static auto &backend = *new shardc::test::FakeBackend;
  static const PluginDescription description = {kPluginVersion, pluginLayout(),
                                                &backend};
  return &description;
}
