//===- Dist.cpp - The dist dialect: where values live ---------------------===//

#include "dialects/dist/Dist.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <mutex>
#include <unordered_map>

using namespace mlir;

#include "dialects/dist/DistDialect.cpp.inc"
#include "dialects/dist/DistInterfaces.cpp.inc"
#include "dialects/dist/Lowerable.cpp.inc"

namespace shardc::dist {

ShardingRef::ShardingRef(Sharding value) {
  static std::mutex mutex;
  static auto *pool = new std::unordered_multimap<size_t, const Sharding *>;
  size_t hash = hash_value(value);
  std::lock_guard<std::mutex> lock(mutex);
  auto [first, last] = pool->equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (*it->second == value) {
      sharding = it->second;
      return;
    }
  sharding = new Sharding(std::move(value));
  pool->emplace(hash, sharding);
}

MeshRef::MeshRef(Mesh value) {
  static std::mutex mutex;
  static auto *pool = new std::vector<const Mesh *>;
  std::lock_guard<std::mutex> lock(mutex);
  for (const Mesh *known : *pool)
    if (*known == value) {
      mesh = known;
      return;
    }
  mesh = new Mesh(std::move(value));
  pool->push_back(mesh);
}

AxesAttr AxesAttr::get(MLIRContext *context, llvm::ArrayRef<AxisRef> axes) {
  SmallVector<AxisPart, 2> parts;
  for (const AxisRef &axis : axes)
    parts.push_back(
        {StringAttr::get(context, axis.name).getValue(), axis.pre, axis.size});
  return get(context, llvm::ArrayRef<AxisPart>(parts));
}

llvm::SmallVector<AxisRef, 2> AxesAttr::getAxes() const {
  llvm::SmallVector<AxisRef, 2> axes;
  for (const AxisPart &part : getParts())
    axes.push_back({part.name.str(), part.pre, part.size});
  return axes;
}

ValueAttr getValueAttr(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<ValueAttr>(tensor.getEncoding())
                : ValueAttr();
}

llvm::SmallVector<DimExpr, 4> getDims(Type type) {
  if (ValueAttr value = getValueAttr(type))
    return llvm::SmallVector<DimExpr, 4>(value.getDims());
  llvm::SmallVector<DimExpr, 4> dims;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    for (int64_t size : tensor.getShape())
      dims.push_back(ShapedType::isDynamic(size) ? DimExpr::symbol("?")
                                                 : DimExpr(size));
  return dims;
}

Sharding getSharding(Type type) {
  if (ValueAttr value = getValueAttr(type))
    if (value.getSharding())
      return *value.getSharding();
  return Sharding::replicated(getDims(type));
}

static SmallVector<int64_t> staticShape(llvm::ArrayRef<DimExpr> dims) {
  SmallVector<int64_t> shape;
  for (DimExpr dim : dims)
    shape.push_back(dim.asConstant().value_or(ShapedType::kDynamic));
  return shape;
}

RankedTensorType makeType(Type element, llvm::ArrayRef<DimExpr> dims) {
  MLIRContext *context = element.getContext();
  bool isStatic = llvm::none_of(dims, [](DimExpr d) { return d.isSymbolic(); });
  Attribute encoding;
  if (!isStatic)
    encoding = ValueAttr::get(context, dims, ShardingRef(), {}, false);
  return RankedTensorType::get(staticShape(dims), element, encoding);
}

RankedTensorType withSharding(RankedTensorType type, const Sharding &sharding) {
  SmallVector<DimExpr, 4> dims = getDims(type);
  Sharding normal = sharding;
  normal.normalize();
  return RankedTensorType::get(
      staticShape(dims), type.getElementType(),
      ValueAttr::get(type.getContext(), dims, ShardingRef(normal), {}, false));
}

RankedTensorType localize(RankedTensorType type, const Mesh &mesh) {
  SmallVector<DimExpr, 4> dims = getDims(type);
  Sharding sharding = getSharding(type);
  SmallVector<DimExpr, 4> local = sharding.localDims(mesh);
  return RankedTensorType::get(staticShape(local), type.getElementType(),
                               ValueAttr::get(type.getContext(), dims,
                                              ShardingRef(sharding), local,
                                              true));
}

MeshOp getMesh(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/DistAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/DistOps.cpp.inc"
      >();
}

} // namespace shardc::dist

#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/dist/DistOps.cpp.inc"
