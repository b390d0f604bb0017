//===- Step.h - What one run asks of the ranks of a stage -----------------===//
//
// The stage decides which program runs, with which sizes and caches; each rank
// does the rest by itself. Ranks that are threads of one process share a step.
//
//   {profile 1, slot 0, symbols {seq 1, past 9}, inputs {tokens, ...}, ...}
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RANK_STEP_H
#define SHARDC_RUNTIME_RANK_STEP_H

#include "runtime/cache/CacheState.h"
#include "runtime/tensor/Tensor.h"

#include <atomic>
#include <memory>
#include <span>
#include <vector>

namespace shardc::runtime {

struct Step {
  size_t profile = 0;
  size_t slot = 0;    ///< of the plans that ranks keep of the program
  bool isNew = false; ///< the slot was another shape's, or nobody's
  /// Runs of the shape, this one included. The first one waits for weights and
  /// arranges them: where there is a second one, the host's times of the first
  /// are forgotten.
  int uses = 0;
  std::vector<int64_t> symbols; ///< that the inputs bind
  /// By input of the program. Without a state past has data, too.
  std::vector<const InputTensor *> inputs;
  /// Another one where some of them may be read elsewhere on a device than in the
  /// run of the plan before.
  uint64_t inputPlacement = 0;
  std::vector<char>
      skippedInputs;             ///< the state has it, or nobody reads it here
  std::vector<char> keptOutputs; ///< of the program: the state has it
  /// A rank that hangs keeps it, whatever becomes of the caller's.
  std::shared_ptr<CacheState> state;
  /// The model's; empty: they are wanted elsewhere.
  std::span<Tensor> outputs;
  /// By output of the program: elements that ranks which are here have.
  std::unique_ptr<std::atomic<int64_t>[]> covered;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_STEP_H
