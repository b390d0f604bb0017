//===- Passes.h - From a raw module to phase imported ---------------------===//
#ifndef SHARDC_PASSES_IMPORT_PASSES_H
#define SHARDC_PASSES_IMPORT_PASSES_H

#include "dialects/onnx/Onnx.h"

#include "mlir/Pass/Pass.h"

namespace shardc::import {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/import/Passes.h.inc"

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_PASSES_H
