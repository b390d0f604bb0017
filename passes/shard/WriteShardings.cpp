//===- WriteShardings.cpp - The plan as types and reshards ----------------===//

#include "passes/shard/WriteShardings.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/NodeName.h"
#include "dialects/dist/algebra/StorageAxis.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/plan/StoredWeights.h"

using namespace mlir;

namespace shardc::shard {

using dist::Sharding;
using plan::AxisList;

namespace {

bool isSource(Operation *op) {
  return op && isa<onnx::WeightOp, onnx::ConstantOp>(op);
}

/// Whether which part a rank holds is known before there is an input.
bool isStatic(const Sharding &sharding) {
  for (const dist::DimSharding &dim : sharding.dims)
    for (const dist::Segment &segment : dim.segments)
      for (const dist::Factor &factor : segment.factors)
        if (factor.size.isSymbolic())
          return false;
  return true;
}

std::string nameOrKind(Operation *op) {
  return nodeName(op, op->getName().stripDialect()).str();
}

/// Writes the decided shardings of one function.
class TypeWriter {
public:
  TypeWriter(func::FuncOp function, const FunctionGraph &source,
             const plan::Plan &plan)
      : function(function), source(source), graph(source.graph), plan(plan),
        builder(function.getContext()) {}

  unsigned numReshards = 0;

  void run() {
    findCaches();
    if (storesParts())
      layers.emplace(function);
    // Wanted shardings are read off the graph before any type changes.
    for (auto [number, op] : llvm::enumerate(graph.ops)) {
      auto &wantedHere = wanted.emplace_back();
      for (auto [i, value] : llvm::enumerate(op.operandValues))
        wantedHere.push_back(value == plan::kNoValue
                                 ? dist::ShardingRef()
                                 : operandSharding(graph, plan, number, i));
    }
    for (auto [value, known] : llvm::zip(source.values, graph.values))
      if (known.producer == plan::kNoValue)
        setSharding(value, argumentSharding(value));
    for (auto [number, op] : llvm::enumerate(source.ops))
      for (auto [i, result] : llvm::enumerate(op->getResults()))
        setSharding(result, resultSharding(graph, plan, number, i));
    for (auto [number, op] : llvm::enumerate(source.ops)) {
      if (comesInTurn(number))
        makeRings(number);
      for (OpOperand &operand : op->getOpOperands())
        if (const unsigned i = operand.getOperandNumber();
            graph.ops[number].operandValues[i] != plan::kNoValue) {
          if (auto stored = storedSharding(graph, plan, number, i))
            gather(operand, *stored, *wanted[number][i]);
          else
            connect(operand, *wanted[number][i]);
        }
    }
    finishReturn();
  }

private:
  void setSharding(Value value, const Sharding &sharding) {
    value.setType(
        dist::withSharding(cast<RankedTensorType>(value.getType()), sharding));
  }

  void findCaches() {
    for (const onnx::CacheInfo &cache : onnx::FunctionInfo(function).caches())
      caches.try_emplace(function.getArgument(cache.input), cache);
  }

  /// Inputs are split by the API where all their uses want them split alike.
  Sharding argumentSharding(Value value) {
    Sharding whole = Sharding::replicated(dist::getDims(value.getType()));
    std::optional<Sharding> common;
    for (OpOperand &use : value.getUses()) {
      auto it = numberOf(use.getOwner());
      if (!it)
        return whole;
      const unsigned operand = use.getOperandNumber();
      const bool isInTurn =
          !plan.ops[*it].inTurn.empty() && llvm::is_contained(kInTurn, operand);
      const Sharding here =
          isInTurn ? partsOf(*it, operand) : *wanted[*it][operand];
      if (here.isPartial() || (common && *common != here))
        return whole;
      common = here;
    }
    StringRef why;
    return outputSharding(common.value_or(whole), cacheOf(value), why);
  }

  std::optional<onnx::CacheInfo> cacheOf(Value past) const {
    auto it = caches.find(past);
    return it == caches.end() ? std::nullopt : std::optional(it->second);
  }

  std::optional<unsigned> numberOf(Operation *op) {
    if (numbers.empty())
      for (auto [number, known] : llvm::enumerate(source.ops))
        numbers[known] = number;
    auto it = numbers.find(op);
    return it == numbers.end() ? std::nullopt
                               : std::optional<unsigned>(it->second);
  }

  void connect(OpOperand &operand, const Sharding &sharding) {
    Value value = operand.get();
    if (dist::getSharding(value.getType()) == sharding)
      return;
    std::string why;
    if (dist::getSharding(value.getType()).isPartial())
      why = "sum of the parts of " + nameOrKind(value.getDefiningOp());
    else if (!isSource(value.getDefiningOp()))
      why = nameOrKind(operand.getOwner()) + " needs " + describe(sharding);
    operand.set(resharded(value, sharding, why));
  }

