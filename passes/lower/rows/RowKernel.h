//===- RowKernel.h - From a group of calls to a kernel --------------------===//
#ifndef SHARDC_PASSES_LOWER_ROWS_ROWKERNEL_H
#define SHARDC_PASSES_LOWER_ROWS_ROWKERNEL_H

#include "passes/lower/rows/RowCall.h"

namespace shardc::lower {

/// The kernels of a module, each body once. They are named for what they
/// compute and the hash of their body: rows_Swish_Mul_1f6b0c3a5d2e.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : module(module) {}

  /// Adds `kernel`, or erases it in favour of an equal one; its name.
  mlir::StringAttr add(rt::KernelOp kernel, llvm::StringRef what);
  size_t size() const { return byBody.size(); }

  mlir::ModuleOp module;

private:
  llvm::StringMap<mlir::StringAttr> byBody;
};

/// Where the ops of a program stood: kernels are put in and calls taken out all
/// the time, and MLIR would number all ops anew after each change.
class Places {
public:
  explicit Places(mlir::Block &block) {
    for (mlir::Operation &op : block) {
      numbers[&op] = numbers.size();
      if (auto free = llvm::dyn_cast<rt::FreeOp>(op))
        frees[free.getBuffer()] = free;
    }
  }

  /// What frees a buffer, or null.
  mlir::Operation *freeOf(mlir::Value buffer) const {
    return frees.lookup(buffer);
  }

  bool isBefore(mlir::Operation *op, mlir::Operation *other) const {
    return numbers.lookup(op) < numbers.lookup(other);
  }
  /// `op` stands where `other` did.
  void put(mlir::Operation *op, mlir::Operation *other) {
    numbers[op] = numbers.lookup(other);
  }

private:
  llvm::DenseMap<mlir::Operation *, size_t> numbers;
  llvm::DenseMap<mlir::Value, mlir::Operation *> frees;
};

/// The nodes of these calls, the first ones by name.
mlir::Location nodesOf(llvm::ArrayRef<rt::CallOp> calls);

/// Replaces the members, in program order, by a call of one kernel where the
/// last one stands. Temporaries that nobody else reads are gone.
void replaceByKernel(llvm::ArrayRef<RowCall *> members, KernelTable &kernels,
                     Places &places);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_ROWS_ROWKERNEL_H
