//===- StageSegments.cpp - One rank's run, segment by segment -------------===//
#include "runtime/base/Message.h"
#include "runtime/program/ScalarEvaluator.h"
#include "runtime/stage/Stage.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

int64_t integerAt(const std::byte *data, artifact::ElementType element) {
  switch (element) {
  case artifact::ElementType_Bool:
  case artifact::ElementType_UInt8:
    return *reinterpret_cast<const uint8_t *>(data);
  case artifact::ElementType_Int8:
    return *reinterpret_cast<const int8_t *>(data);
  case artifact::ElementType_Int16:
    return *reinterpret_cast<const int16_t *>(data);
  case artifact::ElementType_UInt16:
    return *reinterpret_cast<const uint16_t *>(data);
  case artifact::ElementType_Int32:
    return *reinterpret_cast<const int32_t *>(data);
  case artifact::ElementType_UInt32:
    return *reinterpret_cast<const uint32_t *>(data);
  default:
    return *reinterpret_cast<const int64_t *>(data);
  }
}

/// Row-major element `index` of a view of integers.
int64_t readInteger(const TensorView &view, int64_t index) {
  int64_t offset = 0;
  for (int d = view.rank - 1; d >= 0; --d) {
    offset += index % view.dims[d] * view.strides[d];
    index /= view.dims[d];
  }
  return integerAt(view.data + offset * artifact::elementBytes(view.element),
                   view.element);
}

} // namespace

/// Makes room; what was there stays if `keep`, else its memory is free for it.
Status Stage::growBuffer(int rank, DeviceBuffer &memory, int64_t bytes,
                         const char *what, bool keep) {
  if (memory.data() && memory.size() >= bytes)
    return Status::ok();
  RankState &mine = ranks[static_cast<size_t>(rank)];
  // What is enqueued may still use it.
  SHARDC_RETURN_IF_ERROR(mine.stream->synchronize());
  DeviceBuffer larger;
  if (!keep)
    memory.release();
  if (!larger.allocate(*mine.device, MemoryKind::Device, bytes))
    return artifactError("out of memory: rank ", rank, " needs ", bytes,
                         " bytes for ", what,
                         "; use smaller inputs, or more ranks");
  if (memory.size() > 0) {
    SHARDC_RETURN_IF_ERROR(mine.stream->copy(larger.data(), memory.data(),
                                             {.rowBytes = memory.size()},
                                             CopyDirection::DeviceToDevice));
    SHARDC_RETURN_IF_ERROR(mine.stream->synchronize());
  }
  memory = std::move(larger);
  return Status::ok();
}

RunControl Stage::controlOf(int rank, std::span<InstructionTiming> timings) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  return {
      failure,
      *mine.stream,
      mine.staging.get(),
      mine.hostCalls.get(),
      mine.world.get(),
      timings,
      mine.progress,
      mine.hashes,
      mine.inFlight,
      mine.traces && !timings.empty()
          ? static_cast<int64_t>(mine.runsBefore + mine.tracedRuns.size() - 1)
                << kTraceTagBits
          : -1,
      mine.feed && !arrivals->isComplete() ? &mine.gate : nullptr};
}

PlanContext Stage::contextOf(int rank, size_t segment,
                             std::span<const std::vector<int64_t>> scalars,
                             const InputSlices &inputs) const {
  const bool isHost = ranks[static_cast<size_t>(rank)].device->isHost();
  return {program(),
          *program().run(),
          active->run.list[segment],
          active->run.carried,
          active->run.arenaPlace,
          active->partitions,
          scalars,
          active->dependence,
          isHost ? inputs.windows() : std::span<const char>()};
}

Status Stage::placeInputs(int rank) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  const CallersMemory callers(mine.progress, failure);
  SHARDC_RETURN_IF_ERROR(callers.granted());
  InputSlices &slices = current->ranks[static_cast<size_t>(rank)].inputs;
  const bool isHost = mine.device->isHost();
  SHARDC_RETURN_IF_ERROR(
      growBuffer(rank, mine.inputMemory,
                 isHost ? slices.packedBytes() : slices.deviceBytes(),
                 "its parts of the inputs", /*keep=*/false));
  if (!isHost && mine.inputStaging.size() < slices.packedBytes() &&
      !mine.inputStaging.allocate(*mine.device, MemoryKind::Staging,
                                  slices.packedBytes()))
    return artifactError("out of memory: rank ", rank, " needs ",
                         slices.packedBytes(),
                         " bytes to pack inputs; use smaller inputs");
  for (size_t i = 0; i < orderedInputs.size(); ++i)
    if (isHost)
      mine.inputs[i] =
          slices.place(i, orderedInputs[i]->data, mine.inputMemory.data());
    else
      SHARDC_RETURN_IF_ERROR(
          slices.upload(i, orderedInputs[i]->data, mine.inputStaging.data(),
                        mine.inputMemory.data(), *mine.stream, mine.inputs[i]));
  if (state)
    for (uint32_t c = 0; c < program().caches()->size(); ++c)
      mine.inputs[program().caches()->Get(c)->input()] =
          state->memoryOf(rank, c);
  return Status::ok();
}

