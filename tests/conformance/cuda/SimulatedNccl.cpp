//===- SimulatedNccl.cpp - The calls of NCCL ------------------------------===//
//
// Ranks are threads of one process. As with NCCL, a communicator that does not
// block takes a call in only when it is asked how it is
// (ncclCommGetAsyncError), and refuses another one before. It ends, or is
// aborted, when no graph is left that has a collective of it. Memory that is
// registered must not be released; with SHARDC_SIMULATED_REGISTERED=1 a
// collective refuses memory that is not. With SHARDC_SIMULATED_LOADS=1 nothing
// is launched on another stream of a GPU whose collective is under way, as if
// it had to be loaded.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/cuda/SimulatedCapture.h"
#include "tests/conformance/cuda/SimulatedCosts.h"
#include "tests/conformance/cuda/SimulatedDevice.h"
#include "tests/conformance/cuda/SimulatedMeeting.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

using namespace shardc::testing;

struct ncclComm {
  SimulatedGroup *group;
  int rank;
  int device;
  bool blocks;
  bool isConnected = false;
  std::string text = {}; ///< of the last error
  /// Called, but not taken in.
  std::vector<std::shared_ptr<SimulatedParts>> called = {};
  /// May still be under way.
  std::vector<std::weak_ptr<SimulatedParts>> enqueued = {};
  std::map<const void *, size_t> registered = {};
  uint64_t captured = 0; ///< operations so far
  bool isFinal = false;
  /// Registrations that graphs have: NCCL keeps those of captured operations
  /// until the graph is gone, deregistered or not (NCCL_GRAPH_REGISTER).
  std::vector<std::pair<const void *, std::weak_ptr<int>>> ofGraphs = {};
  /// Held by graphs with operations of it, too.
  std::shared_ptr<int> graphs = std::make_shared<int>();
};

