//===- Pages.cpp - Shape functions and sharding rules ---------------------===//

#include "dialects/onnx/ops/Pages.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Pages.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerPagesOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Pages.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// PageWrite
//===----------------------------------------------------------------------===//

LogicalResult PageWriteOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> pool = inference.dims(getPool());
  SmallVector<DimExpr, 4> added = inference.dims(getAdded());
  SmallVector<DimExpr, 4> slots = inference.dims(getSlots());
  SmallVector<DimExpr, 4> copies = inference.dims(getCopies());
  if (pool.size() != added.size() || slots.size() != 1 || copies.size() != 2 ||
      !copies[1].isConstant(2))
    return emitOpError("has a pool, new entries, slots and copies of ")
           << pool.size() << ", " << added.size() << ", " << slots.size()
           << " and " << copies.size()
           << " dims, expected as many of the first two, 1, and pairs";
  const int64_t axis = getAxis();
  if (axis <= 0 || axis >= int64_t(pool.size()))
    return emitOpError("has axis ")
           << axis << ", expected 1 to " << pool.size() - 1;
  auto same = [&](DimExpr lhs, DimExpr rhs, StringRef what) {
    return inference.assume(*this, GuardKind::Equal, lhs, rhs,
                            "PageWrite: " + what + " " + lhs.str() + " and " +
                                rhs.str() + " differ");
  };
  if (failed(same(added[0], 1, "sizes")) ||
      failed(same(slots[0], added[axis], "numbers of entries")))
    return failure();
  for (size_t d = 1; d < pool.size(); ++d)
    if (int64_t(d) != axis && failed(same(pool[d], added[d], "sizes")))
      return failure();
  inference.setType(getResult(), inference.element(getPool()), pool);
  return success();
}

/// Entries and pages are whole; heads and what they have may be split, and the
/// places of a page: a rank writes the entries whose places it has.
ShardingRule PageWriteOp::shardingRule() {
  SmallVector<DimExpr, 4> pool = dist::getDims(getPool().getType());
  SmallVector<DimExpr, 4> added = dist::getDims(getAdded().getType());
  const FactorClass blocked = FactorClass::NeedsReplication;
  ShardingRule rule;
  RuleTensor of, from;
  for (size_t d = 0; d < pool.size(); ++d) {
    of.push_back(
        rule.addDim(pool[d], d == 0 ? blocked : FactorClass::PassThrough));
    from.push_back(d == 0 || d == getAxis() ? rule.addDim(added[d], blocked)
                                            : of.back());
    if (d == getAxis() && !pool[d].isConstant(1))
      rule.factors[of.back().segments[0][0]].rankParts = RankParts::OneRange;
  }
  rule.operands = {of,
                   from,
                   {from[getAxis()]},
                   rule.addBlocked(dist::getDims(getCopies().getType()))};
  rule.results = {of};
  return rule;
}

//===----------------------------------------------------------------------===//
// PagedAttention
//===----------------------------------------------------------------------===//

namespace {
/// The sizes that the operands share.
struct PagedSizes {
  explicit PagedSizes(Operation *op) {
    auto dims = [op](unsigned i) {
      return dist::getDims(op->getOperand(i).getType());
    };
    query = dims(PagedOperand::Query);
    keys = dims(PagedOperand::Keys);
    values = dims(PagedOperand::Values);
    pages = dims(PagedOperand::Pages);
    past = dims(PagedOperand::Past);
    first = dims(PagedOperand::First);
  }
  DimExpr heads() const { return query[1]; }
  DimExpr queries() const { return query[2]; }
  DimExpr rows() const { return pages[0]; }
  /// Places for keys of a row.
  DimExpr places() const { return pages[1] * keys[2]; }

  SmallVector<DimExpr, 4> query, keys, values, pages, past, first;
};
} // namespace

/// A dim of two others' factors, the first one major.
static RuleDim joined(const RuleDim &major, const RuleDim &minor) {
  RuleDim made = major;
  for (const auto &segment : minor.segments) {
    if (made.segments.empty())
      made.segments.emplace_back();
    llvm::append_range(made.segments.front(), segment);
  }
  return made;
}

Type seenElement(Type query) {
  return query.isF64() ? query : Float32Type::get(query.getContext());
}

