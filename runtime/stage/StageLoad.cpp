//===- StageLoad.cpp - Devices, weights, and what is computed of them -----===//
#include "runtime/base/Hash.h"
#include "runtime/base/Message.h"
#include "runtime/program/ScalarEvaluator.h"
#include "runtime/stage/Stage.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {

static KernelFiles kernelFilesOf(const Artifact &artifact) {
  KernelFiles files;
  files.folder = artifact.pathOf(artifact::kKernelsFolder);
  files.forms = &artifact.manifest().kernels;
  const std::string_view prefix = artifact::kKernelsFolder;
  for (const ManifestFile &file : artifact.manifest().files)
    if (file.inArtifact && file.path.starts_with(prefix)) {
      files.names.push_back(file.path.substr(prefix.size()));
      files.hashes.push_back(file.hash);
    }
  return files;
}

Status Stage::openDevice(int rank) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  mine.device = &place.world.devices->of(worldRank(rank));
  SHARDC_RETURN_IF_ERROR(mine.device->createStream(mine.stream));
  mine.stream->owner = message("rank ", worldRank(rank), ": ");
  mine.traces = options.measure && mine.stream->startTrace();
  if (!mine.device->isHost()) {
    mine.staging = std::make_unique<Staging>(*mine.device, *mine.stream);
    mine.hostCalls = std::make_unique<HostCalls>(*mine.device, *mine.stream);
  }
  return artifact.manifest().kernels.empty()
             ? Status::ok()
             : mine.device->loadKernels(kernelFilesOf(artifact), mine.library);
}

bool Stage::hasFailed() const {
  return failure.failed() || place.world.hasFailed();
}

/// A device's values go between ranks over its own communicators, or by way of
/// the host's.
Status Stage::joinDeviceGroups(int rank) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  if (mine.device->isHost())
    return Status::ok();
  for (auto &loaded : programs) {
    RankProgram &own = loaded->ranks[static_cast<size_t>(rank)];
    own.hostCommunicators = std::move(own.communicators);
    own.communicators.clear();
    for (size_t g = 0; g < own.hostCommunicators.size(); ++g) {
      const GroupPartition &partition = loaded->partitions[g];
      const auto group =
          static_cast<size_t>(partition.groupOf[static_cast<size_t>(rank)]);
      const std::vector<int> members = worldRanks(partition.groups[group]);
      Communicator &host = *own.hostCommunicators[g];
      own.communicators.emplace_back();
      SHARDC_RETURN_IF_ERROR(
          joinGroup({members, host.index(), &host, options.timeout,
                     failure.describeRank, [this] { return hasFailed(); }},
                    *mine.device, *mine.stream, own.communicators.back()));
    }
  }
  return Status::ok();
}

/// One small sum over each group of each program, on the rank's device.
Status Stage::tryGroups(int rank) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  DeviceBuffer memory;
  float value = 0;
  constexpr int64_t kBytes = sizeof value;
  if (!memory.allocate(*mine.device, MemoryKind::Device, kBytes))
    return artifactError("out of memory for ", kBytes, " bytes on rank ",
                         worldRank(rank));
  auto *host = reinterpret_cast<std::byte *>(&value);
  const TensorView view =
      packedView(memory.data(), artifact::ElementType_Float32, {});
  for (auto &loaded : programs)
    for (auto &group : loaded->ranks[static_cast<size_t>(rank)].communicators) {
      const CollectiveSite site{"all_reduce", "preflight", 0};
      value = static_cast<float>(group->index() + 1);
      SHARDC_RETURN_IF_ERROR(mine.stream->copy(memory.data(), host, {kBytes},
                                               CopyDirection::HostToDevice));
      SHARDC_RETURN_IF_ERROR(
          group->allReduce(view, view, ReduceKind::Sum, site));
      SHARDC_RETURN_IF_ERROR(mine.stream->copy(host, memory.data(), {kBytes},
                                               CopyDirection::DeviceToHost));
      SHARDC_RETURN_IF_ERROR(mine.stream->synchronize());
      const int expected = group->size() * (group->size() + 1) / 2;
      if (value != static_cast<float>(expected))
        return artifactError("rank ", worldRank(rank), ": an all_reduce of ",
                             group->size(), " ranks gave ", value,
                             ", expected ", expected,
                             "; look at the devices and their links");
    }
  return Status::ok();
}

