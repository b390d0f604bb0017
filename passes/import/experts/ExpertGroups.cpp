//===- ExpertGroups.cpp - Experts on rows that are sorted by expert -------===//

#include "passes/import/experts/ExpertGroups.h"

#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

namespace {

/// A product of each segment of rows with its own matrix.
struct Segments {
  Value rows, experts; ///< [m, d] and [e, d, h]
  Dims ends;           ///< of the segments, in order
};

/// Reads one mixture; the checks share its sizes.
class GroupReader {
public:
  GroupReader(DimExpr n, DimExpr k) : n(n), k(k), m(n * k) {}

  std::optional<Mixture> read(Value summed, DimExpr o);

  Operation *reads = nullptr;

private:
  bool readOrder(Value inverse);
  bool isOrder(Value value);
  bool isTokenOfOrder(Value value);
  bool endsAreSorted(const Segments &segments);
  bool countsExperts(Value counts, int64_t numExperts);

  DimExpr n, k, m;
  Value order, sorted, flat; ///< of the sort: its places, values and operand
};

} // namespace

/// The segments' matrices are one tensor's, in order; their rows one tensor's.
static std::optional<Segments> readSegments(Value value) {
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat || concat.getAxis() != 0)
    return std::nullopt;
  Segments segments;
  for (auto [e, part] : llvm::enumerate(concat->getOperands())) {
    auto product = part.getDefiningOp<MatMulOp>();
    auto rows =
        product ? product.getLhs().getDefiningOp<GatherOp>() : GatherOp();
    auto range = rows ? rows.getIndices().getDefiningOp<RangeOp>() : RangeOp();
    dist::DimsAttr bounds = range ? range.getBoundsAttr() : dist::DimsAttr();
    DimExpr start = segments.ends.empty() ? DimExpr() : segments.ends.back();
    if (!bounds || rows.getAxis() != 0 || bounds.getValues()[0] != start ||
        !bounds.getValues()[1].isConstant(1))
      return std::nullopt;
    Dims one = dimsOf(product.getRhs());
    one.insert(one.begin(), 1);
    Value matrix = shapedAs(product.getRhs(), one);
    auto split = matrix ? matrix.getDefiningOp<SplitOp>() : SplitOp();
    if (!split || split.getAxis() != 0 || one.size() != 3 ||
        split->getNumResults() != concat->getNumOperands() ||
        split->getResult(e) != matrix)
      return std::nullopt;
    if (e > 0 && (segments.rows != rows.getData() ||
                  segments.experts != split.getData()))
      return std::nullopt;
    segments.rows = rows.getData();
    segments.experts = split.getData();
    segments.ends.push_back(start + dimsOf(range)[0]);
  }
  return segments;
}

bool GroupReader::isOrder(Value value) {
  Value line = shapedAs(value, {m});
  return line && isSame(line, order);
}

/// The inverse of a sort's order: its places, scattered to the order.
bool GroupReader::readOrder(Value inverse) {
  Value line = shapedAs(inverse, {m});
  auto scatter = line ? line.getDefiningOp<ScatterNDOp>() : ScatterNDOp();
  auto range =
      scatter ? scatter.getUpdates().getDefiningOp<RangeOp>() : RangeOp();
  dist::DimsAttr bounds = range ? range.getBoundsAttr() : dist::DimsAttr();
  Value places = scatter ? shapedAs(scatter.getIndices(), {m}) : Value();
  auto sort = places ? places.getDefiningOp<TopKOp>() : TopKOp();
  if (!bounds || !bounds.getValues()[0].isConstant(0) ||
      !bounds.getValues()[1].isConstant(1) ||
      dimsOf(scatter.getIndices()) != Dims{m, 1} ||
      scatter.getReduction() != "none" || !sort || places != sort.getIndices())
    return false;
  order = places;
  sorted = sort.getValues();
  flat = sort.getData();
  return sort.getAxis() == 0 && !sort.getLargest() && sort.getSorted() &&
         dimsOf(flat) == Dims{m} && dimsOf(sorted) == Dims{m};
}

/// order / k, rounded down; the order is not negative, so a correction of
/// negative quotients is none.
bool GroupReader::isTokenOfOrder(Value value) {
  Value line = shapedAs(value, {m});
  if (auto sub = line ? line.getDefiningOp<SubOp>() : SubOp()) {
    auto cast = sub.getRhs().getDefiningOp<CastOp>();
    auto both = cast ? cast.getInput().getDefiningOp<AndOp>() : AndOp();
    bool isNone = false;
    for (unsigned i : {0u, 1u}) {
      Value side = both ? both->getOperand(i) : Value();
      if (auto equal = side ? side.getDefiningOp<EqualOp>() : EqualOp())
        if (splatInteger(equal.getRhs()) == 1)
          side = equal.getLhs();
      auto less = side ? side.getDefiningOp<LessOp>() : LessOp();
      isNone |=
          less && isOrder(less.getLhs()) && splatInteger(less.getRhs()) == 0;
    }
    if (!isNone)
      return false;
    line = sub.getLhs();
  }
  auto div = line ? line.getDefiningOp<DivOp>() : DivOp();
  std::optional<int64_t> divisor =
      div ? splatInteger(div.getRhs()) : std::nullopt;
  return divisor && k.isConstant(*divisor) && isOrder(div.getLhs());
}

