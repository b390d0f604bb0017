//===- Kernels.h - Which ops run as kernels, and what they leave in memory ===//
//
// Products and attention are calls of libraries. What stands between them is
// made into as few kernels as its shapes allow (shardc-fuse-rows), whose values
// in between are never in memory; a reshape or transpose is another view of what
// is there.
//
//   MatMul -> Reshape -> Transpose   a product, and two views of its result
//   Add -> RMSNorm -> MatMul         a row kernel that reads both addends and
//                                    writes the sum, for later, and the norm
//   q, k and v of one norm           one product (shardc-merge-products)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_COST_KERNELS_H
#define SHARDC_PASSES_PLAN_COST_KERNELS_H

#include "passes/plan/Graph.h"

namespace shardc::plan {

enum class Role : uint8_t {
  None, ///< done at load, or a view
  Product,
  Attention,
  Append, ///< to a cache, in place
  Rows
};

struct Kernels {
  explicit Kernels(const Graph &graph);

  /// Whether the op depends on no input.
  static bool isLoadTime(unsigned op, const Graph &graph);

  std::vector<Role> roles;  ///< by op
  std::vector<bool> starts; ///< by op: else it is part of another one's kernel
  std::vector<unsigned> storage; ///< by value: itself, or what it is a view of
  std::vector<bool> isStored; ///< by value: it is in memory, not in registers

private:
  Role roleOf(unsigned op, const Graph &graph) const;
  void add(unsigned op, const Graph &graph);
  /// The op that makes what a value is a view of; kNoValue for inputs.
  unsigned producerOf(unsigned value, const Graph &graph) const;

  /// By op: calls of libraries that come before it. Row kernels do not reach
  /// over them.
  std::vector<unsigned> levels;
  llvm::DenseSet<unsigned> factors; ///< values that products with weights take
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_COST_KERNELS_H
