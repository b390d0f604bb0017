#include "runtime/device/cuda/collectives/CollectiveStream.h"

#include "runtime/device/cuda/CudaStatus.h"
#include "runtime/device/cuda/StreamState.h"

namespace shardc::runtime {

static Status createEvent(cudaEvent_t &event) {
  return cudaStatus(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                    "cudaEventCreate");
}

/// What `later` gets next comes behind the work of `earlier` so far.
static Status order(cudaStream_t earlier, cudaEvent_t event,
                    cudaStream_t later) {
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaEventRecord(event, earlier), "cudaEventRecord"));
  return cudaStatus(cudaStreamWaitEvent(later, event), "cudaStreamWaitEvent");
}

Status createCommunicationStream(cudaStream_t &stream) {
  int least = 0, greatest = 0;
  SHARDC_RETURN_IF_ERROR(
      cudaStatus(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                 "cudaDeviceGetStreamPriorityRange"));
  return cudaStatus(
      cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest),
      "cudaStreamCreate");
}

Status CollectiveStream::start() {
  SHARDC_RETURN_IF_ERROR(createCommunicationStream(handle));
  SHARDC_RETURN_IF_ERROR(createEvent(before));
  return createEvent(after);
}

CollectiveStream::~CollectiveStream() {
  for (const Flight &flight : flights)
    if (flight.landed)
      cudaEventDestroy(flight.landed);
  for (cudaEvent_t event : {before, after})
    if (event)
      cudaEventDestroy(event);
  if (handle)
    cudaStreamDestroy(handle);
}

Status CollectiveStream::enter(cudaStream_t computing) {
  return order(computing, before, handle);
}

Status CollectiveStream::leave(cudaStream_t computing, int number) {
  if (number < 0)
    return order(handle, after, computing);
  const auto index = static_cast<size_t>(number);
  if (flights.size() <= index)
    flights.resize(index + 1); // in the first run only
  Flight &flight = flights[index];
  if (!flight.landed)
    SHARDC_RETURN_IF_ERROR(createEvent(flight.landed));
  numInFlight += flight.isUnderWay ? 0 : 1;
  flight.isUnderWay = true;
  return cudaStatus(cudaEventRecord(flight.landed, handle), "cudaEventRecord");
}

Status CollectiveStream::wait(cudaStream_t computing, int number) {
  const auto index = static_cast<size_t>(number);
  if (index >= flights.size() || !flights[index].isUnderWay)
    return Status::ok();
  flights[index].isUnderWay = false;
  --numInFlight;
  return cudaStatus(cudaStreamWaitEvent(computing, flights[index].landed),
                    "cudaStreamWaitEvent");
}

Status CollectiveStream::waitForAll(cudaStream_t computing) {
  if (!hasFlights())
    return Status::ok();
  forgetAll();
  return order(handle, after, computing);
}

bool CollectiveStream::hasLanded(int flight) const {
  const auto index = static_cast<size_t>(flight);
  return index >= flights.size() || !flights[index].isUnderWay ||
         polled(cudaEventQuery(flights[index].landed)) != cudaErrorNotReady;
}

void CollectiveStream::forgetAll() {
  for (Flight &flight : flights)
    flight.isUnderWay = false;
  numInFlight = 0;
}

} // namespace shardc::runtime
