//===- MatMulInteger.cpp - Product of 8-bit integers ----------------------===//
//
// A [..., m, k] minus its zero points [..., m, 1], times B [..., k, n] minus
// its own [..., 1, n], summed in 32 bits. Rows of A that meet the same B are
// gathered, so that it is read once; a constant B was packed once.
//
// MatMulQuantized is the same for bytes that stand for numbers, and multiplies
// sums by the scales of their row and column (QuantizedOperands.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/IntegerPanels.h"
#include "runtime/kernels/product/IntegerProduct.h"
#include "runtime/kernels/product/QuantizedOperands.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "MatMulInteger";
constexpr char kQuantized[] = "MatMulQuantized";

bool isSigned(const TensorView &view) {
  return view.element == artifact::ElementType_Int8;
}

int32_t numberAt(const TensorView &view, int64_t offset) {
  return isSigned(view) ? view.as<int8_t>()[offset]
                        : int32_t(view.as<uint8_t>()[offset]);
}

/// Returns their sum. Inline, so that vectors serve bytes that lie dense.
[[gnu::always_inline]] inline int32_t moveBytes(const uint8_t *from,
                                                int64_t step, int64_t count,
                                                uint8_t flip, int8_t *to) {
  int32_t sum = 0;
  for (int64_t l = 0; l < count; ++l) {
    to[l] = static_cast<int8_t>(from[l * step] ^ flip);
    sum += to[l];
  }
  return sum;
}

/// Operands, of which either all rows of A meet one B, or those of each batch.
struct Operands {
  /// Scales are there where hasScales, else A and B again.
  TensorView a, b, c, zeroA, zeroB, scaleA, scaleB;
  bool hasZeroA = false, hasZeroB = false, hasScales = false;
  bool isOneB = true;

  Status read(const KernelCall &call) {
    SHARDC_RETURN_IF_ERROR(checkMatMulInteger(call, kName));
    a = scaleA = call.inputs[0];
    b = scaleB = call.inputs[1];
    c = call.outputs[0];
    hasZeroA = hasInput(call, 2);
    hasZeroB = hasInput(call, 3);
    zeroA = hasZeroA ? call.inputs[2] : a;
    zeroB = hasZeroB ? call.inputs[3] : b;
    findOneB();
    return Status::ok();
  }

  Status readQuantized(const KernelCall &call) {
    QuantizedOperands quantized;
    SHARDC_RETURN_IF_ERROR(quantized.read(call, kQuantized));
    SHARDC_RETURN_IF_ERROR(read(quantized.integers(call)));
    hasScales = true;
    scaleA = quantized.scaleA;
    scaleB = quantized.scaleB;
    findOneB();
    return Status::ok();
  }

  int64_t m() const { return c.dims[c.rank - 2]; }
  int64_t n() const { return c.dims[c.rank - 1]; }
  int64_t k() const { return a.dims[a.rank - 1]; }
  /// Of A that are multiplied together.
  int64_t rows() const {
    return isOneB ? m() * dimsOf(c, 0, c.rank - 2).numElements() : m();
  }
  bool hasDenseRows() const { return c.strides[c.rank - 1] == 1 || n() == 1; }
  TensorView matrixB() const { return dimsOf(b, b.rank - 2, b.rank); }

private:
  void findOneB() {
    isOneB = true;
    for (int d = 0; d < c.rank - 2; ++d)
      isOneB &= c.dims[d] == 1 ||
                (b.strides[d] == 0 && (!hasZeroB || zeroB.strides[d] == 0) &&
                 (!hasScales || scaleB.strides[d] == 0));
  }
};

/// What is made of operands for one product.
class Gathered {
public:
  static int64_t bytes(const Operands &o) {
    const int64_t rows = o.rows();
    return alignBuffer(rows * integerDepth(o.k())) +
           alignBuffer(rows * int64_t(sizeof(int32_t *))) +
           3 * alignBuffer(rows * 4) + 2 * alignBuffer(columns(o) * 4) +
           (o.hasDenseRows() ? 0 : rows * o.n() * 4);
  }

  Gathered(const Operands &operands, std::byte *scratch) : o(operands) {
    const int64_t rows = o.rows();
    a = reinterpret_cast<int8_t *>(scratch);
    scratch += alignBuffer(rows * integerDepth(o.k()));
    out = reinterpret_cast<int32_t **>(scratch);
    scratch += alignBuffer(rows * int64_t(sizeof(int32_t *)));
    sums = reinterpret_cast<int32_t *>(scratch);
    scratch += alignBuffer(rows * 4);
    zeros = reinterpret_cast<int32_t *>(scratch);
    scratch += alignBuffer(rows * 4);
    scales = reinterpret_cast<float *>(scratch);
    scratch += alignBuffer(rows * 4);
    zerosB = reinterpret_cast<int32_t *>(scratch);
    scratch += alignBuffer(columns(o) * 4);
    scalesB = reinterpret_cast<float *>(scratch);
    dense = reinterpret_cast<int32_t *>(scratch + alignBuffer(columns(o) * 4));
  }

