//===- Machine.cpp - Nodes, devices and the links between them ------------===//

#include "passes/plan/machine/Machine.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace shardc::plan {

using dist::AxisRef;
using dist::Mesh;

std::vector<llvm::SmallVector<int64_t>> groupsOf(const Mesh &mesh,
                                                 llvm::ArrayRef<AxisRef> axes) {
  // The digits of a rank's number that the axes are.
  struct Digit {
    int64_t stride, ways;
  };
  llvm::SmallVector<Digit, 4> digits;
  int64_t minor = mesh.numRanks();
  for (const dist::Axis &axis : mesh.axes) {
    minor /= axis.size;
    for (const AxisRef &ref : axes)
      if (ref.name == axis.name)
        digits.push_back(
            {minor * (axis.size / (ref.pre * ref.size)), ref.size});
  }
  std::vector<llvm::SmallVector<int64_t>> groups;
  std::vector<size_t> groupOfFirst(mesh.numRanks());
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    int64_t first = rank; // of its group
    for (const Digit &digit : digits)
      first -= first / digit.stride % digit.ways * digit.stride;
    if (first == rank) {
      groupOfFirst[rank] = groups.size();
      groups.emplace_back();
    }
    groups[groupOfFirst[first]].push_back(rank);
  }
  return groups;
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
  // Ranks of a stage lie side by side, those of all stages behind each other.
  const int64_t ranks = mesh.numRanks(),
                all = stride * mesh.sizeOf(dist::kPipelineAxis);
  for (int64_t first = fromStage * stride; first < ranks; first += all)
    for (int64_t rank = first; rank < first + stride; ++rank)
      if (machine.nodeOf(rank) !=
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
