//===- StageRun.cpp - One request, from inputs to outputs -----------------===//
#include "runtime/base/Message.h"
#include "runtime/program/ScalarEvaluator.h"
#include "runtime/stage/Stage.h"

#include <algorithm>

namespace shardc::runtime {

/// Plans that are kept: prefill and decode, and two more lengths.
static constexpr size_t kKeptPlans = 4;

/// The profile for `orderedInputs`.
Status Stage::findProgram(LoadedProgram *&found) const {
  for (const auto &loaded : programs)
    if (loaded->accepts(orderedInputs)) {
      found = loaded.get();
      return Status::ok();
    }
  return artifactError("no profile of the artifact is for these inputs; "
                       "compile the model again");
}

Status Stage::run(std::span<const InputTensor> given, std::span<Tensor> outputs,
                  std::shared_ptr<CacheState> newState) {
  std::lock_guard lock(mutex);
  state = std::move(newState);
  requestOutputs = outputs;
  Status status = runRequest(given);
  if (state && status.isOk())
    status = state->advance(program(), current->scalars);
  if (!stuck)
    state.reset();
  return status;
}

Status Stage::addPast(CacheState &caches, std::span<const InputTensor> given,
                      std::vector<InputTensor> &past) {
  std::lock_guard lock(mutex);
  SHARDC_RETURN_IF_ERROR(caches.addPast(inputInfos, given, past));
  for (size_t i = 0; i < inputInfos.size(); ++i) {
    auto named = std::find_if(given.begin(), given.end(), [&](const auto &t) {
      return t.name == inputInfos[i].name;
    });
    orderedInputs[i] = named == given.end() ? nullptr : &*named;
  }
  LoadedProgram *chosen = nullptr;
  SHARDC_RETURN_IF_ERROR(findProgram(chosen));
  return caches.sizePast(*chosen->program, inputInfos, given);
}

Status Stage::runRequest(std::span<const InputTensor> given) {
  SHARDC_RETURN_IF_ERROR(chooseProgram(given));
  SHARDC_RETURN_IF_ERROR(findPlan(current));
  SHARDC_RETURN_IF_ERROR(checkInputDims(program(), inputInfos, orderedInputs,
                                        current->scalars[0]));
  if (state)
    SHARDC_RETURN_IF_ERROR(state->reserve(program(), current->scalars));
  // Where the data decide on sizes, outputs are as large as the run finds.
  if (active->run.isStatic())
    SHARDC_RETURN_IF_ERROR(sizeOutputs());
  if (Status status = onAllRanks(&Stage::runRank, Step::RunsKernels);
      !status.isOk()) {
    dropGraphs();
    return status;
  }
  if (!active->run.isStatic()) {
    SHARDC_RETURN_IF_ERROR(assignFoundOutputs());
    SHARDC_RETURN_IF_ERROR(sizeOutputs());
    SHARDC_RETURN_IF_ERROR(onAllRanks(&Stage::copyOutputs, Step::Plans));
  }
  if (place.world.transport)
    SHARDC_RETURN_IF_ERROR(collectOutputs());
  last = current;
  return Status::ok();
}

bool Stage::hasCaches() const {
  const auto *caches = programs[0]->program->caches();
  return caches && caches->size() > 0;
}

bool Stage::usesInput(size_t input) const {
  return std::any_of(programs.begin(), programs.end(), [&](const auto &loaded) {
    return loaded->usesInput[input] != 0;
  });
}

Status Stage::createState(int64_t capacity,
                          std::shared_ptr<CacheState> &created) {
  std::vector<Device *> devices;
  for (const RankState &rank : ranks)
    devices.push_back(rank.device);
  created = std::make_shared<CacheState>(*programs[0]->program,
                                         std::move(devices), capacity);
  return Status::ok();
}

Status Stage::chooseProgram(std::span<const InputTensor> given) {
  SHARDC_RETURN_IF_ERROR(matchInputs(inputInfos, given, orderedInputs));
  SHARDC_RETURN_IF_ERROR(findProgram(active));
  findSkipped();
  for (uint32_t s = 0; s < active->symbols.size(); ++s)
    active->symbols[s] = !program().symbols()->Get(s)->capacity() ? kUnbound
                         : state ? state->capacity
                                 : 0;
  return bindSymbols(program(), inputInfos, orderedInputs, active->symbols);
}

/// What another stage reads needs no place here, nor what the state has.
void Stage::findSkipped() {
  skippedInputs.assign(inputInfos.size(), 0);
  keptOutputs.assign(program().outputs()->size(), 0);
  for (size_t i = 0; i < skippedInputs.size(); ++i)
    skippedInputs[i] = !active->usesInput[i];
  if (!state)
    return;
  for (const artifact::CachePair *pair : *program().caches()) {
    skippedInputs[pair->input()] = 1;
    keptOutputs[pair->output()] = 1;
  }
}

Status Stage::findPlan(ShapePlan *&plan) {
  std::vector<std::unique_ptr<ShapePlan>> &plans = active->plans;
  auto known = std::find_if(plans.begin(), plans.end(), [&](const auto &each) {
    return each->isFor(active->symbols, state != nullptr);
  });
  if (known == plans.end()) {
    std::unique_ptr<ShapePlan> fresh;
    if (plans.size() == kKeptPlans)
      takeLeast(plans, fresh);
    SHARDC_RETURN_IF_ERROR(preparePlan(fresh));
    known = plans.insert(plans.end(), std::move(fresh));
  }
  plan = known->get();
  plan->lastUsed = ++clock;
  ++plan->uses;
  countMeasured(*plan);
  return Status::ok();
}

/// The first run of a shape waits for weights and arranges them: the host's times
/// of it are forgotten when there is a second one. A device's are of its work
/// alone.
void Stage::countMeasured(ShapePlan &plan) {
  plan.measuredRuns = plan.uses;
  for (int number : localRanks) {
    const auto rank = static_cast<size_t>(number);
    if (!options.measure || plan.uses < 2 || ranks[rank].traces)
      continue;
    plan.measuredRuns = plan.uses - 1;
    if (plan.uses == 2)
      for (InstructionTiming &timing : plan.ranks[rank].timings)
        timing.total = 0;
  }
}

void Stage::takeLeast(std::vector<std::unique_ptr<ShapePlan>> &plans,
                      std::unique_ptr<ShapePlan> &taken) {
  auto least = std::min_element(plans.begin(), plans.end(),
                                [&](const auto &a, const auto &b) {
                                  return a->isWorthLess(*b, active->symbols);
                                });
  taken = std::move(*least);
  plans.erase(least);
  if (last == taken.get())
    last = nullptr;
  forgetTraced(*taken);
}

/// Binds `plan`, which was another shape's, or a new one.
Status Stage::preparePlan(std::unique_ptr<ShapePlan> &plan) {
  if (!plan)
    plan = std::make_unique<ShapePlan>();
  plan->hasState = state != nullptr;
  plan->uses = 0;
  plan->scalars.resize(ranks.size());
  plan->ranks.resize(ranks.size());
  SHARDC_RETURN_IF_ERROR(plan->evaluate(program(), active->symbols));
  SHARDC_RETURN_IF_ERROR(
      checkInputDims(program(), inputInfos, orderedInputs, plan->scalars[0]));
  for (const std::vector<int64_t> &scalars : plan->scalars)
    SHARDC_RETURN_IF_ERROR(checkGuards(program(), scalars));
  for (int number : localRanks) {
    RankShapePlan &rank = plan->ranks[static_cast<size_t>(number)];
    rank.segments.resize(active->run.list.size());
    for (SegmentPlan &segment : rank.segments)
      segment.isReady = false;
    if (options.measure)
      rank.timings.assign(program().run()->size(), InstructionTiming());
  }
  preparing = plan.get();
  SHARDC_RETURN_IF_ERROR(onAllRanks(&Stage::prepareRank, Step::Plans));
  return active->run.isStatic() ? plan->assignOutputs(program(), plan->scalars)
                                : Status::ok();
}

/// The first segment; the others wait for their data.
Status Stage::prepareRank(int rank) {
  RankShapePlan &mine = preparing->ranks[static_cast<size_t>(rank)];
  SHARDC_RETURN_IF_ERROR(mine.inputs.prepare(
      program(), preparing->scalars[static_cast<size_t>(rank)], skippedInputs));
  mine.segments[0].symbols = preparing->symbols;
  return bindPlan(rank, 0, preparing->scalars, mine.inputs, mine.segments[0]);
}

Status Stage::runRank(int rank) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  SHARDC_RETURN_IF_ERROR(placeInputs(rank));
  mine.symbols = current->symbols;
  if (mine.traces)
    mine.tracedRuns.push_back(current);
  mine.scalars = current->scalars;
  if (!arrivals->isComplete()) {
    SHARDC_RETURN_IF_ERROR(arrivals->status());
    openGate(rank);
  }
  for (size_t segment = 0; segment < active->run.list.size();)
    SHARDC_RETURN_IF_ERROR(runSegment(rank, segment));
  if (!arrivals->isComplete())
    SHARDC_RETURN_IF_ERROR(mine.gate.passAll(*mine.stream, failure));
  if (active->run.isStatic())
    SHARDC_RETURN_IF_ERROR(copyOutputs(rank));
  return mine.traces ? mine.stream->synchronize() : Status::ok();
}

} // namespace shardc::runtime
