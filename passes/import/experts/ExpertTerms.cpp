//===- ExpertTerms.cpp - Experts one by one -------------------------------===//

#include "passes/import/experts/ExpertTerms.h"

#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/experts/ExpertPlaces.h"
#include "passes/import/rotary/RotaryPairs.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

/// Rows times a plain matrix, which may be stored transposed.
struct MatrixProduct {
  Value rows, matrix;
  bool isTransposed;
};

static std::optional<MatrixProduct> readMatrixProduct(Value value) {
  if (auto matMul = value.getDefiningOp<MatMulOp>();
      matMul && dimsOf(matMul.getRhs()).size() == 2 &&
      dimsOf(matMul.getLhs()).size() == 2)
    return MatrixProduct{matMul.getLhs(), matMul.getRhs(), false};
  auto gemm = value.getDefiningOp<GemmOp>();
  if (!gemm || !gemm.getAddend().empty() || gemm.getTransA() ||
      !gemm.getAlpha().isExactlyValue(1.0))
    return std::nullopt;
  return MatrixProduct{gemm.getLhs(), gemm.getRhs(), gemm.getTransB() != 0};
}

/// The operand of the second product: act(rows up), or act(rows gate) * rows up;
/// the rows.
static Value readHidden(Value hidden, ExpertTerm &term) {
  if (Value input = readActivationFunction(hidden, term.activation)) {
    auto up = readMatrixProduct(input);
    term.up = up ? up->matrix : Value();
    term.isUpTransposed = up && up->isTransposed;
    return up ? up->rows : Value();
  }
  auto gated = hidden.getDefiningOp<MulOp>();
  for (unsigned i : {0u, 1u}) {
    ExpertActivation activation;
    Value input = gated
                      ? readActivationFunction(gated->getOperand(i), activation)
                      : Value();
    auto gate = input ? readMatrixProduct(input) : std::nullopt;
    auto up = gate ? readMatrixProduct(gated->getOperand(1 - i)) : std::nullopt;
    if (!up || up->rows != gate->rows ||
        up->isTransposed != gate->isTransposed ||
        dimsOf(gate->matrix) != dimsOf(up->matrix))
      continue;
    activation.gate = "halves";
    term.activation = activation;
    term.gate = gate->matrix;
    term.up = up->matrix;
    term.isUpTransposed = up->isTransposed;
    return up->rows;
  }
  return {};
}

/// mlp(rows) with plain matrices; the rows.
static Value readMlp(Value value, ExpertTerm &term) {
  auto down = readMatrixProduct(value);
  if (!down)
    return {};
  term.down = down->matrix;
  term.isDownTransposed = down->isTransposed;
  return readHidden(down->rows, term);
}

/// What is added to the rows of these tokens.
static std::optional<ExpertTerm> readPlacedTerm(Value tokens, Value updates) {
  ExpertTerm term;
  auto weighted = readWeighted(updates);
  auto places = weighted ? placesOf(tokens) : std::nullopt;
  Value rows = places ? readMlp(weighted->first, term) : Value();
  if (!rows)
    return std::nullopt;
  term.expert = places->expert;
  term.numExperts = places->numExperts;
  term.indices = places->indices;
  term.tokens = tokensAt(*places, rows);
  term.weights = weightsAt(*places, weighted->second);
  term.reads = countOf(*places);
  return term.tokens && term.weights ? std::optional(term) : std::nullopt;
}

/// Of a scatter of whole rows along the first dim.
static std::optional<ExpertTerm> readScatteredTerm(ScatterElementsOp scatter) {
  auto tokens = scatter.getIndices().getDefiningOp<ExpandOp>();
  if (!tokens || scatter.getAxis() != 0 ||
      !haveSameDims(scatter.getIndices(), scatter.getUpdates()))
    return std::nullopt;
  return readPlacedTerm(tokens.getData(), scatter.getUpdates());
}

static bool isZeros(Value value) {
  if (auto expand = value.getDefiningOp<ExpandOp>())
    value = expand.getData();
  return splatConstant(value) == 0.0;
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
    return scatter.getReduction() == "none" && isZeros(scatter.getData())
               ? readScatteredTerm(scatter)
               : std::nullopt;
  if (auto product = value.getDefiningOp<MulOp>())
    return readDenseTerm(product);
  return std::nullopt;
}

namespace {

/// One term, and the sum of those before it.
struct Link {
  Value rest;
  std::optional<ExpertTerm> term;
};

} // namespace

/// The last link of a chain; without a term if there is none.
static Link readLink(Value sum) {
  Operation *op = sum.getDefiningOp();
  if (auto add = dyn_cast_or_null<AddOp>(op)) {
    if (auto term = readExpertTerm(add.getRhs()))
      return {add.getLhs(), term};
    return {add.getRhs(), readExpertTerm(add.getLhs())};
  }
  // A token has one choice of an expert: no row is added to twice.
  if (auto scatter = dyn_cast_or_null<ScatterNDOp>(op);
      scatter && scatter.getReduction() == "add")
    return {scatter.getData(),
            readPlacedTerm(scatter.getIndices(), scatter.getUpdates())};
  if (auto scatter = dyn_cast_or_null<ScatterElementsOp>(op);
      scatter && scatter.getReduction() == "add")
    return {scatter.getData(), readScatteredTerm(scatter)};
  return {};
}

/// Whether a sum is the rest of a longer chain.
static bool goesOn(Value sum) {
  return llvm::any_of(sum.getUsers(), [&](Operation *user) {
    if (user->getNumResults() != 1)
      return false;
    Link next = readLink(user->getResult(0));
    return next.term && next.rest == sum;
  });
}

/// Terms of the chain that ends in `last`, in any order; empty if it ends
/// elsewhere, or if terms do not go together.
static SmallVector<ExpertTerm> collectTerms(Value last) {
  SmallVector<ExpertTerm> terms;
  Link link = readLink(last);
  if (!link.term || goesOn(last))
    return {};
  Value rest = last;
  for (; link.term; link = readLink(rest)) {
    terms.push_back(*link.term);
    rest = link.rest;
  }
  if (auto term = readExpertTerm(rest))
    terms.push_back(*term);
  else if (!isZeros(rest))
    return {};
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
        term.isUpTransposed != terms[0].isUpTransposed ||
        term.isDownTransposed != terms[0].isDownTransposed ||
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

std::optional<Mixture> readTerms(OpBuilder &builder, Operation *last,
                                 SmallVectorImpl<Operation *> &reads) {
  SmallVector<ExpertTerm> terms = collectTerms(last->getResult(0));
  if (terms.empty())
    return std::nullopt;
  Location loc = last->getLoc();
  const ExpertTerm &first = terms.front();
  SmallVector<Value> ups(first.numExperts), downs(first.numExperts);
  Value wide;
  for (const ExpertTerm &term : terms) {
    if (term.expert < 0 || term.expert >= first.numExperts)
      return std::nullopt;
    wide = term.up;
    if (term.gate) {
      Dims dims = dimsOf(term.up);
      const size_t axis = term.isUpTransposed ? 0 : 1;
      dims[axis] = dims[axis] * 2;
      wide = ConcatOp::create(builder, loc,
                              dist::makeType(elementOf(term.up), dims),
                              ValueRange{term.gate, term.up}, uint64_t(axis));
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
  mixture.isUpTransposed = first.isUpTransposed;
  mixture.isDownTransposed = first.isDownTransposed;
  mixture.activation = first.activation;
  return mixture;
}

} // namespace shardc::import
