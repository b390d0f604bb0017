//===- RankStep.cpp - One step, from inputs to outputs --------------------===//
#include "runtime/base/Message.h"
#include "runtime/kernels/CopyBlock.h"
#include "runtime/program/ScalarEvaluator.h"
#include "runtime/rank/Rank.h"
#include "runtime/tensor/CopyView.h"

namespace shardc::runtime {

Status Rank::run(const Step &next) {
  spent.beginStep(next.profile);
  SHARDC_RETURN_IF_ERROR(begin(next));
  SHARDC_RETURN_IF_ERROR(placeInputs());
  if (isTraced)
    traced.begin(*shape);
  if (!arrivals->isComplete()) {
    SHARDC_RETURN_IF_ERROR(arrivals->status());
    openGate(step->profile);
  }
  const Segments &run = active->loaded.run;
  for (size_t segment = 0; segment < run.list.size();)
    SHARDC_RETURN_IF_ERROR(runSegment(segment));
  if (!arrivals->isComplete())
    SHARDC_RETURN_IF_ERROR(gate.passAll(*ownStream, place.failure));
  SHARDC_RETURN_IF_ERROR(run.isStatic() ? copyOutputs(next) : findOutputs());
  if (step->state) {
    SHARDC_RETURN_IF_ERROR(active->scalars.bind(step->symbols));
    SHARDC_RETURN_IF_ERROR(step->state->finish(active->program(), place.rank,
                                               active->scalars.mine()));
  }
  if (isTraced)
    SHARDC_RETURN_IF_ERROR(ownStream->synchronize());
  spent.endStep();
  return Status::ok();
}

/// Its sizes, its plan, and room in its part of the caches.
Status Rank::begin(const Step &next) {
  step = &next;
  active = programs[step->profile].get();
  if (active->plans.size() <= step->slot)
    active->plans.resize(step->slot + 1);
  std::unique_ptr<RankShapePlan> &plan = active->plans[step->slot];
  if (!plan)
    plan = std::make_unique<RankShapePlan>();
  shape = plan.get();
  symbols = step->symbols;
  inputs.resize(step->inputs.size());
  SHARDC_RETURN_IF_ERROR(active->scalars.bind(symbols));
  if (step->isNew) {
    // Other sizes may take kernels that have to be loaded, which waits for all
    // that the device does: what the step before sent is to be gone by then.
    SHARDC_RETURN_IF_ERROR(drainLinks());
    SHARDC_RETURN_IF_ERROR(prepare());
  } else if (step->uses == 2 && !isTraced)
    for (InstructionTiming &timing : shape->timings)
      timing.total = 0;
  return step->state ? step->state->reserve(active->program(), place.rank,
                                            active->scalars.mine(), *ownStream)
                     : Status::ok();
}

/// Binds the plan of the slot, which was another shape's, or is new: its first
/// segment, the others wait for their data.
Status Rank::prepare() {
  const artifact::Program &program = active->program();
  const std::span<const int64_t> scalars = active->scalars.mine();
  traced.forget(*shape);
  SHARDC_RETURN_IF_ERROR(checkGuards(program, scalars));
  if (step->state)
    SHARDC_RETURN_IF_ERROR(CacheState::checkPast(program, place.rank, scalars));
  shape->segments.resize(active->loaded.run.list.size());
  for (SegmentPlan &segment : shape->segments)
    segment.isReady = false;
  if (place.options.measure)
    shape->timings.assign(program.run()->size(), InstructionTiming());
  SHARDC_RETURN_IF_ERROR(
      shape->inputs.prepare(program, scalars, step->skippedInputs));
  shape->segments[0].symbols = symbols;
  SHARDC_RETURN_IF_ERROR(bindPlan(0, shape->segments[0]));
  return active->loaded.run.isStatic() ? findOutputs() : Status::ok();
}

Status Rank::placeInputs() {
  const CallersMemory callers(progress, place.failure);
  SHARDC_RETURN_IF_ERROR(callers.granted());
  InputSlices &slices = shape->inputs;
  const bool isHost = ownDevice->isHost();
  SHARDC_RETURN_IF_ERROR(growBuffer(
      inputMemory, isHost ? slices.packedBytes() : slices.deviceBytes(),
      "its parts of the inputs", /*keep=*/false));
  if (!isHost && inputStaging.size() < slices.packedBytes() &&
      !inputStaging.allocate(*ownDevice, MemoryKind::Staging,
                             slices.packedBytes()))
    return artifactError("out of memory: rank ", place.rank, " needs ",
                         slices.packedBytes(),
                         " bytes to pack inputs; use smaller inputs");
  SHARDC_RETURN_IF_ERROR(awaitCallers());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const DeviceView *there = step->inputs[i]->onDevice;
        there && !slices.isUnread(i))
      SHARDC_RETURN_IF_ERROR(placeFromDevice(i, *there));
    else if (isHost)
      inputs[i] = slices.place(i, step->inputs[i]->data, inputMemory.data());
    else
      SHARDC_RETURN_IF_ERROR(
          slices.upload(i, step->inputs[i]->data, inputStaging.data(),
                        inputMemory.data(), *ownStream, inputs[i]));
  if (step->state)
    for (uint32_t c = 0; c < active->program().caches()->size(); ++c)
      inputs[active->program().caches()->Get(c)->input()] =
          step->state->memoryOf(place.rank, c);
  return Status::ok();
}