  //===--- Weights that ranks share out -----------------------------------===//

  bool storesParts() const {
    return llvm::any_of(plan.ops, [](const plan::OpPlan &op) {
      return llvm::any_of(op.splits, [](const plan::LeafSplit &split) {
        return llvm::any_of(split.axes, dist::isStorageAxis);
      });
    });
  }

  /// The op itself, or what uses it where it is there before there is an input.
  Operation *userOf(Operation *op) {
    while (std::optional<unsigned> number = numberOf(op)) {
      const auto &results = graph.ops[*number].resultValues;
      const bool isLoadTime = llvm::all_of(results, [&](unsigned value) {
        return graph.values[value].isLoadTime;
      });
      if (!isLoadTime || op->use_empty())
        break;
      op = *op->user_begin();
    }
    return op;
  }

  /// Right before the op: each that uses the weight has its own, so that none is
  /// kept from one layer to the next.
  void gather(OpOperand &operand, const Sharding &stored,
              const Sharding &whole) {
    Value value = operand.get();
    if (isSource(value.getDefiningOp()) &&
        dist::getSharding(value.getType()) != stored)
      value = resharded(value, stored, "");
    Operation *op = operand.getOwner(), *user = userOf(op);
    auto weight = value.getDefiningOp<onnx::WeightOp>();
    const std::string name =
        weight ? weight.getName().str() : nameOrKind(value.getDefiningOp());
    builder.setInsertionPoint(op);
    auto made = dist::ReshardOp::create(
        builder, user->getLoc(),
        dist::withSharding(cast<RankedTensorType>(value.getType()), whole),
        value,
        builder.getStringAttr(
            "it needs " + name +
            (whole.isReplicated() ? " whole" : " as " + whole.str())));
    made->setAttr(dist::kStoredAttr, builder.getUnitAttr());
    if (std::optional<unsigned> layer = layers->layerOf(user))
      made->setAttr(dist::kLayerAttr, builder.getI64IntegerAttr(*layer));
    ++numReshards;
    operand.set(made);
  }

  //===--- Keys and values in turn ----------------------------------------===//

  static constexpr std::array<unsigned, 2> kInTurn = {1, 2}; ///< keys, values
  static constexpr size_t kKeys = 2;                         ///< dim of both

  /// How keys or values are dealt out before they go around.
  Sharding partsOf(unsigned number, unsigned operand) const {
    const plan::OpPlan &op = plan.ops[number];
    const bool isZigZag = llvm::any_of(
        op.splits, [](const plan::LeafSplit &split) { return split.isZigZag; });
    Sharding parts = *wanted[number][operand];
    const dist::DimExpr size = parts.dims[kKeys].size();
    parts.dims[kKeys] = isZigZag ? dist::DimSharding::zigZag(size, op.inTurn)
                                 : dist::DimSharding::whole(size, op.inTurn);
    return parts;
  }

  /// Whether ranks have parts of keys and values to pass on: not of a cache,
  /// say, which each of them holds whole.
  bool comesInTurn(unsigned number) const {
    const plan::OpPlan &op = plan.ops[number];
    return !op.inTurn.empty() && llvm::all_of(kInTurn, [&](unsigned i) {
      const Sharding held =
          dist::getSharding(source.ops[number]->getOperand(i).getType());
      const dist::DimSharding &keys = held.dims[kKeys];
      const dist::DimExpr size = keys.size();
      return !held.isPartial() && !size.isConstant(1) &&
             (keys == dist::DimSharding::whole(size, op.inTurn) ||
              keys == partsOf(number, i).dims[kKeys]);
    });
  }

  void makeRings(unsigned number) {
    for (unsigned i : kInTurn) {
      OpOperand &operand = source.ops[number]->getOpOperand(i);
      connect(operand, partsOf(number, i));
      operand.set(ring(operand.get(), number, *wanted[number][i]));
    }
  }

  /// The parts one after the other: this rank's, then those of the ranks
  /// before it.
  Value ring(Value value, unsigned number, const Sharding &whole) {
    const AxisList &inTurn = plan.ops[number].inTurn;
    Value &made = rings[{value, dist::ShardingRef(whole)}];
    if (made)
      return made;
    SmallVector<int64_t, 8> steps{0};
    for (int64_t step = dist::numWays(inTurn) - 1; step > 0; --step)
      steps.push_back(step);
    builder.setInsertionPointAfterValue(value);
    made = dist::RingOp::create(
        builder, value.getLoc(),
        dist::withSharding(cast<RankedTensorType>(value.getType()), whole),
        value, builder.getI64IntegerAttr(kKeys),
        dist::AxesAttr::get(builder.getContext(), inTurn),
        builder.getDenseI64ArrayAttr(steps),
        builder.getStringAttr(nameOrKind(source.ops[number]) +
                              " sees all of it in turn"));
    return made;
  }

