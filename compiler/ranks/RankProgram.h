//===- RankProgram.h - What one rank runs, as an ONNX graph ---------------===//
//
// From a function of phase partitioned, with the rank's coordinates put in: local
// ops become nodes of ONNX's own operators, which spell what is none of them;
// collectives nodes of the runtime's domain; what goes to another stage an output,
// "transfer_N", that is an input there.
//
// A rank's input is its part of the model's, as its weights are; but where the
// size of a split dim is known at run time only, it gets all of it and takes its
// part, since sizes of everything follow from the inputs' shapes.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_RANKS_RANKPROGRAM_H
#define SHARDC_COMPILER_RANKS_RANKPROGRAM_H

#include "compiler/ranks/CollectiveWriter.h"
#include "compiler/ranks/Parts.h"
#include "compiler/ranks/WeightStore.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <nlohmann/json.hpp>

namespace shardc::ranks {

/// One of the rank's inputs or outputs.
struct Port {
  std::string name, kind;             ///< model or transfer
  std::optional<dist::Sharding> part; ///< of the whole; nothing: all of it
  std::optional<int64_t> transfer, stage;
};

class RankProgram {
public:
  RankProgram(mlir::func::FuncOp function, const StageRank &rank,
              int64_t fileRank, Collectives style, WeightStore &weights,
              ::onnx::GraphProto &graph);

  /// "" or what cannot be written, with the node.
  std::string write();

  //===--- For the ops' writers -------------------------------------------===//

  GraphWriter writer;
  const StageRank rank;
  Parts parts;
  CollectiveWriter collectives;

  /// Of an operand; absent for none.
  Tensor tensor(mlir::Value value) const { return values.lookup(value); }
  llvm::SmallVector<Tensor, 4> operands(mlir::Operation *op) const;
  void bind(mlir::Value value, Tensor made) { values[value] = std::move(made); }
  Dims localDims(mlir::Value value) const {
    return rank.localDims(value.getType());
  }
  mlir::Type elementOf(mlir::Value value) const {
    return typeInFile(mlir::getElementTypeOrSelf(value.getType()));
  }
  /// The node that ONNX has for the op, with these inputs and attributes.
  void makeNode(mlir::Operation *op, llvm::ArrayRef<Tensor> inputs,
                llvm::ArrayRef<llvm::StringRef> attributes = {},
                llvm::ArrayRef<Attribute> more = {});

  std::vector<Port> inputs, outputs;
  std::vector<std::string> guards;
  /// Names of nodes that talk, and with whom, as ranks of the stage.
  std::vector<std::pair<std::string, llvm::SmallVector<int64_t>>> groups;

private:
  void addArgument(unsigned number);
  void findSymbol(llvm::StringRef symbol);
  void writeOp(mlir::Operation &op);
  void writeWeight(onnx::WeightOp op);
  void writeTransfer(mlir::Operation &op);
  void finishInputs();
  void writeResults();
  void addOutput(const Tensor &value, Port port);

  mlir::func::FuncOp function;
  const int64_t fileRank;
  WeightStore &weights;
  llvm::DenseMap<mlir::Value, Tensor> values;
  std::vector<Tensor> arguments; ///< as they are handed in
  std::vector<bool> isNeeded;
  llvm::StringMap<Tensor> weightTensors; ///< by name and sharding
};

//===--- Writers of ops, in ops/ ------------------------------------------===//

/// False: there is none for this op.
bool writeLayoutOp(mlir::Operation *op, RankProgram &program);
bool writeIndexingOp(mlir::Operation *op, RankProgram &program);
bool writeMathOp(mlir::Operation *op, RankProgram &program);
bool writeAttentionOp(mlir::Operation *op, RankProgram &program);
bool writeExpertsOp(mlir::Operation *op, RankProgram &program);
bool writeQuantizationOp(mlir::Operation *op, RankProgram &program);
bool writeDistOp(mlir::Operation *op, RankProgram &program);

} // namespace shardc::ranks

#endif // SHARDC_COMPILER_RANKS_RANKPROGRAM_H
