//===- Once.cpp - A summand that one rank of a partial group adds ---------===//
//
// Copies its input where `present` is 1 and writes zeros elsewhere, so that a
// replicated bias enters a partial sum exactly once.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Check.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Once";

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  const bool isPresent = call.intOr("present", 1) != 0;
  const StridedCopy write = isPresent ? StridedCopy(out, x) : StridedCopy(out);
  write(out.data, isPresent ? x.data : kZeroElement);
  return Status::ok();
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
