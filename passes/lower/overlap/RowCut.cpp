//===- RowCut.cpp - The rows of a value in parts --------------------------===//

#include "passes/lower/overlap/RowCut.h"

namespace shardc::lower {

using dist::DimExpr;

Sizes RowCut::wholeDims() const {
  Sizes whole = dims;
  if (isOfEachPart()) {
    whole[*split] = splitSize ? *splitSize : dims[*split] * dims[dim];
    whole.erase(whole.begin() + dim);
  }
  return whole;
}

DimExpr RowCut::rowsPerUnit() const {
  Sizes others = dims;
  others.erase(others.begin() + dim);
  return dist::product(others);
}

RowCut cutAnywhere(DimExpr rows) {
  return {{rows}, 0, std::nullopt, std::nullopt};
}

std::optional<RowCut> cutEachPart(llvm::ArrayRef<DimExpr> dims, size_t split,
                                  int64_t ways) {
  if (split + 1 >= dims.size())
    return std::nullopt;
  const DimExpr size = dims[split];
  std::optional<DimExpr> part = size.exactDiv(ways);
  if (!part && size.asConstant())
    return std::nullopt;
  RowCut cut{Sizes(dims.drop_back()), split + 1, split, std::nullopt};
  if (!part) {
    cut.splitSize = size;
    const DimExpr isEqual = 1 - DimExpr::min(DimExpr::mod(size, ways), 1);
    part = isEqual * DimExpr::floorDiv(size, ways);
  }
  cut.dims[split] = *part;
  cut.dims.insert(cut.dims.begin() + split, DimExpr(ways));
  return cut;
}

std::optional<RowCut> cutOutside(llvm::ArrayRef<DimExpr> dims, size_t split) {
  if (split == 0 || split + 1 >= dims.size() || dims[0].isConstant(1))
    return std::nullopt;
  return RowCut{Sizes(dims.drop_back()), 0, split, std::nullopt};
}

std::optional<std::pair<RowCut, RowPart>> uncutRows(const RowCut &cut) {
  if (!cut.splitSize)
    return std::nullopt;
  const size_t split = *cut.split;
  const DimExpr rows = *cut.splitSize - cut.dims[split] * cut.dims[cut.dim];
  return std::pair(RowCut{cut.wholeDims(), split, split, std::nullopt},
                   RowPart{0, rows});
}

std::vector<RowPart> partsOf(const RowCut &cut, int64_t parts,
                             int64_t leastRows) {
  const DimExpr size = cut.dims[cut.dim];
  const DimExpr unit = DimExpr::max(cut.rowsPerUnit(), 1);
  const DimExpr least = leastRows > 1
                            ? DimExpr::floorDiv(unit + (leastRows - 1), unit)
                            : DimExpr(1);
  const DimExpr step =
      DimExpr::max(least, DimExpr::floorDiv(size + (parts - 1), parts));
  std::vector<RowPart> made;
  for (int64_t i = 0; i < parts; ++i) {
    const DimExpr start = i == 0 ? DimExpr() : DimExpr::min(size, step * i);
    // Whatever is left: no row may be lost.
    const DimExpr end =
        i + 1 == parts ? size : DimExpr::min(size, step * (i + 1));
    made.push_back({start, end - start});
  }
  return made;
}

std::optional<StridedLayout> withRows(const StridedLayout &layout,
                                      llvm::ArrayRef<DimExpr> rows) {
  if (layout.dims.empty())
    return std::nullopt;
  Sizes dims(rows);
  dims.push_back(layout.dims.back());
  if (dist::product(dims) != dist::product(layout.dims))
    return std::nullopt;
  return layout.reshaped(dims);
}

std::optional<StridedLayout> withRows(const StridedLayout &layout,
                                      const RowCut &cut) {
  std::optional<StridedLayout> rows = withRows(layout, cut.wholeDims());
  if (rows && cut.isOfEachPart())
    return rows->expanded(*cut.split,
                          {cut.dims[*cut.split], cut.dims[cut.dim]});
  return rows;
}

} // namespace shardc::lower
