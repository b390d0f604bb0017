//===- ExpertTerms.cpp - Experts one by one -------------------------------===//

#include "passes/import/experts/ExpertTerms.h"

#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/attention/AttentionMask.h"
#include "passes/import/rotary/RotaryPairs.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

/// mlp(rows) with plain matrices; the rows.
static Value readMlp(Value value, ExpertTerm &term) {
  auto matrixOf = [](Value product, Value &matrix) -> Value {
    auto matMul = product.getDefiningOp<MatMulOp>();
    if (!matMul || dimsOf(matMul.getRhs()).size() != 2 ||
        dimsOf(matMul.getLhs()).size() != 2)
      return {};
    matrix = matMul.getRhs();
    return matMul.getLhs();
  };
  Value hidden = matrixOf(value, term.down);
  if (!hidden)
    return {};
  if (Value input = readActivationFunction(hidden, term.activation))
    return matrixOf(input, term.up);
  auto gated = hidden.getDefiningOp<MulOp>();
  for (unsigned i : {0u, 1u}) {
    ExpertActivation activation;
    Value gate, up;
    Value input = gated
                      ? readActivationFunction(gated->getOperand(i), activation)
                      : Value();
    Value rows = input ? matrixOf(input, gate) : Value();
    if (!rows || matrixOf(gated->getOperand(1 - i), up) != rows ||
        dimsOf(gate) != dimsOf(up))
      continue;
    activation.gate = "halves";
    term.activation = activation;
    term.gate = gate;
    term.up = up;
    return rows;
  }
  return {};
}

/// The rows, or columns, of a NonZero of two dims, as [count].
static NonZeroOp nonZeroPart(Value value, unsigned part) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (reshape && dimsOf(reshape.getData()).size() == 2)
    value = reshape.getData();
  auto split = value.getDefiningOp<SplitOp>();
  auto moved =
      split ? split.getData().getDefiningOp<TransposeOp>() : TransposeOp();
  if (!moved || split.getAxis() != 1 || split->getNumResults() != 2 ||
      split->getResult(part) != value ||
      *moved.getPerm() != ArrayRef<int64_t>{1, 0})
    return {};
  return moved.getData().getDefiningOp<NonZeroOp>();
}

/// An element of a small constant.
static std::optional<int64_t> constantOf(Value value) {
  if (auto number = splatInteger(value))
    return number;
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getData();
  auto slice = value.getDefiningOp<SliceOp>();
  dist::DimsAttr bounds = slice ? slice.getBoundsAttr() : dist::DimsAttr();
  auto constant =
      slice ? slice.getData().getDefiningOp<ConstantOp>() : ConstantOp();
  auto known = constant ? readKnown(constant.getValue(), 16) : std::nullopt;
  auto all =
      known && known->shape.size() == 1 ? known->asConstants() : std::nullopt;
  auto start = bounds && bounds.getValues().size() == 1
                   ? bounds.getValues()[0].asConstant()
                   : std::nullopt;
  if (!all || !start || *start < 0 || *start >= int64_t(all->size()) ||
      !dimsOf(slice)[0].isConstant(1))
    return std::nullopt;
  return (*all)[*start];
}

/// 1 where choices [n, k] equal the position along a last dim of experts, else
/// 0, from a router's choices, which are none of the negative ones that may be
/// allowed for: the choices.
static Value readOneHot(Value value, int64_t &numExperts) {
  auto choice = value.getDefiningOp<WhereOp>();
  if (!choice || constantOf(choice.getThenValue()) != 1 ||
      constantOf(choice.getElseValue()) != 0 ||
      !haveSameDims(choice, choice.getCondition()))
    return {};
  Value condition = choice.getCondition();
  Dims dims = dimsOf(condition);
  auto readEqual = [&](Value side) -> Value {
    auto equal = side.getDefiningOp<EqualOp>();
    auto position = equal ? positionOf(equal.getRhs()) : std::nullopt;
    bool counts = position && position->keys == 1 && position->queries == 0 &&
                  position->offset.isConstant(0) &&
                  dimsOf(equal.getRhs()).back() == dims.back();
    return counts && dims.size() == 3 ? equal.getLhs() : Value();
  };
  std::optional<int64_t> experts = dims.back().asConstant();
  if (!experts)
    return {};
  if (auto either = condition.getDefiningOp<OrOp>()) {
    Value negative = readEqual(either.getRhs());
    auto add = negative ? negative.getDefiningOp<AddOp>() : AddOp();
    condition = either.getLhs();
    if (!add || splatInteger(add.getRhs()) != *experts ||
        add.getLhs() != readEqual(condition))
      return {};
  }
  Value column = readEqual(condition);
  Value choices = column ? shapedAs(column, {dims[0], dims[1]}) : Value();
  auto router = choices ? choices.getDefiningOp<TopKOp>() : TopKOp();
  if (!router || choices != router.getIndices() ||
      dimsOf(router.getData())[router.getAxis()] != dims.back() ||
      router.getAxis() != 1)
    return {};
  numExperts = *experts;
  return choices;
}

