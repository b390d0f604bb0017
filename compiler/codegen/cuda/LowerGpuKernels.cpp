//===- LowerGpuKernels.cpp - From kernels to the llvm dialect -------------===//

#include "compiler/codegen/cuda/CudaKernels.h"

#include "compiler/codegen/rows/GpuRows.h"
#include "compiler/codegen/rows/LowerRows.h"

using namespace mlir;

namespace shardc::codegen {

FailureOr<OwningOpRef<ModuleOp>> lowerGpuKernels(ModuleOp module) {
  return lowerRows(module, emitGpuRows);
}

} // namespace shardc::codegen
