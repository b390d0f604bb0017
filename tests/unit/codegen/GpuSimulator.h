//===- GpuSimulator.h - The GPU form of kernels, on a CPU -----------------===//
//
// Runs what lowerGpuKernels makes, compiled for this machine, with device
// functions that play a GPU: the threads of a block take turns, a barrier ends
// a thread's turn until all have come to it, a shuffle until its warp has. So
// indexing, launch geometry, reductions across threads and what they share are
// tested without a GPU; only its scheduling and its instructions are not.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_UNIT_CODEGEN_GPUSIMULATOR_H
#define SHARDC_TESTS_UNIT_CODEGEN_GPUSIMULATOR_H

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::testing {

struct Launch {
  int blocks[3] = {1, 1, 1};
  int threads = 32; ///< of a block: whole warps
  size_t sharedBytes = 0;
};

class GpuSimulator {
public:
  /// `lowered`: of lowerGpuKernels. Fails the test that is running if it cannot
  /// be compiled.
  explicit GpuSimulator(mlir::ModuleOp lowered);
  ~GpuSimulator();

  /// Runs a kernel; each argument takes 8 bytes. "" or what went wrong: threads
  /// that wait for others which have ended, say.
  std::string run(const std::string &kernel, const Launch &launch,
                  const std::vector<uint64_t> &arguments);

private:
  struct Jit;
  std::unique_ptr<Jit> jit;
};

} // namespace shardc::testing

#endif // SHARDC_TESTS_UNIT_CODEGEN_GPUSIMULATOR_H
