//===- RowSizes.h - Sizes of a step of rows -------------------------------===//
//
// A step of rows takes the new positions of all rows one after the other, and
// the keys of a row up to the end of its last page. Of a function for requests
// of `batch` rows, each of `sequence` positions behind `past`:
//
//   dim                   in a step of rows
//   batch                 1, each row by itself
//   sequence              tokens of the step
//   past + sequence       pages of a row * positions of a page
//   batch * sequence      tokens of the step
//   past                  nothing: each row has its own
//   encoder               pages of encoder keys * positions of a page
//
// Of a function that takes one position of each of its rows at a time, these are
// what a step puts side by side, and a row of a step has one:
//
//   batch                 tokens of the step
//   past + 1              pages of a row * positions of a page
//
// A step of one row has no others whose positions an op could mix with its own.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROWS_ROWSIZES_H
#define SHARDC_PASSES_IMPORT_ROWS_ROWSIZES_H

#include "dialects/dist/algebra/DimExpr.h"
#include "dialects/onnx/RowSymbols.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::import {

struct RowSizes {

  /// Of a function all of whose caches get longer by one symbol of its inputs,
  /// or by one position, and start from another; emits an error that says why
  /// there are none.
  static mlir::FailureOr<RowSizes> of(mlir::func::FuncOp function,
                                      int64_t page);

  /// How many there are differs from row to row, and so does what they are.
  bool isOfTokens(dist::DimExpr dim) const;
  bool isOfKeys(dist::DimExpr dim) const;
  bool isOfEncoder(dist::DimExpr dim) const;
  bool mentions(dist::DimExpr dim, dist::DimExpr symbol) const;

  /// The size in a step; nothing where past stands by itself.
  std::optional<dist::DimExpr>
  inStep(dist::DimExpr dim,
         dist::DimExpr tokens = onnx::RowSymbols::tokens()) const;
  /// How many rows a request has.
  dist::DimExpr ofRequest() const { return takesOne ? sequence : batch; }
  /// Keys of a request: those before, and those of its new positions.
  dist::DimExpr all() const { return past + added(); }
  dist::DimExpr added() const { return takesOne ? dist::DimExpr(1) : sequence; }
  dist::DimExpr keys() const { return onnx::RowSymbols::pagesOfRow() * page; }
  dist::DimExpr encoderKeys() const {
    return onnx::RowSymbols::encoderPages() * page;
  }
  /// Of what cross-attention's keys are made of: they are the positions.
  RowSizes ofEncoder() const { return {batch, encoder, {}, page}; }

  dist::DimExpr batch, sequence, past;
  int64_t page; ///< positions
  /// Keys of cross-attention (EncoderKeys.h); no symbol where there is none.
  dist::DimExpr encoder = {};
  /// `sequence` is the batch: there is one position of each.
  bool takesOne = false;
  /// A step has one row: what is made of all positions is made of its own.
  bool isOfOneRow = false;
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROWS_ROWSIZES_H
