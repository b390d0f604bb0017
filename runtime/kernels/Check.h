//===- Check.h - What kernels verify about their calls --------------------===//
//
// The compiler guarantees shapes, but an artifact is never trusted: what would
// make a kernel read or write outside its views is checked here once per call.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_CHECK_H
#define SHARDC_RUNTIME_KERNELS_CHECK_H

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Status.h"
#include "runtime/kernels/Kernel.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace shardc::runtime::host {

inline Status failure(std::string_view kernel, const std::string &what) {
  return Status::error(StatusCode::Artifact, std::string(kernel) + ": " + what);
}

/// Whether the optional input was given.
inline bool hasInput(const KernelCall &call, int index) {
  return index < call.numInputs && !call.inputs[index].isAbsent();
}
inline bool hasOutput(const KernelCall &call, int index) {
  return index < call.numOutputs && !call.outputs[index].isAbsent();
}

/// The first `inputs` inputs and `outputs` outputs are there.
inline Status expectOperands(const KernelCall &call, std::string_view kernel,
                             int inputs, int outputs = 1) {
  for (int i = 0; i < inputs; ++i)
    if (!hasInput(call, i))
      return failure(kernel, "input " + std::to_string(i) + " is missing");
  for (int i = 0; i < outputs; ++i)
    if (!hasOutput(call, i))
      return failure(kernel, "output " + std::to_string(i) + " is missing");
  return Status::ok();
}

inline std::string dimsToString(const TensorView &view) {
  std::string text = "[";
  for (int d = 0; d < view.rank; ++d)
    text += (d ? ", " : "") + std::to_string(view.dims[d]);
  return text + "]";
}

inline bool sameDims(const TensorView &a, const TensorView &b) {
  if (a.rank != b.rank)
    return false;
  for (int d = 0; d < a.rank; ++d)
    if (a.dims[d] != b.dims[d])
      return false;
  return true;
}

inline Status expectDims(std::string_view kernel, const TensorView &expected,
                         const TensorView &found) {
  if (sameDims(expected, found))
    return Status::ok();
  return failure(kernel, "expected dims " + dimsToString(expected) +
                             ", found " + dimsToString(found));
}

inline Status expectElement(std::string_view kernel,
                            artifact::ElementType expected,
                            const TensorView &found) {
  if (found.element == expected)
    return Status::ok();
  return failure(kernel, std::string("expected element type ") +
                             artifact::elementName(expected) + ", found " +
                             artifact::elementName(found.element));
}

/// Same dims and element type.
inline Status expectLike(std::string_view kernel, const TensorView &expected,
                         const TensorView &found) {
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, expected, found));
  return expectElement(kernel, expected.element, found);
}

/// The first `inputs` inputs are there, and like the output.
inline Status expectAlike(const KernelCall &call, std::string_view kernel,
                          int inputs) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, inputs));
  for (int i = 0; i < inputs; ++i)
    SHARDC_RETURN_IF_ERROR(expectLike(kernel, call.outputs[0], call.inputs[i]));
  return Status::ok();
}

/// The first `inputs` inputs are there and alike; the output has bools of their
/// dims.
inline Status expectBools(const KernelCall &call, std::string_view kernel,
                          int inputs) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, inputs));
  SHARDC_RETURN_IF_ERROR(expectDims(kernel, call.outputs[0], call.inputs[0]));
  for (int i = 1; i < inputs; ++i)
    SHARDC_RETURN_IF_ERROR(expectLike(kernel, call.inputs[0], call.inputs[i]));
  return expectElement(kernel, artifact::ElementType_Bool, call.outputs[0]);
}

/// Reads the int attribute `axis` into `axis` and checks it against `rank`.
inline Status readAxis(const KernelCall &call, std::string_view kernel,
                       int rank, int &axis) {
  const int64_t value = call.intOr("axis", -1);
  if (value < 0 || value >= rank)
    return failure(kernel, "axis " + std::to_string(value) +
                               " is outside of rank " + std::to_string(rank));
  axis = static_cast<int>(value);
  return Status::ok();
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_CHECK_H
