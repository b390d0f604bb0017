#include "runtime/device/cuda/collectives/PendingCollectives.h"

#include "runtime/collectives/WaitText.h"
#include "runtime/device/cuda/CudaStatus.h"
#include "runtime/device/cuda/StreamState.h"

#include <algorithm>

namespace shardc::runtime {

PendingCollectives::~PendingCollectives() {
  clear();
  for (cudaEvent_t event : spare)
    cudaEventDestroy(event);
}

Status PendingCollectives::takeEvent(cudaEvent_t &event) {
  if (spare.empty())
    return cudaStatus(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                      "cudaEventCreate");
  event = spare.back();
  spare.pop_back();
  return Status::ok();
}

Status PendingCollectives::add(WatchedCommunicator &by,
                               const CollectiveSite &site,
                               cudaStream_t stream) {
  if (capturing)
    return capturing->add(by, site, stream);
  cudaEvent_t event = nullptr;
  SHARDC_RETURN_IF_ERROR(takeEvent(event));
  pending.push_back({&by, site, event});
  return cudaStatus(cudaEventRecord(event, stream), "cudaEventRecord");
}

void PendingCollectives::addAll(CapturedCollectives &graph) {
  if (graph.entries().empty())
    return;
  graph.counted()->restart();
  unsigned number = 0;
  for (const CapturedCollectives::Entry &entry : graph.entries())
    pending.push_back(
        {entry.by, entry.site, nullptr, graph.counted(), ++number});
}

bool PendingCollectives::isPending(const CapturedCollectives &graph) const {
  return std::any_of(pending.begin(), pending.end(), [&](const Entry &entry) {
    return entry.count && entry.count == graph.counted();
  });
}

void PendingCollectives::clear() {
  for (const Entry &entry : pending)
    reuse(entry);
  pending.clear();
}

void PendingCollectives::forgetDone() {
  size_t done = 0;
  while (done < pending.size() && pending[done].query() == cudaSuccess)
    reuse(pending[done++]);
  pending.erase(pending.begin(),
                pending.begin() + static_cast<std::ptrdiff_t>(done));
}

cudaError_t PendingCollectives::Entry::query() const {
  if (event)
    return polled(cudaEventQuery(event));
  return count->numDone() >= number ? cudaSuccess : cudaErrorNotReady;
}

Status PendingCollectives::fail(const Entry &entry, const std::string &what) {
  Status status =
      artifactError(entry.site.kind, " at node '", entry.site.node,
                    "' (instruction ", entry.site.instruction, ") ", what);
  abortAll();
  return status;
}

void PendingCollectives::abortAll() {
  std::vector<WatchedCommunicator *> all;
  for (const Entry &entry : pending)
    if (std::find(all.begin(), all.end(), entry.by) == all.end())
      all.push_back(entry.by);
  for (WatchedCommunicator *communicator : all)
    communicator->abort();
  clear();
}

PatientDeadline PendingCollectives::startWait() {
  failedSince.reset();
  static const std::function<uint64_t()> nobody;
  return pending.empty() ? PatientDeadline(std::chrono::milliseconds(0), nobody)
                         : PatientDeadline(pending.front().by->timeout(),
                                           pending.front().by->progress());
}

Status PendingCollectives::check(PatientDeadline &deadline) {
  size_t done = 0;
  while (done < pending.size()) {
    const cudaError_t error = pending[done].query();
    if (error == cudaErrorNotReady)
      break;
    if (error != cudaSuccess)
      return fail(pending[done],
                  message("failed: ", cudaGetErrorString(error)));
    reuse(pending[done++]);
  }
  if (done > 0) {
    deadline.restart();
    failedSince.reset();
  }
  pending.erase(pending.begin(),
                pending.begin() + static_cast<std::ptrdiff_t>(done));
  if (pending.empty())
    return Status::ok();
  const Entry &first = pending.front();
  if (Status status = first.by->asyncError(); !status.isOk())
    return fail(first, message("failed: ", status.message()));
  // What others have begun may still end: soon, or never.
  constexpr std::chrono::seconds kGrace{1};
  const auto now = std::chrono::steady_clock::now();
  if (first.by->hasFailed() && !failedSince)
    failedSince = now;
  if (failedSince && now - *failedSince > kGrace)
    return fail(first, "was given up, since another rank has failed");
  if (deadline.hasPassed())
    return fail(first,
                waitText(first.by->timeout(), "; not all of these have come: " +
                                                  first.by->otherRanks()));
  return Status::ok();
}

void PendingCollectives::forget(const WatchedCommunicator &communicator) {
  std::erase_if(pending, [&](const Entry &entry) {
    if (entry.by == &communicator)
      reuse(entry);
    return entry.by == &communicator;
  });
}

} // namespace shardc::runtime
