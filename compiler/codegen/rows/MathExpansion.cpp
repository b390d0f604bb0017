//===- MathExpansion.cpp - exp, erf and tanh in arithmetic ----------------===//
//
// Polynomials are minimax fits; the same as the runtime's own kernels use
// (FloatMath.h), with fused multiply-adds.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/rows/RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace shardc::codegen {

namespace {

/// Arithmetic on f32 or vectors of it.
class Expansion {
public:
  Expansion(OpBuilder &b, Location loc, Type type)
      : b(b), loc(loc), type(type), integer(like(b.getI32Type())) {}

  Value exp(Value x) {
    x = select(less(x, number(-104.f)), number(-104.f), x); // keeps NaN
    auto [power, n] = splitExp(atMost(x, 89.f));
    // 2^n in two factors: n may leave the range of a float's exponent.
    Value half = make<arith::ShRSIOp>(n, whole32(1));
    Value rest = make<arith::SubIOp>(n, half);
    return mul(mul(power, powerOfTwo(half)), powerOfTwo(rest));
  }

  Value tanh(Value x) {
    Value magnitude = make<math::AbsFOp>(x), square = mul(x, x);
    Value tail = polynomial(square, {-3.333328392e-01f, 1.333149128e-01f,
                                     -5.374349740e-02f, 2.065058540e-02f,
                                     -5.717043100e-03f});
    Value small = fma(mul(x, square), tail, x);
    Value bounded = atMost(magnitude, 10.f); // 1 from there on
    Value power = boundedExp(add(bounded, bounded));
    Value large = sub(number(1), div(number(2), add(power, number(1))));
    return select(less(magnitude, number(0.625f)), small, withSign(large, x));
  }

  /// Odd; 1 - e^(-x p(x)) from 1 on.
  Value erf(Value x) {
    Value magnitude = make<math::AbsFOp>(x);
    Value small =
        mul(x, polynomial(mul(x, x), {1.128379166e+00f, -3.761262714e-01f,
                                      1.128360018e-01f, -2.685444464e-02f,
                                      5.189535430e-03f, -8.020842088e-04f,
                                      7.889122233e-05f}));
    Value bounded = atMost(magnitude, 4.f); // 1 from there on
    Value exponent = polynomial(bounded, {1.128696597e+00f, 6.349604622e-01f,
                                          1.065456955e-01f, -2.402270702e-02f,
                                          3.763392010e-03f, -3.520327249e-04f,
                                          1.410503489e-05f});
    Value power = boundedExp(make<arith::NegFOp>(mul(bounded, exponent)));
    Value large = sub(number(1), power);
    return select(less(magnitude, number(1.f)), small, withSign(large, x));
  }

  /// To 6e-8, about what 1 + erf(-x) is rounded to, and 0 from 4 on.
  Value erfc(Value x) {
    Value magnitude = make<math::AbsFOp>(x);
    Value bounded = atMost(magnitude, 4.f);
    Value exponent = polynomial(
        bounded, {1.128380299e+00f, 6.365978718e-01f, 1.029104739e-01f,
                  -1.953093149e-02f, 4.095142649e-04f, 1.186555135e-03f,
                  -4.069177667e-04f, 6.258331996e-05f, -3.859374829e-06f});
    Value power = boundedExp(make<arith::NegFOp>(mul(bounded, exponent)));
    Value right = select(less(number(4.f), magnitude), number(0), power);
    return select(less(x, number(0)), sub(number(2), right), right);
  }

private:
  /// Of x between -87 and 88.
  Value boundedExp(Value x) {
    auto [power, n] = splitExp(x);
    return mul(power, powerOfTwo(n));
  }
  /// e^r with |r| <= ln(2) / 2, and n, such that e^x = e^r 2^n.
  std::pair<Value, Value> splitExp(Value x) {
    const float log2e = 1.44269504f, magic = 12582912.f; // last bit: 1
    Value shifted = fma(x, number(log2e), number(magic));
    Value n = make<arith::SubIOp>(bits(shifted), bits(number(magic)));
    Value whole = sub(shifted, number(magic));
    Value r = fma(whole, number(-0.693359375f), x);
    r = fma(whole, number(2.12194440e-4f), r);
    Value tail =
        polynomial(r, {5.000000101e-01f, 1.666651289e-01f, 4.166618730e-02f,
                       8.369598300e-03f, 1.395171900e-03f});
    return {add(number(1), fma(mul(r, r), tail, r)), n};
  }
  /// The smaller one; NaN stays.
  Value atMost(Value x, float bound) {
    return select(less(number(bound), x), number(bound), x);
  }

  template <typename Op, typename... Args> Value make(Args... args) {
    return Op::create(b, loc, args...);
  }
  Type like(Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
  }
  Value constant(Type of, Attribute value) {
    if (auto vector = dyn_cast<VectorType>(of))
      return make<arith::ConstantOp>(
          TypedAttr(DenseElementsAttr::get(vector, value)));
    return make<arith::ConstantOp>(cast<TypedAttr>(value));
  }
  Value number(float value) { return constant(type, b.getF32FloatAttr(value)); }
  Value whole32(int32_t value) {
    return constant(integer, b.getI32IntegerAttr(value));
  }
  Value add(Value x, Value y) { return make<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return make<arith::DivFOp>(x, y); }
  Value fma(Value x, Value y, Value z) { return make<math::FmaOp>(x, y, z); }
  Value less(Value x, Value y) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return make<arith::SelectOp>(condition, x, y);
  }
  Value withSign(Value x, Value sign) {
    return make<math::CopySignOp>(x, sign);
  }
  Value bits(Value x) { return make<arith::BitcastOp>(integer, x); }
  Value powerOfTwo(Value n) {
    Value biased = make<arith::AddIOp>(n, whole32(127));
    return make<arith::BitcastOp>(
        type, Value(make<arith::ShLIOp>(biased, whole32(23))));
  }
  /// c0 + c1 x + c2 x^2 + ...
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = number(coefficients.back());
    for (float c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(c));
    return sum;
  }

  OpBuilder &b;
  Location loc;
  Type type, integer;
};

} // namespace

void expandMath(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!isa<math::ExpOp, math::ErfOp, math::ErfcOp, math::TanhOp>(op))
      return;
    OpBuilder b(op);
    Expansion expansion(b, op->getLoc(), op->getResult(0).getType());
    Value x = op->getOperand(0);
    Value result = isa<math::ExpOp>(op)    ? expansion.exp(x)
                   : isa<math::ErfOp>(op)  ? expansion.erf(x)
                   : isa<math::ErfcOp>(op) ? expansion.erfc(x)
                                           : expansion.tanh(x);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  });
}

} // namespace shardc::codegen