/// Where one expert was chosen, by a NonZero of its [n, k] choices or of [k, n].
struct ChosenPlaces {
  NonZeroOp found;
  unsigned token; ///< which part of a place is the token; the other, the choice
};

/// The places whose tokens these are, and which expert was chosen there.
static std::optional<ChosenPlaces> readPlaces(Value tokens, ExpertTerm &term) {
  ChosenPlaces places{nonZeroPart(tokens, 0), 0};
  if (!places.found)
    places = {nonZeroPart(tokens, 1), 1};
  auto cast =
      places.found ? places.found.getData().getDefiningOp<CastOp>() : CastOp();
  auto one = cast ? cast.getInput().getDefiningOp<GatherOp>() : GatherOp();
  auto expert = one ? splatInteger(one.getIndices()) : std::nullopt;
  auto moved = one ? one.getData().getDefiningOp<TransposeOp>() : TransposeOp();
  SmallVector<int64_t> perm = {2, places.token, 1 - places.token};
  if (!expert || one.getAxis() != 0 || dimsOf(one).size() != 2 || !moved ||
      *moved.getPerm() != ArrayRef<int64_t>(perm))
    return std::nullopt;
  term.expert = *expert;
  term.indices = readOneHot(moved.getData(), term.numExperts);
  if (!term.indices)
    return std::nullopt;
  return places;
}

/// x for x[t] at these tokens t, from x as [n, d] or [1, n, d].
static Value readPlacedTokens(Value rows, ChosenPlaces places) {
  DimExpr width = dimsOf(rows).back();
  if (auto reshape = rows.getDefiningOp<ReshapeOp>())
    rows = reshape.getData();
  auto gather = rows.getDefiningOp<GatherOp>();
  if (!gather || nonZeroPart(gather.getIndices(), places.token) != places.found)
    return {};
  Dims dims = dimsOf(gather.getData());
  size_t front = gather.getAxis();
  bool isOfRows = dims.size() == front + 2 && dims.back() == width &&
                  (front == 0 || (front == 1 && dims[0].isConstant(1)));
  return isOfRows ? gather.getData() : Value();
}

/// w[t, i] for these tokens t and choices i, from w as [n k, 1].
static Value readPlacedWeights(Value value, ChosenPlaces places,
                               const Dims &dims) {
  auto gather = value.getDefiningOp<GatherOp>();
  auto add = gather ? gather.getIndices().getDefiningOp<AddOp>() : AddOp();
  if (!add || gather.getAxis() != 0 || dims.size() != 2)
    return {};
  for (unsigned i : {0u, 1u}) {
    auto mul = add->getOperand(i).getDefiningOp<MulOp>();
    auto width = mul ? splatInteger(mul.getRhs()) : std::nullopt;
    if (width && dims[1].isConstant(*width) &&
        nonZeroPart(mul.getLhs(), places.token) == places.found &&
        nonZeroPart(add->getOperand(1 - i), 1 - places.token) == places.found &&
        dimsOf(gather.getData()) == Dims{dims[0] * dims[1], 1})
      return shapedAs(gather.getData(), dims);
  }
  return {};
}

/// The op that reads how many places there are: their sum as integers.
static Operation *readOfCount(NonZeroOp found) {
  for (Operation *cast : found.getData().getUsers())
    for (Operation *sum : cast->getUsers())
      for (Operation *read : sum->getUsers())
        if (isa<CastOp>(cast) && isa<ReadSizesOp>(read))
          return read;
  return nullptr;
}

static std::optional<ExpertTerm> readScatteredTerm(ScatterElementsOp scatter) {
  ExpertTerm term;
  Value zeros = scatter.getData();
  if (auto expand = zeros.getDefiningOp<ExpandOp>())
    zeros = expand.getData();
  auto tokens = scatter.getIndices().getDefiningOp<ExpandOp>();
  auto weighted = readWeighted(scatter.getUpdates());
  auto places = tokens ? readPlaces(tokens.getData(), term) : std::nullopt;
  if (splatConstant(zeros) != 0.0 || scatter.getAxis() != 0 ||
      scatter.getReduction() != "none" || !weighted || !places ||
      !haveSameDims(scatter.getIndices(), scatter.getUpdates()))
    return std::nullopt;
  Value rows = readMlp(weighted->first, term);
  term.tokens = rows ? readPlacedTokens(rows, *places) : Value();
  term.weights =
      readPlacedWeights(weighted->second, *places, dimsOf(term.indices));
  if (!term.tokens || !term.weights)
    return std::nullopt;
  term.reads = readOfCount(places->found);
  return term;
}

