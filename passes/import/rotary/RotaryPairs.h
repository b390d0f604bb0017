//===- RotaryPairs.h - Spellings of a rotation ----------------------------===//
//
// Rotary embedding turns pairs (a, b) of a head's elements by an angle:
//
//   a cos - b sin,  b cos + a sin
//
// Exporters write it pair by pair, or as x cos + r(x) sin, where r(x) has -b in
// the place of a and a in that of b. Pairs are the two halves of a head, or
// neighbours. The cosines then are those of a half, or each is there twice.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_ROTARY_ROTARYPAIRS_H
#define SHARDC_PASSES_IMPORT_ROTARY_ROTARYPAIRS_H

#include "dialects/dist/algebra/DimExpr.h"

#include "mlir/IR/Builders.h"

namespace shardc::import {

/// Elements start, start + step, ... of a value's last dim.
struct LastDimPart {
  mlir::Value source;
  dist::DimExpr start;
  int64_t step;
};

/// The value as a part of another along the last dim; nothing if it is none.
std::optional<LastDimPart> lastDimPart(mlir::Value value);

struct Rotation {
  mlir::Value input;         ///< null: first and second are no parts of one
  mlir::Value first, second; ///< all a, and all b
  mlir::Value cos, sin;
  bool isTwice = false;       ///< cos and sin hold each angle twice
  bool isInterleaved = false; ///< pairs are neighbours, not halves
};

/// Reads the result of a rotation.
std::optional<Rotation> readRotation(mlir::Operation *op);

/// The cosines or sines of each pair once, where `value` holds them twice: as
/// two equal halves, or each beside its copy. Rebuilds what computes them;
/// null where they are not known to be equal.
mlir::Value onceEach(mlir::OpBuilder &builder, mlir::Value value,
                     bool isInterleaved);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_ROTARY_ROTARYPAIRS_H
