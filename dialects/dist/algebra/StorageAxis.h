//===- StorageAxis.h - An axis along which ranks share out weights --------===//
//
// Along "fsdp" ranks compute on rows of their own, each with all of the weights,
// of which each holds a part. Before its op a weight is put together, and right
// behind it the whole is gone:
//
//   w [4096: "fsdp"=4, 14336]      a quarter of the bytes on each rank
//   dist.all_gather dim 0 over "fsdp" {dist.stored, dist.layer = 7}
//   onnx.MatMul x [b: "fsdp"=4, 4096], [4096, 14336]
//
// What is put together like that is never kept, though it depends on weights
// alone: it is gathered in each run, at each op that uses it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_ALGEBRA_STORAGEAXIS_H
#define SHARDC_DIALECTS_DIST_ALGEBRA_STORAGEAXIS_H

#include "dialects/dist/algebra/Sharding.h"

namespace shardc::dist {

/// As "cp" and "ep" an axis with a meaning of its own (Mesh.h).
inline constexpr llvm::StringLiteral kStorageAxis = "fsdp";

/// Of a reshard or all_gather: it puts a stored weight together.
inline constexpr llvm::StringLiteral kStoredAttr = "dist.stored";
/// Of the same: the model's layer that uses it, where it is in one.
inline constexpr llvm::StringLiteral kLayerAttr = "dist.layer";

inline bool isStorageAxis(const AxisRef &axis) {
  return axis.name == kStorageAxis;
}

/// Whether ranks hold parts of the value along that axis.
inline bool isStoredInParts(const Sharding &sharding) {
  return llvm::any_of(sharding.dims, [](const DimSharding &dim) {
    return llvm::any_of(dim.axes(), isStorageAxis);
  });
}

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_ALGEBRA_STORAGEAXIS_H
