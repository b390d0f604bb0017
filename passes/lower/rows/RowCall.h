//===- RowCall.h - A kernel call seen as work on rows ---------------------===//
//
// The last dim of what a call iterates over are the columns of a row; all other
// dims say which row it is. Rows are independent, so calls over the same space
// can be done row by row, one after the other, without their temporaries:
//
//   Swish  [b, s, 256] -> [b, s, 256]          one kernel over [b, s, 256] that
//   Mul    [b, s, 256], [b, s, 256] -> ...     reads two operands, writes one
//
// What a call computes of a row is declared per family of ops, one file each
// beside this one, and found by the call's name: no list of ops grows here.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_ROWS_ROWCALL_H
#define SHARDC_PASSES_LOWER_ROWS_ROWCALL_H

#include "dialects/rt/Rt.h"
#include "passes/lower/StridedLayout.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace shardc::lower {

/// A window on a buffer: element (i, j, ...) of the iteration space is at
/// offset + i * strides[0] + j * strides[1] + ...; the stride of a dim of size
/// 1 is 0.
struct RowOperand {
  mlir::Value buffer; ///< null: absent
  mlir::Type element;
  Sizes strides;
  dist::DimExpr offset = 0;
  bool isReplicated = false;
  bool fits = true; ///< false: its dims are not those of the space

  bool isAbsent() const { return !buffer; }
  /// One element for the whole row, else one a column.
  bool isPerRow() const { return strides.back().isConstant(0); }
  friend bool operator==(const RowOperand &a, const RowOperand &b) {
    return a.buffer == b.buffer && a.element == b.element &&
           a.strides == b.strides && a.offset == b.offset;
  }
};

/// Where a family emits its part of a kernel's body. Values are scalars: f32,
/// or i1 for what is stored as a bool.
struct RowBody {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value constant(double value);
  mlir::Value reduce(llvm::StringRef kind, mlir::Value value);
  template <typename Op, typename... Args> mlir::Value make(Args... args) {
    return Op::create(builder, loc, args...);
  }
};

/// What a call yields for the values of its inputs (null where absent).
using EmitRow = llvm::SmallVector<mlir::Value, 2> (*)(rt::CallOp call,
                                                      mlir::ValueRange inputs,
                                                      RowBody &body);

struct RowCall {
  rt::CallOp call;
  Sizes dims; ///< never empty
  llvm::SmallVector<RowOperand, 4> inputs, outputs;
  EmitRow emit = nullptr;
};

/// Fills `row` for a call of one of the family's kernels; false for forms that
/// stay with the backend's own kernel.
using BindRow = bool (*)(rt::CallOp call, RowCall &row);
/// By the kernel's name.
using RowMap = llvm::StringMap<BindRow>;

/// The families' calls.
RowMap allRowOps();
void addActivationRows(RowMap &map);
void addArithmeticRows(RowMap &map);
void addNormalizationRows(RowMap &map);
void addReductionRows(RowMap &map);
void addRotaryRows(RowMap &map);
void addSelectionRows(RowMap &map);

/// The call as rows; nothing if it is none, if an element type is none that
/// kernels compute with, or if columns are not next to each other.
std::optional<RowCall> rowCallOf(rt::CallOp call, const RowMap &map);

//===--- For the families -------------------------------------------------===//

/// A view over the iteration space; dims that it lacks, or has as 1, repeat.
/// Sizes that are not provably equal do not fit.
RowOperand operandOf(mlir::Value view, llvm::ArrayRef<dist::DimExpr> dims);
rt::ViewType viewTypeOf(mlir::Value view);
inline bool isFloat(mlir::Value view) {
  return mlir::isa<mlir::FloatType>(viewTypeOf(view).getElement());
}
/// Iterates over the dims of the first output; all operands are broadcast.
bool bindElementwise(rt::CallOp call, RowCall &row, EmitRow emit);
/// Whether a reduction over the last of these dims has more than one column.
/// One with one column must not join rows that have many: it would see its own
/// as often.
inline bool hasSeveralColumns(llvm::ArrayRef<dist::DimExpr> dims) {
  return !dims.empty() && !dims.back().isConstant(1);
}
/// A number among the call's attributes.
double numberOr(rt::CallOp call, llvm::StringRef name, double otherwise);
std::optional<int64_t> integerOf(rt::CallOp call, llvm::StringRef name);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_ROWS_ROWCALL_H
