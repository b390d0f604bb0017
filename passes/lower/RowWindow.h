//===- RowWindow.h - Views of rows that become longer ---------------------===//
//
// Products whose rows come to lie side by side keep what was seen of them:
//
//   v [b, 2 heads, s, 16], strides [s * 32, 16, 32, 1]   rows of 32
//   behind q and k in rows of 128, from column 96 on     [s * 128, 16, 128, 1],
//                                                        offset 96
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_ROWWINDOW_H
#define SHARDC_PASSES_LOWER_ROWWINDOW_H

#include "passes/lower/StridedLayout.h"

namespace shardc::lower {

/// Rows of so many columns that become a part of longer ones.
struct RowWindow {
  dist::DimExpr columns; ///< of the rows as they were
  dist::DimExpr all;     ///< of the longer ones
  dist::DimExpr first;   ///< among them
};

/// The same elements; nothing where a dim goes on from one row to the next.
std::optional<StridedLayout> withinRows(const StridedLayout &layout,
                                        const RowWindow &window);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_ROWWINDOW_H
