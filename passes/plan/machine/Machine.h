//===- Machine.h - Nodes, devices and the links between them --------------===//
//
// Ranks fill nodes in their order: rank r is on node r / devicesPerNode. So the
// order of the mesh's axes decides which coordinates share a node:
//
//   2 nodes of 4, mesh <"pp"=2, "tp"=4>    tp inside a node, pp between
//   2 nodes of 4, mesh <"tp"=4, "pp"=2>    tp over both nodes
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_MACHINE_MACHINE_H
#define SHARDC_PASSES_PLAN_MACHINE_MACHINE_H

#include "dialects/dist/algebra/Mesh.h"
#include "passes/plan/machine/Device.h"
#include "passes/plan/machine/Links.h"

namespace shardc::plan {

struct Machine {
  int64_t nodes = 1, devicesPerNode = 1;
  /// Of each node; one where all nodes have the same, none where only the links
  /// are known.
  std::vector<Device> devices;
  Links inside, between;
  /// Whether programs cut products to send one part beside the next
  /// (OverlapCost.h).
  bool cutsProducts = true;

  int64_t nodeOf(int64_t rank) const { return rank / devicesPerNode; }
  int64_t numDevices() const { return nodes * devicesPerNode; }
};

/// The groups of ranks that differ in these axes only; in each, in the order of
/// their ways.
std::vector<llvm::SmallVector<int64_t>>
groupsOf(const dist::Mesh &mesh, llvm::ArrayRef<dist::AxisRef> axes);

/// Where ranks are that talk to each other.
struct Route {
  int64_t ranks = 1;
  int64_t nodes = 1;   ///< that the group over most of them spans
  int64_t perNode = 1; ///< ranks of a group, where most of them share a node
};
Route routeOf(const Machine &machine, const dist::Mesh &mesh,
              llvm::ArrayRef<dist::AxisRef> axes);
/// Of ranks with the same coordinates in two stages.
Route routeOfTransfer(const Machine &machine, const dist::Mesh &mesh,
                      int64_t fromStage, int64_t toStage);

/// Of bytes that the group holds when they are whole (Links.h). Over several
/// nodes the ranks of a node share the way: each sends its part through a link
/// of its own, and they exchange the parts inside.
double collectiveSeconds(const Machine &machine, CollectiveKind kind,
                         const Route &route, double bytes);
/// From one rank to another.
double sendSeconds(const Machine &machine, const Route &route, double bytes);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_MACHINE_MACHINE_H
