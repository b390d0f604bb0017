//===- StageDevices.cpp - Which devices the stages of a pipeline have -----===//

#include "passes/plan/machine/StageDevices.h"

#include "dialects/dist/algebra/Shares.h"
#include "passes/plan/machine/DeviceShares.h"

#include <algorithm>
#include <set>

namespace shardc::plan {

/// 1 where nothing is known of devices: stages are then equal.
static double smallestMemory(const Machine &machine) {
  double bytes = 0;
  for (const Device &device : machine.devices)
    bytes =
        bytes > 0 ? std::min(bytes, device.memoryBytes) : device.memoryBytes;
  return bytes > 0 ? bytes : 1;
}

/// Numbers of the devices that the ranks of a stage have, the first of each name.
static std::set<size_t> devicesOf(const Machine &machine,
                                  const dist::Mesh &mesh, size_t axis,
                                  int64_t stage) {
  std::set<size_t> numbers;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    if (mesh.coordinate(rank, axis) == stage) {
      const std::string &name = deviceOf(machine, rank)->name;
      numbers.insert(llvm::find_if(machine.devices,
                                   [&](const Device &device) {
                                     return device.name == name;
                                   }) -
                     machine.devices.begin());
    }
  return numbers;
}

StageDevices stageDevices(const Machine &machine, const dist::Mesh &mesh) {
  const auto pipeline = llvm::find_if(mesh.axes, [](const dist::Axis &axis) {
    return axis.name == dist::kPipelineAxis;
  });
  const int64_t stages = pipeline == mesh.axes.end() ? 1 : pipeline->size;
  StageDevices found;
  if (stages == 1 || machine.devices.size() < 2 ||
      dist::hasShares(dist::wholeMesh(mesh), mesh)) {
    found.kinds.push_back(machine);
    found.kindOf.assign(stages, 0);
    found.memoryBytes.assign(stages, smallestMemory(machine));
    return found;
  }
  std::vector<std::set<size_t>> sets;
  for (int64_t stage = 0; stage < stages; ++stage) {
    std::set<size_t> own =
        devicesOf(machine, mesh, pipeline - mesh.axes.begin(), stage);
    const size_t kind = llvm::find(sets, own) - sets.begin();
    if (kind == sets.size()) {
      Machine &made = found.kinds.emplace_back(machine);
      made.devices.clear();
      for (size_t number : own)
        made.devices.push_back(machine.devices[number]);
      sets.push_back(std::move(own));
    }
    found.kindOf.push_back(kind);
    found.memoryBytes.push_back(smallestMemory(found.kinds[kind]));
  }
  return found;
}

} // namespace shardc::plan
