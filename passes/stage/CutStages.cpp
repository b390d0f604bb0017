//===- CutStages.cpp - One function per pipeline stage --------------------===//

#include "passes/stage/Passes.h"

using namespace mlir;

namespace shardc::stage {
#define GEN_PASS_DEF_CUTSTAGES
#include "passes/stage/Passes.h.inc"

namespace {

struct CutStagesPass : impl::CutStagesBase<CutStagesPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main) {
      getOperation().emitError("has no function @main to cut into stages");
      return signalPassFailure();
    }
    main.setSymName("stage0");
  }
};

} // namespace
} // namespace shardc::stage
