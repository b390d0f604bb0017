//===- Remedy.h - What would fit where a model does not -------------------===//
//
//   llama3-70b on one h100, steps of a batch of 8 behind 32768 positions:
//   "4 devices (--tp 4)"
//
//   on two of them: "4 devices (--tp 4); 8-bit weights (--tp 2); a context of
//   4096 positions (--tp 2)"
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_REMEDY_H
#define SHARDC_PASSES_PLAN_DEGREES_REMEDY_H

#include "passes/plan/degrees/DegreeSpace.h"
#include "passes/plan/machine/Machine.h"

namespace shardc::plan {

/// More devices, weights of 8 bits, or fewer positions, with the flags that run
/// then; those of the three that help, "" where none does or none is found within
/// a few hundred plans. Of a machine and requests that no degrees fit.
std::string whatWouldFit(llvm::ArrayRef<Workload> kinds, const Machine &machine,
                         const FixedDegrees &fixed = {});

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_REMEDY_H
