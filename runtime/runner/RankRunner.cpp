#include "runtime/runner/RankRunner.h"

#include "runtime/artifact/check/TransferChecks.h"
#include "runtime/base/Message.h"
#include "runtime/collectives/WaitText.h"
#include "runtime/runner/ReplicaCheck.h"

#include <algorithm>
#include <optional>

namespace shardc::runtime {
namespace {

/// By the device, or by the host where that has no kernel, or one that does not
/// take such operands: from then on.
Status runKernel(RankPlan &plan, const BoundInstruction &instruction,
                 const RunControl &control, const CollectiveSite &site) {
  if (instruction.runsOnHost)
    return control.hostCalls->run(*instruction.kernel, instruction.call);
  const Status status =
      control.stream.launch(*instruction.kernel, instruction.call, site);
  if (status.code() != StatusCode::Unsupported || !control.hostCalls ||
      !plan.moveToHost(instruction))
    return status;
  control.hostCalls->noteMoved(message(instruction.name, " at node '",
                                       instruction.node,
                                       "': ", status.message()));
  return control.hostCalls->run(*instruction.kernel, instruction.call);
}

/// Pages have places that nobody has written yet, where ranks may have anything;
/// what goes into them was checked where it was made.
Status checkReplicas(const RankPlan &plan, const BoundInstruction &instruction,
                     const CollectiveSite &site, const RunControl &control) {
  if (instruction.name == "PageWrite")
    return Status::ok();
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

/// When instructions ran, where that is measured. Each is waited for; but what
/// is in flight ends when something beside it does, and finds it done.
class Stopwatch {
public:
  Stopwatch(const RankPlan &plan, const RunControl &control)
      : plan(plan), control(control), inFlight(control.inFlight) {
    inFlight.clear(); // of a run that failed
  }

  void start(const BoundInstruction &instruction) {
    if (!isMeasured())
      return;
    begin = SpentTimes::now();
    if (control.traceTag >= 0)
      control.stream.beginTag(static_cast<uint64_t>(control.traceTag) +
                              instruction.index);
  }

  Status stop(const BoundInstruction &instruction, Status status) {
    if (!isMeasured())
      return status;
    if (control.traceTag >= 0) {
      control.stream.endTag();
      return status;
    }
    const bool isInFlight =
        instruction.flight >= 0 && instruction.collective >= 0;
    // Times of a device are those of its work, not of its launch.
    if (control.staging && status.isOk() && !isInFlight)
      status = control.stream.synchronize();
    InstructionTiming &timing = control.timings[instruction.index];
    timing.begin = begin;
    if (isInFlight)
      inFlight.push_back(&instruction);
    else
      end(timing);
    std::erase_if(inFlight, [&](const BoundInstruction *started) {
      const bool isDone =
          plan.collectives()[static_cast<size_t>(started->collective)]
              .communicator->hasLanded(started->flight);
      if (isDone)
        end(control.timings[started->index]);
      return isDone;
    });
    return status;
  }

private:
  bool isMeasured() const { return !control.timings.empty(); }
  static void end(InstructionTiming &timing) {
    timing.end = SpentTimes::now();
    timing.total += timing.end - timing.begin;
  }

  const RankPlan &plan;
  const RunControl &control;
  int64_t begin = 0;
  std::vector<const BoundInstruction *> &inFlight;
};

/// What the instruction reads of the weights is there afterwards, as its kernel
/// wants it.
Status bringWeights(RankPlan &plan, size_t number, const RunControl &control) {
  const BoundInstruction &instruction = plan.instructions()[number];
  if (control.gate) {
    const std::optional<TransferEnd> end = transferOf(*instruction.source);
    SHARDC_RETURN_IF_ERROR(control.gate->pass(instruction.index,
                                              end ? end->stage : -1,
                                              control.stream, control.failure));
  }
  return plan.packUntil(number);
}

/// A collective, or a value of another stage, is there. What is sent is not
/// waited for: the other stage may first send something here.
Status settle(const RankPlan &plan, const BoundInstruction &instruction,
              const RunControl &control) {
  if (!control.settles)
    return Status::ok();
  if (instruction.collective >= 0 && instruction.flight >= 0)
    SHARDC_RETURN_IF_ERROR(
        plan.collectives()[static_cast<size_t>(instruction.collective)]
            .communicator->wait(instruction.flight, siteOf(instruction)));
  const bool receives = instruction.channel && instruction.call.numInputs == 0;
  return instruction.collective >= 0 || receives ? control.stream.synchronize()
                                                 : Status::ok();
}

void enter(const BoundInstruction &instruction, size_t count,
           const RunControl &control) {
  control.progress.current.store(instruction.source, std::memory_order_release);
  control.progress.steps.fetch_add(count, std::memory_order_relaxed);
}

} // namespace

CollectiveSite siteOf(const BoundInstruction &instruction) {
  return {instruction.name, instruction.node,
          static_cast<int>(instruction.index), instruction.flight};
}

Status runInstruction(RankPlan &plan, const BoundInstruction &instruction,
                      int rank, const RunControl &control) {
  std::optional<CallersMemory> callers;
  if (instruction.borrows) {
    callers.emplace(control.progress, control.failure);
    SHARDC_RETURN_IF_ERROR(callers->granted());
  }
  const CollectiveSite site = siteOf(instruction);
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
  if (instruction.awaits)
    return instruction.awaits->wait(instruction.flight, site);
  if (!instruction.kernel)
    return Status::ok(); // the stage does it
  const Status status = runKernel(plan, instruction, control, site);
  if (status.isOk())
    return status;
  const StatusCode code = status.code() == StatusCode::Unsupported
                              ? StatusCode::Artifact
                              : status.code();
  return Status::error(code,
                       message("rank ", rank, ": ", instruction.name,
                               " at node '", instruction.node,
                               "' (instruction ", site.instruction,
                               "): ", status.message()),
                       placeOf(site, rank));
}

Status runInstructions(RankPlan &plan, int rank, const RunControl &control,
                       std::span<const CapturedStretch> captured) {
  std::span<const BoundInstruction> instructions = plan.instructions();
  Stopwatch watch(plan, control);
  const bool isFirst = control.gate || plan.hasUnpacked();
  auto fail = [&](const Status &status) {
    control.failure.fail(status);
    return control.failure.status();
  };
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (control.failure.failed())
      return control.failure.status();
    const BoundInstruction &instruction = instructions[i];
    if (!captured.empty() && captured.front().first == i) {
      // Where the device is in it nobody knows.
      const CapturedStretch &stretch = captured.front();
      enter(instruction, stretch.end - stretch.first, control);
      if (Status status = control.stream.run(*stretch.graph); !status.isOk())
        return fail(status);
      i = stretch.end - 1;
      captured = captured.subspan(1);
      continue;
    }
    if (isFirst)
      if (Status status = bringWeights(plan, i, control); !status.isOk())
        return fail(status);
    enter(instruction, 1, control);
    const CollectiveSite site = siteOf(instruction);
    watch.start(instruction);
    const auto run = [&] {
      return runInstruction(plan, instruction, rank, control);
    };
    Status status = watch.stop(
        instruction,
        control.spent ? control.spent->timed(instruction, run) : run());
    if (status.isOk())
      status = settle(plan, instruction, control);
    if (status.isOk() && control.world && instruction.replicated)
      status = checkReplicas(plan, instruction, site, control);
    if (status.isOk() && control.behind)
      status = (*control.behind)(instruction);
    // Of a request that is ended from outside no instruction is the cause.
    if (status.code() == StatusCode::Artifact && !control.failure.failed())
      status = status.at(placeOf(site, rank));
    if (!status.isOk())
      return fail(status);
  }
  return Status::ok();
}

} // namespace shardc::runtime
