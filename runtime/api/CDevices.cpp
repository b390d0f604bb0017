//===- CDevices.cpp - Devices of this machine, from C ---------------------===//

#include "runtime/api/CSession.h"
#include "runtime/device/Plugin.h"

using namespace shardc::runtime;

struct shardrt_devices {
  struct Entry {
    std::string backend;
    DeviceInfo info;
  };
  std::vector<Entry> entries;
};

namespace {

void addDevices(const std::string &name,
                std::vector<shardrt_devices::Entry> &to) {
  Backend *backend = nullptr;
  std::vector<DeviceInfo> devices;
  Status status = findBackend(name, backend);
  if (status.isOk())
    status = backend->findDevices(devices);
  if (!status.isOk()) {
    DeviceInfo none;
    none.number = -1;
    none.refusal = status.message();
    to.push_back({name, none});
  }
  for (DeviceInfo &device : devices) {
    // What is free is known once it is open.
    std::unique_ptr<Device> opened;
    std::string refusal = device.refusal;
    if (refusal.empty())
      refusal = backend->open(device.number, opened).message();
    to.push_back({name, opened ? opened->info() : device});
    to.back().info.refusal = refusal;
  }
}

Status createDevices(shardrt_devices **into) {
  if (!into)
    return argumentError("shardrt_devices_create: devices must not be NULL");
  auto made = std::make_unique<shardrt_devices>();
  std::vector<std::string> names = {"host"};
  for (std::string &name : listPlugins())
    names.push_back(std::move(name));
  // Everybody wants to know why there is no GPU.
  if (std::find(names.begin(), names.end(), "cuda") == names.end())
    names.push_back("cuda");
  for (const std::string &name : names)
    addDevices(name, made->entries);
  *into = made.release();
  return Status::ok();
}

Status deviceAt(const shardrt_devices *devices, size_t index,
                shardrt_device_info *info) {
  constexpr const char *kFunction = "shardrt_device_at";
  if (!devices || !info)
    return argumentError(kFunction, ": arguments must not be NULL");
  if (index >= devices->entries.size())
    return argumentError(kFunction, ": no index ", index, " of ",
                         devices->entries.size());
  const shardrt_devices::Entry &entry = devices->entries[index];
  shardrt_device_info from = {};
  from.backend = entry.backend.c_str();
  from.number = entry.info.number;
  from.name = entry.info.name.c_str();
  from.architecture = entry.info.architecture.c_str();
  from.memory_bytes = entry.info.memoryBytes;
  from.free_bytes = entry.info.freeBytes;
  from.refusal = entry.info.refusal.c_str();
  return give(kFunction, "shardrt_device_info", from, *info);
}

} // namespace

shardrt_status shardrt_devices_create(shardrt_devices **devices) {
  return guarded([&] { return createDevices(devices); });
}

void shardrt_devices_destroy(shardrt_devices *devices) { delete devices; }

size_t shardrt_num_devices(const shardrt_devices *devices) {
  return devices ? devices->entries.size() : 0;
}

shardrt_status shardrt_device_at(const shardrt_devices *devices, size_t index,
                                 shardrt_device_info *info) {
  return guarded([&] { return deviceAt(devices, index, info); });
}
