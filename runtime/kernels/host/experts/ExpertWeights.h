//===- ExpertWeights.h - Products with one matrix of each expert ----------===//
//
// Weights [e, rows, columns] of MixtureOfExperts, which were packed once where
// they stay the same (ExpertPacking.h): the bits of a token do not depend on the
// others of its expert then. Others are multiplied as they lie where loops read
// them so: fields of 2 to 8 bits (FieldProducts.h), and rows of halves. Of what is
// left the matrix of an expert that has tokens becomes numbers first, one at a
// time.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_EXPERTS_EXPERTWEIGHTS_H
#define SHARDC_RUNTIME_KERNELS_HOST_EXPERTS_EXPERTWEIGHTS_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/experts/ExpertOperands.h"
#include "runtime/kernels/host/experts/ExpertPacking.h"
#include "runtime/kernels/host/product/MatrixProduct.h"
#include "runtime/kernels/host/quant/FieldProducts.h"
#include "runtime/kernels/host/simd/FloatTiles.h"
#include "runtime/kernels/host/simd/RoundedProduct.h"

namespace shardc::runtime::host {

/// What the products of an expert have in common with one another.
template <typename T> class ExpertMatrices {
  using Acc = Accumulator<T>;

public:
  /// `packed`: as packingOfExperts has left them, or null.
  ExpertMatrices(const ExpertOperand &operand, SumOrder order,
                 ExpertRounding rounding, const std::byte *packed)
      : operand(operand), order(order), rounding(rounding), packed(packed),
        bytesOfPacked(
            alignBuffer(packedExpertBytes(matrixOf(/*expert=*/0), rounding))) {
    const TensorView &data = operand.data();
    layout = {data.dims[1], data.dims[2], data.strides[1], data.strides[2]};
    weights = readWeights();
    if (operand.isQuantized) { // rows are what is summed, and blocked
      layout.rowStride = 1;
      layout.columnStride = std::max<int64_t>(layout.rows, 1);
    }
  }

  /// For up to `m` tokens at a time.
  int64_t scratchBytes(int64_t m) const {
    switch (weights) {
    case Weights::Rows:
    case Weights::Panels:
    case Weights::Tiles:
      return 0;
    case Weights::Rounded:
      return (packed ? 0 : bytesOfPacked) +
             roundedLoops().rowsBytes(m, layout.rows);
    case Weights::Fields: {
      FieldMatrix fields;
      return readFields(0, fields)
                 ? std::max(fieldScratchBytes(fields, operand.element(),
                                              layout.columns, 1),
                            fieldScratchBytes(fields, operand.element(),
                                              layout.columns, m))
                 : 0;
    }
    case Weights::Numbers:
      break;
    }
    return numberBytes() +
           (operand.isQuantized
                ? alignBuffer(layout.size() * int64_t(sizeof(T)))
                : 0);
  }

  /// What follows multiplies by the matrix of `expert`.
  Status choose(int64_t expert, std::string_view kernel, std::byte *scratch) {
    this->expert = expert;
    this->scratch = scratch;
    if (weights == Weights::Fields)
      (void)readFields(expert, fields); // as of any other one
    if (weights == Weights::Rounded && !packed)
      packExpert(matrixOf(expert), rounding, scratch, SourcePages::Stay);
    if (weights != Weights::Numbers)
      return Status::ok();
    Acc *rows = reinterpret_cast<Acc *>(scratch);
    if (!operand.isQuantized) {
      matrix = asMatrix(layout, first(), rows);
      return Status::ok();
    }
    TensorView numbers = operand.data();
    numbers.data = scratch + numberBytes();
    numbers.element = operand.element();
    numbers.skipped = 0;
    numbers.dims[0] = 1;
    numbers.strides[1] = layout.rowStride;
    numbers.strides[2] = layout.columnStride;
    SHARDC_RETURN_IF_ERROR(operand.dequantizeTo(numbers, kernel, expert));
    matrix = asMatrix(layout, numbers.as<T>(), rows);
    return Status::ok();
  }

  /// C [m, columns] = A [m, rows] B, of dense rows; m is not 0.
  Status multiply(int64_t m, const Acc *a, Acc *c) const {
    if constexpr (std::is_same_v<Acc, float>)
      if (weights != Weights::Numbers) {
        multiplyAsTheyLie(m, a, c);
        return Status::ok();
      }
    return host::multiply(m, layout.columns, layout.rows, Acc(1),
                          {a, std::max<int64_t>(layout.rows, 1), false}, matrix,
                          Acc(0), c, std::max<int64_t>(layout.columns, 1),
                          operand.isQuantized ? SumOrder::Fixed : order);
  }

  /// Whether nothing is read but what was packed, which there is.
  bool readsPackedAlone() const {
    return packed && weights != Weights::Numbers && weights != Weights::Rows;
  }

private:
  enum class Weights { Numbers, Rows, Fields, Panels, Tiles, Rounded };

  TensorView matrixOf(int64_t expert) const {
    return dimsOf(narrowed(operand.data(), 0, expert, 1), 1, 3);
  }

  int64_t numberBytes() const {
    return alignBuffer(packedSize<T>(layout) * int64_t(sizeof(Acc)));
  }
  /// Of the chosen expert.
  const std::byte *packedExpert() const {
    return packed + expert * bytesOfPacked;
  }
  const T *first() const {
    return operand.data().template as<T>() + expert * operand.data().strides[0];
  }

  Weights readWeights() const {
    if (!std::is_same_v<Acc, float> || layout.size() == 0)
      return Weights::Numbers;
    const bool liesInTiles = areExpertsInTiles(operand.data());
    if (operand.isQuantized) {
      if (packed && operand.views.areHalves())
        return liesInTiles ? Weights::Tiles : Weights::Panels;
      FieldMatrix fields;
      return readFields(0, fields) ? Weights::Fields : Weights::Numbers;
    }
    // Tiles add up in an order of their own: one product, one order.
    if (rounding == ExpertRounding::BFloat16 ||
        (liesInTiles && (packed || order == SumOrder::Fixed)))
      return Weights::Rounded;
    if (packed)
      return Weights::Panels;
    return isHalf<T> && layout.hasDenseRows() &&
                   layout.columns % kPanelColumns == 0
               ? Weights::Rows
               : Weights::Numbers;
  }

  bool readFields(int64_t of, FieldMatrix &fields) const {
    DequantizedOperands part;
    part.b = operand.views;
    for (TensorView *view : {&part.b.data, &part.b.scale, &part.b.zeroPoint})
      *view = narrowed(*view, 0, of, 1);
    part.c.rank = part.b.data.rank;
    constexpr int kSummed = 1; // of [e, rows, columns]
    if ((part.b.hasBlocks && part.b.axis != kSummed) ||
        !fields.read(operand.attributesOnly(), part))
      return false;
    fields.setPacked(packed ? packed + of * bytesOfPacked : nullptr,
                     /*packedScales=*/nullptr);
    return true;
  }

  void multiplyAsTheyLie(int64_t m, const float *a, float *c) const {
    PackedProduct product;
    product.m = m;
    product.n = layout.columns;
    product.k = layout.rows;
    product.a = a;
    product.rowStepA = layout.rows;
    product.c = c;
    product.leadingC = layout.columns;
    product.beta = 0;
    switch (weights) {
    case Weights::Rows:
      product.setRows(reinterpret_cast<const std::byte *>(first()),
                      operand.element(),
                      layout.rows > 1 ? layout.rowStride : layout.columns);
      return multiplyPacked(product);
    case Weights::Panels:
    case Weights::Tiles:
      product.setPacked(packedExpert(), operand.data().element);
      if (operand.isQuantized) // halves, times one number
        product.alpha = *operand.views.scale.template as<float>();
      return (weights == Weights::Tiles ? multiplyFloatTiles
                                        : multiplyPacked)(product);
    case Weights::Rounded:
      return packed ? roundedLoops().multiply(product, packedExpert(), scratch)
                    : roundedLoops().multiply(product, scratch,
                                              scratch + bytesOfPacked);
    default:
      return multiplyFields(fields, operand.element(), product, scratch);
    }
  }

  const ExpertOperand &operand;
  SumOrder order;
  ExpertRounding rounding;
  const std::byte *packed;
  int64_t bytesOfPacked; ///< of one expert
  MatrixLayout layout;
  Weights weights;
  int64_t expert = 0; ///< the chosen one, as are these
  std::byte *scratch = nullptr;
  Matrix<Acc> matrix;
  FieldMatrix fields;
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_EXPERTS_EXPERTWEIGHTS_H
