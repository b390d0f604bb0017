#include "runtime/exec/DeviceMemory.h"

#include "runtime/artifact/ProgramChecks.h"
#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/Message.h"
#include "runtime/exec/LoadedProgram.h"
#include "runtime/exec/Mesh.h"
#include "runtime/exec/ScalarEvaluator.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace shardc::runtime {

Status neededBytes(const Artifact &artifact, int stage, int rank,
                   int64_t &bytes) {
  // Slices by file, place and length, joined ones by their first weight: two
  // programs' that are alike are one.
  std::set<std::tuple<uint32_t, uint64_t, int64_t>> slices;
  // Of what programs compute of their weights most is alike too: at least the
  // largest program's is kept. What it is computed of goes when it is there.
  int64_t weights = 0, loading = 0;
  for (size_t number : artifact.programsOf(stage)) {
    const artifact::Program &program = artifact.program(number);
    std::vector<int64_t> scalars;
    SHARDC_RETURN_IF_ERROR(
        evaluateLoadScalars(program, scalarDependences(program),
                            coordinatesOf(program, rank), scalars));
    const std::vector<char> stays = usedSlices(program);
    std::vector<char> isShown(program.buffers()->size(), 0);
    for (const artifact::View *view : *program.views())
      isShown[view->buffer()] = 1;
    int64_t ofThis = 0;
    for (uint32_t b = 0; b < isShown.size(); ++b) {
      const artifact::Buffer *buffer = program.buffers()->Get(b);
      const int64_t size = scalars[buffer->bytes()];
      if (size < 0 || size > INT64_MAX / 2)
        continue; // an error when it is loaded
      if (buffer->kind() == artifact::BufferKind_Persistent)
        ofThis += alignBuffer(size);
      const artifact::Weight *weight = weightOf(program, *buffer);
      if (!weight || !isShown[b]) // parts of a joined one are in that
        continue;
      if (!stays[sliceOf(program, *buffer)])
        ofThis += alignBuffer(size);
      else if (slices.emplace(weight->file(), weight->offset(), size).second)
        weights += alignBuffer(size);
    }
    loading = std::max(loading, ofThis);
  }
  bytes = weights + loading;
  return Status::ok();
}

Status checkMemory(std::span<const MemoryNeed> needs) {
  for (const MemoryNeed &first : needs) {
    int64_t needed = 0;
    int ranks = 0, fit = 0;
    for (const MemoryNeed &need : needs)
      if (need.number == first.number) {
        needed += need.bytes;
        ++ranks;
        fit += needed <= first.freeBytes;
      }
    if (needed <= first.freeBytes)
      continue;
    const std::string remedy =
        fit > 0 ? message("; ", fit, fit == 1 ? " rank" : " ranks",
                          " would fit on it: use more devices, or more ranks "
                          "on them")
                : message("; split the model over at least ",
                          (first.bytes + std::max<int64_t>(first.freeBytes, 1) -
                           1) /
                              std::max<int64_t>(first.freeBytes, 1),
                          " times as many devices, with more ranks");
    return artifactError(
        ranks == 1 ? first.rank
                   : message(ranks, " ranks, ", first.rank, " among them,"),
        ranks == 1 ? " needs " : " need ", needed, " bytes of weights on ",
        first.device, ", which has ", first.freeBytes, " free", remedy);
  }
  return Status::ok();
}

Status checkMemory(const Artifact &artifact, const RankDevices &devices,
                   int only) {
  if (devices.isHost())
    return Status::ok();
  std::vector<MemoryNeed> needs;
  for (int replica = 0; replica < artifact.numReplicas(); ++replica)
    for (int stage = 0; stage < artifact.numStages(); ++stage)
      for (int rank = 0; rank < artifact.stageSize(); ++rank) {
        const int world = artifact.worldRank(replica, stage, rank);
        if (only >= 0 && world != only)
          continue;
        const DeviceInfo &info = devices.of(world).info();
        MemoryNeed need{artifact.rankText(world),
                        message("device ", info.number, " (", info.name, ")"),
                        info.number, 0, info.freeBytes};
        SHARDC_RETURN_IF_ERROR(neededBytes(artifact, stage, rank, need.bytes));
        needs.push_back(std::move(need));
      }
  return checkMemory(needs);
}

} // namespace shardc::runtime