static LogicalResult checkMask(Operation *op, ShapeInference &inference,
                               const PagedSizes &sizes) {
  SmallVector<DimExpr, 4> mask =
      inference.dims(op->getOperand(PagedOperand::Mask));
  const bool isOfRows = mask.size() == 4 && mask[2].isConstant(1) &&
                        (mask[0].isConstant(1) || mask[0] == sizes.rows());
  const bool isOfQueries =
      mask.size() == 4 && mask[0].isConstant(1) && mask[2] == sizes.queries();
  if ((!isOfRows && !isOfQueries) ||
      (!mask[1].isConstant(1) && mask[1] != sizes.heads()) ||
      mask[3] != sizes.places())
    return op->emitOpError("has a mask that fits neither the queries nor the "
                           "rows, and the keys that their pages have room for");
  return success();
}

/// Of PagedAttention and PagedAttentionParts.
static LogicalResult checkPagedOperands(Operation *op,
                                        ShapeInference &inference) {
  inference.dropAbsentTail(op);
  const PagedSizes sizes(op);
  if (sizes.query.size() != 4 || sizes.keys.size() != 4 ||
      sizes.values.size() != 4 || sizes.pages.size() != 2 ||
      sizes.past.size() != 1 || sizes.first.size() != 1)
    return op->emitOpError("expected query, keys and values of 4 dims, pages "
                           "of 2, past and first of 1");
  const std::string name = op->getName().stripDialect().str();
  auto same = [&](DimExpr lhs, DimExpr rhs, StringRef what) {
    return inference.assume(op, GuardKind::Equal, lhs, rhs,
                            name + ": " + what.str() + " " + lhs.str() +
                                " and " + rhs.str() + " differ");
  };
  if (failed(same(sizes.query[0], 1, "sizes")) ||
      failed(same(sizes.keys[0], sizes.values[0], "numbers of pages")) ||
      failed(same(sizes.keys[1], sizes.values[1], "heads")) ||
      failed(same(sizes.keys[2], sizes.values[2], "positions of a page")) ||
      failed(same(sizes.query[3], sizes.keys[3], "head sizes")) ||
      failed(same(sizes.past[0], sizes.rows(), "numbers of rows")) ||
      failed(same(sizes.first[0], sizes.rows() + 1, "numbers of rows")))
    return failure();
  if (!sizes.query[1].exactDiv(sizes.keys[1]))
    return op->emitOpError("has ")
           << sizes.query[1].str()
           << " query heads, expected a multiple of "
              "the "
           << sizes.keys[1].str() << " key and value heads";
  for (unsigned scales : {PagedOperand::KeyScales, PagedOperand::ValueScales})
    if (ShapeInference::isPresent(op, scales) &&
        inference.dims(op->getOperand(scales)) !=
            SmallVector<DimExpr, 4>{sizes.keys[0], sizes.keys[1], sizes.keys[2],
                                    1})
      return op->emitOpError("has scales that are not one for each key and "
                             "value of ")
             << sizes.keys[1].str() << " heads";
  if (ShapeInference::isPresent(op, PagedOperand::Mask))
    return checkMask(op, inference, sizes);
  return success();
}

static LogicalResult checkSinks(Operation *op, unsigned operand, DimExpr heads,
                                ShapeInference &inference) {
  if (!ShapeInference::isPresent(op, operand) ||
      inference.dims(op->getOperand(operand)) == SmallVector<DimExpr, 4>{heads})
    return success();
  return op->emitOpError("has sinks that are not one for each of the ")
         << heads.str() << " query heads";
}

LogicalResult PagedAttentionOp::inferTypes(ShapeInference &inference) {
  if (failed(checkPagedOperands(*this, inference)))
    return failure();
  const PagedSizes sizes(*this);
  if (failed(checkSinks(*this, PagedOperand::Sinks, sizes.heads(), inference)))
    return failure();
  inference.setType(
      getResult(), inference.element(getQuery()),
      {sizes.query[0], sizes.query[1], sizes.query[2], sizes.values[3]});
  return success();
}

LogicalResult PagedAttentionPartsOp::inferTypes(ShapeInference &inference) {
  if (failed(checkPagedOperands(*this, inference)))
    return failure();
  const PagedSizes sizes(*this);
  const int64_t parts = getParts();
  if (parts < 1 || !sizes.keys[2].exactDiv(parts))
    return emitOpError("has ") << parts << " parts of pages of "
                               << sizes.keys[2].str() << " positions";
  inference.setType(getResult(), seenElement(inference.element(getQuery())),
                    {parts, sizes.heads(), sizes.queries(),
                     sizes.values[3] + kSeenStatistics});
  return success();
}

