//===- OpCost.cpp - Seconds of an op on the busiest rank ------------------===//

#include "passes/plan/cost/OpCost.h"

#include <cmath>

namespace shardc::plan {

using dist::Sharding;

Seconds &Seconds::operator+=(const Seconds &other) {
  compute += other.compute;
  read += other.read;
  communication += other.communication;
  return *this;
}

namespace {

/// Operands and dims of an attention.
constexpr unsigned kQuery = 0, kKey = 1, kValue = 2, kPages = 3, kRows = 2;

class OpCost {
public:
  OpCost(const Graph &graph, const Kernels &kernels, const Plan &plan,
         unsigned number, const Sizes &sizes, const Device &device)
      : graph(graph), kernels(kernels), plan(plan), number(number),
        op(graph.ops[number]), sizes(sizes), device(device) {}

  Seconds run() {
    switch (kernels.roles[number]) {
    case Role::None:
      return {};
    case Role::Product:
      return secondsOf(products());
    case Role::Attention:
      return attention();
    case Role::Append:
      return append();
    case Role::Rows:
      return rows();
    }
    return {};
  }

  std::vector<ProductSize> products() const {
    return op.matrices.size() > 1 || isOfExperts() ? experts() : product();
  }

  AttentionSize attentionSize() const {
    const Sharding query = operandSharding(graph, plan, number, kQuery);
    auto lastOf = [&](unsigned operand) {
      return whole(sizes.of(operandOf(operand).sizes.back()));
    };
    AttentionSize size;
    size.elementBits = resultBits();
    size.keyDepth = lastOf(kQuery);
    size.valueDepth = lastOf(kValue);
    size.queries = whole(sizes.largestPart(Sharding{{query.dims[kRows]}, {}}));
    size.products =
        whole(elementsOf(kQuery) / double(size.queries * size.keyDepth));
    size.keys = whole(localWork() / double(size.products * size.queries *
                                           (size.keyDepth + size.valueDepth)));
    return size;
  }

private:
  bool isOfExperts() const {
    return llvm::any_of(op.leaves,
                        [](const OpLeaf &leaf) { return leaf.isExperts; });
  }

  const GraphValue &operandOf(unsigned operand) const {
    return graph.values[op.operandValues[operand]];
  }
  double elementsOf(unsigned operand) const {
    return sizes.largestPart(operandSharding(graph, plan, number, operand));
  }
  double bytesOf(unsigned operand) const {
    return elementsOf(operand) * double(operandOf(operand).bits) / 8;
  }
  double elementsOfResult(unsigned result = 0) const {
    return sizes.largestPart(resultSharding(graph, plan, number, result));
  }
  int64_t resultBits() const { return graph.values[op.resultValues[0]].bits; }

  /// Multiply-adds of the busiest rank.
  double localWork() const {
    double work = sizes.of(op.work);
    for (const LeafSplit &split : plan.ops[number].splits)
      if (op.find(split.leaf)) {
        const double size =
            std::max(1.0, sizes.of(graph.space.size(split.leaf)));
        work *= sizes.largestPart(size, split.axes) / size;
      }
    return work;
  }

  static int64_t whole(double count) {
    return std::max<int64_t>(1, int64_t(std::ceil(count - 1e-6)));
  }

  Seconds secondsOf(llvm::ArrayRef<ProductSize> products) const {
    if (products.empty())
      return {device.startSeconds, 0, 0};
    Seconds seconds;
    for (const ProductSize &size : products) {
      seconds += plan::secondsOfProduct(device, size);
      if (!kernels.starts[number])
        seconds.compute -= device.startSeconds;
    }
    return seconds;
  }

  /// [products, rows, depth] x [products, depth, columns]: each tensor lacks
  /// one of the numbers, and the multiply-adds are the product of all.
  std::vector<ProductSize> product() const {
    const double work = localWork();
    const double lhs = elementsOf(0), rhs = elementsOf(1),
                 result = elementsOfResult();
    if (work <= 0 || lhs <= 0 || rhs <= 0 || result <= 0)
      return {};
    ProductSize size;
    size.rows = whole(work / rhs);
    size.depth = whole(work / result);
    size.columns = whole(work / lhs);
    size.products = whole(lhs * rhs * result / (work * work));
    size.elementBits = std::min(operandOf(0).bits, resultBits());
    size.isDequantized = isDequantized(1);
    return {size};
  }

  bool isDequantized(unsigned operand) const {
    return operandOf(operand).isDequantized;
  }

