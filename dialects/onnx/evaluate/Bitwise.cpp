//===- Bitwise.cpp - What BitShift and BitwiseAnd compute -----------------===//
//
// Of unsigned integers that a double holds.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Bitwise.h"
#include "dialects/onnx/evaluate/Elementwise.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

static bool holdsBits(const Call &call) {
  auto type = dyn_cast<IntegerType>(call.operand(0).element);
  return type && type.isUnsigned() && type.getWidth() <= 32;
}

static Outcome shift(Call &call) {
  if (!holdsBits(call))
    return Outcome::Unknown;
  if (cast<BitShiftOp>(call.op).getDirection() == "RIGHT")
    return binary(call, [](double a, double b) {
      return std::floor(std::ldexp(a, -int(b)));
    });
  return binary(call, [](double a, double b) { return std::ldexp(a, int(b)); });
}

void addBitwise(Evaluators &all) {
  all.add<BitShiftOp>(shift);
  all.add<BitwiseAndOp>([](Call &call) {
    if (!holdsBits(call))
      return Outcome::Unknown;
    return binary(call, [](double a, double b) {
      return double(uint64_t(a) & uint64_t(b));
    });
  });
}

} // namespace shardc::onnx::evaluate
