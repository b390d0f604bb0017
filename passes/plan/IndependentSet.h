//===- IndependentSet.h - The heaviest choices that exclude no other ------===//
//
// Choices have weights, and pairs of them exclude each other. Of all sets without
// such a pair the heaviest one is found:
//
//   weights 2 (a), 1.9 (b), 1.5 (c), a excludes b and c:   {b, c}, 3.4
//
// Choices are eliminated, those with the fewest rivals first: what each is worth
// becomes a table over which of its rivals are chosen (bucket elimination,
// Dechter 1999). Layers that follow each other, and rivals of all of them, take
// small tables. Where one would be too large it is made of several smaller ones,
// each of which decides for itself (mini-buckets, Dechter and Rish 2003): what is
// found may then be lighter than the heaviest set, and `bound` says by how much
// at most.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_INDEPENDENTSET_H
#define SHARDC_PASSES_PLAN_INDEPENDENTSET_H

#include <vector>

namespace shardc::plan {

struct Rivals {
  std::vector<double> weights;               ///< positive
  std::vector<std::vector<unsigned>> rivals; ///< by choice, both ways
};

struct IndependentSet {
  std::vector<bool> isChosen;   ///< by choice
  double weight = 0, bound = 0; ///< no set is heavier than the bound
};

/// Tables are over so many rivals at most. Deterministic. What is chosen by weight
/// alone, the heaviest first, stays where nothing found is heavier.
IndependentSet heaviestSet(const Rivals &rivals, unsigned maxWidth = 10);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_INDEPENDENTSET_H
