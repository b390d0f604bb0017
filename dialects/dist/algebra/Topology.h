//===- Topology.h - Nodes, devices and the links between them -------------===//
//
// Ranks fill nodes in their order: rank r is on node r / devices_per_node. So
// the order of the mesh's axes decides which coordinates share a node:
//
//   2 nodes of 4, mesh <"pp"=2, "tp"=4>    tp inside a node, pp between
//   2 nodes of 4, mesh <"tp"=4, "pp"=2>    tp over both nodes
//
// Speeds are those at which one device sends while all others do, too; the
// microseconds pass before the first byte is there.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_ALGEBRA_TOPOLOGY_H
#define SHARDC_DIALECTS_DIST_ALGEBRA_TOPOLOGY_H

#include "dialects/dist/algebra/Mesh.h"

namespace shardc::dist {

struct Link {
  double bytesPerSecond = 0;
  double latency = 0; ///< seconds

  double seconds(double bytes) const {
    return latency + bytes / bytesPerSecond;
  }
};

struct Topology {
  int64_t nodes = 1;
  int64_t devicesPerNode = 1;
  Link inside, between;

  int64_t nodeOf(int64_t rank) const { return rank / devicesPerNode; }
  int64_t numDevices() const { return nodes * devicesPerNode; }
};

/// The groups of ranks that differ in these axes only; in each, in the order of
/// their ways.
std::vector<llvm::SmallVector<int64_t>> groupsOf(const Mesh &mesh,
                                                 llvm::ArrayRef<AxisRef> axes);

/// Where ranks are that talk to each other.
struct Route {
  int64_t nodes = 1; ///< that the group over most of them spans
};
Route routeOf(const Topology &topology, const Mesh &mesh,
              llvm::ArrayRef<AxisRef> axes);
/// Of ranks with the same coordinates in two stages.
Route routeOfTransfer(const Topology &topology, const Mesh &mesh,
                      int64_t fromStage, int64_t toStage);
/// The slowest link on the way.
const Link &linkOf(const Topology &topology, const Route &route);

/// Seconds of a collective over `ways` ranks in a ring that goes over the
/// slowest link of its route: `passes` is 2 for an all_reduce, else 1, and
/// `bytes` what the group holds when it is whole.
double collectiveSeconds(const Topology &topology, const Route &route,
                         int64_t passes, int64_t ways, double bytes);

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_ALGEBRA_TOPOLOGY_H
