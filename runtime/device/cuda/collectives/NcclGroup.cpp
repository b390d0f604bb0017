#include "runtime/device/cuda/collectives/NcclGroup.h"

#include "runtime/device/cuda/CudaStatus.h"
#include "runtime/device/cuda/collectives/Patience.h"

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace shardc::runtime {

NcclGroup::NcclGroup(const GroupPlace &place, int device)
    : device(device), index(place.index),
      members(place.members.begin(), place.members.end()),
      describeRank(place.describeRank), longestWait(place.timeout),
      askFailed(place.hasFailed), askProgress(place.progress) {}

NcclGroup::~NcclGroup() { close(); }

namespace {

/// What NCCL takes for one GPU: two ranks there are refused, unless they claim
/// to be on different hosts.
struct GpuIdentity {
  unsigned char uuid[16];
  uint64_t host;
  bool operator==(const GpuIdentity &) const = default;
};

} // namespace

Status NcclGroup::sharesGpu(const GroupPlace &place, int device, bool &shares) {
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

/// Rank 0 of the group makes the id; the host's group carries it.
static Status tellUniqueId(Communicator &host, ncclUniqueId &id) {
  if (host.index() == 0)
    if (ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess)
      return artifactError("ncclGetUniqueId: ", ncclGetErrorString(result));
  constexpr size_t kPiece = Communicator::kMaxExchange;
  static_assert(sizeof id % kPiece == 0);
  std::vector<std::byte> all(kPiece * static_cast<size_t>(host.size()));
  auto *bytes = reinterpret_cast<std::byte *>(&id);
  for (size_t at = 0; at < sizeof id; at += kPiece) {
    SHARDC_RETURN_IF_ERROR(host.exchange(bytes + at, kPiece, all.data(),
                                         {"NCCL's unique id", "", 0}));
    std::memcpy(bytes + at, all.data(), kPiece);
  }
  return Status::ok();
}

Status NcclGroup::connect(Communicator &host) {
  close();
  SHARDC_RETURN_IF_ERROR(setDevice());
  ncclUniqueId id = {};
  SHARDC_RETURN_IF_ERROR(tellUniqueId(host, id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return settle(
      "NCCL cannot connect the ranks",
      ncclCommInitRankConfig(&handle, host.size(), id, index, &config));
}

Status NcclGroup::settle(const char *what, ncclResult_t result) {
  PatientDeadline deadline(longestWait, askProgress);
  // Each call has a thread of NCCL's of its own, which ends soon.
  const Patience patience;
  while (result == ncclInProgress) {
    const ncclResult_t asked = ncclCommGetAsyncError(handle, &result);
    if (asked != ncclSuccess)
      result = asked;
    if (result != ncclInProgress)
      break;
    if (deadline.hasPassed()) {
      abort();
      return artifactError(what,
                           ": not all of these have come: ", otherRanks());
    }
    patience.wait();
  }
  if (result == ncclSuccess)
    return Status::ok();
  const char *detail = handle ? ncclGetLastError(handle) : "";
  return artifactError(what, ": ", ncclGetErrorString(result),
                       detail && *detail ? ": " : "", detail ? detail : "",
                       "; NCCL_DEBUG=WARN tells more");
}

Status NcclGroup::enter() {
  if (!handle)
    return artifactError("its communicator was aborted by an earlier error; "
                         "open the artifact again");
  return setDevice();
}

Status NcclGroup::setDevice() {
  return cudaStatus(cudaSetDevice(device), "cudaSetDevice");
}

Status NcclGroup::asyncError() {
  ncclResult_t result = ncclSuccess;
  if (!handle || ncclCommGetAsyncError(handle, &result) != ncclSuccess ||
      result == ncclSuccess || result == ncclInProgress)
    return Status::ok();
  return artifactError(ncclGetErrorString(result), " (",
                       ncclGetLastError(handle), ")");
}

void NcclGroup::abort() {
  if (!handle)
    return;
  aborting =
      std::thread([device = device, comm = std::exchange(handle, nullptr)] {
        cudaSetDevice(device);
        ncclCommAbort(comm);
      });
}

void NcclGroup::close() {
  if (aborting.joinable())
    aborting.join();
  if (!handle)
    return;
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
  ncclResult_t result = ncclCommFinalize(handle);
  while (result == ncclInProgress &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (ncclCommGetAsyncError(handle, &result) != ncclSuccess)
      result = ncclInternalError;
  }
  if (result == ncclSuccess)
    ncclCommDestroy(handle);
  else
    ncclCommAbort(handle);
  handle = nullptr;
}

std::string NcclGroup::otherRanks() const {
  std::string text;
  for (size_t i = 0; i < members.size(); ++i)
    if (static_cast<int>(i) != index)
      text += (text.empty() ? "" : ", ") + (describeRank
                                                ? describeRank(members[i])
                                                : message("rank ", members[i]));
  return text;
}

} // namespace shardc::runtime
