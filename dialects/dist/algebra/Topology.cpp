//===- Topology.cpp - Nodes, devices and the links between them -----------===//

#include "dialects/dist/algebra/Topology.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace shardc::dist {

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

Route routeOf(const Topology &topology, const Mesh &mesh,
              llvm::ArrayRef<AxisRef> axes) {
  Route route;
  for (llvm::ArrayRef<int64_t> ranks : groupsOf(mesh, axes)) {
    llvm::SmallDenseSet<int64_t> nodes;
    for (int64_t rank : ranks)
      nodes.insert(topology.nodeOf(rank));
    route.nodes = std::max<int64_t>(route.nodes, nodes.size());
  }
  return route;
}

Route routeOfTransfer(const Topology &topology, const Mesh &mesh,
                      int64_t fromStage, int64_t toStage) {
  int64_t stride = 1;
  for (const Axis &axis : llvm::reverse(mesh.axes)) {
    if (axis.name == kPipelineAxis)
      break;
    stride *= axis.size;
  }
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    if (mesh.coordinateAlong(rank, kPipelineAxis) == fromStage &&
        topology.nodeOf(rank) !=
            topology.nodeOf(rank + (toStage - fromStage) * stride))
      return {2};
  return {1};
}

const Link &linkOf(const Topology &topology, const Route &route) {
  return route.nodes > 1 ? topology.between : topology.inside;
}

double collectiveSeconds(const Topology &topology, const Route &route,
                         int64_t passes, int64_t ways, double bytes) {
  return passes * (ways - 1) * linkOf(topology, route).seconds(bytes / ways);
}

} // namespace shardc::dist
