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

double roundedTo(Type type, double v) {
  auto real = dyn_cast<FloatType>(type);
  if (!real || real.isF64())
    return v;
  if (real.isF32())
    return static_cast<float>(v);
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

/// What one step of f32 may be away from its exact result, relative to that:
/// twice the unit of rounding, for fused and reciprocal forms.
constexpr double kStep = 0x1p-23;
/// ... of functions that are expanded, and where they begin to flush to zero.
constexpr double kExpansion = 1e-6;
constexpr double kLeast = 1e-37;

/// Error of a step itself.
double stepError(Operation &op, double value) {
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
          math::SqrtOp>(op))
    return kStep * std::fabs(value) + kLeast;
  if (isa<math::ExpOp, math::ErfcOp>(op))
    return kExpansion * std::fabs(value) + kLeast;
  if (isa<math::ErfOp, math::TanhOp>(op)) // of absolute accuracy about zero
    return kExpansion * std::max(std::fabs(value), 0.1) + kLeast;
  return 0;
}

/// How far `other` is from `value`; infinite if only one is a finite number.
double distance(double value, double other) {
  if (value == other || (std::isnan(value) && std::isnan(other)))
    return 0;
  return std::isfinite(value) && std::isfinite(other)
             ? std::fabs(value - other)
             : std::numeric_limits<double>::infinity();
}

/// The farthest that a result gets where each argument is at one of its bounds.
/// Between them it is not farther: steps are monotone in each argument.
double inheritedError(const Function &function, ArrayRef<Bounded> arguments,
                      double value) {
  if (llvm::all_of(arguments, [](Bounded x) { return x.error == 0; }))
    return 0;
  double error = 0;
  SmallVector<double, 3> corner(arguments.size());
  for (unsigned which = 0; which < 1u << arguments.size(); ++which) {
    for (auto [i, argument] : llvm::enumerate(arguments))
      corner[i] = argument.value + (which >> i & 1 ? 1 : -1) * argument.error;
    error = std::max(error, distance(value, function(corner)));
  }
  return error;
}

/// Whether the step is not monotone between the bounds of its arguments, so that
/// its result is anything (division), or true and false (comparison).
bool crosses(Operation &op, ArrayRef<Bounded> arguments) {
  if (isa<arith::DivFOp>(op))
    return arguments[1].error > 0 &&
           std::fabs(arguments[1].value) <= arguments[1].error;
  if (!isa<arith::CmpFOp>(op))
    return false;
  const double apart = std::fabs(arguments[0].value - arguments[1].value);
  const double error = arguments[0].error + arguments[1].error;
  return error > 0 && apart <= error;
}

Bounded select(ArrayRef<Bounded> arguments) {
  const bool isFirst = arguments[0].value != 0;
  Bounded chosen = arguments[isFirst ? 1 : 2];
  const Bounded &other = arguments[isFirst ? 2 : 1];
  if (arguments[0].error > 0)
    chosen.error = std::max(chosen.error,
                            distance(chosen.value, other.value) + other.error);
  return chosen;
}

Bounded step(Operation &op, const Function &function,
             ArrayRef<Bounded> arguments) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (isa<arith::SelectOp>(op))
    return select(arguments);
  SmallVector<double, 3> at;
  for (const Bounded &argument : arguments)
    at.push_back(argument.value);
  Bounded made{function(at)};
  if (llvm::any_of(arguments,
                   [](Bounded x) { return !std::isfinite(x.error); }))
    made.error = kInfinity;
  else if (crosses(op, arguments))
    made.error = isa<arith::CmpFOp>(op) ? 1 : kInfinity;
  else
    made.error = inheritedError(function, arguments, made.value) +
                 (std::isfinite(made.value) ? stepError(op, made.value) : 0);
  return made;
}

/// In the type of an op's result: at the border of two numbers of few bits, it
/// may be either.
Bounded rounded(Type type, Bounded exact) {
  Bounded made{roundedTo(type, exact.value), exact.error};
  if (!isa<FloatType>(type) || !std::isfinite(exact.value) ||
      !std::isfinite(exact.error))
    return made;
  const double apart = std::max(
      distance(made.value, roundedTo(type, exact.value - exact.error)),
      distance(made.value, roundedTo(type, exact.value + exact.error)));
  if (!type.isF32() || !std::isfinite(apart))
    made.error = apart;
  return made;
}

} // namespace