/// Query heads are kv heads x groups; rows, queries and pages stay whole, and
/// the places of a page but for `parts` of them, which become the result's
/// first dim.
static ShardingRule pagedRule(Operation *op, DimExpr parts) {
  const PagedSizes sizes(op);
  const FactorClass blocked = FactorClass::NeedsReplication;
  ShardingRule rule;
  RuleDim kvHeads = rule.addDim(sizes.keys[1]);
  RuleDim groups = rule.addDim(*sizes.query[1].exactDiv(sizes.keys[1]));
  RuleDim heads = joined(kvHeads, groups);
  RuleDim queries = rule.addDim(sizes.queries(), blocked);
  RuleDim headSize = rule.addDim(sizes.query[3], blocked);
  RuleDim valueSize =
      rule.addDim(sizes.values[3],
                  parts.isConstant(1) ? FactorClass::PassThrough : blocked);
  RuleDim part = rule.addDim(parts);
  RuleDim place = rule.addDim(*sizes.keys[2].exactDiv(parts), blocked);
  RuleDim places = joined(part, place);
  RuleTensor pool = rule.addBlocked({sizes.keys[0]});
  RuleTensor pages = rule.addBlocked(sizes.pages);
  rule.operands = {{RuleDim::none(), heads, queries, headSize},
                   {pool[0], kvHeads, places, headSize},
                   {pool[0], kvHeads, places, valueSize},
                   pages,
                   {pages[0]},
                   rule.addBlocked(sizes.first)};
  rule.operands.resize(op->getNumOperands());
  if (ShapeInference::isPresent(op, PagedOperand::Mask)) {
    SmallVector<DimExpr, 4> mask =
        dist::getDims(op->getOperand(PagedOperand::Mask).getType());
    RuleTensor &of = rule.operands[PagedOperand::Mask];
    of = {mask[0].isConstant(1) ? RuleDim::none() : pages[0],
          mask[1].isConstant(1) ? RuleDim::none() : heads,
          mask[2].isConstant(1) ? RuleDim::none() : queries,
          rule.addDim(mask[3], blocked)};
  }
  if (ShapeInference::isPresent(op, PagedOperand::Sinks))
    rule.operands[PagedOperand::Sinks] = {heads};
  for (unsigned scales : {PagedOperand::KeyScales, PagedOperand::ValueScales})
    if (ShapeInference::isPresent(op, scales))
      rule.operands[scales] = {pool[0], kvHeads, places, RuleDim::none()};
  rule.results = {{part, heads, queries, valueSize}};
  return rule;
}

/// As if each query saw all keys of one row.
static DimExpr pagedMultiplyAdds(Operation *op) {
  const PagedSizes sizes(op);
  return sizes.heads() * sizes.queries() * sizes.places() *
         (sizes.query[3] + sizes.values[3]);
}

ShardingRule PagedAttentionOp::shardingRule() { return pagedRule(*this, 1); }
DimExpr PagedAttentionOp::multiplyAdds() { return pagedMultiplyAdds(*this); }

ShardingRule PagedAttentionPartsOp::shardingRule() {
  ShardingRule rule = pagedRule(*this, int64_t(getParts()));
  rule.results[0][3] = rule.addDim(dist::getDims(getResult().getType())[3],
                                   FactorClass::NeedsReplication);
  return rule;
}
DimExpr PagedAttentionPartsOp::multiplyAdds() {
  return pagedMultiplyAdds(*this);
}

//===----------------------------------------------------------------------===//
// MergeAttention
//===----------------------------------------------------------------------===//

LogicalResult MergeAttentionOp::inferTypes(ShapeInference &inference) {
  inference.dropAbsentTail(*this);
  SmallVector<DimExpr, 4> seen = inference.dims(getSeen());
  if (seen.size() != 4)
    return emitOpError("expected what parts of keys were seen as, of 4 dims");
  if (failed(checkSinks(*this, 1, seen[1], inference)))
    return failure();
  inference.setType(getResult(), getElementTypeOrSelf(getResult().getType()),
                    {1, seen[1], seen[2], seen[3] - kSeenStatistics});
  return success();
}

/// Heads are those of operand 0, and each query is one by itself.
ShardingRule MergeAttentionOp::shardingRule() {
  SmallVector<DimExpr, 4> seen = dist::getDims(getSeen().getType());
  const FactorClass blocked = FactorClass::NeedsReplication;
  ShardingRule rule;
  RuleDim heads = rule.addDim(seen[1]), queries = rule.addDim(seen[2]);
  rule.operands = {{rule.addDim(seen[0], blocked), heads, queries,
                    rule.addDim(seen[3], blocked)}};
  rule.operands.resize(getNumOperands());
  if (ShapeInference::isPresent(*this, 1))
    rule.operands[1] = {heads};
  rule.results = {
      {RuleDim::none(), heads, queries,
       rule.addDim(dist::getDims(getResult().getType())[3], blocked)}};
  return rule;
}

} // namespace shardc::onnx