/// Sizes that the run bound since may differ from those of the last time.
Status Stage::prepareSegment(int rank, size_t number) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  SegmentPlan &segment =
      current->ranks[static_cast<size_t>(rank)].segments[number];
  const std::vector<uint32_t> &needed = active->run.list[number].symbols;
  if (segment.isReady &&
      std::all_of(needed.begin(), needed.end(), [&](uint32_t symbol) {
        return segment.symbols[symbol] == mine.symbols[symbol];
      }))
    return Status::ok();
  segment.symbols = mine.symbols;
  segment.scalars.assign(mine.scalars.begin(), mine.scalars.end());
  return bindPlan(rank, number, segment.scalars,
                  current->ranks[static_cast<size_t>(rank)].inputs, segment);
}

/// Where it was bound to other sizes, what they changed is bound again.
Status Stage::bindPlan(int rank, size_t number,
                       std::span<const std::vector<int64_t>> scalars,
                       const InputSlices &inputs, SegmentPlan &segment) {
  segment.isReady = false;
  const PlanContext context = contextOf(rank, number, scalars, inputs);
  const RankResources resources = resourcesOf(rank);
  ArenaMemo &arena = active->ranks[static_cast<size_t>(rank)].arenas[number];
  Status status = segment.plan.isBound()
                      ? segment.plan.rebind(context, resources, arena)
                      : segment.plan.prepare(context, resources, arena);
  if (!status.isOk()) {
    segment.plan = RankPlan();
    segment.graph = SegmentGraph();
  }
  segment.graph.rebound();
  segment.isReady = status.isOk();
  return status;
}

/// After symbols were bound.
Status Stage::evaluateSizes(int rank) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  mine.boundScalars.resize(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r)
    SHARDC_RETURN_IF_ERROR(evaluateScalars(
        program(), mine.symbols, active->coordinates[r], mine.boundScalars[r]));
  mine.scalars = mine.boundScalars;
  return checkGuards(program(), mine.scalars[static_cast<size_t>(rank)]);
}

/// Communicators know where it is, and that it goes.
Status Stage::growArena(int rank, int64_t bytes) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  const auto at = static_cast<size_t>(rank);
  if (mine.arena.data() && mine.arena.size() < bytes) {
    SHARDC_RETURN_IF_ERROR(mine.stream->synchronize());
    for (const std::unique_ptr<LoadedProgram> &each : programs)
      for (const auto &communicator : each->ranks[at].communicators)
        if (communicator)
          SHARDC_RETURN_IF_ERROR(communicator->useMemory(nullptr, 0));
  }
  SHARDC_RETURN_IF_ERROR(growBuffer(rank, mine.arena, bytes,
                                    "intermediate values", /*keep=*/false));
  for (const auto &communicator : active->ranks[at].communicators)
    if (communicator)
      SHARDC_RETURN_IF_ERROR(
          communicator->useMemory(mine.arena.data(), mine.arena.size()));
  return Status::ok();
}

Status Stage::bindSegment(int rank, RankPlan &plan) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  SHARDC_RETURN_IF_ERROR(growArena(rank, plan.arenaBytes()));
  RankProgram &own = active->ranks[static_cast<size_t>(rank)];
  for (const RankPlan::CarriedNeed &need : plan.carriedNeeds()) {
    const artifact::Buffer *buffer = program().buffers()->Get(need.buffer);
    if (state && buffer->kind() == artifact::BufferKind_Cache) {
      own.carriedAt[need.buffer] = state->memoryOf(rank, buffer->source());
      continue;
    }
    DeviceBuffer &memory = own.carried[need.buffer];
    // Half as much again: rows that a loop adds one by one are copied seldom.
    int64_t bytes = need.bytes;
    if (memory.size() > 0 && memory.size() < bytes)
      bytes = std::max(bytes, memory.size() / 2 * 3);
    SHARDC_RETURN_IF_ERROR(
        growBuffer(rank, memory, bytes, "intermediate values", /*keep=*/true));
    own.carriedAt[need.buffer] = memory.data();
  }
  plan.bindArena(mine.arena.data());
  plan.bindCarried(own.carriedAt);
  for (size_t i = 0; i < mine.inputs.size(); ++i)
    plan.bindInput(i, mine.inputs[i]);
  return Status::ok();
}

