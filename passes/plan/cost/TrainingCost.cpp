//===- TrainingCost.cpp - Seconds and bytes of a training step ------------===//

#include "passes/plan/cost/TrainingCost.h"

namespace shardc::plan {

using dist::Sharding;

namespace {

/// Of attention as one kernel, against forward: scores and their weighted sum
/// anew, and the gradients of scores, queries, keys and values (5 products
/// instead of 2); queries, keys, values and the result are read with gradients.
constexpr double kFlashWork = 2.5, kFlashBytes = 2;

/// Of each logit, in f32, op by op: made of 16 bits (2 + 4), the largest one (4),
/// subtracted (8), exponential (8), their sum (4) and quotient (8); backward scaled
/// (8) and made 16 bits again (4 + 2).
constexpr double kLossForward = 38, kLossBackward = 14;
/// The largest logit, the sum of exponentials and the target's: f32, each row.
constexpr double kLossBytes = 4;
constexpr int kLossSums = 3;

/// A byte for each element says what was dropped.
constexpr double kMaskBytes = 1;

} // namespace

bool TrainingCost::isSum(const GraphOp &op) {
  switch (op.partialRule) {
  case onnx::PartialRule::Moves:
  case onnx::PartialRule::Linear:
  case onnx::PartialRule::Additive:
  case onnx::PartialRule::MovesAll:
    return true;
  default:
    return false;
  }
}

std::vector<OpTraining> TrainingCost::costs(const Plan &plan,
                                            const Sizes &sizes) {
  this->plan = &plan;
  this->sizes = &sizes;
  findGradients();
  const std::vector<Seconds> whole = run.run(plan, sizes);
  std::vector<OpTraining> costs(graph.ops.size());
  weightSeconds.assign(graph.ops.size(), 0);
  for (unsigned op = 0; op < graph.ops.size(); ++op) {
    if (Kernels::isLoadTime(op, graph))
      continue;
    OpTraining &cost = costs[op];
    cost.forward.communication = whole[op].communication;
    OpBackward slowest;
    Seconds here, scores;
    for (const Device &device : machine.devices) {
      const Seconds seconds = forward(op, device);
      const OpBackward back = backward(op, device);
      if (seconds.total() > here.total()) {
        here = seconds;
        scores = graph.ops[op].kind == OpKind::Attention && options.writesScores
                     ? seconds
                     : Seconds();
      }
      if (back.operands.total() + back.weights.total() >
          slowest.operands.total() + slowest.weights.total())
        slowest = back;
    }
    cost.forward += here;
    cost.scores = scores;
    cost.backward += slowest.operands;
    cost.backward += slowest.weights;
    weightSeconds[op] = slowest.weights.total();
  }
  addLoss(costs);
  addSums(costs);
  addGradientCollectives(costs);
  addTurns(costs);
  keep(costs);
  return costs;
}

void TrainingCost::findGradients() {
  withGradient.assign(graph.values.size(), false);
  for (const GraphOp &op : graph.ops) {
    const bool isWeight = op.kind == OpKind::Weight;
    const bool has = llvm::any_of(op.operandValues, [&](unsigned value) {
      return value != kNoValue && withGradient[value];
    });
    for (unsigned result : op.resultValues)
      // Integers of 64 bits are no parameters.
      withGradient[result] =
          has || (isWeight && graph.values[result].bits < 64);
  }
}

bool TrainingCost::isActivation(unsigned value) const {
  return value != kNoValue && !graph.values[value].isLoadTime &&
         withGradient[value];
}

double TrainingCost::bytesAs(const Sharding &sharding, unsigned value) const {
  return sizes->largestPart(sharding) * double(graph.values[value].bits) / 8;
}

/// x + f(x): two values of the result's size.
bool TrainingCost::isResidualSum(unsigned number) const {
  const GraphOp &op = graph.ops[number];
  return op.partialRule == onnx::PartialRule::Additive &&
         op.operandValues.size() == 2 &&
         llvm::all_of(op.operandValues, [&](unsigned value) {
           return isActivation(value) &&
                  graph.values[value].elements ==
                      graph.values[op.resultValues[0]].elements;
         });
}

/// Logits: what the model returns of a product.
bool TrainingCost::isLoss(unsigned value) const {
  const GraphValue &of = graph.values[value];
  if (!of.isReturned || of.isCache || !isActivation(value))
    return false;
  const unsigned producer = graph.values[kernels.storage[value]].producer;
  return producer != kNoValue && kernels.roles[producer] == Role::Product;
}

//===--- Seconds of an op -------------------------------------------------===//

Seconds TrainingCost::forward(unsigned number, const Device &device) const {
  if (kernels.roles[number] == Role::Append) // there are no caches
    return {};
  if (kernels.roles[number] == Role::Attention && options.writesScores)
    return scoresForward(number, device);
  Seconds seconds = opSeconds(graph, kernels, *plan, number, *sizes, device);
  seconds += masks(number, false, device);
  return seconds;
}

TrainingCost::OpBackward TrainingCost::backward(unsigned number,
                                                const Device &device) const {
  const GraphOp &op = graph.ops[number];
  if (llvm::none_of(op.resultValues,
                    [&](unsigned value) { return isActivation(value); }))
    return {};
  switch (kernels.roles[number]) {
  case Role::None:
  case Role::Append:
    return {};
  case Role::Product:
    return productBackward(number, device);
  case Role::Attention: {
    if (options.writesScores)
      return scoresBackward(number, device);
    Seconds seconds = opSeconds(graph, kernels, *plan, number, *sizes, device);
    seconds.compute =
        device.attentionStartSeconds +
        kFlashWork * (seconds.compute - device.attentionStartSeconds);
    seconds.read *= kFlashBytes;
    return {seconds, {}};
  }
  case Role::Rows: {
    Seconds seconds = rowsBackward(number, device);
    seconds += masks(number, true, device);
    return {seconds, {}};
  }
  }
  return {};
}

TrainingCost::OpBackward
TrainingCost::productBackward(unsigned number, const Device &device) const {
  const GraphOp &op = graph.ops[number];
  OpBackward seconds;
  for (const ProductSize &size :
       productsOf(graph, kernels, *plan, number, *sizes)) {
    ProductSize ofOperand = size, ofWeight = size;
    std::swap(ofOperand.depth, ofOperand.columns);
    std::swap(ofWeight.rows, ofWeight.depth);
    if (isActivation(op.operandValues[0]))
      seconds.operands += secondsOfProduct(device, ofOperand);
    seconds.weights += secondsOfProduct(device, ofWeight);
  }
  // One product for those of one operand, as forward.
  if (!kernels.starts[number])
    for (Seconds *part : {&seconds.operands, &seconds.weights})
      part->compute = std::max(0.0, part->compute - device.startSeconds);
  seconds.weights += accumulation(number, device);
  return seconds;
}

/// Gradients that are added to those of other micro-batches: the new one is read,
/// and the sum read and written. Sums in f32 are a tensor of their own.
Seconds TrainingCost::accumulation(unsigned number,
                                   const Device &device) const {
  const GraphOp &op = graph.ops[number];
  double bytes = 0;
  for (unsigned operand : op.matrices) {
    const unsigned value = op.operandValues[operand];
    const auto bits = double(graph.values[value].bits);
    const double sum = std::max(bits, double(options.gradientBits));
    if (microBatches > 1 || sum > bits)
      bytes += bytesAs(operandSharding(graph, *plan, number, operand), value) *
               (bits + 2 * sum) / bits;
  }
  return {bytes > 0 ? device.startSeconds : 0, bytes / device.bytesPerSecond,
          0};
}

/// Of scales and biases: bytes of the gradients, and of what was scaled.
double TrainingCost::vectorSums(unsigned number) const {
  const GraphOp &op = graph.ops[number];
  if (op.lookupMultiplyAdds > 0 ||
      llvm::none_of(op.operandValues, [&](unsigned value) {
        return value != kNoValue && graph.values[value].isLoadTime &&
               withGradient[value];
      }))
    return 0;
  double bytes =
      bytesAs(resultSharding(graph, *plan, number, 0), op.resultValues[0]);
  for (auto [i, value] : llvm::enumerate(op.operandValues))
    if (!isSum(op) && isActivation(value))
      bytes += bytesAs(operandSharding(graph, *plan, number, i), value);
  return bytes;
}

Seconds TrainingCost::rowsBackward(unsigned number,
                                   const Device &device) const {
  const GraphOp &op = graph.ops[number];
  const bool isAddition = op.partialRule == onnx::PartialRule::Additive;
  bool isInMemory = true; // gradients of what it made
  double bytes = 0, written = 0;
  for (auto [i, value] : llvm::enumerate(op.resultValues)) {
    isInMemory &= kernels.isStored[value];
    if (kernels.isStored[value])
      bytes += bytesAs(resultSharding(graph, *plan, number, i), value);
  }
  const double sums = vectorSums(number) / device.bytesPerSecond;
  const double start = kernels.starts[number] ? device.startSeconds : 0;
  if (isAddition && isInMemory) // passed on as it is
    return {0, sums, 0};
  for (auto [i, value] : llvm::enumerate(op.operandValues)) {
    if (value == kNoValue || !kernels.isStored[kernels.storage[value]])
      continue;
    const double here =
        bytesAs(operandSharding(graph, *plan, number, i), value);
    if (graph.values[value].isLoadTime) // of a table, the rows that were read
      written += withGradient[value] ? std::min(here, bytes) : 0;
    else if (!isActivation(value))
      bytes += here;
    else {
      // A sum's operands have one gradient; only what it made is made anew.
      written = isSum(op) ? std::max(written, here) : written + here;
      bytes += isSum(op) && isInMemory ? 0 : here;
    }
  }
  return {start, (bytes + written) / device.bytesPerSecond + sums, 0};
}

/// What dropout in front of a residual sum adds: its mask, and backward another
/// gradient than that of the sum.
Seconds TrainingCost::masks(unsigned number, bool isBackward,
                            const Device &device) const {
  if (!options.hasDropout || !isResidualSum(number))
    return {};
  const unsigned result = graph.ops[number].resultValues[0];
  const double bytes = bytesAs(resultSharding(graph, *plan, number, 0), result);
  const double elements = bytes * 8 / double(graph.values[result].bits);
  return {isBackward ? device.startSeconds : 0,
          (kMaskBytes * elements + (isBackward ? 2 * bytes : 0)) /
              device.bytesPerSecond,
          0};
}

/// Where several ops use a value, autograd adds up what they make of its
/// gradient: two are read and one written.
void TrainingCost::addSums(std::vector<OpTraining> &costs) {
  for (unsigned value = 0; value < graph.values.size(); ++value) {
    if (!isActivation(value) || !kernels.isStored[value] ||
        kernels.storage[value] != value ||
        graph.values[value].producer == kNoValue)
      continue;
    const unsigned producer = graph.values[value].producer;
    double users = 0;
    for (unsigned user : graph.values[value].consumers)
      users += isActivation(graph.ops[user].resultValues[0]) &&
               (kernels.roles[user] != Role::Product || kernels.starts[user]);
    if (users < 2)
      continue;
    const double bytes = bytesAs(producedSharding(graph, *plan, value), value);
    double rate = machine.devices.front().bytesPerSecond;
    for (const Device &device : machine.devices)
      rate = std::min(rate, device.bytesPerSecond);
    costs[producer].backward.compute +=
        (users - 1) * machine.devices.front().startSeconds;
    costs[producer].backward.read += (users - 1) * 3 * bytes / rate;
  }
}

//===--- Attention op by op -----------------------------------------------===//

/// So many bytes of each score, once more.
static Seconds passOver(const AttentionSize &size, double bytes,
                        const Device &device) {
  return {device.startSeconds, size.scores() * bytes / device.bytesPerSecond,
          0};
}

static ProductSize productOf(const AttentionSize &size, int64_t rows,
                             int64_t depth, int64_t columns) {
  ProductSize product;
  product.products = size.products;
  product.rows = rows;
  product.depth = depth;
  product.columns = columns;
  product.elementBits = size.elementBits;
  return product;
}

Seconds TrainingCost::scoresForward(unsigned number,
                                    const Device &device) const {
  const AttentionSize size =
      attentionSizeOf(graph, kernels, *plan, number, *sizes);
  const double bytes = double(size.elementBits) / 8;
  Seconds seconds = secondsOfProduct(
      device, productOf(size, size.queries, size.keyDepth, size.keys));
  seconds += passOver(size, 2 * bytes, device); // softmax
  if (options.hasDropout)
    seconds += passOver(size, 2 * bytes + kMaskBytes, device);
  seconds += secondsOfProduct(
      device, productOf(size, size.queries, size.keys, size.valueDepth));
  return seconds;
}

TrainingCost::OpBackward
TrainingCost::scoresBackward(unsigned number, const Device &device) const {
  const AttentionSize size =
      attentionSizeOf(graph, kernels, *plan, number, *sizes);
  const double bytes = double(size.elementBits) / 8;
  Seconds seconds;
  for (const ProductSize &product :
       {productOf(size, size.keys, size.queries, size.valueDepth), // values
        productOf(size, size.queries, size.valueDepth, size.keys), // scores
        productOf(size, size.queries, size.keys, size.keyDepth),   // queries
        productOf(size, size.keys, size.queries, size.keyDepth)})  // keys
    seconds += secondsOfProduct(device, product);
  seconds += passOver(size, 3 * bytes, device); // softmax
  if (options.hasDropout)
    seconds += passOver(size, 2 * bytes + kMaskBytes, device);
  return {seconds, {}};
}

//===--- The loss ---------------------------------------------------------===//

Seconds TrainingCost::loss(unsigned value, bool isBackward,
                           const Device &device) const {
  const double elements =
      sizes->largestPart(producedSharding(graph, *plan, value));
  return {device.startSeconds,
          elements * (isBackward ? kLossBackward : kLossForward) /
              device.bytesPerSecond,
          0};
}

void TrainingCost::addLoss(std::vector<OpTraining> &costs) {
  for (unsigned value = 0; value < graph.values.size(); ++value) {
    if (!isLoss(value))
      continue;
    OpTraining &cost = costs[graph.values[value].producer];
    for (bool isBackward : {false, true}) {
      Seconds slowest;
      for (const Device &device : machine.devices) {
        const Seconds here = loss(value, isBackward, device);
        if (here.total() > slowest.total())
          slowest = here;
      }
      (isBackward ? cost.backward : cost.forward) += slowest;
    }
    const Sharding sharding = producedSharding(graph, *plan, value);
    if (sharding.dims.empty())
      continue;
    const auto axes = sharding.dims.back().axes();
    const double rows =
        sizes->largestPart(sharding) /
        sizes->largestPart(Sharding{{sharding.dims.back()}, {}});
    if (!axes.empty())
      cost.forward.communication +=
          kLossSums * collectiveSeconds(machine, CollectiveKind::AllReduce,
                                        run.routeOver(axes), kLossBytes * rows);
    // Logits are kept, and their f32.
    const double elements = sizes->largestPart(sharding);
    cost.kept += elements * (double(graph.values[value].bits) / 8 + kLossBytes);
  }
}

} // namespace shardc::plan
