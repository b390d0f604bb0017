//===- Quantization.cpp - What com.microsoft's blocks of bits compute -----===//
//
//   weight(n, k) = (field(n, k) - zero(n, k / block)) scale(n, k / block)
//   MatMulNBits  y[..., n] = sum_k x[..., k] weight(n, k) + bias(n)
//
// Fields of a row lie one after the other, the lowest bits of a byte first;
// those of zero points start anew with each row. Without zero points it is half
// of what a field counts to.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/microsoft/Quantization.h"
#include "dialects/onnx/evaluate/microsoft/Definition.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

//===----------------------------------------------------------------------===//
// MatMulNBits
//===----------------------------------------------------------------------===//

static Outcome matmulNBits(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftMatMulNBitsOp>(call.op);
  const Tensor &x = *d.operand(0), &w = *d.operand(1), &s = *d.operand(2);
  const Tensor *zero = d.operand(3), *groups = d.operand(4);
  const Tensor *bias = d.operand(5);
  const int64_t sum = d.size(op.getK()), rows = d.size(op.getN());
  const int64_t block = d.size(op.getBlockSize()), bits = op.getBits();
  if (!llvm::is_contained({2, 4, 8}, bits) || op.getWeightPrepacked() != 0)
    return Outcome::Unknown;
  if (block <= 0 || sum <= 0 || rows <= 0 || x.rank() == 0 ||
      x.shape.back() != sum || (bias && bias->size() != rows))
    return Outcome::Unfit;
  const int64_t blocks = ceilDiv(sum, block), each = 8 / bits;
  const int64_t rowBytes = ceilDiv(blocks * block, each);
  const int64_t zeroBytes = ceilDiv(blocks, each);
  const bool isZeroFloat = zero && isa<FloatType>(zero->element);
  if (w.size() != rows * rowBytes || s.size() != rows * blocks ||
      (zero && zero->size() != rows * (isZeroFloat ? blocks : zeroBytes)))
    return Outcome::Unfit;
  auto weight = [&](int64_t n, int64_t k) {
    const int64_t group = groups ? integerAt(*groups, k) : k / block;
    const double middle = !zero ? double(int64_t(1) << (bits - 1))
                          : isZeroFloat
                              ? valueAt(*zero, n * blocks + group)
                              : fieldOf(*zero, n, zeroBytes, group, bits);
    return (fieldOf(w, n, rowBytes, k, bits) - middle) *
           valueAt(s, n * blocks + group);
  };
  std::vector<double> weights;
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t k = 0; k < sum; ++k)
      weights.push_back(d.as(x.element, weight(n, k)));
  Shape shape = x.shape;
  shape.back() = rows;
  Tensor &y = d.result(x.element, shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t n = i % rows;
    double total = 0;
    for (int64_t k = 0; k < sum; ++k)
      total += valueAt(x, i / rows * sum + k) * weights[n * sum + k];
    y.data[i] = d.as(y.element, total) + (bias ? valueAt(*bias, n) : 0);
  }
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// GatherBlockQuantized
//===----------------------------------------------------------------------===//

/// Rows of the table of numbers; parts of bytes are packed along its last dim.
static Outcome gatherBlocks(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftGatherBlockQuantizedOp>(call.op);
  const Tensor &data = *d.operand(0), &at1 = *d.operand(1), &s = *d.operand(2);
  const Tensor *zero = d.operand(3);
  const bool isBytes = data.element.isInteger(8);
  const int64_t bits = isBytes ? int64_t(op.getBits()) : 4;
  const auto gather = placeIn(double(int64_t(op.getGatherAxis())), data.rank());
  const auto quantize =
      placeIn(double(int64_t(op.getQuantizeAxis())), data.rank());
  const int64_t block = d.size(op.getBlockSize());
  if (!gather || !quantize || *gather == *quantize || block <= 0 ||
      s.rank() != data.rank() || !llvm::is_contained({2, 4, 8}, bits))
    return Outcome::Unfit;
  const int64_t last = data.rank() - 1, each = isBytes ? 8 / bits : 1;
  Shape table = data.shape;
  table[last] *= each;
  for (int64_t i = 0; i < data.rank(); ++i)
    if (s.shape[i] != (i == *quantize ? ceilDiv(table[i], block) : table[i]))
      return Outcome::Unfit;
  Shape shape(table.begin(), table.begin() + *gather);
  shape.append(at1.shape);
  shape.append(table.begin() + *gather + 1, table.end());
  // A field of a tensor whose last dim is packed.
  auto field = [&](const Tensor &x, Shape index) {
    const int64_t i = index.back();
    index.back() = i / each;
    const auto byte = int64_t(at(x, index));
    return isBytes ? double((byte >> (i % each * bits)) &
                            ((int64_t(1) << bits) - 1))
                   : double(byte);
  };
  Tensor &y = d.result(s.element, shape);
  Outcome outcome = Outcome::Done;
  forEachIndex(shape, [&](Index o) {
    const Index chosen = o.slice(*gather, at1.rank());
    const auto row = placeIn(at(at1, chosen), table[*gather]);
    if (!row) {
      outcome = Outcome::Invalid;
      return;
    }
    Shape from(o.begin(), o.begin() + *gather);
    from.push_back(*row);
    from.append(o.begin() + *gather + at1.rank(), o.end());
    Shape ofBlock = from;
    ofBlock[*quantize] /= block;
    const double middle = zero      ? field(*zero, ofBlock)
                          : isBytes ? double(int64_t(1) << (bits - 1))
                                    : 0;
    at(y, o) = (field(data, from) - middle) * at(s, ofBlock);
  });
  return outcome;
}

