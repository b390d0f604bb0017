//===- StageDevices.h - Which devices the stages of a pipeline have -------===//
#ifndef SHARDC_PASSES_PLAN_MACHINE_STAGEDEVICES_H
#define SHARDC_PASSES_PLAN_MACHINE_STAGEDEVICES_H

#include "passes/plan/machine/Machine.h"

namespace shardc::plan {

/// Nodes of a machine may have unequal devices, and stages be on different nodes:
///
///   an H100 and an L40S in a node each, pp 2:  kinds {H100}, {L40S}
struct StageDevices {
  /// The machine with the devices of some stages alone, once for all that have the
  /// same ones.
  std::vector<Machine> kinds;
  std::vector<size_t> kindOf;      ///< by stage
  std::vector<double> memoryBytes; ///< by stage: of its smallest device
};

/// One kind, of all devices, where they are alike, or where shares of the mesh
/// count them already (DeviceShares.h).
StageDevices stageDevices(const Machine &machine, const dist::Mesh &mesh);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_MACHINE_STAGEDEVICES_H
