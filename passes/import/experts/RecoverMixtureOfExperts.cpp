//===- RecoverMixtureOfExperts.cpp - Experts from gathers or masks --------===//
//
// Where a sum ends a mixture of experts, its pieces are read backwards. Four
// forms are known: each choice of a token with its own gathered matrices, all
// tokens through all experts with weights that are 0 for most, choices that are
// sorted by expert (ExpertGroups), and experts one by one (ExpertTerms).
//
//===----------------------------------------------------------------------===//

#include "passes/import/Matching.h"
#include "passes/import/Passes.h"
#include "passes/import/experts/ExpertGroups.h"
#include "passes/import/experts/ExpertTerms.h"
#include "passes/import/validate/Validator.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_RECOVERMIXTUREOFEXPERTS
#include "passes/import/Passes.h.inc"

using dist::DimExpr;
using namespace onnx;

namespace {

struct RecoverMixtureOfExperts
    : impl::RecoverMixtureOfExpertsBase<RecoverMixtureOfExperts> {
  void runOnOperation() override;

private:
  unsigned recover(Block &block, Validator &validator);
};

} // namespace

/// Each choice of a token with its own matrices: sum over k of [n, k, o].
static std::optional<Mixture> readGathered(ReduceSumOp sum) {
  Dims dims = dimsOf(sum.getData());
  if (dims.size() != 3 || !sumsAxis(sum, 1))
    return std::nullopt;
  DimExpr n = dims[0], k = dims[1], m = n * k, o = dims[2];
  Value flat = shapedAs(sum.getData(), {m, o});
  auto weighted = readWeighted(flat ? flat : sum.getData());
  if (!weighted)
    return std::nullopt;
  Mixture mixture;
  Value results = shapedAs(weighted->first, {m, o});
  mixture.weights = shapedAs(weighted->second, {n, k});
  auto down = results ? readChosenProduct(results) : std::nullopt;
  auto activation =
      down && mixture.weights ? readExpertActivation(down->rows) : std::nullopt;
  auto up = activation ? readChosenProduct(activation->input) : std::nullopt;
  auto repeated = up ? up->rows.getDefiningOp<ExpandOp>() : ExpandOp();
  if (!repeated || !isSame(up->chosen, down->chosen) ||
      dimsOf(down->rows).size() != 2)
    return std::nullopt;
  Dims from = dimsOf(repeated.getData()), to = dimsOf(repeated);
  if (to.size() != 3 || to[0] != n || to[1] != k || from != Dims{n, 1, to[2]})
    return std::nullopt;
  mixture.tokens = repeated.getData();
  mixture.indices = shapedAs(up->chosen, {n, k});
  mixture.up = up->experts;
  mixture.down = down->experts;
  mixture.isUpTransposed = up->isTransposed;
  mixture.isDownTransposed = down->isTransposed;
  mixture.upBias = up->bias;
  mixture.downBias = down->bias;
  mixture.activation = *activation;
  return mixture.indices ? std::optional<Mixture>(mixture) : std::nullopt;
}

/// [e, n, d] x [e, d, h] with a bias [e, 1, h], which may be absent.
static Value readBatched(Value value, Value &experts, Value &bias) {
  auto add = value.getDefiningOp<AddOp>();
  for (unsigned i : {0u, 1u}) {
    Value product = add ? add->getOperand(i) : value;
    auto matMul = product.getDefiningOp<MatMulOp>();
    if (!matMul || dimsOf(matMul.getLhs()).size() != 3 ||
        dimsOf(matMul.getRhs()).size() != 3 ||
        dimsOf(matMul.getLhs())[0] != dimsOf(matMul.getRhs())[0])
      continue;
    Dims dims = dimsOf(product);
    if (add && dimsOf(add->getOperand(1 - i)) != Dims{dims[0], 1, dims[2]})
      continue;
    experts = matMul.getRhs();
    bias = add ? add->getOperand(1 - i) : Value();
    return matMul.getLhs();
  }
  return {};
}

/// [n, d] that is repeated e times to [e, n, d].
static Value readRepeated(Value value) {
  Dims dims = dimsOf(value);
  if (auto expand = value.getDefiningOp<ExpandOp>())
    return dimsOf(expand.getData()) == Dims{1, dims[1], dims[2]} ||
                   dimsOf(expand.getData()) == Dims{dims[1], dims[2]}
               ? expand.getData()
               : Value();
  auto reshape = value.getDefiningOp<ReshapeOp>();
  auto tile = reshape ? reshape.getData().getDefiningOp<TileOp>() : TileOp();
  return tile && dimsOf(tile) == Dims{dims[0] * dims[1], dims[2]} &&
                 dimsOf(tile.getData()) == Dims{dims[1], dims[2]}
             ? tile.getData()
             : Value();
}

