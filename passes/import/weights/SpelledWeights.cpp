#include "passes/import/weights/SpelledWeights.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/weights/ReshapedParameter.h"
#include "passes/import/weights/WeightSources.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::import {

using namespace onnx;

namespace {

/// Follows from weights and constants, by few ops: known once they are loaded.
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
  Reader(OpBuilder &builder, Location loc, ReadWeights &known)
      : builder(builder), loc(loc), known(known) {}

  std::optional<SpelledWeights> read(Value value, unsigned depth = 8) {
    Operation *op = value.getDefiningOp();
    if (!op || depth == 0 || !shapeOf(value))
      return std::nullopt;
    if (auto found = known.byDepth.find({value, depth});
        found != known.byDepth.end())
      return found->second;
    std::optional<SpelledWeights> weights = ofResult(op, depth);
    known.byDepth[{value, depth}] = weights;
    return weights;
  }

private:
  std::optional<SpelledWeights> ofResult(Operation *op, unsigned depth) {
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
    if (auto concat = dyn_cast<ConcatOp>(op))
      return ofConcat(concat, depth);
    return std::nullopt;
  }

  std::optional<SpelledWeights> ofCast(CastOp cast) {
    Value stored = cast.getInput();
    if (!isNarrow(elementOf(stored)) || !holdsBytes(elementOf(cast)) ||
        !isLoadTime(stored))
      return std::nullopt;
    SpelledWeights weights;
    weights.stored = stored;
    return weights;
  }

