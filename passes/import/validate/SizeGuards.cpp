//===- SizeGuards.cpp - What is assumed of sizes, by symbol ---------------===//

#include "passes/import/validate/SizeGuards.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace shardc::import {

using dist::DimExpr;

void SizeGuards::assign(ArrayRef<SizeGuard> guards) {
  size_t common = 0;
  while (common < std::min(guards.size(), entries.size()) &&
         entries[common].guard == guards[common])
    ++common;
  while (entries.size() > common)
    removeLast();
  for (const SizeGuard &guard : guards.drop_front(common))
    add(guard);
}

SmallVector<SizeGuards::Symbol, 4> SizeGuards::symbolsOf(DimExpr expr) {
  SmallVector<Symbol, 4> result;
  expr.forEachSymbol([&](StringRef name, bool) {
    const Symbol symbol =
        symbols.try_emplace(name, symbols.size()).first->second;
    if (!is_contained(result, symbol))
      result.push_back(symbol);
  });
  guardsOf.resize(symbols.size());
  return result;
}

/// A symbol is free where it is one side, and may be what the other asks for:
/// any size that is not negative, or 0, or a very large one.
void SizeGuards::add(const SizeGuard &guard) {
  Entry entry{guard, symbolsOf(guard.lhs), {}};
  const SmallVector<Symbol, 4> left = entry.symbols;
  const SmallVector<Symbol, 4> right = symbolsOf(guard.rhs);
  for (Symbol symbol : right)
    if (!is_contained(left, symbol))
      entry.symbols.push_back(symbol);
  const bool isLeftLarge = guard.kind == '>', isRightLarge = guard.kind == '<';
  if (guard.lhs.asSymbol() && !is_contained(right, left.front()) &&
      (isLeftLarge || guard.rhs.isKnownNonNegative()))
    entry.free.push_back(left.front());
  if (guard.rhs.asSymbol() && !is_contained(left, right.front()) &&
      (isRightLarge || guard.lhs.isKnownNonNegative()))
    entry.free.push_back(right.front());
  for (Symbol symbol : entry.symbols)
    guardsOf[symbol].push_back(entries.size());
  entries.push_back(std::move(entry));
}

void SizeGuards::removeLast() {
  for (Symbol symbol : entries.back().symbols)
    guardsOf[symbol].pop_back();
  entries.pop_back();
}

/// The guards that some symbols reach, less and less of them.
class SizeGuards::Closure {
public:
  explicit Closure(const SizeGuards &all) : all(all) {}

  void hold(StringRef name, bool reaches) {
    auto found = all.symbols.find(name);
    if (found == all.symbols.end())
      return;
    held.insert(found->second);
    if (reaches)
      pending.push_back(found->second);
  }

  void grow() {
    llvm::DenseSet<Symbol> reached;
    while (!pending.empty()) {
      const Symbol symbol = pending.pop_back_val();
      if (!reached.insert(symbol).second)
        continue;
      for (unsigned number : all.guardsOf[symbol])
        if (kept.insert(number).second)
          for (Symbol other : all.entries[number].symbols) {
            ++uses[other];
            if (!held.contains(other))
              pending.push_back(other);
          }
    }
  }

  /// A guard goes that nothing else is said of a free symbol of.
  void shrink() {
    SmallVector<unsigned> candidates(kept.begin(), kept.end());
    while (!candidates.empty()) {
      const unsigned number = candidates.pop_back_val();
      const Entry &entry = all.entries[number];
      if (!kept.contains(number) || none_of(entry.free, [&](Symbol symbol) {
            return uses.lookup(symbol) == 1 && !held.contains(symbol);
          }))
        continue;
      kept.erase(number);
      for (Symbol symbol : entry.symbols)
        if (--uses[symbol] == 1 && !held.contains(symbol))
          for (unsigned other : all.guardsOf[symbol])
            if (kept.contains(other))
              candidates.push_back(other);
    }
  }

  SmallVector<SizeGuard> take() const {
    SmallVector<unsigned> numbers(kept.begin(), kept.end());
    llvm::sort(numbers);
    return map_to_vector(
        numbers, [&](unsigned number) { return all.entries[number].guard; });
  }

private:
  const SizeGuards &all;
  llvm::DenseSet<Symbol> held; ///< that the region has, or data gives
  SmallVector<Symbol> pending;
  llvm::DenseSet<unsigned> kept;
  llvm::DenseMap<Symbol, unsigned> uses; ///< by what is kept
};

SmallVector<SizeGuard> SizeGuards::about(const llvm::StringSet<> &symbols,
                                         const llvm::StringSet<> &fixed) const {
  Closure closure(*this);
  for (const auto &name : fixed)
    closure.hold(name.getKey(), false);
  for (const auto &name : symbols)
    closure.hold(name.getKey(), true);
  closure.grow();
  closure.shrink();
  return closure.take();
}

} // namespace shardc::import
