//===- MatMulFloat8.cpp - Product of two operands of eight bits of float --===//
//
// The reference: both become numbers, A at once and B a panel at a time.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/product/Float8Operands.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "MatMulFloat8";

Status run(const KernelCall &call) {
  Float8Operands operands;
  SHARDC_RETURN_IF_ERROR(operands.read(call, kName));
  return operands.c.numElements() == 0
             ? Status::ok()
             : multiplyNumbers(call, operands, findHostKernel);
}

int64_t scratchBytes(const KernelCall &call) {
  Float8Operands operands;
  return operands.read(call, kName).isOk() // run reports what that finds
             ? numbersScratchBytes(call, operands, findHostKernel)
             : 0;
}

const HostKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::host
