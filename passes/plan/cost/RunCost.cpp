//===- RunCost.cpp - Seconds of a run, op by op ---------------------------===//

#include "passes/plan/cost/RunCost.h"

#include "passes/plan/OverlapCost.h"
#include "passes/plan/StoredWeights.h"
#include "passes/plan/machine/DeviceShares.h"

#include <algorithm>
#include <set>
#include <utility>

namespace shardc::plan {

using dist::Sharding;
using dist::StepKind;

/// Keys and values of an attention.
static constexpr unsigned kInTurn[] = {1, 2};

static CollectiveKind kindOf(StepKind step) {
  switch (step) {
  case StepKind::AllReduce:
    return CollectiveKind::AllReduce;
  case StepKind::ReduceScatter:
    return CollectiveKind::ReduceScatter;
  case StepKind::AllToAll:
    return CollectiveKind::AllToAll;
  default:
    return CollectiveKind::AllGather;
  }
}

namespace {

/// Seconds of work beside which weights that are put together a layer ahead may
/// travel: what the layer before and this one did so far, less what did travel.
class Ahead {
public:
  Ahead(const Graph &graph, llvm::ArrayRef<double> bytes)
      : graph(graph), bytes(bytes), layer(largestLayer(graph, bytes)) {}

  /// Of so many seconds of travelling before an op, which nothing hides.
  double exposed(unsigned op, double seconds) {
    if (const std::optional<unsigned> layer = graph.ops[op].layer;
        layer && int64_t(*layer) != current) {
      current = *layer;
      before = std::exchange(now, 0);
    }
    const double share = shareAhead(op);
    for (double *left : {&before, &now}) {
      const double hidden = std::min(seconds, share * *left);
      *left -= hidden;
      seconds -= hidden;
    }
    return seconds;
  }
  void work(double seconds) { now += seconds; }

private:
  /// What is larger than a layer starts later: two layers are there at most.
  double shareAhead(unsigned op) const {
    return layer > 0 ? std::clamp(2 - bytes[op] / layer, 0.0, 1.0) : 1;
  }

