//===- Sizes.h - Dims of a request as numbers -----------------------------===//
//
//   batch = 32, past_sequence = 8191, sequence = 1:   [batch, past + sequence]
//   has 32 * 8192 elements
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_COST_SIZES_H
#define SHARDC_PASSES_PLAN_COST_SIZES_H

#include "dialects/dist/algebra/Sharding.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace shardc::plan {

class Sizes {
public:
  /// Symbols that are not given have the nominal size.
  explicit Sizes(llvm::StringMap<int64_t> given = {},
                 int64_t nominal = dist::kNominalSize)
      : given(std::move(given)), nominal(nominal) {}

  /// 1 where it is no number (Sizes that the data decide).
  double of(dist::DimExpr size) const;
  double elements(llvm::ArrayRef<dist::DimExpr> dims) const;
  /// Of the rank that has most of it, or of the one that onRank() named.
  double largestPart(const dist::Sharding &sharding) const;
  /// The same of so many elements that are split over axes.
  double largestPart(double elements, llvm::ArrayRef<dist::AxisRef> axes) const;
  /// Where axes have shares: which rank it is about, or the one with the most
  /// of each. Without, parts are equal. `mesh` outlives the object.
  void onRank(const dist::Mesh &mesh, std::optional<int64_t> rank);
  /// The same of a part of the batch: see Degrees.h.
  void set(llvm::StringRef symbol, int64_t size);
  const llvm::StringMap<int64_t> &bySymbol() const { return given; }

private:
  double largestPart(const dist::DimSharding &dim) const;

  llvm::StringMap<int64_t> given;
  int64_t nominal;
  const dist::Mesh *mesh = nullptr; ///< null where parts are equal
  std::optional<int64_t> rank;
  mutable llvm::DenseMap<const void *, double> known; ///< by expression
};

/// Of options "NAME=SIZE". "" or what is wrong with one of them.
std::string parseSizes(llvm::ArrayRef<std::string> entries,
                       llvm::StringMap<int64_t> &sizes);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_COST_SIZES_H
