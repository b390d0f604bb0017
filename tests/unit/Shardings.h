//===- Shardings.h - Shardings and ownership for tests --------------------===//
//
// Built in a few characters, and checked against the definition of ownership
// alone: a rank with the part [b, e) of t owns [floor(b n / t), floor(e n / t)).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_UNIT_SHARDINGS_H
#define SHARDC_TESTS_UNIT_SHARDINGS_H

#include "dialects/dist/algebra/Sharding.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

namespace shardc::testing {

inline dist::AxisRef axis(int64_t size, int64_t pre = 1,
                          llvm::StringRef name = "tp") {
  return {name.str(), pre, size};
}

struct TestFactor {
  dist::DimExpr size;
  llvm::SmallVector<dist::AxisRef, 1> axes = {};
};
using Factors = std::vector<TestFactor>;

/// dim({{{6, {axis(2)}}, {16}}}) is (6:"tp"=2, 16).
inline dist::DimSharding dim(std::vector<Factors> segments) {
  dist::DimSharding dim;
  for (const Factors &factors : segments) {
    dist::Segment &segment = dim.segments.emplace_back();
    for (const TestFactor &factor : factors)
      segment.factors.push_back({factor.size, factor.axes});
  }
  dim.normalize();
  return dim;
}

inline std::string text(const dist::DimSharding &dim) {
  std::string text;
  llvm::raw_string_ostream os(text);
  dist::print(os, dim);
  return text;
}

/// Value of an expression over mesh coordinates on one rank.
inline int64_t onRank(dist::DimExpr expr, const dist::Mesh &mesh,
                      int64_t rank) {
  auto value =
      expr.evaluate([&](llvm::StringRef name, bool) -> std::optional<int64_t> {
        for (size_t i = 0; i < mesh.axes.size(); ++i)
          if (mesh.axes[i].name == name)
            return mesh.coordinate(rank, i);
        return std::nullopt;
      });
  EXPECT_TRUE(value) << expr.str();
  return value.value_or(-1);
}

/// What a rank has of what these axes split, in numbers: axis by axis, major
/// first, the ways before its own and up to it, as their shares say.
struct TestPart {
  int64_t begin = 0, end = 1, total = 1;
};
inline TestPart testPart(llvm::ArrayRef<dist::AxisRef> axes,
                         const dist::Mesh &mesh, int64_t rank) {
  TestPart part;
  for (const dist::AxisRef &ref : dist::mergeSubAxes(axes)) {
    const dist::Axis &axis = *mesh.find(ref.name);
    const int64_t way = onRank(ref.index(mesh), mesh, rank);
    const int64_t ofWay = axis.size / ref.size;
    int64_t before = way, own = 1, all = ref.size;
    if (!axis.shares.empty() && ref.pre == 1) {
      before = own = all = 0;
      for (int64_t i = 0; i < axis.size; ++i) {
        all += axis.shares[i];
        before += i < way * ofWay ? axis.shares[i] : 0;
        own += i / ofWay == way ? axis.shares[i] : 0;
      }
    }
    const int64_t left = part.end - part.begin;
    part = {part.begin * all + left * before,
            part.begin * all + left * (before + own), part.total * all};
  }
  return part;
}

/// Does the rank own that element of a segment?
inline bool ownsElement(const dist::Segment &segment, const dist::Mesh &mesh,
                        int64_t rank, int64_t element) {
  for (const dist::Factor &factor : llvm::reverse(segment.factors)) {
    int64_t n = *factor.size.asConstant(), digit = element % n;
    element /= n;
    TestPart part = testPart(factor.axes, mesh, rank);
    if (factor.isReversed)
      part = {part.total - part.end, part.total - part.begin, part.total};
    if (digit < part.begin * n / part.total ||
        digit >= part.end * n / part.total)
      return false;
  }
  return true;
}

/// Elements of a dim that a rank owns, in order.
inline std::vector<int64_t> owned(const dist::DimSharding &dim,
                                  const dist::Mesh &mesh, int64_t rank) {
  std::vector<int64_t> elements;
  int64_t offset = 0;
  for (const dist::Segment &segment : dim.segments) {
    int64_t size = *segment.size().asConstant();
    for (int64_t e = 0; e < size; ++e)
      if (ownsElement(segment, mesh, rank, e))
        elements.push_back(offset + e);
    offset += size;
  }
  return elements;
}

} // namespace shardc::testing

#endif // SHARDC_TESTS_UNIT_SHARDINGS_H
