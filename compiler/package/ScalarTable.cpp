//===- ScalarTable.cpp - Expressions as the program's scalars -------------===//

#include "compiler/package/ScalarTable.h"

namespace shardc::package {

using dist::DimExpr;
using dist::detail::AtomKind;
using dist::detail::DimAtom;

uint32_t ScalarTable::emit(artifact::ScalarOp op, int32_t lhs, int32_t rhs,
                           int64_t value) {
  auto [it, isNew] =
      known.try_emplace({{static_cast<unsigned>(op), lhs}, {rhs, value}},
                        static_cast<uint32_t>(entries.size()));
  if (isNew)
    entries.emplace_back(op, lhs, rhs, value);
  return it->second;
}

uint32_t ScalarTable::addAtom(const DimAtom *atom) {
  auto it = byAtom.find(atom);
  if (it != byAtom.end())
    return it->second;
  uint32_t number = emitAtom(atom);
  byAtom[atom] = number;
  return number;
}

uint32_t ScalarTable::emitAtom(const DimAtom *atom) {
  switch (atom->kind) {
  case AtomKind::Symbol: {
    auto [it, isNew] = symbolNumbers.try_emplace(atom->name, names.size());
    if (isNew)
      names.push_back(atom->name);
    return emit(artifact::ScalarOp_Symbol, 0, 0, it->second);
  }
  case AtomKind::Coordinate:
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
      if (mesh.axes[axis].name == atom->name)
        return emit(artifact::ScalarOp_Coordinate, 0, 0, axis);
    llvm_unreachable("verify-phase checks that axes are in the mesh");
  case AtomKind::FloorDiv:
  case AtomKind::Mod:
  case AtomKind::Min:
  case AtomKind::Max:
    break;
  }
  artifact::ScalarOp op =
      atom->kind == AtomKind::FloorDiv ? artifact::ScalarOp_FloorDivide
      : atom->kind == AtomKind::Mod    ? artifact::ScalarOp_Modulo
      : atom->kind == AtomKind::Min    ? artifact::ScalarOp_Minimum
                                       : artifact::ScalarOp_Maximum;
  uint32_t lhs = add(atom->lhs), rhs = add(atom->rhs);
  return emit(op, lhs, rhs, 0);
}

uint32_t ScalarTable::add(DimExpr expr) {
  auto it = byExpr.find(expr.opaque());
  if (it != byExpr.end())
    return it->second;
  std::optional<uint32_t> sum;
  for (const DimExpr::Term &term : expr.terms()) {
    std::optional<uint32_t> value;
    auto multiply = [&](uint32_t factor) {
      value =
          value ? emit(artifact::ScalarOp_Multiply, *value, factor, 0) : factor;
    };
    for (const DimAtom *atom : term.atoms)
      multiply(addAtom(atom));
    if (term.coefficient != 1 || term.atoms.empty())
      multiply(emit(artifact::ScalarOp_Constant, 0, 0, term.coefficient));
    sum = sum ? emit(artifact::ScalarOp_Add, *sum, *value, 0) : *value;
  }
  uint32_t number = sum ? *sum : emit(artifact::ScalarOp_Constant, 0, 0, 0);
  byExpr[expr.opaque()] = number;
  return number;
}

} // namespace shardc::package
