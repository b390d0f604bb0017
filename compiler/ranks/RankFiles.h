//===- RankFiles.h - A plan as one ONNX model for each rank ---------------===//
//
//   out/manifest.json    ranks, their stages, files, ports and groups
//   out/rank-0.onnx      what rank 0 runs; several programs: rank-0.decode.onnx
//   out/rank-0.data      its parts of the weights
//   out/shared.data      weights that all ranks of a stage hold whole
//
// Replicas run the files of the first one.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_RANKS_RANKFILES_H
#define SHARDC_COMPILER_RANKS_RANKFILES_H

#include "compiler/ranks/CollectiveWriter.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc::ranks {

/// Of a module of phase partitioned. "" or what went wrong; `isModels` where
/// what is wrong is the model, which cannot be written.
std::string writeRankFiles(mlir::ModuleOp module, const std::string &folder,
                           Collectives style, bool &isModels);

} // namespace shardc::ranks

#endif // SHARDC_COMPILER_RANKS_RANKFILES_H
