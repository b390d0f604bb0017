//===- RowTranslation.h - The ops of a function, for a step of rows -------===//
//
// Every value of the function is of one of the kinds in RowKind.h. An op on tokens stays what it is, with the sizes of the step, where it
// computes each position by itself (RowMixing.cpp). Values of rows join tokens
// in element-wise ops. Attention to a cache becomes PagedAttention. What asks
// for anything else is refused by name. An example is in Passes.td. A step of one
// row may have ops that mix its positions: they stay what they are, on all of
// them.
//
// Outputs are computed for the wanted tokens alone, from what no attention needs
// of the others.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_ROWTRANSLATION_H
#define SHARDC_PASSES_IMPORT_ROWS_ROWTRANSLATION_H

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/rows/EncoderKeys.h"
#include "passes/import/rows/RowBuilder.h"
#include "passes/import/rows/RowTrial.h"

#include "llvm/ADT/DenseSet.h"

namespace shardc::import {

class RowTranslation {
public:
  RowTranslation(mlir::func::FuncOp function, const EncoderKeys &encoderKeys,
                 RowBuilder &rows, mlir::OpBuilder &builder);

  /// What an argument is in a step: its value has the dims of stepDims.
  void bindInput(mlir::BlockArgument argument, mlir::Value value);
  void bindPool(mlir::BlockArgument past, mlir::Value pool);
  /// The dims of an input in a step; nothing if it has none.
  std::optional<Dims> stepDims(mlir::BlockArgument argument) const;

  /// Emits all ops, and tries each of them. Error at the op that has no place in
  /// a step.
  llvm::LogicalResult run();
  unsigned numTried() const;
  unsigned numUnknown() const;
  /// Of a returned value, once all ran: of the wanted tokens.
  mlir::Value result(mlir::OpOperand &output);

private:
  /// A token set with what was made for it.
  struct Tokens {
    TokenSet set;
    llvm::DenseMap<mlir::Value, mlir::Value> values;
  };

  /// Of encoder keys, whose ops are as those on tokens: they are the positions.
  RowTranslation(mlir::func::FuncOp function, RowBuilder &rows,
                 mlir::OpBuilder &builder);

  RowKind kindOf(mlir::Value value) const;
  mlir::Value madeOf(mlir::Value value, Tokens &tokens) const;
  mlir::Value makeAll(mlir::Value value);
  void classify();
  void findNeeded();
  bool isCacheAppend(mlir::Operation *op) const;
  bool dependsOnRow(dist::DimExpr size) const;
  bool readsSizes(mlir::Operation *op) const;
  llvm::LogicalResult translate(mlir::Operation &op);
  llvm::LogicalResult emit(mlir::Operation &op);
  llvm::LogicalResult tryOut(mlir::Operation &op);
  llvm::LogicalResult translateGuard(onnx::GuardOp guard);
  bool limitRows(dist::DimExpr lhs, dist::DimExpr rhs);
  void limit(mlir::Value ofRow, int64_t most);
  llvm::LogicalResult translateShared(mlir::Operation *op);
  llvm::LogicalResult translateOfRows(mlir::Operation *op);
  llvm::LogicalResult translateTokens(mlir::Operation *op, Tokens &tokens);
  bool isOfWhole(mlir::Operation *op) const;
  llvm::LogicalResult translateWhole(mlir::Operation *op);
  mlir::Value sideBySide(mlir::Value value, int64_t axis);
  llvm::LogicalResult translatePool(mlir::Operation *op);
  llvm::LogicalResult joinEncoderKeys(mlir::Operation *append,
                                      mlir::Value &added, mlir::Value &slots);
  llvm::LogicalResult translateAttention(onnx::AttentionOp op);
  std::string whyNoKeys(onnx::AttentionOp op) const;
  llvm::SmallVector<mlir::Value, 8> whereKeysAre(onnx::AttentionOp op);
  llvm::LogicalResult translateRange(onnx::RangeOp op, Tokens &tokens);
  llvm::LogicalResult translateTrilu(onnx::TriluOp op, Tokens &tokens);
  llvm::LogicalResult elementwiseOfRows(mlir::Operation *op);
  llvm::LogicalResult scanOfRows(onnx::CumSumOp op, mlir::Value data);

  // RowTables.cpp
  bool isCutByRow(onnx::SliceOp op, size_t dim) const;
  bool isOfTable(mlir::Operation *op) const;
  mlir::Value cutByAll(onnx::SliceOp op, mlir::Value data);
  mlir::Value placesFrom(dist::DimExpr start, dist::DimExpr count,
                         int64_t table, Tokens &tokens);
  llvm::LogicalResult translateTable(onnx::SliceOp op, Tokens &tokens);

  // RowMixing.cpp
  bool countsFirst(const onnx::ShardingRule &rule,
                   llvm::function_ref<bool(dist::DimExpr)> isCounted) const;
  bool dividesByKeys(mlir::Operation *op) const;
  /// Operands broadcast to the result, each element by itself.
  bool isElementwise(mlir::Operation *op) const;
  /// Why an op does not compute each position by itself; "" if it does.
  std::string findMixing(mlir::Operation *op, bool reducesKeys = false) const;
  /// The same, but for positions that a step of one row has all of.
  std::string findMixingOfKeys(mlir::Operation *op) const;
  std::string findMixing(mlir::Operation *op, bool reducesKeys,
                         bool hasAll) const;
  bool keepsOrder(const onnx::ShardingRule &rule, mlir::Operation *op,
                  llvm::function_ref<bool(dist::DimExpr)> isCounted) const;
  /// The dims of a type in a step, with a leading one for the rows or not.
  std::optional<Dims> sizesOf(mlir::Type type, dist::DimExpr tokens,
                              bool isOfRows) const;
  std::optional<size_t> tokenDim(mlir::Type type) const;
  bool isOnePerToken(mlir::Type type) const;
  Dims withoutBatch(mlir::Value original, Dims ofRows) const;
  /// For each operand what an element-wise op on tokens reads; null if it has
  /// no such form.
  mlir::Value operandOf(mlir::Operation *op, mlir::Value value, Tokens &tokens);
  mlir::Value ofTokens(mlir::Value value, Tokens &tokens);
  mlir::Value maskOf(onnx::AttentionOp op);
  /// Data of a reduction with what no row has replaced by what changes nothing.
  mlir::Value withoutMissingKeys(mlir::Operation *op, mlir::Value data,
                                 llvm::ArrayRef<int64_t> keyDims,
                                 Tokens *tokens);
  mlir::Value clone(mlir::Operation *op, mlir::ValueRange operands,
                    llvm::ArrayRef<mlir::Type> types);
  llvm::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &why) const;

  mlir::func::FuncOp function;
  RowBuilder &rows;
  mlir::OpBuilder &builder;
  const RowSizes sizes;
  RowTrial trial;
  llvm::DenseMap<mlir::Value, RowKind> kinds;
  llvm::DenseSet<mlir::Operation *> needed;        ///< of all tokens
  llvm::DenseMap<mlir::Value, mlir::Value> values; ///< shared, of rows, pools
  Tokens all, wanted;
  mlir::Value slots; ///< of tokens of rows that are not too long
  const EncoderKeys encoderKeys;
  std::unique_ptr<RowBuilder> encoderRows;
  std::unique_ptr<RowTranslation> ofEncoder; ///< null: no cross-attention
  llvm::DenseMap<mlir::Value, mlir::Value> written;      ///< pools, by past
  llvm::DenseMap<mlir::Operation *, mlir::Value> joined; ///< encoder keys
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_ROWTRANSLATION_H
