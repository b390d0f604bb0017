#include "tools/shardrun/Devices.h"

#include "tools/shardrun/Client.h"

#include <cstdio>

namespace shardrun {
namespace {

double gibibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (int64_t{1} << 30);
}

void printDevice(const shardrt_device_info &device) {
  if (device.number < 0) {
    std::printf("%s  refused: %s\n", device.backend, device.refusal);
    return;
  }
  std::printf("%s:%d  %s, %s, %.1f GiB of memory, %.1f GiB free\n",
              device.backend, device.number, device.name, device.architecture,
              gibibytes(device.memory_bytes), gibibytes(device.free_bytes));
  if (*device.refusal)
    std::printf("    refused: %s\n", device.refusal);
}

} // namespace

shardc::runtime::Status printDevices() {
  shardrt::Devices devices;
  SHARDC_RETURN_IF_ERROR(statusOf(shardrt::Devices::create(devices)));
  for (const shardrt_device_info &device : devices.all())
    printDevice(device);
  return shardc::runtime::Status::ok();
}

} // namespace shardrun
