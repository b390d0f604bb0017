//===- DimExpr.cpp - Symbolic sizes ---------------------------------------===//

#include "dialects/dist/algebra/DimLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <atomic>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>

namespace shardc::dist {
using namespace detail;

namespace {

using Term = DimExpr::Term;

/// Sums of thousands of slices stay within these, and no size of a model is
/// near them.
constexpr size_t kMaxSize = 1 << 16;
constexpr unsigned kMaxDepth = 512;

/// Names decide, so that printing does not depend on what was parsed first.
bool atomLess(const DimAtom *lhs, const DimAtom *rhs) {
  if (lhs == rhs)
    return false;
  return std::tie(lhs->kind, lhs->name, lhs->order) <
         std::tie(rhs->kind, rhs->name, rhs->order);
}

/// Higher degree first, then by atoms: "batch * seq + seq + 1".
bool monomialLess(const Term &lhs, const Term &rhs) {
  if (lhs.atoms.size() != rhs.atoms.size())
    return lhs.atoms.size() > rhs.atoms.size();
  return std::lexicographical_compare(lhs.atoms.begin(), lhs.atoms.end(),
                                      rhs.atoms.begin(), rhs.atoms.end(),
                                      atomLess);
}

/// Nodes and atoms as they are stored, with what limits them: terms and atoms
/// in them, and how deep atoms stand in atoms.
struct StoredNode : DimNode {
  size_t size;
  unsigned depth;
};

struct StoredAtom : DimAtom {
  size_t size;
  unsigned depth;
};

const StoredNode &stored(DimExpr expr) {
  return *static_cast<const StoredNode *>(
      static_cast<const DimNode *>(expr.opaque()));
}

const StoredAtom &stored(const DimAtom *atom) {
  return *static_cast<const StoredAtom *>(atom);
}

/// Owns every node and atom of the process.
class Interner {
public:
  static Interner &get() {
    static Interner *interner = new Interner; // never destroyed: nodes are
    return *interner;                         // reachable from statics
  }

  /// Of terms in normal form.
  const DimNode *node(Terms terms, size_t size, unsigned depth) {
    llvm::hash_code hash = llvm::hash_value(terms.size());
    for (const Term &term : terms)
      hash = llvm::hash_combine(
          hash, term.coefficient,
          llvm::hash_combine_range(term.atoms.begin(), term.atoms.end()));
    std::lock_guard<std::mutex> lock(mutex);
    auto [first, last] = nodes.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (equal(it->second->terms, terms))
        return it->second;
    storage.push_back(StoredNode{{std::move(terms)}, size, depth});
    nodes.emplace(hash, &storage.back());
    return &storage.back();
  }

  const DimAtom *atom(AtomKind kind, llvm::StringRef name, DimExpr lhs,
                      DimExpr rhs) {
    std::lock_guard<std::mutex> lock(mutex);
    auto &slot = atoms[{kind, name.str(), lhs.opaque(), rhs.opaque()}];
    if (!slot) {
      const StoredNode &left = stored(lhs), &right = stored(rhs);
      const unsigned order = atomStorage.size();
      atomStorage.push_back(StoredAtom{{kind, name.str(), lhs, rhs, order},
                                       1 + left.size + right.size,
                                       1 + std::max(left.depth, right.depth)});
      slot = &atomStorage.back();
    }
    return slot;
  }

private:
  static bool equal(const Terms &lhs, const Terms &rhs) {
    return std::equal(lhs.begin(), lhs.end(), rhs.begin(), rhs.end(),
                      [](const Term &a, const Term &b) {
                        return a.coefficient == b.coefficient &&
                               a.atoms == b.atoms;
                      });
  }

