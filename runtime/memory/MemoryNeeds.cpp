#include "runtime/memory/MemoryNeeds.h"

#include "runtime/artifact/Instructions.h"
#include "runtime/artifact/ScalarDependence.h"
#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/Message.h"
#include "runtime/memory/HostNeeds.h"
#include "runtime/plan/ArenaPlanner.h"
#include "runtime/program/Mesh.h"
#include "runtime/program/ScalarEvaluator.h"
#include "runtime/program/Segments.h"
#include "runtime/program/ViewResolver.h"
#include "runtime/weights/SliceUses.h"
#include "runtime/weights/WeightLoader.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace shardc::runtime {

namespace {

/// Of the weights and of what is computed of them.
Status addWeights(const Artifact &artifact, int stage, int rank,
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

/// Sizes of a request with the least for all that it may choose, beside a state with
/// room for `capacity` positions. False: no such request runs.
bool smallestSizes(const artifact::Program &program, int rank, int64_t capacity,
                   std::vector<int64_t> &scalars) {
  std::vector<int64_t> symbols;
  for (uint32_t s = 0; s < program.symbols()->size(); ++s) {
    const artifact::Symbol *symbol = program.symbols()->Get(s);
    symbols.push_back(symbol->capacity() ? capacity
                      : symbol->binders() && symbol->binders()->size()
                          ? kUnbound
                          : std::max<int64_t>(leastAllowed(program, s), 1));
  }
  return evaluateScalars(program, symbols, coordinatesOf(program, rank),
                         scalars)
             .isOk() &&
         checkGuards(program, scalars).isOk();
}

/// The largest segment's arena, and what several share; 0: not known.
int64_t valueBytes(const artifact::Program &program, int rank) {
  std::vector<int64_t> scalars;
  if (!smallestSizes(program, rank, 0, scalars))
    return 0;
  auto sizeOf = [&](uint32_t buffer) {
    int64_t bytes = 0; // what only data decide on is left out
    return bufferBytes(program, buffer, scalars, bytes).isOk() ? bytes : 0;
  };
  const Segments segments = findSegments(program);
  int64_t largest = 0, carried = 0;
  for (const Segment &segment : segments.list) {
    std::vector<ArenaRequest> requests;
    for (const ArenaBufferUse &use : segment.arenaUses)
      requests.push_back({sizeOf(use.buffer), use.first, use.last});
    largest = std::max(largest, planArena(requests).bytes);
  }
  for (uint32_t b = 0; b < segments.carried.size(); ++b)
    if (segments.carried[b] &&
        program.buffers()->Get(b)->kind() != artifact::BufferKind_Cache)
      carried += alignBuffer(sizeOf(b));
  return largest + carried;
}

/// What a position more takes of all caches.
int64_t cacheBytes(const artifact::Program &program, int rank) {
  // Past of 1 is in all of them.
  constexpr int64_t kFrom = 1024;
  std::vector<int64_t> fewer, more;
  if (!program.caches() || !smallestSizes(program, rank, kFrom, fewer) ||
      !smallestSizes(program, rank, kFrom + 1, more))
    return 0;
  int64_t bytes = 0;
  for (const artifact::CachePair *pair : *program.caches()) {
    const uint32_t size = program.buffers()->Get(pair->buffer())->bytes();
    if (pair->kind() != artifact::CacheKind_Keep)
      bytes += std::max<int64_t>(more[size] - fewer[size], 0);
  }
  return bytes;
}

} // namespace

Status neededBytes(const Artifact &artifact, int stage, int rank,
                   NeededBytes &needed) {
  needed = {};
  SHARDC_RETURN_IF_ERROR(addWeights(artifact, stage, rank, needed.weights));
  needed.values = INT64_MAX;
  for (size_t number : artifact.programsOf(stage)) {
    const artifact::Program &program = artifact.program(number);
    needed.values = std::min(needed.values, valueBytes(program, rank));
    // Of a step of rows it is a page that there is one more of.
    const int64_t page = std::max<int64_t>(artifact.manifest().page, 1);
    needed.cachePosition = std::max(
        needed.cachePosition, (cacheBytes(program, rank) + page - 1) / page);
  }
  return Status::ok();
}

NeededBytes &NeededBytes::operator+=(const NeededBytes &other) {
  weights += other.weights;
  values += other.values;
  cachePosition += other.cachePosition;
  caches += other.caches;
  return *this;
}

NeededBytes &NeededBytes::operator-=(const NeededBytes &other) {
  weights -= other.weights;
  values -= other.values;
  cachePosition -= other.cachePosition;
  caches -= other.caches;
  return *this;
}

/// Of all ranks on a device.
static MemoryNeed allOn(std::span<const MemoryNeed> needs, int number) {
  MemoryNeed all;
  for (const MemoryNeed &need : needs)
    if (need.number == number) {
      const NeededBytes sum = (all.needed += need.needed);
      all = need;
      all.needed = sum;
    }
  return all;
}

std::string needText(const MemoryNeed &need) {
  const NeededBytes &needed = need.needed;
  return message(
      needed.weights,
      need.isHost ? " of copies of weights in the order that kernels read, "
                  : " of weights, ",
      needed.values, " of intermediate values of its smallest request",
      needed.caches > 0 ? message(", ", needed.caches, " of KV caches") : "");
}

std::string roomText(std::span<const MemoryNeed> needs, int number) {
  MemoryNeed all = allOn(needs, number);
  if (all.needed.cachePosition <= 0)
    return "";
  all.needed += all.beside; // which take as many positions
  const int64_t left = all.freeBytes - all.needed.bytes() + all.needed.caches;
  return message("room for ",
                 std::max<int64_t>(left, 0) / all.needed.cachePosition,
                 " positions of its KV caches at batch 1");
}

std::string remedyFor(const MemoryNeed &first, int64_t needed, int fit) {
  if (first.isHost)
    return fit > 0 ? message("; ", fit, fit == 1 ? " rank" : " ranks",
                             " would fit on it: run the others on other "
                             "machines, as processes")
                   : "; split the model over more machines, with a process a "
                     "rank, or take one with more memory";
  const int64_t free = std::max<int64_t>(first.freeBytes, 1);
  return fit > 0 ? message("; ", fit, fit == 1 ? " rank" : " ranks",
                           " would fit on it: use more devices, or more ranks "
                           "on them")
                 : message("; split the model over at least ",
                           (needed + free - 1) / free,
                           " times as many devices, with more ranks");
}

std::string cacheText(std::span<const MemoryNeed> needs,
                      const MemoryNeed &all) {
  const NeededBytes &needed = all.needed;
  if (needed.cachePosition <= 0)
    return "";
  if (needed.caches == 0)
    return message("; KV caches take ", needed.cachePosition,
                   " bytes a position at batch 1 on top");
  const bool isTooMany = needed.bytes() - needed.caches <= all.freeBytes;
  return message("; there would be ", roomText(needs, all.number),
                 isTooMany ? ": ask for no more" : "");
}

Status checkMemory(std::span<const MemoryNeed> needs) {
  for (const MemoryNeed &first : needs) {
    MemoryNeed all = first;
    all.needed = {};
    int ranks = 0, fit = 0;
    for (const MemoryNeed &need : needs)
      if (need.number == first.number) {
        all.needed += need.needed;
        ++ranks;
        fit += all.needed.bytes() <= first.freeBytes;
      }
    const int64_t bytes = all.needed.bytes();
    if (bytes <= first.freeBytes)
      continue;
    return artifactError(
        ranks == 1 ? first.rank
                   : message(ranks, " ranks, ", first.rank, " among them,"),
        ranks == 1 ? " needs " : " need ", bytes, " bytes on ", first.device,
        ", which has ", first.freeBytes, " free: ", needText(all),
        remedyFor(first, first.needed.bytes(), fit), cacheText(needs, all));
  }
  return Status::ok();
}

/// More than any machine has; sums of it are none that overflow.
static constexpr int64_t kMostBytes = int64_t{1} << 50;

Status collectNeeds(const Artifact &artifact, const RankDevices &devices,
                    int only, int64_t positions,
                    std::vector<MemoryNeed> &needs) {
  HostNeeds host(artifact);
  for (int replica = 0; replica < artifact.numReplicas(); ++replica)
    for (int stage = 0; stage < artifact.numStages(); ++stage)
      for (int rank = 0; rank < artifact.stageSize(); ++rank) {
        const int world = artifact.worldRank(replica, stage, rank);
        if (only >= 0 && world != only)
          continue;
        const DeviceInfo &info = devices.of(world).info();
        MemoryNeed need{artifact.rankText(world),
                        message("device ", info.number, " (", info.name, ")"),
                        info.number,
                        {},
                        info.freeBytes,
                        devices.isHost()};
        need.described = message("device ", info.number, " (", info.name, ", ",
                                 info.architecture, ")");
        SHARDC_RETURN_IF_ERROR(neededBytes(artifact, stage, rank, need.needed));
        if (need.isHost)
          SHARDC_RETURN_IF_ERROR(
              host.add(stage, rank, world, need.needed.weights));
        if (__builtin_mul_overflow(need.needed.cachePosition, positions,
                                   &need.needed.caches) ||
            need.needed.caches > kMostBytes)
          need.needed.caches = kMostBytes;
        needs.push_back(std::move(need));
      }
  return Status::ok();
}

} // namespace shardc::runtime
