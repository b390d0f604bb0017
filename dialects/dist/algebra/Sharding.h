//===- Sharding.h - Which part of a value a rank holds --------------------===//
//
// A dim is a list of segments, each a row-major product of factors, each factor
// split over its own mesh axes. On mesh <"tp"=2>:
//
//   {}                               not split
//   {"tp"=2}                         the whole dim, split into 2 ways
//   (6:"tp"=2, 16)                   96 = 6 heads of 16; whole heads per rank
//   [96: (6:"tp"=2, 16) | 32: (2:"tp"=2, 16)]   packed: each segment by itself
//   (4:"tp"=4, 2:"tp":(4)2, 16)      sub-axes of tp = 8: first 4 ways, then 2
//   [4: (4:"tp"=2) | 4: (4:-"tp"=2)]   zig-zag, the second half in reverse:
//                                    rank 0 has 0 1 6 7, rank 1 has 2 3 4 5
//
// Ownership: a rank whose part over all axes of the factor is [begin, end) of
// total (Shares.h) owns [floor(begin n / total), floor(end n / total)) of a factor
// of size n; counted from the other end if it is reversed. 6 heads over 4 ways:
// 1, 2, 1, 2 heads; 8 heads over "tp"=2:[3, 1]: 6 and 2.
//
// Invariants of the normal form, which every function here returns: no factor
// of size 1 and no unsplit neighbours within a segment, no unsplit neighbouring
// segments, sub-axes merged. Equal normal forms own equal elements.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_ALGEBRA_SHARDING_H
#define SHARDC_DIALECTS_DIST_ALGEBRA_SHARDING_H

#include "dialects/dist/algebra/Shares.h"

namespace shardc::dist {

struct Factor {
  DimExpr size = 1;
  llvm::SmallVector<AxisRef, 1> axes;
  bool isReversed = false; ///< way 0 owns the last part

  bool isSplit() const { return !axes.empty(); }
  bool operator==(const Factor &o) const {
    return size == o.size && axes == o.axes && isReversed == o.isReversed;
  }
  /// What a rank owns whose part over the axes that is.
  Part owned(const Part &part) const {
    return isReversed ? part.mirrored() : part;
  }
  /// First element of this rank, and how many it owns.
  DimExpr lowerBound(const Mesh &mesh) const;
  DimExpr localSize(const Mesh &mesh) const;
};

struct Segment {
  llvm::SmallVector<Factor, 2> factors;

  DimExpr size() const;
  bool isSplit() const;
  bool operator==(const Segment &o) const { return factors == o.factors; }
  DimExpr localSize(const Mesh &mesh) const;
};

/// Neighbouring elements of a dim.
struct Range {
  DimExpr start, size;
};

struct DimSharding {
  /// At least one; an unsplit dim is one segment of one factor (or none: 1).
  llvm::SmallVector<Segment, 1> segments;

  static DimSharding unsplit(DimExpr size);
  /// A dim of that size, split as a whole.
  static DimSharding whole(DimExpr size, llvm::ArrayRef<AxisRef> axes);
  /// Of 2 k parts, way i of k has number i and number 2 k - 1 - i: where later
  /// elements are more work, all ways have the same.
  static DimSharding zigZag(DimExpr size, llvm::ArrayRef<AxisRef> axes);

  DimExpr size() const;
  bool isSplit() const;
  bool operator==(const DimSharding &o) const { return segments == o.segments; }
  bool operator!=(const DimSharding &o) const { return !(*this == o); }
  DimExpr localSize(const Mesh &mesh) const;
  /// Whether what each rank owns is one range: only the major factor is split.
  bool isOneRange() const;
  /// First element of this rank's range.
  DimExpr lowerBound(const Mesh &mesh) const;
  /// Whether what each rank owns is one range of each segment.
  bool isRangePerSegment() const;
  /// Those of the ranks that have the part `partOf(axes)` over the axes of a
  /// split factor.
  llvm::SmallVector<Range, 2>
  rangesAt(llvm::function_ref<Part(llvm::ArrayRef<AxisRef>)> partOf) const;
  /// Those of this rank.
  llvm::SmallVector<Range, 2> ranges(const Mesh &mesh) const;
  /// Every axis that splits some factor, in order, without repetition.
  llvm::SmallVector<AxisRef, 2> axes() const;
  void normalize();
};

enum class ReduceKind : uint8_t { Sum, Max, Min };
llvm::StringRef stringify(ReduceKind kind);
std::optional<ReduceKind> symbolizeReduceKind(llvm::StringRef text);

/// Along these ways, each rank holds a summand (or a candidate) of the value.
struct PartialAxis {
  AxisRef axis;
  ReduceKind kind = ReduceKind::Sum;

  bool operator==(const PartialAxis &o) const {
    return axis == o.axis && kind == o.kind;
  }
  bool operator<(const PartialAxis &o) const {
    return std::tie(axis, kind) < std::tie(o.axis, o.kind);
  }
};

struct Sharding {
  llvm::SmallVector<DimSharding, 4> dims;
  llvm::SmallVector<PartialAxis, 1> partial; ///< sorted

  static Sharding replicated(llvm::ArrayRef<DimExpr> dims);

  bool isReplicated() const { return partial.empty() && !isSplit(); }
  bool isSplit() const;
  bool isPartial() const { return !partial.empty(); }
  bool operator==(const Sharding &o) const {
    return dims == o.dims && partial == o.partial;
  }
  bool operator!=(const Sharding &o) const { return !(*this == o); }
  llvm::SmallVector<DimExpr, 4> localDims(const Mesh &mesh) const;
  void normalize();
  void print(llvm::raw_ostream &os) const;
  std::string str() const;
};

llvm::hash_code hash_value(const Sharding &sharding);

/// True if some segments of a dim are split and others are not: several ranks
/// then hold the same elements, which may not be put together into an output.
bool isSplitInPart(const Sharding &sharding);

/// Why the sharding is not one of a value with these dims on this mesh, or "".
/// An axis may split a value once; a sub-axis must divide its axis.
std::string findProblem(const Sharding &sharding, llvm::ArrayRef<DimExpr> dims,
                        const Mesh &mesh);

void print(llvm::raw_ostream &os, const AxisRef &axis);
void print(llvm::raw_ostream &os, const DimSharding &dim);

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_ALGEBRA_SHARDING_H
