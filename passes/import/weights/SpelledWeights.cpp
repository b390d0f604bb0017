#include "passes/import/weights/SpelledWeights.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;

namespace shardc::import {

using namespace onnx;

bool isLoadTime(Value value) {
  constexpr size_t most = 64;
  llvm::SmallSetVector<Operation *, 16> ops;
  SmallVector<Value> values = {value};
  while (!values.empty()) {
    Operation *op = values.pop_back_val().getDefiningOp();
    if (!op || ops.size() > most || op->getNumRegions() != 0 ||
        !isMemoryEffectFree(op))
      return false;
    if (ops.insert(op))
      llvm::append_range(values, op->getOperands());
  }
  return true;
}

namespace {

using Shape = SmallVector<int64_t, 4>;

std::optional<Shape> shapeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  return Shape(type.getShape());
}

bool isNarrow(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.getWidth() > 1 && integer.getWidth() <= 8;
  return isScaledFloat8(element);
}

/// Floats that hold differences of integers of 8 bits exactly.
bool holdsBytes(Type element) {
  return element.isF32() || element.isF16() || element.isBF16();
}

/// Numbers, or their negatives, as integers; null if not all are.
DenseElementsAttr integersOf(DenseFPElementsAttr floats, IntegerType type,
                             bool isNegated) {
  const bool isSigned = !type.isUnsigned();
  SmallVector<APInt> integers;
  for (APFloat number : floats.getValues<APFloat>()) {
    if (isNegated)
      number.changeSign();
    APSInt integer(type.getWidth(), !isSigned);
    bool isExact = false;
    if (number.convertToInteger(integer, APFloat::rmTowardZero, &isExact) &
            APFloat::opInvalidOp ||
        !(isExact || number.isZero()))
      return {};
    integers.push_back(integer);
  }
  return DenseElementsAttr::get(
      RankedTensorType::get(floats.getType().getShape(), type), integers);
}

Value shaped(OpBuilder &builder, Location loc, Value value,
             ArrayRef<int64_t> shape) {
  return reshaped(builder, loc, value, Dims(shape.begin(), shape.end()));
}

/// Reads a value backwards.
class Reader {
public:
  Reader(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  std::optional<SpelledWeights> read(Value value, unsigned depth = 8) {
    Operation *op = value.getDefiningOp();
    if (!op || depth == 0 || !shapeOf(value))
      return std::nullopt;
    if (auto cast = dyn_cast<CastOp>(op))
      return ofCast(cast);
    if (auto dequantize = dyn_cast<DequantizeLinearOp>(op))
      return ofDequantize(dequantize);
    if (isa<MulOp>(op))
      return ofProduct(op, depth);
    if (isa<SubOp, AddOp>(op))
      return ofDifference(op, depth);
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      return ofReshape(reshape, depth);
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return ofTranspose(transpose, depth);
    return std::nullopt;
  }

private:
  std::optional<SpelledWeights> ofCast(CastOp cast) {
    Value stored = cast.getInput();
    if (!isNarrow(elementOf(stored)) || !holdsBytes(elementOf(cast)) ||
        !isLoadTime(stored))
      return std::nullopt;
    return SpelledWeights{stored, {}, {}};
  }

  std::optional<SpelledWeights> ofDequantize(DequantizeLinearOp op) {
    if (!isLoadTime(op) || op.getActivationBits() ||
        elementOf(op.getScale()) != elementOf(op))
      return std::nullopt;
    SpelledWeights weights{op.getInput(), op.getScale(), {}};
    if (!op.getZeroPoint().empty())
      weights.zero = op.getZeroPoint().front();
    weights.axis = op.getAxis();
    weights.block = op.getBlockSize();
    return weights;
  }

  /// `parameter` with the rank of `numbers`, which it leaves as large as they are.
  Value aligned(Value parameter, Value numbers, Value result) {
    std::optional<Shape> shape = shapeOf(parameter), of = shapeOf(numbers);
    if (!shape || !of || shape->size() > of->size() || shapeOf(result) != of ||
        !isLoadTime(parameter))
      return {};
    shape->insert(shape->begin(), of->size() - shape->size(), 1);
    return shaped(builder, loc, parameter, *shape);
  }

  std::optional<SpelledWeights> ofProduct(Operation *op, unsigned depth) {
    for (Value numbers : op->getOperands()) {
      std::optional<SpelledWeights> weights = read(numbers, depth - 1);
      if (!weights || weights->scale)
        continue;
      Value other = otherOperand(op, numbers);
      weights->scale =
          other ? aligned(other, numbers, op->getResult(0)) : Value();
      if (weights->scale)
        return weights;
    }
    return std::nullopt;
  }

  std::optional<SpelledWeights> ofDifference(Operation *op, unsigned depth) {
    Value numbers = op->getOperand(0), less = op->getOperand(1);
    std::optional<SpelledWeights> weights = read(numbers, depth - 1);
    if (!weights || weights->scale || weights->zero ||
        !isa<IntegerType>(elementOf(weights->stored)))
      return std::nullopt;
    Value zero = zeroPoint(less, elementOf(weights->stored), isa<AddOp>(op));
    weights->zero = zero ? aligned(zero, numbers, op->getResult(0)) : Value();
    return weights->zero ? weights : std::nullopt;
  }

  /// The integers of a type that `less` are, or -`less`.
  Value zeroPoint(Value less, Type type, bool isNegated) {
    if (auto constant = less.getDefiningOp<ConstantOp>()) {
      auto floats = dyn_cast<DenseFPElementsAttr>(constant.getValue());
      DenseElementsAttr integers =
          floats ? integersOf(floats, cast<IntegerType>(type), isNegated)
                 : DenseElementsAttr();
      return integers ? ConstantOp::create(builder, loc, integers.getType(),
                                           integers)
                            .getResult()
                      : Value();
    }
    // Layouts of it stand before or behind the Cast.
    if (auto cast = less.getDefiningOp<CastOp>())
      return !isNegated && elementOf(cast.getInput()) == type ? cast.getInput()
                                                              : Value();
    auto reshape = less.getDefiningOp<ReshapeOp>();
    Value inner =
        reshape ? zeroPoint(reshape.getData(), type, isNegated) : Value();
    return inner && shapeOf(less) ? shaped(builder, loc, inner, *shapeOf(less))
                                  : Value();
  }

  std::optional<SpelledWeights> ofReshape(ReshapeOp op, unsigned depth) {
    std::optional<SpelledWeights> weights = read(op.getData(), depth - 1);
    if (!weights)
      return std::nullopt;
    const Shape from = *shapeOf(op.getData()), to = *shapeOf(op);
    // What blocks become when they are reshaped once more is not looked at.
    if (weights->block != 0)
      return std::nullopt;
    bool isAny = false;
    for (Value *parameter : {&weights->scale, &weights->zero}) {
      if (!*parameter)
        continue;
      std::optional<Shape> dims = shapeOf(*parameter);
      auto found = dims ? ReshapedParameter::of(*dims, from, to) : std::nullopt;
      if (!found)
        return std::nullopt;
      // A zero point may be one for all; else both have the same blocks.
      const bool isOne =
          llvm::all_of(found->dims, [](int64_t size) { return size == 1; });
      if (isAny && !isOne &&
          (found->block != weights->block ||
           (found->block != 0 && found->axis != weights->axis)))
        return std::nullopt;
      if (!isAny && found->block != 0) {
        weights->block = found->block;
        weights->axis = found->axis;
      }
      isAny = true;
      *parameter = shaped(builder, loc, *parameter, found->dims);
    }
    if (weights->block != 0 && !weights->scale)
      return std::nullopt;
    weights->stored = shaped(builder, loc, weights->stored, to);
    return weights;
  }

  std::optional<SpelledWeights> ofTranspose(TransposeOp op, unsigned depth) {
    std::optional<SpelledWeights> weights = read(op.getData(), depth - 1);
    if (!weights || !op.getPerm())
      return std::nullopt;
    const ArrayRef<int64_t> perm = *op.getPerm();
    for (Value *each : {&weights->stored, &weights->scale, &weights->zero})
      if (*each)
        *each = transposed(builder, loc, *each, perm);
    weights->axis = llvm::find(perm, weights->axis) - perm.begin();
    return weights;
  }

  OpBuilder &builder;
  Location loc;
};

} // namespace

std::optional<SpelledWeights>
SpelledWeights::of(Value value, OpBuilder &builder, Location loc) {
  return Reader(builder, loc).read(value);
}

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

/// The same of dims that become others by themselves.
static bool reshapeGroup(ArrayRef<int64_t> parameter, ArrayRef<int64_t> from,
                         ArrayRef<int64_t> to, ReshapedParameter &result) {
  const size_t first = result.dims.size();
  if (product(parameter) == 1) {
    result.dims.append(to.size(), 1);
    return true;
  }
  result.dims.append(to.begin(), to.end());
  if (parameter == from)
    return true;
  size_t alike = from.size(); // where dims begin along which it does not change
  while (alike > 0 && parameter[alike - 1] == 1)
    --alike;
  const auto isLong = [](int64_t size) { return size > 1; };
  if (parameter.take_front(alike) != from.take_front(alike) ||
      llvm::count_if(to, isLong) != 1 || result.block != 0)
    return false;
  result.axis = int64_t(first) + (llvm::find_if(to, isLong) - to.begin());
  result.block = product(from.drop_front(alike));
  result.dims[size_t(result.axis)] = product(parameter);
  return true;
}

std::optional<ReshapedParameter>
ReshapedParameter::of(ArrayRef<int64_t> parameter, ArrayRef<int64_t> from,
                      ArrayRef<int64_t> to) {
  if (parameter.size() != from.size() || product(from) != product(to) ||
      product(from) == 0)
    return std::nullopt;
  ReshapedParameter result;
  for (size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    // The least that holds as many elements on both sides, and sizes of 1 at
    // the end with it.
    size_t endI = i, endJ = j;
    int64_t before = 1, after = 1;
    do {
      if (endI < from.size() && (before <= after || endJ == to.size()))
        before *= from[endI++];
      else
        after *= to[endJ++];
    } while (before != after);
    if (product(from.drop_front(endI)) == 1)
      endI = from.size();
    if (product(to.drop_front(endJ)) == 1)
      endJ = to.size();
    if (!reshapeGroup(parameter.slice(i, endI - i), from.slice(i, endI - i),
                      to.slice(j, endJ - j), result))
      return std::nullopt;
    i = endI;
    j = endJ;
  }
  return result;
}

} // namespace shardc::import
