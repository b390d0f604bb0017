//===- RuleSizesTest.cpp - Rules agree with the sizes of all dims ---------===//
//
// Infers every function under tests/dialects/onnx and checks that the factors
// of each op's rule make up the dims of its operands and results. An op without
// such a function fails.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/WholeSums.h"
#include "passes/import/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <set>

using namespace mlir;
using namespace shardc;
using dist::DimExpr;

namespace {

/// Sum of the segments, each a product of its factors.
DimExpr sizeOf(const onnx::ShardingRule &rule, const onnx::RuleDim &dim) {
  DimExpr size;
  for (const auto &segment : dim.segments) {
    DimExpr product = 1;
    for (unsigned factor : segment)
      product = product * rule.factors[factor].size;
    size = size + product;
  }
  return size;
}

void checkTensor(Operation *op, const onnx::ShardingRule &rule,
                 const onnx::RuleTensor &tensor, Value value) {
  SmallVector<DimExpr, 4> dims = dist::getDims(value.getType());
  ASSERT_EQ(tensor.size(), dims.size()) << op->getName().getStringRef().str();
  for (auto [dim, size] : llvm::zip_equal(tensor, dims)) {
    if (dim.segments.empty())
      EXPECT_TRUE(size.isConstant(1))
          << op->getName().getStringRef().str() << " has a dim of "
          << size.str() << " without factors";
    else
      EXPECT_EQ(sizeOf(rule, dim), size)
          << op->getName().getStringRef().str() << " says "
          << sizeOf(rule, dim).str() << " of a dim of " << size.str();
  }
}

void checkRule(onnx::OnnxOp op) {
  onnx::ShardingRule rule = op.shardingRule();
  std::string name = op->getName().getStringRef().str();
  ASSERT_EQ(rule.operands.size(), op->getNumOperands()) << name;
  ASSERT_EQ(rule.results.size(), op->getNumResults()) << name;
  for (auto [tensor, value] : llvm::zip_equal(rule.operands, op->getOperands()))
    checkTensor(op, rule, tensor, value);
  for (auto [tensor, value] : llvm::zip_equal(rule.results, op->getResults()))
    checkTensor(op, rule, tensor, value);
  // A factor to reduce occurs in no result.
  for (const onnx::RuleTensor &tensor : rule.results)
    for (const onnx::RuleDim &dim : tensor)
      for (const auto &segment : dim.segments)
        for (unsigned factor : segment)
          EXPECT_TRUE(
              rule.factors[factor].factorClass != onnx::FactorClass::Reduce &&
              rule.factors[factor].factorClass != onnx::FactorClass::Lookup)
              << name;
}

/// Of a marked op nothing is left that ranks would add up, and all else is as it
/// was.
void checkWholeSums(onnx::OnnxOp op) {
  const std::string name = op->getName().getStringRef().str();
  const onnx::ShardingRule before = onnx::ruleOf(op);
  const bool mayShare = onnx::mayShareSums(op);
  op->setAttr(onnx::kWholeSumsAttr, UnitAttr::get(op->getContext()));
  const onnx::ShardingRule rule = onnx::ruleOf(op);
  ASSERT_EQ(rule.factors.size(), before.factors.size()) << name;
  bool isOther = false;
  for (auto [factor, old] : llvm::zip_equal(rule.factors, before.factors)) {
    EXPECT_FALSE(factor.isInTurn) << name;
    EXPECT_NE(factor.factorClass, onnx::FactorClass::Lookup) << name;
    // Of a choice that stays apart one rank has more than zeros.
    const bool hasOneSummand = factor.isExperts && op->hasAttr("keeps_choices");
    if (factor.factorClass == onnx::FactorClass::Reduce && !hasOneSummand)
      EXPECT_NE(factor.reduceKind, dist::ReduceKind::Sum) << name;
    isOther |= factor.factorClass != old.factorClass ||
               factor.isInTurn != old.isInTurn;
    if (old.factorClass == onnx::FactorClass::PassThrough)
      EXPECT_EQ(factor.factorClass, old.factorClass) << name;
  }
  if (mayShare)
    EXPECT_TRUE(isOther) << name;
}

TEST(RuleSizes, FactorsMakeUpAllDims) {
  MLIRContext context;
  context
      .loadDialect<func::FuncDialect, dist::DistDialect, onnx::OnnxDialect>();
  std::set<std::string> seen;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(SHARDC_ONNX_TESTS, error), end;
       it != end && !error; it.increment(error)) {
    if (!StringRef(it->path()).ends_with(".mlir"))
      continue; // a folder: what it holds is replaced
    auto module = parseSourceFile<ModuleOp>(it->path(), &context);
    ASSERT_TRUE(module) << it->path();
    PassManager passes(&context);
    passes.addPass(import::createInferShapes());
    ASSERT_TRUE(succeeded(passes.run(*module))) << it->path();
    module->walk([&](onnx::OnnxOp op) {
      seen.insert(op->getName().getStringRef().str());
      checkRule(op);
      checkWholeSums(op);
    });
  }
  ASSERT_FALSE(error) << error.message();
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("onnx"))
    if (name.hasInterface<onnx::OnnxOp>()) {
      EXPECT_NE(seen.count(name.getStringRef().str()) != 0,
                name.hasTrait<onnx::IsReplaced>())
          << name.getStringRef().str()
          << ": expected a function under tests/dialects/onnx, or that it goes";
    }
}

} // namespace
