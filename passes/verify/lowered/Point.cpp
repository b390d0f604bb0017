//===- Point.cpp - Numbers for sizes, and one rank ------------------------===//

#include "passes/verify/lowered/Point.h"

#include "dialects/onnx/ops/Source.h"
#include "dialects/rt/Rt.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/xxhash.h"

#include <random>

using namespace mlir;

namespace shardc::verify {

using dist::DimExpr;

std::optional<int64_t> Point::of(DimExpr expr) const {
  if (std::optional<int64_t> constant = expr.asConstant())
    return constant;
  return expr.evaluate(
      [&](StringRef name, bool isCoordinate) -> std::optional<int64_t> {
        if (isCoordinate)
          return mesh->coordinateAlong(rank, name);
        auto known = sizes.find(name);
        if (known != sizes.end())
          return known->second;
        if (DimExpr::symbol(name) == rt::cacheCapacity())
          return 29;
        return 2 + static_cast<int64_t>(llvm::xxh3_64bits(name) % 4);
      });
}

std::optional<Index> Point::of(ArrayRef<DimExpr> exprs) const {
  Index values;
  for (DimExpr expr : exprs) {
    std::optional<int64_t> value = of(expr);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

namespace {

/// Draws numbers for symbols until all guards hold.
class SizeSearch {
public:
  SizeSearch(func::FuncOp function, const dist::Mesh &mesh) {
    point.mesh = &mesh;
    for (Type type : function.getArgumentTypes())
      for (DimExpr dim : dist::getDims(type))
        add(dim);
    for (auto guard : function.getOps<onnx::GuardOp>()) {
      guards.push_back(guard);
      add(guard.getLhs().getValues()[0]);
      add(guard.getRhs().getValues()[0]);
    }
    for (Operation &op : function.front())
      for (Value result : op.getResults())
        if (isa<RankedTensorType>(result.getType()))
          for (DimExpr dim : dist::getDims(result.getType()))
            if (!dim.asConstant())
              sizes.push_back(dim);
  }

  std::optional<llvm::StringMap<int64_t>> run(unsigned seed) {
    std::minstd_rand random(seed + 1);
    // At first as many as there are ranks, or shares of them, of which each then
    // has some.
    const int64_t parts = std::min<int64_t>(
        dist::totalShares(dist::wholeMesh(*point.mesh), *point.mesh), 64);
    const std::pair<int64_t, int64_t> ranges[] = {
        {seed == 0 ? parts : 2, seed == 0 ? 2 * parts + 4 : 8},
        {2, 6},
        {1, 12},
        {1, 48},
        {1, 512}};
    for (auto [least, most] : ranges)
      for (int attempt = 0; attempt < 32; ++attempt) {
        draw(random, least, most);
        if (holds())
          return point.sizes;
      }
    return std::nullopt;
  }

private:
  void add(DimExpr expr) {
    expr.forEachSymbol([&](StringRef name, bool isCoordinate) {
      if (!isCoordinate && !llvm::is_contained(symbols, name))
        symbols.push_back(name.str());
    });
  }

  /// Different ones, as long as there are any.
  void draw(std::minstd_rand &random, int64_t least, int64_t most) {
    point.sizes.clear();
    llvm::SmallSet<int64_t, 8> used;
    for (const std::string &symbol : symbols) {
      int64_t value = 0;
      for (int attempt = 0; attempt < 4; ++attempt) {
        value = least + static_cast<int64_t>(random()) % (most - least + 1);
        if (used.insert(value).second)
          break;
      }
      point.sizes[symbol] = value;
    }
    // seq = past + 1 says what one of them is.
    for (onnx::GuardOp guard : guards)
      if (guard.getKind() == "equal") {
        const DimExpr lhs = guard.getLhs().getValues()[0];
        const DimExpr rhs = guard.getRhs().getValues()[0];
        assign(lhs, rhs);
        assign(rhs, lhs);
      }
  }

  void assign(DimExpr to, DimExpr from) {
    std::optional<StringRef> name = to.asSymbol();
    std::optional<int64_t> value = point.of(from);
    if (name && value && point.of(to) != value)
      point.sizes[*name] = *value;
  }

  bool holds() const {
    for (onnx::GuardOp guard : guards) {
      const auto lhs = point.of(guard.getLhs().getValues()[0]);
      const auto rhs = point.of(guard.getRhs().getValues()[0]);
      const StringRef kind = onnx::GuardOp(guard).getKind();
      if (!lhs || !rhs || (kind == "equal" && *lhs != *rhs) ||
          (kind == "at_most" && *lhs > *rhs) ||
          (kind == "at_least" && *lhs < *rhs))
        return false;
    }
    for (DimExpr size : sizes) {
      const auto value = point.of(size);
      if (!value || *value < 0)
        return false;
    }
    return true;
  }

  Point point;
  std::vector<std::string> symbols;
  mutable std::vector<onnx::GuardOp> guards;
  std::vector<DimExpr> sizes;
};

} // namespace

std::optional<llvm::StringMap<int64_t>>
findSizes(func::FuncOp function, const dist::Mesh &mesh, unsigned seed) {
  return SizeSearch(function, mesh).run(seed);
}

int64_t flatten(ArrayRef<int64_t> index, ArrayRef<int64_t> dims) {
  int64_t number = 0;
  for (auto [i, size] : llvm::zip_equal(index, dims))
    number = number * size + i;
  return number;
}

Index unflatten(int64_t number, ArrayRef<int64_t> dims) {
  Index index(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    index[d] = dims[d] > 0 ? number % dims[d] : 0;
    number = dims[d] > 0 ? number / dims[d] : 0;
  }
  return index;
}

int64_t countOf(ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t size : dims)
    count *= size;
  return count;
}

Index broadcastIndex(ArrayRef<int64_t> index, ArrayRef<int64_t> dims) {
  Index own(dims.size(), 0);
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1 && d + index.size() >= dims.size())
      own[d] = index[d + index.size() - dims.size()];
  return own;
}

namespace {

/// A segment with numbers: what this rank has of each factor.
struct OwnedSegment {
  Index sizes, starts, locals;

