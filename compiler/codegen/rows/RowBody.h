//===- RowBody.h - What is computed of a row, as vectors ------------------===//
//
// The part of a kernel's code that is the same for every target: loads, stores
// and the body's arithmetic on `width` columns at a time, and the sums of their
// lanes. Which columns, and by whom, is the emitter's that uses it:
//
//   host   vectors of 16, one after the other; what is left over under a mask
//   GPU    vectors of 4, thread t of n takes those from t on, every nth
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_ROWS_ROWBODY_H
#define SHARDC_COMPILER_CODEGEN_ROWS_ROWBODY_H

#include "compiler/codegen/rows/RowLanes.h"
#include "compiler/codegen/rows/RowPhases.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"

namespace shardc::codegen {

using Values = RowLanes::Values;

/// How an element is loaded and stored: bf16 as its bits, a bool as a byte.
mlir::Type storageType(mlir::Type element);
int64_t storageBytes(mlir::Type element);

struct RowOperand {
  mlir::Type element;
  bool isPerRow;        ///< else one element a column
  mlir::Value row = {}; ///< address of the row at hand
};

/// Inputs, then outputs.
llvm::SmallVector<RowOperand, 8> operandsOf(rt::KernelOp kernel);

/// Whether an element depends on other columns than its own.
bool mixesColumns(rt::KernelOp kernel, const RowPhases &phases);

/// Inserts at `b`.
class RowBody {
public:
  /// Where the slots of the row at hand are: slot s from `at` + 4 s `floats`
  /// on.
  struct Slots {
    mlir::Value at, floats;
  };

  /// `alignment`: bytes that whole vectors are aligned to, at most; 0:
  /// elements.
  RowBody(rt::KernelOp kernel, const RowPhases &phases, const RowTarget &target,
          int64_t alignment, mlir::OpBuilder &b)
      : lanes(b, kernel.getLoc(), target), kernel(kernel), phases(phases),
        width(target.width), alignment(alignment), b(b), loc(kernel.getLoc()) {}

  RowLanes lanes;

  llvm::SmallVector<RowOperand, 8> operands; ///< inputs, then outputs
  mlir::Value columns;
  Slots slots;

  RowOperand &output(unsigned number);

  //===--- One value a row ------------------------------------------------===//

  void beginRow() { uniforms.clear(); }
  /// The row at hand is that of another body for the same kernel.
  void takeRow(const RowBody &other) {
    operands = other.operands;
    slots = other.slots;
    uniforms = other.uniforms;
  }
  void emitUniforms(unsigned phase);
  void emitRowOutputs(unsigned phase);
  void setReduced(rt::ReduceOp reduce, mlir::Value value) {
    uniforms.map(reduce.getResult(), value);
  }

  //===--- One value a column ---------------------------------------------===//

  /// Whether the phase has anything to do for each column.
  bool hasColumns(unsigned phase);
  /// Whether it computes something that is worth keeping.
  bool fillsSlots(unsigned phase);
  /// The columns from `column` on, those in the mask (null: all); sums[r] is
  /// the vector of reduction r.
  void emitBlock(unsigned phase, mlir::Value column, mlir::Value mask,
                 llvm::ArrayRef<rt::ReduceOp> reductions,
                 llvm::MutableArrayRef<mlir::Value> sums);

  //===--- Small steps ----------------------------------------------------===//

  template <typename Op, typename... Args> mlir::Value make(Args... args) {
    return Op::create(b, loc, args...);
  }
  mlir::Value number(int64_t value);
  mlir::Value advance(mlir::Value base, mlir::Value bytes);
  mlir::VectorType vectorOf(mlir::Type element) const {
    return mlir::VectorType::get({width}, element);
  }

private:
  struct Place {
    unsigned phase;
    mlir::Value column, mask;
    mlir::IRMapping &vectors;
  };

  mlir::Value loadScalar(const RowOperand &operand);
  mlir::Value fromStorage(mlir::Value stored, mlir::Type element);
  mlir::Value toStorage(mlir::Value value, mlir::Type element);
  mlir::Value zeroOf(mlir::Type type);
  mlir::Value vectorFor(mlir::Value value, Place &place);
  mlir::Value makeVector(mlir::Value value, Place &place);
  mlir::Value elementAt(const RowOperand &operand, mlir::Value column);
  mlir::Value slotAt(int slot, mlir::Value column);
  mlir::Value loadVector(mlir::Type element, mlir::Value at, mlir::Value mask);
  void storeVector(mlir::Value value, mlir::Value at, mlir::Value mask);
  unsigned alignmentOf(mlir::Type element) const;

  rt::KernelOp kernel;
  const RowPhases &phases;
  const int64_t width, alignment;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::IRMapping uniforms; ///< scalars of the row at hand
};

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_ROWS_ROWBODY_H
