//===- BindSizes.cpp - Sizes that a profile's condition says --------------===//
//
// A step of decoding is run only where the sequence has one position. As a
// constant that saves what a symbol would cost: a transpose and a reshape
// around a dim of 1 are windows, where one of an unknown size has to be copied.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace shardc::lower {
#define GEN_PASS_DEF_BINDSIZES
#include "passes/lower/Passes.h.inc"

using dist::DimExpr;

namespace {

/// Puts values in the place of symbols, in types and attributes.
class SymbolReplacer {
public:
  SymbolReplacer(const llvm::StringMap<int64_t> &bound, const dist::Mesh &mesh)
      : bound(bound), mesh(mesh) {
    replacer.addReplacement([this](dist::DimsAttr attribute) -> Attribute {
      return dist::DimsAttr::get(attribute.getContext(),
                                 replaced(attribute.getValues()));
    });
    replacer.addReplacement(
        [this](RankedTensorType type) -> Type { return replaced(type); });
  }

  void run(func::FuncOp function) {
    function.walk([&](Operation *op) {
      replacer.replaceElementsIn(op, /*replaceAttrs=*/true,
                                 /*replaceLocs=*/false, /*replaceTypes=*/true);
      for (Region &region : op->getRegions())
        for (BlockArgument argument : region.getArguments())
          argument.setType(replacer.replace(argument.getType()));
    });
  }

private:
  DimExpr replaced(DimExpr size) const {
    return size.replaceSymbols([&](StringRef name) -> std::optional<DimExpr> {
      auto value = bound.find(name);
      return value == bound.end() ? std::nullopt
                                  : std::optional<DimExpr>(value->second);
    });
  }

  SmallVector<DimExpr, 4> replaced(ArrayRef<DimExpr> sizes) const {
    return llvm::map_to_vector<4>(sizes,
                                  [&](DimExpr size) { return replaced(size); });
  }

  /// Local sizes follow from global ones and the sharding.
  Type replaced(RankedTensorType type) const {
    dist::ValueAttr encoding = dist::getValueAttr(type);
    if (!encoding)
      return type;
    RankedTensorType made =
        dist::makeType(type.getElementType(), replaced(encoding.getDims()));
    if (!encoding.getSharding())
      return made;
    dist::Sharding sharding = *encoding.getSharding();
    for (dist::DimSharding &dim : sharding.dims)
      for (dist::Segment &segment : dim.segments)
        for (dist::Factor &factor : segment.factors)
          factor.size = replaced(factor.size);
    sharding.normalize();
    made = dist::withSharding(made, sharding);
    return encoding.getHasLocal() ? dist::localize(made, mesh) : made;
  }

  const llvm::StringMap<int64_t> &bound;
  const dist::Mesh &mesh;
  AttrTypeReplacer replacer;
};

struct BindSizesPass : impl::BindSizesBase<BindSizesPass> {
  void runOnOperation() override {
    dist::MeshOp mesh = dist::getMesh(getOperation());
    if (!mesh)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      const llvm::StringMap<int64_t> bound = onnx::boundSymbols(function);
      if (bound.empty() || !onnx::FunctionInfo(function).isProgram())
        continue;
      SymbolReplacer(bound, *mesh.getMesh().getMesh()).run(function);
      numBound += bound.size();
    }
  }
};

} // namespace
} // namespace shardc::lower
