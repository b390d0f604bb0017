//===- KnownValue.cpp - Small tensors known at compile time ---------------===//

#include "dialects/onnx/KnownValue.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

std::optional<SmallVector<DimExpr, 4>> KnownValue::asDims() const {
  SmallVector<DimExpr, 4> dims;
  for (const KnownScalar &scalar : elements) {
    if (!std::holds_alternative<DimExpr>(scalar))
      return std::nullopt;
    dims.push_back(std::get<DimExpr>(scalar));
  }
  return dims;
}

std::optional<SmallVector<int64_t, 4>> KnownValue::asConstants() const {
  std::optional<SmallVector<DimExpr, 4>> dims = asDims();
  return dims ? onnx::asConstants(*dims) : std::nullopt;
}

DenseElementsAttr KnownValue::asElements() const {
  auto type = RankedTensorType::get(shape, element);
  if (auto floatType = dyn_cast<FloatType>(element)) {
    SmallVector<APFloat> values;
    for (const KnownScalar &scalar : elements) {
      APFloat value(std::get<double>(scalar));
      bool losesInfo;
      value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
      values.push_back(value);
    }
    return DenseElementsAttr::get(type, values);
  }
  std::optional<SmallVector<int64_t, 4>> constants = asConstants();
  if (!constants)
    return {};
  SmallVector<APInt> values;
  for (int64_t value : *constants)
    values.push_back(APInt(element.getIntOrFloatBitWidth(), value,
                           /*isSigned=*/true, /*implicitTrunc=*/true));
  return DenseElementsAttr::get(type, values);
}

std::optional<KnownValue> readKnown(ElementsAttr value, int64_t limit) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || dense.getNumElements() > limit)
    return std::nullopt;
  KnownValue known{dense.getElementType(),
                   SmallVector<int64_t, 4>(dense.getType().getShape()),
                   {}};
  if (isa<FloatType>(known.element)) {
    for (APFloat element : dense.getValues<APFloat>()) {
      bool losesInfo;
      element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                      &losesInfo);
      known.elements.push_back(element.convertToDouble());
    }
    return known;
  }
  auto integer = dyn_cast<IntegerType>(known.element);
  if (!integer || integer.getWidth() > 64)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned() || integer.getWidth() == 1;
  for (const APInt &element : dense.getValues<APInt>()) {
    if (isUnsigned && element.getActiveBits() > 63)
      return std::nullopt;
    known.elements.push_back(DimExpr(
        isUnsigned ? int64_t(element.getZExtValue()) : element.getSExtValue()));
  }
  return known;
}

std::optional<SmallVector<int64_t, 4>> asConstants(ArrayRef<DimExpr> dims) {
  SmallVector<int64_t, 4> constants;
  for (DimExpr dim : dims) {
    std::optional<int64_t> constant = dim.asConstant();
    if (!constant)
      return std::nullopt;
    constants.push_back(*constant);
  }
  return constants;
}

/// What no integer counts is the largest of them.
int64_t numElements(ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t count = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(count, size, count))
      return std::numeric_limits<int64_t>::max();
  return count;
}

void forEachIndex(ArrayRef<int64_t> shape,
                  function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t n = numElements(shape); n > 0; --n) {
    visit(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

int64_t broadcastPosition(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> aligned = index.take_back(shape.size());
  int64_t position = 0;
  for (auto [i, size] : llvm::zip_equal(aligned, shape))
    position = position * size + (size == 1 ? 0 : i);
  return position;
}

KnownValue
moveElements(const KnownValue &source, ArrayRef<int64_t> shape,
             function_ref<SmallVector<int64_t>(ArrayRef<int64_t>)> from) {
  KnownValue result{source.element, SmallVector<int64_t, 4>(shape), {}};
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    result.elements.push_back(
        source.elements[broadcastPosition(from(index), source.shape)]);
  });
  return result;
}

std::optional<KnownScalar> storeAs(Type element, const KnownScalar &value) {
  if (auto floatType = dyn_cast<FloatType>(element)) {
    if (!std::holds_alternative<double>(value))
      return std::nullopt;
    APFloat rounded(std::get<double>(value));
    bool losesInfo;
    rounded.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
    rounded.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
    return rounded.convertToDouble();
  }
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || !std::holds_alternative<DimExpr>(value))
    return std::nullopt;
  // Symbolic sizes are taken to fit: they are sizes of tensors in memory.
  std::optional<int64_t> constant = std::get<DimExpr>(value).asConstant();
  if (!constant || integer.getWidth() > 64)
    return constant ? std::nullopt : std::optional<KnownScalar>(value);
  bool isUnsigned = integer.isUnsigned() || integer.getWidth() == 1;
  bool fits =
      isUnsigned
          ? *constant >= 0 &&
                APInt(64, *constant).getActiveBits() <= integer.getWidth()
          : integer.getWidth() == 64 || APInt(64, *constant, /*isSigned=*/true)
                                            .isSignedIntN(integer.getWidth());
  return fits ? std::optional<KnownScalar>(value) : std::nullopt;
}

} // namespace shardc::onnx
