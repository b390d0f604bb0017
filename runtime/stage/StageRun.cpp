//===- StageRun.cpp - One request, from inputs to outputs -----------------===//
#include "runtime/base/Message.h"
#include "runtime/program/ScalarEvaluator.h"
#include "runtime/stage/Stage.h"

#include <algorithm>
#include <utility>

namespace shardc::runtime {

/// The profile for the step's inputs.
Status Stage::findProgram(const LoadedProgram *&found) const {
  for (const auto &loaded : programs) {
    SHARDC_RETURN_IF_ERROR(loaded->checkReadable(step.inputs));
    if (loaded->accepts(step.inputs)) {
      found = loaded.get();
      return Status::ok();
    }
  }
  return artifactError("no profile of the artifact is for these inputs; "
                       "compile the model again");
}

Status Stage::run(std::span<const InputTensor> given, std::span<Tensor> outputs,
                  std::shared_ptr<CacheState> state, const RunEnd *end) {
  std::lock_guard lock(mutex);
  // A rank that hangs still reads the step that it was given.
  SHARDC_RETURN_IF_ERROR(checkAnswers());
  step.state = std::move(state);
  step.outputs = place.world.getsOutputs() ? outputs : std::span<Tensor>();
  runEnd = end;
  const Status status = runRequest(given);
  runEnd = nullptr;
  if (!stuck)
    step.state.reset();
  return status;
}

Status Stage::addPast(CacheState &caches, std::span<const InputTensor> given,
                      std::vector<InputTensor> &past) {
  std::lock_guard lock(mutex);
  SHARDC_RETURN_IF_ERROR(checkAnswers());
  SHARDC_RETURN_IF_ERROR(caches.addPast(inputInfos, given, past));
  for (size_t i = 0; i < inputInfos.size(); ++i) {
    auto named = std::find_if(given.begin(), given.end(), [&](const auto &t) {
      return t.name == inputInfos[i].name;
    });
    step.inputs[i] = named == given.end() ? nullptr : &*named;
  }
  const LoadedProgram *chosen = nullptr;
  SHARDC_RETURN_IF_ERROR(findProgram(chosen));
  return caches.sizePast(*chosen->program, inputInfos, given);
}

Status Stage::runRequest(std::span<const InputTensor> given) {
  SHARDC_RETURN_IF_ERROR(chooseProgram(given));
  SHARDC_RETURN_IF_ERROR(choosePlan());
  findInputPlaces();
  // Where the data decide on sizes, outputs are as large as the run finds.
  const bool isStatic = active->run.isStatic();
  if (isStatic)
    SHARDC_RETURN_IF_ERROR(sizeOutputs());
  Status status = onAllRanks(Job::RunsKernels,
                             [this](Rank &rank) { return rank.run(step); });
  if (!status.isOk()) {
    if (!stuck) // else a device may still be at one
      for (const auto &rank : ranks)
        rank->dropGraphs();
    return status;
  }
  current->isBound = true;
  if (!isStatic)
    SHARDC_RETURN_IF_ERROR(finishFound());
  SHARDC_RETURN_IF_ERROR(place.world.transport ? collectOutputs()
                                               : checkOutputs());
  if (step.state) {
    SHARDC_RETURN_IF_ERROR(kept().scalars.bind(step.symbols));
    step.state->advance(program(), kept().scalars.mine());
  }
  last = current;
  lastProfile = step.profile;
  return Status::ok();
}

Status Stage::chooseProgram(std::span<const InputTensor> given) {
  SHARDC_RETURN_IF_ERROR(matchInputs(inputInfos, given, step.inputs));
  SHARDC_RETURN_IF_ERROR(findProgram(active));
  step.profile = active->profile;
  findSkipped();
  step.symbols.resize(program().symbols()->size());
  for (uint32_t s = 0; s < step.symbols.size(); ++s)
    step.symbols[s] = !program().symbols()->Get(s)->capacity() ? kUnbound
                      : step.state ? step.state->capacity
                                   : 0;
  return bindSymbols(program(), inputInfos, step.inputs, step.symbols);
}

/// What another stage reads needs no place here, nor what the state has.
void Stage::findSkipped() {
  step.skippedInputs.assign(inputInfos.size(), 0);
  step.keptOutputs.assign(program().outputs()->size(), 0);
  for (size_t i = 0; i < step.skippedInputs.size(); ++i)
    step.skippedInputs[i] = !active->usesInput[i];
  if (!step.state)
    return;
  for (const artifact::CachePair *pair : *program().caches()) {
    step.skippedInputs[pair->input()] = 1;
    step.keptOutputs[pair->output()] = 1;
  }
}

/// Nothing is forgotten for a request that cannot run.
Status Stage::choosePlan() {
  StageScalars &scalars = kept().scalars;
  const bool hasState = step.state != nullptr;
  SHARDC_RETURN_IF_ERROR(scalars.bind(step.symbols));
  SHARDC_RETURN_IF_ERROR(
      checkInputDims(program(), inputInfos, step.inputs, scalars.mine()));
  current = kept().plans.find(step.symbols, hasState);
  step.isNew = !current || !current->isBound;
  if (step.isNew)
    SHARDC_RETURN_IF_ERROR(checkGuards(program(), scalars.mine()));
  if (hasState)
    SHARDC_RETURN_IF_ERROR(step.state->prepare(program(), scalars));
  if (!current) {
    const size_t lastSlot = last ? last->slot : 0;
    current = &kept().plans.add(step.symbols, hasState);
    if (lastProfile == step.profile && lastSlot == current->slot)
      last = nullptr; // it is the one that went
  }
  if (step.isNew) {
    current->uses = 0;
    if (active->run.isStatic())
      findOutputDims();
  }
  countUse();
  return Status::ok();
}

/// What was captured has addresses of callers' memory, too: it is for no other.
/// All ranks find the same, whichever of them use it where it is.
void Stage::findInputPlaces() {
  std::vector<const void *> &places = current->inputPlaces;
  places.resize(step.inputs.size());
  bool isElsewhere = false;
  for (size_t i = 0; i < places.size(); ++i) {
    const DeviceView *there = step.inputs[i]->onDevice;
    const void *place =
        there && there->view.isContiguous() ? there->view.data : nullptr;
    isElsewhere |= std::exchange(places[i], place) != place;
  }
  if (isElsewhere)
    current->inputPlacement = ++numPlacements;
  step.inputPlacement = current->inputPlacement;
}

/// See Step::uses. A device's times are of its work alone.
void Stage::countUse() {
  current->lastUsed = ++clock;
  step.slot = current->slot;
  step.uses = current->measuredRuns = ++current->uses;
  const bool traces = !ranks.empty() && ranks[0]->traces();
  if (options.measure && step.uses > 1 && !traces)
    current->measuredRuns = step.uses - 1;
}

} // namespace shardc::runtime
