//===- ModelWorkload.cpp - What planning must know of a model -------------===//

#include "compiler/plan/ModelWorkload.h"

#include "compiler/FitKeyParts.h"
#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"
#include "dialects/onnx/RequestSymbols.h"
#include "passes/shard/BatchFactor.h"
#include "passes/stage/StageGraph.h"

#include <set>

using namespace mlir;

namespace shardc {

namespace {

/// Of requests that say nothing.
constexpr int64_t kPositions = 1024;

int64_t nominal(StringRef) { return dist::kNominalSize; }

/// Pieces of a pipeline that need an op: its own, or those of what uses it.
/// None stands for each, where something does that is computed anywhere.
class PieceFinder {
public:
  PieceFinder(const shard::FunctionGraph &source,
              const shard::EqualLayers &layers, const stage::StageGraph &stages)
      : source(source), layers(layers), stages(stages) {
    for (auto [number, op] : llvm::enumerate(source.ops))
      numbers[op] = number;
  }

  std::vector<plan::PlacedOp> run(func::FuncOp function) {
    std::vector<plan::PlacedOp> placed;
    for (Operation &op : llvm::reverse(function.front().without_terminator())) {
      auto number = numbers.find(layers.representative(&op));
      if (number == numbers.end())
        continue;
      auto &pieces = piecesOf[&op];
      if (stages.isFixed(&op))
        pieces = {pieceOf(&op)};
      else if (plan::Kernels::isLoadTime(number->second, source.graph))
        for (Operation *user : op.getUsers())
          pieces.append(piecesOf[user]);
      llvm::sort(pieces);
      pieces.erase(llvm::unique(pieces), pieces.end());
      placed.push_back({number->second, pieces, findLayers(&op)});
    }
    std::reverse(placed.begin(), placed.end());
    numberLayers(placed);
    return placed;
  }

  int64_t numLayers = 0;

private:
  /// What begins like a layer, but has no product, is none: a last norm.
  void numberLayers(std::vector<plan::PlacedOp> &placed) {
    std::set<int64_t> real;
    for (const plan::PlacedOp &op : placed)
      if (source.graph.ops[op.op].multiplyAdds > 0)
        real.insert(op.layers.begin(), op.layers.end());
    real.erase(plan::kBefore);
    real.erase(plan::kBehind);
    numLayers = int64_t(real.size());
    for (plan::PlacedOp &op : placed)
      for (int64_t &layer : op.layers) {
        if (layer == plan::kBefore || layer == plan::kBehind)
          continue;
        const int64_t before =
            std::distance(real.begin(), real.lower_bound(layer));
        if (real.count(layer) > 0)
          layer = before;
        else
          layer = before == 0           ? plan::kBefore
                  : before == numLayers ? plan::kBehind
                                        : before - 1;
      }
  }

  /// From the last op to the first.
  llvm::SmallVector<int64_t, 1> findLayers(Operation *op) {
    llvm::SmallVector<int64_t, 1> found;
    if (std::optional<unsigned> layer = layers.layerOf(op)) {
      numLayers = std::max<int64_t>(numLayers, *layer + 1);
      found = {*layer};
    } else if (stages.isFixed(op)) {
      found = {numLayers > 0 ? plan::kBefore : plan::kBehind};
    } else {
      for (Operation *user : op->getUsers())
        found.append(layersOf.lookup(user));
      llvm::sort(found);
      found.erase(llvm::unique(found), found.end());
    }
    layersOf[op] = found;
    return found;
  }

  unsigned pieceOf(Operation *op) const {
    auto next = llvm::upper_bound(stages.firstOps, stages.numberOf(op));
    return std::min<size_t>(next - stages.firstOps.begin() - 1,
                            stages.pieces.size() - 1);
  }