/// All tokens through all experts: sum over e of [e, ..., o].
static std::optional<Mixture> readDense(ReduceSumOp sum) {
  auto weighted = sumsAxis(sum, 0) ? readWeighted(sum.getData()) : std::nullopt;
  if (!weighted)
    return std::nullopt;
  Dims dims = dimsOf(sum.getData());
  if (dims.size() < 2)
    return std::nullopt;
  DimExpr e = dims[0], o = dims.back();
  DimExpr n = dist::product(ArrayRef<DimExpr>(dims).drop_front().drop_back());
  Mixture mixture;
  Value results = shapedAs(weighted->first, {e, n, o});
  Value routing = shapedAs(weighted->second, {e, n});
  auto moved = routing ? routing.getDefiningOp<TransposeOp>() : TransposeOp();
  if (!results || !moved || dimsOf(moved.getData()) != Dims{n, e} ||
      *moved.getPerm() != ArrayRef<int64_t>{1, 0} ||
      !readScattered(moved.getData(), mixture))
    return std::nullopt;
  Value activated = readBatched(results, mixture.down, mixture.downBias);
  auto activation = activated ? readExpertActivation(activated) : std::nullopt;
  Value rows = activation
                   ? readBatched(activation->input, mixture.up, mixture.upBias)
                   : Value();
  mixture.tokens = rows ? readRepeated(rows) : Value();
  if (!mixture.tokens)
    return std::nullopt;
  mixture.activation = *activation;
  return mixture;
}

/// sum over k of weights[n, k] * bias[indices[n, k]]
static Value biasOf(OpBuilder &builder, Location loc, const Mixture &mixture,
                    DimExpr o) {
  Type element = elementOf(mixture.tokens);
  Dims chosen = dimsOf(mixture.indices);
  Value bias =
      reshaped(builder, loc, mixture.downBias, {dimsOf(mixture.down)[0], o});
  auto type = dist::makeType(element, Dims{chosen[0], chosen[1], o});
  Value rows =
      GatherOp::create(builder, loc, type, bias, mixture.indices, uint64_t(0));
  Value weights =
      reshaped(builder, loc, mixture.weights, {chosen[0], chosen[1], 1});
  Value weighted = MulOp::create(builder, loc, type, rows, weights);
  return ReduceSumOp::create(
      builder, loc, dist::makeType(element, Dims{chosen[0], o}), weighted,
      ValueRange{}, builder.getDenseI64ArrayAttr({1}), uint64_t(0),
      uint64_t(0));
}

static SmallVector<NamedAttribute>
attributesOf(OpBuilder &builder, const ExpertActivation &activation) {
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr("activation",
                           builder.getStringAttr(activation.activation)),
      builder.getNamedAttr("gate", builder.getStringAttr(activation.gate)),
      builder.getNamedAttr("alpha",
                           builder.getF32FloatAttr(float(activation.alpha))),
      builder.getNamedAttr("shift",
                           builder.getF32FloatAttr(float(activation.shift)))};
  if (activation.limit)
    attributes.push_back(builder.getNamedAttr(
        "limit", builder.getF32FloatAttr(float(*activation.limit))));
  return attributes;
}

/// The op, if all sizes fit; null if not.
static Value makeMixture(OpBuilder &builder, Location loc,
                         const Mixture &mixture, ArrayRef<DimExpr> dims) {
  auto inOrder = [&](Value experts, bool isTransposed) {
    return isTransposed ? transposed(builder, loc, experts, {0, 2, 1})
                        : experts;
  };
  Value up = inOrder(mixture.up, mixture.isUpTransposed);
  Value down = inOrder(mixture.down, mixture.isDownTransposed);
  Dims u = dimsOf(up), d = dimsOf(down), chosen = dimsOf(mixture.indices);
  DimExpr tokens = chosen[0], hidden = d[1];
  if (mixture.activation.gate != "none")
    hidden = hidden * 2;
  Type element = elementOf(mixture.tokens);
  bool fits = u[0] == d[0] && u[2] == hidden &&
              dist::product(dimsOf(mixture.tokens)) == tokens * u[1] &&
              dist::product(dims) == tokens * d[2] &&
              chosen == dimsOf(mixture.weights);
  for (Value value :
       {mixture.weights, up, down, mixture.upBias, mixture.downBias})
    fits &= !value || elementOf(value) == element;
  if (!fits)
    return {};
  SmallVector<Value, 6> operands = {
      reshaped(builder, loc, mixture.tokens, {tokens, u[1]}), mixture.indices,
      mixture.weights, up, down};
  if (mixture.upBias)
    operands.push_back(reshaped(builder, loc, mixture.upBias, {u[0], u[2]}));
  auto type = dist::makeType(element, Dims{tokens, d[2]});
  Value result =
      MixtureOfExpertsOp::create(builder, loc, {type}, operands,
                                 attributesOf(builder, mixture.activation));
  if (mixture.downBias)
    result = AddOp::create(builder, loc, type, result,
                           biasOf(builder, loc, mixture, d[2]));
  return reshaped(builder, loc, result, dims);
}

