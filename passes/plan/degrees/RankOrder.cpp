//===- RankOrder.cpp - Which ranks share a node ---------------------------===//

#include "passes/plan/degrees/RankOrder.h"

namespace shardc::plan {

namespace {

class OtherOrders {
public:
  OtherOrders(const Degrees &degrees, const Machine &machine)
      : degrees(degrees), perNode(machine.devicesPerNode) {
    Degrees plain = degrees;
    plain.order.clear();
    const dist::Mesh mesh = plain.mesh();
    for (const dist::Axis &axis : llvm::reverse(mesh.axes))
      if (axis.size > 1 && axis.name != dist::kReplicaAxis)
        axes.push_back(axis);
  }

  std::vector<Degrees> run() {
    const int64_t ranks = degrees.numRanks();
    if (ranks > perNode && perNode % (ranks / degrees.dp) != 0)
      extend(1, 0);
    return std::move(found);
  }

private:
  /// By each axis that is left, outside of those that have `used` ranks together;
  /// those before `next` are not for the inside of a node any more.
  void extend(int64_t used, size_t next) {
    if (used % perNode == 0 || chosen.size() == axes.size())
      return add();
    for (auto [number, axis] : llvm::enumerate(axes)) {
      if (llvm::is_contained(chosen, number))
        continue;
      const int64_t together = used * axis.size;
      const bool isInside = perNode % together == 0;
      if (isInside && number < next)
        continue; // that order was there
      chosen.push_back(number);
      extend(together, isInside ? number + 1 : axes.size());
      chosen.pop_back();
    }
  }

  /// What is between nodes stays as it is.
  void add() {
    dist::Mesh mesh;
    for (size_t number : chosen)
      mesh.axes.push_back(axes[number]);
    for (auto [number, axis] : llvm::enumerate(axes))
      if (!llvm::is_contained(chosen, number))
        mesh.axes.push_back(axis);
    mesh.axes.push_back({dist::kReplicaAxis.str(), degrees.dp});
    std::reverse(mesh.axes.begin(), mesh.axes.end());
    Degrees other = degrees;
    other.orderAs(mesh);
    if (!other.order.empty())
      found.push_back(std::move(other));
  }

  const Degrees &degrees;
  const int64_t perNode;
  std::vector<dist::Axis> axes;     ///< innermost first in the default order
  llvm::SmallVector<size_t> chosen; ///< innermost first
  std::vector<Degrees> found;
};

} // namespace

std::vector<Degrees> otherOrders(const Degrees &degrees,
                                 const Machine &machine) {
  return OtherOrders(degrees, machine).run();
}

dist::Mesh neighbourMesh(const Degrees &degrees, const Machine &machine) {
  dist::Mesh mesh = degrees.mesh();
  int64_t inner = mesh.numRanks();
  while (!mesh.axes.empty()) {
    const dist::Axis &outer = mesh.axes.front();
    if (outer.size > 1 && outer.name != dist::kReplicaAxis &&
        outer.name != dist::kPipelineAxis)
      break;
    inner /= outer.size;
    if (machine.nodes > 1 && inner % machine.devicesPerNode != 0 &&
        machine.devicesPerNode % inner != 0)
      break;
    mesh.axes.erase(mesh.axes.begin());
  }
  return mesh;
}

} // namespace shardc::plan
