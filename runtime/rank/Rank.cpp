#include "runtime/rank/Rank.h"

#include "runtime/base/Message.h"
#include "runtime/device/Roofline.h"
#include "runtime/tensor/CopyView.h"

namespace shardc::runtime {

Rank::Rank(const RankPlace &place, Programs all)
    : place(place), loaded(/*isAlone=*/all.size() == 1) {
  for (const std::unique_ptr<LoadedProgram> &each : all)
    programs.push_back(std::make_unique<RankProgram>(*each, place.rank));
}

Rank::~Rank() = default;

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

Status Rank::openDevice() {
  ownDevice = &place.world.devices->of(place.worldRank());
  SHARDC_RETURN_IF_ERROR(ownDevice->createStream(ownStream));
  ownStream->owner = message("rank ", place.worldRank(), ": ");
  isTraced = place.options.measure && ownStream->startTrace();
  if (ownDevice->isHost()) {
    std::vector<const artifact::Program *> all;
    for (const auto &own : programs)
      all.push_back(&own->program());
    spent.open(place.options.spent, place.stage, all);
  } else {
    staging = std::make_unique<Staging>(*ownDevice, *ownStream);
    hostCalls = std::make_unique<HostCalls>(*ownDevice, *ownStream);
    blocks = std::make_unique<DeviceBlocks>(*ownDevice, *ownStream, [this] {
      SHARDC_RETURN_IF_ERROR(drainLinks());
      return ownStream->synchronize();
    });
  }
  return place.artifact.manifest().kernels.empty()
             ? Status::ok()
             : ownDevice->loadKernels(kernelFilesOf(place.artifact), library);
}

void Rank::addGroup(size_t profile,
                    std::unique_ptr<Communicator> communicator) {
  programs[profile]->communicators.push_back(std::move(communicator));
}

void Rank::addWorld(std::unique_ptr<Communicator> communicator) {
  world = std::move(communicator);
}

void Rank::addChannel(size_t profile, StageChannel *channel) {
  programs[profile]->channels.push_back(channel);
}

Status Rank::joinDeviceGroups() {
  if (ownDevice->isHost())
    return Status::ok();
  for (auto &own : programs) {
    own->hostCommunicators = std::move(own->communicators);
    own->communicators.clear();
    for (size_t g = 0; g < own->hostCommunicators.size(); ++g) {
      const GroupPartition &partition = own->loaded.partitions[g];
      const auto rank = static_cast<size_t>(place.rank);
      std::vector<int> members =
          partition.groups[static_cast<size_t>(partition.groupOf[rank])];
      for (int &member : members)
        member = place.artifact.worldRank(place.replica, place.stage, member);
      Communicator &host = *own->hostCommunicators[g];
      own->communicators.emplace_back();
      SHARDC_RETURN_IF_ERROR(joinGroup(
          {members, host.index(), &host, place.options.timeout,
           place.failure.describeRank, [this] { return place.hasFailed(); },
           [this] { return place.moved(); }},
          *ownDevice, *ownStream, own->communicators.back()));
    }
  }
  return Status::ok();
}

Status Rank::tryGroups() {
  DeviceBuffer memory;
  float value = 0;
  constexpr int64_t kBytes = sizeof value;
  if (!memory.allocate(*ownDevice, MemoryKind::Device, kBytes))
    return artifactError("out of memory for ", kBytes, " bytes on rank ",
                         place.worldRank());
  auto *host = reinterpret_cast<std::byte *>(&value);
  const TensorView view =
      packedView(memory.data(), artifact::ElementType_Float32, {});
  for (auto &own : programs)
    for (auto &group : own->communicators) {
      const CollectiveSite site{"all_reduce", "preflight", 0};
      value = static_cast<float>(group->index() + 1);
      SHARDC_RETURN_IF_ERROR(ownStream->copy(memory.data(), host, {kBytes},
                                             CopyDirection::HostToDevice));
      SHARDC_RETURN_IF_ERROR(
          group->allReduce(view, view, ReduceKind::Sum, site));
      SHARDC_RETURN_IF_ERROR(ownStream->copy(host, memory.data(), {kBytes},
                                             CopyDirection::DeviceToHost));
      SHARDC_RETURN_IF_ERROR(ownStream->synchronize());
      const int expected = group->size() * (group->size() + 1) / 2;
      if (value != static_cast<float>(expected))
        return artifactError("rank ", place.worldRank(), ": an all_reduce of ",
                             group->size(), " ranks gave ", value,
                             ", expected ", expected,
                             "; look at the devices and their links");
    }
  return Status::ok();
}

Status Rank::measureLimits() {
  return runtime::measureLimits(*ownDevice, *ownStream, limits);
}

RankResources Rank::resourcesOf(RankProgram &own) {
  return {place.rank,
          own.fixedBuffers,
          own.blocks,
          own.transients,
          own.communicators,
          own.channels,
          ownDevice,
          library.get(),
          ownDevice->isHost() ? &packed : nullptr};
}

RunControl Rank::controlOf(std::span<InstructionTiming> timings) {
  RunControl control{place.failure,
                     *ownStream,
                     staging.get(),
                     hostCalls.get(),
                     world.get(),
                     timings,
                     progress,
                     hashes,
                     inFlight,
                     isTraced && !timings.empty() ? traced.tag() : -1,
                     feed && !arrivals->isComplete() ? &gate : nullptr};
  control.spent = &spent;
  return control;
}

/// Makes room; what was there stays if `keep`, else its memory is free for it.
Status Rank::growBuffer(DeviceBuffer &memory, int64_t bytes, const char *what,
                        bool keep) {
  if (memory.data() && memory.size() >= bytes)
    return Status::ok();
  // What is enqueued may still use it.
  SHARDC_RETURN_IF_ERROR(ownStream->synchronize());
  DeviceBuffer larger;
  if (!keep)
    memory.release();
  if (!larger.allocate(*ownDevice, MemoryKind::Device, bytes))
    return artifactError("out of memory: rank ", place.rank, " needs ", bytes,
                         " bytes for ", what,
                         "; use smaller inputs, or more ranks");
  if (memory.size() > 0) {
    SHARDC_RETURN_IF_ERROR(ownStream->copy(larger.data(), memory.data(),
                                           {.rowBytes = memory.size()},
                                           CopyDirection::DeviceToDevice));
    SHARDC_RETURN_IF_ERROR(ownStream->synchronize());
  }
  memory = std::move(larger);
  return Status::ok();
}

const RankShapePlan *Rank::planOf(size_t profile, size_t slot) const {
  const auto &plans = programs[profile]->plans;
  return slot < plans.size() ? plans[slot].get() : nullptr;
}

Status Rank::takeActivities() {
  return isTraced ? traced.take(*ownStream) : Status::ok();
}

int64_t Rank::arenaBytes() const {
  int64_t bytes = arena.size() + inputMemory.size();
  for (const auto &own : programs)
    for (const DeviceBuffer &buffer : own->carried)
      bytes += buffer.size();
  return bytes;
}

std::vector<std::string> Rank::movedToHost() const {
  if (!hostCalls)
    return {};
  return {hostCalls->moved().begin(), hostCalls->moved().end()};
}

} // namespace shardc::runtime
