//===- Structure.h - What a model is made of, for its reader --------------===//
#ifndef SHARDC_DIALECTS_ONNX_STRUCTURE_H
#define SHARDC_DIALECTS_ONNX_STRUCTURE_H

#include "llvm/ADT/StringRef.h"

namespace shardc::onnx {

/// A part of an architecture that an op stands for (Onnx_Structure in Onnx.td).
/// Some exporters write the op, others spell most of them out, and recovery makes
/// them: onnx.Swish is a "SiLU", which is recovered; onnx.Conv all exporters write.
struct Structure {
  llvm::StringLiteral name;
  bool isRecovered;
};

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_STRUCTURE_H
