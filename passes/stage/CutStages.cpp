//===- CutStages.cpp - One function per pipeline stage --------------------===//

#include "passes/stage/Passes.h"

using namespace mlir;

namespace shardc::stage {
#define GEN_PASS_DEF_CUTSTAGES
#include "passes/stage/Passes.h.inc"

namespace {

struct CutStagesPass : impl::CutStagesBase<CutStagesPass> {
  void runOnOperation() override {
    bool hasMain = false;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      StringRef name = function.getSymName();
      if (!name.consume_front("main"))
        continue;
      hasMain = true;
      function.setSymName(("stage0" + name).str());
    }
    if (hasMain)
      return;
    getOperation().emitError("has no function @main to cut into stages");
    signalPassFailure();
  }
};

} // namespace
} // namespace shardc::stage
