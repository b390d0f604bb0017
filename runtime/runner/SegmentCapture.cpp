#include "runtime/runner/SegmentCapture.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// Whether it is work of the device's stream and nothing else.
bool isCapturable(const RankPlan &plan, const BoundInstruction &instruction) {
  if (instruction.collective >= 0)
    return plan.collectives()[static_cast<size_t>(instruction.collective)]
        .communicator->isCapturable();
  if (instruction.awaits)
    return instruction.awaits->isCapturable();
  return !instruction.channel && !instruction.runsOnHost;
}

/// What went wrong is found again, and told, by the plain run.
bool capture(RankPlan &plan, int rank, const RunControl &control,
             CapturedStretch &stretch) {
  if (!control.stream.beginCapture().isOk())
    return false;
  bool isComplete = true;
  for (size_t i = stretch.first; i < stretch.end && isComplete; ++i)
    isComplete =
        runInstruction(plan, plan.instructions()[i], rank, control).isOk();
  return control.stream.endCapture(stretch.graph).isOk() && isComplete;
}

bool captureAll(RankPlan &plan, int rank, const RunControl &control,
                std::vector<CapturedStretch> &captured) {
  // A single launch costs no more than a graph.
  constexpr size_t kLeast = 2;
  std::span<const BoundInstruction> instructions = plan.instructions();
  for (size_t first = 0, end = 0; first < instructions.size();
       first = end + 1) {
    end = first;
    while (end < instructions.size() && isCapturable(plan, instructions[end]))
      ++end;
    if (end - first < kLeast)
      continue;
    captured.push_back({first, end, nullptr});
    if (!capture(plan, rank, control, captured.back()))
      return false;
  }
  return !captured.empty();
}

/// A collective is captured by all of its ranks anew, or by none.
bool isUpdatable(const RankPlan &plan, const BoundInstruction &instruction) {
  return instruction.kernel && isCapturable(plan, instruction);
}

/// Those of `changed` that the stretch has.
std::span<const size_t> changedIn(const CapturedStretch &stretch,
                                  std::span<const size_t> changed) {
  const auto first =
      std::lower_bound(changed.begin(), changed.end(), stretch.first);
  return {first, std::lower_bound(first, changed.end(), stretch.end)};
}

bool update(RankPlan &plan, int rank, const RunControl &control,
            std::span<const size_t> changed, const CapturedStretch &stretch) {
  if (changed.empty())
    return true;
  if (!control.stream.beginUpdate(*stretch.graph).isOk())
    return false;
  bool isComplete = true;
  for (size_t i : changed) {
    const BoundInstruction &instruction = plan.instructions()[i];
    isComplete = isComplete && isUpdatable(plan, instruction) &&
                 runInstruction(plan, instruction, rank, control).isOk();
  }
  return control.stream.endUpdate().isOk() && isComplete;
}

/// Whether all ranks of all groups of the plan say so. Each group passes on
/// what those before it said.
Status agree(const RankPlan &plan, const RunControl &control, bool &all) {
  std::vector<Communicator *> asked;
  for (const BoundInstruction &instruction : plan.instructions()) {
    if (instruction.collective < 0)
      continue;
    Communicator *group =
        plan.collectives()[static_cast<size_t>(instruction.collective)]
            .communicator;
    if (std::find(asked.begin(), asked.end(), group) != asked.end())
      continue;
    asked.push_back(group);
    const char mine = all ? 1 : 0;
    std::vector<char> answers(static_cast<size_t>(group->size()));
    if (Status status =
            group->exchange(&mine, 1, answers.data(), siteOf(instruction));
        !status.isOk()) {
      control.failure.fail(status);
      return control.failure.status();
    }
    all = std::find(answers.begin(), answers.end(), 0) == answers.end();
  }
  return Status::ok();
}

} // namespace

Status captureTogether(RankPlan &plan, int rank, const RunControl &control,
                       std::vector<CapturedStretch> &captured) {
  bool all = captureAll(plan, rank, control, captured);
  Status status = agree(plan, control, all);
  if (!all || !status.isOk())
    captured.clear();
  return status;
}

Status updateTogether(RankPlan &plan, int rank, const RunControl &control,
                      std::span<const size_t> changed,
                      std::span<const CapturedStretch> captured,
                      bool &isUpdated) {
  isUpdated = std::all_of(captured.begin(), captured.end(),
                          [&](const CapturedStretch &stretch) {
                            return update(plan, rank, control,
                                          changedIn(stretch, changed), stretch);
                          });
  return agree(plan, control, isUpdated);
}

} // namespace shardc::runtime
