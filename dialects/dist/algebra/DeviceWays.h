//===- DeviceWays.h - Which shard a device has, and by which axes ---------===//
//
// Others say how a dim is split by the shard that each device has; here it is by
// axes of the mesh. On <"cp"=2, "tp"=2>, ranks 0 to 3:
//
//   shards 0 0 1 1 of 2    {"cp"}
//   shards 0 1 0 1 of 2    {"tp"}
//   shards 0 2 1 3 of 4    {"tp", "cp"}: tp is major
//   shards 0 1 1 0 of 2    nothing: no list of axes deals them out like that
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_ALGEBRA_DEVICEWAYS_H
#define SHARDC_DIALECTS_DIST_ALGEBRA_DEVICEWAYS_H

#include "dialects/dist/algebra/Mesh.h"

namespace shardc::dist {

/// The mesh of one replica, whose devices others number.
Mesh replicaMesh(const Mesh &mesh);

/// The flat way of a rank over axes of the mesh, major first.
int64_t wayOf(int64_t rank, llvm::ArrayRef<AxisRef> axes, const Mesh &mesh);

/// The axes over which rank r has way ways[r] of `count`; nothing where there are
/// none. `ways` has an entry for each rank of the mesh.
std::optional<llvm::SmallVector<AxisRef, 1>>
axesOfWays(llvm::ArrayRef<int64_t> ways, int64_t count, const Mesh &mesh);

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_ALGEBRA_DEVICEWAYS_H
