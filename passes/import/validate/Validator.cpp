//===- Validator.cpp - Does a recovery compute what it replaces? ----------===//

#include "passes/import/validate/Validator.h"

#include "dialects/onnx/ElementTypes.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/validate/Sabotage.h"
#include "passes/import/validate/SmallSizes.h"
#include "passes/import/validate/Trial.h"

#include "mlir/IR/Diagnostics.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

using namespace onnx;
using evaluate::Outcome;
using evaluate::Precision;
using evaluate::Sizes;
using evaluate::Tensor;

/// Elements that one evaluation, and all of a structure, may go through.
constexpr int64_t kMaxWork = 1 << 22, kAllWork = 1 << 21;

namespace {

/// How far results may be apart, relative to the largest of them: constants are
/// rounded to the model's type, attributes of ops to f32.
struct Tolerance {
  double exact, rounded;

  static Tolerance of(Type element) {
    const double unit =
        std::max(evaluate::roundingOf(element), std::ldexp(1.0, -24));
    const bool isNarrow = isa<Float16Type, BFloat16Type>(element);
    return {unit * (isNarrow ? 8 : 64), unit * 32};
  }
};

bool isNarrowFloat(Value value) {
  return isa<Float16Type, BFloat16Type>(elementOf(value));
}

/// An op that projects what it attends to: scores of products are so large that
/// how these are rounded makes any difference.
bool scoresProducts(const Region &region) {
  auto has = [&](auto isOp) { return llvm::any_of(region.ops, isOp); };
  return region.isDefined &&
         has([](Operation *op) { return isa<AttentionOp>(op); }) &&
         has([](Operation *op) { return isa<MatMulOp>(op); });
}

/// One region on all sizes and samples.
class Comparison {
public:
  Comparison(const Region &region, SizeFacts facts)
      : region(region), program(region), facts(std::move(facts)),
        isNarrow(llvm::any_of(region.made, isNarrowFloat) &&
                 !scoresProducts(region)) {}

  /// On smaller sizes than the model's; on those if null.
  Verdict on(const Shrinkage *shrinkage);

  /// Whether the last look reached beyond the farthest place, such as a window,
  /// that the region speaks of; true if there is none. Of a difference: that
  /// there is none before.
  bool sawFar = false;

private:
  bool isFar(const Sizes &sizes) const;
  Verdict onSizes(const Sizes &sizes, bool isFirst);
  Verdict differenceOn(const Sample &sample, const Sizes &sizes, bool isFirst);
  Verdict firstDifference(const Program::Result &result,
                          const Program::Result *finer, bool isCoarse) const;
  bool isTold(const Sample &sample) const;
  std::string describe(const Sizes &sizes) const;

  const Region &region;
  Program program;
  SizeFacts facts;
  const bool isNarrow; ///< some value
  int64_t work = 0;
  unsigned round = 0;
  Outcome outcome = Outcome::Done;
};

} // namespace

std::string Comparison::describe(const Sizes &sizes) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (StringRef symbol : facts.symbols)
    os << (text.empty() ? "" : ", ") << symbol << " = "
       << sizes.symbols.lookup(symbol);
  for (int64_t number : facts.numbers)
    if (sizes.of(number) != number)
      os << (text.empty() ? "" : ", ") << sizes.of(number) << " for " << number;
  return text.empty() ? "the model's sizes" : text;
}

/// With `finer`, the results without rounding, of narrow values alone.
Verdict Comparison::firstDifference(const Program::Result &result,
                                    const Program::Result *finer,
                                    bool isCoarse) const {
  const double coarse = isCoarse ? 0.05 : 0;
  for (auto [i, value] : llvm::enumerate(region.made)) {
    if (finer && !isNarrowFloat(value))
      continue;
    const auto tolerance = Tolerance::of(elementOf(value));
    std::string difference = differenceOf(
        region, result.old[i], result.made[i], finer ? &finer->old[i] : nullptr,
        std::max(finer ? tolerance.rounded : tolerance.exact, coarse));
    if (!difference.empty())
      return {Verdict::Different, "", difference, unsigned(i)};
  }
  return {};
}

/// A product out of a narrow type's range is not compared: kernels of the op
/// keep it in a wide one.
Verdict Comparison::differenceOn(const Sample &sample, const Sizes &sizes,
                                 bool isFirst) {
  Program::Result exact = program.run(sample, sizes, Precision::Exact);
  outcome = exact.outcome;
  // Strides and pads of the model give other sizes of results for small images.
  if (outcome == Outcome::Done && region.isDefined && !sizes.numbers.empty() &&
      !llvm::all_of_zip(
          exact.old, exact.made,
          [](const Tensor &a, const Tensor &b) { return a.shape == b.shape; }))
    outcome = Outcome::Unfit;
  if (outcome != Outcome::Done || exact.overflows)
    return {};
  Verdict verdict = firstDifference(exact, nullptr, sample.isCoarse());
  if (verdict.kind == Verdict::Different || !isNarrow || !isFirst)
    return verdict;
  Program::Result rounded = program.run(sample, sizes, Precision::Rounded);
  if (rounded.outcome != Outcome::Done || rounded.overflows)
    return {};
  return firstDifference(rounded, &exact, sample.isCoarse());
}

