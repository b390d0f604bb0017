//===- EngineRun.cpp - One request, from inputs to outputs ----------------===//
#include "runtime/base/Message.h"
#include "runtime/exec/Engine.h"
#include "runtime/exec/ScalarEvaluator.h"

#include <algorithm>

namespace shardc::runtime {

/// Plans that are kept: prefill and decode, and two more lengths.
static constexpr size_t kKeptPlans = 4;

Status Engine::run(std::span<const InputTensor> given,
                   std::span<Tensor> outputs) {
  std::lock_guard lock(mutex);
  SHARDC_RETURN_IF_ERROR(
      bindInputs(program(), inputInfos, given, orderedInputs, symbols));
  if (outputs.size() != outputInfos.size())
    return argumentError("expected ", outputInfos.size(),
                         " output tensors, found ", outputs.size());
  SHARDC_RETURN_IF_ERROR(findPlan(current));
  SHARDC_RETURN_IF_ERROR(checkInputDims(program(), inputInfos, orderedInputs,
                                        current->scalars[0]));
  for (size_t o = 0; o < outputs.size(); ++o)
    if (Status status =
            outputs[o].reshape(outputInfos[o].element, current->outputDims[o]);
        !status.isOk())
      return Status::error(
          status.code(),
          message("output '", outputInfos[o].name, "': ", status.message()));
  requestOutputs = outputs;
  SHARDC_RETURN_IF_ERROR(onAllRanks(&Engine::runRank, Step::RunsKernels));
  last = current;
  return Status::ok();
}

Status Engine::findPlan(ShapePlan *&plan) {
  for (auto &known : plans)
    if (known->isFor(symbols)) {
      known->lastUsed = ++clock;
      plan = known.get();
      return Status::ok();
    }
  std::unique_ptr<ShapePlan> fresh;
  SHARDC_RETURN_IF_ERROR(preparePlan(fresh));
  fresh->lastUsed = ++clock;
  if (plans.size() == kKeptPlans) {
    auto oldest = std::min_element(
        plans.begin(), plans.end(),
        [](const auto &a, const auto &b) { return a->lastUsed < b->lastUsed; });
    if (last == oldest->get())
      last = nullptr;
    plans.erase(oldest);
  }
  plans.push_back(std::move(fresh));
  plan = plans.back().get();
  return Status::ok();
}

Status Engine::preparePlan(std::unique_ptr<ShapePlan> &plan) {
  auto fresh = std::make_unique<ShapePlan>();
  fresh->scalars.resize(ranks.size());
  fresh->ranks.resize(ranks.size());
  SHARDC_RETURN_IF_ERROR(fresh->evaluate(program(), symbols));
  SHARDC_RETURN_IF_ERROR(
      checkInputDims(program(), inputInfos, orderedInputs, fresh->scalars[0]));
  for (const std::vector<int64_t> &scalars : fresh->scalars)
    SHARDC_RETURN_IF_ERROR(checkGuards(program(), scalars));
  if (options.measure)
    fresh->timings.assign(
        ranks.size(), std::vector<InstructionTiming>(program().run()->size()));
  preparing = fresh.get();
  SHARDC_RETURN_IF_ERROR(onAllRanks(&Engine::prepareRank, Step::Plans));
  SHARDC_RETURN_IF_ERROR(fresh->assignOutputs(program()));
  plan = std::move(fresh);
  return Status::ok();
}

Status Engine::prepareRank(int rank) {
  PlanContext context{program(), Phase::Run, runUses, partitions,
                      preparing->scalars};
  return preparing->ranks[static_cast<size_t>(rank)].prepare(context,
                                                             resourcesOf(rank));
}

Status Engine::ensureArena(int rank, int64_t bytes) {
  RankState &state = ranks[static_cast<size_t>(rank)];
  if (state.arena.data() && state.arena.size() >= bytes)
    return Status::ok();
  if (!state.arena.allocate(bytes))
    return artifactError("out of memory: rank ", rank, " needs ", bytes,
                         " bytes for intermediate values; use smaller inputs, "
                         "or more ranks");
  return Status::ok();
}

Status Engine::runRank(int rank) {
  RankState &state = ranks[static_cast<size_t>(rank)];
  RankPlan &plan = current->ranks[static_cast<size_t>(rank)];
  SHARDC_RETURN_IF_ERROR(ensureArena(rank, plan.arenaBytes()));
  plan.bindArena(state.arena.data());
  for (size_t i = 0; i < orderedInputs.size(); ++i)
    plan.bindInput(i, orderedInputs[i]->data);
  for (auto &communicator : state.communicators)
    communicator->beginRun();
  if (state.world)
    state.world->beginRun();
  std::span<InstructionTiming> timings;
  if (!current->timings.empty())
    timings = current->timings[static_cast<size_t>(rank)];
  Status status = runInstructions(
      plan, rank,
      {failure, state.world.get(), timings, state.current, state.hashes});
  state.current.store(nullptr, std::memory_order_release);
  if (!status.isOk())
    return status;
  for (size_t o = 0; o < requestOutputs.size(); ++o) {
    const OutputBlock &block = plan.outputs[o];
    const Tensor &whole = requestOutputs[o];
    if (block.copies && whole.numElements() > 0)
      copyBlock(block.dims,
                packedView(whole.data(), whole.element(), whole.dims()),
                *block.local, BlockCopy::ToGlobal);
  }
  return Status::ok();
}

} // namespace shardc::runtime