  /// Rows of one batch; where they lie counts from the first element.
  void add(int64_t atC, int64_t atA, int64_t atZero, int64_t atScale) {
    const int64_t m = o.m(), first = count;
    const int row = o.c.rank - 2;
    const int64_t threads = threadsFor(m, m * o.k());
    shareRanges(m, threads, /*least=*/1, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        addRow(first + i, atA + i * o.a.strides[row],
               atZero + i * o.zeroA.strides[row]);
        if (o.hasScales)
          scales[first + i] =
              o.scaleA.as<float>()[atScale + i * o.scaleA.strides[row]];
        out[first + i] = o.hasDenseRows()
                             ? o.c.as<int32_t>() + atC + i * o.c.strides[row]
                             : dense + (first + i) * o.n();
      }
    });
    count += m;
  }

  void setColumns(int64_t at, int64_t atScale) {
    const int32_t moved = isSigned(o.b) ? 128 : 0;
    for (int64_t j = 0; j < columns(o); ++j)
      zerosB[j] =
          moved +
          (o.hasZeroB && j < o.n()
               ? numberAt(o.zeroB, at + j * o.zeroB.strides[o.c.rank - 1])
               : 0);
    for (int64_t j = 0; j < o.n() && o.hasScales; ++j)
      scalesB[j] =
          o.scaleB.as<float>()[atScale + j * o.scaleB.strides[o.c.rank - 1]];
  }

  void multiply(const std::byte *packed) const {
    IntegerProduct product;
    product.m = count;
    product.n = o.n();
    product.k = o.k();
    product.a = a;
    product.sumsA = sums;
    product.zerosA = zeros;
    product.b = packed;
    product.zerosB = zerosB;
    product.rows = out;
    product.scalesA = o.hasScales ? scales : nullptr;
    product.scalesB = scalesB;
    multiplyIntegers(product);
  }

  /// Of the rows [first, first + m), where C has no dense ones.
  void scatter(int64_t first, int64_t atC) const {
    const int row = o.c.rank - 2, column = o.c.rank - 1;
    for (int64_t i = 0; i < o.m() && !o.hasDenseRows(); ++i)
      for (int64_t j = 0; j < o.n(); ++j)
        o.c.as<int32_t>()[atC + i * o.c.strides[row] +
                          j * o.c.strides[column]] = out[first + i][j];
  }

  void clear() { count = 0; }

private:
  static int64_t columns(const Operands &o) {
    return (o.n() + kPanelColumns - 1) / kPanelColumns * kPanelColumns;
  }

  void addRow(int64_t number, int64_t at, int64_t atZero) {
    const int64_t k = o.k(), depth = integerDepth(k);
    const int64_t step = o.a.strides[o.c.rank - 1];
    const uint8_t flip = isSigned(o.a) ? 0 : 128;
    const uint8_t *from = o.a.as<uint8_t>() + at;
    int8_t *to = a + number * depth;
    const int32_t sum = step == 1 ? moveBytes(from, 1, k, flip, to)
                                  : moveBytes(from, step, k, flip, to);
    std::fill(to + k, to + depth, int8_t(0));
    sums[number] = sum;
    zeros[number] = (o.hasZeroA ? numberAt(o.zeroA, atZero) : 0) - flip;
  }

  const Operands &o;
  int64_t count = 0; ///< rows
  int8_t *a;
  int32_t **out;
  int32_t *sums, *zeros, *zerosB, *dense;
  float *scales, *scalesB;
};

template <typename Body> void forEachBatch(const Operands &o, Body &&body) {
  const auto batchOf = [&](const TensorView &view) {
    return dimsOf(view, 0, o.c.rank - 2);
  };
  forEachIndex(nestOf(batchOf(o.c), batchOf(o.a), batchOf(o.b),
                      batchOf(o.zeroA), batchOf(o.zeroB), batchOf(o.scaleA),
                      batchOf(o.scaleB)),
               body);
}

void multiply(const KernelCall &call, const Operands &o) {
  if (o.c.numElements() == 0)
    return;
  std::byte *scratch = call.scratch;
  const std::byte *packed = call.packed[0];
  std::byte *own = packed ? nullptr : scratch;
  if (own)
    scratch += alignBuffer(integerMatrixBytes(o.matrixB()));
  Gathered gathered(o, scratch);
  const auto pack = [&](int64_t at) {
    TensorView matrix = o.matrixB();
    matrix.data += at;
    if (own)
      packIntegers(matrix, own);
    return own ? own : packed;
  };
  if (o.isOneB) {
    forEachBatch(o, [&](const int64_t (&at)[7]) {
      gathered.add(at[0], at[1], at[3], at[5]);
    });
    gathered.setColumns(0, 0);
    gathered.multiply(pack(0));
    int64_t first = 0;
    forEachBatch(o, [&](const int64_t (&at)[7]) {
      gathered.scatter(first, at[0]);
      first += o.m();
    });
    return;
  }
  forEachBatch(o, [&](const int64_t (&at)[7]) {
    gathered.clear();
    gathered.add(at[0], at[1], at[3], at[5]);
    gathered.setColumns(at[4], at[6]);
    gathered.multiply(pack(at[2]));
    gathered.scatter(0, at[0]);
  });
}

