//===- RowSymbols.h - What a step of rows counts --------------------------===//
//
// Sizes of the inputs of a function that `shardc-batch-rows` made. No model has
// symbols of these names.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_ROWSYMBOLS_H
#define SHARDC_DIALECTS_ONNX_ROWSYMBOLS_H

#include "dialects/dist/algebra/DimExpr.h"

namespace shardc::onnx {

struct RowSymbols {
  static dist::DimExpr tokens() { return symbol("tokens of a step"); }
  static dist::DimExpr wanted() { return symbol("wanted tokens"); }
  static dist::DimExpr rows() { return symbol("rows of a step"); }
  static dist::DimExpr pagesOfRow() { return symbol("pages of a row"); }
  /// Of cross-attention: those that come with a step, and pages of a row's.
  static dist::DimExpr encoderKeys() {
    return symbol("encoder keys of a step");
  }
  static dist::DimExpr encoderPages() {
    return symbol("pages of encoder keys");
  }
  static dist::DimExpr copies() { return symbol("copied pages"); }
  static dist::DimExpr pages() { return symbol("pages of a pool"); }

private:
  static dist::DimExpr symbol(llvm::StringRef name) {
    return dist::DimExpr::symbol(name);
  }
};

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_ROWSYMBOLS_H
