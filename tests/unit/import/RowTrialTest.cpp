//===- RowTrialTest.cpp - Ops of a step that give rows something else -----===//

#include "passes/import/rows/RowTrial.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace shardc;
using namespace shardc::import;
using dist::DimExpr;

namespace {

/// A request's op with its operands in front, and what stands for it in a step,
/// whose arguments are how the rows lie and then the operands.
struct Tried {
  Tried(const std::string &request, const std::string &step,
        std::vector<RowKind> operands, RowKind result) {
    context
        .loadDialect<func::FuncDialect, dist::DistDialect, onnx::OnnxDialect>();
    module =
        parseSourceString<ModuleOp>(kTypes + "func.func @request" + request +
                                        "func.func @step(" + kRows + step,
                                    &context);
    EXPECT_TRUE(module);
    auto old = module->lookupSymbol<func::FuncOp>("request");
    auto made = module->lookupSymbol<func::FuncOp>("step");
    RowInputs inputs;
    Value RowInputs::*members[] = {&RowInputs::row,
                                   &RowInputs::position,
                                   &RowInputs::first,
                                   &RowInputs::past,
                                   &RowInputs::slots,
                                   &RowInputs::pages,
                                   &RowInputs::copies,
                                   &RowInputs::wanted,
                                   &RowInputs::encoderLengths,
                                   &RowInputs::encoderSlots,
                                   &RowInputs::encoderPages};
    for (auto [i, member] : llvm::enumerate(members))
      inputs.*member = made.getArgument(unsigned(i));
    const RowSizes sizes{DimExpr::symbol("b"), DimExpr::symbol("s"),
                         DimExpr::symbol("past"), 2, DimExpr::symbol("e")};
    std::vector<RowTrial::Port> ports;
    for (auto [i, kind] : llvm::enumerate(operands))
      ports.push_back({old.getArgument(unsigned(i)),
                       made.getArgument(unsigned(i + std::size(members))),
                       kind});
    RowTrial trial(sizes, inputs);
    difference = trial.differenceOf(
        &old.front().front(), ports,
        {{old.front().getTerminator()->getOperand(0),
          made.front().getTerminator()->getOperand(0), result}});
    isKnown = trial.numTried == 1 && trial.numUnknown == 0;
  }

  std::string difference;
  bool isKnown = false;

private:
  static const std::string kTypes, kRows;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

const std::string Tried::kTypes = R"(
!x = tensor<?x?x4xf32, #dist.value<dims = [b, s, 4]>>
!t = tensor<1x?x4xf32, #dist.value<dims = [1, "tokens of a step", 4]>>
!mask = tensor<?x?xi64, #dist.value<dims = [b, past + s]>>
!masks = tensor<?x1x?xi64, #dist.value<dims = ["rows of a step", 1, "pages of a row" * 2]>>
!sum = tensor<?xi64, #dist.value<dims = [b]>>
!sums = tensor<?x1xi64, #dist.value<dims = ["rows of a step", 1]>>
!past = tensor<?x3x?x4xf32, #dist.value<dims = [b, 3, past, 4]>>
!new = tensor<?x3x?x4xf32, #dist.value<dims = [b, 3, s, 4]>>
!present = tensor<?x3x?x4xf32, #dist.value<dims = [b, 3, past + s, 4]>>
!pool = tensor<?x3x2x4xf32, #dist.value<dims = ["pages of a pool", 3, 2, 4]>>
!added = tensor<1x3x?x4xf32, #dist.value<dims = [1, 3, "tokens of a step", 4]>>
!tokens = tensor<?xi64, #dist.value<dims = ["tokens of a step"]>>
!wanted = tensor<?xi64, #dist.value<dims = ["wanted tokens"]>>
!rows = tensor<?xi64, #dist.value<dims = ["rows of a step"]>>
!first = tensor<?xi64, #dist.value<dims = ["rows of a step" + 1]>>
!pages = tensor<?x?xi64, #dist.value<dims = ["rows of a step", "pages of a row"]>>
!copies = tensor<?x2xi64, #dist.value<dims = ["copied pages", 2]>>
!keys = tensor<?x3x?x4xf32, #dist.value<dims = [b, 3, e, 4]>>
!given = tensor<?xi64, #dist.value<dims = ["encoder keys of a step"]>>
!ofEncoder = tensor<?x?xi64, #dist.value<dims = ["rows of a step", "pages of encoder keys"]>>
)";
const std::string Tried::kRows =
    "%row: !tokens, %position: !tokens, %first: !first, %past: !rows, "
    "%slots: !tokens, %pages: !pages, %copies: !copies, %wanted: !wanted, "
    "%lengths: !rows, %given: !given, %ofEncoder: !ofEncoder, ";

const std::string kProduct = R"((%x: !x, %w: tensor<4x4xf32>) -> !x {
  %y = onnx.MatMul %x, %w : (!x, tensor<4x4xf32>) -> !x
  return %y : !x
}
)";

