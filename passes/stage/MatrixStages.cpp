//===- MatrixStages.cpp - Every profile is cut at the same matrices -------===//

#include "passes/stage/MatrixStages.h"

namespace shardc::stage {

void MatrixStages::record(const StageGraph &graph,
                          const std::vector<size_t> &cuts) {
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece) {
    const unsigned stage = llvm::upper_bound(cuts, piece) - cuts.begin() - 1;
    for (mlir::Attribute matrix : graph.matrices(piece))
      stages[matrix].push_back(stage);
  }
}

std::optional<std::vector<size_t>> MatrixStages::cuts(const StageGraph &graph,
                                                      size_t numStages) const {
  std::vector<llvm::SmallVector<mlir::Attribute, 2>> ofPiece;
  llvm::DenseMap<mlir::Attribute, size_t> numUses, numSeen;
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece)
    for (mlir::Attribute matrix : ofPiece.emplace_back(graph.matrices(piece)))
      ++numUses[matrix];
  std::vector<size_t> cuts{0};
  for (size_t piece = 0; piece < ofPiece.size(); ++piece)
    for (mlir::Attribute matrix : ofPiece[piece]) {
      auto known = stages.find(matrix);
      const size_t number = numSeen[matrix]++;
      if (known == stages.end() || known->second.size() != numUses[matrix])
        continue; // says nothing: the piece goes with the one before
      const unsigned stage = known->second[number];
      const bool isNext = stage == cuts.size() && cuts.back() < piece;
      if (!isNext && stage + 1 != cuts.size())
        return std::nullopt;
      if (isNext)
        cuts.push_back(piece);
    }
  return cuts.size() == numStages ? std::optional(cuts) : std::nullopt;
}

} // namespace shardc::stage
