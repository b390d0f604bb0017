//===- Workload.h - A model, and the requests that it is to serve ---------===//
//
//   batch 32, prompts of 1024 positions, steps behind 8192 of them:
//   prompt   batch = 32, sequence = 1024, past_sequence = 0
//   step     batch = 32, sequence = 1,    past_sequence = 8192
//
// Or, of a model that is served, steps of rows that do what these would:
//
//   prompt   rows = 32, tokens = 32 * 1024, pages = 32 * 16     pages of 64 positions
//   step     rows = 32, tokens = 32,        pages = 32 * 129
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_WORKLOAD_H
#define SHARDC_PASSES_PLAN_DEGREES_WORKLOAD_H

#include "passes/plan/CutSearch.h"
#include "passes/plan/PlanFile.h"
#include "passes/plan/cost/RunMemory.h"
#include "passes/plan/cost/TrainingCost.h"
#include "passes/plan/degrees/Degrees.h"

#include <functional>
#include <optional>

namespace shardc::plan {

/// An op of the model: equal layers share one of the graph.
struct PlacedOp {
  unsigned op = 0; ///< number in the graph
  /// Where a pipeline has it; none for what is cheap enough for each stage.
  llvm::SmallVector<unsigned, 1> pieces;
  /// Layers that have it, from 0 on: kBefore and kBehind are not in one. As
  /// pieces, of weights those of what uses them.
  llvm::SmallVector<int64_t, 1> layers = {};
};
inline constexpr int64_t kBefore = -1, kBehind = INT64_MAX;

/// What the model computes, for some of its requests.
struct Program {
  const Graph *graph = nullptr;
  std::optional<Kernels> kernels;
  OpNames names;
  std::vector<Piece> pieces;
  std::vector<PlacedOp> ops; ///< in the model's order
  int64_t numLayers = 0;     ///< that are alike
};

struct Request {
  const Program *program = nullptr;
  Sizes sizes;
  /// Of each row, in a step of rows; `encoder`: keys of cross-attention.
  int64_t length = 1, past = 0, encoder = 0;
};

/// Sizes of a step of rows with keys in pages, by the names of its symbols.
struct RowSizes {
  int64_t page = 1; ///< positions
  std::string tokens, wanted, rows, pagesOfRow, pages, copies;
  std::string encoderPages, encoderKeys; ///< of a row; that a step is given

  /// Of one that does `batch` requests for `length` positions behind `past`,
  /// with `encoder` keys of an encoder each, which are there already.
  llvm::StringMap<int64_t> of(int64_t batch, int64_t length, int64_t past,
                              int64_t encoder) const;
  /// Parts in which a server sends it through so many stages.
  static int64_t partsOf(int64_t batch, int64_t length, int64_t stages);
};

struct Workload {
  Request prompt;
  std::optional<Request> step; ///< of a model with caches
  bool hasSteps = false;       ///< behind some positions: what counts
  /// Of the batch, which replicas and micro-batches share; "" where its size is
  /// fixed.
  std::string batchSymbol;
  /// Positions of a prompt, and those that caches hold before a step; "" where
  /// they are fixed.
  std::string lengthSymbol, pastSymbol;
  int64_t batch = 1;
  int64_t promptLength = 1; ///< positions, or rows of the model's input
  double weight = 1;        ///< beside other kinds of requests
  bool hasExperts = false;
  bool hasMicroBatches = false; ///< the batch can be cut
  /// Of a model that is served: requests are steps of rows.
  std::optional<RowSizes> rows;
  /// The program that is compiled for these degrees, where not all have the same:
  /// ranks have as many parts of the keys as would else be copies.
  std::function<const Program &(const Degrees &)> programFor;
  /// Prompts are sequences to train on: a step is all of the batch.
  std::optional<TrainingOptions> training;

  /// What is asked for again and again.
  const Request &main() const { return hasSteps ? *step : prompt; }
};

/// Number of the kind of requests that there are most of: what sizes decide in a
/// compile is decided for those.
size_t typicalKind(llvm::ArrayRef<Workload> kinds);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_WORKLOAD_H
