//===- Group.h - Ranks that take part in a collective ---------------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_GROUP_H
#define SHARDC_PASSES_VERIFY_LOWERED_GROUP_H

#include "dialects/dist/Dist.h"

namespace shardc::verify {

/// Ranks of a group, by their place in it.
class Group {
public:
  Group(const dist::Mesh &mesh, dist::AxesAttr attribute) : mesh(mesh) {
    const auto list = attribute.getAxes();
    axes.assign(list.begin(), list.end());
  }

  int64_t size() const { return dist::numWays(axes); }

  int64_t placeOf(int64_t rank) const {
    int64_t place = 0;
    for (const dist::AxisRef &axis : axes)
      place = place * axis.size + wayOf(axis, rank);
    return place;
  }

  /// The rank so many places further on, around the group: with other ways
  /// along its axes, and the same coordinates otherwise.
  int64_t after(int64_t rank, int64_t distance) const {
    int64_t place = (placeOf(rank) + distance) % size();
    for (const dist::AxisRef &axis : llvm::reverse(axes)) {
      const int64_t way = place % axis.size;
      rank += (way - wayOf(axis, rank)) * innerOf(axis) * strideOf(axis);
      place /= axis.size;
    }
    return rank;
  }

private:
  int64_t sizeOf(const dist::AxisRef &axis) const {
    for (size_t a = 0; a < mesh.axes.size(); ++a)
      if (mesh.axes[a].name == axis.name)
        return mesh.axes[a].size;
    return 1;
  }
  int64_t innerOf(const dist::AxisRef &axis) const {
    return sizeOf(axis) / (axis.pre * axis.size);
  }
  int64_t wayOf(const dist::AxisRef &axis, int64_t rank) const {
    return mesh.coordinateAlong(rank, axis.name) / innerOf(axis) % axis.size;
  }
  /// Between ranks that are neighbours along the axis' whole.
  int64_t strideOf(const dist::AxisRef &axis) const {
    int64_t stride = 1;
    for (const dist::Axis &other : llvm::reverse(mesh.axes)) {
      if (other.name == axis.name)
        break;
      stride *= other.size;
    }
    return stride;
  }

  const dist::Mesh &mesh;
  llvm::SmallVector<dist::AxisRef> axes;
};

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_GROUP_H
