#include "runtime/exec/RankRunner.h"

#include "runtime/base/Message.h"
#include "runtime/exec/ReplicaCheck.h"

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

} // namespace

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
    const CollectiveSite site{instruction.name, instruction.node,
                              static_cast<int>(instruction.index)};
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
