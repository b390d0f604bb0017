//===- AnnotatedModel.h - The user's model with a plan in it --------------===//
//
// The graph stays as it is: its nodes get the shardings that phase sharded gave
// the values that they read and make, and the stages of phase staged. What ONNX
// cannot say is left out: sums of which each rank holds a part, packed segments
// that are split unlike each other. Positions that are dealt out zig-zag are
// called split.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_ANNOTATIONS_ANNOTATEDMODEL_H
#define SHARDC_COMPILER_ANNOTATIONS_ANNOTATEDMODEL_H

#include "compiler/import/Annotations.h"
#include "dialects/dist/Dist.h"
#include "passes/shard/TensorNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

namespace onnx {
class NodeDeviceConfigurationProto;
} // namespace onnx

namespace shardc::annotations {

class AnnotatedModel {
public:
  explicit AnnotatedModel(const std::vector<importer::NodeOutputs> &nodes);

  /// Notes how a module of phase sharded holds the nodes' values, and in which
  /// stages of one of phase staged nodes are.
  void addShardings(mlir::ModuleOp module);
  void addStages(mlir::ModuleOp module);

  /// Writes `model` with it to `output`, and copies the files of its weights
  /// there, if that is another folder. "" or what went wrong.
  std::string write(llvm::StringRef model, llvm::StringRef output,
                    const dist::Mesh &mesh, bool sequenceParallel) const;

private:
  struct NodeShardings {
    llvm::StringMap<dist::Sharding> tensors; ///< as the node has them
    bool carriesSums = false;
  };
  void addNode(mlir::Operation *op, const shard::TensorNames &names);
  /// What is known of a node of the file; without configuration if nothing is.
  void annotate(const ::onnx::NodeProto &node, const dist::Mesh &mesh,
                const std::string &configuration,
                ::onnx::NodeDeviceConfigurationProto &made) const;

  shard::OutputsOfNode outputs;
  llvm::StringMap<NodeShardings> nodes;
  llvm::StringMap<dist::Sharding> tensors; ///< as they are made
  llvm::StringMap<std::set<int64_t>> stages;
};

} // namespace shardc::annotations

#endif // SHARDC_COMPILER_ANNOTATIONS_ANNOTATEDMODEL_H
