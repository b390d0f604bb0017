//===- CuptiTrace.h - What GPUs did, as CUPTI has it ----------------------===//
//
// CUPTI notes kernels and copies of all GPUs of a process, with their times.
// What an instruction enqueues stands under an id of its own, which CUPTI
// correlates with what comes of it ("external correlation").
//
// The library is opened when somebody asks: nothing else needs it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_TRACE_CUPTITRACE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_TRACE_CUPTITRACE_H

#include "runtime/device/Backend.h"

#include <vector>

namespace shardc::runtime {

class CuptiTrace {
public:
  virtual ~CuptiTrace() = default;

  /// The process's, which notes all from now on; null: there is no CUPTI, or
  /// one that does not fit. Tried once.
  static CuptiTrace *start();

  /// Of the thread that calls; they nest.
  virtual void push(uint64_t id) = 0;
  virtual void pop() = 0;

  /// Takes what has one of these ids, which become tags from 0. All work of the
  /// process is over.
  virtual Status take(uint64_t firstId, uint64_t count,
                      std::vector<DeviceActivity> &activities) = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_TRACE_CUPTITRACE_H
