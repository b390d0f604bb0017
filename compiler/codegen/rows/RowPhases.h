//===- RowPhases.h - In which order a row's kernel is computed ------------===//
//
// A reduction is known only when all columns were seen, so a kernel is computed
// in phases, each one loop over the columns:
//
//   %max = rt.reduce "max" %x        phase 0 reads x
//   %e = math.exp (%x - %max)        phase 1 computes %e, keeps it and sums it
//   %sum = rt.reduce "sum" %e        up
//   %y = %e / %sum                   phase 2 reads what phase 1 kept
//
// What is cheap is computed again where it is needed; what is not (exp, tanh,
// erf) is kept in a slot: one f32 a column.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_ROWS_ROWPHASES_H
#define SHARDC_COMPILER_CODEGEN_ROWS_ROWPHASES_H

#include "dialects/rt/Rt.h"

#include "llvm/ADT/DenseMap.h"

namespace shardc::codegen {

class RowPhases {
public:
  explicit RowPhases(rt::KernelOp kernel);

  unsigned numPhases() const { return phases; }
  /// The first phase in which the value can be computed.
  unsigned phaseOf(mlir::Value value) const { return phase.lookup(value); }
  /// The same for all columns.
  bool isUniform(mlir::Value value) const { return uniform.contains(value); }
  /// The slot in which the value is kept from its phase on, -1 if it is not.
  int slotOf(mlir::Value value) const;
  unsigned numSlots() const { return slots.size(); }
  /// Reductions whose operand this phase computes.
  llvm::SmallVector<rt::ReduceOp, 2> reductionsIn(unsigned phase) const;
  /// Outputs, by number, that this phase stores.
  llvm::SmallVector<unsigned, 4> outputsIn(unsigned phase) const;

private:
  void classify();
  void chooseSlots();
  void need(mlir::Value value, unsigned inPhase,
            llvm::DenseMap<mlir::Value, unsigned> &lastNeed);

  rt::KernelOp kernel;
  unsigned phases = 1;
  llvm::DenseMap<mlir::Value, unsigned> phase;
  llvm::DenseSet<mlir::Value> uniform;
  llvm::DenseMap<mlir::Value, int> slots;
};

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_ROWS_ROWPHASES_H
