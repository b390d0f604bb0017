//===- Attention.cpp - Scaled dot-product attention -----------------------===//
//
// Q [b, hq, sq, d], K [b, hkv, sk, d], V [b, hkv, sk, dv], an optional mask
// [b, hq, sq, sk] (bool: false hides; float: added) -> Y [b, hq, sq, dv], where
// query head h attends KV head h / (hq / hkv). Query i sees the keys up to
// i + causal_offset if is_causal, the offset being how many keys precede the
// first query; of these the last `window` if that is not 0. Queries go in
// blocks, whose scores are all the scratch needed:
//   scores = softmax(softcap(scale Q K^T) + mask),  Y = scores V
// Optional sinks [hq] are one more score for each row of a head, which takes
// its share of the softmax and has no value.
// `zero_rows` says which rows of the softmax are zero instead: those that see
// no key at all ("hidden", the default, as in ONNX's function body), all where
// it gives NaN ("nan", as PyTorch's), or none of them ("none").
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/MatrixProduct.h"
#include "runtime/backend/host/kernels/SoftmaxRow.h"
#include "runtime/backend/host/kernels/StridedLoop.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Attention";
constexpr int64_t kBlock = 64; ///< queries at a time
constexpr int kSinks = 4;

enum class ZeroRows { Hidden, NaN, None };

/// Keys [begin, end); empty where end is not behind begin.
struct Keys {
  int64_t begin, end;
  int64_t count() const { return std::max<int64_t>(end - begin, 0); }
};

MatrixLayout layoutOf(const TensorView &view, int64_t rows, int rowDim = 2) {
  return {rows, view.dims[3], view.strides[rowDim], view.strides[3]};
}

