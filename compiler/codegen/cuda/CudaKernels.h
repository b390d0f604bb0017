//===- CudaKernels.h - A module's kernels for NVIDIA GPUs -----------------===//
//
// The same kernels as HostKernels.h makes, in their GPU form: a block of
// threads takes a row together, or, where columns do not mix, the threads of
// all blocks share the columns out. Which kernels, operands and sizes there are
// is alike, so a runtime calls both alike.
//
//   void f(operands...,       pointers: inputs, then outputs
//          i64 columns,
//          i64 rows[3],       extents, fastest first; below 2^31 in all
//          i64 strides[][3],  of each operand: elements from row to row
//          ptr scratch,       a row of slots for each block; null: they are in
//                             shared memory, behind what reductions need
//          i64 slotFloats)    of one slot: columns, rounded up to 8, and 8
//                             more, since vectors begin anywhere in a row
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_CUDA_CUDAKERNELS_H
#define SHARDC_COMPILER_CODEGEN_CUDA_CUDAKERNELS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace shardc::codegen {

/// What a kernel takes of a multiprocessor.
struct KernelResources {
  std::string name;
  int64_t registers = 0;    ///< of each thread
  int64_t spilledBytes = 0; ///< stores and loads of registers that were missing
  int64_t sharedBytes = 0;  ///< before what a launch adds
};

/// Kernels for one architecture, or for all newer ones.
struct CudaImage {
  std::string file; ///< "sm_90.cubin", "compute_80.ptx"
  std::string bytes;
  std::vector<KernelResources> resources; ///< of a cubin
};

/// Cubins for the architectures in use, and PTX for those to come; none for a
/// module without kernels. Without ptxas PTX alone, and a warning.
mlir::FailureOr<std::vector<CudaImage>>
generateCudaKernels(mlir::ModuleOp module);

//===--- Its parts --------------------------------------------------------===//

/// The kernels as a module of the llvm dialect that calls device functions.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerGpuKernels(mlir::ModuleOp module);

/// PTX for an architecture ("sm_90"); "" where LLVM cannot make it, and then
/// why. Newer GPUs run it, too.
std::string compilePtx(mlir::ModuleOp lowered, llvm::StringRef architecture,
                       std::string &why);

/// Where ptxas is: under CUDA_PATH or CUDA_HOME, on PATH, or where it was when
/// this was built. "" if nowhere.
std::string findPtxas();

/// The cubin, and what ptxas said of its kernels; "" where ptxas is missing or
/// refuses, and then why.
std::string assemblePtx(llvm::StringRef ptx, llvm::StringRef architecture,
                        std::string &log, std::string &why);

/// Of what `ptxas -v` says.
std::vector<KernelResources> parseResources(llvm::StringRef log);

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_CUDA_CUDAKERNELS_H
