#include "compiler/codegen/check/CheckKernels.h"
#include "compiler/codegen/host/HostKernels.h"
#include "compiler/codegen/rows/RowEmitter.h"
#include "dialects/rt/Rt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace shardc;

namespace {

class CheckKernelsTest : public testing::Test {
protected:
  CheckKernelsTest() {
    DialectRegistry registry;
    registry.insert<rt::RtDialect, arith::ArithDialect, math::MathDialect>();
    codegen::registerRowDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler(
        [this](Diagnostic &diagnostic) { message += diagnostic.str(); });
  }

  void SetUp() override {
    if (!codegen::canRun("x86-64-v3"))
      GTEST_SKIP() << "this machine is below x86-64-v3";
  }

  /// A kernel of x and y, one number a column each, or of y one a row.
  OwningOpRef<ModuleOp> kernelOf(const std::string &body,
                                 const std::string &second = "column") {
    return parseSourceString<ModuleOp>(
        "rt.kernel @rows_k [\"column\", \"" + second +
            "\"] -> [\"column\"] {\n^bb0(%x: f32, %y: f32):\n" + body +
            "rt.yield %r : f32\n}",
        &context);
  }

  /// Whether code of `made` passes for that of `expected`.
  bool passes(ModuleOp made, ModuleOp expected) {
    auto libraries = codegen::generateHostKernels(made);
    EXPECT_TRUE(succeeded(libraries));
    bool isRight = true;
    for (const codegen::KernelLibrary &library : *libraries) {
      if (codegen::canRun(library.target))
        isRight &= succeeded(codegen::checkKernels(expected, library.bytes));
    }
    return isRight;
  }

  void expectDiffer(const std::string &a, const std::string &b) {
    auto first = kernelOf(a), second = kernelOf(b);
    EXPECT_TRUE(passes(*first, *first)) << message;
    EXPECT_TRUE(passes(*second, *second)) << message;
    EXPECT_FALSE(passes(*first, *second)) << a << " for " << b;
    EXPECT_FALSE(passes(*second, *first)) << b << " for " << a;
  }

  MLIRContext context;
  std::string message;
};

TEST_F(CheckKernelsTest, TellsOperationsApart) {
  expectDiffer("%r = arith.addf %x, %y : f32\n",
               "%r = arith.subf %x, %y : f32\n");
  expectDiffer("%r = arith.divf %x, %y : f32\n",
               "%r = arith.divf %y, %x : f32\n");
  expectDiffer("%r = math.erf %x : f32\n", "%r = math.tanh %x : f32\n");
}

TEST_F(CheckKernelsTest, SaysWhere) {
  auto sum = kernelOf("%r = arith.addf %x, %y : f32\n");
  auto difference = kernelOf("%r = arith.subf %x, %y : f32\n");
  EXPECT_FALSE(passes(*sum, *difference));
  EXPECT_NE(message.find("generated code computes"), std::string::npos);
  EXPECT_NE(message.find("row 0, column 0 of 37"), std::string::npos)
      << message;
  EXPECT_NE(message.find("--kernels reference"), std::string::npos);
}

TEST_F(CheckKernelsTest, TellsWhatTiesAndUnorderedNumbersGive) {
  auto chosenBy = [](const std::string &predicate) {
    return "%c = arith.cmpf " + predicate +
           ", %x, %y : f32\n%r = arith.select %c, %x, %y : f32\n";
  };
  auto sign = [](const std::string &predicate) {
    return "%c = arith.cmpf " + predicate +
           ", %x, %y : f32\n%one = arith.constant 1.0 : f32\n"
           "%zero = arith.constant 0.0 : f32\n"
           "%r = arith.select %c, %one, %zero : f32\n";
  };
  expectDiffer(sign("olt"), sign("ole"));
  expectDiffer(sign("oeq"), sign("ueq"));
  expectDiffer(chosenBy("ogt"), chosenBy("ugt"));
}

TEST_F(CheckKernelsTest, ReducesRowsThatAreNoMultipleOfVectors) {
  auto meanBy = [](const std::string &kind) {
    return "%s = rt.reduce \"" + kind +
           "\" %x : f32\n%d = arith.subf %x, %s : f32\n"
           "%e = math.exp %d : f32\n%t = rt.reduce \"sum\" %e : f32\n"
           "%q = arith.divf %e, %t : f32\n%r = arith.mulf %q, %y : f32\n";
  };
  auto byMax = kernelOf(meanBy("max"), "row");
  auto byNumber = kernelOf(meanBy("max_number"), "row");
  EXPECT_TRUE(passes(*byMax, *byMax)) << message;
  EXPECT_TRUE(passes(*byNumber, *byNumber)) << message;
}

/// Of rows that are small beside epsilon nearly all is epsilon.
TEST_F(CheckKernelsTest, TellsEpsilonsApart) {
  auto norm = [](const std::string &epsilon) {
    return "%s = arith.mulf %x, %x : f32\n%t = rt.reduce \"sum\" %s : f32\n"
           "%n = rt.columns : f32\n%m = arith.divf %t, %n : f32\n"
           "%e = arith.constant " +
           epsilon +
           " : f32\n%a = arith.addf %m, %e : f32\n%q = math.sqrt %a : f32\n"
           "%d = arith.divf %x, %q : f32\n%r = arith.mulf %d, %y : f32\n";
  };
  expectDiffer(norm("1.0e-5"), norm("1.01e-5"));
  expectDiffer(norm("1.0e-6"), norm("1.001e-6"));
  expectDiffer(norm("1.0e-12"), norm("1.01e-12"));
}

/// p / (sum(p) + eps) of a softmax, as routers have it: of the samples for eps
/// one is -1, and what is left of the sum then is another number in any order.
TEST_F(CheckKernelsTest, LeavesToRoundingWhatIsDividedByNothing) {
  auto renormalized = kernelOf("%e = math.exp %x : f32\n"
                               "%s = rt.reduce \"sum\" %e : f32\n"
                               "%p = arith.divf %e, %s : f32\n"
                               "%t = rt.reduce \"sum\" %p : f32\n"
                               "%d = arith.addf %t, %y : f32\n"
                               "%r = arith.divf %p, %d : f32\n",
                               "row");
  EXPECT_TRUE(passes(*renormalized, *renormalized)) << message;
}

} // namespace
