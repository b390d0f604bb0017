#include "runtime/device/cuda/CudaStream.h"

#include "runtime/device/cuda/StreamState.h"
#include "runtime/device/cuda/trace/NvtxRange.h"

#include <atomic>
#include <thread>
#include <utility>

namespace shardc::runtime {

CudaEvent::~CudaEvent() {
  cudaSetDevice(device);
  cudaEventDestroy(event);
}

Status CudaEvent::synchronize() {
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  return cudaStatus(cudaEventSynchronize(event), "cudaEventSynchronize");
}

Status CudaStream::create(int device, std::unique_ptr<DeviceStream> &stream) {
  std::unique_ptr<CudaStream> created(new CudaStream(device));
  SHARDC_RETURN_IF_ERROR(created->start());
  stream = std::move(created);
  return Status::ok();
}

Status CudaStream::start() {
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking),
                 "cudaStreamCreate"));
  SHARDC_RETURN_IF_ERROR(beside.start());
  attentions.setStream(device, handle);
  SHARDC_RETURN_IF_ERROR(products.open(device));
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaMalloc(reinterpret_cast<void **>(&deviceFault), sizeof(unsigned)),
      "cudaMalloc"));
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaMallocHost(reinterpret_cast<void **>(&hostFault), sizeof(unsigned)),
      "cudaMallocHost"));
  *hostFault = 0;
  return clearFault();
}

/// In this stream: the standard one is not waited for.
Status CudaStream::clearFault() {
  return cudaStatus(cudaMemsetAsync(deviceFault, 0, sizeof(unsigned), handle),
                    "cudaMemsetAsync");
}

CudaStream::~CudaStream() {
  cudaSetDevice(device);
  (void)synchronize();
  attentions.setEngine(nullptr); // it knows the stream
  cudaFree(deviceFault);
  cudaFreeHost(hostFault);
  if (handle)
    cudaStreamDestroy(handle);
}

static cudaMemcpyKind kindOf(CopyDirection direction) {
  switch (direction) {
  case CopyDirection::HostToDevice:
    return cudaMemcpyHostToDevice;
  case CopyDirection::DeviceToHost:
    return cudaMemcpyDeviceToHost;
  case CopyDirection::DeviceToDevice:
    break;
  }
  return cudaMemcpyDeviceToDevice;
}

Status CudaStream::copy(std::byte *to, const std::byte *from,
                        const CopyShape &shape, CopyDirection direction) {
  if (shape.rowBytes <= 0 || shape.rows <= 0)
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  const auto bytes = static_cast<size_t>(shape.rowBytes);
  if (shape.rows == 1)
    return cudaStatus(
        cudaMemcpyAsync(to, from, bytes, kindOf(direction), handle),
        "cudaMemcpyAsync");
  return cudaStatus(cudaMemcpy2DAsync(to, static_cast<size_t>(shape.toPitch),
                                      from,
                                      static_cast<size_t>(shape.fromPitch),
                                      bytes, static_cast<size_t>(shape.rows),
                                      kindOf(direction), handle),
                    "cudaMemcpy2DAsync");
}

Status CudaStream::launch(const Kernel &kernel, const KernelCall &call,
                          const CollectiveSite &site) {
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  atHand = site;
  const NvtxRange range(site);
  KernelCall onThis = call;
  onThis.stream = this;
  if (!capturing)
    return kernel.run(onThis);
  capturing->launches.begin(handle);
  SHARDC_RETURN_IF_ERROR(kernel.run(onThis));
  capturing->launches.end(handle, site.instruction);
  return Status::ok();
}

Status CudaStream::record(DeviceEvent &event) {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  return cudaStatus(
      cudaEventRecord(static_cast<CudaEvent &>(event).event, handle),
      "cudaEventRecord");
}

Status CudaStream::wait(const DeviceEvent &event) {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  return cudaStatus(
      cudaStreamWaitEvent(handle, static_cast<const CudaEvent &>(event).event),
      "cudaStreamWaitEvent");
}

/// Its own stream is one that the legacy default one does not wait for.
Status CudaStream::waitForOthers(int other) {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(other), "cudaSetDevice"));
  std::unique_ptr<CudaEvent> &event = ofOthers[other];
  if (!event) {
    cudaEvent_t made = nullptr;
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaEventCreateWithFlags(&made, cudaEventDisableTiming),
                   "cudaEventCreate"));
    event = std::make_unique<CudaEvent>(other, made);
  }
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaEventRecord(event->event, cudaStreamLegacy), "cudaEventRecord"));
  return wait(*event);
}

unsigned CudaStream::mayFail(const char *problem, StatusCode code) {
  mayHaveFailed = true;
  return sites.numberOf(atHand, problem, code);
}

/// The first launch whose data were wrong, once the stream is done.
Status CudaStream::readFault() {
  mayHaveFailed = false;
  const FaultSites::Site *site = sites.find(*hostFault);
  if (!site)
    return Status::ok();
  *hostFault = 0;
  SHARDC_RETURN_IF_ERROR(clearFault());
  return Status::error(site->code,
                       message(owner, site->kind, " at node '", site->node,
                               "' (instruction ", site->instruction,
                               "): ", site->problem),
                       {.instruction = site->instruction,
                        .kernel = site->kind,
                        .node = site->node});
}

