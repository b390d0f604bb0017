//===- Folding.cpp - Elements of known values -----------------------------===//

#include "dialects/onnx/Folding.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::fold {

using dist::DimExpr;
using Result = std::optional<KnownScalar>;

static bool areIntegers(const KnownScalar &lhs, const KnownScalar &rhs) {
  return std::holds_alternative<DimExpr>(lhs) &&
         std::holds_alternative<DimExpr>(rhs);
}
static bool areNumbers(const KnownScalar &lhs, const KnownScalar &rhs) {
  return std::holds_alternative<double>(lhs) &&
         std::holds_alternative<double>(rhs);
}
static DimExpr dim(const KnownScalar &value) {
  return std::get<DimExpr>(value);
}
static double number(const KnownScalar &value) {
  return std::get<double>(value);
}

/// Integer arithmetic that does not wrap silently. Only constants can be near
/// the limits: symbols are sizes of tensors in memory.
using Checked = int64_t (*)(int64_t, int64_t, bool &);
static Result integer(const KnownScalar &lhs, const KnownScalar &rhs,
                      Checked checked, DimExpr (*symbolic)(DimExpr, DimExpr)) {
  std::optional<int64_t> a = dim(lhs).asConstant(), b = dim(rhs).asConstant();
  if (!a || !b)
    return symbolic(dim(lhs), dim(rhs));
  bool overflows = false;
  int64_t result = checked(*a, *b, overflows);
  return overflows ? std::nullopt : Result(DimExpr(result));
}

Result add(const FoldSite &, const KnownScalar &lhs, const KnownScalar &rhs) {
  if (areNumbers(lhs, rhs))
    return number(lhs) + number(rhs);
  if (!areIntegers(lhs, rhs))
    return std::nullopt;
  return integer(
      lhs, rhs,
      [](int64_t a, int64_t b, bool &overflows) {
        int64_t result;
        overflows = llvm::AddOverflow(a, b, result);
        return result;
      },
      [](DimExpr a, DimExpr b) { return a + b; });
}

Result sub(const FoldSite &, const KnownScalar &lhs, const KnownScalar &rhs) {
  if (areNumbers(lhs, rhs))
    return number(lhs) - number(rhs);
  if (!areIntegers(lhs, rhs))
    return std::nullopt;
  return integer(
      lhs, rhs,
      [](int64_t a, int64_t b, bool &overflows) {
        int64_t result;
        overflows = llvm::SubOverflow(a, b, result);
        return result;
      },
      [](DimExpr a, DimExpr b) { return a - b; });
}

Result mul(const FoldSite &, const KnownScalar &lhs, const KnownScalar &rhs) {
  if (areNumbers(lhs, rhs))
    return number(lhs) * number(rhs);
  if (!areIntegers(lhs, rhs))
    return std::nullopt;
  return integer(
      lhs, rhs,
      [](int64_t a, int64_t b, bool &overflows) {
        int64_t result;
        overflows = llvm::MulOverflow(a, b, result);
        return result;
      },
      [](DimExpr a, DimExpr b) { return a * b; });
}

/// True once each size that the divisor is a product of is at least 1.
static bool assumePositive(const FoldSite &site, DimExpr divisor) {
  ShapeInference &inference = site.inference;
  if (inference.isKnownAtLeast(divisor, 1))
    return true;
  if (!inference.isKnownAtLeast(divisor, 0))
    return false;
  return succeeded(inference.assume(site.op, GuardKind::AtLeast, divisor, 1,
                                    site.op->getName().stripDialect() +
                                        ": division by " + divisor.str()));
}

Result div(const FoldSite &site, const KnownScalar &lhs,
           const KnownScalar &rhs) {
  if (areNumbers(lhs, rhs))
    return number(lhs) / number(rhs);
  if (!areIntegers(lhs, rhs) || dim(rhs).isConstant(0))
    return std::nullopt;
  std::optional<int64_t> a = dim(lhs).asConstant(), b = dim(rhs).asConstant();
  if (a && b) // ONNX rounds towards zero
    return *b == -1 ? sub(site, DimExpr(), lhs) : Result(DimExpr(*a / *b));
  std::optional<DimExpr> exact = dim(lhs).exactDiv(dim(rhs));
  if (exact && b)
    return *exact;
  bool isFloor = site.inference.isKnownAtLeast(dim(lhs), 0);
  if ((!exact && !isFloor) || !assumePositive(site, dim(rhs)))
    return std::nullopt;
  return exact ? *exact : DimExpr::floorDiv(dim(lhs), dim(rhs));
}

