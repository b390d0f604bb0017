//===- Sizes.cpp - Numbers in the place of symbolic sizes -----------------===//

#include "dialects/onnx/evaluate/Sizes.h"

#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <limits>

using namespace llvm;

namespace shardc::onnx::evaluate {

using dist::DimExpr;
using dist::detail::AtomKind;
using dist::detail::DimAtom;

int64_t magnitudeOf(int64_t number) {
  return std::abs(std::max(number, -std::numeric_limits<int64_t>::max()));
}

int64_t Sizes::of(int64_t number) const {
  auto found = numbers.find(magnitudeOf(number));
  if (found == numbers.end())
    return number;
  return number < 0 ? -found->second : found->second;
}

static std::optional<int64_t> valueOf(const Sizes &sizes, const DimAtom &atom) {
  if (atom.kind == AtomKind::Symbol) {
    auto found = sizes.symbols.find(atom.name);
    return found == sizes.symbols.end() ? std::nullopt
                                        : std::optional(found->second);
  }
  if (atom.kind == AtomKind::Coordinate)
    return std::nullopt;
  std::optional<int64_t> lhs = sizes.of(atom.lhs), rhs = sizes.of(atom.rhs);
  if (!lhs || !rhs)
    return std::nullopt;
  if (atom.kind == AtomKind::Min)
    return std::min(*lhs, *rhs);
  if (atom.kind == AtomKind::Max)
    return std::max(*lhs, *rhs);
  if (*rhs == 0)
    return std::nullopt;
  const DimExpr result = atom.kind == AtomKind::FloorDiv
                             ? DimExpr::floorDiv(*lhs, *rhs)
                             : DimExpr::mod(*lhs, *rhs);
  return result.asConstant();
}

std::optional<int64_t> Sizes::of(DimExpr expr) const {
  int64_t sum = 0;
  for (const DimExpr::Term &term : expr.terms()) {
    int64_t product = of(term.coefficient);
    for (const DimAtom *atom : term.atoms) {
      std::optional<int64_t> value = valueOf(*this, *atom);
      if (!value || llvm::MulOverflow(product, *value, product))
        return std::nullopt;
    }
    if (llvm::AddOverflow(sum, product, sum))
      return std::nullopt;
  }
  return sum;
}

std::optional<Shape> Sizes::of(ArrayRef<DimExpr> dims) const {
  Shape shape;
  for (DimExpr dim : dims) {
    std::optional<int64_t> size = of(dim);
    if (!size || *size < 0)
      return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

bool Sizes::bind(ArrayRef<DimExpr> dims, ArrayRef<int64_t> shape) {
  if (dims.size() != shape.size())
    return false;
  for (auto [dim, size] : llvm::zip(dims, shape)) {
    std::optional<StringRef> symbol = dim.asSymbol();
    if (symbol && symbols.try_emplace(*symbol, size).second)
      continue;
    if (of(dim) != size)
      return false;
  }
  return true;
}

void forEachNumber(DimExpr expr, llvm::function_ref<void(int64_t)> visit) {
  for (const DimExpr::Term &term : expr.terms()) {
    visit(magnitudeOf(term.coefficient));
    for (const DimAtom *atom : term.atoms) {
      if (atom->kind == AtomKind::Symbol || atom->kind == AtomKind::Coordinate)
        continue;
      forEachNumber(atom->lhs, visit);
      forEachNumber(atom->rhs, visit);
    }
  }
}

} // namespace shardc::onnx::evaluate
