//===- SmallSizes.cpp - Sizes to try a region on --------------------------===//

#include "passes/import/validate/SmallSizes.h"

#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;
using evaluate::Sizes;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {

/// Finds the smaller numbers in ascending order.
class Shrinking {
public:
  explicit Shrinking(Shrinkage shrinkage) : shrinkage(shrinkage) {
    known = {{1, 1}, {2, 2}};
  }

  bool add(int64_t number) {
    if (known.count(number))
      return true;
    int64_t value = number;
    if (number > shrinkage.pinned &&
        !(derived(number, value) || chosen(number, value)))
      return false;
    // Order is kept, so that no two become one.
    if (value <= known.rbegin()->second && number > known.rbegin()->first)
      return false;
    known[number] = value;
    return true;
  }

  std::map<int64_t, int64_t> known;

private:
  /// From the numbers that it is the sum or product of. False if there are
  /// none; value 0 if they contradict each other.
  bool derived(int64_t number, int64_t &value) const {
    std::set<int64_t> values;
    for (auto [a, small] : known) {
      auto rest = known.find(number - a);
      if (rest != known.end())
        values.insert(small + rest->second);
      auto factor = known.end();
      if (shrinkage.keepsProducts && a > 1 && number % a == 0)
        factor = known.find(number / a);
      if (factor != known.end())
        values.insert(small * factor->second);
    }
    if (values.empty())
      return false;
    value = values.size() == 1 ? *values.begin() : 0;
    return true;
  }

  /// Larger than all others, and divided by what divides the number.
  bool chosen(int64_t number, int64_t &value) const {
    int64_t divisor = 1;
    for (auto [a, small] : known)
      if (number % a == 0 &&
          (llvm::MulOverflow(divisor / std::gcd(divisor, small), small,
                             divisor) ||
           divisor > number))
        return false;
    value = (known.rbegin()->second / divisor + 1) * divisor;
    return value <= number;
  }

  const Shrinkage shrinkage;
};

} // namespace