  std::mutex mutex;
  std::deque<StoredNode> storage;
  std::deque<StoredAtom> atomStorage;
  std::unordered_multimap<size_t, const DimNode *> nodes;
  std::map<std::tuple<AtomKind, std::string, const void *, const void *>,
           const DimAtom *>
      atoms;
};

/// 0 floordiv 0, which has no value: nothing is ever proved of it.
DimExpr tooLarge() {
  static const DimExpr expr = DimExpr::fromTerms(
      {Term{1, {Interner::get().atom(AtomKind::FloorDiv, "", 0, 0)}}});
  return expr;
}

DimExpr makeAtom(AtomKind kind, llvm::StringRef name, DimExpr lhs = {},
                 DimExpr rhs = {}) {
  if (isTooLarge(lhs) || isTooLarge(rhs))
    return tooLarge();
  const DimAtom *atom = Interner::get().atom(kind, name, lhs, rhs);
  return DimExpr::fromTerms({Term{1, {atom}}});
}

/// What is left of floor division, of the divisor's sign.
int64_t remainder(int64_t lhs, int64_t rhs) {
  const int64_t rest = rhs == -1 ? 0 : lhs % rhs;
  return rest != 0 && (rest < 0) != (rhs < 0) ? rest + rhs : rest;
}

/// Quotient of two terms, if it is one.
std::optional<Term> divide(const Term &lhs, const Term &rhs) {
  if (llvm::divideSignedWouldOverflow(lhs.coefficient, rhs.coefficient) ||
      lhs.coefficient % rhs.coefficient != 0)
    return std::nullopt;
  Term quotient{lhs.coefficient / rhs.coefficient, {}};
  auto it = rhs.atoms.begin();
  for (const DimAtom *atom : lhs.atoms) {
    if (it != rhs.atoms.end() && *it == atom)
      ++it;
    else
      quotient.atoms.push_back(atom);
  }
  if (it != rhs.atoms.end())
    return std::nullopt;
  return quotient;
}

} // namespace

DimExpr::DimExpr() {
  static const DimExpr zero(int64_t(0));
  node = zero.node;
}

static const DimNode *constantNode(int64_t constant) {
  Terms terms;
  if (constant != 0)
    terms.push_back(Term{constant, {}});
  const unsigned size = terms.size();
  return Interner::get().node(std::move(terms), size, /*depth=*/0);
}

DimExpr::DimExpr(int64_t constant) {
  // Most constants are small, and the interner is asked for each of them once.
  static std::array<std::atomic<const DimNode *>, 4096> small;
  if (constant < 0 || constant >= int64_t(small.size())) {
    node = constantNode(constant);
    return;
  }
  std::atomic<const DimNode *> &known = small[constant];
  node = known.load(std::memory_order_acquire);
  if (!node)
    known.store(node = constantNode(constant), std::memory_order_release);
}

DimExpr DimExpr::symbol(llvm::StringRef name) {
  return makeAtom(AtomKind::Symbol, name);
}

DimExpr DimExpr::coordinate(llvm::StringRef axis) {
  return makeAtom(AtomKind::Coordinate, axis);
}

llvm::ArrayRef<Term> DimExpr::terms() const { return node->terms; }

bool isTooLarge(DimExpr expr) { return expr == tooLarge(); }

size_t detail::sizeOf(DimExpr expr) { return stored(expr).size; }

bool detail::normalize(Terms &terms) {
  for (Term &term : terms)
    if (term.atoms.size() > 1)
      llvm::sort(term.atoms, atomLess);
  if (!llvm::is_sorted(terms, monomialLess))
    llvm::sort(terms, monomialLess);
  Terms merged;
  for (Term &term : terms) {
    if (merged.empty() || merged.back().atoms != term.atoms)
      merged.push_back(std::move(term));
    else if (llvm::AddOverflow(merged.back().coefficient, term.coefficient,
                               merged.back().coefficient))
      return false;
  }
  llvm::erase_if(merged, [](const Term &t) { return t.coefficient == 0; });
  terms = std::move(merged);
  return llvm::none_of(terms, [](const Term &term) {
    return term.coefficient == std::numeric_limits<int64_t>::min();
  });
}

DimExpr DimExpr::fromTerms(Terms terms) {
  if (!normalize(terms))
    return tooLarge();
  size_t size = 0;
  unsigned depth = 0;
  for (const Term &term : terms) {
    ++size;
    for (const DimAtom *atom : term.atoms) {
      size += stored(atom).size;
      depth = std::max(depth, stored(atom).depth);
    }
  }
  if (size > kMaxSize || depth > kMaxDepth)
    return tooLarge();
  return DimExpr(Interner::get().node(std::move(terms), size, depth));
}

DimExpr sum(llvm::ArrayRef<DimExpr> sizes) {
  Terms terms;
  for (DimExpr size : sizes) {
    if (isTooLarge(size))
      return size;
    terms.append(size.terms().begin(), size.terms().end());
  }
  return DimExpr::fromTerms(std::move(terms));
}

DimExpr operator+(DimExpr lhs, DimExpr rhs) {
  if (lhs.isConstant(0))
    return rhs;
  if (rhs.isConstant(0))
    return lhs;
  if (isTooLarge(lhs) || isTooLarge(rhs))
    return tooLarge();
  Terms terms; // merged, as both are in order
  terms.reserve(lhs.terms().size() + rhs.terms().size());
  std::merge(lhs.terms().begin(), lhs.terms().end(), rhs.terms().begin(),
             rhs.terms().end(), std::back_inserter(terms), monomialLess);
  return DimExpr::fromTerms(std::move(terms));
}

/// False where a coefficient leaves 64 bits.
static bool appendProduct(Terms &terms, const Term &a, const Term &b) {
  Term term{0, a.atoms};
  term.atoms.append(b.atoms.begin(), b.atoms.end());
  if (llvm::MulOverflow(a.coefficient, b.coefficient, term.coefficient))
    return false;
  terms.push_back(std::move(term));
  return true;
}

DimExpr operator*(DimExpr lhs, DimExpr rhs) {
  if (lhs.isConstant(1))
    return rhs;
  if (rhs.isConstant(1))
    return lhs;
  int64_t both;
  if (auto a = lhs.asConstant(), b = rhs.asConstant();
      a && b && !llvm::MulOverflow(*a, *b, both) &&
      both != std::numeric_limits<int64_t>::min())
    return both;
  if (isTooLarge(lhs) || isTooLarge(rhs) ||
      lhs.terms().size() * rhs.terms().size() > kMaxSize)
    return tooLarge();
  Terms terms;
  for (const Term &a : lhs.terms())
    for (const Term &b : rhs.terms())
      if (!appendProduct(terms, a, b))
        return tooLarge();
  return DimExpr::fromTerms(std::move(terms));
}

DimExpr operator-(DimExpr lhs, DimExpr rhs) { return lhs + DimExpr(-1) * rhs; }

std::optional<int64_t> DimExpr::asConstant() const {
  if (terms().empty())
    return 0;
  if (terms().size() == 1 && terms().front().atoms.empty())
    return terms().front().coefficient;
  return std::nullopt;
}

std::optional<llvm::StringRef> DimExpr::asSymbol() const {
  if (terms().size() != 1 || terms().front().coefficient != 1 ||
      terms().front().atoms.size() != 1)
    return std::nullopt;
  const DimAtom *atom = terms().front().atoms.front();
  if (atom->kind != AtomKind::Symbol)
    return std::nullopt;
  return llvm::StringRef(atom->name);
}

/// Each term divided; nothing where one of them is not divisible.
static std::optional<DimExpr> divideTerms(llvm::ArrayRef<Term> terms,
                                          const Term &by) {
  Terms quotient;
  for (const Term &term : terms) {
    std::optional<Term> part = divide(term, by);
    if (!part)
      return std::nullopt;
    quotient.push_back(std::move(*part));
  }
  return DimExpr::fromTerms(std::move(quotient));
}

/// Polynomial long division; the leading monomial order is `monomialLess`. Only
/// what is left is no node: sums of thousands of terms have thousands of them.
std::optional<DimExpr> DimExpr::exactDiv(DimExpr rhs) const {
  if (rhs.terms().empty() || isTooLarge(rhs) || isTooLarge(*this))
    return std::nullopt;
  if (rhs.terms().size() == 1)
    return divideTerms(terms(), rhs.terms().front());
  Terms rest(terms()), quotient;
  for (size_t work = 0; !rest.empty(); work += rest.size()) {
    std::optional<Term> term = divide(rest.front(), rhs.terms().front());
    if (!term || work > kMaxSize)
      return std::nullopt;
    Term negated{0, term->atoms};
    if (llvm::SubOverflow(int64_t(0), term->coefficient, negated.coefficient))
      return std::nullopt;
    for (const Term &other : rhs.terms())
      if (!appendProduct(rest, negated, other))
        return std::nullopt;
    if (!normalize(rest))
      return std::nullopt;
    quotient.push_back(std::move(*term));
  }
  return fromTerms(std::move(quotient));
}

DimExpr DimExpr::floorDiv(DimExpr lhs, DimExpr rhs) {
  assert(!rhs.isConstant(0) && "division by zero");
  auto a = lhs.asConstant(), b = rhs.asConstant();
  if (a && b)
    return llvm::divideSignedWouldOverflow(*a, *b)
               ? tooLarge()
               : llvm::divideFloorSigned(*a, *b);
  if (std::optional<DimExpr> exact = lhs.exactDiv(rhs))
    return *exact;
  // (4 n + 3) / 4 = n, as Range and Conv write it.
  int64_t rest = 0;
  for (const Term &term : lhs.terms())
    if (term.atoms.empty())
      rest = term.coefficient;
  if (b && rest != 0)
    if (std::optional<DimExpr> exact = (lhs - rest).exactDiv(rhs))
      return *exact + floorDiv(rest, rhs);
  return makeAtom(AtomKind::FloorDiv, "", lhs, rhs);
}

DimExpr DimExpr::mod(DimExpr lhs, DimExpr rhs) {
  auto a = lhs.asConstant(), b = rhs.asConstant();
  if (a && b)
    return remainder(*a, *b);
  if (lhs.exactDiv(rhs))
    return 0;
  return makeAtom(AtomKind::Mod, "", lhs, rhs);
}

DimExpr DimExpr::min(DimExpr lhs, DimExpr rhs) {
  if (auto a = lhs.asConstant(), b = rhs.asConstant(); a && b)
    return std::min(*a, *b);
  if ((rhs - lhs).isKnownNonNegative())
    return lhs;
  if ((lhs - rhs).isKnownNonNegative())
    return rhs;
  return makeAtom(AtomKind::Min, "", lhs, rhs);
}

DimExpr DimExpr::max(DimExpr lhs, DimExpr rhs) {
  if (auto a = lhs.asConstant(), b = rhs.asConstant(); a && b)
    return std::max(*a, *b);
  if ((rhs - lhs).isKnownNonNegative())
    return rhs;
  if ((lhs - rhs).isKnownNonNegative())
    return lhs;
  return makeAtom(AtomKind::Max, "", lhs, rhs);
}

static std::optional<int64_t> evaluateAtom(
    const DimAtom *atom,
    llvm::function_ref<std::optional<int64_t>(llvm::StringRef, bool)> valueOf) {
  if (atom->kind == AtomKind::Symbol || atom->kind == AtomKind::Coordinate)
    return valueOf(atom->name, atom->kind == AtomKind::Coordinate);
  std::optional<int64_t> lhs = atom->lhs.evaluate(valueOf);
  std::optional<int64_t> rhs = atom->rhs.evaluate(valueOf);
  if (!lhs || !rhs)
    return std::nullopt;
  switch (atom->kind) {
  case AtomKind::Min:
    return std::min(*lhs, *rhs);
  case AtomKind::Max:
    return std::max(*lhs, *rhs);
  case AtomKind::FloorDiv:
    return *rhs <= 0 ? std::nullopt
                     : std::optional(llvm::divideFloorSigned(*lhs, *rhs));
  default:
    return *rhs <= 0 ? std::nullopt : std::optional(remainder(*lhs, *rhs));
  }
}

std::optional<int64_t> DimExpr::evaluate(
    llvm::function_ref<std::optional<int64_t>(llvm::StringRef, bool)> valueOf)
    const {
  int64_t sum = 0;
  for (const Term &term : terms()) {
    int64_t value = term.coefficient;
    for (const DimAtom *atom : term.atoms) {
      std::optional<int64_t> factor = evaluateAtom(atom, valueOf);
      if (!factor || llvm::MulOverflow(value, *factor, value))
        return std::nullopt;
    }
    if (llvm::AddOverflow(sum, value, sum))
      return std::nullopt;
  }
  return sum;
}

void DimExpr::forEachSymbol(
    llvm::function_ref<void(llvm::StringRef, bool)> visit) const {
  for (const Term &term : terms())
    for (const DimAtom *atom : term.atoms) {
      if (atom->kind == AtomKind::Symbol ||
          atom->kind == AtomKind::Coordinate) {
        visit(atom->name, atom->kind == AtomKind::Coordinate);
        continue;
      }
      atom->lhs.forEachSymbol(visit);
      atom->rhs.forEachSymbol(visit);
    }
}

static DimExpr replaceInAtom(
    const DimAtom *atom,
    llvm::function_ref<std::optional<DimExpr>(llvm::StringRef)> with) {
  if (atom->kind == AtomKind::Symbol)
    if (std::optional<DimExpr> value = with(atom->name))
      return *value;
  if (atom->kind == AtomKind::Symbol || atom->kind == AtomKind::Coordinate)
    return DimExpr::fromTerms({Term{1, {atom}}});
  DimExpr lhs = atom->lhs.replaceSymbols(with);
  DimExpr rhs = atom->rhs.replaceSymbols(with);
  switch (atom->kind) {
  case AtomKind::Min:
    return DimExpr::min(lhs, rhs);
  case AtomKind::Max:
    return DimExpr::max(lhs, rhs);
  default:
    break;
  }
  if (rhs.isConstant(0)) // left for evaluation to find
    return DimExpr::fromTerms({Term{1, {atom}}});
  return atom->kind == AtomKind::Mod ? DimExpr::mod(lhs, rhs)
                                     : DimExpr::floorDiv(lhs, rhs);
}

DimExpr DimExpr::replaceSymbols(
    llvm::function_ref<std::optional<DimExpr>(llvm::StringRef)> with) const {
  llvm::SmallVector<DimExpr, 4> values;
  for (const Term &term : terms()) {
    DimExpr &value = values.emplace_back(term.coefficient);
    for (const DimAtom *atom : term.atoms)
      value = value * replaceInAtom(atom, with);
  }
  return sum(values);
}

DimExpr product(llvm::ArrayRef<DimExpr> sizes) {
  DimExpr result = 1;
  for (DimExpr size : sizes)
    result = result * size;
  return result;
}

} // namespace shardc::dist
