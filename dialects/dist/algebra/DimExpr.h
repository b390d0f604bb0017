//===- DimExpr.h - Symbolic sizes -----------------------------------------===//
//
// A dim is a constant or an expression over the model's input symbols
// ("batch", "past + seq") and, once partitioned, mesh coordinates ("@tp").
//
// Expressions are polynomials with integer coefficients in a canonical order,
// so two that are equal as polynomials are the same pointer:
//
//   batch * seq * 96 == 96 * (seq * batch)          one node
//   (batch * seq * 96).exactDiv(batch * 96) == seq  exact, or nothing
//   (past + seq) - past == seq
//
// What is no polynomial (floordiv, mod, min, max) is an atom of one. Symbols
// are sizes, hence >= 0; so are mesh coordinates. Nodes live as long as the
// process and may be shared between threads.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_ALGEBRA_DIMEXPR_H
#define SHARDC_DIALECTS_DIST_ALGEBRA_DIMEXPR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>

namespace shardc::dist {

namespace detail {
struct DimNode;
struct DimAtom;
} // namespace detail

class DimExpr {
public:
  /// The constant 0.
  DimExpr();
  /*implicit*/ DimExpr(int64_t constant);
  static DimExpr symbol(llvm::StringRef name);
  /// This rank's coordinate along a mesh axis, printed "@tp".
  static DimExpr coordinate(llvm::StringRef axis);

  /// Rounds towards minus infinity. `rhs` must not be the constant 0.
  static DimExpr floorDiv(DimExpr lhs, DimExpr rhs);
  static DimExpr mod(DimExpr lhs, DimExpr rhs);
  static DimExpr min(DimExpr lhs, DimExpr rhs);
  static DimExpr max(DimExpr lhs, DimExpr rhs);

  friend DimExpr operator+(DimExpr lhs, DimExpr rhs);
  friend DimExpr operator-(DimExpr lhs, DimExpr rhs);
  friend DimExpr operator*(DimExpr lhs, DimExpr rhs);
  friend bool operator==(DimExpr lhs, DimExpr rhs) {
    return lhs.node == rhs.node;
  }
  friend bool operator!=(DimExpr lhs, DimExpr rhs) { return !(lhs == rhs); }
  friend llvm::hash_code hash_value(DimExpr expr) {
    return llvm::hash_value(expr.node);
  }

  std::optional<int64_t> asConstant() const;
  bool isConstant(int64_t value) const { return asConstant() == value; }
  /// The symbol's name if the expression is just that symbol.
  std::optional<llvm::StringRef> asSymbol() const;

  /// The polynomial q with q * rhs == *this, if there is one. Where rhs may be
  /// 0 the caller owes a guard.
  std::optional<DimExpr> exactDiv(DimExpr rhs) const;

  /// Provable from symbols >= 0 (sound, not complete).
  bool isKnownNonNegative() const { return isKnownAtLeast(0); }
  bool isKnownAtLeast(int64_t bound) const;

  /// `valueOf(name, isCoordinate)` gives the value of a symbol. Nothing on
  /// overflow, division by zero or an unknown symbol.
  std::optional<int64_t> evaluate(
      llvm::function_ref<std::optional<int64_t>(llvm::StringRef, bool)> valueOf)
      const;

  /// Calls `visit(name, isCoordinate)` for each occurrence of a symbol.
  void
  forEachSymbol(llvm::function_ref<void(llvm::StringRef, bool)> visit) const;
  bool isSymbolic() const { return !asConstant(); }

  /// The expression with symbols replaced; nothing keeps a symbol as it is.
  DimExpr replaceSymbols(
      llvm::function_ref<std::optional<DimExpr>(llvm::StringRef)> with) const;

  /// One term of the polynomial: coefficient * product of atoms.
  struct Term {
    int64_t coefficient = 1;
    llvm::SmallVector<const detail::DimAtom *, 2> atoms;
  };
  llvm::ArrayRef<Term> terms() const;
  static DimExpr fromTerms(llvm::SmallVector<Term, 2> terms);

  void print(llvm::raw_ostream &os) const;
  std::string str() const;

  /// Equal for equal expressions; for keys only.
  const void *opaque() const { return node; }

private:
  explicit DimExpr(const detail::DimNode *node) : node(node) {}
  const detail::DimNode *node;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, DimExpr expr);

/// Parses what print writes, and the spellings of exporters ("s0 // 2",
/// "past_sequence + sequence"). Nothing if it is no expression.
std::optional<DimExpr> parseDimExpr(llvm::StringRef text);

/// What a symbol counts where no size is given; only weighs choices.
constexpr int64_t kNominalSize = 64;

/// Product of sizes; 1 for none.
DimExpr product(llvm::ArrayRef<DimExpr> sizes);

namespace detail {

enum class AtomKind : uint8_t { Symbol, Coordinate, FloorDiv, Mod, Min, Max };

/// Unique per (kind, name, operands); `order` is the order of creation and
/// breaks ties where names do not.
struct DimAtom {
  AtomKind kind;
  std::string name;
  DimExpr lhs, rhs;
  unsigned order;
};

struct DimNode {
  llvm::SmallVector<DimExpr::Term, 2> terms;
};

} // namespace detail
} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_ALGEBRA_DIMEXPR_H