  const Graph &graph;
  const llvm::ArrayRef<double> bytes; ///< by op, that are put together for it
  const double layer;
  int64_t current = -1; ///< layer
  double before = 0, now = 0;
};

} // namespace

RunCost::RunCost(const Graph &graph, const Kernels &kernels,
                 const Machine &machine, const dist::Mesh &mesh, int64_t copies)
    : graph(graph), kernels(kernels), machine(machine), mesh(mesh) {
  if (dist::hasShares(dist::wholeMesh(mesh), mesh))
    findClasses(copies);
}

void RunCost::findClasses(int64_t copies) {
  const int64_t ranks = mesh.numRanks();
  std::set<std::vector<std::string>> seen;
  for (int64_t rank = 0; rank < copies * ranks; ++rank) {
    const Device *device = deviceOf(machine, rank);
    if (!device)
      return;
    std::vector<std::string> key{device->name};
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
      if (const auto &shares = mesh.axes[axis].shares; !shares.empty())
        key.push_back(
            std::to_string(shares[mesh.coordinate(rank % ranks, axis)]));
    if (seen.insert(std::move(key)).second)
      classes.push_back({rank % ranks, device});
  }
}

std::vector<Seconds> RunCost::run(const Plan &plan, const Sizes &given) {
  Sizes sizes = given;
  sizes.onRank(mesh, std::nullopt);
  classSizes.assign(classes.size(), given);
  for (auto [each, own] : llvm::zip(classes, classSizes))
    own.onRank(mesh, each.rank);
  made.assign(graph.values.size(), {});
  std::vector<Seconds> seconds(graph.ops.size());
  const Gathers gathers = gatherWeights(plan, sizes);
  Ahead ahead(graph, gathers.bytes);
  for (unsigned op = 0; op < graph.ops.size(); ++op) {
    if (Kernels::isLoadTime(op, graph))
      continue;
    seconds[op] = onSlowestDevice(plan, op, sizes);
    const double here = seconds[op].total();
    seconds[op].communication +=
        ahead.exposed(op, gathers.seconds[op]) + waitFor(plan, op, sizes);
    ahead.work(here);
    if (!plan.ops[op].inTurn.empty())
      seconds[op].communication +=
          std::max(0.0, passAround(plan, op, sizes) - here);
    seconds[op].communication += addUpOutputs(plan, op, sizes);
  }
  return seconds;
}

double RunCost::addUpOutputs(const Plan &plan, unsigned op,
                             const Sizes &sizes) {
  double seconds = 0;
  for (unsigned value : graph.ops[op].resultValues) {
    if (!graph.values[value].isReturned)
      continue;
    const Sharding produced = producedSharding(graph, plan, value);
    Sharding whole = produced;
    whole.partial.clear();
    if (!produced.isPartial())
      continue;
    seconds += reshard(produced, whole, graph.values[value], sizes);
    made[value] = {produced, std::move(whole)};
  }
  return seconds;
}

Seconds RunCost::onSlowestDevice(const Plan &plan, unsigned op,
                                 const Sizes &sizes) {
  Seconds slowest;
  for (auto [each, own] : llvm::zip(classes, classSizes)) {
    const Seconds here = opSeconds(graph, kernels, plan, op, own, *each.device);
    if (here.total() > slowest.total())
      slowest = here;
  }
  if (!classes.empty())
    return slowest;
  const Device *last = nullptr;
  for (const Device &device : machine.devices) {
    if (last && last->name == device.name)
      continue;
    last = &device;
    const Seconds here = opSeconds(graph, kernels, plan, op, sizes, device);
    if (here.total() > slowest.total())
      slowest = here;
  }
  return slowest;
}

double RunCost::waitFor(const Plan &plan, unsigned number, const Sizes &sizes) {
  const GraphOp &op = graph.ops[number];
  double seconds = 0;
  for (unsigned i = 0; i < op.operandValues.size(); ++i) {
    const unsigned value = op.operandValues[i];
    const bool comesInTurn =
        !plan.ops[number].inTurn.empty() && llvm::is_contained(kInTurn, i);
    if (value == kNoValue || comesInTurn || graph.values[value].isLoadTime ||
        graph.values[value].producer == kNoValue)
      continue;
    auto &known = made[value];
    if (known.empty())
      known.push_back(producedSharding(graph, plan, value));
    Sharding wanted = operandSharding(graph, plan, number, i);
    if (llvm::is_contained(known, wanted))
      continue;
    const auto steps = dist::planReshard(known.front(), wanted);
    if (steps)
      seconds += secondsOf(*steps, known.front(), graph.values[value], sizes);
    if (steps && steps->size() == 1 && known.size() == 1)
      seconds -= besideProducts(plan, value, known.front(), wanted,
                                steps->front(), sizes);
    known.push_back(std::move(wanted));
  }
  return seconds;
}

/// Ops that are cut with a collective: what makes the value, or all that take it.
static llvm::SmallVector<unsigned, 3>
productsBeside(const Graph &graph, const Kernels &kernels, const Plan &plan,
               unsigned value, bool isProductFirst, const Sharding &to) {
  llvm::SmallVector<unsigned, 3> ops;
  if (isProductFirst)
    ops.push_back(graph.values[value].producer);
  else
    for (unsigned user : graph.values[value].consumers) {
      if (graph.ops[user].operandValues.front() != value ||
          operandSharding(graph, plan, user, 0) != to)
        return {};
      ops.push_back(user);
    }
  const bool areProducts = llvm::all_of(
      ops, [&](unsigned op) { return kernels.roles[op] == Role::Product; });
  return areProducts ? ops : llvm::SmallVector<unsigned, 3>();
}

double RunCost::besideProducts(const Plan &plan, unsigned value,
                               const Sharding &from, const Sharding &to,
                               const dist::ReshardStep &step,
                               const Sizes &sizes) {
  if (!machine.cutsProducts || machine.devices.empty() || !classes.empty())
    return 0;
  const bool isProductFirst =
      step.kind == StepKind::AllReduce || step.kind == StepKind::ReduceScatter;
  if (!isProductFirst && step.kind != StepKind::AllGather)
    return 0;
  const Device &device = machine.devices.front();
  const GraphValue &moved = graph.values[value];
  const double elements =
      std::max(sizes.largestPart(from), sizes.largestPart(to));
  // Most are steps of a few rows.
  if (moved.sizes.empty() ||
      elements * double(dist::numWays(step.axes)) <
          double(2 * device.tileRows) * sizes.of(moved.sizes.back()))
    return 0;
  std::vector<ProductSize> products;
  for (unsigned op :
       productsBeside(graph, kernels, plan, value, isProductFirst, to)) {
    std::vector<ProductSize> own = productsOf(graph, kernels, plan, op, sizes);
    if (own.size() != 1 || own.front().products != 1 ||
        own.front().rows < 2 * device.tileRows ||
        (!products.empty() && own.front().rows != products.front().rows))
      return 0;
    products.push_back(own.front());
  }
  if (products.empty())
    return 0;
  const int64_t rows = products.front().rows;
  const double bytes = elements * double(moved.bits) / 8;
  const Route &route = routeOver(step.axes);
  auto productSecondsOf = [&](int64_t part) {
    double seconds = 0;
    for (ProductSize product : products) {
      product.rows = part;
      seconds += productSeconds(device, product);
    }
    return seconds;
  };
  auto collective = [&](int64_t part) {
    return collectiveSeconds(machine, kindOf(step.kind), route,
                             bytes * double(part) / double(rows));
  };
  const OverlapChoice choice = chooseParts(
      device, {rows, 1, isProductFirst, productSecondsOf, collective});
  return choice.before - choice.after;
}

RunCost::Gathers RunCost::gatherWeights(const Plan &plan, const Sizes &sizes) {
  const std::vector<StoredOperand> stored = storedOperands(graph, plan);
  Gathers gathers{std::vector<double>(graph.ops.size(), 0),
                  gatheredBytes(graph, plan, sizes, stored)};
  for (const StoredOperand &each : stored) {
    const unsigned value = graph.ops[each.op].operandValues[each.operand];
    gathers.seconds[each.user] += reshard(
        each.stored, operandSharding(graph, plan, each.op, each.operand),
        graph.values[value], sizes);
  }
  return gathers;
}

double RunCost::reshard(const Sharding &from, const Sharding &to,
                        const GraphValue &value, const Sizes &sizes) {
  const auto steps = dist::planReshard(from, to);
  return steps ? secondsOf(*steps, from, value, sizes) : 0;
}

double RunCost::secondsOf(llvm::ArrayRef<dist::ReshardStep> steps,
                          const Sharding &from, const GraphValue &value,
                          const Sizes &sizes) {
  double seconds = 0;
  const Sharding *before = &from;
  for (const dist::ReshardStep &step : steps) {
    if (step.kind != StepKind::Slice && step.kind != StepKind::Once) {
      // The group's value when it is whole: before sums, after gathers.
      double elements =
          std::max(sizes.largestPart(*before), sizes.largestPart(step.after));
      if (step.kind == StepKind::AllToAll)
        elements =
            sizes.largestPart(*before) * double(dist::numWays(step.axes));
      else if (step.kind != StepKind::AllReduce && !classes.empty())
        elements = std::max( // slots are as large as the largest part
            elements, double(dist::numWays(step.axes)) *
                          std::min(sizes.largestPart(*before),
                                   sizes.largestPart(step.after)));
      seconds +=
          collectiveSeconds(machine, kindOf(step.kind), routeOver(step.axes),
                            elements * double(value.bits) / 8);
    }
    before = &step.after;
  }
  return seconds;
}

double RunCost::passAround(const Plan &plan, unsigned number,
                           const Sizes &sizes) {
  double bytes = 0;
  for (unsigned operand : kInTurn)
    bytes +=
        sizes.largestPart(operandSharding(graph, plan, number, operand)) *
        double(graph.values[graph.ops[number].operandValues[operand]].bits) / 8;
  return collectiveSeconds(machine, CollectiveKind::Shift,
                           routeOver(plan.ops[number].inTurn), bytes);
}

const Route &RunCost::routeOver(llvm::ArrayRef<dist::AxisRef> axes) {
  auto [known, isNew] = routes.try_emplace({axes.begin(), axes.end()});
  if (isNew)
    known->second = routeOf(machine, mesh, axes);
  return known->second;
}

} // namespace shardc::plan
