//===- MatMulDequantized.cpp - Product with quantised weights -------------===//
//
// A [..., m, k] times (B - zero point) * scale [..., k, n], where B is read as
// DequantizeLinear reads it. Weights of 2, 4 and 8 bits are multiplied as such,
// packed once where they stay the same (FieldProducts.h), and so are halves; of
// others a panel of columns at a time becomes numbers, in scratch that stays in the
// cache: the whole never exists. With activation_bits
// = 8 blocks of A may be rounded to bytes, and products of them be exact
// (ByteProducts.h); with 16 both operands may be rounded to bfloat16
// (RoundedFields.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/product/BatchedProduct.h"
#include "runtime/kernels/host/quant/ByteProducts.h"
#include "runtime/kernels/host/quant/FieldProducts.h"
#include "runtime/kernels/host/quant/RoundedFields.h"
#include "runtime/kernels/quant/DequantizedOperands.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "MatMulDequantized";
constexpr int64_t kPanel = 64; ///< columns of B
/// Of a product with numbers: a row of A gets the same bits beside any others, as
/// it does where weights are read as they are.
constexpr SumOrder kOrder = SumOrder::Fixed;

using Operands = DequantizedOperands;

/// Numbers of these columns of B: a view on `memory`, or none yet.
TensorView panelFor(const Operands &part, std::byte *memory) {
  TensorView panel = part.b.data;
  panel.data = memory;
  panel.element = part.a.element;
  panel.skipped = 0;
  for (int d = 0; d < part.row(); ++d) {
    panel.dims[d] = part.c.dims[d];
    panel.strides[d] = 0;
  }
  panel.strides[part.row()] = 1;
  panel.strides[part.column()] = panel.dims[part.row()];
  return panel;
}

int64_t panelBytes(const Operands &operands) {
  const int64_t width = std::min(kPanel, operands.c.dims[operands.column()]);
  const int64_t bytes = operands.b.data.dims[operands.row()] * width *
                        artifact::elementBytes(operands.a.element);
  return (bytes + 63) / 64 * 64;
}

template <typename T>
Status multiplyPanel(const KernelCall &call, Operands part, int64_t bytes) {
  const TensorView panel = panelFor(part, call.scratch);
  part.b.result = panel;
  for (TensorView *view :
       {&part.b.result, &part.b.data, &part.b.scale, &part.b.zeroPoint})
    for (int d = 0; d < part.row(); ++d)
      view->dims[d] = 1;
  SHARDC_RETURN_IF_ERROR(dequantize(call, kName, part.b));
  using Acc = Accumulator<T>;
  return BatchedProduct<T>(part.a, panel, part.c, /*packed=*/nullptr, kOrder)
      .run(part.a.as<T>(), panel.as<T>(), part.c.as<T>(), Acc(1), Acc(0),
           call.scratch + bytes);
}

/// A product that has its weights from elsewhere.
template <typename T> BatchedProduct<T> rowsOf(const Operands &part) {
  static constexpr std::byte elsewhere{};
  return BatchedProduct<T>(part.a, part.b.data, part.c, &elsewhere);
}

/// How one matrix of B is multiplied.
enum class Weights { Numbers, Fields, Bytes, Rounded, Halves };

template <typename T>
Weights readWeights(const KernelCall &call, const Operands &part,
                    const BatchedProduct<T> &product, FieldMatrix &matrix) {
  if (!product.takesPacked())
    return Weights::Numbers;
  if (std::is_same_v<T, float> && call.packed[0] && part.b.areHalves())
    return Weights::Halves;
  if (!matrix.read(call, part))
    return Weights::Numbers;
  matrix.setPacked(call.packed[0], call.packed[1]);
  const int64_t bits = call.intOr("activation_bits", 0);
  if (matrix.hasFloats()) // neither bytes nor pairs are made of these
    return Weights::Fields;
  return bits == 8 && takesBytes(matrix) ? Weights::Bytes
         : bits == 16 && roundsFields()  ? Weights::Rounded
                                         : Weights::Fields;
}

/// Scratch of a product that reads its weights so, but for its own.
int64_t weightScratchBytes(Weights weights, const FieldMatrix &matrix,
                           const Operands &part, int64_t rows) {
  const int64_t columns = part.c.dims[part.column()];
  const int64_t depth = part.a.dims[part.column()];
  switch (weights) {
  case Weights::Bytes:
    return byteScratchBytes(matrix, rows, depth, columns);
  case Weights::Rounded:
    return roundedScratchBytes(matrix, rows, depth, columns);
  case Weights::Halves:
    return 0;
  default:
    return fieldScratchBytes(matrix, part.a.element, columns, rows);
  }
}

/// Halves in panels, times the one scale.
void multiplyHalves(const QuantizedViews &weights, const std::byte *packed,
                    PackedProduct product) {
  product.setPacked(packed, weights.data.element);
  product.alpha = *weights.scale.as<float>();
  multiplyPacked(product);
}

template <typename T>
void multiplyWeights(Weights weights, const KernelCall &call,
                     const Operands &part, const BatchedProduct<T> &product,
                     const FieldMatrix &matrix) {
  const auto multiply = [&](const PackedProduct &each) {
    if (weights == Weights::Bytes)
      multiplyBytes(matrix, each, call.scratch);
    else if (weights == Weights::Rounded)
      multiplyRoundedFields(matrix, each, call.scratch);
    else if (weights == Weights::Halves)
      multiplyHalves(part.b, call.packed[0], each);
    else
      multiplyFields(matrix, part.a.element, each, call.scratch);
  };
  product.multiplyRows(
      part.a.as<T>(), part.c.as<T>(),
      call.scratch + weightScratchBytes(weights, matrix, part, product.rows()),
      multiply);
}