static std::optional<ExpertTerm> readDenseTerm(MulOp product) {
  ExpertTerm term;
  auto weighted = readWeighted(product);
  auto column = weighted ? lastDimPart(weighted->second) : std::nullopt;
  Mixture routing;
  if (!column || dimsOf(column->source).size() != 2 ||
      !readScattered(column->source, routing))
    return std::nullopt;
  std::optional<int64_t> expert = column->start.asConstant();
  std::optional<int64_t> experts = dimsOf(column->source)[1].asConstant();
  term.indices = routing.indices;
  term.weights = routing.weights;
  term.tokens = readMlp(weighted->first, term);
  if (!term.tokens || !expert || !experts)
    return std::nullopt;
  term.expert = *expert;
  term.numExperts = *experts;
  return term;
}

std::optional<ExpertTerm> readExpertTerm(Value value) {
  if (auto scatter = value.getDefiningOp<ScatterElementsOp>())
    return readScatteredTerm(scatter);
  if (auto product = value.getDefiningOp<MulOp>())
    return readDenseTerm(product);
  return std::nullopt;
}

/// Terms of the chain that ends in `last`, in any order; empty if it ends
/// elsewhere, or if terms do not go together.
static SmallVector<ExpertTerm> collectTerms(AddOp last) {
  for (Operation *user : last->getUsers())
    if (auto next = dyn_cast<AddOp>(user))
      if (Value other = otherOperand(next, last);
          other && readExpertTerm(other))
        return {};
  SmallVector<ExpertTerm> terms;
  Value rest = last;
  while (rest) {
    auto add = rest.getDefiningOp<AddOp>();
    Value next = add ? add.getLhs() : Value();
    auto term = readExpertTerm(add ? add.getRhs() : rest);
    if (!term && add && (term = readExpertTerm(add.getLhs())))
      next = add.getRhs();
    Value zeros = rest;
    if (auto expand = zeros.getDefiningOp<ExpandOp>())
      zeros = expand.getData();
    if (!term && splatConstant(zeros) == 0.0)
      break;
    if (!term)
      return {};
    terms.push_back(*term);
    rest = next;
  }
  llvm::DenseSet<int64_t> experts;
  for (const ExpertTerm &term : terms)
    if (!experts.insert(term.expert).second ||
        !isSame(term.tokens, terms[0].tokens) ||
        term.indices != terms[0].indices ||
        !isSame(term.weights, terms[0].weights) ||
        term.numExperts != terms[0].numExperts ||
        dimsOf(term.up) != dimsOf(terms[0].up) ||
        dimsOf(term.down) != dimsOf(terms[0].down) ||
        bool(term.gate) != bool(terms[0].gate) ||
        term.activation.activation != terms[0].activation.activation ||
        term.activation.alpha != terms[0].activation.alpha)
      return {};
  return terms.size() >= 2 ? terms : SmallVector<ExpertTerm>();
}

/// Matrices by expert as one tensor; null ones are zeros.
static Value stacked(OpBuilder &builder, Location loc, ArrayRef<Value> matrices,
                     Value like) {
  Type element = elementOf(like);
  Dims dims = dimsOf(like);
  dims.insert(dims.begin(), 1);
  SmallVector<Value> parts;
  for (Value matrix : matrices) {
    if (matrix) {
      parts.push_back(reshaped(builder, loc, matrix, dims));
      continue;
    }
    KnownValue zero{element, {}, {0.0}};
    Value number = ConstantOp::create(
        builder, loc, RankedTensorType::get({}, element), zero.asElements());
    parts.push_back(ExpandOp::create(
        builder, loc, dist::makeType(element, dims), number, ValueRange{}));
  }
  dims[0] = int64_t(parts.size());
  return ConcatOp::create(builder, loc, dist::makeType(element, dims), parts,
                          uint64_t(0));
}

std::optional<Mixture> readTerms(OpBuilder &builder, AddOp last,
                                 SmallVectorImpl<Operation *> &reads) {
  SmallVector<ExpertTerm> terms = collectTerms(last);
  if (terms.empty())
    return std::nullopt;
  Location loc = last.getLoc();
  const ExpertTerm &first = terms.front();
  SmallVector<Value> ups(first.numExperts), downs(first.numExperts);
  Value wide;
  for (const ExpertTerm &term : terms) {
    if (term.expert < 0 || term.expert >= first.numExperts)
      return std::nullopt;
    wide = term.up;
    if (term.gate) {
      Dims dims = dimsOf(term.up);
      dims[1] = dims[1] * 2;
      wide = ConcatOp::create(builder, loc,
                              dist::makeType(elementOf(term.up), dims),
                              ValueRange{term.gate, term.up}, uint64_t(1));
    }
    ups[term.expert] = wide;
    downs[term.expert] = term.down;
    if (term.reads)
      reads.push_back(term.reads);
  }
  Mixture mixture;
  mixture.tokens = first.tokens;
  mixture.indices = first.indices;
  mixture.weights = first.weights;
  mixture.up = stacked(builder, loc, ups, wide);
  mixture.down = stacked(builder, loc, downs, first.down);
  mixture.activation = first.activation;
  return mixture;
}

} // namespace shardc::import
