//===- Assumptions.cpp - What must hold of the inputs' sizes --------------===//
//
// The part of ShapeInference that proves, assumes and broadcasts.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/algebra/DimLimits.h"
#include "dialects/onnx/Onnx.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

StringRef stringify(GuardKind kind) {
  switch (kind) {
  case GuardKind::Equal:
    return "equal";
  case GuardKind::AtLeast:
    return "at_least";
  case GuardKind::AtMost:
    return "at_most";
  }
  return "";
}

DimExpr ShapeInference::simplify(DimExpr expr) const {
  if (!hasEqualities() || !expr.isSymbolic())
    return expr;
  return expr.replaceSymbols([&](StringRef name) -> std::optional<DimExpr> {
    auto it = equalities.find(name);
    return it == equalities.end() ? std::nullopt
                                  : std::optional<DimExpr>(it->second);
  });
}

bool ShapeInference::isKnownAtLeast(DimExpr expr, int64_t bound) const {
  expr = simplify(expr);
  if (expr.isKnownAtLeast(bound))
    return true;
  if (lowerBounds.empty())
    return false;
  // seq >= 2 holds in terms of seq' = seq - 2, which is a symbol >= 0 again.
  DimExpr shifted =
      expr.replaceSymbols([&](StringRef name) -> std::optional<DimExpr> {
        auto it = lowerBounds.find(name);
        if (it == lowerBounds.end())
          return std::nullopt;
        return DimExpr::symbol(name) + it->second;
      });
  return shifted.isKnownAtLeast(bound);
}

/// Makes a symbol on one side stand for the other side, everywhere.
bool ShapeInference::recordEquality(DimExpr lhs, DimExpr rhs) {
  auto occursIn = [](StringRef symbol, DimExpr expr) {
    bool occurs = false;
    expr.forEachSymbol([&](StringRef name, bool isCoordinate) {
      occurs |= !isCoordinate && name == symbol;
    });
    return occurs;
  };
  /// The number of the last read that it mentions, -1 for none.
  auto lastRead = [&](DimExpr expr) {
    int64_t last = -1;
    expr.forEachSymbol([&](StringRef name, bool) {
      auto [base, number] = name.rsplit(':');
      int64_t index = 0;
      if (readSymbols.contains(base) && !number.getAsInteger(10, index))
        last = std::max(last, index);
    });
    return last;
  };
  int64_t left = lastRead(lhs), right = lastRead(rhs);
  if (left >= 0 || right >= 0) {
    // What is read stands for what the inputs say, or what was read before it,
    // never the other way round.
    if (left > right)
      std::swap(lhs, rhs);
  } else if (!rhs.asSymbol() || (lhs.asSymbol() && lhs.str() > rhs.str())) {
    // A sum of input symbols says more than one symbol: total = past + seq.
    std::swap(lhs, rhs);
  }
  std::optional<StringRef> symbol = rhs.asSymbol();
  if (!symbol || occursIn(*symbol, lhs))
    return false;
  std::string name = symbol->str();
  for (auto &entry : equalities)
    entry.second = entry.second.replaceSymbols([&](StringRef other) {
      return other == name ? std::optional<DimExpr>(lhs) : std::nullopt;
    });
  equalities[name] = lhs;
  return true;
}

bool ShapeInference::isProvable(GuardKind kind, DimExpr lhs,
                                DimExpr rhs) const {
  switch (kind) {
  case GuardKind::Equal:
    return lhs == rhs;
  case GuardKind::AtLeast:
    return isKnownAtLeast(lhs - rhs, 0);
  case GuardKind::AtMost:
    return isKnownAtLeast(rhs - lhs, 0);
  }
  return false;
}

static bool isImpossible(const ShapeInference &inference, GuardKind kind,
                         DimExpr lhs, DimExpr rhs) {
  bool isLess = inference.isKnownAtLeast(rhs - lhs, 1);
  bool isMore = inference.isKnownAtLeast(lhs - rhs, 1);
  switch (kind) {
  case GuardKind::Equal:
    return isLess || isMore;
  case GuardKind::AtLeast:
    return isLess;
  case GuardKind::AtMost:
    return isMore;
  }
  return false;
}

/// seq - 1 >= 0 as seq >= 1: constants stand on the right.
static void moveConstant(DimExpr &lhs, DimExpr &rhs) {
  std::optional<int64_t> bound = rhs.asConstant();
  if (!bound || lhs.terms().empty() || !lhs.terms().back().atoms.empty())
    return;
  const DimExpr constant = lhs.terms().back().coefficient;
  if (dist::isTooLarge(rhs - constant))
    return;
  lhs = lhs - constant;
  rhs = rhs - constant;
}

