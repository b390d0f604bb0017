//===- GraphImporter.h - ONNX's nodes become ops --------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_GRAPHIMPORTER_H
#define SHARDC_COMPILER_IMPORT_GRAPHIMPORTER_H

#include "compiler/import/Attributes.h"
#include "compiler/import/OperandTypes.h"
#include "compiler/import/Schemas.h"
#include "compiler/import/Unsupported.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace shardc::importer {

/// The inputs of a graph that are not initializers.
llvm::SmallVector<const ::onnx::ValueInfoProto *>
runtimeInputs(const ::onnx::GraphProto &graph);

/// What the onnx dialect calls an operator of ONNX's default domain; nothing if
/// it has none, or if ONNX has none of that name at this opset.
std::optional<mlir::RegisteredOperationName>
nativeName(mlir::MLIRContext *context, llvm::StringRef opType);

/// Number of names up to the last that is not empty.
template <typename Names> unsigned countPresent(const Names &names) {
  int count = names.size();
  while (count > 0 && names.Get(count - 1).empty())
    --count;
  return count;
}

/// Builds @main for a checked graph, in one walk over its nodes.
class GraphImporter {
public:
  GraphImporter(ModelFile &file, const Opsets &opsets, mlir::ModuleOp module);
  /// Fails, with an error, where something is unsupported, unless the caller
  /// wants to know it: then its results have no type and the module is whole.
  llvm::LogicalResult run(Unsupported *found = nullptr);

private:
  /// What is the same for all nodes of one operator.
  struct Operator {
    std::optional<mlir::RegisteredOperationName> name;
    llvm::SmallVector<mlir::NamedAttribute, 4> defaults;
    std::optional<unsigned> results; ///< nothing if variadic
  };
  const Operator &lookup(const std::string &domain, const std::string &opType);

  llvm::LogicalResult addInputs();
  llvm::LogicalResult addNode(const ::onnx::NodeProto &node);
  llvm::LogicalResult addConstantNode(const ::onnx::NodeProto &node);
  llvm::LogicalResult addOperator(const ::onnx::NodeProto &node,
                                  const Operator &op);
  void addAttributes(const ::onnx::NodeProto &node, const Operator &op,
                     mlir::OperationState &state);
  llvm::LogicalResult addOutputs();

  // ControlFlow.cpp
  static bool isControlFlow(const ::onnx::NodeProto &node);
  llvm::LogicalResult addControlFlow(const ::onnx::NodeProto &node);
  /// The nodes of `body` into `region`, which ends with an onnx.Yield; its
  /// inputs are arguments.
  llvm::LogicalResult addBody(const ::onnx::GraphProto &body,
                              mlir::Region &region);

  void setValue(llvm::StringRef name, mlir::Value value);

  /// Null after an error.
  mlir::Value valueOf(const std::string &name, mlir::Location user);
  /// `name` is the value's; `loc` that of what holds the tensor.
  mlir::Value addTensor(mlir::OpBuilder &at, const ::onnx::TensorProto &tensor,
                        llvm::StringRef name, mlir::NameLoc loc);
  mlir::Value addConstant(mlir::OpBuilder &at, mlir::DenseElementsAttr value,
                          mlir::Location loc);
  mlir::Value none();
  /// Stands for what is unsupported.
  mlir::Value unknown(mlir::OpBuilder &at, mlir::Location loc);
  mlir::Type unknownType();
  /// Inserts after the other sources, at the start of @main.
  mlir::OpBuilder atSources();
  void skip(const ::onnx::NodeProto &node);
  /// Elements that nobody computes.
  void checkElements(const ::onnx::NodeProto &node);
  mlir::NameLoc locOf(llvm::StringRef name);
  mlir::NameLoc locOf(const ::onnx::NodeProto &node);

  ModelFile &file;
  const ::onnx::GraphProto &graph;
  const Opsets &opsets;
  mlir::ModuleOp module;
  mlir::MLIRContext *context;
  mlir::OpBuilder builder; ///< at the end of @main
  mlir::func::FuncOp main;
  mlir::Value noneValue;
  /// Last of the initializers (and None): they are created when first used.
  mlir::Operation *lastSource = nullptr;
  llvm::DenseMap<llvm::StringRef, mlir::Value> values;
  /// Values before the branch at hand set them; null: there was none.
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>> *undo = nullptr;
  llvm::DenseMap<llvm::StringRef, const ::onnx::TensorProto *> initializers;
  llvm::StringMap<Operator> operators;
  Unsupported unsupported;
  OperandTypes operandTypes;
  bool reportsAll = false;   ///< tensors that cannot be read, too
  bool hasBadTensor = false; ///< so that there is no module
};

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_GRAPHIMPORTER_H
