//===- Passes.h - From staged to partitioned ------------------------------===//
#ifndef SHARDC_PASSES_PARTITION_PASSES_H
#define SHARDC_PASSES_PARTITION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shardc::partition {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/partition/Passes.h.inc"

} // namespace shardc::partition

#endif // SHARDC_PASSES_PARTITION_PASSES_H
