#include "runtime/exec/RankRunner.h"

#include "runtime/base/Message.h"
#include "runtime/exec/ReplicaCheck.h"

#include <algorithm>
#include <chrono>

namespace shardc::runtime {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Status runOne(const RankPlan &plan, const BoundInstruction &instruction,
              int rank, const RunControl &control, const CollectiveSite &site) {
  RunFailure &failure = control.failure;
  if (instruction.channel)
    return instruction.call.numInputs > 0
               ? instruction.channel->send(instruction.call.inputs[0], failure,
                                           site)
               : instruction.channel->receive(instruction.call.outputs[0],
                                              failure, site);
  if (instruction.collective >= 0)
    return runCollective(
        plan.collectives()[static_cast<size_t>(instruction.collective)],
        instruction.call, site);
  if (!instruction.kernel)
    return Status::ok(); // the engine does it
  Status status =
      instruction.runsOnHost
          ? control.hostCalls->run(*instruction.kernel, instruction.call)
          : control.stream.launch(*instruction.kernel, instruction.call, site);
  if (status.isOk())
    return status;
  return Status::error(
      status.code(), message("rank ", rank, ": ", instruction.name,
                             " at node '", instruction.node, "' (instruction ",
                             site.instruction, "): ", status.message()));
}

Status checkReplicas(const RankPlan &plan, const BoundInstruction &instruction,
                     const CollectiveSite &site, const RunControl &control) {
  for (int o = 0; o < instruction.call.numOutputs; ++o)
    if (plan.isReplicated(instruction.call.outputs[o])) {
      TensorView output = instruction.call.outputs[o];
      if (control.staging)
        SHARDC_RETURN_IF_ERROR(control.staging->fetch(output, output));
      SHARDC_RETURN_IF_ERROR(
          checkReplicated(output, o, *control.world, site, control.hashes));
    }
  return Status::ok();
}

CollectiveSite siteOf(const BoundInstruction &instruction) {
  return {instruction.name, instruction.node,
          static_cast<int>(instruction.index)};
}

/// Whether it is work of the device's stream and nothing else.
bool isCapturable(const RankPlan &plan, const BoundInstruction &instruction) {
  if (instruction.collective >= 0)
    return plan.collectives()[static_cast<size_t>(instruction.collective)]
        .communicator->isCapturable();
  return !instruction.channel && !instruction.runsOnHost;
}

/// What went wrong is found again, and told, by the plain run.
bool capture(const RankPlan &plan, int rank, const RunControl &control,
             std::unique_ptr<DeviceGraph> &graph) {
  std::span<const BoundInstruction> instructions = plan.instructions();
  if (!std::all_of(instructions.begin(), instructions.end(),
                   [&](const auto &instruction) {
                     return isCapturable(plan, instruction);
                   }) ||
      !control.stream.beginCapture().isOk())
    return false;
  bool isComplete = true;
  for (size_t i = 0; i < instructions.size() && isComplete; ++i) {
    control.progress.current.store(instructions[i].source,
                                   std::memory_order_release);
    isComplete =
        runOne(plan, instructions[i], rank, control, siteOf(instructions[i]))
            .isOk();
  }
  return control.stream.endCapture(graph).isOk() && isComplete;
}

/// Whether all ranks of all groups of the plan say so. Each group passes on
/// what those before it said.
Status agree(const RankPlan &plan, bool &all) {
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
    SHARDC_RETURN_IF_ERROR(
        group->exchange(&mine, 1, answers.data(), siteOf(instruction)));
    all = std::find(answers.begin(), answers.end(), 0) == answers.end();
  }
  return Status::ok();
}

} // namespace

Status captureTogether(const RankPlan &plan, int rank,
                       const RunControl &control,
                       std::unique_ptr<DeviceGraph> &graph, bool &all) {
  all = capture(plan, rank, control, graph);
  Status status = agree(plan, all);
  if (!all || !status.isOk())
    graph.reset();
  if (!status.isOk()) {
    control.failure.fail(status);
    return control.failure.status();
  }
  return Status::ok();
}

Status replayInstructions(const RankPlan &plan, DeviceGraph &graph,
                          const RunControl &control) {
  if (control.failure.failed())
    return control.failure.status();
  if (plan.instructions().empty())
    return Status::ok();
  // Where the device is in it is not known here.
  control.progress.current.store(plan.instructions().front().source,
                                 std::memory_order_release);
  control.progress.steps.fetch_add(plan.instructions().size(),
                                   std::memory_order_relaxed);
  Status status = control.stream.run(graph);
  if (status.isOk())
    return status;
  control.failure.fail(status);
  return control.failure.status();
}

Status runInstructions(const RankPlan &plan, int rank,
                       const RunControl &control) {
  std::span<const BoundInstruction> instructions = plan.instructions();
  const bool measures = !control.timings.empty();
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (control.failure.failed())
      return control.failure.status();
    const BoundInstruction &instruction = instructions[i];
    control.progress.current.store(instruction.source,
                                   std::memory_order_release);
    control.progress.steps.fetch_add(1, std::memory_order_relaxed);
    const CollectiveSite site = siteOf(instruction);
    const int64_t begin = measures ? now() : 0;
    Status status = runOne(plan, instruction, rank, control, site);
    // Times of a device are those of its work, not of its launch.
    if (measures && control.staging && status.isOk())
      status = control.stream.synchronize();
    if (measures) {
      InstructionTiming &timing = control.timings[instruction.index];
      timing.begin = begin;
      timing.end = now();
      timing.total += timing.end - begin;
    }
    if (status.isOk() && control.world && instruction.replicated)
      status = checkReplicas(plan, instruction, site, control);
    if (!status.isOk()) {
      control.failure.fail(status);
      return control.failure.status();
    }
  }
  return Status::ok();
}

} // namespace shardc::runtime
