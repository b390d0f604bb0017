//===- KeepChoicesApart.cpp - Mixtures whose sum is an op of its own ------===//
//
// A token's choices are added up in their order by one op, of what the experts
// make of each. So experts may lie on any ranks, where no ranks may share out a
// sum (dialects/onnx/WholeSums.h): of a choice all ranks but one have zeros.
//
//   y [n, o] = MixtureOfExperts x, indices, weights, up, down
//
//   c [n, k, o] = MixtureOfExperts x, indices, weights, up, down {keeps_choices}
//   y [n, o]    = ReduceSum c {axes = [1]}
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Reduction.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_KEEPCHOICESAPART
#include "passes/import/Passes.h.inc"

namespace {

void keepApart(onnx::MixtureOfExpertsOp mixture) {
  Value result = mixture.getResult();
  const Type type = result.getType();
  auto dims = dist::getDims(type);
  dims.insert(dims.begin() + 1,
              dist::getDims(mixture.getIndices().getType())[1]);
  OpBuilder builder(mixture->getContext());
  builder.setInsertionPointAfter(mixture);
  mixture.setKeepsChoices(true);
  result.setType(dist::makeType(getElementTypeOrSelf(type), dims));
  Value sum = onnx::ReduceSumOp::create(
      builder, mixture.getLoc(), type, result, ValueRange{},
      builder.getDenseI64ArrayAttr({1}), uint64_t(0), uint64_t(0));
  result.replaceAllUsesExcept(sum, sum.getDefiningOp());
}

struct KeepChoicesApart : impl::KeepChoicesApartBase<KeepChoicesApart> {
  void runOnOperation() override {
    getOperation().walk([&](onnx::MixtureOfExpertsOp mixture) {
      if (mixture.getKeepsChoices())
        return;
      keepApart(mixture);
      ++numApart;
    });
  }
};

} // namespace
} // namespace shardc::import
