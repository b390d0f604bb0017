//===- ModelSizes.cpp - Sizes that a model's guards allow -----------------===//

#include "compiler/probe/ModelInputs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <set>

namespace shardc::probe {

using dist::DimExpr;

std::optional<int64_t> evaluate(DimExpr size, const Sizes &sizes) {
  return size.evaluate(
      [&](llvm::StringRef name, bool) -> std::optional<int64_t> {
        auto it = sizes.find(name.str());
        return it == sizes.end() ? std::nullopt : std::optional(it->second);
      });
}

namespace {

/// No multiples of 2, 3 or 4 ways, of even ways, and a single row, in turn. In
/// the second round the second symbol has size 1: one step of a decoder; in the
/// third the first one: a batch of one.
constexpr int64_t kSizes[] = {3, 5, 2, 7, 4, 1, 6, 8, 9, 11, 12, 16, 32, 64};
constexpr unsigned kMaxSteps = 200000;

/// Tries sizes symbol by symbol; a rule is checked once it can be.
class SizeSearch {
public:
  SizeSearch(const ModelInputs &model, const Sizes &given, unsigned round)
      : model(model), sizes(given), shift(round == 0 ? 0 : round + 3) {
    auto add = [&](llvm::StringRef name, bool) {
      if (!given.count(name.str()))
        symbols.insert(name.str());
    };
    for (const ModelInput &input : model.inputs)
      for (DimExpr size : input.dims)
        size.forEachSymbol(add);
    candidates.assign(std::begin(kSizes), std::end(kSizes));
    // What the model was traced with: a guard names it.
    for (const SizeRule &rule : model.rules)
      for (DimExpr side : {rule.lhs, rule.rhs})
        for (const DimExpr::Term &term : side.terms())
          if (term.coefficient > 0 &&
              !llvm::is_contained(candidates, term.coefficient))
            candidates.push_back(term.coefficient);
  }

  std::optional<Sizes> run() {
    return keepsRules() && choose(0) ? std::optional(sizes) : std::nullopt;
  }

private:
  bool choose(size_t symbol) {
    if (symbol == symbols.size())
      return true;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (++steps > kMaxSteps)
        return false;
      // Symbols start at sizes of their own, and at others in another round.
      sizes[symbols[symbol]] =
          candidates[(i + symbol + shift) % candidates.size()];
      if (keepsRules() && choose(symbol + 1))
        return true;
    }
    sizes.erase(symbols[symbol]);
    return false;
  }

  /// None is broken; one that needs other symbols is not yet.
  bool keepsRules() const {
    for (const SizeRule &rule : model.rules) {
      std::optional<int64_t> lhs = evaluate(rule.lhs, sizes);
      std::optional<int64_t> rhs = evaluate(rule.rhs, sizes);
      if (lhs && rhs &&
          !(rule.kind == "equal"      ? *lhs == *rhs
            : rule.kind == "at_least" ? *lhs >= *rhs
                                      : *lhs <= *rhs))
        return false;
    }
    return true;
  }

  const ModelInputs &model;
  Sizes sizes;
  const unsigned shift;
  unsigned steps = 0;
  llvm::SetVector<std::string, std::vector<std::string>, std::set<std::string>>
      symbols;
  std::vector<int64_t> candidates;
};

} // namespace

std::optional<Sizes> chooseSizes(const ModelInputs &model, const Sizes &given,
                                 unsigned round) {
  return SizeSearch(model, given, round).run();
}

} // namespace shardc::probe