//===----------------------------------------------------------------------===//
// Products of integers as numbers
//===----------------------------------------------------------------------===//

namespace {

/// Integers of a product; a vector is a row of the left one, a column of the
/// right one.
struct Integers {
  Tensor data;
  const Tensor *zero;
  bool isVector;

  Integers(const Tensor &given, const Tensor *zero, bool isLeft)
      : data(given), zero(zero), isVector(given.rank() == 1) {
    if (isVector)
      data.shape.insert(isLeft ? data.shape.begin() : data.shape.end(), 1);
  }
  ArrayRef<int64_t> stack() const { return Index(data.shape).drop_back(2); }
};

/// A parameter of the columns of b, or one of all: [1], [n] or [..., 1, n].
bool isOfColumns(const Tensor *x, Index shape) {
  return !x || x->size() == 1 ||
         (reaches(*x, shape) &&
          (x->rank() == 1 || x->shape[x->rank() - 2] == 1));
}

double ofColumn(const Tensor *x, Index place, double orElse) {
  return !x ? orElse : x->size() == 1 ? valueAt(*x, 0) : at(*x, place);
}

} // namespace

/// [..., m, k] times [..., k, n], each sum times both scales.
static Outcome multiplyIntegers(Definition &d, const Integers &a,
                                const Integers &b, double aScale,
                                const Tensor &bScale, Type element,
                                const Tensor *bias) {
  Shape shape(a.stack());
  if (a.data.rank() < 2 || b.data.rank() < 2 ||
      a.data.shape.back() != b.data.shape[b.data.rank() - 2] ||
      !broadcast(shape, b.stack()))
    return Outcome::Unfit;
  const int64_t k = a.data.shape.back(), n = b.data.shape.back();
  shape.append({a.data.shape[a.data.rank() - 2], n});
  if ((bias && bias->size() != n) || (a.zero && a.zero->size() != 1) ||
      !isOfColumns(b.zero, shape) || !isOfColumns(&bScale, shape))
    return Outcome::Unfit;
  Tensor &y = d.result(element, shape);
  forEachIndex(shape, [&](Index i) {
    Shape left(i.begin(), i.end()), right(i.begin(), i.end());
    const double aZero = ofColumn(a.zero, i, 0), bZero = ofColumn(b.zero, i, 0);
    double sum = 0;
    for (int64_t j = 0; j < k; ++j) {
      left.back() = right[right.size() - 2] = j;
      sum += (at(a.data, left) - aZero) * (at(b.data, right) - bZero);
    }
    at(y, i) = sum * (aScale * ofColumn(&bScale, i, 1)) +
               (bias ? valueAt(*bias, i.back()) : 0);
  });
  if (b.isVector)
    y.shape.pop_back();
  if (a.isVector)
    y.shape.erase(y.shape.end() - (b.isVector ? 1 : 2));
  return Outcome::Done;
}

static Outcome integersToFloat(Call &call) {
  Definition d(call);
  const Tensor &aScale = *d.operand(2);
  if (aScale.size() != 1)
    return Outcome::Unfit;
  return multiplyIntegers(d, {*d.operand(0), d.operand(4), true},
                          {*d.operand(1), d.operand(5), false},
                          valueAt(aScale, 0), *d.operand(3), aScale.element,
                          d.operand(6));
}

