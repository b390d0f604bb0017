//===- DeviceShares.h - Parts of ranks that suit their devices ------------===//
//
// The ranks of a group wait for the slowest one, so each gets as much as its
// device is faster. What decides is half the multiply-adds a second of large
// products, which prompts take, and half the rate of the memory, which steps
// take. Of an axis a way is as fast as its slowest rank:
//
//   a node with one H100 and one with one L40S, "tp"=2   [4, 1]
//   two nodes of them with two devices each, "tp"=4      [4, 4, 1, 1]
//   the same, <"cp"=2, "tp"=2>                           cp [4, 1], tp equal
//   the same, <"tp"=2, "cp"=2>, neighbours along cp      tp [4, 1], cp equal
//
// Shares are small numbers, so that few sizes have to be rounded: the first that
// no device takes a tenth longer than it would with exact ones.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_MACHINE_DEVICESHARES_H
#define SHARDC_PASSES_PLAN_MACHINE_DEVICESHARES_H

#include "passes/plan/machine/Machine.h"

namespace shardc::plan {

/// Of rank `rank`; null where only links are known.
const Device *deviceOf(const Machine &machine, int64_t rank);

/// The mesh with shares for the axes that split values; equal ones where the
/// devices are alike.
dist::Mesh withDeviceShares(const Machine &machine, dist::Mesh mesh);

/// "tp=3,1" as --shares has it; "" where parts are equal.
std::string sharesText(const dist::Axis &axis);

/// Small numbers in about these proportions; none where they are about equal.
llvm::SmallVector<int64_t, 2> smallShares(llvm::ArrayRef<double> speeds);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_MACHINE_DEVICESHARES_H