template <typename T> class AttentionRun {
  using Acc = Accumulator<T>;

public:
  explicit AttentionRun(const KernelCall &call)
      : q(call.inputs[0]), k(call.inputs[1]), v(call.inputs[2]),
        y(call.outputs[0]) {
    if (hasInput(call, 3))
      mask = &call.inputs[3];
    scale = Acc(call.floatOr("scale", 1.0 / std::sqrt(double(q.dims[3]))));
    softcap = Acc(call.floatOr("softcap", 0.0));
    if (hasInput(call, kSinks))
      sinks = &call.inputs[kSinks];
    isCausal = call.intOr("is_causal", 0) != 0;
    causalOffset = call.intOr("causal_offset", 0);
    window = call.intOr("window", 0);
    if (const KernelAttribute *rows = call.find("zero_rows"))
      zeroRows = rows->text == "nan"    ? ZeroRows::NaN
                 : rows->text == "none" ? ZeroRows::None
                                        : ZeroRows::Hidden;
    keys = k.dims[2];
    group = k.dims[1] == 0 ? 0 : q.dims[1] / k.dims[1];
    // A step of decoding: the rows of a product are heads that share a key.
    rowDim = q.dims[2] == 1 ? 1 : 2;
    rowsOfKey = rowDim == 1 ? group : q.dims[2];
    block = std::min(kBlock, rowsOfKey);
    layoutK = layoutOf(k, keys).transposed();
    layoutV = layoutOf(v, keys);
    layoutQ = layoutOf(q, block, rowDim);
    layoutY = layoutOf(y, block, rowDim);
    packsY = !std::is_same_v<T, Acc> || !layoutY.hasDenseRows();
  }

  int64_t scratchBytes() const {
    return (block * keys + packedSize<T>(layoutK) + packedSize<T>(layoutV) +
            packedSize<T>(layoutQ) + (packsY ? layoutY.size() : 0)) *
           static_cast<int64_t>(sizeof(Acc));
  }

  Status run(std::byte *scratch) {
    scores = reinterpret_cast<Acc *>(scratch);
    Acc *packedK = scores + block * keys;
    Acc *packedV = packedK + packedSize<T>(layoutK);
    packedQ = packedV + packedSize<T>(layoutV);
    packedY = packedQ + packedSize<T>(layoutQ);
    for (int64_t b = 0; b < q.dims[0]; ++b)
      for (int64_t head = 0; head < k.dims[1]; ++head) {
        const T *keyHead = k.as<T>() + b * k.strides[0] + head * k.strides[1];
        const T *valueHead = v.as<T>() + b * v.strides[0] + head * v.strides[1];
        matrixK = asMatrix(layoutK, keyHead, packedK);
        matrixV = asMatrix(layoutV, valueHead, packedV);
        const int64_t end = (head + 1) * group;
        for (int64_t h = head * group; h < end; h += rowDim == 1 ? group : 1)
          for (int64_t begin = 0; begin < rowsOfKey; begin += kBlock)
            SHARDC_RETURN_IF_ERROR(runBlock(b, h, begin));
      }
    return Status::ok();
  }

private:
  /// Rows [begin, begin + kBlock) from head h on.
  Status runBlock(int64_t b, int64_t h, int64_t begin) {
    const int64_t rows = std::min(kBlock, rowsOfKey - begin);
    // What some query of the block sees.
    const Keys seen = {seenBy(begin).begin, seenBy(begin + rows - 1).end};
    const auto at = [&](const TensorView &view) {
      return b * view.strides[0] + h * view.strides[1] +
             begin * view.strides[rowDim];
    };
    const auto queries =
        asMatrix(layoutOf(q, rows, rowDim), q.as<T>() + at(q), packedQ);
    SHARDC_RETURN_IF_ERROR(multiply(rows, seen.count(), q.dims[3], scale,
                                    queries, columnsFrom(matrixK, seen.begin),
                                    Acc(0), scores, stride()));
    for (int64_t i = 0; i < rows; ++i) {
      const Keys keys = seenBy(begin + i);
      Acc *row = scores + i * stride();
      Acc *from = row + (keys.begin - seen.begin);
      std::fill(row, from, Acc(0));
      std::fill(from + keys.count(), row + seen.count(), Acc(0));
      const int64_t maskAt = mask ? at(*mask) + i * mask->strides[rowDim] +
                                        keys.begin * mask->strides[3]
                                  : 0;
      const int64_t head = rowDim == 1 ? h + begin + i : h;
      if (!softmax(from, keys.count(), maskAt, head))
        std::fill(row, row + seen.count(), kNaN);
    }
    return writeBlock(rows, seen, y.as<T>() + at(y));
  }

  Status writeBlock(int64_t rows, Keys seen, T *to) {
    const int64_t columns = y.dims[3];
    const Matrix<Acc> weights = {scores, stride(), false};
    const Matrix<Acc> values = rowsFrom(matrixV, seen.begin);
    if constexpr (std::is_same_v<T, Acc>)
      if (!packsY)
        return multiply(
            rows, columns, seen.count(), Acc(1), weights, values, Acc(0), to,
            std::max<int64_t>(rows > 1 ? y.strides[rowDim] : columns, 1));
    SHARDC_RETURN_IF_ERROR(multiply(rows, columns, seen.count(), Acc(1),
                                    weights, values, Acc(0), packedY,
                                    std::max<int64_t>(columns, 1)));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        to[i * y.strides[rowDim] + j * y.strides[3]] =
            T(packedY[i * columns + j]);
    return Status::ok();
  }

  int64_t stride() const { return std::max<int64_t>(keys, 1); }

  /// Keys that the query of a row sees, but for the mask.
  Keys seenBy(int64_t row) const {
    const int64_t query = rowDim == 1 ? 0 : row;
    if (!isCausal)
      return {0, keys};
    const int64_t end = query + causalOffset + 1;
    const int64_t begin = window > 0 ? end - window : 0;
    return {std::clamp<int64_t>(begin, 0, keys),
            std::clamp<int64_t>(end, 0, keys)};
  }

  static Matrix<Acc> columnsFrom(Matrix<Acc> matrix, int64_t column) {
    matrix.data += column * (matrix.transposed ? matrix.leading : 1);
    return matrix;
  }
  static Matrix<Acc> rowsFrom(Matrix<Acc> matrix, int64_t row) {
    matrix.data += row * (matrix.transposed ? 1 : matrix.leading);
    return matrix;
  }

  /// Adds the mask to a row of scores; false where it hides all of them. A
  /// narrow type's scores are of that type, as its mask is.
  bool addMask(Acc *row, int64_t count, int64_t at) const {
    const int64_t stride = mask->strides[3];
    bool seesAny = false;
    if (mask->element == artifact::ElementType_Bool) {
      const Boolean *shown = mask->as<Boolean>() + at;
      for (int64_t j = 0; j < count; ++j) {
        seesAny |= bool(shown[j * stride]);
        row[j] = shown[j * stride] ? row[j] : -kInfinity;
      }
      return seesAny;
    }
    const T *bias = mask->as<T>() + at;
    for (int64_t j = 0; j < count; ++j) {
      const Acc value = Acc(bias[j * stride]);
      seesAny |= value != -kInfinity;
      row[j] = Acc(T(Acc(T(row[j])) + value));
    }
    return seesAny;
  }

  /// False where the whole row is NaN.
  bool softmax(Acc *row, int64_t count, int64_t maskAt, int64_t head) const {
    if (softcap > 0)
      for (int64_t j = 0; j < count; ++j)
        row[j] = softcap * hyperbolicTangent(row[j] / softcap);
    const bool seesAny = !mask || addMask(row, count, maskAt);
    Acc maximum = maximumOf(row, 1, count);
    Acc sink = -kInfinity;
    if (sinks) {
      sink = Acc(sinks->as<T>()[head * sinks->strides[0]]);
      maximum = sink > maximum ? sink : maximum;
    }
    const bool isZero = zeroRows == ZeroRows::Hidden
                            ? !seesAny || maximum == -kInfinity
                            : !std::isfinite(maximum);
    if (isZero && zeroRows == ZeroRows::None)
      return false;
    if (isZero)
      std::fill(row, row + count, Acc(0));
    else
      softmaxRow(row, 1, row, 1, count, maximum,
                 sinks ? exponential(sink - maximum) : Acc(0));
    return true;
  }

  static constexpr Acc kInfinity = std::numeric_limits<Acc>::infinity();
  static constexpr Acc kNaN = std::numeric_limits<Acc>::quiet_NaN();

  const TensorView &q, &k, &v, &y;
  const TensorView *mask = nullptr, *sinks = nullptr;
  Acc scale, softcap;
  bool isCausal, packsY;
  ZeroRows zeroRows = ZeroRows::Hidden;
  int rowDim;
  int64_t causalOffset, window, keys, group, rowsOfKey, block;
  MatrixLayout layoutK, layoutV, layoutQ, layoutY;
  Matrix<Acc> matrixK, matrixV;
  Acc *scores = nullptr, *packedQ = nullptr, *packedY = nullptr;
};