template <Status (Operands::*Read)(const KernelCall &)>
Status run(const KernelCall &call) {
  Operands o;
  SHARDC_RETURN_IF_ERROR((o.*Read)(call));
  multiply(call, o);
  return Status::ok();
}

template <Status (Operands::*Read)(const KernelCall &)>
int64_t scratchBytes(const KernelCall &call) {
  Operands o;
  if (!(o.*Read)(call).isOk()) // run reports it
    return 0;
  return Gathered::bytes(o) +
         (call.packed[0] ? 0 : alignBuffer(integerMatrixBytes(o.matrixB())));
}

/// Weights: what is packed need not stay.
void packWeights(const TensorView &matrix, std::byte *to) {
  packIntegers(matrix, to, SourcePages::Leave);
}

constexpr OperandPacking kPackings[] = {
    {1, integerMatrixBytes, packWeights, /*rank=*/2, alwaysReplaces}};
const HostKernelRegistration registration(kName, {run<&Operands::read>,
                                                  scratchBytes<&Operands::read>,
                                                  kPackings});
/// MatMulQuantized where the sum may be longer than 32 bits hold: parts of it,
/// of which all but the first come to lie in scratch and are added.
class PartsOfSum {
public:
  explicit PartsOfSum(const KernelCall &call) : call(call) {
    const TensorView &c = call.outputs[0];
    rest = c;
    int64_t stride = 1;
    for (int d = c.rank - 1; d >= 0; --d) {
      rest.strides[d] = stride;
      stride *= c.dims[d];
    }
  }

  int64_t depth() const { return call.inputs[0].dims[rest.rank - 1]; }
  int64_t scratchBytes() {
    return alignBuffer(rest.numElements() * 4) +
           host::scratchBytes<&Operands::readQuantized>(part(0));
  }
  Status run() {
    rest.data = call.scratch;
    const TensorView &c = call.outputs[0];
    for (int64_t begin = 0; begin < depth(); begin += kDepth) {
      SHARDC_RETURN_IF_ERROR(host::run<&Operands::readQuantized>(part(begin)));
      if (begin > 0)
        forEachIndex(nestOf(c, rest), [&](const int64_t (&at)[2]) {
          c.as<float>()[at[0]] += rest.as<float>()[at[1]];
        });
    }
    return Status::ok();
  }

private:
  static constexpr int64_t kDepth = 32768;

  KernelCall part(int64_t begin) {
    const int64_t count = std::min(kDepth, depth() - begin);
    for (int i = 0; i < call.numInputs; ++i)
      inputs[i] =
          !hasInput(call, i)
              ? call.inputs[i]
              : narrowed(call.inputs[i], rest.rank - (i % 2 == 0 ? 1 : 2),
                         begin, count);
    KernelCall made = call;
    made.inputs = inputs;
    made.outputs = begin == 0 ? call.outputs : &rest;
    made.packed[0] = nullptr; // all of B
    made.scratch = call.scratch
                       ? call.scratch + alignBuffer(rest.numElements() * 4)
                       : nullptr;
    return made;
  }

  const KernelCall &call;
  TensorView inputs[6], rest;
};

Status runQuantized(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkQuantized(call, kQuantized));
  PartsOfSum parts(call);
  return parts.depth() <= QuantizedOperands::kMostDepth
             ? run<&Operands::readQuantized>(call)
             : parts.run();
}

int64_t quantizedScratchBytes(const KernelCall &call) {
  if (!checkQuantized(call, kQuantized).isOk()) // run reports it
    return 0;
  PartsOfSum parts(call);
  return parts.depth() <= QuantizedOperands::kMostDepth
             ? scratchBytes<&Operands::readQuantized>(call)
             : parts.scratchBytes();
}

/// Parts of a long sum pack theirs in each call.
bool replacesQuantized(const KernelCall &call) {
  return checkQuantized(call, kQuantized).isOk() &&
         PartsOfSum(call).depth() <= QuantizedOperands::kMostDepth;
}

constexpr OperandPacking kQuantizedPackings[] = {
    {1, integerMatrixBytes, packWeights, /*rank=*/2, replacesQuantized}};
const HostKernelRegistration ofNumbers(kQuantized,
                                       {runQuantized, quantizedScratchBytes,
                                        kQuantizedPackings});

} // namespace
} // namespace shardc::runtime::host
