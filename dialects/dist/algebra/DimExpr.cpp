//===- DimExpr.cpp - Symbolic sizes ---------------------------------------===//

#include "dialects/dist/algebra/DimExpr.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>

namespace shardc::dist {
using namespace detail;

namespace {

using Term = DimExpr::Term;
using Terms = llvm::SmallVector<Term, 2>;

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

/// Owns every node and atom of the process.
class Interner {
public:
  static Interner &get() {
    static Interner *interner = new Interner; // never destroyed: nodes are
    return *interner;                         // reachable from statics
  }

  const DimNode *node(Terms terms) {
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
    storage.push_back(DimNode{std::move(terms)});
    nodes.emplace(hash, &storage.back());
    return &storage.back();
  }

  const DimAtom *atom(AtomKind kind, llvm::StringRef name, DimExpr lhs,
                      DimExpr rhs) {
    std::lock_guard<std::mutex> lock(mutex);
    auto &slot = atoms[{kind, name.str(), lhs.opaque(), rhs.opaque()}];
    if (!slot) {
      atomStorage.push_back(DimAtom{kind, name.str(), lhs, rhs,
                                    static_cast<unsigned>(atomStorage.size())});
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
  std::deque<DimNode> storage;
  std::deque<DimAtom> atomStorage;
  std::unordered_multimap<size_t, const DimNode *> nodes;
  std::map<std::tuple<AtomKind, std::string, const void *, const void *>,
           const DimAtom *>
      atoms;
};

DimExpr makeAtom(AtomKind kind, llvm::StringRef name, DimExpr lhs = {},
                 DimExpr rhs = {}) {
  const DimAtom *atom = Interner::get().atom(kind, name, lhs, rhs);
  return DimExpr::fromTerms({Term{1, {atom}}});
}

int64_t floorDivide(int64_t lhs, int64_t rhs) {
  return llvm::divideFloorSigned(lhs, rhs);
}

/// Quotient of two terms, if it is one.
std::optional<Term> divide(const Term &lhs, const Term &rhs) {
  if (lhs.coefficient % rhs.coefficient != 0)
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

DimExpr::DimExpr() : DimExpr(int64_t(0)) {}

DimExpr::DimExpr(int64_t constant) {
  Terms terms;
  if (constant != 0)
    terms.push_back(Term{constant, {}});
  node = Interner::get().node(std::move(terms));
}

DimExpr DimExpr::symbol(llvm::StringRef name) {
  return makeAtom(AtomKind::Symbol, name);
}

DimExpr DimExpr::coordinate(llvm::StringRef axis) {
  return makeAtom(AtomKind::Coordinate, axis);
}

llvm::ArrayRef<Term> DimExpr::terms() const { return node->terms; }

DimExpr DimExpr::fromTerms(Terms terms) {
  for (Term &term : terms)
    llvm::sort(term.atoms, atomLess);
  llvm::sort(terms, monomialLess);
  Terms merged;
  for (Term &term : terms) {
    if (!merged.empty() && merged.back().atoms == term.atoms)
      merged.back().coefficient += term.coefficient;
    else
      merged.push_back(std::move(term));
  }
  llvm::erase_if(merged, [](const Term &t) { return t.coefficient == 0; });
  return DimExpr(Interner::get().node(std::move(merged)));
}

DimExpr operator+(DimExpr lhs, DimExpr rhs) {
  Terms terms(lhs.terms());
  terms.append(rhs.terms().begin(), rhs.terms().end());
  return DimExpr::fromTerms(std::move(terms));
}

DimExpr operator*(DimExpr lhs, DimExpr rhs) {
  if (lhs.isConstant(1))
    return rhs;
  if (rhs.isConstant(1))
    return lhs;
  Terms terms;
  for (const Term &a : lhs.terms())
    for (const Term &b : rhs.terms()) {
      Term term{a.coefficient * b.coefficient, a.atoms};
      term.atoms.append(b.atoms.begin(), b.atoms.end());
      terms.push_back(std::move(term));
    }
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

/// Polynomial long division; the leading monomial order is `monomialLess`.
std::optional<DimExpr> DimExpr::exactDiv(DimExpr rhs) const {
  if (rhs.terms().empty())
    return std::nullopt;
  DimExpr rest = *this, quotient;
  while (!rest.terms().empty()) {
    std::optional<Term> term =
        divide(rest.terms().front(), rhs.terms().front());
    if (!term)
      return std::nullopt;
    DimExpr step = fromTerms({*term});
    quotient = quotient + step;
    rest = rest - step * rhs;
  }
  return quotient;
}

DimExpr DimExpr::floorDiv(DimExpr lhs, DimExpr rhs) {
  assert(!rhs.isConstant(0) && "division by zero");
  auto a = lhs.asConstant(), b = rhs.asConstant();
  if (a && b)
    return floorDivide(*a, *b);
  if (std::optional<DimExpr> exact = lhs.exactDiv(rhs))
    return *exact;
  // (4 n + 3) / 4 = n, as Range and Conv write it.
  int64_t rest = 0;
  for (const Term &term : lhs.terms())
    if (term.atoms.empty())
      rest = term.coefficient;
  if (b && rest != 0)
    if (std::optional<DimExpr> exact = (lhs - rest).exactDiv(rhs))
      return *exact + floorDivide(rest, *b);
  return makeAtom(AtomKind::FloorDiv, "", lhs, rhs);
}

DimExpr DimExpr::mod(DimExpr lhs, DimExpr rhs) {
  auto a = lhs.asConstant(), b = rhs.asConstant();
  if (a && b)
    return *a - *b * floorDivide(*a, *b);
  if (lhs.exactDiv(rhs))
    return 0;
  return makeAtom(AtomKind::Mod, "", lhs, rhs);
}

DimExpr DimExpr::min(DimExpr lhs, DimExpr rhs) {
  if ((rhs - lhs).isKnownNonNegative())
    return lhs;
  if ((lhs - rhs).isKnownNonNegative())
    return rhs;
  return makeAtom(AtomKind::Min, "", lhs, rhs);
}

DimExpr DimExpr::max(DimExpr lhs, DimExpr rhs) {
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
                     : std::optional<int64_t>(floorDivide(*lhs, *rhs));
  default:
    return *rhs <= 0
               ? std::nullopt
               : std::optional<int64_t>(*lhs - *rhs * floorDivide(*lhs, *rhs));
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
  DimExpr sum;
  for (const Term &term : terms()) {
    DimExpr value = term.coefficient;
    for (const DimAtom *atom : term.atoms)
      value = value * replaceInAtom(atom, with);
    sum = sum + value;
  }
  return sum;
}

DimExpr product(llvm::ArrayRef<DimExpr> sizes) {
  DimExpr result = 1;
  for (DimExpr size : sizes)
    result = result * size;
  return result;
}

} // namespace shardc::dist
