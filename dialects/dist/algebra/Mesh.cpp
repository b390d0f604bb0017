//===- Mesh.cpp - Named axes over devices ---------------------------------===//

#include "dialects/dist/algebra/Mesh.h"

#include <cassert>

namespace shardc::dist {

const Axis *Mesh::find(llvm::StringRef name) const {
  for (const Axis &axis : axes)
    if (axis.name == name)
      return &axis;
  return nullptr;
}

int64_t Mesh::sizeOf(llvm::StringRef name) const {
  const Axis *axis = find(name);
  assert(axis && "axis is not in the mesh");
  return axis->size;
}

int64_t Mesh::numRanks() const {
  int64_t ranks = 1;
  for (const Axis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

int64_t Mesh::coordinate(int64_t rank, size_t axis) const {
  for (size_t minor = axes.size() - 1; minor > axis; --minor)
    rank /= axes[minor].size;
  return rank % axes[axis].size;
}

int64_t Mesh::coordinateAlong(int64_t rank, llvm::StringRef name) const {
  for (size_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis].name == name)
      return coordinate(rank, axis);
  return 0;
}

DimExpr AxisRef::index(const Mesh &mesh) const {
  if (size == 1)
    return 0;
  DimExpr coordinate = DimExpr::coordinate(name);
  int64_t axisSize = mesh.sizeOf(name), minor = axisSize / (pre * size);
  if (minor > 1)
    coordinate = DimExpr::floorDiv(coordinate, minor);
  // The major part needs no mod: its index is below its size as it is.
  return pre == 1 ? coordinate : DimExpr::mod(coordinate, size);
}

bool AxisRef::overlaps(const AxisRef &other) const {
  if (name != other.name || size == 1 || other.size == 1)
    return false;
  return other.pre % (pre * size) != 0 && pre % (other.pre * other.size) != 0;
}

bool overlapsAny(llvm::ArrayRef<AxisRef> axes, const AxisRef &axis) {
  return llvm::any_of(
      axes, [&](const AxisRef &other) { return other.overlaps(axis); });
}

Mesh stageMesh(const Mesh &mesh) {
  Mesh stage;
  for (const Axis &axis : mesh.axes)
    if (axis.name != kReplicaAxis && axis.name != kPipelineAxis)
      stage.axes.push_back(axis);
  return stage;
}

int64_t numWays(llvm::ArrayRef<AxisRef> axes) {
  int64_t ways = 1;
  for (const AxisRef &axis : axes)
    ways *= axis.size;
  return ways;
}

int64_t AxisRef::sharedWays(const AxisRef &other) const {
  if (!overlaps(other))
    return 1;
  return std::min(pre * size, other.pre * other.size) /
         std::max(pre, other.pre);
}

std::optional<
    std::pair<llvm::SmallVector<AxisRef, 1>, llvm::SmallVector<AxisRef, 1>>>
cutWays(llvm::ArrayRef<AxisRef> axes, int64_t major) {
  llvm::SmallVector<AxisRef, 1> first, rest;
  for (const AxisRef &axis : axes) {
    int64_t taken = major % axis.size == 0 ? axis.size : major;
    if (axis.size % taken != 0)
      return std::nullopt;
    major /= taken;
    if (taken > 1)
      first.push_back({axis.name, axis.pre, taken});
    if (taken < axis.size)
      rest.push_back({axis.name, axis.pre * taken, axis.size / taken});
  }
  if (major != 1)
    return std::nullopt;
  return std::make_pair(first, rest);
}

DimExpr flatIndex(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh) {
  DimExpr index = 0;
  for (const AxisRef &axis : mergeSubAxes(axes))
    index = index * axis.size + axis.index(mesh);
  return index;
}

llvm::SmallVector<AxisRef, 1> mergeSubAxes(llvm::ArrayRef<AxisRef> axes) {
  llvm::SmallVector<AxisRef, 1> merged;
  for (const AxisRef &axis : axes) {
    if (axis.size == 1)
      continue;
    if (!merged.empty() && merged.back().name == axis.name &&
        merged.back().pre * merged.back().size == axis.pre)
      merged.back().size *= axis.size;
    else
      merged.push_back(axis);
  }
  return merged;
}

llvm::SmallVector<AxisRef, 4> wholeMesh(const Mesh &mesh) {
  llvm::SmallVector<AxisRef, 4> all;
  for (const Axis &axis : mesh.axes)
    all.push_back({axis.name, 1, axis.size});
  return all;
}

} // namespace shardc::dist
