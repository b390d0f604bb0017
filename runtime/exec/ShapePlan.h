//===- ShapePlan.h - All ranks' plans for one set of input shapes ---------===//
//
// Shapes are told apart by the values of the symbols. A session keeps the plans
// of the last few, so alternating between two lengths prepares nothing again.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_SHAPEPLAN_H
#define SHARDC_RUNTIME_EXEC_SHAPEPLAN_H

#include "runtime/exec/RankPlan.h"
#include "runtime/exec/RankRunner.h"

#include <vector>

namespace shardc::runtime {

struct ShapePlan {
  std::vector<int64_t> symbols;
  std::vector<std::vector<int64_t>> scalars; ///< by rank
  std::vector<RankPlan> ranks;
  std::vector<std::vector<InstructionTiming>> timings; ///< by rank, or empty
  std::vector<std::vector<int64_t>> outputDims;        ///< by output
  uint64_t lastUsed = 0;

  bool isFor(std::span<const int64_t> values) const {
    return std::equal(symbols.begin(), symbols.end(), values.begin(),
                      values.end());
  }

  /// Evaluates the scalars of all ranks.
  Status evaluate(const artifact::Program &program,
                  std::span<const int64_t> values);

  /// After every rank has prepared its plan: decides which rank copies which
  /// block of the outputs, and checks that the blocks are all there is.
  Status assignOutputs(const artifact::Program &program);
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_SHAPEPLAN_H
