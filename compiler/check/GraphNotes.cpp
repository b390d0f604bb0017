//===- GraphNotes.cpp - Notes on inputs, caches, structures ---------------===//

#include "compiler/check/Findings.h"
#include "dialects/dist/NodeName.h"
#include "dialects/onnx/FunctionInfo.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::check {

using dist::DimExpr;

static std::string inputName(func::FuncOp function, unsigned index) {
  StringAttr name = onnx::FunctionInfo(function).inputName(index);
  return name ? name.str() : std::to_string(index);
}

//===----------------------------------------------------------------------===//
// Batch
//===----------------------------------------------------------------------===//

static std::string shapeText(ArrayRef<DimExpr> dims) {
  std::string text;
  for (DimExpr size : dims)
    text += (text.empty() ? "" : ", ") + size.str();
  return "[" + text + "]";
}

/// A batch that stands in an input's type as a number.
static void noteFixedInputs(func::FuncOp function, Findings &findings) {
  bool isStatic = true, hasFreeBatch = false;
  std::vector<std::string> all, fixed;
  std::string shapes;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Type type = function.getArgumentTypes()[i];
    SmallVector<DimExpr, 4> dims;
    if (isa<RankedTensorType>(type))
      dims = dist::getDims(type);
    if (dims.empty())
      continue;
    auto isSymbolic = [](DimExpr size) { return size.isSymbolic(); };
    isStatic &= llvm::none_of(dims, isSymbolic);
    hasFreeBatch |= dims.front().isSymbolic();
    all.push_back(inputName(function, i));
    shapes += (shapes.empty() ? "" : ", ") + all.back() + " " + shapeText(dims);
    if (!dims.front().isSymbolic() && llvm::any_of(dims, isSymbolic))
      fixed.push_back(all.back());
  }
  const char *remedy = "export with dynamic_shapes (dynamo=True) or "
                       "dynamic_axes (TorchScript), to serve any batch";
  if (!all.empty() && isStatic)
    findings.notes.push_back(
        {"baked_sizes", "every size is fixed: " + shapes, remedy, all});
  // Positions [1, seq] beside tokens [batch, seq] are broadcast.
  else if (!fixed.empty() && !hasFreeBatch)
    findings.notes.push_back(
        {"baked_batch", "the batch is fixed: " + shapes, remedy, fixed});
}

/// Whether new keys or values [batch, heads, positions, size] are put behind it: its
/// last dim is a head's, which is the model's own size, by whatever name an exporter
/// has it.
static bool isPast(Value input) {
  constexpr size_t kRank = 4, kPositions = 2;
  if (dist::getDims(input.getType()).size() != kRank)
    return false;
  return llvm::any_of(input.getUsers(), [&](Operation *user) {
    if (user->getOperand(0) != input)
      return false;
    auto concat = dyn_cast<onnx::ConcatOp>(user);
    return concat ? size_t(concat.getAxis()) == kPositions
                  : isa<onnx::CacheAppendOp>(user);
  });
}

/// A size that inputs leave open and the graph does not.
static void noteFixedSymbols(func::FuncOp raw, func::FuncOp imported,
                             Findings &findings) {
  llvm::SetVector<StringRef> seen;
  for (unsigned i = 0; i < raw.getNumArguments(); ++i) {
    const auto before = dist::getDims(raw.getArgumentTypes()[i]),
               after = dist::getDims(imported.getArgumentTypes()[i]);
    const size_t count =
        after.size() - (isPast(imported.getArgument(i)) ? 1 : 0);
    for (auto [was, is] :
         llvm::zip(before, llvm::ArrayRef(after).take_front(count))) {
      std::optional<StringRef> symbol = was.asSymbol();
      if (!symbol || is.isSymbolic() || !seen.insert(*symbol))
        continue;
      findings.notes.push_back(
          {"baked_size",
           "size '" + symbol->str() + "' must be " + is.str() +
               ": a node's constants were traced with it",
           "export with that size dynamic and with inputs of which no two "
           "sizes are the same",
           {inputName(raw, i)}});
    }
  }
}

void noteBatch(ModuleOp raw, ModuleOp imported, Findings &findings) {
  for (auto function : raw.getOps<func::FuncOp>()) {
    noteFixedInputs(function, findings);
    auto after = imported
                     ? imported.lookupSymbol<func::FuncOp>(function.getName())
                     : func::FuncOp();
    if (after && after.getNumArguments() == function.getNumArguments())
      noteFixedSymbols(function, after, findings);
  }
}

//===----------------------------------------------------------------------===//
// Structures
//===----------------------------------------------------------------------===//

