//===- SpentByRank.h - Where a rank's time in a step goes -----------------===//
#ifndef SHARDC_RUNTIME_RUNNER_SPENTBYRANK_H
#define SHARDC_RUNTIME_RUNNER_SPENTBYRANK_H

#include "runtime/launch/SpentTimes.h"
#include "runtime/plan/RankPlan.h"

#include <array>
#include <vector>

namespace shardc::runtime {

/// Of one rank, whose thread alone uses it.
class SpentByRank {
public:
  /// The groups of its programs, by profile; nothing is counted before.
  void open(const std::shared_ptr<SpentTimes> &times, int stage,
            std::span<const artifact::Program *const> programs);

  void beginStep(size_t ofProfile) {
    profile = ofProfile;
    begun = isOpen ? SpentTimes::now() : 0;
    received = 0;
  }
  void endStep() const {
    if (isOpen)
      busy.add(SpentTimes::now() - begun - received);
  }

  /// Runs an instruction, with its time where it is one that is counted.
  template <typename Run>
  Status timed(const BoundInstruction &instruction, Run run) {
    const SpentTimes::Share *share = isOpen ? shareOf(instruction) : nullptr;
    if (!share)
      return run();
    const int64_t begin = SpentTimes::now();
    Status status = run();
    const int64_t spent = SpentTimes::now() - begin;
    share->add(spent);
    if (share == &receive)
      received += spent;
    return status;
  }

private:
  /// Null: it is just work, or sends, which waits for nobody.
  const SpentTimes::Share *shareOf(const BoundInstruction &instruction);

  static constexpr size_t kFlights = 256; ///< Program.fbs
  bool isOpen = false;
  size_t profile = 0;
  int64_t begun = 0, received = 0;
  std::vector<SpentTimes::Share> shares;     ///< by axes
  std::vector<std::vector<size_t>> ofGroups; ///< which, by profile and group
  /// Of collectives that were started, whose waits say nothing of their group.
  std::array<const SpentTimes::Share *, kFlights> ofFlights = {};
  SpentTimes::Share busy, receive;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RUNNER_SPENTBYRANK_H
