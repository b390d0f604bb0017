//===- ScatterTransfers.cpp - Ranks send parts of what they hold alike ----===//

#include "passes/stage/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"
#include "passes/plan/cost/Sizes.h"
#include "passes/plan/cost/TransferCost.h"
#include "passes/plan/machine/ReadMachine.h"

using namespace mlir;

namespace shardc::stage {
#define GEN_PASS_DEF_SCATTERTRANSFERS
#include "passes/stage/Passes.h.inc"

namespace {

/// Axes over which all ranks hold the same of a value.
SmallVector<dist::AxisRef, 2> axesAlike(const dist::Sharding &sharding,
                                        const dist::Mesh &stage) {
  SmallVector<dist::AxisRef, 2> alike;
  for (const dist::AxisRef &axis : dist::wholeMesh(stage))
    if (axis.size > 1 && llvm::none_of(sharding.dims, [&](const auto &dim) {
          return dist::overlapsAny(dim.axes(), axis);
        }))
      alike.push_back(axis);
  return alike;
}

/// The value with a dim that is whole split without rounding over the axes.
std::optional<RankedTensorType> splitEvenly(RankedTensorType type,
                                            ArrayRef<dist::AxisRef> axes,
                                            const dist::Mesh &stage) {
  dist::Sharding sharding = dist::getSharding(type);
  // The last dims are those of the model: sizes that are known.
  for (size_t dim = sharding.dims.size(); dim-- > 0;) {
    std::optional<int64_t> size = sharding.dims[dim].size().asConstant();
    if (sharding.dims[dim].isSplit() || !size || *size == 0 ||
        *size % dist::totalShares(axes, stage) != 0)
      continue;
    sharding.dims[dim] = dist::DimSharding::whole(*size, axes);
    return dist::withSharding(type, sharding);
  }
  return std::nullopt;
}

/// Sends a part, gathers the parts.
void scatter(dist::SendOp send, dist::ReceiveOp receive, Type part) {
  OpBuilder builder(send);
  const Location loc = send.getLoc();
  send.getOperandMutable().set(dist::ReshardOp::create(
      builder, loc, part, send.getOperand(),
      builder.getStringAttr("each rank sends a part to the next stage")));
  const Type whole = receive.getType();
  builder.setInsertionPointAfter(receive);
  receive.getResult().setType(cast<RankedTensorType>(part));
  auto gather = dist::ReshardOp::create(
      builder, receive.getLoc(), whole, receive,
      builder.getStringAttr("parts that the stage before sent"));
  receive.getResult().replaceAllUsesExcept(gather, gather);
}

struct ScatterTransfersPass : impl::ScatterTransfersBase<ScatterTransfersPass> {
  using ScatterTransfersBase::ScatterTransfersBase;

  void runOnOperation() override {
    dist::MeshOp meshOp = dist::getMesh(getOperation());
    // Where links are not known it is not known either what they are spared.
    if (machine.empty() || !meshOp)
      return;
    mesh = *meshOp.getMesh().getMesh();
    if (!readOptions())
      return signalPassFailure();
    // By profile: what stands behind "stage0".
    llvm::StringMap<llvm::DenseMap<int64_t, dist::SendOp>> sent;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      StringRef profile = function.getSymName();
      profile.consume_front("stage");
      auto &ofProfile = sent[profile.ltrim("0123456789")];
      for (auto receive :
           llvm::make_early_inc_range(function.getOps<dist::ReceiveOp>()))
        if (dist::SendOp send = ofProfile.lookup(receive.getTransfer()))
          consider(send, receive);
      for (auto send : function.getOps<dist::SendOp>())
        ofProfile[send.getTransfer()] = send;
    }
  }

private:
  bool readOptions() {
    llvm::StringMap<int64_t> given;
    if (std::string problem = plan::parseSizes(planSizes, given);
        !problem.empty()) {
      getOperation().emitError("plan-sizes ") << problem;
      return false;
    }
    sizes = plan::Sizes(given);
    const std::string problem =
        plan::parseMachineOrTypical(machine, mesh.numRanks(), known);
    if (!problem.empty())
      getOperation().emitError("machine ") << problem;
    return problem.empty();
  }

  void consider(dist::SendOp send, dist::ReceiveOp receive) {
    auto type = cast<RankedTensorType>(receive.getType());
    const dist::Sharding sharding = dist::getSharding(type);
    plan::Transfer transfer;
    transfer.from = receive.getStage();
    transfer.to = send.getStage();
    transfer.alike = axesAlike(sharding, dist::stageMesh(mesh));
    if (sharding.isPartial() || transfer.alike.empty() ||
        !type.getElementType().isIntOrFloat())
      return;
    transfer.bytes =
        sizes.largestPart(sharding) * type.getElementTypeBitWidth() / 8;
    const std::optional<RankedTensorType> part =
        splitEvenly(type, transfer.alike, dist::stageMesh(mesh));
    if (!part || plan::scatteredSeconds(known, mesh, transfer) >=
                     plan::wholeSeconds(known, mesh, transfer))
      return;
    scatter(send, receive, *part);
    ++numScattered;
  }

  dist::Mesh mesh;
  plan::Machine known;
  plan::Sizes sizes;
};

} // namespace
} // namespace shardc::stage
