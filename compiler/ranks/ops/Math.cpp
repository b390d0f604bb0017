//===- Math.cpp - Element by element, products, reductions, norms ---------===//

#include "compiler/ranks/RankProgram.h"

#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Normalization.h"
#include "dialects/onnx/ops/Reduction.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc::ranks {

/// Attributes of nodes that compute a rank's part as they compute the whole.
static constexpr StringLiteral kAttributes[] = {
    "alpha",       "beta",          "approximate",
    "fmod",        "direction",     "detect_negative",
    "transA",      "transB",        "detect_positive",
    "axis",        "epsilon",       "stash_type",
    "keepdims",    "exclusive",     "reverse",
    "strides",     "pads",          "dilations",
    "group",       "kernel_shape",  "select_last_index",
    "ceil_mode",   "storage_order", "count_include_pad",
    "p",           "mode",          "align_corners",
    "padding_mode"};

/// Those ops of the dialect that are ONNX's at kOpset, as they stand.
static bool isOnnx(StringRef op) {
  static const llvm::StringSet<> known = {"Relu",
                                          "Sigmoid",
                                          "Tanh",
                                          "Softplus",
                                          "Softsign",
                                          "Mish",
                                          "HardSwish",
                                          "Gelu",
                                          "LeakyRelu",
                                          "Elu",
                                          "HardSigmoid",
                                          "Clip",
                                          "Add",
                                          "Sub",
                                          "Mul",
                                          "Div",
                                          "Pow",
                                          "PRelu",
                                          "Mod",
                                          "Min",
                                          "Max",
                                          "Equal",
                                          "Less",
                                          "LessOrEqual",
                                          "Greater",
                                          "GreaterOrEqual",
                                          "And",
                                          "Or",
                                          "Xor",
                                          "Not",
                                          "IsNaN",
                                          "IsInf",
                                          "Where",
                                          "Abs",
                                          "Ceil",
                                          "Cos",
                                          "Erf",
                                          "Exp",
                                          "Floor",
                                          "Log",
                                          "Reciprocal",
                                          "Round",
                                          "Sign",
                                          "Sin",
                                          "Sqrt",
                                          "Acos",
                                          "Acosh",
                                          "Asin",
                                          "Asinh",
                                          "Atan",
                                          "Atanh",
                                          "Cosh",
                                          "Sinh",
                                          "Tan",
                                          "Neg",
                                          "Softmax",
                                          "LogSoftmax",
                                          "LayerNormalization",
                                          "RMSNormalization",
                                          "MatMul",
                                          "Gemm",
                                          "Conv",
                                          "AveragePool",
                                          "MaxPool",
                                          "LpPool",
                                          "BitwiseAnd",
                                          "BitwiseOr",
                                          "BitwiseXor",
                                          "BitwiseNot",
                                          "BitShift",
                                          "ArgMax",
                                          "ArgMin",
                                          "GridSample"};
  return known.contains(op);
}

static bool isReduction(StringRef op) { return op.starts_with("Reduce"); }

/// A mean of a rank's part is divided by the size of the whole.
static void writeReduction(Operation *op, RankProgram &program) {
  GraphWriter &writer = program.writer;
  auto axes = op->getAttrOfType<DenseI64ArrayAttr>("axes");
  if (!axes)
    return writer.fail("has axes that only the data knows");
  const Tensor x = program.tensor(op->getOperand(0));
  const Tensor dims = writer.integers(axes.asArrayRef());
  const dist::Sharding sharding =
      dist::getSharding(op->getOperand(0).getType());
  const bool isSplit = llvm::any_of(axes.asArrayRef(), [&](int64_t axis) {
    return sharding.dims[axis].isSplit();
  });
  const Value result = op->getResult(0);
  if (!isa<onnx::ReduceMeanOp>(op) || !isSplit)
    return program.makeNode(op, {x, dims}, {"keepdims"});
  dist::DimExpr count = 1;
  for (int64_t axis : axes.asArrayRef())
    count = count * sharding.dims[axis].size();
  const Tensor sum = writer.make(
      "ReduceSum", {x, dims}, program.localDims(result), x.element,
      {{"keepdims", op->getAttrOfType<IntegerAttr>("keepdims").getInt()}});
  const Tensor divisor = writer.cast(
      writer.reshape(writer.sizes(program.rank.size(count)), {}), x.element);
  program.bind(result, writer.binary("Div", sum, divisor));
}

/// x * sigmoid(alpha * x): ONNX has it as one operator from opset 24 on.
static void writeSwish(onnx::SwishOp op, RankProgram &program) {
  GraphWriter &writer = program.writer;
  const Tensor x = program.tensor(op.getInput());
  const double alpha = op.getAlpha().convertToFloat();
  const Tensor scaled =
      alpha == 1 ? x : writer.binary("Mul", x, writer.scalar(x.element, alpha));
  program.bind(op.getResult(),
               writer.binary("Mul", x, writer.unary("Sigmoid", scaled)));
}

static void writeCumSum(onnx::CumSumOp op, RankProgram &program) {
  const int64_t axis = op.getAxis().value_or(0);
  program.makeNode(op,
                   {program.tensor(op.getData()),
                    program.writer.scalar(program.writer.i64(), axis)},
                   {"exclusive", "reverse"});
}

bool writeMathOp(Operation *op, RankProgram &program) {
  const StringRef name = op->getName().stripDialect();
  if (isReduction(name)) {
    writeReduction(op, program);
  } else if (auto swish = dyn_cast<onnx::SwishOp>(op)) {
    writeSwish(swish, program);
  } else if (auto sum = dyn_cast<onnx::CumSumOp>(op)) {
    writeCumSum(sum, program);
  } else if (isOnnx(name)) {
    SmallVector<StringRef> attributes(std::begin(kAttributes),
                                      std::end(kAttributes));
    program.makeNode(op, program.operands(op), attributes);
  } else {
    return false;
  }
  return true;
}

} // namespace shardc::ranks