namespace {

std::mutex mutex;
std::map<std::string, SimulatedGroup *> groups; ///< by unique id
std::set<ncclComm_t> communicators;

thread_local int depth = 0; ///< of ncclGroupStart
thread_local std::map<ncclComm_t, std::vector<std::shared_ptr<SimulatedParts>>>
    together;

bool isAlive(ncclComm_t comm) {
  std::lock_guard lock(mutex);
  return communicators.count(comm) > 0;
}

ncclResult_t refuse(ncclComm_t comm, const char *text) {
  comm->text = text;
  return ncclInvalidArgument;
}

void takeIn(ncclComm &comm, const std::shared_ptr<SimulatedParts> &parts);

bool isRegistered(const ncclComm &comm, const void *memory, size_t bytes);

/// The graph's own references to registered memory, for as long as it has what
/// is returned.
std::shared_ptr<int> registerForGraph(ncclComm &comm,
                                      const std::vector<SimulatedPart> &parts) {
  auto held = std::make_shared<int>();
  const char *said = std::getenv("NCCL_GRAPH_REGISTER");
  if (said && std::string_view(said) == "0")
    return held;
  std::lock_guard lock(mutex);
  for (const SimulatedPart &part : parts)
    for (const void *memory :
         {part.input, static_cast<const void *>(part.output)})
      if (memory && isRegistered(comm, memory, 1))
        comm.ofGraphs.emplace_back(memory, held);
  return held;
}

/// It comes to the next operation when its graph runs.
void captureParts(ncclComm &comm, const SimulatedParts &parts) {
  std::vector<SimulatedPart> list = parts.parts;
  ++comm.captured;
  for (SimulatedPart &part : list)
    part.captured = comm.captured;
  (void)parts.stream->capture->add(
      *parts.stream, cudaGraphNodeTypeKernel,
      [&comm, list, graphs = comm.graphs,
       held = registerForGraph(comm, list)](const auto &stream) {
        if (!isAlive(&comm))
          return failSimulated(stream->device, cudaErrorLaunchFailure);
        auto again = std::make_shared<SimulatedParts>(*comm.group, stream);
        again->parts = list;
        takeIn(comm, again);
      });
}

/// From now on it is work of the stream.
void takeIn(ncclComm &comm, const std::shared_ptr<SimulatedParts> &parts) {
  if (parts->stream->capture)
    return captureParts(comm, *parts);
  for (size_t i = 0; i < parts->parts.size(); ++i)
    comm.group->meet(parts, i, comm.rank);
  parts->number = parts->stream->enqueue([parts] { return parts->attempt(); });
  std::erase_if(comm.enqueued, [](const auto &old) { return old.expired(); });
  comm.enqueued.push_back(parts);
  simulationChanged(); // its number was not known
}

/// The call is over for a communicator that blocks.
ncclResult_t finish(ncclComm &comm,
                    std::vector<std::shared_ptr<SimulatedParts>> parts) {
  comm.called = std::move(parts);
  spend(HostCost::NcclCall);
  if (!comm.blocks)
    return ncclInProgress;
  ncclResult_t result = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(&comm, &result);
  return asked != ncclSuccess ? asked : result;
}

void dieIfRegistered(const void *memory) {
  std::lock_guard lock(mutex);
  for (ncclComm_t comm : communicators) {
    std::erase_if(comm->ofGraphs,
                  [](const auto &each) { return each.second.expired(); });
    const bool isOfGraph = std::any_of(
        comm->ofGraphs.begin(), comm->ofGraphs.end(), [&](const auto &each) {
          return isInSimulatedAllocation(each.first, memory);
        });
    if (!comm->registered.count(memory) && !isOfGraph)
      continue;
    std::fprintf(stderr,
                 "simulated NCCL: memory at %p is released, but still "
                 "registered%s\n",
                 memory, isOfGraph ? " by a graph" : "");
    std::abort();
  }
}

bool isRegistered(const ncclComm &comm, const void *memory, size_t bytes) {
  const auto *at = static_cast<const std::byte *>(memory);
  return std::any_of(
      comm.registered.begin(), comm.registered.end(), [&](const auto &each) {
        const auto *begin = static_cast<const std::byte *>(each.first);
        return at >= begin && at + bytes <= begin + each.second;
      });
}

bool takesRegisteredOnly() {
  const char *said = std::getenv("SHARDC_SIMULATED_REGISTERED");
  return said && std::string_view(said) == "1";
}

ncclResult_t check(ncclComm_t comm, const SimulatedPart &part,
                   const SimulatedStream &stream) {
  if (!comm->isConnected || !comm->called.empty())
    return refuse(comm, "a call before the one before it is over");
  if (comm->isFinal)
    return refuse(comm, "a call of a communicator that has ended");
  const size_t input = part.inputBytes(comm->group->size),
               output = part.outputBytes(comm->group->size);
  if (simulatedBytes(part.type) == 0 || stream.device != comm->device ||
      part.peer < 0 || part.peer >= comm->group->size ||
      (part.input && !isOnSimulatedGpu(part.input, input)) ||
      (part.output && !isOnSimulatedGpu(part.output, output)))
    return refuse(comm, "memory, stream, type or rank that cannot be used");
  if (!part.input || !part.output)
    return ncclSuccess;
  if (takesRegisteredOnly() && (!isRegistered(*comm, part.input, input) ||
                                !isRegistered(*comm, part.output, output)))
    return refuse(comm, "memory that is not registered");
  // In place means just there.
  const auto *from = static_cast<const std::byte *>(part.input);
  const auto *to = static_cast<const std::byte *>(part.output);
  const size_t bytes =
      part.count * simulatedBytes(part.type) * static_cast<size_t>(comm->rank);
  const std::byte *inPlace =
      part.kind == MeetingKind::AllGather ? to + bytes : to;
  const std::byte *source =
      part.kind == MeetingKind::ReduceScatter ? from + bytes : from;
  const bool overlaps = from < to + output && to < from + input;
  return !overlaps || source == inPlace
             ? ncclSuccess
             : refuse(comm, "input and output overlap, but not in place");
}

ncclResult_t call(ncclComm_t comm, cudaStream_t handle,
                  const SimulatedPart &part) {
  if (!isAlive(comm))
    return ncclInvalidArgument;
  const auto stream = simulatedStream(handle);
  if (!stream)
    return refuse(comm, "a stream that is none");
  if (ncclResult_t result = check(comm, part, *stream); result != ncclSuccess)
    return result;
  auto &list = together[comm];
  auto same = std::find_if(list.begin(), list.end(), [&](const auto &parts) {
    return parts->stream == stream;
  });
  if (same == list.end())
    same = list.insert(list.end(),
                       std::make_shared<SimulatedParts>(*comm->group, stream));
  (*same)->parts.push_back(part);
  if (depth > 0)
    return ncclSuccess;
  ++depth;
  return ncclGroupEnd();
}

/// Ends what is under way: it is over without being done.
void leave(ncclComm_t comm) {
  whileNothingRuns([&] {
    for (const auto &weak : comm->enqueued)
      if (auto parts = weak.lock())
        parts->isAborted = true;
  });
  {
    std::lock_guard lock(mutex);
    communicators.erase(comm);
  }
  delete comm;
  simulationChanged();
}

bool isUnderWay(const SimulatedParts &parts) {
  return !parts.isAborted &&
         std::any_of(parts.meetings.begin(), parts.meetings.end(),
                     [](const auto &meeting) { return !meeting->isDone; });
}

} // namespace