/// What callers have enqueued for their memory on devices comes first. A kernel
/// that follows an address which is none there would end the device's work for
/// good.
Status Rank::awaitCallers() {
  for (const InputTensor *input : step->inputs)
    if (input->onDevice)
      SHARDC_RETURN_IF_ERROR(
          awaitCaller(*input->onDevice, "input", input->name));
  if (step->outputs.empty())
    return Status::ok();
  for (const artifact::Output *output : *active->program().outputs())
    if (const DeviceView *there = step->outputs[output->index()].deviceView())
      SHARDC_RETURN_IF_ERROR(
          awaitCaller(*there, "output", output->name()->string_view()));
  return Status::ok();
}

Status Rank::awaitCaller(const DeviceView &there, const char *kind,
                         std::string_view name) {
  const Status status = ownDevice->checkMemory(there.view.data, there.device);
  return status.isOk() ? ownStream->waitForOthers(there.device)
                       : status.saying(message(kind, " '", name,
                                               "': ", status.message()));
}

/// Where it is, or by a copy that does not touch the host's memory.
Status Rank::placeFromDevice(size_t input, const DeviceView &whole) {
  if (!blocks)
    return argumentError("input '", step->inputs[input]->name,
                         "' is in memory of a device, expected memory of the "
                         "host, where rank ",
                         place.worldRank(), " is; copy it there");
  const InputSlices &slices = shape->inputs;
  if (whole.device == ownDevice->info().number) {
    inputs[input] = slices.findPart(input, whole.view);
    if (inputs[input])
      return Status::ok();
  }
  const TensorView local = slices.placeOf(input, inputMemory.data());
  inputs[input] = local.data;
  const Status status = blocks->copyIn(whole, slices.dimsOf(input), local);
  return status.isOk()
             ? status
             : status.saying(message("input '", step->inputs[input]->name,
                                     "': ", status.message()));
}

/// Which blocks of the outputs are its own, once their sizes are known.
Status Rank::findOutputs() {
  const auto *outputs = active->program().outputs();
  shape->outputs.resize(outputs->size());
  for (uint32_t o = 0; o < outputs->size(); ++o)
    if (!step->keptOutputs[o])
      SHARDC_RETURN_IF_ERROR(findOutputBlock(*outputs->Get(o), active->scalars,
                                             place.rank, shape->outputs[o]));
  return Status::ok();
}

/// Where the host reads the rank's part of each output. All of them are waited
/// for together.
Status Rank::fetchOutputs(const Step &of) {
  const RankPlan &plan = shape->last();
  hostOutputs.resize(of.keptOutputs.size());
  while (staging && outputStaging.size() < of.keptOutputs.size())
    outputStaging.emplace_back(*ownDevice, *ownStream);
  bool isUnderWay = false;
  for (uint32_t o = 0; o < hostOutputs.size(); ++o) {
    TensorView &onHost = hostOutputs[o] = *plan.outputs[o];
    const uint32_t index = active->program().outputs()->Get(o)->index();
    if (!staging || of.keptOutputs[o] || !shape->outputs[o].copies ||
        (!of.outputs.empty() && of.outputs[index].deviceView()))
      continue;
    SHARDC_RETURN_IF_ERROR(
        outputStaging[o].startFetch(*plan.outputs[o], onHost));
    isUnderWay = true;
  }
  return isUnderWay ? ownStream->synchronize() : Status::ok();
}

Status Rank::copyOutputs(const Step &of) {
  SHARDC_RETURN_IF_ERROR(fetchOutputs(of));
  const CallersMemory callers(progress, place.failure);
  SHARDC_RETURN_IF_ERROR(callers.granted());
  for (uint32_t o = 0; o < hostOutputs.size(); ++o) {
    const OutputBlock &block = shape->outputs[o];
    if (of.outputs.empty() || of.keptOutputs[o] || !block.copies)
      continue;
    of.covered[o].fetch_add(block.numElements(), std::memory_order_relaxed);
    const uint32_t index = active->program().outputs()->Get(o)->index();
    const Tensor &whole = of.outputs[index];
    if (const DeviceView *there = whole.deviceView())
      SHARDC_RETURN_IF_ERROR(copyToDevice(o, *there));
    else if (whole.numElements() > 0)
      copyBlock(block.dims,
                packedView(whole.data(), whole.element(), whole.dims()),
                hostOutputs[o], BlockCopy::ToGlobal);
  }
  return Status::ok();
}

/// Done once the stream was waited for, as it is behind each job.
Status Rank::copyToDevice(uint32_t output, const DeviceView &whole) {
  const Status status = blocks->copyOut(whole, shape->outputs[output].dims,
                                        *shape->last().outputs[output]);
  const auto *name = active->program().outputs()->Get(output)->name();
  return status.isOk() ? status
                       : status.saying(message("output '", name->c_str(),
                                               "': ", status.message()));
}

void Rank::dropGraphs() {
  for (auto &own : programs)
    for (auto &plan : own->plans)
      if (plan)
        for (SegmentPlan &segment : plan->segments)
          segment.graph = SegmentGraph();
}

} // namespace shardc::runtime