/// The bin of each of `numExperts` numbers is that number: histc's widths.
static bool isIdentityBin(double width, int64_t low, int64_t high,
                          int64_t numExperts) {
  for (int64_t e = 0; e < numExperts; ++e) {
    const float bin = float(e) / float(width);
    if (!(std::fabs(bin) < 0x1p62f) || std::clamp(int64_t(bin), low, high) != e)
      return false;
  }
  return true;
}

/// Ones added up for each expert that is chosen.
bool GroupReader::countsExperts(Value counts, int64_t numExperts) {
  while (auto cast = counts.getDefiningOp<CastOp>())
    counts = cast.getInput();
  auto scatter = counts.getDefiningOp<ScatterElementsOp>();
  if (!scatter || scatter.getAxis() != 0 || scatter.getReduction() != "add" ||
      dimsOf(scatter) != Dims{numExperts} ||
      splatConstant(scatter.getData()) != 0.0 ||
      dimsOf(scatter.getIndices()) != Dims{m})
    return false;
  Value ones = scatter.getUpdates();
  if (auto expand = ones.getDefiningOp<ExpandOp>())
    ones = expand.getData();
  if (splatConstant(ones) != 1.0)
    return false;
  Value bins = scatter.getIndices();
  auto clip = bins.getDefiningOp<ClipOp>();
  std::optional<int64_t> low, high;
  if (clip && clip.getBounds().size() == 2) {
    low = splatInteger(clip.getBounds()[0]);
    high = splatInteger(clip.getBounds()[1]);
  }
  auto cast = clip ? clip.getInput().getDefiningOp<CastOp>() : CastOp();
  auto div = cast ? cast.getInput().getDefiningOp<DivOp>() : DivOp();
  std::optional<double> width =
      div ? splatConstant(div.getRhs()) : std::nullopt;
  auto number = div ? div.getLhs().getDefiningOp<CastOp>() : CastOp();
  if (number && low && high && width && elementOf(number).isF32() &&
      *low <= *high && isIdentityBin(*width, *low, *high, numExperts))
    bins = number.getInput();
  return isSame(bins, sorted) || isSame(bins, flat);
}

/// Is the end of each segment the number of choices of its expert and of those
/// before?
bool GroupReader::endsAreSorted(const Segments &segments) {
  if (segments.ends.empty() || segments.ends.back() != m)
    return false;
  for (Operation &op : *order.getParentBlock()) {
    auto read = dyn_cast<ReadSizesOp>(op);
    dist::DimsAttr sizes = read ? read.getSizes() : dist::DimsAttr();
    if (!sizes || sizes.getValues() != ArrayRef<DimExpr>(segments.ends))
      continue;
    reads = read;
    auto ends = read.getData().getDefiningOp<CumSumOp>();
    return ends && ends.getAxis() == 0 && !ends.getExclusive() &&
           !ends.getReverse() &&
           countsExperts(ends.getData(), segments.ends.size());
  }
  return false;
}

std::optional<Mixture> GroupReader::read(Value summed, DimExpr o) {
  Value choices = shapedAs(summed, {m, o});
  auto back = choices ? readGatheredRows(choices) : std::nullopt;
  auto weighted = back && readOrder(back->second) ? readWeighted(back->first)
                                                  : std::nullopt;
  Value weights = weighted ? shapedAs(weighted->second, {m}) : Value();
  auto moved = weights ? readGatheredRows(weights) : std::nullopt;
  auto down = moved && isOrder(moved->second) ? readSegments(weighted->first)
                                              : std::nullopt;
  auto activation = down ? readExpertActivation(down->rows) : std::nullopt;
  auto up = activation ? readSegments(activation->input) : std::nullopt;
  auto tokens =
      up && up->ends == down->ends ? readGatheredRows(up->rows) : std::nullopt;
  if (!tokens || dimsOf(tokens->first).size() != 2 ||
      !isTokenOfOrder(tokens->second) || !endsAreSorted(*up))
    return std::nullopt;
  Mixture mixture;
  mixture.tokens = tokens->first;
  mixture.indices = shapedAs(flat, {n, k});
  mixture.weights = shapedAs(moved->first, {n, k});
  mixture.up = up->experts;
  mixture.down = down->experts;
  mixture.activation = *activation;
  // A choice that is no expert would be in no segment, or in the last.
  auto router =
      mixture.indices ? mixture.indices.getDefiningOp<TopKOp>() : TopKOp();
  bool isChoice =
      router && mixture.indices == router.getIndices() &&
      dimsOf(router.getData())[router.getAxis()] == dimsOf(up->experts)[0];
  return isChoice && mixture.weights ? std::optional<Mixture>(mixture)
                                     : std::nullopt;
}

std::optional<Mixture> readGroups(ReduceSumOp sum, Operation *&reads) {
  Dims dims = dimsOf(sum.getData());
  if (dims.size() != 3 || !sumsAxis(sum, 1))
    return std::nullopt;
  GroupReader reader(dims[0], dims[1]);
  std::optional<Mixture> mixture = reader.read(sum.getData(), dims[2]);
  reads = reader.reads;
  return mixture;
}

} // namespace shardc::import
