//===- SizeGuards.h - What is assumed of sizes, by symbol -----------------===//
//
// A model's guards may be as many as its ops, and a region asks for those that
// decide of its own sizes alone: those of its symbols, and of symbols that such
// guards bring in. What only gives another symbol its value says nothing:
//
//   b = s1, b = s2, b <= 64     about b:  b <= 64
//   b = s1, s1 <= 64            about b:  both
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_VALIDATE_SIZEGUARDS_H
#define SHARDC_PASSES_IMPORT_VALIDATE_SIZEGUARDS_H

#include "dialects/dist/algebra/DimExpr.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

namespace shardc::import {

struct SizeGuard {
  dist::DimExpr lhs, rhs;
  char kind; ///< '=', '<' (at most) or '>'

  bool operator==(const SizeGuard &other) const {
    return lhs == other.lhs && rhs == other.rhs && kind == other.kind;
  }
};

class SizeGuards {
public:
  /// In place of those before; a common beginning costs next to nothing.
  void assign(llvm::ArrayRef<SizeGuard> guards);

  /// In their order. Symbols in `fixed` are not chosen: data gives them.
  llvm::SmallVector<SizeGuard> about(const llvm::StringSet<> &symbols,
                                     const llvm::StringSet<> &fixed) const;

private:
  using Symbol = unsigned;
  struct Entry {
    SizeGuard guard;
    llvm::SmallVector<Symbol, 4> symbols; ///< each once
    /// Of these, those that can always be chosen so that it holds.
    llvm::SmallVector<Symbol, 2> free;
  };
  class Closure;

  void add(const SizeGuard &guard);
  void removeLast();
  llvm::SmallVector<Symbol, 4> symbolsOf(dist::DimExpr expr);

  llvm::StringMap<Symbol> symbols;
  std::vector<llvm::SmallVector<unsigned, 2>> guardsOf; ///< by symbol
  std::vector<Entry> entries;
};

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_VALIDATE_SIZEGUARDS_H
