//===- InputTypes.h - Types of the graph's inputs -------------------------===//
//
// Sizes of inputs are constants, symbols, or expressions of symbols that are
// the size of another input:
//
//   input_ids       ["batch", "seq"]              batch, seq
//   past            ["batch", 4, "past_seq", 16]  batch, 4, past_seq, 16
//   attention_mask  ["batch", "past_seq + seq"]   batch, past_seq + seq
//   position_ids    ["batch", <nothing>]          batch, "position_ids.dim1"
//   key             ["s44", "4"]                  s44, 4
//   odd             ["a-b"]                       "a-b": a, b are unbound
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_INPUTTYPES_H
#define SHARDC_COMPILER_IMPORT_INPUTTYPES_H

#include "dialects/dist/algebra/DimExpr.h"

#include "onnx/onnx_pb.h"

#include "llvm/ADT/DenseSet.h"

namespace shardc::importer {

class InputDims {
public:
  /// Learns the symbols that `inputs` bind; they must outlive this.
  explicit InputDims(llvm::ArrayRef<const ::onnx::ValueInfoProto *> inputs);

  /// Sizes of an input that is a tensor with a shape.
  llvm::SmallVector<dist::DimExpr, 4>
  of(const ::onnx::ValueInfoProto &input) const;

private:
  dist::DimExpr parse(llvm::StringRef text) const;
  llvm::DenseSet<llvm::StringRef> bound;
};

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_INPUTTYPES_H