bool shardc::testing::mayLoadOn(const SimulatedStream &stream) {
  const char *said = std::getenv("SHARDC_SIMULATED_LOADS");
  if (!said || std::string_view(said) != "1" || stream.capture)
    return true;
  std::lock_guard lock(mutex);
  for (ncclComm_t comm : communicators)
    for (const auto &weak : comm->enqueued)
      if (const auto parts = weak.lock();
          parts && comm->device == stream.device &&
          parts->stream.get() != &stream && isUnderWay(*parts)) {
        std::fputs("simulated NCCL: a kernel is loaded while a collective is "
                   "under way\n",
                   stderr);
        return false;
      }
  return true;
}

//===--- Communicators ----------------------------------------------------===//

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static std::atomic<uint64_t> next{1};
  *id = {};
  const uint64_t words[2] = {0x7368617264634e43, next++};
  std::memcpy(id->internal, words, sizeof words);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return ncclInvalidArgument;
  const bool blocks = !config || config->blocking != 0;
  {
    std::lock_guard lock(mutex);
    SimulatedGroup *&group =
        groups[std::string(id.internal, sizeof id.internal)];
    if (!group)
      group = new SimulatedGroup(ranks);
    if (group->size != ranks)
      return ncclInvalidArgument;
    *comm = new ncclComm{.group = group,
                         .rank = rank,
                         .device = simulatedCurrent(),
                         .blocks = blocks};
    communicators.insert(*comm);
  }
  (*comm)->group->join(rank, (*comm)->device);
  ncclResult_t result = ncclInProgress;
  while (blocks && result == ncclInProgress) {
    if (ncclResult_t asked = ncclCommGetAsyncError(*comm, &result);
        asked != ncclSuccess)
      return asked;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return result;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
  if (!isAlive(comm))
    return ncclInvalidArgument;
  std::string text;
  *result = comm->group->failure(text);
  if (comm->isFinal) {
    *result = comm->graphs.use_count() > 1 ? ncclInProgress : ncclSuccess;
    return ncclSuccess;
  }
  if (*result != ncclSuccess) {
    comm->text = text;
    return ncclSuccess;
  }
  comm->isConnected |= comm->group->isComplete();
  if (!comm->isConnected) {
    *result = ncclInProgress;
    return ncclSuccess;
  }
  for (const auto &parts : std::exchange(comm->called, {}))
    takeIn(*comm, parts);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!isAlive(comm))
    return ncclInvalidArgument;
  const std::shared_ptr<int> graphs = comm->graphs;
  leave(comm);
  for (int i = 0; graphs.use_count() > 1; ++i) {
    if (i == 10000) {
      std::fputs("simulated NCCL: an abort waits for a graph that nobody "
                 "destroys\n",
                 stderr);
      std::abort();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (!isAlive(comm) || comm->isFinal || !comm->called.empty())
    return ncclInvalidArgument;
  comm->isFinal = true;
  return comm->blocks ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  ncclResult_t ended = ncclInvalidArgument;
  if (!isAlive(comm) || !comm->isFinal ||
      ncclCommGetAsyncError(comm, &ended) != ncclSuccess ||
      ended != ncclSuccess)
    return ncclInvalidArgument;
  leave(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *memory, size_t bytes,
                              void **handle) {
  if (!isAlive(comm) || !isOnSimulatedGpu(memory, bytes))
    return ncclInvalidArgument;
  onSimulatedRelease(dieIfRegistered);
  std::lock_guard lock(mutex);
  comm->registered[memory] = bytes;
  *handle = memory;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle) {
  if (!isAlive(comm))
    return ncclInvalidArgument;
  std::lock_guard lock(mutex);
  return comm->registered.erase(handle) ? ncclSuccess : ncclInvalidArgument;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclInProgress:
    return "NCCL operation in progress";
  case ncclInvalidArgument:
    return "invalid argument";
  case ncclInvalidUsage:
    return "invalid usage";
  default:
    return "an error of the simulated NCCL";
  }
}

const char *ncclGetLastError(ncclComm_t comm) {
  return isAlive(comm) ? comm->text.c_str() : "";
}

//===--- Operations -------------------------------------------------------===//

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (depth < 1)
    return ncclInvalidUsage;
  if (--depth > 0)
    return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  for (auto &[comm, parts] : std::exchange(together, {}))
    if (ncclResult_t ended = finish(*comm, parts); ended != ncclSuccess)
      result = ended;
  return result;
}