Status Stage::runSegment(int rank, size_t &number) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  SHARDC_RETURN_IF_ERROR(prepareSegment(rank, number));
  RankShapePlan &shape = current->ranks[static_cast<size_t>(rank)];
  RankPlan &plan = shape.segments[number].plan;
  SHARDC_RETURN_IF_ERROR(bindSegment(rank, plan));
  Status status = launchSegment(rank, shape.segments[number]);
  mine.progress.leave();
  SHARDC_RETURN_IF_ERROR(status);
  const Segment &segment = active->run.list[number];
  number = segment.next;
  switch (segment.ends) {
  case HostInstruction::ReadSizes:
    return readSizes(rank, plan.instructions().back());
  case HostInstruction::SetSizes:
    setSizes(rank, plan.instructions().back());
    return evaluateSizes(rank);
  case HostInstruction::If:
  case HostInstruction::Loop: {
    bool holds = false;
    SHARDC_RETURN_IF_ERROR(
        readCondition(rank, plan.instructions().back(), holds));
    if (!holds)
      number = segment.otherwise;
    return Status::ok();
  }
  default:
    return Status::ok();
  }
}

/// All ranks find the same: what it reads is replicated.
Status Stage::readCondition(int rank, const BoundInstruction &instruction,
                            bool &holds) {
  TensorView view = instruction.call.inputs[0];
  if (view.numElements() != 1)
    return artifactError(instruction.name, " at node '", instruction.node,
                         "' has a condition of ", view.numElements(),
                         " elements, expected one; change the inputs");
  if (Staging *staging = ranks[static_cast<size_t>(rank)].staging.get())
    SHARDC_RETURN_IF_ERROR(staging->fetch(view, view));
  holds = readInteger(view, 0) != 0;
  return Status::ok();
}

void Stage::setSizes(int rank, const BoundInstruction &instruction) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  const auto &scalars = *program().scalars();
  const auto *sizes =
      findAttribute(*program().run()->Get(instruction.index), "sizes");
  const KernelAttribute *values = instruction.call.find("values");
  for (uint32_t s = 0; s < sizes->scalars()->size(); ++s) {
    const int64_t symbol = scalars.Get(sizes->scalars()->Get(s))->value();
    mine.symbols[static_cast<size_t>(symbol)] = values->ints[s];
  }
}

/// Binds the symbols that this instruction reads; anything else must be as it
/// was computed.
Status Stage::readSizes(int rank, const BoundInstruction &instruction) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  const auto *sizes =
      findAttribute(*program().run()->Get(instruction.index), "sizes");
  TensorView view = instruction.call.inputs[0];
  if (view.numElements() != static_cast<int64_t>(sizes->scalars()->size()))
    return artifactError("read_sizes at node '", instruction.node, "' has ",
                         sizes->scalars()->size(), " sizes for ",
                         view.numElements(), " elements");
  if (mine.staging)
    SHARDC_RETURN_IF_ERROR(mine.staging->fetch(view, view));
  for (uint32_t e = 0; e < sizes->scalars()->size(); ++e) {
    const uint32_t scalar = sizes->scalars()->Get(e);
    const int64_t found = readInteger(view, e);
    const int64_t symbol = program().scalars()->Get(scalar)->value();
    const int64_t expected = instruction.call.attributes[0].ints[e];
    if (found < 0)
      return artifactError("node '", instruction.node, "' computes the size ",
                           found, ", expected at least 0; change the inputs");
    if (bindsSymbol(program(), instruction.index, scalar))
      mine.symbols[static_cast<size_t>(symbol)] = found;
    else if (expected != found)
      return artifactError("guard violated: node '", instruction.node,
                           "' computes the size ", found, ", expected ",
                           describeScalar(program(), scalar), " = ", expected,
                           "; change the inputs");
  }
  return evaluateSizes(rank);
}

} // namespace shardc::runtime
