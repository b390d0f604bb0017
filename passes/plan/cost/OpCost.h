//===- OpCost.h - Seconds of an op on the busiest rank --------------------===//
//
// Of what a rank has of each operand and result (Plan.h) follows what its
// kernel computes, reads and writes, and of the device (Device.h) how long that
// takes.
//
//   MatMul [32, 8192] x [8192, 28672 / 8] in bf16 on an H100: 3 us to start, 21
//   us to read 59 MB of weights, which the 2 us of multiply-adds hide behind
//
// Attention counts the pairs that it computes: under causality a position sees
// none that come later. A mixture of experts reads the experts that some token
// chose: of 128 with 8 a token, 32 tokens choose some 112.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_COST_OPCOST_H
#define SHARDC_PASSES_PLAN_COST_OPCOST_H

#include "passes/plan/Plan.h"
#include "passes/plan/cost/Kernels.h"
#include "passes/plan/cost/Sizes.h"
#include "passes/plan/machine/Device.h"

#include <vector>

namespace shardc::plan {

/// What a rank is busy with, and when it does what.
struct Seconds {
  double compute = 0;       ///< starts of kernels included
  double read = 0;          ///< and write, where that takes longer
  double communication = 0; ///< that nothing hides

  double total() const { return compute + read + communication; }
  Seconds &operator+=(const Seconds &other);
  Seconds operator*(double times) const {
    return {compute * times, read * times, communication * times};
  }
};

/// `number` is an op of the graph; nothing is communicated here.
Seconds opSeconds(const Graph &graph, const Kernels &kernels, const Plan &plan,
                  unsigned number, const Sizes &sizes, const Device &device);

//===--- What the busiest rank computes, for those who price it anew ------===//

Seconds secondsOfProduct(const Device &device, const ProductSize &size);

/// Of an op that is a product, or one of an expert's after the other; empty where
/// the rank has nothing to do.
std::vector<ProductSize> productsOf(const Graph &graph, const Kernels &kernels,
                                    const Plan &plan, unsigned number,
                                    const Sizes &sizes);

/// Of an attention: so many times [queries, keyDepth] x [keyDepth, keys], and
/// [queries, keys] x [keys, valueDepth].
struct AttentionSize {
  int64_t products = 1, queries = 1, keys = 1, keyDepth = 1, valueDepth = 1;
  int64_t elementBits = 16;
  double scores() const { return double(products * queries) * double(keys); }
};
AttentionSize attentionSizeOf(const Graph &graph, const Kernels &kernels,
                              const Plan &plan, unsigned number,
                              const Sizes &sizes);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_COST_OPCOST_H
