//===- QuantizedPlaces.h - Where quantised weights lie --------------------===//
#ifndef SHARDC_PASSES_IMPORT_WEIGHTS_QUANTIZEDPLACES_H
#define SHARDC_PASSES_IMPORT_WEIGHTS_QUANTIZEDPLACES_H

#include "dialects/onnx/QuantizedMatrix.h"
#include "passes/import/weights/WeightSources.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace shardc::import {

/// Data [.., n, k] of a matrix or of a stack, and its scales, in the file of
/// quantised weights.
struct QuantizedPlace {
  mlir::Type stored, element; ///< of the file, of the model
  int64_t rows = 0, columns = 0, groups = 0;
  int64_t group = 0; ///< along k; 0: all of it
  uint64_t dataOffset = 0, dataBytes = 0;
  uint64_t scaleOffset = 0, scaleBytes = 0;
};

/// Of one module: each weight once, whichever functions read it.
class QuantizedPlaces {
public:
  explicit QuantizedPlaces(int64_t group) : group(group) {}

  QuantizedPlace of(const WeightSource &source, mlir::Type stored);
  /// Matrices one after the other. Nothing where some part of it would end within a
  /// byte.
  std::optional<QuantizedPlace> of(const ExpertStack &stack, mlir::Type stored);

  llvm::ArrayRef<onnx::QuantizedMatrix> all() const { return list; }

private:
  /// Weights of other dims may begin at the same place of a file.
  using Key =
      std::tuple<std::string, uint64_t, bool, const void *, const void *>;
  static Key keyOf(const WeightSource &source, mlir::Type stored);
  onnx::QuantizedMatrix describe(const WeightSource &source,
                                 mlir::Type stored) const;
  /// Where it can be read where it lies.
  uint64_t place(uint64_t bytes);

  int64_t group;
  std::map<std::vector<Key>, QuantizedPlace> known;
  std::vector<onnx::QuantizedMatrix> list;
  uint64_t size = 0;
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_WEIGHTS_QUANTIZEDPLACES_H