/// A collective may never end: then the wait is this side's to give up.
Status CudaStream::watchCollectives() {
  PatientDeadline deadline = pending.startWait();
  PatientDeadline ofTransfers = underWay.startWait();
  const auto spinUntil =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (!pending.empty() || !underWay.empty()) {
    const cudaError_t error = polled(cudaStreamQuery(handle));
    Status status = pending.check(deadline);
    if (status.isOk() && error == cudaErrorNotReady)
      status = underWay.check(ofTransfers);
    if (!status.isOk()) { // the stream may wait for both
      pending.abortAll();
      underWay.abortAll();
      return status;
    }
    if (error != cudaErrorNotReady)
      break;
    if (std::chrono::steady_clock::now() > spinUntil)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return Status::ok();
}

Status CudaStream::synchronize() {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  if (mayHaveFailed)
    SHARDC_RETURN_IF_ERROR(
        cudaStatus(cudaMemcpyAsync(hostFault, deviceFault, sizeof(unsigned),
                                   cudaMemcpyDeviceToHost, handle),
                   "cudaMemcpyAsync"));
  const Status watched = watchCollectives();
  // Collectives that were given up have ended, too: memory may go after this.
  const cudaError_t error = cudaStreamSynchronize(handle);
  // What is in flight goes on, and may still be the one that never ends.
  if (error == cudaSuccess && beside.hasFlights())
    pending.forgetDone();
  else
    pending.clear();
  underWay.forgetDone();
  products.save();
  if (error == cudaSuccess)
    attentions.onIdle();
  const Status status =
      error == cudaSuccess
          ? readFault()
          : cudaStatus(error, (owner + "the GPU's work failed").c_str());
  return watched.isOk() ? status : watched;
}

/// Each stream has ids of its own.
static constexpr uint64_t kTags = uint64_t{1} << 48;

bool CudaStream::startTrace() {
  static std::atomic<uint64_t> traced{0};
  if (!trace && (trace = CuptiTrace::start()))
    firstTag = ++traced * kTags;
  return trace != nullptr;
}

void CudaStream::beginTag(uint64_t tag) {
  if (trace)
    trace->push(firstTag + tag);
}

void CudaStream::endTag() {
  if (trace)
    trace->pop();
}

Status CudaStream::takeActivities(std::vector<DeviceActivity> &activities) {
  return trace ? trace->take(firstTag, kTags, activities) : Status::ok();
}

Status CudaStream::refuseInCapture() {
  if (!capturing)
    return Status::ok();
  isBroken = true;
  return artifactError(owner,
                       "a stream that is captured has no events and no waits");
}

Status CudaStream::startCapture(std::unique_ptr<CudaGraph> graph) {
  // Other ranks' threads may allocate meanwhile, this one may not.
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaStreamBeginCapture(handle, cudaStreamCaptureModeThreadLocal),
      "cudaStreamBeginCapture"));
  capturing = std::move(graph);
  isBroken = false;
  pending.captureInto(&capturing->collectives);
  return Status::ok();
}

/// What was captured, if all of it was.
Status CudaStream::finishCapture(std::unique_ptr<CudaGraph> &graph) {
  if (!capturing)
    return artifactError(owner, "nothing is captured");
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  std::unique_ptr<CudaGraph> ended = std::move(capturing);
  pending.captureInto(nullptr);
  if (!std::exchange(updated, nullptr))
    beside.forgetAll();
  Status status = ended->collectives.joinTo(handle);
  cudaGraph_t nodes = nullptr;
  const cudaError_t error = cudaStreamEndCapture(handle, &nodes);
  ended->own(nodes);
  if (isBroken)
    status = artifactError(owner, "the capture was broken off");
  if (status.isOk())
    status = cudaStatus(error, "cudaStreamEndCapture");
  if (status.isOk())
    graph = std::move(ended);
  else
    (void)cudaGetLastError(); // no error of the launches that follow
  return status;
}

Status CudaStream::beginCapture() {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  SHARDC_RETURN_IF_ERROR(beside.waitForAll(handle));
  auto graph = std::make_unique<CudaGraph>(device);
  SHARDC_RETURN_IF_ERROR(graph->collectives.open());
  return startCapture(std::move(graph));
}

Status CudaStream::endCapture(std::unique_ptr<DeviceGraph> &graph) {
  graph.reset();
  std::unique_ptr<CudaGraph> ended;
  SHARDC_RETURN_IF_ERROR(finishCapture(ended));
  if (Status status = ended->instantiate(); !status.isOk()) {
    (void)cudaGetLastError();
    return status;
  }
  graph = std::move(ended);
  return Status::ok();
}

void CudaStream::keepCaptured(std::shared_ptr<const void> used) {
  if (capturing)
    capturing->keep(std::move(used));
}

/// Its collectives are not opened: those of a graph stay as they are.
Status CudaStream::beginUpdate(DeviceGraph &graph) {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  SHARDC_RETURN_IF_ERROR(startCapture(std::make_unique<CudaGraph>(device)));
  updated = static_cast<CudaGraph *>(&graph);
  return Status::ok();
}

Status CudaStream::endUpdate() {
  CudaGraph *graph = updated;
  std::unique_ptr<CudaGraph> changed;
  SHARDC_RETURN_IF_ERROR(finishCapture(changed));
  if (!graph)
    return artifactError(owner, "a capture is no update");
  const Status status = graph->update(*changed);
  if (!status.isOk())
    (void)cudaGetLastError();
  return status;
}

Status CudaStream::run(DeviceGraph &graph) {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  SHARDC_RETURN_IF_ERROR(cudaStatus(cudaSetDevice(device), "cudaSetDevice"));
  auto &mine = static_cast<CudaGraph &>(graph);
  if (pending.isPending(mine.collectives)) // it counts one run at a time
    SHARDC_RETURN_IF_ERROR(synchronize());
  SHARDC_RETURN_IF_ERROR(beside.waitForAll(handle));
  pending.addAll(mine.collectives);
  mayHaveFailed = true;
  return mine.launch(handle);
}

} // namespace shardc::runtime