  static std::optional<OwnedSegment> of(const dist::Segment &segment,
                                        const Point &point) {
    OwnedSegment owned;
    for (const dist::Factor &factor : segment.factors) {
      const auto size = point.of(factor.size);
      const auto start = point.of(factor.lowerBound(*point.mesh));
      const auto local = point.of(factor.localSize(*point.mesh));
      if (!size || !start || !local)
        return std::nullopt;
      owned.sizes.push_back(*size);
      owned.starts.push_back(*start);
      owned.locals.push_back(*local);
    }
    return owned;
  }
};

} // namespace

std::optional<int64_t> toGlobal(const dist::DimSharding &dim, int64_t local,
                                const Point &point) {
  if (!dim.isSplit())
    return local;
  int64_t base = 0;
  for (const dist::Segment &segment : dim.segments) {
    const auto owned = OwnedSegment::of(segment, point);
    if (!owned)
      return std::nullopt;
    const int64_t count = countOf(owned->locals);
    if (local < count) {
      Index index = unflatten(local, owned->locals);
      for (size_t f = 0; f < index.size(); ++f)
        index[f] += owned->starts[f];
      return base + flatten(index, owned->sizes);
    }
    local -= count;
    base += countOf(owned->sizes);
  }
  return std::nullopt;
}

std::optional<int64_t> toLocal(const dist::DimSharding &dim, int64_t global,
                               const Point &point) {
  if (!dim.isSplit())
    return global;
  int64_t base = 0;
  for (const dist::Segment &segment : dim.segments) {
    const auto owned = OwnedSegment::of(segment, point);
    if (!owned)
      return std::nullopt;
    const int64_t size = countOf(owned->sizes);
    if (global < size) {
      Index index = unflatten(global, owned->sizes);
      for (size_t f = 0; f < index.size(); ++f) {
        index[f] -= owned->starts[f];
        if (index[f] < 0 || index[f] >= owned->locals[f])
          return std::nullopt;
      }
      return base + flatten(index, owned->locals);
    }
    global -= size;
    base += countOf(owned->locals);
  }
  return std::nullopt;
}

SmallVector<DimExpr, 4> localDims(Type type) {
  if (dist::ValueAttr encoding = dist::getValueAttr(type);
      encoding && encoding.getHasLocal())
    return SmallVector<DimExpr, 4>(encoding.getLocal());
  return dist::getDims(type);
}

} // namespace shardc::verify
