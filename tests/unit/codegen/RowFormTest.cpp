//===- RowFormTest.cpp - What kernels are called with ---------------------===//

#include "compiler/codegen/rows/RowForm.h"
#include "compiler/codegen/rows/RowEmitter.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace shardc;

namespace {

/// "Float32 column, Bool row; 1 inputs, 0 slots"
std::string formOf(const char *text) {
  mlir::DialectRegistry registry;
  codegen::registerRowDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return "";
  const artifact::GeneratedForm form =
      codegen::generatedForm(*module->getOps<rt::KernelOp>().begin());
  std::string said;
  for (const artifact::GeneratedOperand &operand : form.operands)
    said += std::string(said.empty() ? "" : ", ") +
            artifact::EnumNameElementType(operand.element) +
            (operand.isPerRow ? " row" : " column");
  return said + "; " + std::to_string(form.numInputs) + " inputs, " +
         std::to_string(form.slots) + " slots" +
         (form.mixesColumns ? ", mixed" : "");
}

TEST(RowForm, keepsWhatIsDear) {
  EXPECT_EQ(formOf(R"mlir(
rt.kernel @softmax ["column"] -> ["column"] {
^bb0(%x: f32):
  %max = rt.reduce "max" %x : f32
  %0 = arith.subf %x, %max : f32
  %e = math.exp %0 : f32
  %sum = rt.reduce "sum" %e : f32
  %y = arith.divf %e, %sum : f32
  rt.yield %y : f32
})mlir"),
            "Float32 column, Float32 column; 1 inputs, 1 slots, mixed");
}

TEST(RowForm, storesOneARow) {
  EXPECT_EQ(formOf(R"mlir(
rt.kernel @mean ["column"] -> ["row"] {
^bb0(%x: f32):
  %sum = rt.reduce "sum" %x : f32
  %count = rt.columns : f32
  %mean = arith.divf %sum, %count : f32
  rt.yield %mean : f32
})mlir"),
            "Float32 column, Float32 row; 1 inputs, 0 slots, mixed");
}

TEST(RowForm, tellsTypesApart) {
  EXPECT_EQ(formOf(R"mlir(
rt.kernel @choose ["column", "column", "row"] -> ["column"] {
^bb0(%c: i1, %x: bf16, %s: f32):
  %0 = arith.extf %x : bf16 to f32
  %1 = arith.select %c, %0, %s : f32
  %y = arith.truncf %1 : f32 to bf16
  rt.yield %y : bf16
})mlir"),
            "Bool column, BFloat16 column, Float32 row, BFloat16 column; "
            "3 inputs, 0 slots");
}

} // namespace
