//===- Machine.cpp - Nodes, devices and the links between them ------------===//

#include "passes/plan/machine/Machine.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace shardc::plan {

using dist::AxisRef;
using dist::Mesh;

std::vector<llvm::SmallVector<int64_t>> groupsOf(const Mesh &mesh,
                                                 llvm::ArrayRef<AxisRef> axes) {
  std::map<std::vector<int64_t>, llvm::SmallVector<int64_t>> groups;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    // The coordinates without the digits that the axes are.
    std::vector<int64_t> key;
    for (size_t a = 0; a < mesh.axes.size(); ++a) {
      int64_t rest = mesh.coordinate(rank, a);
      for (const AxisRef &axis : axes)
        if (axis.name == mesh.axes[a].name) {
          const int64_t stride = mesh.axes[a].size / (axis.pre * axis.size);
          rest -= rest / stride % axis.size * stride;
        }
      key.push_back(rest);
    }
    groups[key].push_back(rank);
  }
  std::vector<llvm::SmallVector<int64_t>> all;
  for (auto &[key, ranks] : groups)
    all.push_back(std::move(ranks));
  return all;
}

Route routeOf(const Machine &machine, const Mesh &mesh,
              llvm::ArrayRef<AxisRef> axes) {
  Route route;
  for (llvm::ArrayRef<int64_t> ranks : groupsOf(mesh, axes)) {
    llvm::SmallDenseMap<int64_t, int64_t> onNode;
    for (int64_t rank : ranks)
      route.perNode = std::max(route.perNode, ++onNode[machine.nodeOf(rank)]);
    route.nodes = std::max<int64_t>(route.nodes, onNode.size());
    route.ranks = std::max<int64_t>(route.ranks, ranks.size());
  }
  return route;
}

Route routeOfTransfer(const Machine &machine, const Mesh &mesh,
                      int64_t fromStage, int64_t toStage) {
  int64_t stride = 1;
  for (const dist::Axis &axis : llvm::reverse(mesh.axes)) {
    if (axis.name == dist::kPipelineAxis)
      break;
    stride *= axis.size;
  }
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    if (mesh.coordinateAlong(rank, dist::kPipelineAxis) == fromStage &&
        machine.nodeOf(rank) !=
            machine.nodeOf(rank + (toStage - fromStage) * stride))
      return {2, 2, 1};
  return {2, 1, 2};
}

double sendSeconds(const Machine &machine, const Route &route, double bytes) {
  return (route.nodes > 1 ? machine.between : machine.inside)
      .send.seconds(bytes);
}

double collectiveSeconds(const Machine &machine, CollectiveKind kind,
                         const Route &route, double bytes) {
  if (route.nodes == 1)
    return machine.inside.seconds(kind, route.ranks, bytes);
  // Around a ring over nodes each step waits for a slow link.
  if (kind == CollectiveKind::Shift)
    return machine.between.seconds(kind, route.ranks, bytes);
  // What was measured between nodes was with all devices of nodes that may be
  // faster inside than these.
  if (machine.between.isMeasured(kind))
    return std::max(
        machine.inside.seconds(kind, route.perNode, bytes),
        machine.between.seconds(kind, route.nodes,
                                bytes * double(machine.devicesPerNode) /
                                    double(route.perNode)));
  const double ofRank = bytes / double(route.perNode);
  if (kind == CollectiveKind::AllToAll) { // no send waits for another
    const double ofRank = bytes / double(route.ranks);
    return machine.inside.seconds(kind, route.perNode,
                                  bytes / double(route.nodes * route.nodes)) +
           machine.between.send.seconds(ofRank * double(route.nodes - 1) /
                                        double(route.nodes));
  }
  return machine.inside.seconds(kind, route.perNode, bytes) +
         machine.between.seconds(kind, route.nodes, ofRank);
}

} // namespace shardc::plan
