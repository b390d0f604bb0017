//===- VerifyTest.cpp - shardc verify finds what an import gets wrong -----===//

#include "tools/shardc/verify/Verify.h"

#include "dialects/onnx/Onnx.h"
#include "passes/verify/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace shardc;

namespace {

verifier::VerifyOptions optionsFor(const char *model) {
  verifier::VerifyOptions options;
  options.plan.model = std::string(SHARDC_TEST_MODELS "/") + model;
  options.plan.mesh.axes.push_back({"tp", 2});
  options.json = true;
  return options;
}

/// Gives every recovered norm another epsilon: on one rank and on all.
ExitCode breakNorms(StringRef phase, ModuleOp module) {
  if (phase != "imported")
    return ExitCode::Done;
  module.walk([](Operation *op) {
    if (op->getName().getStringRef() == "onnx.RMSNormalization")
      op->setAttr("epsilon",
                  FloatAttr::get(Float32Type::get(op->getContext()), 0.5));
  });
  // What it is now is what a plan has to agree with.
  PassManager passes(module->getContext());
  passes.addPass(verify::createFingerprint());
  return succeeded(passes.run(module)) ? ExitCode::Done : ExitCode::Model;
}

TEST(Verify, findsAWrongRecovery) {
  verifier::VerifyOptions options = optionsFor("llama-dynamo-op18/model.onnx");
  EXPECT_EQ(verifier::verify(options), 0);
  options.plan.afterPhase = breakNorms;
  EXPECT_EQ(verifier::verify(options), 1);
}

/// Without the recovery there is nothing that it could get wrong.
TEST(Verify, agreesWithoutRecovery) {
  verifier::VerifyOptions options = optionsFor("llama-dynamo-op18/model.onnx");
  options.plan.recover = false;
  options.plan.afterPhase = breakNorms;
  EXPECT_EQ(verifier::verify(options), 0);
}

} // namespace
