//===- RunCost.h - Seconds of a run, op by op -----------------------------===//
//
// Of the busiest rank, for requests of given sizes: what each op computes and
// reads (OpCost.h), and the collectives in front of it. Those are the ones that
// the partitioner will write (ReshardPlan.h), each over the links between the
// ranks of its group.
//
//   80 layers of a step on 8 H100: each product with rows of weights leaves
//   partial sums of [32, 1, 8192], 0.5 MB, and the addition behind it waits 20
//   us for an all_reduce
//
// Where axes have shares (Shares.h) each rank is looked at with its own part and
// its own device, and the slowest one counts for each op.
//
// Each sharding that somebody wants is made once, and counted at the first op
// that wants it. Keys and values that come in turn travel beside the attention:
// counted is what is left of them when that is done. Weights that ranks share out
// (StoredWeights.h) travel a layer ahead: counted is what takes longer than the
// layer that they travel beside. Sums behind a product, and what products put
// together, travel in parts beside the products where that pays (OverlapCost.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_COST_RUNCOST_H
#define SHARDC_PASSES_PLAN_COST_RUNCOST_H

#include "dialects/dist/algebra/ReshardPlan.h"
#include "passes/plan/cost/OpCost.h"
#include "passes/plan/machine/Machine.h"

#include <map>

namespace shardc::plan {

class RunCost {
public:
  /// `mesh` is that of all ranks, or of those of one stage and replica, of
  /// which there are `copies`; all of these outlive the object.
  RunCost(const Graph &graph, const Kernels &kernels, const Machine &machine,
          const dist::Mesh &mesh, int64_t copies = 1);

  /// By op.
  std::vector<Seconds> run(const Plan &plan, const Sizes &sizes);

  /// From one sharding of a value to another.
  double reshard(const dist::Sharding &from, const dist::Sharding &to,
                 const GraphValue &value, const Sizes &sizes);
  /// Keys and values of an attention that come in turn, once around.
  double passAround(const Plan &plan, unsigned op, const Sizes &sizes);
  const Route &routeOver(llvm::ArrayRef<dist::AxisRef> axes);

  /// Ranks with another part or another device than those before; none where all
  /// parts are equal.
  struct RankClass {
    int64_t rank;
    const Device *device;
  };
  llvm::ArrayRef<RankClass> rankClasses() const { return classes; }

private:
  void findClasses(int64_t copies);
  Seconds onSlowestDevice(const Plan &plan, unsigned op, const Sizes &sizes);
  double waitFor(const Plan &plan, unsigned op, const Sizes &sizes);
  /// What runs beside the product that makes a value, or the products that take it.
  double besideProducts(const Plan &plan, unsigned value,
                        const dist::Sharding &from, const dist::Sharding &to,
                        const dist::ReshardStep &step, const Sizes &sizes);
  double secondsOf(llvm::ArrayRef<dist::ReshardStep> steps,
                   const dist::Sharding &from, const GraphValue &value,
                   const Sizes &sizes);
  /// What the model returns may be in parts, but is no sum of them.
  double addUpOutputs(const Plan &plan, unsigned op, const Sizes &sizes);
  /// By op: to put its weights together.
  struct Gathers {
    std::vector<double> seconds, bytes;
  };
  Gathers gatherWeights(const Plan &plan, const Sizes &sizes);

  const Graph &graph;
  const Kernels &kernels;
  const Machine &machine;
  const dist::Mesh &mesh;
  std::vector<RankClass> classes;
  std::vector<Sizes> classSizes;
  std::map<std::vector<dist::AxisRef>, Route> routes;
  /// By value: the shardings that are there.
  std::vector<llvm::SmallVector<dist::Sharding, 1>> made;
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_COST_RUNCOST_H