Status Stage::load(WeightArrivals &all) {
  if (options.preflight)
    return onAllRanks(&Stage::tryGroups, Step::RunsKernels);
  arrivals = &all;
  SHARDC_RETURN_IF_ERROR(loadPrograms());
  for (int rank : localRanks)
    SHARDC_RETURN_IF_ERROR(startFeed(rank));
  return options.loadsBeside
             ? Status::ok()
             : arrivals->await(place.stage, WeightArrivals::kAll, nullptr);
}

Status Stage::loadPrograms() {
  for (auto &loaded : programs) {
    active = loaded.get();
    for (int rank = 0; rank < numRanks(); ++rank) {
      active->loadScalars.emplace_back();
      SHARDC_RETURN_IF_ERROR(evaluateLoadScalars(program(), active->dependence,
                                                 coordinatesOf(program(), rank),
                                                 active->loadScalars.back()));
    }
    SHARDC_RETURN_IF_ERROR(onAllRanks(&Stage::loadRank, Step::Plans));
    SHARDC_RETURN_IF_ERROR(onAllRanks(&Stage::runLoadRank, Step::RunsKernels));
    for (RankProgram &rank : active->ranks)
      rank.loadPlan.reset();
    for (int rank : localRanks)
      freePassing(rank);
    SHARDC_RETURN_IF_ERROR(onAllRanks(&Stage::shareLoaded, Step::Plans));
  }
  return Status::ok();
}

/// What only the load-time program has read.
void Stage::freePassing(int rank) {
  ranks[static_cast<size_t>(rank)].deviceWeights.freePassing();
  RankProgram &own = active->ranks[static_cast<size_t>(rank)];
  for (uint32_t b = 0; b < own.fixedBuffers.size(); ++b)
    if (const artifact::Buffer *buffer = program().buffers()->Get(b);
        weightOf(program(), *buffer) &&
        !active->usesSlice[sliceOf(program(), *buffer)])
      own.fixedBuffers[b] = nullptr;
}

/// Places for the slices of the weights, where the rank's kernels find them.
Status Stage::placeWeights(int rank, std::span<const int64_t> scalars) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  RankWeights &weights = active->ranks[static_cast<size_t>(rank)].weights;
  SHARDC_RETURN_IF_ERROR(loadWeights(artifact, active->number,
                                     weightsRank(rank), scalars, mine.weights,
                                     weights));
  size_t profile = 0;
  while (programs[profile].get() != active)
    ++profile;
  return mine.deviceWeights.place(
      *mine.device, *mine.stream,
      findSliceUses(program(), firstStep(place.stage, profile)), weights);
}

/// Weights and the memory of loaded values.
Status Stage::loadRank(int rank) {
  RankProgram &state = active->ranks[static_cast<size_t>(rank)];
  const std::vector<int64_t> &scalars =
      active->loadScalars[static_cast<size_t>(rank)];
  SHARDC_RETURN_IF_ERROR(placeWeights(rank, scalars));
  const auto *buffers = program().buffers();
  state.fixedBuffers.assign(buffers->size(), nullptr);
  for (uint32_t b = 0; b < buffers->size(); ++b) {
    const artifact::Buffer *buffer = buffers->Get(b);
    int64_t bytes = scalars[buffer->bytes()];
    if (const artifact::Weight *weight = weightOf(program(), *buffer)) {
      const size_t slice = sliceOf(program(), *buffer);
      if (bytes != state.weights.bytes[slice])
        return artifactError("weight ", weight->name()->c_str(), " has ",
                             state.weights.bytes[slice], " bytes on rank ",
                             rank, ", its buffer ", bytes);
      state.fixedBuffers[b] =
          const_cast<std::byte *>(state.weights.data[slice]);
    } else if (buffer->kind() == artifact::BufferKind_Persistent) {
      SHARDC_RETURN_IF_ERROR(bufferBytes(program(), b, scalars, bytes));
      DeviceBuffer memory;
      if (!memory.allocate(*ranks[static_cast<size_t>(rank)].device,
                           MemoryKind::Device, bytes))
        return artifactError("out of memory for ", bytes, " bytes on rank ",
                             rank);
      state.fixedBuffers[b] = memory.data();
      state.persistent.push_back(std::move(memory));
    }
  }
  return Status::ok();
}

