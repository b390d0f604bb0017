//===- Microsoft.h - Operators of the domain com.microsoft ----------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_MICROSOFT_H
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_MICROSOFT_H

#include "llvm/ADT/StringRef.h"

namespace shardc::onnx {

/// How many operands an operator of the domain has at most, by the name that it
/// has in the dialect. Of ONNX's own operators ONNX's checker knows that.
unsigned mostOperands(llvm::StringRef opName);

/// Whether an op of that name is one of ONNX Runtime's own.
bool isMicrosoft(llvm::StringRef opName);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_MICROSOFT_H
