//===- Layers.h - Which layer of the model a node is in -------------------===//
//
// Found from what the ops are and how they are wired (shard/EqualLayers.h), not
// from names.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_REPORT_LAYERS_H
#define SHARDC_COMPILER_REPORT_LAYERS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace shardc::report {

/// By name of a node; those in no layer are not there.
using LayerNumbers = llvm::StringMap<unsigned>;

/// Of a module of phase imported: later ones have other ops in other orders.
LayerNumbers layersOf(mlir::ModuleOp module);

/// 0 where no two layers are equal.
unsigned countLayers(const LayerNumbers &layers);

} // namespace shardc::report

#endif // SHARDC_COMPILER_REPORT_LAYERS_H
