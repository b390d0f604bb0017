//===- RankSizes.cpp - Sizes and parts of one rank ------------------------===//

#include "compiler/ranks/RankSizes.h"

#include "dialects/dist/algebra/DeviceWays.h"

namespace shardc::ranks {

using dist::AxisRef;
using dist::DimExpr;
using dist::detail::AtomKind;
using dist::detail::DimAtom;

static DimExpr atomAt(const DimAtom *atom, const StageRank &rank) {
  switch (atom->kind) {
  case AtomKind::Symbol:
    return DimExpr::symbol(atom->name);
  case AtomKind::Coordinate:
    return rank.mesh.coordinateAlong(rank.rank, atom->name);
  case AtomKind::FloorDiv:
    return DimExpr::floorDiv(rank.size(atom->lhs), rank.size(atom->rhs));
  case AtomKind::Mod:
    return DimExpr::mod(rank.size(atom->lhs), rank.size(atom->rhs));
  case AtomKind::Min:
    return DimExpr::min(rank.size(atom->lhs), rank.size(atom->rhs));
  case AtomKind::Max:
    return DimExpr::max(rank.size(atom->lhs), rank.size(atom->rhs));
  }
  llvm_unreachable("every kind of atom is above");
}

DimExpr StageRank::size(DimExpr expression) const {
  DimExpr sum = 0;
  for (const DimExpr::Term &term : expression.terms()) {
    DimExpr product = term.coefficient;
    for (const DimAtom *atom : term.atoms)
      product = product * atomAt(atom, *this);
    sum = sum + product;
  }
  return sum;
}

Dims StageRank::sizes(llvm::ArrayRef<DimExpr> expressions) const {
  Dims all;
  for (DimExpr expression : expressions)
    all.push_back(size(expression));
  return all;
}

Dims StageRank::localDims(mlir::Type type) const {
  dist::ValueAttr value = dist::getValueAttr(type);
  return sizes(value && value.getHasLocal() ? value.getLocal()
                                            : dist::getDims(type));
}

llvm::SmallVector<int64_t> groupOf(const StageRank &rank,
                                   llvm::ArrayRef<AxisRef> axes) {
  // Others have all parts of each axis, but for the ways of `axes`, alike.
  auto isAlike = [&](int64_t other) {
    for (const dist::Axis &axis : rank.mesh.axes) {
      int64_t mine = rank.mesh.coordinateAlong(rank.rank, axis.name);
      int64_t theirs = rank.mesh.coordinateAlong(other, axis.name);
      for (const AxisRef &ref : axes)
        if (ref.name == axis.name) {
          const int64_t minor = axis.size / (ref.pre * ref.size);
          mine -= mine / minor % ref.size * minor;
          theirs -= theirs / minor % ref.size * minor;
        }
      if (mine != theirs)
        return false;
    }
    return true;
  };
  llvm::SmallVector<int64_t> group(dist::numWays(axes), 0);
  for (int64_t other = 0; other < rank.mesh.numRanks(); ++other)
    if (isAlike(other))
      group[dist::wayOf(other, axes, rank.mesh)] = other;
  return group;
}

} // namespace shardc::ranks