  std::optional<SpelledWeights> ofDequantize(DequantizeLinearOp op) {
    if (!isLoadTime(op) || elementOf(op.getScale()) != elementOf(op))
      return std::nullopt;
    SpelledWeights weights;
    weights.stored = op.getInput();
    weights.scale = op.getScale();
    if (!op.getZeroPoint().empty())
      weights.zero = op.getZeroPoint().front();
    weights.axis = op.getAxis();
    weights.block = op.getBlockSize();
    weights.activationBits = op.getActivationBitsAttr();
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
      std::optional<SpelledWeights> weights = readPlain(numbers, depth);
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
    std::optional<SpelledWeights> weights = readPlain(numbers, depth);
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

  /// With its dims as they are.
  std::optional<SpelledWeights> readPlain(Value value, unsigned depth) {
    std::optional<SpelledWeights> weights = read(value, depth - 1);
    if (weights && weights->isTurned)
      transpose(*weights, matrixTransposition(shapeOf(value)->size()));
    if (weights)
      weights->isTurned = false;
    return weights;
  }

  void transpose(SpelledWeights &weights, ArrayRef<int64_t> perm) {
    for (Value *each : {&weights.stored, &weights.scale, &weights.zero})
      if (*each)
        *each = transposed(builder, loc, *each, perm);
    weights.axis = llvm::find(perm, weights.axis) - perm.begin();
  }

  /// [a, b] as [1, a, b], whatever lies along a and b.
  std::optional<SpelledWeights> withOne(Value data, unsigned depth) {
    std::optional<SpelledWeights> weights = read(data, depth - 1);
    if (!weights)
      return std::nullopt;
    for (Value *each : {&weights->stored, &weights->scale, &weights->zero})
      if (*each) {
        Shape shape = *shapeOf(*each);
        shape.insert(shape.begin(), 1);
        *each = shaped(builder, loc, *each, shape);
      }
    ++weights->axis;
    return weights;
  }

  std::optional<SpelledWeights> ofReshape(ReshapeOp op, unsigned depth) {
    std::optional<Shape> of = shapeOf(op.getData());
    if (!of)
      return std::nullopt;
    const Shape from = *of, to = *shapeOf(op);
    if (to.size() == from.size() + 1 && to.front() == 1 &&
        ArrayRef(to).drop_front() == ArrayRef(from))
      return withOne(op.getData(), depth);
    std::optional<SpelledWeights> weights = readPlain(op.getData(), depth);
    // What blocks become when they are reshaped once more is not looked at.
    if (!weights || weights->block != 0)
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
    if (!op.getPerm())
      return std::nullopt;
    const ArrayRef<int64_t> perm = *op.getPerm();
    const bool isMatrix = op.turnsMatrix();
    std::optional<SpelledWeights> weights =
        isMatrix ? read(op.getData(), depth - 1)
                 : readPlain(op.getData(), depth);
    if (weights && isMatrix)
      weights->isTurned = !weights->isTurned;
    else if (weights)
      transpose(*weights, perm);
    return weights;
  }

  std::optional<SpelledWeights> ofConcat(ConcatOp op, unsigned depth) {
    const int64_t rank = int64_t(shapeOf(op)->size());
    int64_t axis = static_cast<int64_t>(op.getAxis());
    axis = axis < 0 ? axis + rank : axis;
    SmallVector<SpelledWeights> parts;
    for (Value input : op.getInputs()) {
      std::optional<SpelledWeights> part = read(input, depth - 1);
      if (!part || (!parts.empty() && !isLike(*part, parts.front())))
        return std::nullopt;
      parts.push_back(*part);
    }
    SpelledWeights whole = parts.front();
    if (whole.isTurned && axis >= rank - 2)
      axis = axis == rank - 1 ? rank - 2 : rank - 1;
    for (Value SpelledWeights::*member :
         {&SpelledWeights::scale, &SpelledWeights::zero})
      if (whole.*member && !(whole.*member = joined(parts, member, axis)))
        return std::nullopt;
    whole.stored = joined(parts, &SpelledWeights::stored, axis);
    return whole.stored ? std::optional(whole) : std::nullopt;
  }

  static bool isLike(const SpelledWeights &a, const SpelledWeights &b) {
    return elementOf(a.stored) == elementOf(b.stored) &&
           bool(a.scale) == bool(b.scale) && bool(a.zero) == bool(b.zero) &&
           (!a.zero || elementOf(a.zero) == elementOf(b.zero)) &&
           a.block == b.block && (a.block == 0 || a.axis == b.axis) &&
           a.isTurned == b.isTurned && a.activationBits == b.activationBits;
  }

  /// Those of all parts along a dim; null if they do not fit each other. What is one
  /// for a part of several is repeated.
  Value joined(ArrayRef<SpelledWeights> parts, Value SpelledWeights::*member,
               int64_t axis) {
    SmallVector<Value> values;
    Shape whole;
    for (const SpelledWeights &part : parts) {
      Value value = part.*member;
      std::optional<Shape> shape = shapeOf(value), of = shapeOf(part.stored);
      if (!shape || !of)
        return {};
      const int64_t size = (*of)[axis];
      if (part.block != 0 && part.axis == axis && value != part.stored) {
        if (size % part.block != 0 || (*shape)[axis] != size / part.block)
          return {};
      } else if ((*shape)[axis] != size) {
        (*shape)[axis] = size;
        value = ExpandOp::create(builder, loc, typeOf(value, *shape), value,
                                 ValueRange{});
      }
      values.push_back(value);
      if (whole.empty())
        whole = *shape;
      else
        whole[axis] += (*shape)[axis];
      if (values.size() > 1 && !isEqualBut(*shape, whole, axis))
        return {};
    }
    return ConcatOp::create(builder, loc, typeOf(values.front(), whole), values,
                            builder.getI64IntegerAttr(axis));
  }

  static bool isEqualBut(Shape a, const Shape &b, int64_t axis) {
    a[axis] = b[axis];
    return a == b;
  }
  static Type typeOf(Value value, ArrayRef<int64_t> shape) {
    return dist::makeType(elementOf(value), Dims(shape.begin(), shape.end()));
  }

  OpBuilder &builder;
  Location loc;
  ReadWeights &known;
};

} // namespace

std::optional<SpelledWeights>
SpelledWeights::of(Value value, OpBuilder &builder, ReadWeights &known) {
  return Reader(builder, value.getLoc(), known).read(value);
}

bool SpelledWeights::isForProduct() const {
  const Shape whole = *shapeOf(stored);
  const int64_t summed = int64_t(whole.size()) - (isTurned ? 1 : 2);
  const int64_t ofWord = 32 / elementOf(stored).getIntOrFloatBitWidth();
  const bool isBlocked = block != 0 && block < whole[summed];
  if (block != 0 && (axis != summed || (isBlocked && block % ofWord != 0)))
    return false;
  return llvm::all_of(ArrayRef({scale, zero}), [&](Value parameter) {
    return !parameter || isBlocked || (*shapeOf(parameter))[summed] == 1;
  });
}

bool SpelledWeights::hasFewScales() const {
  return scale && *shapeOf(scale) != *shapeOf(stored);
}

} // namespace shardc::import