std::optional<Numbers> shrunkNumbers(ArrayRef<int64_t> numbers,
                                     Shrinkage shrinkage) {
  Shrinking shrinking(shrinkage);
  for (int64_t number : numbers)
    if (!shrinking.add(number))
      return std::nullopt;
  Numbers result;
  for (auto [number, small] : shrinking.known)
    if (number != small)
      result[number] = small;
  return result;
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

namespace {

/// More than any model has.
constexpr int64_t kMostHeads = int64_t(1) << 30;

/// Collects what is said about sizes.
class FactReader {
public:
  void readSizes(ArrayRef<DimExpr> exprs) {
    for (DimExpr expr : exprs) {
      readNumbers(expr);
      if (expr.isSymbolic() && exprsSeen.insert(expr.opaque()).second)
        facts.sizes.push_back(expr);
    }
  }

  void readNumbers(DimExpr expr) {
    evaluate::forEachNumber(expr, [&](int64_t n) { readNumber(n); });
    expr.forEachSymbol([&](StringRef name, bool) {
      if (!fromData.contains(name) && symbols.insert(name).second)
        facts.symbols.push_back(name.str());
    });
  }

  /// Very large ones are no sizes, but stand for "as far as it goes".
  void readNumber(int64_t number) {
    if (number > 2 && number < int64_t(1) << 40)
      numbers.insert(number);
  }

  void readValue(Value value) {
    if (isa<RankedTensorType>(value.getType()))
      readSizes(dist::getDims(value.getType()));
    if (std::optional<int64_t> number = splatInteger(value))
      readPlace(*number);
  }

  void readAttributes(Operation *op) {
    for (NamedAttribute attribute : op->getAttrs())
      if (auto dims = dyn_cast<dist::DimsAttr>(attribute.getValue()))
        for (DimExpr expr : dims.getValues())
          readNumbers(expr);
    for (StringRef name :
         {"window", "local_window_size", "rotary_embedding_dim"})
      if (auto number = op->getAttrOfType<IntegerAttr>(name))
        readPlace(number.getInt());
    for (StringRef name : {"K", "N", "block_size", "num_heads", "kv_num_heads"})
      if (auto number = op->getAttrOfType<IntegerAttr>(name))
        readNumber(evaluate::magnitudeOf(number.getInt()));
    readPacking(op);
    if (auto sizes = op->getAttrOfType<DenseI64ArrayAttr>("qkv_hidden_sizes"))
      for (int64_t size : sizes.asArrayRef())
        readNumber(evaluate::magnitudeOf(size));
  }

  /// Columns may be those of all heads, or of three that are alike: such sums
  /// are kept only if their parts are among the numbers.
  void readPacking(Operation *op) {
    auto heads = op->getAttrOfType<IntegerAttr>("num_heads");
    auto kvHeads = op->getAttrOfType<IntegerAttr>("kv_num_heads");
    if (!heads || isa<RotaryEmbeddingOp>(op))
      return;
    readNumber(3);
    if (!kvHeads)
      return;
    const int64_t both =
        2 * std::min(evaluate::magnitudeOf(kvHeads.getInt()), kMostHeads);
    readNumber(both);
    readNumber(both +
               std::min(evaluate::magnitudeOf(heads.getInt()), kMostHeads));
  }

  void readPlace(int64_t number) {
    const int64_t place = evaluate::magnitudeOf(number);
    readNumber(place);
    if (numbers.count(place))
      facts.farthest = std::max(facts.farthest, place);
  }

  void readGuards(const SizeGuards &guards) {
    facts.guards = guards.about(symbols, fromData);
    for (const SizeGuard &guard : facts.guards) {
      readNumbers(guard.lhs);
      readNumbers(guard.rhs);
    }
  }

  SizeFacts finish() {
    facts.numbers.assign(numbers.begin(), numbers.end());
    return std::move(facts);
  }

  llvm::StringSet<> fromData; ///< symbols

private:
  SizeFacts facts;
  llvm::StringSet<> symbols;
  std::set<int64_t> numbers;
  llvm::DenseSet<const void *> exprsSeen;
};

} // namespace

SizeFacts sizeFactsOf(const Region &region, const OpOrder &order,
                      const SizeGuards &guards) {
  FactReader reader;
  // What the data of an op inside gives, that op binds.
  llvm::DenseSet<Operation *> inside(region.ops.begin(), region.ops.end());
  auto isBoundInside = [&](StringRef symbol) {
    Operation *op = order.readerOf(symbol);
    return op && inside.contains(op);
  };
  for (Operation *op : region.ops)
    for (Type type : op->getResultTypes())
      if (isa<RankedTensorType>(type))
        for (DimExpr size : dist::getDims(type))
          size.forEachSymbol([&](StringRef symbol, bool) {
            if (isBoundInside(symbol))
              reader.fromData.insert(symbol);
          });
  for (Value leaf : region.leaves) {
    reader.readValue(leaf);
    auto known = region.known.find(leaf);
    if (known != region.known.end())
      for (DimExpr element : known->second)
        reader.readNumbers(element);
  }
  for (Operation *op : region.ops) {
    for (Value result : op->getResults())
      reader.readValue(result);
    reader.readAttributes(op);
  }
  reader.readGuards(guards);
  return reader.finish();
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Symbols that equal something get its value.
static void settle(const SizeFacts &facts, Sizes &sizes) {
  for (int round = 0; round < 3; ++round)
    for (const SizeGuard &guard : facts.guards) {
      if (guard.kind != '=')
        continue;
      auto lhs = sizes.of(guard.lhs), rhs = sizes.of(guard.rhs);
      if (!lhs || !rhs || *lhs == *rhs)
        continue;
      if (auto symbol = guard.lhs.asSymbol(); symbol && *rhs >= 0)
        sizes.symbols[*symbol] = *rhs;
      else if (auto symbol = guard.rhs.asSymbol(); symbol && *lhs >= 0)
        sizes.symbols[*symbol] = *lhs;
    }
}

/// Sizes that only data gives are not known yet.
static bool isPossible(const SizeFacts &facts, const Sizes &sizes) {
  for (DimExpr expr : facts.sizes)
    if (sizes.of(expr).value_or(0) < 0)
      return false;
  for (const SizeGuard &guard : facts.guards) {
    auto lhs = sizes.of(guard.lhs), rhs = sizes.of(guard.rhs);
    if (lhs && rhs &&
        !(guard.kind == '='   ? *lhs == *rhs
          : guard.kind == '<' ? *lhs <= *rhs
                              : *lhs >= *rhs))
      return false;
  }
  return true;
}

namespace {

/// Keeps the possible ones of what is proposed.
class SizeFinder {
public:
  SizeFinder(const SizeFacts &facts, const Numbers &numbers) : facts(facts) {
    start.numbers = numbers;
  }

  /// All different, but for symbol `which` of that size.
  void tryDifferent(size_t which, int64_t size) {
    constexpr int64_t kDifferent[] = {3, 2, 5, 4, 7, 6};
    propose([&](size_t i) { return i == which ? size : kDifferent[i % 6]; });
  }

  template <typename F> void propose(F sizeOf) {
    Sizes sizes = start;
    for (auto [i, symbol] : llvm::enumerate(facts.symbols))
      sizes.symbols[symbol] = sizeOf(i);
    settle(facts, sizes);
    std::vector<int64_t> key;
    for (StringRef symbol : facts.symbols)
      key.push_back(sizes.symbols[symbol]);
    if (isPossible(facts, sizes) && seen.insert(key).second)
      found.push_back(std::move(sizes));
  }

  SmallVector<Sizes> found;

private:
  const SizeFacts &facts;
  Sizes start;
  std::set<std::vector<int64_t>> seen;
};

} // namespace

/// An equation that gives no symbol its value may hold in several ways, of which
/// each is tried: n = b, n = 2 b or n = 3 b + 2, say, as a product that is 0.
static void tryEachSolution(const SizeFacts &facts, SizeFinder &finder) {
  constexpr int64_t kWidest = 24;
  for (const SizeGuard &guard : facts.guards) {
    if (guard.kind != '=' || guard.lhs.asSymbol() || guard.rhs.asSymbol())
      continue;
    for (size_t i = 0; i < facts.symbols.size(); ++i) {
      bool isIn = false;
      for (DimExpr side : {guard.lhs, guard.rhs})
        side.forEachSymbol([&](StringRef symbol, bool) {
          isIn |= symbol == facts.symbols[i];
        });
      for (int64_t size = 0; isIn && size <= kWidest; ++size)
        finder.tryDifferent(i, size);
    }
  }
}

SmallVector<Sizes> smallSizes(const SizeFacts &facts, const Numbers &numbers) {
  constexpr size_t kEnough = 4, kTries = 300;
  constexpr int64_t kFar = 72;
  SizeFinder finder(facts, numbers);
  const size_t count = facts.symbols.size();
  finder.tryDifferent(count, 0);
  finder.propose([](size_t) { return 1; });
  for (size_t i = 0; i < count; ++i)
    finder.tryDifferent(i, 0);
  tryEachSolution(facts, finder);
  Sizes sizes;
  sizes.numbers = numbers;
  const int64_t far = sizes.of(facts.farthest) + 2;
  for (size_t i = 0; i < count && far > 4 && far < kFar; ++i)
    finder.tryDifferent(i, far);
  std::mt19937 random(1);
  for (size_t i = 0; i < kTries && finder.found.size() < kEnough; ++i)
    finder.propose([&](size_t) { return int64_t(random() % 7); });
  return std::move(finder.found);
}

} // namespace shardc::import
