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

/// What is not to be chosen.
struct FixedDegrees {
  /// Ways by axis; and of modes, where their axes have several ways, "sp", 0 or
  /// 1, "cp-mode", a ContextMode, and "micro-batches".
  std::map<std::string, int64_t> numbers = {};
  /// Of axes whose ways are given, too.
  std::map<std::string, llvm::SmallVector<int64_t, 2>> shares = {};
  /// Shares that suit the devices (DeviceShares.h), of all axes.
  bool hasDeviceShares = false;
  /// Of ranks, innermost axis first; other axes are outside of these, as by
  /// default. Empty where the order may be chosen.
  std::vector<std::string> order = {};
};

class DegreeSpace {
public:
  /// All outlive the object; at least one kind of requests.
  DegreeSpace(llvm::ArrayRef<Workload> kinds, const Machine &machine,
              const FixedDegrees &fixed)
      : kinds(kinds), machine(machine), fixed(fixed) {}

  /// Of an axis, where others take so many devices.
  std::vector<int64_t> ways(llvm::StringRef axis, int64_t used) const;
  /// All of one replica that shares out no weights.
  std::vector<Degrees> ofOneReplica() const;
  /// Numbers of ways with the order of ranks that is given, and with shares that
  /// are, or suit the devices.
  void complete(Degrees &degrees) const;
  /// The modes and numbers of micro-batches with them, the plainest first.
  std::vector<Degrees> variantsOf(const Degrees &degrees) const;

private:
  std::map<std::string, llvm::SmallVector<int64_t, 2>>
  sharesOf(const Degrees &degrees) const;
  int64_t mostMicroBatches(const Degrees &degrees) const;

  llvm::ArrayRef<Workload> kinds;
  const Machine &machine;
  const FixedDegrees &fixed;
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_DEGREESPACE_H
