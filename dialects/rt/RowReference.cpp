//===- RowReference.cpp - What a kernel computes of a row, plainly --------===//

#include "dialects/rt/RowReference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <cmath>
#include <functional>

using namespace mlir;

namespace shardc::rt {

double roundedTo(Type type, double v, bool roundsSingle) {
  auto real = dyn_cast<FloatType>(type);
  if (!real)
    return v;
  if (real.isF32())
    return roundsSingle ? static_cast<float>(v) : v;
  llvm::APFloat number(static_cast<float>(v));
  bool isInexact;
  number.convert(real.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                 &isInexact);
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return number.convertToDouble();
}

namespace {

using Function = std::function<double(llvm::ArrayRef<double>)>;

double constantOf(arith::ConstantOp op) {
  if (auto real = dyn_cast<FloatAttr>(op.getValue()))
    return real.getValueAsDouble();
  return cast<IntegerAttr>(op.getValue()).getValue().getZExtValue();
}

bool compares(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  const bool isUnordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !isUnordered && a != b;
  case P::ORD:
    return !isUnordered;
  case P::UEQ:
    return isUnordered || a == b;
  case P::UGT:
    return isUnordered || a > b;
  case P::UGE:
    return isUnordered || a >= b;
  case P::ULT:
    return isUnordered || a < b;
  case P::ULE:
    return isUnordered || a <= b;
  case P::UNE:
    return isUnordered || a != b;
  case P::UNO:
    return isUnordered;
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  }
  llvm_unreachable("a predicate");
}

/// Null for what is unknown.
Function functionOf(Operation &op) {
  using Args = llvm::ArrayRef<double>;
  auto unary = [](double (*f)(double)) -> Function {
    return [f](Args x) { return f(x[0]); };
  };
  return llvm::TypeSwitch<Operation *, Function>(&op)
      .Case([](arith::ConstantOp c) -> Function {
        return [v = constantOf(c)](Args) { return v; };
      })
      .Case([](arith::CmpFOp c) -> Function {
        return [p = c.getPredicate()](Args x) {
          return double(compares(p, x[0], x[1]));
        };
      })
      .Case<arith::AddFOp>(
          [](auto) -> Function { return [](Args x) { return x[0] + x[1]; }; })
      .Case<arith::SubFOp>(
          [](auto) -> Function { return [](Args x) { return x[0] - x[1]; }; })
      .Case<arith::MulFOp>(
          [](auto) -> Function { return [](Args x) { return x[0] * x[1]; }; })
      .Case<arith::DivFOp>(
          [](auto) -> Function { return [](Args x) { return x[0] / x[1]; }; })
      .Case<arith::NegFOp>(
          [](auto) -> Function { return [](Args x) { return -x[0]; }; })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [](auto) -> Function { return [](Args x) { return x[0]; }; })
      .Case<arith::SelectOp>([](auto) -> Function {
        return [](Args x) { return x[0] != 0 ? x[1] : x[2]; };
      })
      .Case<arith::AndIOp>([](auto) -> Function {
        return [](Args x) { return double(x[0] != 0 && x[1] != 0); };
      })
      .Case<arith::OrIOp>([](auto) -> Function {
        return [](Args x) { return double(x[0] != 0 || x[1] != 0); };
      })
      .Case<arith::XOrIOp>([](auto) -> Function {
        return [](Args x) { return double((x[0] != 0) != (x[1] != 0)); };
      })
      .Case<math::AbsFOp>([&](auto) { return unary(std::fabs); })
      .Case<math::CeilOp>([&](auto) { return unary(std::ceil); })
      .Case<math::FloorOp>([&](auto) { return unary(std::floor); })
      .Case<math::RoundEvenOp>([&](auto) { return unary(std::nearbyint); })
      .Case<math::ErfOp>([&](auto) { return unary(std::erf); })
      .Case<math::ErfcOp>([&](auto) { return unary(std::erfc); })
      .Case<math::ExpOp>([&](auto) { return unary(std::exp); })
      .Case<math::SqrtOp>([&](auto) { return unary(std::sqrt); })
      .Case<math::TanhOp>([&](auto) { return unary(std::tanh); })
      .Default(Function());
}

void raise(double &magnitude, double value) {
  if (std::isfinite(value))
    magnitude = std::max(magnitude, std::fabs(value));
}

} // namespace

