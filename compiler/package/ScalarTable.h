//===- ScalarTable.h - Expressions as the program's scalars ---------------===//
//
// Sizes become entries of Program.scalars, each distinct (sub)expression once:
//
//   batch * 96 + 1     %0 = Symbol 0, %1 = Constant 96, %2 = Multiply %0, %1,
//                      %3 = Constant 1, %4 = Add %2, %3
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_SCALARTABLE_H
#define SHARDC_COMPILER_PACKAGE_SCALARTABLE_H

#include "dialects/dist/algebra/Mesh.h"
#include "runtime/artifact/Format.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace shardc::package {

class ScalarTable {
public:
  explicit ScalarTable(const dist::Mesh &mesh) : mesh(mesh) {}

  /// Number of the scalar with that value.
  uint32_t add(dist::DimExpr expr);

  /// Symbols in the order in which they were first needed.
  const std::vector<std::string> &symbols() const { return names; }
  const std::vector<artifact::Scalar> &scalars() const { return entries; }

private:
  uint32_t emit(artifact::ScalarOp op, int32_t lhs, int32_t rhs, int64_t value);
  uint32_t addAtom(const dist::detail::DimAtom *atom);
  uint32_t emitAtom(const dist::detail::DimAtom *atom);

  const dist::Mesh &mesh;
  std::vector<artifact::Scalar> entries;
  std::vector<std::string> names;
  llvm::DenseMap<
      std::pair<std::pair<unsigned, int32_t>, std::pair<int32_t, int64_t>>,
      uint32_t>
      known;
  llvm::DenseMap<const void *, uint32_t> byExpr, byAtom;
  llvm::StringMap<int64_t> symbolNumbers;
};

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_SCALARTABLE_H
