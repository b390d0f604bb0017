//===- ElementTypes.cpp - ONNX's tensor element types ---------------------===//

#include "dialects/onnx/ElementTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace shardc::onnx {

Type elementTypeOf(int64_t number, MLIRContext *context) {
  Builder b(context);
  auto unsignedType = [&](unsigned width) {
    return b.getIntegerType(width, /*isSigned=*/false);
  };
  switch (number) {
  case 1:
    return b.getF32Type();
  case 2:
    return unsignedType(8);
  case 3:
    return b.getIntegerType(8);
  case 4:
    return unsignedType(16);
  case 5:
    return b.getIntegerType(16);
  case 6:
    return b.getI32Type();
  case 7:
    return b.getI64Type();
  case 9:
    return b.getI1Type();
  case 10:
    return b.getF16Type();
  case 11:
    return b.getF64Type();
  case 12:
    return unsignedType(32);
  case 13:
    return unsignedType(64);
  case 16:
    return b.getBF16Type();
  case 17:
    return Float8E4M3FNType::get(context);
  case 18:
    return Float8E4M3FNUZType::get(context);
  case 19:
    return Float8E5M2Type::get(context);
  case 20:
    return Float8E5M2FNUZType::get(context);
  case 21:
    return unsignedType(4);
  case 22:
    return b.getIntegerType(4);
  case 23:
    return Float4E2M1FNType::get(context);
  case 24:
    return Float8E8M0FNUType::get(context);
  case 25:
    return unsignedType(2);
  case 26:
    return b.getIntegerType(2);
  default:
    return {};
  }
}

int64_t elementNumberOf(Type type) {
  int64_t number = 1;
  while (elementTypeOf(number, type.getContext()) != type)
    ++number;
  return number;
}

bool isStored(Type type) {
  return type.isInteger(1) || type.getIntOrFloatBitWidth() >= 8;
}

} // namespace shardc::onnx
