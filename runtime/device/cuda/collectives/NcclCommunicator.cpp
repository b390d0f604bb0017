#include "runtime/device/cuda/collectives/NcclCommunicator.h"

#include "runtime/device/cuda/StreamState.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"

#include <utility>

namespace shardc::runtime {

NcclCommunicator::NcclCommunicator(const GroupPlace &place, CudaStream &stream)
    : host(*place.host), computing(stream), group(place, stream.device),
      stream(computing.collectiveStream().stream()),
      toPeer(place.members.size()), fromPeer(place.members.size()) {}

Status NcclCommunicator::create(const GroupPlace &place, CudaStream &stream,
                                std::unique_ptr<Communicator> &communicator) {
  bool shares = false;
  SHARDC_RETURN_IF_ERROR(NcclGroup::sharesGpu(place, stream.device, shares));
  communicator.reset();
  if (shares)
    return Status::ok(); // by way of the host
  std::unique_ptr<NcclCommunicator> created(
      new NcclCommunicator(place, stream));
  SHARDC_RETURN_IF_ERROR(created->group.connect(*place.host));
  communicator = std::move(created);
  return Status::ok();
}

NcclCommunicator::~NcclCommunicator() {
  cudaSetDevice(computing.device);
  // What nobody waited for after an error may wait for ranks that never come.
  if (polled(cudaStreamQuery(stream)) == cudaErrorNotReady) {
    computing.collectives().abortAll();
    group.abort();
  }
  computing.collectives().forget(group);
  cudaStreamSynchronize(stream);
  if (group.comm())
    for (const Registered &each : {ofSlots, ofOperands})
      if (each.handle)
        ncclCommDeregister(group.comm(), each.handle);
  group.close(); // it may still know the slots
  cudaFree(slots);
}

Status NcclCommunicator::registerMemory(std::byte *memory, int64_t bytes,
                                        Registered &with) {
  with = {memory, nullptr};
  if (!group.comm() || bytes == 0)
    return Status::ok();
  const ncclResult_t done = ncclCommRegister(
      group.comm(), memory, static_cast<size_t>(bytes), &with.handle);
  if (!group.settle("ncclCommRegister", done).isOk())
    with.handle = nullptr;
  return Status::ok();
}

Status NcclCommunicator::deregister(Registered &with) {
  void *handle = std::exchange(with, {}).handle;
  if (!handle || !group.comm())
    return Status::ok();
  return group.settle("ncclCommDeregister",
                      ncclCommDeregister(group.comm(), handle));
}

Status NcclCommunicator::useMemory(std::byte *memory, int64_t bytes) {
  if (memory == ofOperands.memory)
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaSetDevice(computing.device), "cudaSetDevice"));
  SHARDC_RETURN_IF_ERROR(deregister(ofOperands));
  return memory ? registerMemory(memory, bytes, ofOperands) : Status::ok();
}

Status NcclCommunicator::enter() {
  SHARDC_RETURN_IF_ERROR(group.enter());
  return computing.collectiveStream().enter(computing.stream());
}

Status NcclCommunicator::leave(const CollectiveSite &site) {
  SHARDC_RETURN_IF_ERROR(
      computing.collectiveStream().leave(computing.stream(), site.flight));
  // What computes does not wait for what is noted here.
  return computing.collectives().add(group, site, stream);
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
  SHARDC_RETURN_IF_ERROR(deregister(ofSlots));
  cudaFree(slots);
  slots = nullptr;
  slotBytes = 0;
  void *memory = nullptr;
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaMalloc(&memory, static_cast<size_t>(bytes)),
                 "memory for a collective's parts"));
  slots = static_cast<std::byte *>(memory);
  slotBytes = bytes;
  return registerMemory(slots, bytes, ofSlots);
}

Status NcclCommunicator::copy(const TensorView &to, const TensorView &from) {
  return cuda::copyStrided(to, from, stream);
}

} // namespace shardc::runtime
