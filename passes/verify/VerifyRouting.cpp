#include "passes/verify/VerifyRouting.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/ops/Experts.h"

using namespace mlir;

namespace shardc::verify {

/// `routing` is a dispatch or combine.
template <typename RoutingOp>
static LogicalResult verifyMixture(RoutingOp routing, Operation *mixture) {
  auto experts = dyn_cast_or_null<onnx::MixtureOfExpertsOp>(mixture);
  if (!experts)
    return routing.emitError("routes tokens of something else than "
                             "onnx.MixtureOfExperts");
  InFlightDiagnostic diagnostic = routing.emitError("does not route as these "
                                                    "experts need: ");
  diagnostic.attachNote(experts.getLoc()) << "they are here";
  Type down = experts.getDown().getType();
  const dist::DimSharding split = dist::getSharding(down).dims[0];
  if (experts.getIndices() != routing.getChoices())
    return diagnostic << "it goes by other choices";
  if (dist::getDims(down)[0].asConstant() != int64_t(routing.getExperts()) ||
      split != dist::DimSharding::whole(dist::getDims(down)[0],
                                        routing.getAxes().getAxes()))
    return diagnostic << "their experts lie on the ranks otherwise";
  diagnostic.abandon();
  return success();
}

static LogicalResult verifyUses(dist::DispatchOp dispatch) {
  for (OpOperand &use : dispatch->getUses()) {
    if (failed(verifyMixture(dispatch, use.getOwner())))
      return failure();
    auto mixture = cast<onnx::MixtureOfExpertsOp>(use.getOwner());
    if (&use != &mixture.getTokensMutable())
      return dispatch.emitError("gives rows of what is no tokens of its user");
  }
  return success();
}

LogicalResult verifyRouting(func::FuncOp program) {
  for (Operation &op : program.front()) {
    if (auto dispatch = dyn_cast<dist::DispatchOp>(op))
      if (failed(verifyUses(dispatch)))
        return failure();
    if (auto combine = dyn_cast<dist::CombineOp>(op))
      if (failed(verifyMixture(combine, combine.getOperand().getDefiningOp())))
        return failure();
  }
  return success();
}

} // namespace shardc::verify