Result mod(const FoldSite &site, const KnownScalar &lhs,
           const KnownScalar &rhs) {
  auto fmod = site.op->getAttrOfType<IntegerAttr>("fmod");
  bool isC = fmod && fmod.getInt() != 0;
  if (areNumbers(lhs, rhs))
    return isC ? Result(std::fmod(number(lhs), number(rhs))) : std::nullopt;
  if (!areIntegers(lhs, rhs) || dim(rhs).isConstant(0))
    return std::nullopt;
  if (isC && !site.inference.isKnownAtLeast(dim(lhs), 0))
    return std::nullopt;
  if (dim(lhs).asConstant() && dim(rhs).asConstant() &&
      !dim(rhs).isKnownAtLeast(1))
    return std::nullopt;
  if (!assumePositive(site, dim(rhs)))
    return std::nullopt;
  return DimExpr::mod(dim(lhs), dim(rhs));
}

Result pow(const FoldSite &site, const KnownScalar &lhs,
           const KnownScalar &rhs) {
  std::optional<double> exponent;
  if (std::holds_alternative<double>(rhs))
    exponent = number(rhs);
  else if (std::optional<int64_t> constant = dim(rhs).asConstant())
    exponent = static_cast<double>(*constant);
  if (!exponent)
    return std::nullopt;
  if (std::holds_alternative<double>(lhs))
    return std::pow(number(lhs), *exponent);
  if (*exponent < 0 || *exponent > 8 || *exponent != std::floor(*exponent))
    return std::nullopt;
  KnownScalar result = DimExpr(1);
  for (int i = 0; i < static_cast<int>(*exponent); ++i) {
    Result next = mul(site, result, lhs);
    if (!next)
      return std::nullopt;
    result = *next;
  }
  return result;
}

Result min(const FoldSite &site, const KnownScalar &lhs,
           const KnownScalar &rhs) {
  if (areNumbers(lhs, rhs))
    return std::isnan(number(lhs)) || std::isnan(number(rhs))
               ? std::nullopt
               : Result(std::min(number(lhs), number(rhs)));
  if (!areIntegers(lhs, rhs))
    return std::nullopt;
  if (site.inference.isKnownAtLeast(dim(rhs) - dim(lhs), 0))
    return lhs;
  return DimExpr::min(dim(lhs), dim(rhs));
}

Result max(const FoldSite &site, const KnownScalar &lhs,
           const KnownScalar &rhs) {
  if (areNumbers(lhs, rhs))
    return std::isnan(number(lhs)) || std::isnan(number(rhs))
               ? std::nullopt
               : Result(std::max(number(lhs), number(rhs)));
  if (!areIntegers(lhs, rhs))
    return std::nullopt;
  if (site.inference.isKnownAtLeast(dim(rhs) - dim(lhs), 0))
    return rhs;
  return DimExpr::max(dim(lhs), dim(rhs));
}

//===----------------------------------------------------------------------===//
// Comparisons and logic
//===----------------------------------------------------------------------===//

static KnownScalar boolean(bool value) { return DimExpr(value ? 1 : 0); }

Result equal(const FoldSite &site, const KnownScalar &lhs,
             const KnownScalar &rhs) {
  if (areNumbers(lhs, rhs))
    return boolean(number(lhs) == number(rhs));
  if (!areIntegers(lhs, rhs))
    return std::nullopt;
  if (dim(lhs) == dim(rhs))
    return boolean(true);
  if (site.inference.isKnownAtLeast(dim(lhs) - dim(rhs), 1) ||
      site.inference.isKnownAtLeast(dim(rhs) - dim(lhs), 1))
    return boolean(false);
  return std::nullopt;
}

Result less(const FoldSite &site, const KnownScalar &lhs,
            const KnownScalar &rhs) {
  if (areNumbers(lhs, rhs))
    return boolean(number(lhs) < number(rhs));
  if (!areIntegers(lhs, rhs))
    return std::nullopt;
  if (site.inference.isKnownAtLeast(dim(rhs) - dim(lhs), 1))
    return boolean(true);
  if (site.inference.isKnownAtLeast(dim(lhs) - dim(rhs), 0))
    return boolean(false);
  return std::nullopt;
}

Result lessOrEqual(const FoldSite &site, const KnownScalar &lhs,
                   const KnownScalar &rhs) {
  if (areNumbers(lhs, rhs))
    return boolean(number(lhs) <= number(rhs));
  Result greaterThan = less(site, rhs, lhs);
  return greaterThan ? Result(boolean(dim(*greaterThan).isConstant(0)))
                     : std::nullopt;
}