  /// Each token goes to some experts, whose matrices have experts first.
  std::vector<ProductSize> experts() const {
    double ofOne = 0, ofOneHere = 0, numExperts = 1, expertsHere = 1;
    for (unsigned matrix : op.matrices) {
      const GraphValue &value = operandOf(matrix);
      const Sharding sharding = operandSharding(graph, plan, number, matrix);
      numExperts = std::max(1.0, sizes.of(value.sizes[0]));
      expertsHere =
          std::max(1.0, sizes.largestPart(Sharding{{sharding.dims[0]}, {}}));
      ofOne += sizes.elements(value.sizes) / numExperts;
      ofOneHere += sizes.largestPart(sharding) / expertsHere;
    }
    if (ofOne <= 0 || ofOneHere <= 0)
      return {};
    const double choices = sizes.of(op.work) / ofOne,
                 here = localWork() / ofOneHere;
    const double chosen =
        expertsHere * (1 - std::pow(1 - 1 / numExperts, choices));
    std::vector<ProductSize> products;
    for (unsigned matrix : op.matrices) {
      const Sharding sharding = operandSharding(graph, plan, number, matrix);
      ProductSize size;
      size.products = whole(chosen);
      size.rows = whole(here / double(size.products));
      size.depth = whole(sizes.largestPart(Sharding{{sharding.dims[1]}, {}}));
      size.columns =
          whole(sizes.largestPart(sharding) / expertsHere / double(size.depth));
      size.elementBits = std::min(operandOf(0).bits, resultBits());
      size.isDequantized = isDequantized(matrix);
      products.push_back(size);
    }
    return products;
  }

  Seconds attention() const {
    double work = localWork();
    double queries = sizes.of(operandOf(kQuery).sizes[kRows]),
           keys = sizes.of(operandOf(kKey).sizes[kRows]);
    if (op.isPaged) { // of each row
      queries /= std::max(1.0, sizes.of(operandOf(kPages).sizes[0]));
      keys *= sizes.of(operandOf(kPages).sizes[1]);
    }
    // The last position sees all keys.
    if (op.isCausal && keys > 0 && queries <= keys)
      work *= 1 - (queries - 1) / (2 * keys);
    const double rate = device.attentionMultiplyAdds *
                        device.rateOf(operandOf(kQuery).bits) /
                        device.rateOf(16);
    const double compute = work / rate;
    double bytes = elementsOfResult() * double(resultBits()) / 8;
    for (unsigned operand : {kQuery, kKey, kValue})
      bytes += bytesOf(operand);
    // Blocks of queries wait for what they read first and write last.
    const double read = bytes / device.attentionBytesPerSecond;
    return {device.attentionStartSeconds + compute, read, 0};
  }

  /// Reads and writes the new positions.
  Seconds append() const {
    double bytes = 0;
    for (unsigned i = 0; i < op.operandValues.size(); ++i)
      if (op.operandValues[i] != kNoValue && !operandOf(i).isLoadTime &&
          operandOf(i).producer != kNoValue)
        bytes += bytesOf(i);
    return {0, 2 * bytes / device.bytesPerSecond, 0};
  }

  /// Reads what others stored, a table only where it is looked up, and writes
  /// what others read.
  Seconds rows() const {
    double bytes = 0, written = 0;
    for (unsigned i = 0; i < op.resultValues.size(); ++i) {
      const double result = elementsOfResult(i) *
                            double(graph.values[op.resultValues[i]].bits) / 8;
      written += result;
      if (kernels.isStored[op.resultValues[i]])
        bytes += result;
    }
    for (unsigned i = 0; i < op.operandValues.size(); ++i) {
      if (op.operandValues[i] == kNoValue)
        continue;
      const unsigned held = kernels.storage[op.operandValues[i]];
      const unsigned producer = graph.values[held].producer;
      const bool isInRegisters = producer != kNoValue &&
                                 kernels.roles[producer] == Role::Rows &&
                                 !kernels.isStored[held];
      if (!isInRegisters)
        bytes += operandOf(i).isLoadTime ? std::min(bytesOf(i), written)
                                         : bytesOf(i);
    }
    return {kernels.starts[number] ? device.startSeconds : 0,
            bytes / device.bytesPerSecond, 0};
  }

  const Graph &graph;
  const Kernels &kernels;
  const Plan &plan;
  unsigned number;
  const GraphOp &op;
  const Sizes &sizes;
  const Device &device;
};

} // namespace

Seconds secondsOfProduct(const Device &device, const ProductSize &size) {
  const ProductSeconds parts = partsOfProduct(device, size);
  Seconds seconds;
  seconds.compute = parts.start;
  (parts.readsLonger() ? seconds.read : seconds.compute) +=
      std::max(parts.compute, parts.memory);
  return seconds;
}

std::vector<ProductSize> productsOf(const Graph &graph, const Kernels &kernels,
                                    const Plan &plan, unsigned number,
                                    const Sizes &sizes) {
  return OpCost(graph, kernels, plan, number, sizes, Device()).products();
}

AttentionSize attentionSizeOf(const Graph &graph, const Kernels &kernels,
                              const Plan &plan, unsigned number,
                              const Sizes &sizes) {
  return OpCost(graph, kernels, plan, number, sizes, Device()).attentionSize();
}

Seconds opSeconds(const Graph &graph, const Kernels &kernels, const Plan &plan,
                  unsigned number, const Sizes &sizes, const Device &device) {
  return OpCost(graph, kernels, plan, number, sizes, device).run();
}

} // namespace shardc::plan
