//===- DispatchTokens.cpp - Tokens go to their experts and back -----------===//
//
// Tokens split over "ep" and "tp", experts over "ep" and, inside, over "tp":
//
//   x  [tokens: "ep" "tp", d]                x  [tokens: "ep" "tp", d]
//   all_gather over "ep" "tp"                all_gather over "tp"
//                                            dispatch over "ep"
//   MixtureOfExperts                         MixtureOfExperts
//                                            combine over "ep"
//   reduce_scatter over "ep" "tp"            reduce_scatter over "tp"
//
// A token that chose 2 of 64 experts goes to 2 of 8 ranks then, not to all.
//
//===----------------------------------------------------------------------===//

#include "passes/partition/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/algebra/Collectives.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::partition {

#define GEN_PASS_DEF_DISPATCHTOKENS
#include "passes/partition/Passes.h.inc"

namespace {

using Axes = SmallVector<dist::AxisRef, 2>;

/// The axes that split the experts, each as a whole; none if anything else
/// does.
Axes expertAxes(onnx::MixtureOfExpertsOp mixture) {
  Type down = mixture.getDown().getType();
  const dist::DimSharding split = dist::getSharding(down).dims[0];
  Axes axes = split.axes();
  return split == dist::DimSharding::whole(dist::getDims(down)[0], axes)
             ? axes
             : Axes();
}

/// Those of `all` that are not in `some`; nothing if some of these are missing.
std::optional<Axes> without(ArrayRef<dist::AxisRef> all,
                            ArrayRef<dist::AxisRef> some) {
  Axes rest;
  for (const dist::AxisRef &axis : all)
    if (!llvm::is_contained(some, axis))
      rest.push_back(axis);
  if (some.empty() || rest.size() + some.size() != all.size())
    return std::nullopt;
  return rest;
}

/// Gathered over `axes`, if there are any.
std::optional<dist::Sharding> gatheredOver(const dist::Sharding &sharding,
                                           size_t dim, const Axes &axes) {
  return axes.empty() ? sharding : dist::allGather(sharding, dim, axes);
}

/// [b, s, d] as [b s, d]: how the tokens are split when both are one dim.
std::optional<dist::Sharding> flattened(const dist::Sharding &sharding) {
  dist::Sharding flat;
  dist::Segment tokens;
  for (const dist::DimSharding &dim : ArrayRef(sharding.dims).drop_back()) {
    if (dim.segments.size() != 1)
      return std::nullopt;
    llvm::append_range(tokens.factors, dim.segments[0].factors);
  }
  flat.dims.push_back({{tokens}});
  flat.dims.push_back(sharding.dims.back());
  flat.partial = sharding.partial;
  flat.normalize();
  return flat;
}

class Router {
public:
  Router(onnx::MixtureOfExpertsOp mixture, const dist::Mesh &mesh)
      : mixture(mixture), mesh(mesh), builder(mixture),
        axes(expertAxes(mixture)),
        experts(builder.getI64IntegerAttr(
            dist::getDims(mixture.getDown().getType())[0].asConstant().value_or(
                0))) {}

  bool dispatch() {
    // Between the gather and the experts may be [b, s, d] to [b s, d].
    Value tokens = mixture.getTokens();
    auto reshape = tokens.getDefiningOp<onnx::ReshapeOp>();
    Value gathered = reshape ? reshape.getData() : tokens;
    auto gather = gathered.getDefiningOp<dist::AllGatherOp>();
    if (!gather || !tokens.hasOneUse() || !gathered.hasOneUse() ||
        !choicesFit())
      return false;
    gather = gatherOfExpertAxes(gather);
    tokens = mixture.getTokens();
    auto rest = without(gather.getAxes().getAxes(), axes);
    auto from = dist::getSharding(gather.getOperand().getType());
    std::optional<dist::Sharding> inner =
        rest ? gatheredOver(from, gather.getDim(), *rest) : std::nullopt;
    std::optional<dist::Sharding> rows =
        inner && reshape ? flattened(*inner) : inner;
    if (!rows ||
        dist::allGather(*rows, 0, axes) != dist::getSharding(tokens.getType()))
      return false;
    builder.setInsertionPoint(mixture);
    Value value = gather.getOperand();
    if (!rest->empty())
      value = dist::AllGatherOp::create(
          builder, gather.getLoc(), typeOf(value, *inner), value,
          gather.getDimAttr(), axesAttr(*rest), gather.getWhyAttr());
    if (reshape) {
      Operation *flat = builder.clone(*reshape);
      flat->setOperand(0, value);
      flat->getResult(0).setType(typeOf(tokens, *rows));
      value = flat->getResult(0);
    }
    value = dist::DispatchOp::create(builder, gather.getLoc(), tokens.getType(),
                                     value, mixture.getIndices(), experts,
                                     axesAttr(axes), gather.getWhyAttr());
    mixture.getTokensMutable().assign(value);
    if (reshape)
      reshape.erase();
    gather.erase();
    return true;
  }

