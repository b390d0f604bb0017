//===- RowBuilder.h - Values of rows and of their tokens ------------------===//
//
// What a step knows of its rows, and values made of it: of each row, with a
// leading dim for the rows, or of each token:
//
//   past + 1        of rows    [r]        past[i] + 1
//                   of tokens  [t]        the same for the row of each token
//   a mask of keys  of rows    [r, 1, 1, 1, k]
//   to [1, 1, t, k] of tokens  [1, 1, t, k]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_ROWBUILDER_H
#define SHARDC_PASSES_IMPORT_ROWS_ROWBUILDER_H

#include "dialects/onnx/Onnx.h"
#include "passes/import/Matching.h"
#include "passes/import/rows/RowSizes.h"

namespace shardc::import {

/// Integers that come with each step.
struct RowInputs {
  mlir::Value row;      ///< [t], of each token
  mlir::Value position; ///< [t], of each token in its sequence
  mlir::Value first;    ///< [r + 1], the first token of each row, and the end
  mlir::Value past;     ///< [r], keys before the first token
  mlir::Value slots;    ///< [t], where keys and values of each token go
  mlir::Value pages;    ///< [r, p]
  mlir::Value copies;   ///< [m, 2], from one page to another, before anything
  mlir::Value wanted;   ///< [w], tokens whose outputs are asked for
  // Null where there is no cross-attention:
  mlir::Value encoderLengths; ///< [r], encoder keys of each row
  mlir::Value encoderSlots;   ///< [e], where those that come with the step go
  mlir::Value encoderPages;   ///< [r, q]
};

/// Tokens of a step, or those of them that are wanted.
struct TokenSet {
  dist::DimExpr size;
  mlir::Value row, position;
};

class RowBuilder {
public:
  RowBuilder(mlir::OpBuilder &builder, const RowSizes &sizes,
             const RowInputs &inputs);

  void setLocation(mlir::Location to) { loc = to; }

  template <typename OpTy>
  mlir::Value make(mlir::Type element, llvm::ArrayRef<dist::DimExpr> dims,
                   mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return make(OpTy::getOperationName(), dist::makeType(element, dims),
                operands, attributes);
  }
  mlir::Value make(llvm::StringRef op, mlir::Type type,
                   mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes);
  mlir::NamedAttribute attribute(llvm::StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute bounds(llvm::ArrayRef<dist::DimExpr> values);

  mlir::Value integer(int64_t value);
  /// A scalar of that type: integer, float or bool.
  mlir::Value scalar(mlir::Type element, double value);
  mlir::Value range(dist::DimExpr size);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<dist::DimExpr> dims);
  mlir::Value gather(mlir::Value data, mlir::Value indices, int64_t axis);
  /// i64 of the dims of `dims`; broadcast.
  template <typename OpTy>
  mlir::Value binary(mlir::Value lhs, mlir::Value rhs, mlir::Type element,
                     llvm::ArrayRef<dist::DimExpr> dims) {
    return make<OpTy>(element, dims, {lhs, rhs});
  }

  /// How many tokens each row has, [r].
  mlir::Value counts();
  /// past + counts, [r].
  mlir::Value lengths();
  /// The number that an expression of past and sequence is for each row, [r];
  /// null for what is no polynomial of them.
  mlir::Value ofRows(dist::DimExpr value);
  /// Of a value of rows, [r, ..], that of the row of each token, [t, ..].
  mlir::Value ofTokens(mlir::Value ofRows, const TokenSet &set) {
    return gather(ofRows, set.row, 0);
  }
  /// Which token of its row each is, [t].
  mlir::Value index(const TokenSet &set);

  /// [n, dims] with ones behind the first dim until there are `rank` more.
  mlir::Value padded(mlir::Value value, size_t rank);
  /// A value of rows, for an element-wise op whose result of `rank` dims has
  /// its tokens at `dim`.
  mlir::Value spread(mlir::Value ofRows, const TokenSet &set, size_t rank,
                     size_t dim);
  /// [1, .., n, ..] with the n of a vector at `dim`.
  mlir::Value along(mlir::Value vector, size_t rank, size_t dim);

  const RowSizes sizes;
  const RowInputs inputs;

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value ofCounts;
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_ROWBUILDER_H