/// Factors of products are numbers: a mask that is added does not hide a score
/// that is none, one that is chosen by a Where does, and a fused op may do
/// either. Only masks are the least number there is, to which a score is added.
/// What is between the products of an expert is kept in a wide type, as the
/// products are, so its range is not the model's.
bool Comparison::isTold(const Sample &sample) const {
  const Program::Uses uses = program.usesOf(sample.leaf);
  switch (sample.kind) {
  case SampleKind::Large:
    return !uses.isMixed;
  case SampleKind::Special:
    return !uses.isFactor;
  case SampleKind::Hidden:
  case SampleKind::Minimum:
    return !uses.isFactor && uses.isMask;
  default:
    return true;
  }
}

/// All samples on the first sizes; on others a third of those that have
/// something special, each time another one.
Verdict Comparison::onSizes(const Sizes &sizes, bool isFirst) {
  const int64_t once = program.workFor(sizes);
  Verdict verdict;
  if (once > kMaxWork)
    return verdict;
  SmallVector<Sample> samples = samplesOf(region.leaves.size());
  ++round;
  for (size_t i = 0; i < samples.size(); ++i) {
    const bool isNext = isFirst || i < 3 || (i + round) % 3 == 0;
    if (!isNext || !isTold(samples[i]))
      continue;
    if (work > kAllWork)
      break;
    work += once;
    Verdict found = differenceOn(samples[i], sizes, isFirst);
    if (outcome == Outcome::Unknown || outcome == Outcome::Unfit)
      return {};
    if (outcome == Outcome::Invalid)
      continue;
    if (found.kind == Verdict::Different) {
      found.sizes = describe(sizes);
      return found;
    }
    verdict.kind = Verdict::Same;
  }
  return verdict;
}

bool Comparison::isFar(const Sizes &sizes) const {
  if (facts.farthest == 0 || facts.symbols.empty())
    return true;
  const int64_t far = sizes.of(facts.farthest) + 2;
  return llvm::any_of(facts.symbols, [&](StringRef symbol) {
    return sizes.symbols.lookup(symbol) >= far;
  });
}

Verdict Comparison::on(const Shrinkage *shrinkage) {
  std::optional<Numbers> numbers =
      shrinkage ? shrunkNumbers(facts.numbers, *shrinkage) : Numbers();
  Verdict verdict;
  work = 0;
  sawFar = false;
  if (!numbers)
    return verdict;
  for (const Sizes &sizes : smallSizes(facts, *numbers)) {
    Verdict here = onSizes(sizes, verdict.kind == Verdict::Unknown);
    if (here.kind == Verdict::Different) {
      sawFar =
          facts.farthest != 0 && verdict.kind == Verdict::Same && isFar(sizes);
      return here;
    }
    sawFar |= here.kind == Verdict::Same && isFar(sizes);
    if (here.kind == Verdict::Same)
      verdict = here;
  }
  return verdict;
}

/// Parts of bytes, of which a smaller constant has others than the bytes have.
static bool hasPackedConstants(const Region &region) {
  return llvm::any_of(region.ops, [](Operation *op) {
    auto constant = dyn_cast<ConstantOp>(op);
    return constant && !isStored(elementOf(constant.getResult())) &&
           !isa<SplatElementsAttr>(constant.getValue());
  });
}

/// Small sizes first. Where they show a difference it may be that they mean
/// something else there: the model's own decide. But sequences that are shorter
/// than a window say nothing of it: sizes go on until one is longer, and what
/// shows only there is a difference, of which the model's own say nothing.
static Verdict compare(const Region &region, SizeFacts facts) {
  constexpr Shrinkage kShrinkages[] = {
      {4, true}, {4, false}, {16, true}, {16, false}, {256, true}};
  Comparison comparison(region, std::move(facts));
  Verdict same, found;
  if (hasPackedConstants(region))
    return comparison.on(nullptr);
  for (const Shrinkage &shrinkage : kShrinkages) {
    Verdict verdict = comparison.on(&shrinkage);
    if (verdict.kind != Verdict::Unknown && comparison.sawFar)
      return verdict;
    if (verdict.kind != Verdict::Unknown)
      (verdict.kind == Verdict::Same ? same : found) = verdict;
  }
  if (same.kind == Verdict::Same)
    return same;
  Verdict verdict = comparison.on(nullptr);
  return verdict.kind == Verdict::Unknown ? found : verdict;
}

