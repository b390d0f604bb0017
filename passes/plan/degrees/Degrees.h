//===- Degrees.h - How many ways of each parallelism ----------------------===//
//
//   {dp 1, pp 2, fsdp 1, cp 1, ep 1, tp 8}    16 ranks, --tp 8 --pp 2
//
// The mesh has the axes major to minor as here, so that the ranks of "tp" are
// neighbours, unless `order` says otherwise:
//
//   {tp 2, pp 8, order tp pp}    --tp 2 --pp 8 --rank-order pp,tp
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_DEGREES_H
#define SHARDC_PASSES_PLAN_DEGREES_DEGREES_H

#include "passes/plan/AxisRoles.h"

#include <map>

namespace shardc::plan {

struct Degrees {
  int64_t dp = 1, pp = 1, fsdp = 1, cp = 1, ep = 1, tp = 1;
  bool sequenceParallel = false;
  int64_t microBatches = 1;
  ContextMode contextMode = ContextMode::Ring;
  ExpertMode expertMode = ExpertMode::Tensor;
  /// All axes of several ways, major to minor; empty for the order above.
  std::vector<std::string> order = {};
  /// By axis, where its ranks have unequal parts (dist/algebra/Shares.h).
  std::map<std::string, llvm::SmallVector<int64_t, 2>> shares = {};

  int64_t numRanks() const { return dp * pp * fsdp * cp * ep * tp; }
  int64_t ways(llvm::StringRef axis) const;
  /// Takes over the order of axes that have several ways here.
  void orderAs(const dist::Mesh &mesh);
  dist::Mesh mesh() const;
  /// As the command line has them; "--tp 1" where there is nothing to say.
  std::string flags() const;
};

/// Of a mesh whose axes have these names.
Degrees degreesOf(const dist::Mesh &mesh);

llvm::StringRef stringify(ContextMode mode);
llvm::StringRef stringify(ExpertMode mode);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_DEGREES_H
