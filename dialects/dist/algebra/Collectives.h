//===- Collectives.h - What collectives do to shardings -------------------===//
//
// Each function gives the sharding after a collective (or a local step) on a
// value with the given sharding, or nothing where the step is not possible. No
// step changes the value itself.
//
//   allReduce([{}, {}] partial {"tp"=2: sum}, tp, sum) = [{}, {}]
//   allGather([{}, (6:"tp"=2, 16)], dim 1, tp)         = [{}, {}]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_ALGEBRA_COLLECTIVES_H
#define SHARDC_DIALECTS_DIST_ALGEBRA_COLLECTIVES_H

#include "dialects/dist/algebra/Sharding.h"

namespace shardc::dist {

/// All of `axes` must be partial of that kind.
std::optional<Sharding> allReduce(const Sharding &sharding,
                                  llvm::ArrayRef<AxisRef> axes,
                                  ReduceKind kind);

/// Takes the axes out of every factor of the dim; they must be its minor ones,
/// and each must split the dim.
std::optional<Sharding> allGather(const Sharding &sharding, size_t dim,
                                  llvm::ArrayRef<AxisRef> axes);

/// True if `after` is `before` with the axes taken out of dim `from` and dim
/// `to` split over them instead; they may be the same dim.
///
///   [{"tp"=2}, {}] to [{}, {"tp"=2}], dim 0 to 1, tp
bool isAllToAll(const Sharding &before, const Sharding &after, size_t from,
                size_t to, llvm::ArrayRef<AxisRef> axes);

/// True if `after` only splits further what `before` holds whole: each rank
/// already has its part.
bool isSlice(const Sharding &before, const Sharding &after);

/// The first way of `axes` keeps the value, the others hold zeros.
std::optional<Sharding> once(const Sharding &sharding,
                             llvm::ArrayRef<AxisRef> axes);

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_ALGEBRA_COLLECTIVES_H