void Validator::enter(Block &block) {
  order = OpOrder(block);
  SmallVector<SizeGuard> found;
  for (auto guard : block.getOps<GuardOp>()) {
    ArrayRef<dist::DimExpr> lhs = guard.getLhs().getValues();
    ArrayRef<dist::DimExpr> rhs = guard.getRhs().getValues();
    const StringRef kind = guard.getKind();
    if (lhs.size() == 1 && rhs.size() == 1)
      found.push_back({lhs[0], rhs[0],
                       kind == "equal"     ? '='
                       : kind == "at_most" ? '<'
                                           : '>'});
  }
  guards.assign(found);
}

/// All that an evaluation depends on, but for what is made by it.
Validator::Key Validator::keyOf(const Region &region, const SizeFacts &facts) {
  Key key;
  llvm::DenseMap<Value, uintptr_t> numbers;
  auto number = [&](Value value) {
    return reinterpret_cast<const void *>(
        numbers.try_emplace(value, numbers.size()).first->second);
  };
  for (Value leaf : region.leaves) {
    number(leaf);
    key.push_back(leaf.getType().getAsOpaquePointer());
    auto weight = leaf.getDefiningOp<WeightOp>();
    key.push_back(weight ? weight.getPatternAttr().getAsOpaquePointer()
                         : nullptr);
    if (std::optional<unsigned> bytes = bytesOfFields(region.leaves, leaf))
      key.push_back(reinterpret_cast<const void *>(uintptr_t(*bytes + 1)));
    auto known = region.known.find(leaf);
    if (known != region.known.end())
      for (dist::DimExpr element : known->second)
        key.push_back(element.opaque());
  }
  for (Operation *op : region.ops) {
    key.push_back(op->getName().getAsOpaquePointer());
    key.push_back(op->getAttrDictionary().getAsOpaquePointer());
    for (Value operand : op->getOperands())
      key.push_back(number(operand));
    for (Value result : op->getResults()) {
      number(result);
      key.push_back(result.getType().getAsOpaquePointer());
    }
  }
  for (ArrayRef<Value> values : {ArrayRef(region.old), ArrayRef(region.made)})
    for (Value value : values)
      key.push_back(number(value));
  for (const SizeGuard &guard : facts.guards) {
    key.push_back(guard.lhs.opaque());
    key.push_back(guard.rhs.opaque());
    key.push_back(reinterpret_cast<const void *>(uintptr_t(guard.kind)));
  }
  return key;
}

/// A verdict depends on how much of what is behind the leaves was looked at, so
/// each level has its own.
Verdict Validator::verdictOn(ArrayRef<Value> old, ArrayRef<Value> made,
                             bool isDefined, Prepare prepare) {
  Verdict verdict;
  for (unsigned levels : {0u, 2u, 6u}) {
    std::optional<Region> region =
        regionOf(old, made, order, levels, isDefined);
    if (!region)
      break;
    prepare(*region);
    SizeFacts facts = sizeFactsOf(*region, order, guards);
    auto [entry, isNew] = verdicts.try_emplace(keyOf(*region, facts));
    if (isNew) {
      ++numEvaluated;
      entry->second = compare(*region, std::move(facts));
    }
    if (entry->second.kind != Verdict::Unknown)
      verdict = entry->second;
    // What is behind the operands of an op makes it no easier to evaluate.
    if (verdict.kind == Verdict::Same ||
        (verdict.kind == Verdict::Unknown && isDefined))
      break;
  }
  return verdict;
}

Verdict Validator::verdictOn(Value old, Value made) {
  return verdictOn(ArrayRef(old), ArrayRef(made), /*isDefined=*/false,
                   [](Region &) {});
}

Verdict Validator::verdictOnDefined(ArrayRef<Value> old, ArrayRef<Value> made,
                                    Prepare prepare) {
  return verdictOn(old, made, /*isDefined=*/true, prepare);
}

bool Validator::allows(Value old, Value made, StringRef what) {
  sabotage(made, what);
  Verdict verdict = verdictOn(old, made);
  if (verdict.kind == Verdict::Unknown) {
    ++numUnknown;
    mlir::emitRemark(old.getLoc())
        << what << " was not compared with how it is spelt: not all of that "
        << "can be evaluated on small sizes";
  }
  if (verdict.kind != Verdict::Different)
    return true;
  ++numUndone;
  InFlightDiagnostic warning = mlir::emitWarning(old.getLoc());
  warning << what << " is left as it is spelt: as one op it would compute "
          << "something else";
  warning.attachNote() << "with " << verdict.sizes << ", "
                       << verdict.difference;
  return false;
}

} // namespace shardc::import
