//===- DimExprBounds.cpp - What is provable of symbolic sizes -------------===//

#include "dialects/dist/algebra/DimExpr.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::dist {
using namespace detail;
using Term = DimExpr::Term;

/// True if the atom itself cannot be negative.
static bool isNonNegative(const DimAtom *atom) {
  switch (atom->kind) {
  case AtomKind::Symbol:
  case AtomKind::Coordinate:
    return true;
  case AtomKind::FloorDiv:
    return atom->lhs.isKnownNonNegative() && atom->rhs.isKnownAtLeast(1);
  case AtomKind::Mod:
    return atom->rhs.isKnownAtLeast(1);
  case AtomKind::Min:
    return atom->lhs.isKnownNonNegative() && atom->rhs.isKnownNonNegative();
  case AtomKind::Max:
    return atom->lhs.isKnownNonNegative() || atom->rhs.isKnownNonNegative();
  }
  return false;
}

/// What a term is at least if its last atom is replaced by a bound: seq - min(
/// seq, 8) >= seq - seq. Nothing for other terms.
static llvm::SmallVector<DimExpr, 2> boundsBelow(const Term &term) {
  if (term.atoms.size() != 1)
    return {};
  const DimAtom *atom = term.atoms.front();
  bool isNegative = term.coefficient < 0;
  switch (atom->kind) {
  case AtomKind::Min:
    if (isNegative)
      return {atom->lhs, atom->rhs};
    return {};
  case AtomKind::Max:
    if (!isNegative)
      return {atom->lhs, atom->rhs};
    return {};
  case AtomKind::FloorDiv:
    if (isNegative && atom->lhs.isKnownNonNegative() &&
        atom->rhs.isKnownAtLeast(1))
      return {atom->lhs};
    return {};
  case AtomKind::Mod:
    if (isNegative && atom->rhs.isKnownAtLeast(1))
      return {atom->rhs - 1};
    return {};
  default:
    return {};
  }
}

bool DimExpr::isKnownAtLeast(int64_t bound) const {
  int64_t constant = 0;
  bool isSumOfSizes = true;
  for (const Term &term : terms()) {
    if (term.atoms.empty())
      constant = term.coefficient;
    else if (term.coefficient < 0 || !llvm::all_of(term.atoms, isNonNegative))
      isSumOfSizes = false;
  }
  if (isSumOfSizes && constant >= bound)
    return true;
  // Atoms inside the bound are fewer, so this ends.
  for (const Term &term : terms())
    for (DimExpr below : boundsBelow(term)) {
      DimExpr rest = *this - fromTerms({term});
      if ((rest + DimExpr(term.coefficient) * below).isKnownAtLeast(bound))
        return true;
    }
  return false;
}

} // namespace shardc::dist