template <typename T>
Status multiplyMatrix(const KernelCall &call, const Operands &part) {
  const BatchedProduct<T> product = rowsOf<T>(part);
  FieldMatrix matrix;
  const Weights weights = readWeights(call, part, product, matrix);
  if constexpr (std::is_same_v<Accumulator<T>, float>)
    if (weights != Weights::Numbers) {
      multiplyWeights(weights, call, part, product, matrix);
      return Status::ok();
    }
  const int64_t bytes = panelBytes(part);
  const int64_t columns = part.c.dims[part.column()];
  for (int64_t j = 0; j < columns; j += kPanel)
    SHARDC_RETURN_IF_ERROR(multiplyPanel<T>(
        call, part.columns(j, std::min(kPanel, columns - j)), bytes));
  return Status::ok();
}

/// Matrices of B from batch dim `dim` on, one after the other.
template <typename T>
Status multiply(const KernelCall &call, const Operands &operands, int dim) {
  if (dim < operands.row()) {
    if (!operands.hasOwnB(dim))
      return multiply<T>(call, operands, dim + 1);
    for (int64_t i = 0; i < operands.c.dims[dim]; ++i)
      SHARDC_RETURN_IF_ERROR(multiply<T>(call, operands.at(dim, i), dim + 1));
    return Status::ok();
  }
  return multiplyMatrix<T>(call, operands);
}

Status run(const KernelCall &call) {
  Operands operands;
  SHARDC_RETURN_IF_ERROR(operands.read(call, kName));
  if (operands.c.numElements() == 0)
    return Status::ok();
  return dispatch(FloatTypes(), operands.a.element, kName, [&](auto tag) {
    return multiply<typename decltype(tag)::Type>(call, operands, 0);
  });
}

/// Scratch of a panel and of the product with it.
template <typename T> int64_t panelScratchBytes(Operands part) {
  const int64_t bytes = panelBytes(part);
  part = part.columns(0, std::min(kPanel, part.c.dims[part.column()]));
  return bytes + BatchedProduct<T>(part.a, panelFor(part, nullptr), part.c,
                                   /*packed=*/nullptr, kOrder)
                     .scratchBytes();
}

int64_t scratchBytes(const KernelCall &call) {
  Operands part;
  if (!part.read(call, kName).isOk()) // run reports it
    return 0;
  for (int d = 0; d < part.row(); ++d)
    if (part.hasOwnB(d))
      part = part.at(d, 0);
  int64_t bytes = 0;
  const Status known =
      dispatch(FloatTypes(), part.a.element, kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        const BatchedProduct<T> product = rowsOf<T>(part);
        // It may be packed by the time that it runs, and takes less then.
        FieldMatrix matrix;
        const Weights weights = readWeights(call, part, product, matrix);
        bytes =
            weights == Weights::Numbers
                ? panelScratchBytes<T>(part)
                : product.scratchBytes() +
                      weightScratchBytes(weights, matrix, part, product.rows());
      });
  return known.isOk() ? bytes : 0;
}

int64_t packedBytes(const TensorView &weights) {
  FieldMatrix matrix;
  return matrix.readMatrix(weights)   ? matrix.packedBytes()
         : areHalves(weights.element) ? packedMatrixBytes(weights)
                                      : 0;
}

void pack(const TensorView &weights, std::byte *to) {
  FieldMatrix matrix;
  if (matrix.readMatrix(weights))
    matrix.pack(to);
  else
    packMatrix(weights, to, SourcePages::Leave);
}

/// How a call reads weights that were packed, whichever matrix of B it is.
Weights packedWeights(const KernelCall &call, FieldMatrix &matrix) {
  static constexpr std::byte elsewhere{};
  KernelCall packed = call;
  packed.packed[0] = &elsewhere;
  Operands part;
  if (!part.read(packed, kName).isOk()) // run reports it
    return Weights::Numbers;
  Weights weights = Weights::Numbers;
  const Status known =
      dispatch(FloatTypes(), part.a.element, kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        weights = readWeights(packed, part, rowsOf<T>(part), matrix);
      });
  return known.isOk() ? weights : Weights::Numbers;
}

bool replacesWeights(const KernelCall &call) {
  FieldMatrix matrix;
  return packedWeights(call, matrix) != Weights::Numbers;
}

/// Weights may be a request's, and have rows that seem to be one.
bool replacesScales(const KernelCall &call) {
  FieldMatrix matrix;
  const Weights weights = packedWeights(call, matrix);
  return weights != Weights::Numbers && weights != Weights::Halves &&
         matrix.isDense() && matrix.scales().takePacked();
}

constexpr OperandPacking kPackings[] = {
    {1, packedBytes, pack, /*rank=*/2, replacesWeights},
    {2, packedScaleBytes, packScales, /*rank=*/2, replacesScales}};
const HostKernelRegistration registration(kName,
                                          {run, scratchBytes, kPackings});

} // namespace
} // namespace shardc::runtime::host
