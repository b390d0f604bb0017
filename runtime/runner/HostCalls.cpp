#include "runtime/runner/HostCalls.h"

#include "runtime/base/Message.h"

namespace shardc::runtime {

Status HostCalls::run(const Kernel &kernel, const KernelCall &call) {
  const auto inputs = static_cast<size_t>(call.numInputs);
  const auto operands = inputs + static_cast<size_t>(call.numOutputs);
  while (copies.size() < operands)
    copies.emplace_back(device, stream);
  onHost.resize(operands);
  for (size_t i = 0; i < inputs; ++i) {
    onHost[i] = call.inputs[i];
    if (!onHost[i].isAbsent())
      SHARDC_RETURN_IF_ERROR(copies[i].fetch(call.inputs[i], onHost[i]));
  }
  for (size_t i = inputs; i < operands; ++i)
    SHARDC_RETURN_IF_ERROR(
        copies[i].prepare(call.outputs[i - inputs], onHost[i]));
  KernelCall hostCall = call;
  hostCall.inputs = onHost.data();
  hostCall.outputs = onHost.data() + inputs;
  hostCall.stream = nullptr;
  const int64_t bytes = kernel.scratchBytes ? kernel.scratchBytes(hostCall) : 0;
  if (scratch.size() < bytes && !scratch.allocate(bytes))
    return artifactError("out of memory for ", bytes, " bytes on the host");
  hostCall.scratch = scratch.data();
  SHARDC_RETURN_IF_ERROR(kernel.run(hostCall));
  for (size_t i = inputs; i < operands; ++i)
    SHARDC_RETURN_IF_ERROR(
        copies[i].store(onHost[i], call.outputs[i - inputs]));
  return Status::ok();
}

} // namespace shardc::runtime
