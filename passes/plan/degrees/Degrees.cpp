//===- Degrees.cpp - How many ways of each parallelism --------------------===//

#include "passes/plan/degrees/Degrees.h"

#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/plan/machine/DeviceShares.h"

#include "llvm/ADT/StringExtras.h"

namespace shardc::plan {

/// Major to minor, where no order is given.
static constexpr llvm::StringLiteral kAxes[] = {
    dist::kReplicaAxis, dist::kPipelineAxis, dist::kStorageAxis,
    dist::kContextAxis, dist::kExpertAxis,   "tp"};

int64_t Degrees::ways(llvm::StringRef axis) const {
  const int64_t all[] = {dp, pp, fsdp, cp, ep, tp};
  const auto *known = llvm::find(kAxes, axis);
  return known == std::end(kAxes) ? 1 : all[known - std::begin(kAxes)];
}

void Degrees::orderAs(const dist::Mesh &mesh) {
  std::vector<std::string> plain;
  for (llvm::StringRef axis : kAxes)
    if (ways(axis) > 1)
      plain.push_back(axis.str());
  order.clear();
  for (const dist::Axis &axis : mesh.axes)
    if (ways(axis.name) > 1)
      order.push_back(axis.name);
  if (order == plain)
    order.clear();
}

dist::Mesh Degrees::mesh() const {
  dist::Mesh mesh;
  auto add = [&](llvm::StringRef name) {
    dist::Axis &axis = mesh.axes.emplace_back();
    axis.name = name.str();
    axis.size = ways(name);
    if (auto known = shares.find(axis.name); known != shares.end())
      axis.shares = known->second;
  };
  for (llvm::StringRef axis : kAxes)
    if (ways(axis) > 1 ? order.empty() : axis == "tp")
      add(axis);
  for (const std::string &axis : order)
    add(axis);
  return mesh;
}

Degrees degreesOf(const dist::Mesh &mesh) {
  Degrees degrees;
  auto ways = [&](llvm::StringRef name) {
    const dist::Axis *axis = mesh.find(name);
    return axis ? axis->size : 1;
  };
  degrees.dp = ways(dist::kReplicaAxis);
  degrees.pp = ways(dist::kPipelineAxis);
  degrees.fsdp = ways(dist::kStorageAxis);
  degrees.cp = ways(dist::kContextAxis);
  degrees.ep = ways(dist::kExpertAxis);
  degrees.tp = ways("tp");
  for (const dist::Axis &axis : mesh.axes)
    if (!axis.shares.empty())
      degrees.shares[axis.name] = axis.shares;
  degrees.orderAs(mesh);
  return degrees;
}

std::string Degrees::flags() const {
  std::string text;
  auto add = [&](llvm::StringRef flag) {
    text += (text.empty() ? "--" : " --") + flag.str();
  };
  auto addWays = [&](llvm::StringRef name, int64_t ways) {
    if (ways > 1)
      add((name + " " + llvm::Twine(ways)).str());
  };
  addWays("tp", tp);
  addWays("ep", ep);
  addWays("cp", cp);
  addWays("fsdp", fsdp);
  addWays("pp", pp);
  addWays("dp", dp);
  if (text.empty())
    return "--tp 1";
  if (sequenceParallel)
    add("sp");
  if (cp > 1 && contextMode != ContextMode::Ring)
    add(("cp-mode " + stringify(contextMode)).str());
  if (ep > 1)
    add(("ep-mode " + stringify(expertMode)).str());
  addWays("micro-batches", microBatches);
  if (!order.empty())
    add("rank-order " + llvm::join(llvm::reverse(order), ","));
  for (const dist::Axis &axis : mesh().axes)
    if (!axis.shares.empty())
      add("shares " + sharesText(axis));
  return text;
}

llvm::StringRef stringify(ContextMode mode) {
  switch (mode) {
  case ContextMode::Gather:
    return "gather";
  case ContextMode::Ring:
    return "ring";
  case ContextMode::Ulysses:
    return "ulysses";
  }
  return "";
}

llvm::StringRef stringify(ExpertMode mode) {
  return mode == ExpertMode::Tensor ? "tensor" : "batch";
}

} // namespace shardc::plan