  static std::string describe(const Sharding &sharding) {
    return sharding.isReplicated() ? "it whole" : "it as " + sharding.str();
  }

  /// The value with that sharding: a weight is simply cut differently, anything
  /// else resharded once for all its uses.
  Value resharded(Value value, const Sharding &sharding, StringRef why) {
    Value &made = reshards[{value, dist::ShardingRef(sharding)}];
    if (made)
      return made;
    builder.setInsertionPointAfterValue(value);
    Operation *source = value.getDefiningOp();
    if (isSource(source) && !sharding.isPartial() && isStatic(sharding)) {
      made = builder.clone(*source)->getResult(0);
      setSharding(made, sharding);
      return made;
    }
    ++numReshards;
    Type type =
        dist::withSharding(cast<RankedTensorType>(value.getType()), sharding);
    made = dist::ReshardOp::create(builder, value.getLoc(), type, value,
                                   why.empty() ? StringAttr()
                                               : builder.getStringAttr(why));
    return made;
  }

  /// How an output may be held: split, but never partial, and the ranks' parts
  /// may not overlap. A step appends one position to a cache, on whichever rank
  /// would have it; so all positions of it are on every rank that has its
  /// heads. In pages each has a place, which stays.
  Sharding outputSharding(Sharding sharding,
                          const std::optional<onnx::CacheInfo> &cache,
                          StringRef &why) const {
    if (sharding.isPartial()) {
      sharding.partial.clear();
      why = "an output of the model may not be partial";
    }
    if (dist::isSplitInPart(sharding)) {
      why = "the ranks' parts of an output of the model may not overlap";
      for (dist::DimSharding &dim : sharding.dims)
        dim = dist::DimSharding::unsplit(dim.size());
    }
    const int64_t grows = cache ? cache->dim.value_or(-1) : -1;
    const bool isInPages = onnx::FunctionInfo(function).page() > 0;
    for (auto [d, dim] : llvm::enumerate(sharding.dims)) {
      bool isSequence = llvm::any_of(dim.axes(), [](const dist::AxisRef &axis) {
        return axis.name == dist::kContextAxis;
      });
      if (!cache || !dim.isSplit() ||
          ((!isSequence || isInPages) && grows != int64_t(d)))
        continue;
      dim = dist::DimSharding::unsplit(dim.size());
      why = "a cache has all positions";
    }
    return sharding;
  }

  void finishReturn() {
    auto terminator = cast<func::ReturnOp>(function.front().getTerminator());
    for (OpOperand &operand : terminator->getOpOperands()) {
      Sharding sharding = dist::getSharding(operand.get().getType());
      StringRef why;
      Sharding allowed = outputSharding(
          sharding,
          onnx::FunctionInfo(function).cache(operand.getOperandNumber()), why);
      if (allowed == sharding)
        setSharding(operand.get(), sharding);
      else
        operand.set(resharded(operand.get(), allowed, why));
    }
    function.setType(FunctionType::get(function.getContext(),
                                       function.front().getArgumentTypes(),
                                       terminator.getOperandTypes()));
    for (Operation &op : llvm::make_early_inc_range(function.front()))
      if (isSource(&op) && op.use_empty())
        op.erase();
  }

  func::FuncOp function;
  const FunctionGraph &source;
  const plan::Graph &graph;
  const plan::Plan &plan;
  OpBuilder builder;
  std::optional<EqualLayers> layers; ///< where parts are put together
  std::vector<SmallVector<dist::ShardingRef, 3>> wanted; ///< by op
  llvm::DenseMap<Operation *, unsigned> numbers;
  llvm::DenseMap<Value, onnx::CacheInfo> caches; ///< by past
  struct Key {
    Value value;
    dist::ShardingRef sharding;
    bool operator==(const Key &o) const {
      return value == o.value && sharding == o.sharding;
    }
  };
  struct KeyHash {
    size_t operator()(const Key &key) const {
      return llvm::hash_combine(mlir::hash_value(key.value), key.sharding);
    }
  };
  std::unordered_map<Key, Value, KeyHash> reshards, rings;
};

} // namespace

unsigned writeShardings(func::FuncOp function, const FunctionGraph &source,
                        const plan::Plan &plan) {
  TypeWriter writer(function, source, plan);
  writer.run();
  return writer.numReshards;
}

} // namespace shardc::shard
