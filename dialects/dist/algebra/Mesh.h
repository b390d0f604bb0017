//===- Mesh.h - Named axes over devices -----------------------------------===//
//
// A mesh is an ordered list of named axes; the last one varies fastest over
// ranks. Mesh <"dp"=2, "tp"=4>: rank 6 has coordinates dp = 1, tp = 2. Along
// <"tp"=2:[3, 1]> the first rank has three quarters of what is split (Shares.h).
//
// An AxisRef is an axis or a sub-axis of it. "tp":(1)4 of tp = 8 is the major
// part with 4 ways, "tp":(4)2 the minor part with 2: rank t of tp is way t / 2
// of the first and t % 2 of the second.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_ALGEBRA_MESH_H
#define SHARDC_DIALECTS_DIST_ALGEBRA_MESH_H

#include "dialects/dist/algebra/DimExpr.h"

namespace shardc::dist {

struct Axis {
  std::string name;
  int64_t size = 1;
  /// One for each way, without a common divisor; none where they are equal.
  llvm::SmallVector<int64_t, 2> shares = {};

  bool operator==(const Axis &other) const {
    return name == other.name && size == other.size && shares == other.shares;
  }
};

struct Mesh {
  llvm::SmallVector<Axis, 4> axes;

  /// Null if there is none of that name.
  const Axis *find(llvm::StringRef name) const;
  /// Size of an axis that is known to exist.
  int64_t sizeOf(llvm::StringRef name) const;
  int64_t numRanks() const;
  /// Coordinate of `rank` along axis number `axis`.
  int64_t coordinate(int64_t rank, size_t axis) const;
  /// The same by name; 0 where there is no such axis.
  int64_t coordinateAlong(int64_t rank, llvm::StringRef name) const;

  bool operator==(const Mesh &other) const { return axes == other.axes; }
};

/// Axes with a meaning of their own. The others are for tensor parallelism.
inline constexpr llvm::StringLiteral kReplicaAxis = "dp";
inline constexpr llvm::StringLiteral kPipelineAxis = "pp";
inline constexpr llvm::StringLiteral kContextAxis = "cp";
inline constexpr llvm::StringLiteral kExpertAxis = "ep";

/// The axes over which the ranks of one stage of one replica differ: no value
/// is ever split over the others.
Mesh stageMesh(const Mesh &mesh);

/// `size` ways of the axis `name`, after its `pre` major ways. A whole axis is
/// pre = 1 and size = the axis' size.
struct AxisRef {
  std::string name;
  int64_t pre = 1;
  int64_t size = 1;

  bool operator==(const AxisRef &o) const {
    return name == o.name && pre == o.pre && size == o.size;
  }
  bool operator!=(const AxisRef &o) const { return !(*this == o); }
  bool operator<(const AxisRef &o) const {
    return std::tie(name, pre, size) < std::tie(o.name, o.pre, o.size);
  }
  friend llvm::hash_code hash_value(const AxisRef &ref) {
    return llvm::hash_combine(ref.name, ref.pre, ref.size);
  }

  /// This rank's way, as an expression over its coordinates.
  DimExpr index(const Mesh &mesh) const;
  /// False only where one is cut from what the other leaves of the axis, so that
  /// each pair of their ways is one of equally many ranks. Of 12 ways "tp":(1)4
  /// and "tp":(6)2 overlap: 3 ranks have no even halves.
  bool overlaps(const AxisRef &other) const;
  /// How many ways of this one the other distinguishes as well: "tp":(4)2
  /// shares 2 with all of "tp"=8, 1 with "tp":(1)4.
  int64_t sharedWays(const AxisRef &other) const;
};

/// Whether one of the axes distinguishes ways that `axis` does.
bool overlapsAny(llvm::ArrayRef<AxisRef> axes, const AxisRef &axis);

/// Number of ways of a list of axes.
int64_t numWays(llvm::ArrayRef<AxisRef> axes);

/// The first `major` ways of a list of axes and the rest, or nothing where that
/// cuts an axis unevenly: "ep"=2, "tp"=4 at 4 is "ep"=2, "tp":(1)2 | "tp":(2)2.
std::optional<
    std::pair<llvm::SmallVector<AxisRef, 1>, llvm::SmallVector<AxisRef, 1>>>
cutWays(llvm::ArrayRef<AxisRef> axes, int64_t major);

/// Flat way over all axes, major first.
DimExpr flatIndex(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh);

/// "tp":(1)4 followed by "tp":(4)2 is "tp":(1)8; the order stays.
llvm::SmallVector<AxisRef, 1> mergeSubAxes(llvm::ArrayRef<AxisRef> axes);

/// Every part of every axis of the mesh: the ranks of all coordinates.
llvm::SmallVector<AxisRef, 4> wholeMesh(const Mesh &mesh);

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_ALGEBRA_MESH_H
