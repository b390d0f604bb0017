//===- Structures.cpp - What a model is made of, for its reader -----------===//

#include "dialects/onnx/Structures.h"

namespace shardc::onnx {

static constexpr Structure kStructures[] = {
    {"onnx.Attention", "attention", true},
    {"onnx.CacheAppend", "KV cache with lengths", false},
    {"onnx.Conv", "convolution", false},
    {"onnx.Gelu", "GELU", true},
    {"onnx.LayerNormalization", "layer norm", true},
    {"onnx.MixtureOfExperts", "mixture of experts", true},
    {"onnx.RMSNormalization", "RMS norm", true},
    {"onnx.RotaryEmbedding", "rotary embedding", true},
    {"onnx.Swish", "SiLU", true},
};

const Structure *structureOf(mlir::Operation *op) {
  for (const Structure &structure : kStructures)
    if (structure.op == op->getName().getStringRef())
      return &structure;
  return nullptr;
}

} // namespace shardc::onnx
