//===- Symbols.cpp - Symbolic dims as a tensor ----------------------------===//
//
// Where a model computes with its own shape (a Shape whose value is used as
// data), the integers that the host evaluated are written out in order.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Symbols";

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 0));
  const TensorView &out = call.outputs[0];
  const KernelAttribute *values = call.find("values");
  const int64_t count = values ? values->numInts : 0;
  if (count != out.numElements())
    return failure(kName, std::to_string(count) + " values for dims " +
                              dimsToString(out));
  return dispatch(IndexTypes(), out.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    int64_t next = 0;
    forEachIndex(nestOf(out), [&](const int64_t (&at)[1]) {
      out.as<T>()[at[0]] = T(values->ints[next++]);
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
