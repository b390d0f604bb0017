//===- DegreeSpace.h - All degrees that are worth a prediction ------------===//
//
// Ways of an axis are powers of two and what divides the number of devices; all
// together are no more than there are devices. Of 6 devices: 1, 2, 3, 4, 6 ways
// of "tp", and for tp 2 of "pp" 1, 2, 3.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_DEGREESPACE_H
#define SHARDC_PASSES_PLAN_DEGREES_DEGREESPACE_H

#include "passes/plan/degrees/Degrees.h"
#include "passes/plan/degrees/Workload.h"

#include <map>

namespace shardc::plan {

/// By axis, degrees that are not to be chosen; and of modes, where their axes have
/// several ways, "sp", 0 or 1, "cp-mode", a ContextMode, and "micro-batches".
using FixedDegrees = std::map<std::string, int64_t>;

class DegreeSpace {
public:
  /// All outlive the object; at least one kind of requests.
  DegreeSpace(llvm::ArrayRef<Workload> kinds, int64_t numDevices,
              const FixedDegrees &fixed)
      : kinds(kinds), numDevices(numDevices), fixed(fixed) {}

  /// Of an axis, where others take so many devices.
  std::vector<int64_t> ways(llvm::StringRef axis, int64_t used) const;
  /// All of one replica that shares out no weights.
  std::vector<Degrees> ofOneReplica() const;
  /// The modes and numbers of micro-batches with them, the plainest first.
  std::vector<Degrees> variantsOf(const Degrees &degrees) const;

private:
  int64_t mostMicroBatches(const Degrees &degrees) const;

  llvm::ArrayRef<Workload> kinds;
  const int64_t numDevices;
  const FixedDegrees &fixed;
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_DEGREESPACE_H
