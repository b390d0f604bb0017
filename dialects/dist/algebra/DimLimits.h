//===- DimLimits.h - How large symbolic sizes get -------------------------===//
//
// Expressions are small. One that would get tens of thousands of terms and
// atoms, atoms within atoms hundreds deep, or a coefficient beyond 64 bits, is
// "too large", and so is all that is computed of it:
//
//   (a + b) * (a + b) * ...   fifty times: as many terms, and each one's
//                             coefficient would take more than 64 bits
//
// Nothing is known of such a size, not even that it equals itself. Whatever
// makes types refuses it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_ALGEBRA_DIMLIMITS_H
#define SHARDC_DIALECTS_DIST_ALGEBRA_DIMLIMITS_H

#include "dialects/dist/algebra/DimExpr.h"

namespace shardc::dist {

bool isTooLarge(DimExpr expr);

/// Of sizes, 0 for none; takes linear time, as adding one by one does not.
DimExpr sum(llvm::ArrayRef<DimExpr> sizes);

namespace detail {

using Terms = llvm::SmallVector<DimExpr::Term, 2>;

/// Sorts atoms and terms and adds up terms of the same atoms. False if a
/// coefficient, or what it is times -1, leaves 64 bits.
[[nodiscard]] bool normalize(Terms &terms);

/// Terms and atoms in an expression, those within atoms too.
size_t sizeOf(DimExpr expr);

} // namespace detail
} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_ALGEBRA_DIMLIMITS_H