/// In any order of additions.
Bounded RowReference::reduce(ReduceOp op) {
  const Row &row = values[op.getValue()];
  const bool isSum = op.getKind() == "sum", isMin = op.getKind() == "min";
  const bool passesNaN = op.getKind() != "max_number";
  const double infinity = std::numeric_limits<double>::infinity();
  Bounded made{isSum ? 0 : isMin ? infinity : -infinity, 0};
  double total = 0;
  bool hasNaN = false;
  for (const Bounded &x : row) {
    total += std::fabs(x.value) + x.error;
    hasNaN |= std::isnan(x.value);
    if (isSum)
      made.value += x.value;
    else if (isMin ? x.value < made.value : x.value > made.value)
      made.value = x.value;
    made.error = isSum ? made.error + x.error : std::max(made.error, x.error);
  }
  if (hasNaN && !isSum && passesNaN)
    made.value = std::numeric_limits<double>::quiet_NaN();
  if (isSum && std::isfinite(made.value))
    made.error += kStep * row.size() * total;
  return rounded(op.getType(), made);
}

LogicalResult RowReference::evaluate(Operation &op, size_t columns) {
  Row made(columns);
  if (auto sum = dyn_cast<ReduceOp>(op)) {
    made.assign(columns, reduce(sum));
  } else if (isa<ColumnsOp>(op)) {
    made.assign(columns, Bounded{static_cast<double>(columns)});
  } else {
    const Function function = functionOf(op);
    if (!function)
      return op.emitError("is unknown to the check of generated kernels");
    SmallVector<Bounded, 3> arguments(op.getNumOperands());
    for (size_t c = 0; c < columns; ++c) {
      for (auto [i, operand] : llvm::enumerate(op.getOperands()))
        arguments[i] = values[operand][c];
      made[c] =
          rounded(op.getResult(0).getType(), step(op, function, arguments));
    }
  }
  values[op.getResult(0)] = std::move(made);
  return success();
}

LogicalResult RowReference::run(ArrayRef<RowValues> inputs, size_t columns) {
  Block &body = kernel.getBody().front();
  largest.assign(columns, 0);
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs)) {
    Row &row = values[argument];
    row.clear();
    for (size_t c = 0; c < columns; ++c) {
      row.push_back({input[c]});
      if (std::isfinite(input[c]))
        largest[c] = std::max(largest[c], std::fabs(input[c]));
    }
  }
  for (Operation &op : body.without_terminator())
    if (failed(evaluate(op, columns)))
      return failure();
  outputs.clear();
  for (Value result : body.getTerminator()->getOperands())
    outputs.push_back(values[result]);
  return success();
}

bool RowReference::allows(unsigned output, size_t column, double found,
                          Type type) const {
  const auto [expected, error] = outputs[output][column];
  if (!std::isfinite(error) || found == expected)
    return true;
  if (std::isnan(expected) || std::isnan(found))
    return std::isnan(expected) && std::isnan(found);
  const llvm::fltSemantics &semantics =
      isa<FloatType>(type) ? cast<FloatType>(type).getFloatSemantics()
                           : llvm::APFloat::IEEEsingle();
  const double unit =
      std::ldexp(1.0, 1 - int(llvm::APFloat::semanticsPrecision(semantics)));
  // Subnormals are that far apart, however small they are.
  const double least =
      llvm::APFloat::getSmallest(semantics).convertToDouble() + kLeast;
  // An op may be written in a form that cancels where the body's does not, as
  // x (1 + erf(x)) for x erfc(-x): what is left there is of the inputs' size.
  const double allowed = 4 * error + std::fabs(expected) * (1e-5 + 2 * unit) +
                         2e-6 * largest[column] + least;
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
  case 5:
    return plain * 1e-7;
  }
  return plain;
}

} // namespace shardc::rt
