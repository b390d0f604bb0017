//===- ExpertPlaces.h - Where one expert was chosen -----------------------===//
//
// Exporters that unroll the loop over experts find the places [t, i] of the
// choices [n, k] that are expert e, or [i, t] of the transposed ones:
//
//   hot = choices == 0..numExperts                  [n, k, e], moved to [e, ..]
//   t, i = columns of Transpose(NonZero(hot[e]))
//   x[t]                                            rows of tokens
//   w[t, i]                                         as w.flat[t * k + i], or by
//                                                   a GatherND of t beside i
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_EXPERTS_EXPERTPLACES_H
#define SHARDC_PASSES_IMPORT_EXPERTS_EXPERTPLACES_H

#include "dialects/onnx/ops/Dynamic.h"

#include <optional>

namespace shardc::import {

struct ExpertPlaces {
  onnx::NonZeroOp found;
  unsigned token =
      0; ///< which part of a place is the token; the other, the choice
  int64_t expert = 0, numExperts = 0;
  mlir::Value indices; ///< a router's choices, [n, k]
};

/// The places whose tokens, as [count] or [count, 1], these are.
std::optional<ExpertPlaces> placesOf(mlir::Value tokens);

/// x, which reshapes to [n, d], for rows x[t] of these places' tokens.
mlir::Value tokensAt(const ExpertPlaces &places, mlir::Value rows);

/// w [n, k] for w[t, i] at these places.
mlir::Value weightsAt(const ExpertPlaces &places, mlir::Value weights);

/// The op that reads how many places there are; null if none does.
mlir::Operation *countOf(const ExpertPlaces &places);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_EXPERTS_EXPERTPLACES_H
