//===- CapturedCalls.h - What launches were captured with -----------------===//
//
// A plan that was bound to other sizes since, or whose memory is elsewhere,
// launches most of what it launched before. Of a decoding step, whose past is
// one longer than the last one's:
//
//   MatMul   [1, 768] x [768, 768]     as captured
//   Attention  past [1, 12, 37, 64]    changed: there were 36
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RUNNER_CAPTUREDCALLS_H
#define SHARDC_RUNTIME_RUNNER_CAPTUREDCALLS_H

#include "runtime/plan/RankPlan.h"

#include <vector>

namespace shardc::runtime {

class CapturedCalls {
public:
  /// Keeps the calls of a plan as they are.
  void take(const RankPlan &plan);
  /// The plan's instructions whose calls are not what they were: operands,
  /// sizes, places. In order. The plan is the one that was taken, bound again.
  std::vector<size_t> findChanged(const RankPlan &plan) const;
  /// Keeps these, too, as they are now.
  void takeAgain(const RankPlan &plan, std::span<const size_t> changed);

private:
  struct Call {
    explicit Call(const BoundInstruction &instruction);
    bool operator==(const BoundInstruction &instruction) const;

    const Kernel *kernel;
    bool runsOnHost;
    std::byte *scratch; ///< null where none is used
    std::vector<TensorView> operands;
    std::vector<int64_t> sizes; ///< of all attributes
  };
  std::vector<Call> calls;
  std::vector<BoundCollective> collectives;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RUNNER_CAPTUREDCALLS_H
