//===- AttentionTile.h - What products of attention are made of -----------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONTILE_H
#define SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONTILE_H

#include "runtime/kernels/host/product/MatrixProduct.h"

#include <array>
#include <cstddef>
#include <span>

namespace shardc::runtime::host {

/// Scores of `rows` queries and of keys [begin, begin + count) of a piece.
template <typename Acc> struct ScoreTile {
  Acc *scores;
  int64_t leading;
  int64_t rows, begin, count;
};

/// Where a piece starts among the keys and values of a head, in elements, and
/// how many it has.
struct KeyPiece {
  int64_t keys, values, size;
  bool operator==(const KeyPiece &) const = default;
};

/// Keys [begin, end) of a piece; their scores are columns of a tile from `column` on.
struct KeyPart {
  int64_t piece, begin, end, column = 0;

  int64_t count() const { return end - begin; }
};

/// Keys of pieces that follow each other and are weighed together: what a row does
/// for each tile is worth it for some hundred keys, and pages have fewer.
///
///   pages of 64, 150 keys: 64 from column 0 on, 64 from 64, 22 from 128
class KeyTile {
public:
  explicit KeyTile(int64_t mostKeys) : mostKeys(mostKeys) {}

  bool isEmpty() const { return numParts == 0; }
  bool hasRoom(int64_t keys) const {
    return numParts < int64_t(all.size()) && columns + keys <= mostKeys;
  }
  void add(KeyPart part) {
    part.column = columns;
    columns += part.count();
    all[size_t(numParts++)] = part;
  }
  void clear() { numParts = columns = 0; }

  std::span<const KeyPart> parts() const {
    return std::span(all).first(size_t(numParts));
  }
  int64_t count() const { return columns; }

private:
  int64_t mostKeys, numParts = 0, columns = 0;
  std::array<KeyPart, 16> all = {};
};

/// How keys [.., depth] and values [.., columns] of a head lie.
struct AttentionHead {
  int64_t depth, columns;
  int64_t stepK, depthStepK, stepV, columnStepV;

  AttentionHead(const TensorView &k, const TensorView &v)
      : depth(k.dims[3]), columns(v.dims[3]), stepK(k.strides[2]),
        depthStepK(k.strides[3]), stepV(v.strides[2]),
        columnStepV(v.strides[3]) {}
};

/// How attention adds up, and whether its operands may be rounded.
struct AttentionOrder {
  bool areRowsSplit = false, isInOrder = false, isRounded = false;

  static AttentionOrder of(const KernelCall &call) {
    return {call.intOr("split_rows", 0) != 0,
            sumOrderOf(call) == SumOrder::Fixed,
            call.intOr("operand_bits", 0) == 16};
  }
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_ATTENTION_ATTENTIONTILE_H
