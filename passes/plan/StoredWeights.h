//===- StoredWeights.h - Weights that ranks share out among them ----------===//
//
// Ranks along "fsdp" (dist/algebra/StorageAxis.h) compute on different rows of
// the batch with the same weights. Each holds a part of these, on top of what
// tensor parallelism leaves it, and the parts are put together before each op
// that uses the weight:
//
//   w_up [4096: "fsdp"=4, 14336: "tp"=2]    gathered as [4096, 14336: "tp"=2]
//
// Split is the dim that comes out most evenly, of equal ones the first: its parts
// lie one behind the other, and are sent as they lie. What is computed of a weight
// when it is loaded (a cast) is computed of the parts. What only views it in another
// way (a transpose) views the whole, and so does what dequantises it, since fewer
// bits are sent.
//
//   matrices of products   gathered where they are used; in two places, as a tied
//                          embedding: twice
//   tables                 stay split by columns, where they are looked up in:
//                          the indices of all rows go there, and each rank gets
//                          the columns of its rows
//   whole on each rank     vectors, matrices with less than 1 / 64 of the mean
//                          one's bytes, and tables with less than 1 / 4: a
//                          collective more is not worth it
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_STOREDWEIGHTS_H
#define SHARDC_PASSES_PLAN_STOREDWEIGHTS_H

#include "passes/plan/Plan.h"
#include "passes/plan/cost/Sizes.h"

namespace shardc::plan {

/// Splits what ranks store of the weights over all of `axes` together: the last
/// step, since it adds to splits that are there.
void splitStorage(const Graph &graph, Plan &plan,
                  llvm::ArrayRef<dist::AxisRef> axes);

/// How ranks store an operand that is put together for the op, or nothing where
/// the op takes it as it is held.
std::optional<dist::Sharding> storedSharding(const Graph &graph,
                                             const Plan &plan, unsigned op,
                                             unsigned operand);

/// Operand `operand` of `op`, which holds it in parts as `stored` says.
struct StoredOperand {
  unsigned op = 0, operand = 0;
  /// The op itself, or what uses it where it is there before there is an input.
  unsigned user = 0;
  dist::Sharding stored;
};
std::vector<StoredOperand> storedOperands(const Graph &graph, const Plan &plan);

/// By op, bytes of what is put together for it, on the rank that gets most.
std::vector<double> gatheredBytes(const Graph &graph, const Plan &plan,
                                  const Sizes &sizes,
                                  llvm::ArrayRef<StoredOperand> stored);
/// Of these the most of a layer, or of an op where none is in a layer: twice as
/// much is there at most, or what is put together for one op if that is more.
double largestLayer(const Graph &graph, llvm::ArrayRef<double> bytes);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_STOREDWEIGHTS_H
