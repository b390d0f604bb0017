//===- Dist.h - The dist dialect: where values live -----------------------===//
//
// Types carry sizes and shardings as the encoding of a builtin tensor type,
// #dist.value. The functions below read and build such types; everything else
// about shardings is in algebra/.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_DIST_H
#define SHARDC_DIALECTS_DIST_DIST_H

#include "dialects/dist/Lowerable.h"
#include "dialects/dist/algebra/Sharding.h"
#include "runtime/artifact/CollectiveForm.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace shardc::dist {

/// Interned Sharding: attributes may not own heap memory. Null is "none yet".
class ShardingRef {
public:
  ShardingRef() = default;
  /*implicit*/ ShardingRef(Sharding sharding);
  explicit operator bool() const { return sharding; }
  const Sharding &operator*() const { return *sharding; }
  const Sharding *operator->() const { return sharding; }
  bool operator==(ShardingRef o) const { return sharding == o.sharding; }
  friend llvm::hash_code hash_value(ShardingRef ref) {
    return llvm::hash_value(ref.sharding);
  }

private:
  const Sharding *sharding = nullptr;
};

/// Interned Mesh.
class MeshRef {
public:
  MeshRef() = default;
  /*implicit*/ MeshRef(Mesh mesh);
  const Mesh &operator*() const { return *mesh; }
  const Mesh *operator->() const { return mesh; }
  bool operator==(MeshRef o) const { return mesh == o.mesh; }
  friend llvm::hash_code hash_value(MeshRef ref) {
    return llvm::hash_value(ref.mesh);
  }

private:
  const Mesh *mesh = nullptr;
};

/// AxisRef as an attribute parameter: its name points into the context.
struct AxisPart {
  llvm::StringRef name;
  int64_t pre = 1;
  int64_t size = 1;
  bool operator==(const AxisPart &o) const {
    return name == o.name && pre == o.pre && size == o.size;
  }
  friend llvm::hash_code hash_value(const AxisPart &part) {
    return llvm::hash_combine(part.name, part.pre, part.size);
  }
};

} // namespace shardc::dist

#include "dialects/dist/DistDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.h.inc"

#include "dialects/dist/DistInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/dist/DistOps.h.inc"

namespace shardc::dist {

/// The encoding of a tensor type; null if it has none.
ValueAttr getValueAttr(mlir::Type type);

/// Global sizes: from the encoding, else from the static shape.
llvm::SmallVector<DimExpr, 4> getDims(mlir::Type type);

/// Sharding of a type; replicated where it carries none.
Sharding getSharding(mlir::Type type);

/// Type with these global sizes (phases up to imported).
mlir::RankedTensorType makeType(mlir::Type element,
                                llvm::ArrayRef<DimExpr> dims);
/// The same with a sharding (phases sharded and staged).
mlir::RankedTensorType withSharding(mlir::RankedTensorType type,
                                    const Sharding &sharding);
/// The same with the local sizes that follow from it (partitioned).
mlir::RankedTensorType localize(mlir::RankedTensorType type, const Mesh &mesh);

/// The module's mesh; null if it has none.
MeshOp getMesh(mlir::ModuleOp module);

/// Parse and print for attributes of other dialects too.
mlir::FailureOr<DimExpr> parseDim(mlir::AsmParser &parser);
mlir::ParseResult parseDimList(mlir::AsmParser &parser,
                               llvm::SmallVectorImpl<DimExpr> &dims);
void printDimList(mlir::AsmPrinter &printer, llvm::ArrayRef<DimExpr> dims);

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_DIST_H
