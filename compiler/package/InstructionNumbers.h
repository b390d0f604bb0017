//===- InstructionNumbers.h - Which instruction is which ------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_INSTRUCTIONNUMBERS_H
#define SHARDC_COMPILER_PACKAGE_INSTRUCTIONNUMBERS_H

#include "dialects/rt/Rt.h"

namespace shardc::package {

/// Of a program's `run`: lifetimes count the instructions after rt.ready.
class InstructionNumbers {
public:
  explicit InstructionNumbers(rt::ProgramOp program);

  static bool isInstruction(mlir::Operation &op);
  uint32_t of(mlir::Operation *op) const { return numbers.lookup(op); }
  /// The last one, 0 where there is none.
  uint32_t last() const { return count ? count - 1 : 0; }

private:
  llvm::DenseMap<mlir::Operation *, uint32_t> numbers;
  uint32_t count = 0;
};

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_INSTRUCTIONNUMBERS_H