/// The factors of a product of two or more symbols; nothing if it is none.
static SmallVector<DimExpr, 2> positiveFactors(DimExpr expr) {
  SmallVector<DimExpr, 2> factors;
  if (expr.terms().size() != 1 || expr.terms().front().coefficient < 1)
    return factors;
  for (const dist::detail::DimAtom *atom : expr.terms().front().atoms)
    factors.push_back(DimExpr::fromTerms({DimExpr::Term{1, {atom}}}));
  bool isOne = factors.size() == 1 && factors.front() == expr;
  return isOne ? SmallVector<DimExpr, 2>() : factors;
}

/// A text that may quote sizes of thousands of terms, as a person reads it.
static std::string shortened(std::string text) {
  constexpr size_t kStart = 240, kEnd = 60;
  if (text.size() <= kStart + kEnd)
    return text;
  return text.substr(0, kStart) + " ... " + text.substr(text.size() - kEnd);
}

LogicalResult ShapeInference::assume(Operation *op, GuardKind kind, DimExpr lhs,
                                     DimExpr rhs, const Twine &message) {
  lhs = simplify(lhs);
  rhs = simplify(rhs);
  if (dist::isTooLarge(lhs) || dist::isTooLarge(rhs)) {
    isRefused = true;
    return op->emitOpError()
           << shortened(message.str())
           << ": expected sizes that a few symbols make, found an expression "
              "of tens of thousands of terms, or beyond 64 bits";
  }
  if (isProvable(kind, lhs, rhs))
    return success();
  if (isImpossible(*this, kind, lhs, rhs)) {
    isRefused = true;
    StringRef relation = kind == GuardKind::Equal     ? "equal to "
                         : kind == GuardKind::AtLeast ? "at least "
                                                      : "at most ";
    return op->emitOpError()
           << shortened(message.str()) << ": expected " << relation
           << shortened(rhs.str()) << ", found " << shortened(lhs.str());
  }
  if (kind != GuardKind::Equal)
    moveConstant(lhs, rhs);
  if (kind == GuardKind::AtLeast && rhs.isConstant(1))
    if (SmallVector<DimExpr, 2> factors = positiveFactors(lhs);
        !factors.empty()) {
      // A product of sizes is at least 1 if each of them is.
      for (DimExpr factor : factors)
        if (failed(assume(op, kind, factor, rhs, message)))
          return failure();
      return success();
    }
  if (!assumedKeys.insert({int(kind), lhs.opaque(), rhs.opaque()}).second)
    return success();
  if (kind == GuardKind::AtLeast)
    if (std::optional<StringRef> symbol = lhs.asSymbol())
      if (std::optional<int64_t> bound = rhs.asConstant()) {
        int64_t &known = lowerBounds[*symbol];
        known = std::max(known, *bound);
      }
  assumed.push_back({kind, lhs, rhs, shortened(message.str()), op->getLoc()});
  if (kind == GuardKind::Equal)
    recordEquality(lhs, rhs);
  return success();
}

bool ShapeInference::needsCheck(const Assumption &assumption) const {
  DimExpr lhs = simplify(assumption.lhs), rhs = simplify(assumption.rhs);
  // A bound of a symbol proves itself; only the highest need be checked.
  std::optional<StringRef> symbol = lhs.asSymbol();
  std::optional<int64_t> bound = rhs.asConstant();
  if (assumption.kind == GuardKind::AtLeast && symbol && bound)
    return *bound > 0 && *bound >= lowerBounds.lookup(*symbol);
  return !isProvable(assumption.kind, lhs, rhs);
}

void ShapeInference::noteStretchable(DimExpr size) {
  std::optional<StringRef> symbol = size.asSymbol();
  if (symbol && !llvm::is_contained(stretchableSymbols, *symbol))
    stretchableSymbols.push_back(symbol->str());
}

FailureOr<DimExpr> ShapeInference::broadcast(Operation *op, DimExpr lhs,
                                             DimExpr rhs) {
  lhs = simplify(lhs);
  rhs = simplify(rhs);
  if (lhs == rhs || rhs.isConstant(1))
    return lhs;
  if (lhs.isConstant(1))
    return rhs;
  auto isPlain = [](DimExpr size) {
    return size.asSymbol() || size.asConstant();
  };
  if (isPlain(lhs) && isPlain(rhs)) {
    noteStretchable(lhs);
    noteStretchable(rhs);
  }
  if (failed(assume(op, GuardKind::Equal, lhs, rhs,
                    op->getName().stripDialect() + ": sizes " + lhs.str() +
                        " and " + rhs.str() + " do not broadcast")))
    return failure();
  return lhs.asConstant() ? lhs : simplify(rhs);
}

FailureOr<SmallVector<DimExpr, 4>>
ShapeInference::broadcast(Operation *op, ArrayRef<DimExpr> lhs,
                          ArrayRef<DimExpr> rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  SmallVector<DimExpr, 4> result(lhs);
  size_t offset = lhs.size() - rhs.size();
  for (auto [i, size] : llvm::enumerate(rhs)) {
    FailureOr<DimExpr> dim = broadcast(op, lhs[offset + i], size);
    if (failed(dim))
      return failure();
    result[offset + i] = *dim;
  }
  return result;
}

} // namespace shardc::onnx
