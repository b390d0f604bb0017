#include "passes/verify/VerifyRouting.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/ops/Experts.h"

using namespace mlir;

namespace shardc::verify {

/// Whether these matrices, one for each expert, lie where it takes the tokens.
template <typename RoutingOp>
static bool areOnRanksOf(Type matrices, RoutingOp routing) {
  const dist::DimExpr experts = dist::getDims(matrices)[0];
  return experts.asConstant() == int64_t(routing.getExperts()) &&
         dist::getSharding(matrices).dims[0] ==
             dist::DimSharding::whole(experts, routing.getAxes().getAxes());
}

/// `routing` is a dispatch or combine.
template <typename RoutingOp>
static LogicalResult verifyMixture(RoutingOp routing, Operation *mixture) {
  auto experts = dyn_cast_or_null<onnx::MixtureOfExpertsOp>(mixture);
  if (!experts)
    return routing.emitError("routes tokens of something else than "
                             "onnx.MixtureOfExperts");
  const char *why = nullptr;
  if (experts.getIndices() != routing.getChoices())
    why = "it goes by other choices";
  else if (!areOnRanksOf(experts.getDown().getType(), routing))
    why = "their experts lie on the ranks otherwise";
  if (!why)
    return success();
  InFlightDiagnostic diagnostic =
      routing.emitError("does not route as these experts need: ") << why;
  diagnostic.attachNote(experts.getLoc()) << "they are here";
  return diagnostic;
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
