//===- TransferCost.cpp - Seconds from one stage to the next --------------===//

#include "passes/plan/cost/TransferCost.h"

namespace shardc::plan {

double wholeSeconds(const Machine &machine, const dist::Mesh &mesh,
                    const Transfer &transfer) {
  return sendSeconds(machine,
                     routeOfTransfer(machine, mesh, transfer.from, transfer.to),
                     transfer.bytes);
}

double scatteredSeconds(const Machine &machine, const dist::Mesh &mesh,
                        const Transfer &transfer) {
  Transfer part = transfer;
  part.bytes /= double(dist::numWays(transfer.alike));
  return wholeSeconds(machine, mesh, part) +
         collectiveSeconds(machine, CollectiveKind::AllGather,
                           routeOf(machine, mesh, transfer.alike),
                           transfer.bytes);
}

} // namespace shardc::plan
