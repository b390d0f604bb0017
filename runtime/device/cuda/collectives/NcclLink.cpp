#include "runtime/device/cuda/collectives/NcclLink.h"

#include "runtime/collectives/WaitText.h"
#include "runtime/device/cuda/StreamState.h"
#include "runtime/device/cuda/collectives/NcclChannel.h"

#include <algorithm>
#include <array>
#include <thread>

namespace shardc::runtime {

NcclLink::NcclLink(const GroupPlace &pair, CudaStream &stream)
    : computing(stream), group(pair, stream.device), sends(pair.index == 0) {}

Status NcclLink::create(const GroupPlace &pair, CudaStream &stream,
                        std::unique_ptr<DeviceLink> &link) {
  bool shares = false;
  link.reset();
  SHARDC_RETURN_IF_ERROR(NcclGroup::sharesGpu(pair, stream.device, shares));
  if (shares)
    return Status::ok();
  std::unique_ptr<NcclLink> created(new NcclLink(pair, stream));
  SHARDC_RETURN_IF_ERROR(created->group.setDevice());
  SHARDC_RETURN_IF_ERROR(createCommunicationStream(created->stream));
  SHARDC_RETURN_IF_ERROR(created->connect(*pair.host));
  link = std::move(created);
  return Status::ok();
}

Status NcclLink::connect(Communicator &host) {
  SHARDC_RETURN_IF_ERROR(group.connect(host));
  return tryIt();
}

Status NcclLink::restart(Communicator &host) {
  finish();
  group.abort();
  count = 0;
  return connect(host);
}

/// The first value connects the two, for which NCCL needs both at once. Later
/// ones only need the other side at some time.
Status NcclLink::tryIt() {
  constexpr size_t kBytes = 256;
  constexpr int kPattern = 0x5a;
  std::byte *memory = nullptr;
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaMalloc(reinterpret_cast<void **>(&memory), kBytes), "cudaMalloc"));
  std::array<unsigned char, kBytes> arrived = {};
  Status status =
      cudaStatus(cudaMemsetAsync(memory, sends ? kPattern : 0, kBytes, stream),
                 "cudaMemsetAsync");
  if (status.isOk())
    status = group.settle(
        sends ? "ncclSend" : "ncclRecv",
        sends ? ncclSend(memory, kBytes, ncclUint8, 1, group.comm(), stream)
              : ncclRecv(memory, kBytes, ncclUint8, 0, group.comm(), stream));
  if (status.isOk())
    status = drain();
  if (status.isOk())
    status = cudaStatus(
        cudaMemcpy(arrived.data(), memory, kBytes, cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  cudaFree(memory);
  SHARDC_RETURN_IF_ERROR(status);
  return std::all_of(arrived.begin(), arrived.end(),
                     [](unsigned char c) { return c == kPattern; })
             ? Status::ok()
             : artifactError(computing.owner, "what came from ",
                             group.otherRanks(),
                             " is not what was sent; look at the devices and "
                             "their links");
}

Status NcclLink::drain() {
  SHARDC_RETURN_IF_ERROR(group.enter());
  PatientDeadline deadline(group.timeout(), group.progress());
  while (polled(cudaStreamQuery(stream)) == cudaErrorNotReady) {
    if (group.hasFailed())
      return Status::ok();
    Status status = group.asyncError();
    if (status.isOk() && deadline.hasPassed())
      status = artifactError(computing.owner, "nothing came to or from ",
                             group.otherRanks(), "; ",
                             waitText(group.timeout(), ""));
    if (!status.isOk()) {
      group.abort();
      return status;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return cudaStatus(polled(cudaStreamQuery(stream)),
                    "a transfer between stages");
}

NcclLink::~NcclLink() {
  finish();
  if (stream)
    cudaStreamDestroy(stream);
}

void NcclLink::finish() {
  cudaSetDevice(computing.device);
  if (!stream)
    return;
  if (polled(cudaStreamQuery(stream)) == cudaErrorNotReady)
    group.abort();
  computing.transfers().forget(group);
  cudaStreamSynchronize(stream);
}

std::unique_ptr<StageChannel> NcclLink::createChannel(StageChannel &host,
                                                      size_t slots) {
  return std::make_unique<NcclChannel>(*this, host, slots);
}

Status NcclLink::transfer(std::byte *slot, int64_t bytes, cudaEvent_t ready,
                          cudaEvent_t done, const CollectiveSite &site) {
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaStreamWaitEvent(stream, ready), "cudaStreamWaitEvent"));
  const auto size = static_cast<size_t>(bytes);
  SHARDC_RETURN_IF_ERROR(group.settle(
      sends ? "ncclSend" : "ncclRecv",
      sends ? ncclSend(slot, size, ncclUint8, 1, group.comm(), stream)
            : ncclRecv(slot, size, ncclUint8, 0, group.comm(), stream)));
  ++count;
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaEventRecord(done, stream), "cudaEventRecord"));
  return computing.transfers().add(group, site, stream);
}

} // namespace shardc::runtime
