//===- RecurrentActivations.h - What `activations` of an LSTM says -------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_RECURRENTACTIVATIONS_H
#define SHARDC_DIALECTS_ONNX_OPS_RECURRENTACTIVATIONS_H

#include "dialects/onnx/Decomposition.h"

namespace shardc::onnx {

struct Activation {
  llvm::StringRef name;
  double alpha = 0, beta = 0;
};

/// Those of all directions, one, two or three each for a network of one, three
/// or four gates; an error at the op for what ONNX does not know.
llvm::FailureOr<llvm::SmallVector<Activation>>
readActivations(Decomposition &d, int64_t gates, int64_t directions);

mlir::Value activate(Decomposition &d, const Activation &activation,
                     mlir::Value x);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_RECURRENTACTIVATIONS_H