ncclResult_t ncclAllReduce(const void *input, void *output, size_t count,
                           ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, cudaStream_t stream) {
  if (operation != ncclSum && operation != ncclMax && operation != ncclMin)
    return ncclInvalidArgument;
  return call(comm, stream,
              {.kind = MeetingKind::AllReduce,
               .count = count,
               .type = type,
               .operation = operation,
               .input = input,
               .output = output});
}

ncclResult_t ncclAllGather(const void *input, void *output, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return call(comm, stream,
              {.kind = MeetingKind::AllGather,
               .count = count,
               .type = type,
               .input = input,
               .output = output});
}

ncclResult_t ncclReduceScatter(const void *input, void *output, size_t count,
                               ncclDataType_t type, ncclRedOp_t operation,
                               ncclComm_t comm, cudaStream_t stream) {
  if (operation != ncclSum && operation != ncclMax && operation != ncclMin)
    return ncclInvalidArgument;
  return call(comm, stream,
              {.kind = MeetingKind::ReduceScatter,
               .count = count,
               .type = type,
               .operation = operation,
               .input = input,
               .output = output});
}

ncclResult_t ncclBroadcast(const void *input, void *output, size_t count,
                           ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return call(comm, stream,
              {.kind = MeetingKind::Broadcast,
               .count = count,
               .type = type,
               .root = root,
               .input = input,
               .output = output});
}

ncclResult_t ncclSend(const void *input, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  return call(comm, stream,
              {.kind = MeetingKind::Send,
               .count = count,
               .type = type,
               .input = input,
               .peer = peer});
}

ncclResult_t ncclRecv(void *output, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return call(comm, stream,
              {.kind = MeetingKind::Send,
               .count = count,
               .type = type,
               .output = output,
               .peer = peer});
}
