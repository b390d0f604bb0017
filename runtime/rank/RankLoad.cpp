//===- RankLoad.cpp - Places of weights, and what is computed of them -----===//
#include "runtime/base/Message.h"
#include "runtime/program/ViewResolver.h"
#include "runtime/rank/Rank.h"

namespace shardc::runtime {

Status Rank::placeWeights(size_t profile) {
  RankProgram &own = *programs[profile];
  const artifact::Program &program = own.program();
  SHARDC_RETURN_IF_ERROR(own.scalars.bindLoad(own.loaded.dependence));
  const std::span<const int64_t> scalars = own.scalars.mine();
  std::optional<SliceReads> reads; // a device has copies of its own
  if (ownDevice->isHost())
    reads.emplace(program, own.loaded.dependence, scalars);
  SHARDC_RETURN_IF_ERROR(
      loadWeights(place.artifact, own.loaded.number, place.weightsRank(),
                  scalars, reads ? &*reads : nullptr, weights, own.weights));
  SHARDC_RETURN_IF_ERROR(deviceWeights.place(
      *ownDevice, *ownStream,
      findSliceUses(program, firstStep(place.stage, profile)), own.weights));
  const auto *buffers = program.buffers();
  own.fixedBuffers.assign(buffers->size(), nullptr);
  own.blocks.assign(buffers->size(), nullptr);
  own.transients.assign(buffers->size(), nullptr);
  for (uint32_t b = 0; b < buffers->size(); ++b) {
    const artifact::Buffer *buffer = buffers->Get(b);
    int64_t bytes = scalars[buffer->bytes()];
    if (const artifact::Weight *weight = weightOf(program, *buffer)) {
      const size_t slice = sliceOf(program, *buffer);
      if (bytes != own.weights.bytes[slice])
        return artifactError("weight ", weight->name()->c_str(), " has ",
                             own.weights.bytes[slice], " bytes on rank ",
                             place.rank, ", its buffer ", bytes);
      own.fixedBuffers[b] = const_cast<std::byte *>(own.weights.data[slice]);
      own.blocks[b] = own.weights.blocks[slice];
      own.transients[b] = own.weights.transients[slice];
    } else if (buffer->kind() == artifact::BufferKind_Persistent) {
      SHARDC_RETURN_IF_ERROR(bufferBytes(program, b, scalars, bytes));
      DeviceBuffer memory;
      if (!memory.allocate(*ownDevice, MemoryKind::Device, bytes))
        return artifactError("out of memory for ", bytes, " bytes on rank ",
                             place.rank);
      own.fixedBuffers[b] = memory.data();
      own.persistent.push_back(std::move(memory));
    }
  }
  return Status::ok();
}

/// Once, in an arena of its own.
Status Rank::computeLoaded(size_t profile) {
  RankProgram &own = *programs[profile];
  const LoadedProgram &facts = own.loaded;
  const PlanContext context{own.program(),         *own.program().load(),
                            facts.load.list[0],    facts.load.carried,
                            facts.load.arenaPlace, facts.partitions,
                            own.scalars,           facts.dependence};
  // Kept until all ranks are done: a timeout elsewhere may ask where this is.
  own.loadPlan = std::make_unique<RankPlan>();
  RankPlan &plan = *own.loadPlan;
  ArenaMemo onlyOnce;
  RankResources resources = resourcesOf(own);
  resources.packed = nullptr; // what is used once is not worth it
  SHARDC_RETURN_IF_ERROR(plan.prepare(context, resources, onlyOnce));
  DeviceBuffer memory;
  if (!memory.allocate(*ownDevice, MemoryKind::Device, plan.arenaBytes()))
    return artifactError("out of memory for ", plan.arenaBytes(),
                         " bytes on rank ", place.rank);
  plan.bindArena(memory.data());
  const Status ran = runInstructions(plan, place.worldRank(), controlOf({}));
  progress.leave();
  // Before its memory goes.
  const Status done = ownStream->synchronize();
  return ran.isOk() ? done : ran;
}

/// What only the load-time program has read goes.
void Rank::endLoading(size_t profile) {
  RankProgram &own = *programs[profile];
  const artifact::Program &program = own.program();
  own.loadPlan.reset();
  deviceWeights.freePassing();
  for (uint32_t b = 0; b < own.fixedBuffers.size(); ++b)
    if (const artifact::Buffer *buffer = program.buffers()->Get(b);
        weightOf(program, *buffer) &&
        !own.loaded.usesSlice[sliceOf(program, *buffer)])
      own.fixedBuffers[b] = nullptr;
}

/// What runs read of it; what only led there goes.
Status Rank::shareLoaded(size_t profile) {
  RankProgram &own = *programs[profile];
  std::vector<char> isRead(own.fixedBuffers.size());
  const std::vector<char> used = usedViews(own.program());
  for (uint32_t v = 0; v < used.size(); ++v)
    isRead[own.program().views()->Get(v)->buffer()] |= used[v];
  std::vector<uint32_t> kept;
  std::vector<DeviceBuffer> values;
  auto value = own.persistent.begin();
  for (uint32_t b = 0; b < own.fixedBuffers.size(); ++b) {
    if (own.program().buffers()->Get(b)->kind() !=
        artifact::BufferKind_Persistent)
      continue;
    own.fixedBuffers[b] = nullptr;
    if (isRead[b]) {
      kept.push_back(b);
      values.push_back(std::move(*value));
    }
    ++value;
  }
  own.persistent.clear();
  std::vector<std::byte *> places;
  SHARDC_RETURN_IF_ERROR(loaded.take(std::move(values), staging.get(),
                                     /*isAlone=*/programs.size() == 1, places));
  for (size_t i = 0; i < kept.size(); ++i)
    own.fixedBuffers[kept[i]] = places[i];
  return Status::ok();
}

} // namespace shardc::runtime
