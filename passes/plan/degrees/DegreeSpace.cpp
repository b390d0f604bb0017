//===- DegreeSpace.cpp - All degrees that are worth a prediction ----------===//

#include "passes/plan/degrees/DegreeSpace.h"

#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/plan/machine/DeviceShares.h"

namespace shardc::plan {

std::vector<int64_t> DegreeSpace::ways(llvm::StringRef axis,
                                       int64_t used) const {
  const int64_t numDevices = machine.numDevices(), most = numDevices / used;
  if (auto known = fixed.numbers.find(axis.str()); known != fixed.numbers.end())
    return known->second <= most ? std::vector<int64_t>{known->second}
                                 : std::vector<int64_t>{};
  if (axis == dist::kExpertAxis && !kinds.front().hasExperts)
    return {1};
  // Of training --zero says what replicas share out; all ranks have all rows of a
  // step.
  if (axis == dist::kStorageAxis &&
      (kinds.front().training || kinds.front().rows))
    return {1};
  std::vector<int64_t> ways;
  for (int64_t n = 1; n <= most; ++n)
    if (numDevices % n == 0 || (n & (n - 1)) == 0)
      ways.push_back(n);
  return ways;
}

std::vector<Degrees> DegreeSpace::ofOneReplica() const {
  std::vector<Degrees> all;
  for (int64_t tp : ways("tp", 1))
    for (int64_t ep : ways(dist::kExpertAxis, tp))
      for (int64_t cp : ways(dist::kContextAxis, tp * ep))
        for (int64_t pp : ways(dist::kPipelineAxis, tp * ep * cp))
          all.push_back({1, pp, 1, cp, ep, tp});
  return all;
}

void DegreeSpace::complete(Degrees &degrees) const {
  degrees.order.clear();
  if (!fixed.order.empty()) {
    dist::Mesh mesh;
    for (const dist::Axis &axis : degrees.mesh().axes)
      if (!llvm::is_contained(fixed.order, axis.name))
        mesh.axes.push_back(axis);
    for (const std::string &name : llvm::reverse(fixed.order))
      mesh.axes.push_back({name, degrees.ways(name)});
    degrees.orderAs(mesh);
  }
  degrees.shares = sharesOf(degrees);
}

std::map<std::string, llvm::SmallVector<int64_t, 2>>
DegreeSpace::sharesOf(const Degrees &degrees) const {
  const dist::Mesh mesh = degrees.mesh();
  if (fixed.hasDeviceShares)
    return degreesOf(withDeviceShares(machine, mesh)).shares;
  std::map<std::string, llvm::SmallVector<int64_t, 2>> given;
  for (const auto &[name, shares] : fixed.shares)
    if (const dist::Axis *axis = mesh.find(name);
        axis && axis->size == int64_t(shares.size()))
      given[name] = shares;
  return given;
}

int64_t DegreeSpace::mostMicroBatches(const Degrees &degrees) const {
  int64_t most =
      degrees.pp > 1 && kinds.front().hasMicroBatches && !kinds.front().training
          ? 4 * degrees.pp
          : 1;
  for (const Workload &kind : kinds)
    most = std::min(most, kind.batch / (degrees.dp * degrees.fsdp));
  return most;
}

std::vector<Degrees> DegreeSpace::variantsOf(const Degrees &degrees) const {
  std::vector<Degrees> variants{degrees};
  auto multiply = [&](auto change) {
    const size_t count = variants.size();
    for (size_t i = 0; i < count; ++i) {
      variants.push_back(variants[i]);
      change(variants.back());
    }
  };
  if (degrees.tp > 1) {
    const auto known = fixed.numbers.find("sp");
    if (known == fixed.numbers.end())
      multiply([](Degrees &d) { d.sequenceParallel = true; });
    else
      variants.front().sequenceParallel = known->second != 0;
  }
  if (degrees.cp > 1) {
    const auto known = fixed.numbers.find("cp-mode");
    // A ring would share out sums of the attention.
    if (kinds.front().prompt.program->graph->keepsSumsWhole)
      for (Degrees &variant : variants)
        variant.contextMode = ContextMode::Gather;
    if (known == fixed.numbers.end() && !kinds.front().rows)
      multiply([](Degrees &d) { d.contextMode = ContextMode::Ulysses; });
    else if (known != fixed.numbers.end())
      for (Degrees &variant : variants)
        variant.contextMode = ContextMode(known->second);
  }
  // A step of rows has no batch.
  if (degrees.ep > 1 && !kinds.front().rows)
    multiply([](Degrees &d) { d.expertMode = ExpertMode::Batch; });
  if (const auto known = fixed.numbers.find("micro-batches");
      known != fixed.numbers.end() && !kinds.front().training) {
    for (Degrees &variant : variants)
      variant.microBatches = known->second;
    return variants;
  }
  const size_t plain = variants.size();
  const int64_t most = mostMicroBatches(degrees);
  for (int64_t parts = 2; parts <= most; parts *= 2)
    for (size_t i = 0; i < plain; ++i) {
      variants.push_back(variants[i]);
      variants.back().microBatches = parts;
    }
  return variants;
}

} // namespace shardc::plan