/// The load-time program: once, in an arena of its own.
Status Stage::runLoadRank(int rank) {
  RankState &state = ranks[static_cast<size_t>(rank)];
  RankProgram &mine = active->ranks[static_cast<size_t>(rank)];
  PlanContext context{program(),
                      *program().load(),
                      active->load.list[0],
                      active->load.carried,
                      active->load.arenaPlace,
                      active->partitions,
                      active->loadScalars,
                      active->dependence};
  // Kept until all ranks are done: a timeout elsewhere may ask where this is.
  mine.loadPlan = std::make_unique<RankPlan>();
  RankPlan &plan = *mine.loadPlan;
  ArenaMemo onlyOnce;
  RankResources resources = resourcesOf(rank);
  resources.packed = nullptr; // what is used once is not worth it
  SHARDC_RETURN_IF_ERROR(plan.prepare(context, resources, onlyOnce));
  DeviceBuffer arena;
  if (!arena.allocate(*state.device, MemoryKind::Device, plan.arenaBytes()))
    return artifactError("out of memory for ", plan.arenaBytes(),
                         " bytes on rank ", rank);
  plan.bindArena(arena.data());
  Status status = runInstructions(plan, worldRank(rank), controlOf(rank, {}));
  state.progress.leave();
  // Before the arena goes.
  const Status done = state.stream->synchronize();
  return status.isOk() ? done : status;
}

/// Profiles compute much the same of their weights (a transposed matrix), and
/// nothing writes it afterwards: what has the same bytes is kept once.
Status Stage::shareLoaded(int rank) {
  RankProgram &mine = active->ranks[static_cast<size_t>(rank)];
  RankState &state = ranks[static_cast<size_t>(rank)];
  std::vector<DeviceBuffer> &loaded = state.loaded;
  const size_t numBefore = loaded.size();
  auto next = mine.persistent.begin();
  for (uint32_t b = 0; b < mine.fixedBuffers.size(); ++b) {
    if (program().buffers()->Get(b)->kind() != artifact::BufferKind_Persistent)
      continue;
    DeviceBuffer &memory = *next++;
    std::array<uint64_t, 2> hash = {};
    if (programs.size() > 1)
      SHARDC_RETURN_IF_ERROR(hashLoaded(rank, memory, hash));
    size_t same = 0;
    while (same < numBefore && (loaded[same].size() != memory.size() ||
                                state.loadedHashes[same] != hash))
      ++same;
    if (same < numBefore) {
      mine.fixedBuffers[b] = loaded[same].data();
      continue;
    }
    loaded.push_back(std::move(memory));
    state.loadedHashes.push_back(hash);
  }
  mine.persistent.clear();
  return Status::ok();
}

/// 128 bits of the contents. The host reads a device's in pieces.
Status Stage::hashLoaded(int rank, const DeviceBuffer &memory,
                         std::array<uint64_t, 2> &hash) {
  RankState &mine = ranks[static_cast<size_t>(rank)];
  constexpr int64_t kPiece = int64_t{16} << 20;
  XXH3_state_t hashed;
  XXH3_128bits_reset(&hashed);
  for (int64_t at = 0; at < memory.size(); at += kPiece) {
    const int64_t bytes = std::min(kPiece, memory.size() - at);
    TensorView piece = packedView(memory.data() + at,
                                  artifact::ElementType_UInt8, {&bytes, 1});
    if (mine.staging)
      SHARDC_RETURN_IF_ERROR(mine.staging->fetch(piece, piece));
    XXH3_128bits_update(&hashed, piece.data, static_cast<size_t>(bytes));
  }
  const XXH128_hash_t digest = XXH3_128bits_digest(&hashed);
  hash = {digest.low64, digest.high64};
  return Status::ok();
}

} // namespace shardc::runtime