/// A in 255 steps from its least to its largest number, 0 among them.
static Outcome dynamicProduct(Call &call) {
  Definition d(call);
  const Tensor &a = *d.operand(0), &bScale = *d.operand(2);
  double low = 0, high = 0;
  for (double x : a.data) {
    if (!std::isfinite(x))
      return Outcome::Invalid;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  if (a.data.empty())
    return Outcome::Invalid; // no least number
  const double step = high == low ? 1 : d.as(a.element, (high - low) / 255);
  const double start = -low / step;
  const double zero = std::nearbyint(start < 0 ? 0 : start > 255 ? 255 : start);
  Type ui8 = IntegerType::get(call.op->getContext(), 8, IntegerType::Unsigned);
  Tensor whole(ui8, a.shape), zeros(ui8, {});
  zeros.data[0] = zero;
  for (auto [to, x] : llvm::zip(whole.data, a.data))
    to = quantized(ui8, x / step, zero);
  return multiplyIntegers(d, {whole, &zeros, true},
                          {*d.operand(1), d.operand(3), false}, step, bScale,
                          a.element, d.operand(4));
}

//===----------------------------------------------------------------------===//
// QuantizeLinear, DequantizeLinear
//===----------------------------------------------------------------------===//

namespace {

/// Which scale, or zero point, an element has.
struct PerElement {
  const Tensor *x;
  int64_t axis, block;
  double operator()(Index i, double orElse) const {
    if (!x)
      return orElse;
    if (x->size() == 1)
      return valueAt(*x, 0);
    if (x->rank() == 1)
      return valueAt(*x, i[axis]);
    Shape place(i.begin(), i.end());
    if (block != 0)
      place[axis] /= block;
    return at(*x, place);
  }
};

} // namespace

template <typename OpTy, typename F>
static Outcome scaleAll(Call &call, Type element, F f) {
  Definition d(call);
  auto op = cast<OpTy>(call.op);
  const Tensor &x = *d.operand(0);
  const Tensor *scale = d.operand(1), *zero = d.operand(2);
  auto axis = placeIn(double(int64_t(op.getAxis())), x.rank());
  if (!axis && scale->size() != 1)
    return Outcome::Unfit;
  const int64_t block = d.size(op.getBlockSize());
  for (const Tensor *p : {scale, zero})
    if (p && p->size() != 1 && p->rank() == 1 &&
        p->size() != x.shape[axis.value_or(0)])
      return Outcome::Unfit;
  const PerElement scaleOf{scale, axis.value_or(0), block};
  const PerElement zeroOf{zero, axis.value_or(0), block};
  Tensor &y = d.result(element, x.shape);
  Outcome outcome = Outcome::Done;
  forEachIndex(x.shape, [&](Index i) {
    const double value = f(at(x, i), scaleOf(i, 1), zeroOf(i, 0));
    if (std::isnan(value) && isa<IntegerType>(element))
      outcome = Outcome::Invalid;
    at(y, i) = value;
  });
  return outcome;
}

static Outcome quantize(Call &call) {
  Type ui8 = IntegerType::get(call.op->getContext(), 8, IntegerType::Unsigned);
  Type element = call.has(2) ? call.operand(2).element : ui8;
  if (!isa<IntegerType>(element))
    return Outcome::Unknown;
  return scaleAll<MicrosoftQuantizeLinearOp>(
      call, element, [=](double x, double scale, double zero) {
        return quantized(element, x / scale, zero);
      });
}

static Outcome dequantize(Call &call) {
  return scaleAll<MicrosoftDequantizeLinearOp>(
      call, call.operand(1).element,
      [](double x, double scale, double zero) { return (x - zero) * scale; });
}

void defineQuantization(Evaluators &all) {
  all.add<MicrosoftMatMulNBitsOp>(matmulNBits);
  all.add<MicrosoftGatherBlockQuantizedOp>(gatherBlocks);
  all.add<MicrosoftMatMulIntegerToFloatOp>(integersToFloat);
  all.add<MicrosoftDynamicQuantizeMatMulOp>(dynamicProduct);
  all.add<MicrosoftQuantizeLinearOp>(quantize);
  all.add<MicrosoftDequantizeLinearOp>(dequantize);
}

} // namespace shardc::onnx::evaluate
