#include "passes/lower/RowWindow.h"

namespace shardc::lower {

using dist::DimExpr;

std::optional<StridedLayout> withinRows(const StridedLayout &layout,
                                        const RowWindow &window) {
  StridedLayout moved = layout;
  DimExpr reach = 0; // of the last element, in its row
  if (std::optional<DimExpr> rows = layout.offset.exactDiv(window.columns)) {
    moved.offset = *rows * window.all + window.first;
  } else {
    reach = layout.offset;
    moved.offset = layout.offset + window.first;
  }
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    if (layout.dims[d].isConstant(1))
      continue; // whatever its stride is
    if (std::optional<DimExpr> rows =
            layout.strides[d].exactDiv(window.columns))
      moved.strides[d] = *rows * window.all;
    else
      reach = reach + (layout.dims[d] - 1) * layout.strides[d];
  }
  if (!(window.columns - reach - 1).isKnownNonNegative())
    return std::nullopt;
  return moved;
}

} // namespace shardc::lower
