//===- CollectiveStream.h - What communicates beside what computes --------===//
//
// A rank's collectives are one CUDA stream, whatever their communicators: each
// starts behind the work that computes so far, and what computes next comes
// behind it, either at once or where its flight is awaited.
//
//   computing    MatMul a      MatMul b            wait 0   wait 1
//                       \             \          /        /
//   collectives          all_reduce a   all_reduce b
//                        flight 0       flight 1
//
// One stream for all communicators: two of NCCL's that run at the same time may
// wait for each other for ever.
//
// A graph has its own flights: what is in flight when it begins is awaited, and
// so is what it leaves in flight.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_COLLECTIVESTREAM_H
#define SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_COLLECTIVESTREAM_H

#include "runtime/base/Status.h"

#include <cuda_runtime_api.h>
#include <vector>

namespace shardc::runtime {

/// A stream that does not wait for the standard one, and whose work takes the
/// first multiprocessors that come free: a product has work for all of them.
Status createCommunicationStream(cudaStream_t &stream);

class CollectiveStream {
public:
  CollectiveStream() = default;
  CollectiveStream(const CollectiveStream &) = delete;
  /// All of its work is done.
  ~CollectiveStream();

  Status start();
  cudaStream_t stream() const { return handle; }

  /// What it gets next comes behind the work of `computing` so far.
  Status enter(cudaStream_t computing);
  /// What `computing` gets next comes behind its work so far; with a flight
  /// only once that is awaited.
  Status leave(cudaStream_t computing, int flight);
  /// Nothing where the flight was awaited with all others.
  Status wait(cudaStream_t computing, int flight);
  Status waitForAll(cudaStream_t computing);
  /// Whether it is done, which nobody has awaited yet.
  bool hasLanded(int flight) const;
  /// Flights that nobody has to wait for any more.
  void forgetAll();
  bool hasFlights() const { return numInFlight > 0; }

private:
  struct Flight {
    cudaEvent_t landed = nullptr; ///< made once, used again
    bool isUnderWay = false;
  };

  cudaStream_t handle = nullptr;
  cudaEvent_t before = nullptr, after = nullptr;
  std::vector<Flight> flights; ///< by number
  int numInFlight = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_COLLECTIVES_COLLECTIVESTREAM_H