  bool combine() {
    Value result = mixture.getResult();
    auto scatter = result.hasOneUse()
                       ? dyn_cast<dist::ReduceScatterOp>(*result.user_begin())
                       : dist::ReduceScatterOp();
    if (!scatter || scatter.getDim() != 0 || scatter.getKind() != "sum" ||
        !choicesFit())
      return false;
    auto rest = without(scatter.getAxes().getAxes(), axes);
    auto to = dist::getSharding(scatter.getType());
    std::optional<dist::Sharding> outer =
        rest ? gatheredOver(to, 0, *rest) : std::nullopt;
    if (!outer)
      return false;
    // What the other axes still have to add.
    for (const dist::AxisRef &axis : *rest)
      outer->partial.push_back({axis, dist::ReduceKind::Sum});
    outer->normalize();
    builder.setInsertionPoint(scatter);
    Value value = dist::CombineOp::create(
        builder, scatter.getLoc(), typeOf(result, *outer), result,
        mixture.getIndices(), experts, axesAttr(axes), scatter.getWhyAttr());
    if (!rest->empty())
      value = dist::ReduceScatterOp::create(
          builder, scatter.getLoc(), scatter.getType(), value,
          scatter.getDimAttr(), axesAttr(*rest), scatter.getKindAttr(),
          scatter.getWhyAttr());
    scatter.replaceAllUsesWith(value);
    scatter.erase();
    return true;
  }

private:
  /// Gathers of two dims may change places: the one over the experts' axes
  /// comes last.
  dist::AllGatherOp gatherOfExpertAxes(dist::AllGatherOp last) {
    auto first = last.getOperand().getDefiningOp<dist::AllGatherOp>();
    if (!first || !first->hasOneUse() || first.getDim() == last.getDim() ||
        !without(first.getAxes().getAxes(), axes))
      return last;
    const std::optional<dist::Sharding> other =
        dist::allGather(dist::getSharding(first.getOperand().getType()),
                        last.getDim(), last.getAxes().getAxes());
    if (!other)
      return last;
    builder.setInsertionPoint(last);
    Value moved = dist::AllGatherOp::create(
        builder, last.getLoc(), typeOf(first.getOperand(), *other),
        first.getOperand(), last.getDimAttr(), last.getAxes(),
        last.getWhyAttr());
    auto swapped = dist::AllGatherOp::create(
        builder, first.getLoc(), last.getType(), moved, first.getDimAttr(),
        first.getAxes(), first.getWhyAttr());
    last.replaceAllUsesWith(swapped.getResult());
    last.erase();
    first.erase();
    return swapped;
  }

  bool choicesFit() {
    return !axes.empty() && experts.getInt() > 0 &&
           dist::getSharding(mixture.getIndices().getType()).isReplicated();
  }
  Type typeOf(Value like, const dist::Sharding &sharding) const {
    return dist::localize(
        dist::withSharding(cast<RankedTensorType>(like.getType()), sharding),
        mesh);
  }
  dist::AxesAttr axesAttr(ArrayRef<dist::AxisRef> list) {
    return dist::AxesAttr::get(builder.getContext(), list);
  }

  onnx::MixtureOfExpertsOp mixture;
  const dist::Mesh &mesh;
  OpBuilder builder;
  const Axes axes;
  const IntegerAttr experts;
};

struct DispatchTokensPass : impl::DispatchTokensBase<DispatchTokensPass> {
  void runOnOperation() override {
    dist::MeshOp mesh = dist::getMesh(getOperation());
    if (!mesh)
      return;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      if (!onnx::FunctionInfo(function).isProgram())
        continue;
      for (auto mixture : llvm::make_early_inc_range(
               function.getOps<onnx::MixtureOfExpertsOp>())) {
        Router router(mixture, *mesh.getMesh().getMesh());
        numDispatches += router.dispatch();
        numCombines += router.combine();
      }
    }
  }
};

} // namespace
} // namespace shardc::partition
