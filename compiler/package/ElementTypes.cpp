#include "compiler/package/ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

namespace shardc::package {

std::optional<artifact::ElementType> elementType(Type type) {
  if (type.isF32())
    return artifact::ElementType_Float32;
  if (type.isF64())
    return artifact::ElementType_Float64;
  if (type.isF16())
    return artifact::ElementType_Float16;
  if (type.isBF16())
    return artifact::ElementType_BFloat16;
  if (isa<Float8E4M3FNType>(type))
    return artifact::ElementType_Float8E4M3FN;
  if (isa<Float8E4M3FNUZType>(type))
    return artifact::ElementType_Float8E4M3FNUZ;
  if (isa<Float8E5M2Type>(type))
    return artifact::ElementType_Float8E5M2;
  if (isa<Float8E5M2FNUZType>(type))
    return artifact::ElementType_Float8E5M2FNUZ;
  if (isa<Float8E8M0FNUType>(type))
    return artifact::ElementType_Float8E8M0;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return artifact::ElementType_Bool;
  case 2:
    return isUnsigned ? artifact::ElementType_UInt2
                      : artifact::ElementType_Int2;
  case 4:
    return isUnsigned ? artifact::ElementType_UInt4
                      : artifact::ElementType_Int4;
  case 8:
    return isUnsigned ? artifact::ElementType_UInt8
                      : artifact::ElementType_Int8;
  case 16:
    return isUnsigned ? artifact::ElementType_UInt16
                      : artifact::ElementType_Int16;
  case 32:
    return isUnsigned ? artifact::ElementType_UInt32
                      : artifact::ElementType_Int32;
  case 64:
    return isUnsigned ? artifact::ElementType_UInt64
                      : artifact::ElementType_Int64;
  default:
    return std::nullopt;
  }
}

FailureOr<artifact::ElementType> elementType(Operation *op, Type type) {
  if (std::optional<artifact::ElementType> found = elementType(type))
    return *found;
  return op->emitError("has element type ")
         << type << ", which no backend stores";
}

} // namespace shardc::package
