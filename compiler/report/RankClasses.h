//===- RankClasses.h - Ranks for which sizes are the same -----------------===//
//
// Where 6 heads are split over 4 ranks, a size depends on "@tp" alone: of 1,024
// ranks with "tp"=4 four need be asked. Where all is split evenly, one is.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_REPORT_RANKCLASSES_H
#define SHARDC_COMPILER_REPORT_RANKCLASSES_H

#include "dialects/dist/algebra/Mesh.h"

#include <map>
#include <vector>

namespace shardc::report {

template <typename T> class RankClasses {
public:
  explicit RankClasses(const dist::Mesh &mesh)
      : mesh(mesh), isUsed(mesh.axes.size()) {}

  /// `size` is a part of what is asked of each rank.
  void use(dist::DimExpr size) {
    size.forEachSymbol([&](llvm::StringRef name, bool isCoordinate) {
      for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
        if (isCoordinate && mesh.axes[axis].name == name)
          isUsed[axis] = true;
    });
  }

  /// What `compute()` gave for this rank or another one of its class.
  template <typename Compute> const T &of(int64_t rank, Compute compute) {
    std::vector<int64_t> key;
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
      if (isUsed[axis])
        key.push_back(mesh.coordinate(rank, axis));
    auto known = results.find(key);
    if (known == results.end())
      known = results.emplace(std::move(key), compute()).first;
    return known->second;
  }

private:
  const dist::Mesh &mesh;
  std::vector<bool> isUsed; ///< by axis
  std::map<std::vector<int64_t>, T> results;
};

} // namespace shardc::report

#endif // SHARDC_COMPILER_REPORT_RANKCLASSES_H
