//===- TopologyFuzz.cpp - Any text as a topology file ---------------------===//
#include "passes/plan/ReadTopology.h"

#include <cmath>
#include <cstdlib>

/// What is accepted can be asked what a collective costs.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace shardc;
  dist::Topology topology;
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  if (!plan::parseTopology(text, topology).empty())
    return 0;
  if (topology.numDevices() < 1 ||
      topology.nodeOf(topology.numDevices() - 1) != topology.nodes - 1)
    std::abort();
  for (int64_t nodes : {int64_t{1}, topology.nodes}) {
    const dist::Route route{nodes};
    const double seconds =
        dist::collectiveSeconds(topology, route, 2, 8, 1 << 20);
    if (std::isnan(seconds) || seconds < 0)
      std::abort();
  }
  return 0;
}
