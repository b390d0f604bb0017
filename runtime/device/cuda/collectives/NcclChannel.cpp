#include "runtime/device/cuda/collectives/NcclChannel.h"

#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/device/cuda/trace/NvtxRange.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {

NcclChannel::~NcclChannel() {
  link.finish();
  for (const Slot &slot : slots) {
    for (cudaEvent_t event : {slot.filled, slot.free})
      if (event)
        cudaEventDestroy(event);
    cudaFree(slot.memory);
  }
  for (std::byte *memory : outgrown)
    cudaFree(memory);
}

TensorView NcclChannel::viewOf(Word &word) {
  constexpr int64_t kBytes = sizeof word;
  return packedView(reinterpret_cast<std::byte *>(&word),
                    artifact::ElementType_UInt8, {&kBytes, 1});
}

Status NcclChannel::take(int64_t bytes, Slot *&slot) {
  slot = &slots[static_cast<size_t>(count++ % slots.size())];
  for (cudaEvent_t *event : {&slot->filled, &slot->free})
    if (!*event)
      SHARDC_RETURN_IF_ERROR(
          cudaStatus(cudaEventCreateWithFlags(event, cudaEventDisableTiming),
                     "cudaEventCreate"));
  if (bytes <= slot->bytes)
    return Status::ok();
  // At least twice as large: what was outgrown is less than what is used.
  bytes = std::max(bytes, 2 * slot->bytes);
  if (slot->memory)
    outgrown.push_back(slot->memory);
  slot->memory = nullptr;
  slot->bytes = 0;
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaMalloc(reinterpret_cast<void **>(&slot->memory),
                            static_cast<size_t>(bytes)),
                 "memory for what stages send"));
  slot->bytes = bytes;
  return Status::ok();
}

Status NcclChannel::send(const TensorView &from, RunFailure &failure,
                         const CollectiveSite &site) {
  const NvtxRange range(site);
  SHARDC_RETURN_IF_ERROR(link.pair().enter());
  Word word = {viewBytes(from), link.numTransfers()};
  if (word.bytes > 0) {
    const cudaStream_t computing = link.computingStream().stream();
    Slot *slot = nullptr;
    SHARDC_RETURN_IF_ERROR(take(word.bytes, slot));
    SHARDC_RETURN_IF_ERROR(cudaStatus(
        cudaStreamWaitEvent(computing, slot->free), "cudaStreamWaitEvent"));
    SHARDC_RETURN_IF_ERROR(
        cuda::copyStrided(packedLike(slot->memory, from), from, computing));
    SHARDC_RETURN_IF_ERROR(cudaStatus(cudaEventRecord(slot->filled, computing),
                                      "cudaEventRecord"));
    SHARDC_RETURN_IF_ERROR(link.transfer(slot->memory, word.bytes, slot->filled,
                                         slot->free, site));
  }
  return host.send(viewOf(word), failure, site);
}

Status NcclChannel::receive(const TensorView &to, RunFailure &failure,
                            const CollectiveSite &site) {
  const NvtxRange range(site);
  SHARDC_RETURN_IF_ERROR(link.pair().enter());
  Word word;
  SHARDC_RETURN_IF_ERROR(host.receive(viewOf(word), failure, site));
  SHARDC_RETURN_IF_ERROR(checkWord(word, viewBytes(to), site));
  if (word.bytes == 0)
    return Status::ok();
  const cudaStream_t computing = link.computingStream().stream();
  Slot *slot = nullptr;
  SHARDC_RETURN_IF_ERROR(take(word.bytes, slot));
  SHARDC_RETURN_IF_ERROR(
      link.transfer(slot->memory, word.bytes, slot->free, slot->filled, site));
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaStreamWaitEvent(computing, slot->filled), "cudaStreamWaitEvent"));
  SHARDC_RETURN_IF_ERROR(
      cuda::copyStrided(to, packedLike(slot->memory, to), computing));
  return cudaStatus(cudaEventRecord(slot->free, computing), "cudaEventRecord");
}

Status NcclChannel::checkWord(const Word &word, int64_t bytes,
                              const CollectiveSite &site) {
  if (word.number != link.numTransfers())
    return artifactError(site.kind, " at node '", site.node,
                         "': values of a run that failed are still under way "
                         "from ",
                         link.pair().otherRanks());
  if (word.bytes != bytes)
    return artifactError(site.kind, " at node '", site.node, "': expected ",
                         bytes, " bytes from ", link.pair().otherRanks(),
                         ", found ", word.bytes);
  return Status::ok();
}

} // namespace shardc::runtime
