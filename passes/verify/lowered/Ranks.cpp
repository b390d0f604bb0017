//===- Ranks.cpp - At which ranks a program is compared -------------------===//

#include "passes/verify/lowered/Ranks.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

using namespace mlir;

namespace shardc::verify {

namespace {

/// Axes on whose coordinates sizes or places depend, on either side: ranks that
/// differ along others alone have the same numbers.
class CoordinatesInUse {
public:
  CoordinatesInUse(rt::ProgramOp program, func::FuncOp function) {
    walker.addWalk([&](dist::DimsAttr dims) { add(dims.getValues()); });
    walker.addWalk([&](dist::ValueAttr value) {
      if (value.getHasLocal())
        add(value.getLocal());
    });
    walker.addWalk([&](rt::ViewType view) {
      add(view.getDims());
      add(view.getStrides());
      add(view.getOffset());
    });
    for (Operation *root : {program.getOperation(), function.getOperation()})
      root->walk([&](Operation *op) {
        for (NamedAttribute attribute : op->getAttrs())
          walker.walk(attribute.getValue());
        for (Type type : op->getResultTypes())
          walker.walk(type);
      });
  }

  bool contains(StringRef axis) const { return names.contains(axis); }

private:
  void add(ArrayRef<dist::DimExpr> exprs) {
    for (dist::DimExpr expr : exprs)
      expr.forEachSymbol([&](StringRef name, bool isCoordinate) {
        if (isCoordinate)
          names.insert(name);
      });
  }

  AttrTypeWalker walker; // looks at what is equal once
  llvm::StringSet<> names;
};

} // namespace

SmallVector<int64_t> ranksToCompare(rt::ProgramOp program,
                                    func::FuncOp function,
                                    const dist::Mesh &mesh) {
  SmallVector<int64_t> ranks{0};
  auto add = [&](llvm::function_ref<int64_t(const dist::Axis &)> coordinate) {
    int64_t rank = 0;
    for (const dist::Axis &axis : mesh.axes)
      rank = rank * axis.size + coordinate(axis);
    if (!llvm::is_contained(ranks, rank))
      ranks.push_back(rank);
  };
  add([](const dist::Axis &axis) { return axis.size - 1; });
  const CoordinatesInUse used(program, function);
  auto addAlong = [&](llvm::function_ref<int64_t(const dist::Axis &)> place) {
    add([&](const dist::Axis &axis) {
      return used.contains(axis.name) ? place(axis) : 0;
    });
  };
  addAlong([](const dist::Axis &axis) { return axis.size > 1 ? 1 : 0; });
  addAlong([](const dist::Axis &axis) { return axis.size / 2; });
  for (const dist::Axis &last : mesh.axes)
    addAlong([&](const dist::Axis &axis) {
      return axis.name == last.name ? axis.size - 1 : 0;
    });
  return ranks;
}

} // namespace shardc::verify