/// Each column gets all columns' result.
RowValues RowReference::reduce(ReduceOp op) {
  const RowValues &x = values[op.getValue()];
  const bool isSum = op.getKind() == "sum", isMin = op.getKind() == "min";
  const bool passesNaN = op.getKind() != "max_number";
  const double infinity = std::numeric_limits<double>::infinity();
  double result = isSum ? 0 : isMin ? infinity : -infinity, total = 0;
  bool hasNaN = false;
  for (double v : x) {
    raise(total, total + std::fabs(v));
    hasNaN |= std::isnan(v);
    if (isSum)
      result = roundedTo(op.getType(), result + v, roundsSingle);
    else if (isMin ? v < result : v > result)
      result = v;
  }
  if (hasNaN && !isSum && passesNaN)
    result = std::numeric_limits<double>::quiet_NaN();
  for (double &magnitude : magnitudes)
    raise(magnitude, total);
  return RowValues(x.size(), result);
}

LogicalResult RowReference::evaluate(Operation &op, size_t columns) {
  RowValues made(columns);
  if (auto sum = dyn_cast<ReduceOp>(op)) {
    made = reduce(sum);
  } else if (isa<ColumnsOp>(op)) {
    made.assign(columns, static_cast<double>(columns));
  } else {
    const Function function = functionOf(op);
    if (!function)
      return op.emitError("is unknown to the check of generated kernels");
    SmallVector<double, 3> arguments(op.getNumOperands());
    for (size_t c = 0; c < columns; ++c) {
      for (auto [i, operand] : llvm::enumerate(op.getOperands()))
        arguments[i] = values[operand][c];
      made[c] = roundedTo(op.getResult(0).getType(), function(arguments),
                          roundsSingle);
    }
  }
  for (size_t c = 0; c < columns; ++c)
    raise(magnitudes[c], made[c]);
  values[op.getResult(0)] = std::move(made);
  return success();
}

LogicalResult RowReference::run(ArrayRef<RowValues> inputs, size_t columns) {
  Block &body = kernel.getBody().front();
  magnitudes.assign(columns, 0);
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs)) {
    for (size_t c = 0; c < columns; ++c)
      raise(magnitudes[c], input[c]);
    values[argument] = input;
  }
  for (Operation &op : body.without_terminator())
    if (failed(evaluate(op, columns)))
      return failure();
  outputs.clear();
  for (Value result : body.getTerminator()->getOperands())
    outputs.push_back(values[result]);
  return success();
}

/// Errors relative to the largest number that a column comes from.
constexpr double kPerMagnitude = 2e-6;

double rowSample(int64_t row, std::mt19937 &random) {
  std::normal_distribution<double> normal;
  const double plain = normal(random);
  switch (row) {
  case 1:
    return plain * 30;
  case 2:
    return plain * 1e-4;
  case 3:
    return std::array{-1.0, -0.0, 0.0, 1.0, 2.0}[random() % 5];
  case 4:
    return random() % 4 ? plain
                        : std::array{INFINITY, -INFINITY, NAN}[random() % 3];
  }
  return plain;
}

LogicalResult RowResults::run(ArrayRef<RowValues> inputs, size_t columns) {
  return success(succeeded(single.run(inputs, columns)) &&
                 succeeded(exact.run(inputs, columns)));
}

/// Whether the two have so little in common that neither tells anything: what
/// is left of a sum that cancels, say, was divided by.
bool RowResults::isLeftToRounding(double a, double b, size_t column) const {
  if (!std::isfinite(a) || !std::isfinite(b))
    return a != b && !(std::isnan(a) && std::isnan(b));
  const double apart = std::fabs(a - b);
  return apart > std::max(std::fabs(a), std::fabs(b)) / 4 &&
         apart > kPerMagnitude * single.magnitude(column);
}

bool RowResults::allows(unsigned output, size_t column, double found,
                        Type type) const {
  const double a = single.output(output)[column];
  const double b = exact.output(output)[column];
  if (isLeftToRounding(a, b, column))
    return true;
  const double slack =
      std::isfinite(a) && std::isfinite(b) ? 16 * std::fabs(a - b) : 0;
  return isNear(found, a, slack, column, type) ||
         isNear(found, b, slack, column, type);
}

bool RowResults::isNear(double found, double expected, double slack,
                        size_t column, Type type) const {
  if (std::isnan(expected))
    return std::isnan(found);
  if (found == expected)
    return true;
  const int precision = llvm::APFloat::semanticsPrecision(
      isa<FloatType>(type) ? cast<FloatType>(type).getFloatSemantics()
                           : llvm::APFloat::IEEEsingle());
  const double unit = std::ldexp(1.0, 1 - precision);
  const double allowed = slack + std::fabs(expected) * (1e-5 + 2 * unit) +
                         kPerMagnitude * single.magnitude(column) + 1e-37;
  // Past the largest number of its type, rounding decides.
  if (std::isinf(expected) != std::isinf(found))
    return std::isinf(roundedTo(
               type,
               std::copysign(std::fabs(std::isinf(found) ? expected : found) *
                                     1.01 +
                                 allowed,
                             found))) &&
           (found > 0) == (expected > 0);
  return std::fabs(found - expected) <= allowed;
}

} // namespace shardc::rt
