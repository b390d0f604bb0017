//===- RankLoad.cpp - Places of weights, and what is computed of them -----===//
#include "runtime/base/Message.h"
#include "runtime/program/LoadSpans.h"
#include "runtime/program/ViewResolver.h"
#include "runtime/rank/Rank.h"
#include "runtime/weights/SliceCopy.h"

namespace shardc::runtime {

Status Rank::placeWeights(size_t profile) {
  RankProgram &own = *programs[profile];
  const artifact::Program &program = own.program();
  SHARDC_RETURN_IF_ERROR(own.scalars.bindLoad(own.loaded.dependence));
  const std::span<const int64_t> scalars = own.scalars.mine();
  if (ownDevice->isHost()) // a device has copies of its own
    own.reads.emplace(program, own.loaded.dependence, scalars);
  SHARDC_RETURN_IF_ERROR(loadWeights(
      place.artifact, own.loaded.number, place.weightsRank(), scalars,
      own.reads ? &*own.reads : nullptr, weights, own.weights));
  SHARDC_RETURN_IF_ERROR(deviceWeights.place(
      *ownDevice, *ownStream,
      findSliceUses(program, firstStep(place.stage, profile)), own.weights));
  const size_t count = program.buffers()->size();
  own.fixedBuffers.assign(count, nullptr);
  own.blocks.assign(count, nullptr);
  own.transients.assign(count, nullptr);
  own.persistent.resize(count);
  for (uint32_t b = 0; b < count; ++b)
    SHARDC_RETURN_IF_ERROR(placeBuffer(own, b));
  return Status::ok();
}

/// Of a weight, or of what is computed of weights.
Status Rank::placeBuffer(RankProgram &own, uint32_t number) {
  const artifact::Program &program = own.program();
  const artifact::Buffer *buffer = program.buffers()->Get(number);
  const std::span<const int64_t> scalars = own.scalars.mine();
  int64_t bytes = scalars[buffer->bytes()];
  if (const artifact::Weight *weight = weightOf(program, *buffer)) {
    const size_t slice = sliceOf(program, *buffer);
    if (bytes != own.weights.bytes[slice])
      return artifactError("weight ", weight->name()->c_str(), " has ",
                           own.weights.bytes[slice], " bytes on rank ",
                           place.rank, ", its buffer ", bytes);
    own.fixedBuffers[number] = const_cast<std::byte *>(own.weights.data[slice]);
    own.blocks[number] = own.weights.blocks[slice];
    own.transients[number] = own.weights.transients[slice];
  } else if (buffer->kind() == artifact::BufferKind_Persistent) {
    SHARDC_RETURN_IF_ERROR(bufferBytes(program, number, scalars, bytes));
    DeviceBuffer &memory = own.persistent[number];
    if (!memory.allocate(*ownDevice, MemoryKind::Device, bytes))
      return artifactError("out of memory for ", bytes,
                           " bytes that are computed of weights, on rank ",
                           place.rank, "; use more ranks");
    own.fixedBuffers[number] = memory.data();
  }
  return Status::ok();
}

/// By instruction of the load-time program: buffers that none behind it uses.
static std::vector<std::vector<uint32_t>>
endsOfBuffers(const artifact::Program &program) {
  std::vector<std::vector<uint32_t>> ends(program.load()->size());
  const std::vector<LoadSpan> spans = loadSpans(program);
  for (uint32_t b = 0; b < spans.size(); ++b)
    if (spans[b].first != UINT32_MAX)
      ends[spans[b].last].push_back(b);
  return ends;
}

/// Once, in an arena of its own. A host keeps in memory what is still to be read.
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
                         " bytes to compute values of weights, on rank ",
                         place.rank, "; use more ranks");
  plan.bindArena(memory.data());
  const auto ends = endsOfBuffers(own.program());
  const std::vector<char> isRead = usedBuffers(own.program());
  const std::function<Status(const BoundInstruction &)> pass =
      [&](const BoundInstruction &instruction) {
        // What goes makes room for what is packed.
        for (bool packs : {false, true})
          for (uint32_t buffer : ends[instruction.index])
            if (isRead[buffer] == packs)
              SHARDC_RETURN_IF_ERROR(passBuffer(own, buffer, packs));
        return Status::ok();
      };
  RunControl control = controlOf({});
  if (ownDevice->isHost())
    control.behind = &pass;
  const Status ran = runInstructions(plan, place.worldRank(), control);
  progress.leave();
  // Before its memory goes.
  const Status done = ownStream->synchronize();
  return ran.isOk() ? done : ran;
}

/// The load-time program needs it no more.
Status Rank::passBuffer(RankProgram &own, uint32_t number, bool isRead) {
  const artifact::Buffer &buffer = *own.program().buffers()->Get(number);
  if (weightOf(own.program(), buffer)) {
    // What runs read of the file comes back when they do.
    if (const WeightSlice *slice =
            own.weights.slices[sliceOf(own.program(), buffer)])
      releaseSource(*slice);
    return Status::ok();
  }
  DeviceBuffer &value = own.persistent[number];
  if (!value.data())
    return Status::ok();
  if (!isRead) {
    value.release();
    return Status::ok();
  }
  const std::span<const PackedRead> reads = own.reads->packedReadsOf(number);
  if (reads.empty())
    return Status::ok();
  const TransientBytes *&place = own.transients[number];
  SHARDC_RETURN_IF_ERROR(loaded.pack(std::move(value), reads, packed, place));
  own.fixedBuffers[number] = place->data();
  return Status::ok();
}

/// What only the load-time program has read goes.
void Rank::endLoading(size_t profile) {
  RankProgram &own = *programs[profile];
  const artifact::Program &program = own.program();
  own.loadPlan.reset();
  own.reads.reset();
  deviceWeights.freePassing();
  for (uint32_t b = 0; b < own.fixedBuffers.size(); ++b)
    if (const artifact::Buffer *buffer = program.buffers()->Get(b);
        weightOf(program, *buffer) &&
        !own.loaded.usesSlice[sliceOf(program, *buffer)])
      own.fixedBuffers[b] = nullptr;
}

/// What runs read of it; what only led there goes, and what they pack has gone.
Status Rank::shareLoaded(size_t profile) {
  RankProgram &own = *programs[profile];
  const std::vector<char> isRead = usedBuffers(own.program());
  std::vector<uint32_t> kept;
  std::vector<DeviceBuffer> values;
  for (uint32_t b = 0; b < own.fixedBuffers.size(); ++b) {
    if (own.program().buffers()->Get(b)->kind() !=
            artifact::BufferKind_Persistent ||
        own.transients[b])
      continue;
    own.fixedBuffers[b] = nullptr;
    if (isRead[b]) {
      kept.push_back(b);
      values.push_back(std::move(own.persistent[b]));
    }
  }
  own.persistent.clear();
  std::vector<std::byte *> places;
  SHARDC_RETURN_IF_ERROR(loaded.take(std::move(values), staging.get(), places));
  for (size_t i = 0; i < kept.size(); ++i)
    own.fixedBuffers[kept[i]] = places[i];
  return Status::ok();
}

} // namespace shardc::runtime
