#include "runtime/backend/cuda/NcclCommunicator.h"

#include "runtime/backend/cuda/kernels/StridedKernels.h"

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace shardc::runtime {

NcclCommunicator::NcclCommunicator(const GroupPlace &place, CudaStream &stream)
    : host(*place.host), computing(stream),
      members(place.members.begin(), place.members.end()),
      describeRank(place.describeRank), longestWait(place.timeout),
      stream(computing.collectiveStream().stream()), toPeer(members.size()),
      fromPeer(members.size()) {}

namespace {

/// What NCCL takes for one GPU: two ranks there are refused, unless they claim
/// to be on different hosts.
struct GpuIdentity {
  unsigned char uuid[16];
  uint64_t host;
  bool operator==(const GpuIdentity &) const = default;
};

/// The same on all ranks of the group.
Status sharesGpu(const GroupPlace &place, int device, bool &shares) {
  cudaDeviceProp properties = {};
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties"));
  GpuIdentity mine = {};
  std::memcpy(mine.uuid, &properties.uuid, sizeof mine.uuid);
  const char *host = std::getenv("NCCL_HOSTID");
  mine.host = std::hash<std::string_view>()(host ? host : "");
  std::vector<GpuIdentity> all(place.members.size());
  static_assert(sizeof mine <= Communicator::kMaxExchange);
  SHARDC_RETURN_IF_ERROR(place.host->exchange(&mine, sizeof mine, all.data(),
                                              {"GPUs of a group", "", 0}));
  shares = false;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      shares |= all[i] == all[j];
  return Status::ok();
}

} // namespace

Status NcclCommunicator::create(const GroupPlace &place, CudaStream &stream,
                                std::unique_ptr<Communicator> &communicator) {
  bool shares = false;
  SHARDC_RETURN_IF_ERROR(sharesGpu(place, stream.device, shares));
  communicator.reset();
  if (shares)
    return Status::ok(); // by way of the host
  std::unique_ptr<NcclCommunicator> created(
      new NcclCommunicator(place, stream));
  SHARDC_RETURN_IF_ERROR(created->start());
  communicator = std::move(created);
  return Status::ok();
}

/// Rank 0 of the group makes the id; the host's group carries it.
Status NcclCommunicator::tellUniqueId(ncclUniqueId &id) {
  if (index() == 0)
    if (ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess)
      return artifactError("ncclGetUniqueId: ", ncclGetErrorString(result));
  static_assert(sizeof id % kMaxExchange == 0);
  std::vector<std::byte> all(kMaxExchange * members.size());
  auto *bytes = reinterpret_cast<std::byte *>(&id);
  for (size_t at = 0; at < sizeof id; at += kMaxExchange) {
    SHARDC_RETURN_IF_ERROR(host.exchange(bytes + at, kMaxExchange, all.data(),
                                         {"NCCL's unique id", "", 0}));
    std::memcpy(bytes + at, all.data(), kMaxExchange);
  }
  return Status::ok();
}

Status NcclCommunicator::start() {
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaSetDevice(computing.device), "cudaSetDevice"));
  ncclUniqueId id = {};
  SHARDC_RETURN_IF_ERROR(tellUniqueId(id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0; // a rank that does not come must not hang the others
  return settle("NCCL cannot connect the ranks",
                ncclCommInitRankConfig(&comm, size(), id, index(), &config));
}

NcclCommunicator::~NcclCommunicator() {
  cudaSetDevice(computing.device);
  // What nobody waited for after an error may wait for ranks that never come.
  if (cudaStreamQuery(stream) == cudaErrorNotReady) {
    computing.collectives().abortAll();
    abort();
  }
  computing.collectives().forget(*this);
  cudaStreamSynchronize(stream);
  if (comm) {
    if (registered)
      ncclCommDeregister(comm, registered);
    ncclCommAbort(comm); // nothing is under way: the quick way to end
  }
  cudaFree(slots);
}

Status NcclCommunicator::settle(const char *what, ncclResult_t result) {
  const auto deadline = std::chrono::steady_clock::now() + longestWait;
  while (result == ncclInProgress) {
    const ncclResult_t asked = ncclCommGetAsyncError(comm, &result);
    if (asked != ncclSuccess)
      result = asked;
    if (result != ncclInProgress)
      break;
    if (std::chrono::steady_clock::now() > deadline) {
      abort();
      return artifactError(what,
                           ": not all of these have come: ", otherRanks());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  if (result == ncclSuccess)
    return Status::ok();
  const char *detail = comm ? ncclGetLastError(comm) : "";
  return artifactError(what, ": ", ncclGetErrorString(result),
                       detail && *detail ? ": " : "", detail ? detail : "",
                       "; NCCL_DEBUG=WARN tells more");
}

Status NcclCommunicator::enter() {
  if (!comm)
    return artifactError("its communicator was aborted by an earlier error; "
                         "open the artifact again");
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaSetDevice(computing.device), "cudaSetDevice"));
  return computing.collectiveStream().enter(computing.stream());
}

Status NcclCommunicator::leave(const CollectiveSite &site) {
  SHARDC_RETURN_IF_ERROR(
      computing.collectiveStream().leave(computing.stream(), site.flight));
  // What computes does not wait for what is noted here.
  return computing.collectives().add(*this, site, stream);
}

Status NcclCommunicator::wait(int flight, const CollectiveSite &) {
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaSetDevice(computing.device), "cudaSetDevice"));
  return computing.collectiveStream().wait(computing.stream(), flight);
}

Status NcclCommunicator::reserve(int64_t bytes) {
  if (bytes <= slotBytes)
    return Status::ok();
  // What is enqueued may still use the old ones; sizes grow a few times only.
  // The stream that computes is the one whose wait is watched.
  SHARDC_RETURN_IF_ERROR(
      computing.collectiveStream().waitForAll(computing.stream()));
  SHARDC_RETURN_IF_ERROR(computing.synchronize());
  if (registered)
    SHARDC_RETURN_IF_ERROR(
        settle("ncclCommDeregister", ncclCommDeregister(comm, registered)));
  registered = nullptr;
  cudaFree(slots);
  slots = nullptr;
  slotBytes = 0;
  void *memory = nullptr;
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaMalloc(&memory, static_cast<size_t>(bytes)),
                 "memory for a collective's parts"));
  slots = static_cast<std::byte *>(memory);
  slotBytes = bytes;
  // Registered memory is used as it lies; where NCCL cannot, it copies.
  if (!settle("ncclCommRegister",
              ncclCommRegister(comm, slots, static_cast<size_t>(bytes),
                               &registered))
           .isOk())
    registered = nullptr;
  return Status::ok();
}

Status NcclCommunicator::copy(const TensorView &to, const TensorView &from) {
  return cuda::copyStrided(to, from, stream);
}

Status NcclCommunicator::asyncError() {
  ncclResult_t result = ncclSuccess;
  if (!comm || ncclCommGetAsyncError(comm, &result) != ncclSuccess ||
      result == ncclSuccess || result == ncclInProgress)
    return Status::ok();
  return artifactError(ncclGetErrorString(result), " (", ncclGetLastError(comm),
                       ")");
}

void NcclCommunicator::abort() {
  if (comm)
    ncclCommAbort(comm);
  comm = nullptr;
  registered = nullptr;
}

std::string NcclCommunicator::otherRanks() const {
  std::string text;
  for (size_t i = 0; i < members.size(); ++i)
    if (static_cast<int>(i) != index())
      text += (text.empty() ? "" : ", ") + (describeRank
                                                ? describeRank(members[i])
                                                : message("rank ", members[i]));
  return text;
}

} // namespace shardc::runtime