Result greater(const FoldSite &site, const KnownScalar &lhs,
               const KnownScalar &rhs) {
  return less(site, rhs, lhs);
}

Result greaterOrEqual(const FoldSite &site, const KnownScalar &lhs,
                      const KnownScalar &rhs) {
  return lessOrEqual(site, rhs, lhs);
}

static std::optional<bool> truth(const KnownScalar &value) {
  if (!std::holds_alternative<DimExpr>(value) || dim(value).isSymbolic())
    return std::nullopt;
  return !dim(value).isConstant(0);
}

Result logicalAnd(const FoldSite &, const KnownScalar &lhs,
                  const KnownScalar &rhs) {
  std::optional<bool> a = truth(lhs), b = truth(rhs);
  return a && b ? Result(boolean(*a && *b)) : std::nullopt;
}

Result logicalOr(const FoldSite &, const KnownScalar &lhs,
                 const KnownScalar &rhs) {
  std::optional<bool> a = truth(lhs), b = truth(rhs);
  return a && b ? Result(boolean(*a || *b)) : std::nullopt;
}

Result logicalXor(const FoldSite &, const KnownScalar &lhs,
                  const KnownScalar &rhs) {
  std::optional<bool> a = truth(lhs), b = truth(rhs);
  return a && b ? Result(boolean(*a != *b)) : std::nullopt;
}

Result logicalNot(const FoldSite &, const KnownScalar &value) {
  std::optional<bool> a = truth(value);
  return a ? Result(boolean(!*a)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Functions of one number
//===----------------------------------------------------------------------===//

Result neg(const FoldSite &site, const KnownScalar &value) {
  if (std::holds_alternative<double>(value))
    return -number(value);
  return sub(site, DimExpr(), value);
}

Result abs(const FoldSite &site, const KnownScalar &value) {
  if (std::holds_alternative<double>(value))
    return std::fabs(number(value));
  if (site.inference.isKnownAtLeast(dim(value), 0))
    return value;
  return dim(value).asConstant() ? neg(site, value) : std::nullopt;
}

template <typename Function>
static Result ofNumber(const KnownScalar &value, Function function) {
  return std::holds_alternative<double>(value)
             ? Result(static_cast<double>(function(number(value))))
             : std::nullopt;
}

Result ceil(const FoldSite &, const KnownScalar &value) {
  return ofNumber(value, [](double x) { return std::ceil(x); });
}
Result floor(const FoldSite &, const KnownScalar &value) {
  return ofNumber(value, [](double x) { return std::floor(x); });
}
Result round(const FoldSite &, const KnownScalar &value) {
  // Halves go to the even neighbour, the default rounding mode.
  return ofNumber(value, [](double x) { return std::nearbyint(x); });
}
Result sqrt(const FoldSite &, const KnownScalar &value) {
  return ofNumber(value, [](double x) { return std::sqrt(x); });
}
Result reciprocal(const FoldSite &, const KnownScalar &value) {
  return ofNumber(value, [](double x) { return 1.0 / x; });
}

Result sign(const FoldSite &site, const KnownScalar &value) {
  if (std::holds_alternative<double>(value))
    return std::isnan(number(value))
               ? std::nullopt
               : Result(double((number(value) > 0) - (number(value) < 0)));
  if (site.inference.isKnownAtLeast(dim(value), 1))
    return DimExpr(1);
  std::optional<int64_t> constant = dim(value).asConstant();
  return constant ? Result(DimExpr((*constant > 0) - (*constant < 0)))
                  : std::nullopt;
}

Result cast(const FoldSite &site, const KnownScalar &value, Type to) {
  bool toFloat = isa<FloatType>(to);
  if (toFloat && to.getIntOrFloatBitWidth() <= 8)
    return std::nullopt; // may saturate
  if (std::holds_alternative<double>(value)) {
    double x = number(value);
    if (toFloat)
      return x;
    if (to.isInteger(1))
      return boolean(x != 0);
    if (!(std::fabs(x) < 9e18)) // NaN too
      return std::nullopt;
    return DimExpr(static_cast<int64_t>(x));
  }
  std::optional<int64_t> constant = dim(value).asConstant();
  if (toFloat)
    return constant ? Result(static_cast<double>(*constant)) : std::nullopt;
  if (!to.isInteger(1))
    return value;
  if (constant)
    return boolean(*constant != 0);
  return site.inference.isKnownAtLeast(dim(value), 1) ? Result(boolean(true))
                                                      : std::nullopt;
}

} // namespace shardc::onnx::fold
