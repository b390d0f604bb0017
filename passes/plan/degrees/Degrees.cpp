//===- Degrees.cpp - How many ways of each parallelism --------------------===//

#include "passes/plan/degrees/Degrees.h"

#include "dialects/dist/algebra/StorageAxis.h"

#include "llvm/ADT/StringExtras.h"

namespace shardc::plan {

/// Major to minor, where no order is given.
static constexpr llvm::StringLiteral kAxes[] = {
    dist::kReplicaAxis, dist::kPipelineAxis, dist::kStorageAxis,
    dist::kContextAxis, dist::kExpertAxis,   "tp"};

int64_t Degrees::ways(llvm::StringRef axis) const {
  const int64_t all[] = {dp, pp, fsdp, cp, ep, tp};
  return all[llvm::find(kAxes, axis) - std::begin(kAxes)];
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
  for (llvm::StringRef axis : kAxes)
    if (ways(axis) > 1 ? order.empty() : axis == "tp")
      mesh.axes.push_back({axis.str(), ways(axis)});
  for (const std::string &axis : order)
    mesh.axes.push_back({axis, ways(axis)});
  return mesh;
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