/// Through ops that only arrange, widen or scale.
static Value sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<onnx::ReshapeOp, onnx::TransposeOp, onnx::ExpandOp, onnx::CastOp,
             onnx::SliceOp, onnx::SplitOp, onnx::MulOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static bool isInput(Value value) { return isa<BlockArgument>(sourceOf(value)); }

/// Whether the keys continue ones that are an input.
static bool hasCache(onnx::AttentionOp attention) {
  Operation *keys = sourceOf(attention.getKey()).getDefiningOp();
  return !keys ? isInput(attention.getKey())
               : isa<onnx::CacheAppendOp>(keys) ||
                     (isa<onnx::ConcatOp>(keys) &&
                      llvm::any_of(keys->getOperands(), isInput));
}

/// Positions compared with positions, or a triangle.
static bool isCausalMask(Operation *op) {
  if (isa<onnx::TriluOp>(op))
    return true;
  return isa<onnx::LessOp, onnx::LessOrEqualOp, onnx::GreaterOp,
             onnx::GreaterOrEqualOp>(op) &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           Operation *from = sourceOf(operand).getDefiningOp();
           return from &&
                  isa<onnx::RangeOp, onnx::ConstantOp, onnx::SymbolsOp>(from);
         });
}

static bool looksUpTokens(func::FuncOp function) {
  bool found = false;
  function.walk([&](onnx::GatherOp gather) {
    Value rows = sourceOf(gather.getIndices());
    auto type = cast<RankedTensorType>(rows.getType());
    found |= isa<BlockArgument>(rows) && type.getRank() == 2 &&
             type.getElementType().isSignlessInteger();
  });
  return found;
}

static void noteCaches(func::FuncOp function, Findings &findings) {
  unsigned total = 0, cached = 0;
  bool isCausal = false;
  std::vector<std::string> without;
  function.walk([&](Operation *op) {
    isCausal |= isCausalMask(op);
    auto attention = dyn_cast<onnx::AttentionOp>(op);
    if (!attention)
      return;
    ++total;
    isCausal |= attention.getIsCausal() != 0;
    if (hasCache(attention))
      ++cached;
    else if (StringRef name = nodeName(op); !name.empty())
      without.push_back(name.str());
  });
  const char *remedy = "export with past key values as inputs and outputs "
                       "(use_cache, text-generation-with-past), or each new "
                       "token computes all earlier ones again";
  if (total > 0 && cached == 0 && isCausal && looksUpTokens(function))
    findings.notes.push_back({"no_cache",
                              "a decoder without a KV cache: no attention "
                              "reads keys of earlier runs",
                              remedy, without});
  else if (cached > 0 && cached < total && isCausal)
    findings.notes.push_back(
        {"partial_cache",
         "only " + std::to_string(cached) + " of " + std::to_string(total) +
             " attentions read keys that are an input: right for "
             "cross-attention alone",
         remedy, without});
}

void noteStructures(ModuleOp imported, Findings &findings) {
  imported.walk([&](Operation *op) {
    auto node = dyn_cast<onnx::OnnxOp>(op);
    if (auto structure = node ? node.structure() : std::nullopt)
      ++findings.recognised[structure->name.str()];
  });
  // Profiles of one model have the same caches.
  auto functions = imported.getOps<func::FuncOp>();
  func::FuncOp first = *functions.begin();
  const size_t numCaches = onnx::FunctionInfo(first).caches().size();
  if (numCaches > 0)
    findings.recognised["KV cache"] = numCaches;
  // A merged decoder has a branch for the prompt, which has no cache yet.
  if (numCaches == 0 || llvm::hasSingleElement(functions))
    for (auto function : functions)
      noteCaches(function, findings);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void noteControlFlow(ModuleOp imported, Findings &findings) {
  std::vector<std::string> nodes;
  unsigned profiles = 0;
  for (auto function : imported.getOps<func::FuncOp>())
    profiles += onnx::FunctionInfo(function).when() != nullptr;
  imported.walk([&](Operation *op) {
    if (isa<onnx::IfOp, onnx::LoopOp>(op))
      nodes.push_back(nodeName(op).str());
  });
  if (profiles > 0)
    findings.recognised["profile"] = profiles;
  if (!nodes.empty())
    findings.notes.push_back(
        {"control_flow",
         std::to_string(nodes.size()) +
             " branches and loops that the data decide: they run as such, "
             "whole on every rank",
         "export the branch that is needed, or the loop's body alone, to have "
         "it split",
         nodes});
}

} // namespace shardc::check
