//===- HostNodes.h - On which NUMA node a rank's threads run --------------===//
//
// A machine of two sockets has two nodes, each with memory of its own. Ranks
// that are threads of one process are spread over the nodes in order, and each
// is bound to its node's CPUs and takes memory there, before it has any:
//
//   node 0: CPUs 0-31    node 1: CPUs 32-63    4 ranks
//   ranks 0, 1 on node 0; ranks 2, 3 on node 1
//
// Neighbours, which the innermost groups are of, share a node.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_LAUNCH_HOSTNODES_H
#define SHARDC_RUNTIME_LAUNCH_HOSTNODES_H

#include "runtime/base/Cgroup.h"

#include <string_view>
#include <vector>

namespace shardc::runtime {

struct HostNode {
  int number = 0;        ///< the kernel's
  std::vector<int> cpus; ///< those that the process may use, ascending
};

/// "0-2,8" -> {0, 1, 2, 8}; nothing where it is malformed.
std::vector<int> parseCpuList(std::string_view text);

/// Nodes with CPUs among `allowed`, which ascend, according to /sys/devices/system/node as
/// `read` finds it.
std::vector<HostNode> readHostNodes(const ReadText &read,
                                    const std::vector<int> &allowed);

/// Null: it is not to be bound. There is one node only, or the rank has more
/// threads than the node has CPUs.
const HostNode *nodeOfRank(const std::vector<HostNode> &nodes, int rank,
                           int ranks, int threads);

/// The calling thread, and those that it starts: they run on the node's CPUs,
/// and their memory is taken there as long as there is some. False where the
/// system does not let it; it then runs as before, only slower.
bool bindToNode(const HostNode &node);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_HOSTNODES_H
