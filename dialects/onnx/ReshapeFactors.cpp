//===- ReshapeFactors.cpp - Common factors of two shapes ------------------===//
//
// Both shapes are read major to minor. Where the rest of one dim divides the
// rest of the other, it is a factor of both; what neither divides is cut by
// the largest common divisor, and what is left without one is opaque up to the
// next place where the products agree:
//
//   [4, 3, s] -> [6, 2, s]   (2 a)(b)(s) -> (2 c)(d)(s)   a, b, c, d opaque
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ShardingRule.h"

#include <numeric>

namespace shardc::onnx {

using dist::DimExpr;

/// Of the two as products of a constant and symbols; 1 where they are sums.
static DimExpr commonDivisor(DimExpr lhs, DimExpr rhs) {
  if (lhs.terms().size() != 1 || rhs.terms().size() != 1)
    return 1;
  const DimExpr::Term &a = lhs.terms().front(), &b = rhs.terms().front();
  DimExpr::Term common{std::gcd(a.coefficient, b.coefficient), {}};
  auto rest = b.atoms;
  for (const dist::detail::DimAtom *atom : a.atoms) {
    auto *it = llvm::find(rest, atom);
    if (it == rest.end())
      continue;
    common.atoms.push_back(atom);
    rest.erase(it);
  }
  return DimExpr::fromTerms({common});
}

namespace {

/// One of the two shapes: its dims, and how far they have been read.
struct Side {
  llvm::ArrayRef<DimExpr> dims;
  RuleTensor &rule;
  size_t dim = 0;
  DimExpr rest = 1; ///< of dims[dim]

  Side(llvm::ArrayRef<DimExpr> dims, RuleTensor &rule)
      : dims(dims), rule(rule) {
    rule.resize(dims.size());
    if (!dims.empty())
      rest = dims[0];
    skipOnes();
  }

  bool atEnd() const { return dim == dims.size(); }
  void skipOnes() {
    while (!atEnd() && rest.isConstant(1)) {
      ++dim;
      rest = atEnd() ? DimExpr(1) : dims[dim];
    }
  }
  void addFactor(unsigned number) {
    auto &segments = rule[dim].segments;
    if (segments.empty())
      segments.emplace_back();
    segments.front().push_back(number);
  }
  void take(unsigned number, DimExpr quotient) {
    addFactor(number);
    rest = quotient;
    skipOnes();
  }
  /// What is left of the current dim is opaque.
  DimExpr takeOpaque(ReshapeFactors &result) {
    DimExpr size = rest;
    result.factors.push_back({size, FactorClass::NeedsReplication});
    take(result.factors.size() - 1, 1);
    return size;
  }
};

} // namespace

/// Makes the rests opaque up to the next place where both sides have read as
/// many elements; to the end if there is none.
static void takeOpaqueGroup(ReshapeFactors &result, Side &from, Side &to) {
  auto findEnd = [&]() -> std::pair<size_t, size_t> {
    DimExpr fromSize = from.rest;
    for (size_t i = from.dim; i < from.dims.size(); ++i) {
      if (i > from.dim)
        fromSize = fromSize * from.dims[i];
      DimExpr toSize = to.rest;
      for (size_t j = to.dim; j < to.dims.size(); ++j) {
        if (j > to.dim)
          toSize = toSize * to.dims[j];
        if (fromSize == toSize)
          return {i + 1, j + 1};
      }
    }
    return {from.dims.size(), to.dims.size()};
  };
  auto [fromEnd, toEnd] = findEnd();
  while (from.dim < fromEnd)
    from.takeOpaque(result);
  while (to.dim < toEnd)
    to.takeOpaque(result);
}

ReshapeFactors reshapeFactors(llvm::ArrayRef<DimExpr> fromDims,
                              llvm::ArrayRef<DimExpr> toDims) {
  ReshapeFactors result;
  Side from(fromDims, result.from), to(toDims, result.to);
  auto isEmpty = [](DimExpr dim) { return dim.isConstant(0); };
  bool hasNoElements =
      llvm::any_of(fromDims, isEmpty) || llvm::any_of(toDims, isEmpty);
  while (!hasNoElements && !from.atEnd() && !to.atEnd()) {
    DimExpr common = 1;
    if (to.rest.exactDiv(from.rest))
      common = from.rest;
    else if (from.rest.exactDiv(to.rest))
      common = to.rest;
    else
      common = commonDivisor(from.rest, to.rest);
    if (common.isConstant(1)) {
      takeOpaqueGroup(result, from, to);
      continue;
    }
    result.factors.push_back({common});
    unsigned number = result.factors.size() - 1;
    from.take(number, *from.rest.exactDiv(common));
    to.take(number, *to.rest.exactDiv(common));
  }
  while (!from.atEnd())
    from.takeOpaque(result);
  while (!to.atEnd())
    to.takeOpaque(result);
  return result;
}

} // namespace shardc::onnx