/// Symbols in the block, but for those that ReadSizes binds.
static llvm::StringSet<> usedSymbols(Block &block) {
  llvm::StringSet<> used;
  auto look = [&](ArrayRef<DimExpr> sizes, bool isBinding) {
    for (DimExpr size : sizes)
      if (!isBinding || !size.asSymbol())
        size.forEachSymbol([&](StringRef name, bool) { used.insert(name); });
  };
  for (Operation &op : block) {
    for (Type type : op.getResultTypes())
      if (isa<RankedTensorType>(type))
        look(dist::getDims(type), false);
    for (NamedAttribute attribute : op.getAttrs())
      if (auto dims = dyn_cast<dist::DimsAttr>(attribute.getValue()))
        look(dims.getValues(), isa<ReadSizesOp>(op));
  }
  return used;
}

/// Whether it is that an end of a segment is not before the one in front.
static bool isOrderOf(ArrayRef<DimExpr> ends, DimExpr lhs, StringRef kind,
                      DimExpr rhs) {
  if (kind != "at_least")
    return false;
  for (auto [before, end] : llvm::zip(ends.drop_back(), ends.drop_front()))
    if (lhs - rhs == end - before)
      return true;
  return false;
}

/// Ends that are sums of counts are in order: nobody has to look.
static void eraseOrderGuards(Block &block, ArrayRef<DimExpr> ends) {
  for (auto guard : llvm::make_early_inc_range(block.getOps<GuardOp>())) {
    Dims lhs, rhs;
    for (auto [left, right] :
         llvm::zip(guard.getLhs().getValues(), guard.getRhs().getValues()))
      if (!isOrderOf(ends, left, guard.getKind(), right)) {
        lhs.push_back(left);
        rhs.push_back(right);
      }
    MLIRContext *context = block.getParentOp()->getContext();
    guard.setLhsAttr(dist::DimsAttr::get(context, lhs));
    guard.setRhsAttr(dist::DimsAttr::get(context, rhs));
    if (lhs.empty())
      guard.erase();
  }
}

/// Erases those of the ops whose sizes nothing has any more. `ends` read those
/// of segments.
static void eraseUnused(Block &block, ArrayRef<Operation *> reads,
                        ArrayRef<Operation *> ends) {
  if (reads.empty())
    return;
  for (Operation *read : ends)
    eraseOrderGuards(block, cast<ReadSizesOp>(read).getSizes().getValues());
  llvm::StringSet<> used = usedSymbols(block);
  for (Operation *read :
       llvm::SmallSetVector<Operation *, 8>(reads.begin(), reads.end())) {
    dist::DimsAttr sizes = cast<ReadSizesOp>(read).getSizes();
    if (llvm::none_of(sizes.getValues(), [&](DimExpr size) {
          std::optional<StringRef> symbol = size.asSymbol();
          return symbol && used.contains(*symbol);
        }))
      read->erase();
  }
  eraseDead(block);
}

/// The mixture whose last op is `op`.
static std::optional<Mixture> readMixture(OpBuilder &builder, Operation *op,
                                          SmallVectorImpl<Operation *> &reads,
                                          SmallVectorImpl<Operation *> &ends) {
  if (isa<AddOp, ScatterNDOp, ScatterElementsOp>(op))
    return readTerms(builder, op, reads);
  auto sum = dyn_cast<ReduceSumOp>(op);
  if (!sum)
    return std::nullopt;
  std::optional<Mixture> mixture = readGathered(sum);
  if (!mixture)
    mixture = readDense(sum);
  Operation *read = nullptr;
  if (!mixture && (mixture = readGroups(sum, read))) {
    reads.push_back(read);
    ends.push_back(read);
  }
  return mixture;
}

unsigned RecoverMixtureOfExperts::recover(Block &block, Validator &validator) {
  validator.enter(block);
  SmallVector<Operation *> reads, ends;
  unsigned count = 0;
  for (Operation &op : block) {
    OpBuilder builder(&op);
    std::optional<Mixture> mixture = readMixture(builder, &op, reads, ends);
    Value result = mixture ? makeMixture(builder, op.getLoc(), *mixture,
                                         dimsOf(op.getResult(0)))
                           : Value();
    if (!result ||
        !validator.allows(op.getResult(0), result, "a mixture of experts"))
      continue;
    op.getResult(0).replaceAllUsesWith(result);
    ++count;
  }
  eraseDead(block);
  eraseUnused(block, reads, ends);
  return count;
}

void RecoverMixtureOfExperts::runOnOperation() {
  Validator validator;
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      numMixtures += recover(block, validator);
  numValidated += validator.numEvaluated;
  numUndone += validator.numUndone;
  numBelieved += validator.numUnknown;
}

} // namespace shardc::import