Status check(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 3));
  const TensorView &q = call.inputs[0], &k = call.inputs[1];
  const TensorView &v = call.inputs[2];
  if (q.rank != 4 || k.rank != 4 || v.rank != 4)
    return failure(kName, "expected Q, K, V of rank 4, found Q " +
                              dimsToString(q) + ", K " + dimsToString(k) +
                              ", V " + dimsToString(v));
  TensorView expectedK = q, expectedV = k, expectedY = q, expectedMask = q;
  expectedK.dims[1] = k.dims[1];
  expectedK.dims[2] = k.dims[2];
  expectedV.dims[3] = expectedY.dims[3] = v.dims[3];
  expectedMask.dims[3] = k.dims[2];
  SHARDC_RETURN_IF_ERROR(expectLike(kName, expectedK, k));
  SHARDC_RETURN_IF_ERROR(expectLike(kName, expectedV, v));
  SHARDC_RETURN_IF_ERROR(expectLike(kName, expectedY, call.outputs[0]));
  const int64_t heads = k.dims[1];
  if (heads == 0 ? q.dims[1] != 0 : q.dims[1] % heads != 0)
    return failure(kName, std::to_string(q.dims[1]) + " query heads on " +
                              std::to_string(heads) + " KV heads");
  if (hasInput(call, kSinks)) {
    TensorView expected = call.inputs[kSinks];
    expected.rank = 1;
    expected.element = q.element;
    expected.dims[0] = q.dims[1];
    SHARDC_RETURN_IF_ERROR(expectLike(kName, expected, call.inputs[kSinks]));
  }
  if (!hasInput(call, 3))
    return Status::ok();
  const TensorView &mask = call.inputs[3];
  SHARDC_RETURN_IF_ERROR(expectDims(kName, expectedMask, mask));
  return mask.element == artifact::ElementType_Bool
             ? Status::ok()
             : expectElement(kName, q.element, mask);
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(check(call));
  return dispatch(FloatTypes(), call.inputs[0].element, kName, [&](auto tag) {
    return AttentionRun<typename decltype(tag)::Type>(call).run(call.scratch);
  });
}

int64_t scratchBytes(const KernelCall &call) {
  if (!check(call).isOk())
    return 0; // run reports it
  return dispatchBytes(
      FloatTypes(), call.inputs[0].element, kName, [&](auto tag) {
        return AttentionRun<typename decltype(tag)::Type>(call).scratchBytes();
      });
}

const HostKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::host
