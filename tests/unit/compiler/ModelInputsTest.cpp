#include "compiler/probe/ModelInputs.h"
#include "compiler/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace shardc;
using dist::DimExpr;
using probe::InputKind;

namespace {

/// Ids index a table, positions are angles, a mask is compared.
constexpr char kModel[] = R"(
!ids = tensor<?x?xi64, #dist.value<dims = [batch, seq]>>
!mask = tensor<?x?xi64, #dist.value<dims = [batch, past + seq]>>
!angles = tensor<?x?xf32, #dist.value<dims = [batch, seq]>>
!table = tensor<100x8xf32, #dist.value<dims = [100, 8]>>
!small = tensor<40x8xf32, #dist.value<dims = [40, 8]>>
!rows = tensor<?x?x8xf32, #dist.value<dims = [batch, seq, 8]>>
!hides = tensor<?x?xi1, #dist.value<dims = [batch, past + seq]>>
!zero = tensor<i64, #dist.value<dims = []>>
func.func @main(%ids: !ids {onnx.name = "a"}, %positions: !ids {onnx.name = "b"},
                %mask: !mask {onnx.name = "c"}, %x: !rows {onnx.name = "d"},
                %table: !table {onnx.name = "e"}, %small: !small {onnx.name = "f"})
    -> (!rows, !rows, !angles, !hides) attributes {onnx.when = {g = true}} {
  onnx.Guard #dist.dims<[seq]> "at_most" #dist.dims<[6]> "why"
  onnx.Guard #dist.dims<[past]> "equal" #dist.dims<[seq * 2]> "why"
  %0 = onnx.Gather %table, %ids {axis = 0 : i64} : (!table, !ids) -> !rows
  %1 = onnx.Gather %small, %ids {axis = 0 : i64} : (!small, !ids) -> !rows
  %2 = onnx.Cast %positions : (!ids) -> !angles
  %3 = onnx.Mul %2, %2 : (!angles, !angles) -> !angles
  %4 = onnx.Cos %3 : (!angles) -> !angles
  %zero = onnx.Constant {value = dense<0> : tensor<i64>} : () -> !zero
  %5 = onnx.Equal %mask, %zero : (!mask, !zero) -> !hides
  return %0, %1, %4, %5 : !rows, !rows, !angles, !hides
})";

probe::ModelInputs describe(const char *text = kModel) {
  MLIRContext context;
  prepareContext(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  return probe::describeInputs(*module).front();
}

TEST(ModelInputsTest, KindsFollowFromUses) {
  probe::ModelInputs model = describe();
  ASSERT_EQ(model.inputs.size(), 6u);
  EXPECT_EQ(model.inputs[0].kind, InputKind::Index);
  EXPECT_EQ(model.inputs[0].bound, DimExpr(40)); // of both tables
  EXPECT_EQ(model.inputs[1].kind, InputKind::Position);
  EXPECT_EQ(model.inputs[2].kind, InputKind::Flag);
  EXPECT_EQ(model.inputs[3].kind, InputKind::Number);
  EXPECT_EQ(model.inputs[3].name, "d");
  EXPECT_TRUE(model.when.at("g"));
}

/// What is written at input + 2 is written at places; what is looked up there may
/// be behind the table, and a whole index of two columns names no place.
TEST(ModelInputsTest, PlacesAreWhereSomethingIsWritten) {
  probe::ModelInputs model = describe(R"(
!ids = tensor<?xi64, #dist.value<dims = [seq]>>
!column = tensor<?x1xi64, #dist.value<dims = [seq, 1]>>
!index = tensor<?x2xi64, #dist.value<dims = [seq, 2]>>
!table = tensor<100x8xf32, #dist.value<dims = [100, 8]>>
!rows = tensor<?x8xf32, #dist.value<dims = [seq, 8]>>
!numbers = tensor<?xf32, #dist.value<dims = [seq]>>
func.func @main(%places: !ids {onnx.name = "a"}, %later: !ids {onnx.name = "b"},
                %index: !index {onnx.name = "c"}, %table: !table {onnx.name = "d"},
                %x: !rows {onnx.name = "e"}, %y: !numbers {onnx.name = "f"})
    -> (!table, !rows, !table) {
  %two = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %0 = onnx.Add %places, %two : (!ids, tensor<i64>) -> !ids
  %1 = onnx.Reshape %0 : (!ids) -> !column
  %2 = onnx.ScatterND %table, %1, %x : (!table, !column, !rows) -> !table
  %3 = onnx.Add %later, %two : (!ids, tensor<i64>) -> !ids
  %4 = onnx.Gather %table, %3 {axis = 0 : i64} : (!table, !ids) -> !rows
  %5 = onnx.ScatterND %table, %index, %y : (!table, !index, !numbers) -> !table
  return %2, %4, %5 : !table, !rows, !table
})");
  ASSERT_EQ(model.inputs.size(), 6u);
  EXPECT_EQ(model.inputs[0].kind, InputKind::Place);
  EXPECT_EQ(model.inputs[0].bound, DimExpr(100));
  EXPECT_EQ(model.inputs[1].kind, InputKind::Flag);
  EXPECT_EQ(model.inputs[2].kind, InputKind::Flag);
}

TEST(ModelInputsTest, SizesKeepGuards) {
  probe::ModelInputs model = describe();
  for (unsigned round = 0; round < 4; ++round) {
    auto sizes = probe::chooseSizes(model, {}, round);
    ASSERT_TRUE(sizes);
    EXPECT_LE(sizes->at("seq"), 6);
    EXPECT_EQ(sizes->at("past"), 2 * sizes->at("seq"));
    EXPECT_GE(sizes->at("batch"), 1);
  }
  EXPECT_NE(probe::chooseSizes(model, {}, 0), probe::chooseSizes(model, {}, 1));
  EXPECT_EQ(probe::chooseSizes(model, {}, 2)->at("batch"), 1);
}

TEST(ModelInputsTest, GivenSizesStay) {
  probe::ModelInputs model = describe();
  auto sizes = probe::chooseSizes(model, {{"seq", 4}}, 0);
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->at("seq"), 4);
  EXPECT_EQ(sizes->at("past"), 8);
  EXPECT_FALSE(probe::chooseSizes(model, {{"seq", 7}}, 0)) << "at most 6";
}

} // namespace
