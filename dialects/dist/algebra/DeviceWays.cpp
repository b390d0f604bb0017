//===- DeviceWays.cpp - Which shard a device has, and by which axes -------===//

#include "dialects/dist/algebra/DeviceWays.h"

namespace shardc::dist {

Mesh replicaMesh(const Mesh &mesh) {
  Mesh replica = mesh;
  llvm::erase_if(replica.axes,
                 [](const Axis &axis) { return axis.name == kReplicaAxis; });
  return replica;
}

int64_t wayOf(int64_t rank, llvm::ArrayRef<AxisRef> axes, const Mesh &mesh) {
  int64_t way = 0;
  for (const AxisRef &axis : axes) {
    const int64_t minor = mesh.sizeOf(axis.name) / (axis.pre * axis.size);
    const int64_t index =
        mesh.coordinateAlong(rank, axis.name) / minor % axis.size;
    way = way * axis.size + index;
  }
  return way;
}

namespace {

/// Adds axes from the major one on, each of which must already give every rank
/// the major part of its way.
class AxisSearch {
public:
  AxisSearch(llvm::ArrayRef<int64_t> ways, int64_t count, const Mesh &mesh)
      : ways(ways), count(count), mesh(mesh) {}

  llvm::SmallVector<AxisRef, 1> axes;

  bool extend(int64_t found) {
    if (found == count)
      return true;
    for (const Axis &axis : mesh.axes)
      for (int64_t size = axis.size; size > 1; --size)
        for (int64_t pre = 1; pre * size <= axis.size; ++pre) {
          const AxisRef ref{axis.name, pre, size};
          if (axis.size % (pre * size) != 0 || count % (found * size) != 0 ||
              overlapsAny(axes, ref))
            continue;
          axes.push_back(ref);
          if (fits(found * size) && extend(found * size))
            return true;
          axes.pop_back();
        }
    return false;
  }

private:
  bool fits(int64_t found) const {
    for (size_t rank = 0; rank < ways.size(); ++rank)
      if (ways[rank] / (count / found) != wayOf(rank, axes, mesh))
        return false;
    return true;
  }

  llvm::ArrayRef<int64_t> ways;
  const int64_t count;
  const Mesh &mesh;
};

} // namespace

std::optional<llvm::SmallVector<AxisRef, 1>>
axesOfWays(llvm::ArrayRef<int64_t> ways, int64_t count, const Mesh &mesh) {
  AxisSearch search(ways, count, mesh);
  if (!search.extend(1))
    return std::nullopt;
  return mergeSubAxes(search.axes);
}

} // namespace shardc::dist
