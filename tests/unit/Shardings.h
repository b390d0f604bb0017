//===- Shardings.h - Shardings and ownership for tests --------------------===//
//
// Built in a few characters, and checked against the definition of ownership
// alone: way i of k owns [floor(i n / k), floor((i + 1) n / k)).
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

/// Does the rank own that element of a segment?
inline bool ownsElement(const dist::Segment &segment, const dist::Mesh &mesh,
                        int64_t rank, int64_t element) {
  for (const dist::Factor &factor : llvm::reverse(segment.factors)) {
    int64_t n = *factor.size.asConstant(), digit = element % n;
    element /= n;
    int64_t ways = 1, way = 0;
    for (const dist::AxisRef &ref : factor.axes) {
      ways *= ref.size;
      way = way * ref.size + onRank(ref.index(mesh), mesh, rank);
    }
    if (factor.isReversed)
      way = ways - 1 - way;
    if (digit < way * n / ways || digit >= (way + 1) * n / ways)
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
