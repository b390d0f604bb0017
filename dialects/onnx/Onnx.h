//===- Onnx.h - The onnx dialect: what is computed ------------------------===//
//
// See Onnx.td. One op family a file in ops/: definition (.td), shape functions
// and sharding rules (.cpp), and the generated classes (.h) for the few places
// that must name an op; everybody else goes through the OnnxOp interface.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_ONNX_H
#define SHARDC_DIALECTS_ONNX_ONNX_H

#include "dialects/dist/Lowerable.h"
#include "dialects/onnx/ShapeInference.h"
#include "dialects/onnx/ShardingRule.h"
#include "dialects/onnx/Structure.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace shardc::onnx {

/// Ops that shape inference replaces, see Onnx_ReplacedOp.
template <typename ConcreteType>
class IsReplaced : public mlir::OpTrait::TraitBase<ConcreteType, IsReplaced> {};

/// Ops that read sequences, see Onnx_TakesSequences.
template <typename ConcreteType>
class TakesSequences
    : public mlir::OpTrait::TraitBase<ConcreteType, TakesSequences> {};

/// Rules of the reduction family, by its ops' shared attributes.
ShardingRule reduceRule(mlir::Operation *op);
PartialRule reducePartialRule(mlir::Operation *op);
ShardingRule argRule(mlir::Operation *op);
ShardingRule poolRule(mlir::Operation *op);

/// Lowerings that several ops share, see Onnx_LoweredBy; defined in
/// passes/lower/ops.
llvm::LogicalResult lowerElementwise(mlir::Operation *op, lower::Lowering &);
llvm::LogicalResult lowerReduction(mlir::Operation *op, lower::Lowering &);
llvm::LogicalResult lowerArgument(mlir::Operation *op, lower::Lowering &);
llvm::LogicalResult lowerScan(mlir::Operation *op, lower::Lowering &);
llvm::LogicalResult lowerPool(mlir::Operation *op, lower::Lowering &);
llvm::LogicalResult lowerNormalization(mlir::Operation *op, lower::Lowering &);
llvm::LogicalResult lowerIndexing(mlir::Operation *op, lower::Lowering &);

template <llvm::LogicalResult (*lowerOp)(mlir::Operation *, lower::Lowering &)>
struct LoweredBy {
  template <typename ConcreteOp>
  class Impl : public mlir::OpTrait::TraitBase<ConcreteOp, Impl> {
  public:
    llvm::LogicalResult lower(lower::Lowering &lowering) {
      return lowerOp(this->getOperation(), lowering);
    }
  };
};

/// See Onnx.td.
template <typename ConcreteOp>
class FoldsKnown : public mlir::OpTrait::TraitBase<ConcreteOp, FoldsKnown> {};

} // namespace shardc::onnx

#include "dialects/onnx/OnnxDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/onnx/OnnxTypes.h.inc"

#include "dialects/onnx/OnnxInterfaces.h.inc"

#endif // SHARDC_DIALECTS_ONNX_ONNX_H
