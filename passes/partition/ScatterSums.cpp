//===- ScatterSums.cpp - Ranks reduce only what they keep -----------------===//
//
// An all_reduce is a reduce_scatter and an all_gather. Where every rank takes
// its part of the result and nobody looks at the rest, the gather is for
// nothing:
//
//   %1 = dist.all_reduce %0 over tp          2 (n - 1) / n of the bytes
//   %2 = dist.slice %1                       dim 0 over tp
//
//   %2 = dist.reduce_scatter %0 dim 0 over tp    half of them
//
//===----------------------------------------------------------------------===//

#include "passes/partition/Passes.h"

#include "dialects/dist/Together.h"
#include "dialects/dist/algebra/Collectives.h"
#include "dialects/onnx/FunctionInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::partition {
#define GEN_PASS_DEF_SCATTERSUMS
#include "passes/partition/Passes.h.inc"

namespace {

/// The dim that these axes, and no others, split in `part` and not in `whole`.
std::optional<size_t> dimOnlySplitIn(const dist::Sharding &whole,
                                     const dist::Sharding &part,
                                     ArrayRef<dist::AxisRef> axes) {
  for (size_t dim = 0; dim < part.dims.size(); ++dim)
    if (dist::allGather(part, dim, axes) == whole)
      return dim;
  return std::nullopt;
}

/// Whether the all_reduce became a reduce_scatter.
bool scatter(dist::AllReduceOp reduce) {
  if (reduce->use_empty() || reduce->hasAttr(dist::kTogetherAttr))
    return false;
  auto first = dyn_cast<dist::SliceOp>(*reduce->user_begin());
  if (!first)
    return false;
  const Type type = first.getType();
  for (Operation *user : reduce->getUsers())
    if (!isa<dist::SliceOp>(user) || user->getResult(0).getType() != type)
      return false;
  const SmallVector<dist::AxisRef, 2> axes = reduce.getAxes().getAxes();
  std::optional<size_t> dim = dimOnlySplitIn(
      dist::getSharding(reduce.getType()), dist::getSharding(type), axes);
  if (!dim)
    return false;
  OpBuilder builder(reduce);
  Value part = dist::ReduceScatterOp::create(
      builder, reduce.getLoc(), type, reduce.getOperand(),
      builder.getI64IntegerAttr(*dim), reduce.getAxes(), reduce.getKindAttr(),
      reduce.getWhyAttr());
  for (Operation *slice : llvm::make_early_inc_range(reduce->getUsers())) {
    slice->getResult(0).replaceAllUsesWith(part);
    slice->erase();
  }
  reduce.erase();
  return true;
}

struct ScatterSumsPass : impl::ScatterSumsBase<ScatterSumsPass> {
  void runOnOperation() override {
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (onnx::FunctionInfo(function).isProgram())
        for (auto reduce :
             llvm::make_early_inc_range(function.getOps<dist::AllReduceOp>()))
          numScattered += scatter(reduce);
  }
};

} // namespace
} // namespace shardc::partition
