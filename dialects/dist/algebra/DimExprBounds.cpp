//===- DimExprBounds.cpp - What is provable of symbolic sizes -------------===//

#include "dialects/dist/algebra/DimLimits.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace shardc::dist {
using namespace detail;
using Term = DimExpr::Term;

namespace {

/// What replacing atoms may take beside reading the expression once.
constexpr size_t kReplacements = 1 << 12;

/// Bounds replace atoms in any order, each expression is tried once. The budget
/// is what all of them, and those within atoms, may have of terms: beyond it an
/// answer is not known.
class Prover {
public:
  explicit Prover(size_t budget) : budget(budget) {}

  bool isAtLeast(Terms terms, int64_t bound);

private:
  bool isAtLeast(DimExpr expr, int64_t bound) {
    return isAtLeast(Terms(expr.terms()), bound);
  }
  bool isNonNegative(const DimAtom *atom);
  llvm::SmallVector<DimExpr, 2> boundsBelow(const Term &term);

  llvm::DenseSet<std::pair<size_t, int64_t>> tried; ///< by hash
  size_t budget;
};

size_t hashOf(const Terms &terms) {
  llvm::hash_code hash = 0;
  for (const Term &term : terms)
    hash = llvm::hash_combine(
        hash, term.coefficient,
        llvm::hash_combine_range(term.atoms.begin(), term.atoms.end()));
  return hash;
}

/// `terms` with one of them replaced by its coefficient times a bound.
std::optional<Terms> replaced(const Terms &terms, size_t index, DimExpr bound) {
  Terms result;
  for (auto [i, term] : llvm::enumerate(terms))
    if (i != index)
      result.push_back(term);
  for (Term term : bound.terms()) {
    if (llvm::MulOverflow(term.coefficient, terms[index].coefficient,
                          term.coefficient))
      return std::nullopt;
    result.push_back(std::move(term));
  }
  return normalize(result) ? std::optional(result) : std::nullopt;
}

} // namespace

/// True if the atom itself cannot be negative.
bool Prover::isNonNegative(const DimAtom *atom) {
  switch (atom->kind) {
  case AtomKind::Symbol:
  case AtomKind::Coordinate:
    return true;
  case AtomKind::FloorDiv:
    return isAtLeast(atom->lhs, 0) && isAtLeast(atom->rhs, 1);
  case AtomKind::Mod:
    return isAtLeast(atom->rhs, 1);
  case AtomKind::Min:
    return isAtLeast(atom->lhs, 0) && isAtLeast(atom->rhs, 0);
  case AtomKind::Max:
    return isAtLeast(atom->lhs, 0) || isAtLeast(atom->rhs, 0);
  }
  return false;
}

/// What a term is at least if its last atom is replaced by a bound: seq - min(
/// seq, 8) >= seq - seq. Nothing for other terms.
llvm::SmallVector<DimExpr, 2> Prover::boundsBelow(const Term &term) {
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
    if (isNegative && isAtLeast(atom->lhs, 0) && isAtLeast(atom->rhs, 1))
      return {atom->lhs};
    return {};
  case AtomKind::Mod:
    if (isNegative && isAtLeast(atom->rhs, 1))
      return {atom->rhs - 1};
    return {};
  default:
    return {};
  }
}

bool Prover::isAtLeast(Terms terms, int64_t bound) {
  if (budget <= terms.size())
    return false;
  budget -= terms.size() + 1;
  int64_t constant = 0;
  bool isSumOfSizes = true;
  for (const Term &term : terms) {
    if (term.atoms.empty())
      constant = term.coefficient;
    else if (term.coefficient < 0 ||
             !llvm::all_of(
                 term.atoms,
                 [&](const DimAtom *atom) { return isNonNegative(atom); }))
      isSumOfSizes = false;
  }
  if (isSumOfSizes && constant >= bound)
    return true;
  if (!tried.insert({hashOf(terms), bound}).second)
    return false;
  // Atoms inside the bound are fewer, so this ends.
  for (size_t i = 0; i < terms.size(); ++i)
    for (DimExpr below : boundsBelow(terms[i])) {
      if (budget <= terms.size())
        return false;
      std::optional<Terms> lower = replaced(terms, i, below);
      if (lower && isAtLeast(std::move(*lower), bound))
        return true;
    }
  return false;
}

bool DimExpr::isKnownAtLeast(int64_t bound) const {
  return Prover(kReplacements + detail::sizeOf(*this))
      .isAtLeast(detail::Terms(terms()), bound);
}

} // namespace shardc::dist