TEST(RowTrial, PositionsOneByOne) {
  const Tried same(kProduct, R"(%x: !t, %w: tensor<4x4xf32>) -> !t {
    %y = onnx.MatMul %x, %w : (!t, tensor<4x4xf32>) -> !t
    return %y : !t
  })",
                   {RowKind::Tokens, RowKind::Shared}, RowKind::Tokens);
  EXPECT_EQ(same.difference, "");
  EXPECT_TRUE(same.isKnown);
  // Each token of a row by its place in the row, but of the first row.
  const Tried other(kProduct, R"(%x: !t, %w: tensor<4x4xf32>) -> !t {
    %z = onnx.Gather %x, %row {axis = 1 : i64} : (!t, !tokens) -> !t
    %y = onnx.MatMul %z, %w : (!t, tensor<4x4xf32>) -> !t
    return %y : !t
  })",
                    {RowKind::Tokens, RowKind::Shared}, RowKind::Tokens);
  EXPECT_NE(other.difference.find("row 0: element [0, 1, 0]"),
            std::string::npos)
      << other.difference;
}

/// Keys behind those that a row has are not its.
TEST(RowTrial, SumsOfKeys) {
  const std::string sum = R"((%x: !mask) -> !sum {
    %y = onnx.ReduceSum %x {axes = array<i64: 1>, keepdims = 0 : i64} : (!mask) -> !sum
    return %y : !sum
  }
  )";
  const Tried other(sum, R"(%x: !masks) -> !sums {
    %y = onnx.ReduceSum %x {axes = array<i64: 2>, keepdims = 0 : i64} : (!masks) -> !sums
    return %y : !sums
  })",
                    {RowKind::OfRows}, RowKind::OfRows);
  EXPECT_NE(other.difference, "");
}

TEST(RowTrial, EntriesOfPools) {
  const std::string append = R"((%past: !past, %new: !new) -> !present {
    %y = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
    return %y : !present
  }
  )";
  const std::vector<RowKind> kinds = {RowKind::Pool, RowKind::Tokens};
  const Tried same(append, R"(%pool: !pool, %new: !added) -> !pool {
    %y = onnx.PageWrite %pool, %new, %slots, %copies {axis = 2 : i64} : (!pool, !added, !tokens, !copies) -> !pool
    return %y : !pool
  })",
                   kinds, RowKind::Pool);
  EXPECT_EQ(same.difference, "");
  EXPECT_TRUE(same.isKnown);
  const Tried other(append, R"(%pool: !pool, %new: !added) -> !pool {
    %y = onnx.PageWrite %pool, %new, %position, %copies {axis = 2 : i64} : (!pool, !added, !tokens, !copies) -> !pool
    return %y : !pool
  })",
                    kinds, RowKind::Pool);
  EXPECT_NE(other.difference, "");
}

/// All keys of the encoder, none of the row's own.
TEST(RowTrial, KeysOfEncoders) {
  const std::string attention = R"((%q: !new, %k: !keys, %v: !keys) -> !new {
    %y = onnx.Attention %q, %k, %v {scale = 1.0 : f32} : (!new, !keys, !keys) -> !new
    return %y : !new
  }
  )";
  const auto step = [](std::string pages, std::string before) {
    return R"(%q: !added, %k: !pool, %v: !pool) -> !added {
      %end = onnx.Slice %first {bounds = #dist.dims<[1]>, steps = array<i64: 1>} : (!first) -> !rows
      %begin = onnx.Slice %first {bounds = #dist.dims<[0]>, steps = array<i64: 1>} : (!first) -> !rows
      %counts = onnx.Sub %end, %begin : (!rows, !rows) -> !rows
      %before = onnx.Sub %lengths, %counts : (!rows, !rows) -> !rows
      %y = onnx.PagedAttention %q, %k, %v, )" +
           pages + ", " + before +
           R"(, %first {scale = 1.0 : f32} : (!added, !pool, !pool, )" +
           (pages == "%pages" ? "!pages" : "!ofEncoder") +
           R"(, !rows, !first) -> !added
      return %y : !added
    })";
  };
  const std::vector<RowKind> kinds = {RowKind::Tokens, RowKind::Pool,
                                      RowKind::Pool};
  const Tried same(attention, step("%ofEncoder", "%before"), kinds,
                   RowKind::Tokens);
  EXPECT_EQ(same.difference, "");
  EXPECT_TRUE(same.isKnown);
  for (const auto &[pages, before] : {std::pair("%pages", "%before"),
                                      {"%ofEncoder", "%past"},
                                      {"%pages", "%past"}}) {
    const Tried other(attention, step(pages, before), kinds, RowKind::Tokens);
    EXPECT_NE(other.difference, "") << pages << ", " << before;
  }
}

} // namespace
