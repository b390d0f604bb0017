//===- GpuRows.h - A kernel's rows on the threads of a GPU ----------------===//
//
// The launch decides how many blocks and threads there are; any number gives
// the same, but for the order of sums.
//
//   columns mix (a norm)     block x of n takes the rows x, x + n, ...; thread
//   t
//                            of n the vectors t, t + n, ... of their columns.
//                            Sums go from threads to warps by shuffles, from
//                            warps to the block by shared memory.
//   they do not (SiLU * up)  the threads of all blocks x share out the columns
//                            of row y: a single long row fills a GPU. Of short
//                            ones a block takes several: 128 columns of halves
//                            keep 16 threads busy.
//
// A vector is 16 bytes of the narrowest operand, 8 elements at most. Where
// vectors of a row begin depends on its address: of 20 floats, the first one
// 8 bytes behind a multiple of 16, 2 go one by one, 4 vectors follow, then 2
// more. Where operands differ in that, all of the row does.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_ROWS_GPUROWS_H
#define SHARDC_COMPILER_CODEGEN_ROWS_GPUROWS_H

#include "dialects/rt/Rt.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc::codegen {

/// Adds the kernel's function (CudaKernels.h) to `module`, with calls of device
/// functions, which it declares.
void emitGpuRows(rt::KernelOp kernel, mlir::ModuleOp module);

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_ROWS_GPUROWS_H
