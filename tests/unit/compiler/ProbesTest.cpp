#include "compiler/probe/Probes.h"
#include "compiler/Pipeline.h"
#include "dialects/onnx/FunctionInfo.h"

#include "dialects/dist/Dist.h"
#include "passes/verify/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace shardc;

namespace {

constexpr char kModel[] = R"(
!x = tensor<?x16xf32, #dist.value<dims = [batch, 16]>>
!w = tensor<16x16xf32, #dist.value<dims = [16, 16]>>
func.func @main(%x: !x {onnx.name = "x"}) -> (!x {onnx.name = "y"}) {
  %w0 = onnx.Weight {file = "w", length = 1024 : i64, name = "w0", offset = 0 : i64} : () -> !w
  %w1 = onnx.Weight {file = "w", length = 1024 : i64, name = "w1", offset = 1024 : i64} : () -> !w
  %0 = onnx.MatMul %x, %w0 : (!x, !w) -> !x
  %1 = onnx.Relu %0 : (!x) -> !x
  %2 = onnx.MatMul %1, %w1 : (!x, !w) -> !x
  %3 = onnx.Relu %2 : (!x) -> !x
  return %3 : !x
})";

class ProbesTest : public testing::Test {
protected:
  void SetUp() override { prepareContext(context); }

  /// The model in phase partitioned.
  OwningOpRef<ModuleOp> partition(ArrayRef<dist::Axis> axes) {
    auto module = parseSourceString<ModuleOp>(kModel, &context);
    dist::Mesh mesh;
    mesh.axes.assign(axes.begin(), axes.end());
    OpBuilder builder(module->getBodyRegion());
    dist::MeshOp::create(builder, module->getLoc(), "mesh",
                         dist::MeshAttr::get(&context, mesh));
    PassManager passes(&context);
    passes.addPass(verify::createFingerprint());
    for (StringRef phase : {"sharded", "staged", "partitioned"})
      buildPhase(passes, phase);
    EXPECT_TRUE(succeeded(passes.run(*module)));
    return module;
  }

  MLIRContext context;
};

size_t count(const std::vector<probe::Probe> &probes, StringRef op) {
  return llvm::count_if(probes, [&](const auto &p) { return p.op == op; });
}

TEST_F(ProbesTest, TermsAreThoseOfOneRank) {
  auto one = probe::listProbes(*partition({{"tp", 1}}));
  auto plan = probe::listProbes(*partition({{"tp", 2}}));
  ASSERT_EQ(one.size(), 4u); // no weights
  EXPECT_GT(plan.size(), one.size());
  EXPECT_GE(count(plan, "dist.all_reduce"), 1u);
  for (const probe::Probe &value : plan)
    EXPECT_TRUE(llvm::any_of(one, [&](const auto &other) {
      return other.term == value.term;
    })) << value.op;
}

TEST_F(ProbesTest, KnowWhatTheyAreComputedFrom) {
  auto probes = probe::listProbes(*partition({{"pp", 2}, {"tp", 2}}));
  EXPECT_EQ(probes.front().from, std::vector<size_t>());
  EXPECT_EQ(probes.front().stage, 0);
  EXPECT_EQ(probes.back().stage, 1);
  for (size_t i = 1; i < probes.size(); ++i) {
    ASSERT_EQ(probes[i].from.size(), 1u) << probes[i].op;
    EXPECT_EQ(probes[i].from[0], i - 1) << "a chain, across stages too";
  }
}

TEST_F(ProbesTest, BecomeOutputs) {
  OwningOpRef<ModuleOp> module = partition({{"pp", 2}, {"tp", 2}});
  const size_t last = probe::listProbes(*module).size() - 1;
  probe::exposeProbes(*module, {last, 0});
  EXPECT_TRUE(succeeded(mlir::verify(*module)));
  std::map<int64_t, int64_t> stageOfOutput;
  for (auto function : module->getOps<func::FuncOp>()) {
    if (!onnx::FunctionInfo(function).isProgram())
      continue;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      stageOfOutput[onnx::FunctionInfo(function).modelOutput(i)] =
          onnx::FunctionInfo(function).stage();
      EXPECT_FALSE(dist::getSharding(function.getResultTypes()[i]).isPartial());
    }
  }
  EXPECT_EQ(stageOfOutput,
            (std::map<int64_t, int64_t>{{0, 1}, {1, 1}, {2, 0}}));
}

TEST_F(ProbesTest, ThereIsOneProfile) {
  OwningOpRef<ModuleOp> module = partition({{"tp", 2}});
  EXPECT_FALSE(probe::keepProfile(*module, 1));
  EXPECT_TRUE(probe::keepProfile(*module, 0));
  EXPECT_FALSE(probe::listProbes(*module).empty());
}

} // namespace
