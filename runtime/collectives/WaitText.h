//===- WaitText.h - What is said of a wait that was too long --------------===//
//
//   all_reduce at node 'up' (instruction 3): rank 0 waited 60 s; missing: rank 1
//   (tp 1), last seen at MatMul; raise --timeout if that is only slow
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_WAITTEXT_H
#define SHARDC_RUNTIME_COLLECTIVES_WAITTEXT_H

#include "runtime/base/Message.h"
#include "runtime/collectives/Communicator.h"

#include <chrono>
#include <string>

namespace shardc::runtime {

/// "all_reduce at node 'up' (instruction 3)"
inline std::string siteText(const CollectiveSite &site) {
  return message(site.kind,
                 site.node.empty() ? "" : message(" at node '", site.node, "'"),
                 " (instruction ", site.instruction, ")");
}

/// Of an error there, of that rank; below 0: of whoever finds it.
inline ErrorPlace placeOf(const CollectiveSite &site, int rank) {
  return {rank, -1, site.instruction, std::string(site.kind),
          std::string(site.node)};
}

/// `forWhat`: " for rank 1", "; missing: rank 1 and rank 2".
inline std::string waitText(std::chrono::milliseconds patience,
                            std::string_view forWhat) {
  return message("waited ", static_cast<double>(patience.count()) / 1000, " s",
                 forWhat, "; raise --timeout if that is only slow");
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_WAITTEXT_H
