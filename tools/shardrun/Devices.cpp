#include "tools/shardrun/Devices.h"

#include "runtime/device/Plugin.h"

#include <algorithm>
#include <cstdio>

using namespace shardc::runtime;

namespace shardrun {
namespace {

double gibibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (int64_t{1} << 30);
}

/// What is free is known once it is open.
void printDevice(std::string_view backend, const DeviceInfo &device,
                 const std::string &refusal) {
  std::printf("%.*s:%d  %s, %s, %.1f GiB of memory, %.1f GiB free\n",
              static_cast<int>(backend.size()), backend.data(), device.number,
              device.name.c_str(), device.architecture.c_str(),
              gibibytes(device.memoryBytes), gibibytes(device.freeBytes));
  if (!refusal.empty())
    std::printf("    refused: %s\n", refusal.c_str());
}

} // namespace

void printDevices() {
  std::vector<std::string> names = {"host"};
  for (std::string &name : listPlugins())
    names.push_back(std::move(name));
  // Everybody wants to know why there is no GPU.
  if (std::find(names.begin(), names.end(), "cuda") == names.end())
    names.push_back("cuda");
  for (const std::string &name : names) {
    Backend *backend = nullptr;
    std::vector<DeviceInfo> devices;
    Status status = findBackend(name, backend);
    if (status.isOk())
      status = backend->findDevices(devices);
    if (!status.isOk())
      std::printf("%s  refused: %s\n", name.c_str(), status.message().c_str());
    for (const DeviceInfo &device : devices) {
      std::unique_ptr<Device> opened;
      std::string refusal = device.refusal;
      if (refusal.empty())
        refusal = backend->open(device.number, opened).message();
      printDevice(name, opened ? opened->info() : device, refusal);
    }
  }
}

} // namespace shardrun