  const shard::FunctionGraph &source;
  const shard::EqualLayers &layers;
  const stage::StageGraph &stages;
  llvm::DenseMap<Operation *, unsigned> numbers; ///< in the graph
  llvm::DenseMap<Operation *, llvm::SmallVector<unsigned, 1>> piecesOf;
  llvm::DenseMap<Operation *, llvm::SmallVector<int64_t, 1>> layersOf;
};

} // namespace

const plan::Program *ModelWorkload::add(func::FuncOp function,
                                        OwningOpRef<ModuleOp> module) {
  Owned &own = *owned.emplace_back(std::make_unique<Owned>());
  own.module = std::move(module);
  const shard::EqualLayers layers(function);
  own.source =
      std::make_unique<shard::FunctionGraph>(function, nominal, &layers);
  own.program.graph = &own.source->graph;
  own.program.kernels.emplace(own.source->graph);
  own.program.names = own.source->names();
  const stage::StageGraph stages(function);
  own.program.pieces = stages.pieces;
  PieceFinder finder(*own.source, layers, stages);
  own.program.ops = finder.run(function);
  own.program.numLayers = finder.numLayers;
  return &own.program;
}

const plan::Program &ModelWorkload::programFor(ModuleOp imported,
                                               const plan::Degrees &degrees) {
  const import::SplitKeysOptions ranks =
      keyRanks(degrees.mesh(), plan::stringify(degrees.expertMode));
  const plan::Program *&ofRanks = byRanks[{ranks.headWays, ranks.contextWays}];
  if (ofRanks)
    return *ofRanks;
  const auto attentions = import::pagedAttentions(imported);
  std::vector<int64_t> parts;
  for (auto [op, copies] :
       llvm::zip(attentions, import::copiesOfKeys(attentions, ranks.headWays,
                                                  ranks.contextWays)))
    parts.push_back(import::mostKeyParts(op, copies));
  const plan::Program *&known = byParts[parts];
  if (!known) {
    OwningOpRef<ModuleOp> module(imported.clone());
    import::splitKeys(import::pagedAttentions(*module), parts);
    func::FuncOp function = onnx::requestFunctions(*module).prompt;
    // What there is to say of its ops was said of the whole.
    ScopedDiagnosticHandler silent(imported.getContext(),
                                   [](Diagnostic &) { return success(); });
    known = add(function, std::move(module));
  }
  ofRanks = known;
  return *known;
}

ModelWorkload::ModelWorkload(ModuleOp imported,
                             llvm::ArrayRef<RequestKind> kinds) {
  const onnx::RequestFunctions functions = onnx::requestFunctions(imported);
  func::FuncOp prompt = functions.prompt, step = functions.step;
  bool hasCaches = false;
  for (auto function : imported.getOps<func::FuncOp>())
    hasCaches |= !onnx::FunctionInfo(function).caches().empty();
  plan::Workload model;
  model.prompt.program = add(prompt);
  model.hasExperts = llvm::any_of(
      model.prompt.program->graph->ops, [](const plan::GraphOp &op) {
        return llvm::any_of(
            op.leaves, [](const plan::OpLeaf &leaf) { return leaf.isExperts; });
      });
  model.hasMicroBatches =
      shard::findBatch(prompt, shard::FunctionGraph(prompt, nominal))
          .why.empty();
  if (hasCaches)
    model.step.emplace().program = step ? add(step) : model.prompt.program;
  if (const int64_t page = onnx::FunctionInfo(prompt).page(); page > 0) {
    model.rows = rowSizes(page);
    model.programFor = [this, imported](const plan::Degrees &degrees)
        -> const plan::Program & { return programFor(imported, degrees); };
    byParts[std::vector<int64_t>(import::pagedAttentions(imported).size(), 1)] =
        model.prompt.program;
  }
  for (const RequestKind &kind : kinds) {
    made.push_back(model);
    made.back().weight = kind.weight;
    if (model.rows)
      chooseRows(kind.sizes, made.back());
    else
      chooseSizes(imported, kind.sizes, made.back());
  }
}

void ModelWorkload::chooseRows(const llvm::StringMap<int64_t> &given,
                               plan::Workload &kind) {
  auto sizeOf = [&](StringRef name, int64_t otherwise) {
    const auto known = given.find(name);
    return dims.back()[name.str()] =
               known == given.end() ? otherwise : known->second;
  };
  dims.emplace_back();
  kind.batchSymbol = kind.rows->rows;
  kind.batch = sizeOf("batch", 1);
  kind.promptLength = kind.prompt.length = sizeOf("seq", kPositions);
  const int64_t past = sizeOf("past", kind.promptLength);
  // Models without cross-attention refuse the name.
  kind.prompt.encoder = given.count("encoder") ? sizeOf("encoder", 0) : 0;
  kind.prompt.sizes = plan::Sizes(given);
  if (!kind.step)
    return;
  kind.hasSteps = past > 0;
  kind.step->past = past;
  kind.step->encoder = kind.prompt.encoder;
  kind.step->sizes = plan::Sizes(given);
}

void ModelWorkload::chooseSizes(ModuleOp imported,
                                const llvm::StringMap<int64_t> &given,
                                plan::Workload &kind) {
  const onnx::RequestSymbols symbols = onnx::requestSymbols(imported);
  llvm::StringMap<int64_t> typical = given;
  auto sizeOf = [&](const std::string &symbol, int64_t otherwise) {
    return symbol.empty()
               ? otherwise
               : typical.try_emplace(symbol, otherwise).first->second;
  };
  kind.batchSymbol = symbols.batch;
  kind.lengthSymbol = symbols.sequence;
  kind.pastSymbol = symbols.past;
  kind.batch = sizeOf(symbols.batch, 1);
  kind.promptLength = sizeOf(symbols.sequence, kPositions);
  sizeOf(symbols.past, kind.promptLength);
  auto &own = dims.emplace_back();
  for (const auto &entry : typical)
    own[entry.getKey().str()] = entry.getValue();
  for (const auto &[name, symbol] : {std::pair("batch", symbols.batch),
                                     {"seq", symbols.sequence},
                                     {"past", symbols.past}})
    if (auto known = own.find(symbol); known != own.end()) {
      const int64_t size = known->second;
      own.erase(known);
      own[name] = size;
    }
  onnx::RequestSizes sizes = onnx::requestSizes(symbols, typical);
  kind.hasSteps = kind.step && sizes.hasSteps;
  kind.prompt.sizes = plan::Sizes(std::move(sizes.prompt));
  if (kind.step)
    kind.step->sizes = plan::Sizes(std::move(sizes.step));
}

} // namespace shardc
