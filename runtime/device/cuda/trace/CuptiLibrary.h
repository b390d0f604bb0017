//===- CuptiLibrary.h - The functions of CUPTI that are used --------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_TRACE_CUPTILIBRARY_H
#define SHARDC_RUNTIME_DEVICE_CUDA_TRACE_CUPTILIBRARY_H

#include <cupti.h>

namespace shardc::runtime {

/// Named as CUPTI names them, without the prefix.
struct CuptiLibrary {
  decltype(&cuptiGetVersion) getVersion;
  decltype(&cuptiGetTimestamp) getTimestamp;
  decltype(&cuptiActivityRegisterCallbacks) registerCallbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityFlushAll) flushAll;
  decltype(&cuptiActivityGetNextRecord) getNextRecord;
  decltype(&cuptiActivityPushExternalCorrelationId) pushId;
  decltype(&cuptiActivityPopExternalCorrelationId) popId;

  /// False if the library is not there, lacks one of these, or is not of the
  /// version whose records are known here.
  bool open();
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_TRACE_CUPTILIBRARY_H
