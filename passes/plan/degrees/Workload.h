//===- Workload.h - A model, and the requests that it is to serve ---------===//
//
//   batch 32, prompts of 1024 positions, steps behind 8192 of them:
//   prompt   batch = 32, sequence = 1024, past_sequence = 0
//   step     batch = 32, sequence = 1,    past_sequence = 8192
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_WORKLOAD_H
#define SHARDC_PASSES_PLAN_DEGREES_WORKLOAD_H

#include "passes/plan/CutSearch.h"
#include "passes/plan/cost/RunMemory.h"

#include <optional>

namespace shardc::plan {

/// An op of the model: equal layers share one of the graph.
struct PlacedOp {
  unsigned op = 0; ///< number in the graph
  /// Where a pipeline has it; none for what is cheap enough for each stage.
  llvm::SmallVector<unsigned, 1> pieces;
};

/// What the model computes, for some of its requests.
struct Program {
  const Graph *graph = nullptr;
  std::optional<Kernels> kernels;
  std::vector<Piece> pieces;
  std::vector<PlacedOp> ops; ///< in the model's order
};

struct Request {
  const Program *program = nullptr;
  Sizes sizes;
};

struct Workload {
  Request prompt;
  std::optional<Request> step; ///< of a model with caches
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
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_WORKLOAD_H
