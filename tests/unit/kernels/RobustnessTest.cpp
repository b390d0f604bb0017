// What every kernel must survive: element types it does not know, missing
// operands, dims that differ, sizes of 0.
#include "tests/unit/kernels/KernelTest.h"

namespace shardc::runtime::host {
namespace {

const char *const kUnary[] = {
    "Abs",      "Neg",     "Sign",        "Sqrt",    "Reciprocal", "Exp",
    "Log",      "Erf",     "Cos",         "Sin",     "Tan",        "Floor",
    "Ceil",     "Round",   "Tanh",        "Sigmoid", "Relu",       "Softplus",
    "Softsign", "Elu",     "LeakyRelu",   "Selu",    "HardSwish",  "Mish",
    "Gelu",     "Swish",   "HardSigmoid", "Clip",    "Softmax",    "LogSoftmax",
    "CumSum",   "CumProd", "Acos",        "Acosh",   "Asin",       "Asinh",
    "Atan",     "Atanh",   "Cosh",        "Sinh"};
const char *const kBinary[] = {"Add", "Sub", "Mul", "Div",  "Mod",
                               "Min", "Max", "Pow", "PRelu"};
const char *const kOthers[] = {"Where",
                               "MatMul",
                               "Gemm",
                               "Conv",
                               "Gather",
                               "GatherND",
                               "GatherElements",
                               "ScatterElements",
                               "ScatterND",
                               "TopK",
                               "ArgMax",
                               "ArgMin",
                               "NonZero",
                               "Pad",
                               "RotaryEmbedding",
                               "Attention",
                               "Trilu",
                               "LayerNormalization",
                               "Copy",
                               "Cast",
                               "RMSNormalization",
                               "Once",
                               "Range",
                               "Symbols",
                               "AveragePool",
                               "LpPool",
                               "MaxPool",
                               "GridSample",
                               "BitShift",
                               "BitCast",
                               "Equal",
                               "ReduceSum",
                               "And",
                               "BitwiseAnd",
                               "Not",
                               "IsNaN"};

Attributes axis() { return Attributes().ints("axis", {0}); }

TEST(Kernels, NameTheElementTypeTheyLack) {
  for (const char *kernel : kUnary) {
    const Tensor x = Tensor::filled<Boolean>({2}, Boolean());
    EXPECT_EQ(runKernel(kernel, {x}, {x}, axis()).message(),
              std::string(kernel) + ": no kernel for element type bool");
  }
  for (const char *kernel : kBinary) {
    const Tensor x = Tensor::filled<Boolean>({2}, Boolean());
    EXPECT_EQ(runKernel(kernel, {x, x}, {x}).message(),
              std::string(kernel) + ": no kernel for element type bool");
  }
}

TEST(Kernels, ReportMissingOperands) {
  const auto expectMissing = [](const char *kernel) {
    const Status status = runKernel(kernel, {}, {});
    EXPECT_NE(status.message().find("is missing"), std::string::npos)
        << kernel << ": " << status.message();
  };
  for (const char *kernel : kUnary)
    expectMissing(kernel);
  for (const char *kernel : kBinary)
    expectMissing(kernel);
  for (const char *kernel : kOthers)
    expectMissing(kernel);
}

TEST(Kernels, ReportDimsThatDiffer) {
  const Tensor x = Tensor::filled<float>({2, 3}, 0);
  const Tensor y = Tensor::filled<float>({2, 4}, 0);
  for (const char *kernel : kUnary)
    EXPECT_FALSE(runKernel(kernel, {x}, {y}, axis()).isOk()) << kernel;
  for (const char *kernel : kBinary)
    EXPECT_EQ(runKernel(kernel, {x, y}, {x}).message(),
              std::string(kernel) + ": expected dims [2, 3], found [2, 4]");
}

TEST(Kernels, AcceptEmptyTensors) {
  for (const Dims &dims : {Dims{0}, Dims{2, 0}, Dims{0, 3}, Dims{2, 0, 3}}) {
    const Tensor x = Tensor::filled<float>(dims, 0);
    for (const char *kernel : kUnary)
      EXPECT_OK(runKernel(kernel, {x}, {x}, axis()));
    for (const char *kernel : kBinary)
      EXPECT_OK(runKernel(kernel, {x, x}, {x}));
  }
}

TEST(Kernels, RejectAnAxisOutsideOfTheRank) {
  const Tensor x = Tensor::filled<float>({2, 3}, 0);
  for (const char *kernel : {"Softmax", "LogSoftmax", "CumSum"})
    for (int64_t bad : {-1, 2})
      EXPECT_EQ(runKernel(kernel, {x}, {x}, Attributes().ints("axis", {bad}))
                    .message(),
                std::string(kernel) + ": axis " + std::to_string(bad) +
                    " is outside of rank 2");
}

} // namespace
} // namespace shardc::runtime::host
