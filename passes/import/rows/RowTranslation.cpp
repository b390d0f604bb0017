#include "passes/import/rows/RowTranslation.h"

#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Pages.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using onnx::RowSymbols;
using namespace onnx;

/// Of a clip the bounds are single numbers, whatever dims they have: those of
/// rows are no operands of one.
bool RowTranslation::isElementwise(Operation *op) const {
  if (isa<ClipOp>(op) &&
      llvm::any_of(op->getOperands().drop_front(), [&](Value bound) {
        return kindOf(bound) != RowKind::Shared;
      }))
    return false;
  return op->hasTrait<LoweredBy<&lowerElementwise>::Impl>() || isa<CastOp>(op);
}

RowTranslation::RowTranslation(func::FuncOp function,
                               const EncoderKeys &encoderKeys, RowBuilder &rows,
                               OpBuilder &builder)
    : function(function), rows(rows), builder(builder), sizes(rows.sizes),
      trial(sizes, rows.inputs), encoderKeys(encoderKeys) {
  const RowInputs &in = rows.inputs;
  all.set = {RowSymbols::tokens(), in.row, in.position};
  wanted.set = {RowSymbols::wanted(), rows.gather(in.row, in.wanted, 0),
                rows.gather(in.position, in.wanted, 0)};
  slots = in.slots;
  if (sizes.takesOne)
    limit(rows.counts(), 1);
  classify();
  findNeeded();
  if (!sizes.encoder.asSymbol())
    return;
  encoderRows =
      std::make_unique<RowBuilder>(builder, sizes.ofEncoder(), rows.inputs);
  ofEncoder.reset(new RowTranslation(function, *encoderRows, builder));
}

RowTranslation::RowTranslation(func::FuncOp function, RowBuilder &rows,
                               OpBuilder &builder)
    : function(function), rows(rows), builder(builder), sizes(rows.sizes),
      trial(sizes, rows.inputs) {
  all.set.size = wanted.set.size = RowSymbols::encoderKeys();
  classify();
  findNeeded();
}

unsigned RowTranslation::numTried() const {
  return trial.numTried + (ofEncoder ? ofEncoder->numTried() : 0);
}

unsigned RowTranslation::numUnknown() const {
  return trial.numUnknown + (ofEncoder ? ofEncoder->numUnknown() : 0);
}

//===----------------------------------------------------------------------===//
// What is what
//===----------------------------------------------------------------------===//

std::optional<size_t> RowTranslation::tokenDim(Type type) const {
  for (auto [d, dim] : llvm::enumerate(dist::getDims(type)))
    if (sizes.isOfTokens(dim))
      return d;
  return std::nullopt;
}

bool RowTranslation::isCacheAppend(Operation *op) const {
  if (auto append = dyn_cast<CacheAppendOp>(op);
      append && append.getInCapacity())
    return false;
  auto past = isa<ConcatOp, CacheAppendOp>(op)
                  ? dyn_cast<BlockArgument>(op->getOperand(0))
                  : BlockArgument();
  return past && kinds.lookup(past) == RowKind::Pool;
}

void RowTranslation::classify() {
  for (const CacheInfo &cache : FunctionInfo(function).caches())
    kinds[function.getArgument(cache.input)] = RowKind::Pool;
  for (BlockArgument argument : function.getArguments())
    if (!kinds.contains(argument))
      kinds[argument] = encoderKeys.isSource(argument) ? RowKind::Encoder
                        : tokenDim(argument.getType()) ? RowKind::Tokens
                                                       : RowKind::OfRows;
  for (Operation &op : function.front()) {
    const bool isPool =
        isCacheAppend(&op) || (isa<TransposeOp>(op) &&
                               kinds.lookup(op.getOperand(0)) == RowKind::Pool);
    // Of one row's positions alone, it is the same for all of them.
    const bool isOfAll =
        sizes.isOfOneRow && llvm::all_of(op.getOperands(), [&](Value operand) {
          return kinds.lookup(operand) == RowKind::Shared ||
                 kinds.lookup(operand) == RowKind::Tokens;
        });
    const bool varies =
        readsSizes(&op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return kinds.lookup(operand) != RowKind::Shared;
        });
    for (Value result : op.getResults())
      kinds[result] = encoderKeys.isTheirs(&op)            ? RowKind::Encoder
                      : isPool                             ? RowKind::Pool
                      : !isa<TensorType>(result.getType()) ? RowKind::Shared
                      : tokenDim(result.getType())         ? RowKind::Tokens
                      : varies && !(isOfAll && isOfWhole(&op))
                          ? RowKind::OfRows
                          : RowKind::Shared;
  }
}

RowKind RowTranslation::kindOf(Value value) const {
  return kinds.lookup(value);
}

/// Everything that keys, values, attention and what mixes positions are made of.
void RowTranslation::findNeeded() {
  for (Operation &op : llvm::reverse(function.front())) {
    const bool isSource =
        isa<AttentionOp>(op) || isCacheAppend(&op) || isOfWhole(&op);
    if (!isSource && !needed.contains(&op))
      continue;
    needed.insert(&op);
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        needed.insert(producer);
  }
}

//===----------------------------------------------------------------------===//
// Ports
//===----------------------------------------------------------------------===//

std::optional<Dims> RowTranslation::sizesOf(Type type, DimExpr tokens,
                                            bool isOfRows) const {
  Dims dims;
  if (isOfRows)
    dims.push_back(RowSymbols::rows());
  unsigned ofTokens = 0, ofKeys = 0;
  for (DimExpr dim : dist::getDims(type)) {
    std::optional<DimExpr> size = sizes.inStep(dim, tokens);
    if (!size)
      return std::nullopt;
    ofTokens += sizes.isOfTokens(dim);
    ofKeys += sizes.isOfKeys(dim);
    dims.push_back(*size);
  }
  return ofTokens > 1 || ofKeys > 1 ? std::nullopt : std::optional(dims);
}

/// A row of a batch stands where it stood, without a dim of its own.
Dims RowTranslation::withoutBatch(Value original, Dims ofRows) const {
  const Dims dims = import::dimsOf(original);
  if (!dims.empty() && dims[0] == sizes.batch)
    ofRows.erase(ofRows.begin() + 1);
  return ofRows;
}

std::optional<Dims> RowTranslation::stepDims(BlockArgument argument) const {
  if (kindOf(argument) == RowKind::Encoder)
    return ofEncoder->stepDims(argument);
  const bool isOfRows = kindOf(argument) == RowKind::OfRows;
  std::optional<Dims> dims =
      sizesOf(argument.getType(), all.set.size, isOfRows);
  return dims && isOfRows ? withoutBatch(argument, *dims) : dims;
}

void RowTranslation::bindInput(BlockArgument argument, Value value) {
  if (kindOf(argument) == RowKind::Encoder)
    ofEncoder->bindInput(argument, value);
  else if (kindOf(argument) == RowKind::Tokens)
    all.values[argument] = value;
  else
    values[argument] = rows.reshape(
        value, *sizesOf(argument.getType(), all.set.size, /*isOfRows=*/true));
}

void RowTranslation::bindPool(BlockArgument past, Value pool) {
  values[past] = pool;
}

Value RowTranslation::result(OpOperand &output) {
  Value value = output.get();
  if (kindOf(value) == RowKind::Tokens)
    return ofTokens(value, wanted);
  Value made = values.lookup(value);
  if (kindOf(value) != RowKind::OfRows)
    return made;
  return rows.reshape(made, withoutBatch(value, dimsOf(made)));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult RowTranslation::refuse(Operation *op, const Twine &why) const {
  return op->emitError("has no place in a step of rows of different lengths: ")
         << why;
}

LogicalResult RowTranslation::run() {
  for (Operation &op : function.front().without_terminator())
    if (!encoderKeys.isTheirs(&op) && failed(translate(op)))
      return failure();
  return success();
}

/// Null where it has not been made yet.
Value RowTranslation::madeOf(Value value, Tokens &tokens) const {
  switch (kindOf(value)) {
  case RowKind::Tokens:
    return tokens.values.lookup(value);
  case RowKind::Encoder:
    return written.lookup(encoderKeys.poolOf.lookup(value));
  default:
    return values.lookup(value);
  }
}

/// With all that it is made of, where that is not there yet; null after an error.
Value RowTranslation::makeAll(Value value) {
  Operation *op = value.getDefiningOp();
  if (Value made = madeOf(value, all); made || !op)
    return made;
  for (Value operand : op->getOperands())
    if (!makeAll(operand))
      return {};
  return failed(translate(*op)) ? Value() : madeOf(value, all);
}

LogicalResult RowTranslation::translate(Operation &op) {
  rows.setLocation(op.getLoc());
  return failed(emit(op)) ? failure() : tryOut(op);
}

/// Against a definition that has nothing to do with how it was made.
LogicalResult RowTranslation::tryOut(Operation &op) {
  const bool isSource =
      op.getNumOperands() == 0 && !isa<RangeOp, SymbolsOp>(op);
  if (isSource || op.getNumResults() == 0)
    return success();
  Tokens &tokens = needed.contains(&op) ? all : wanted;
  auto portsOf = [&](ValueRange of) {
    SmallVector<RowTrial::Port> ports;
    for (Value value : of) {
      const RowKind kind = kindOf(value);
      ports.push_back({value, madeOf(value, tokens),
                       kind == RowKind::Encoder ? RowKind::Pool : kind});
    }
    return ports;
  };
  const auto results = portsOf(op.getResults());
  if (llvm::any_of(results, [](const auto &port) { return !port.made; }))
    return success();
  const std::string difference = trial.differenceOf(
      &op, portsOf(op.getOperands()), results, joined.lookup(&op));
  return difference.empty()
             ? success()
             : refuse(&op, "what it became gives a row something else: " +
                               difference);
}

LogicalResult RowTranslation::emit(Operation &op) {
  if (auto guard = dyn_cast<GuardOp>(op))
    return translateGuard(guard);
  if (op.getNumRegions() > 0 || op.getNumResults() == 0)
    return refuse(&op, "what it does depends on all rows");
  if (!isa<AttentionOp>(op) &&
      llvm::any_of(op.getOperands(), [&](Value operand) {
        return kindOf(operand) == RowKind::Encoder;
      }))
    return refuse(&op, "it reads what the encoder gave elsewhere than in the "
                       "keys and values of cross-attention");
  if (isOfTable(&op))
    return translateTable(cast<SliceOp>(op),
                          needed.contains(&op) ? all : wanted);
  if (isOfWhole(&op))
    return translateWhole(&op);
  switch (kindOf(op.getResult(0))) {
  case RowKind::Shared:
    return translateShared(&op);
  case RowKind::OfRows:
    return translateOfRows(&op);
  case RowKind::Pool:
    return translatePool(&op);
  case RowKind::Tokens:
    if (auto attention = dyn_cast<AttentionOp>(op))
      return translateAttention(attention);
    return translateTokens(&op, needed.contains(&op) ? all : wanted);
  case RowKind::Encoder:
    break;
  }
  return failure();
}

/// Keys or new positions of a row that are too many have no slot: the step ends
/// with an error. False for what is no such limit.
bool RowTranslation::limitRows(DimExpr lhs, DimExpr rhs) {
  const bool isOfKeys = lhs == sizes.all();
  const bool isOfEncoder = sizes.encoder.asSymbol() && lhs == sizes.encoder;
  const bool isOfPast = lhs == sizes.past;
  const auto most = rhs.asConstant();
  if (!most ||
      (!isOfKeys && !isOfEncoder && !isOfPast && lhs != sizes.sequence))
    return false;
  limit(isOfKeys      ? rows.lengths()
        : isOfEncoder ? rows.inputs.encoderLengths
        : isOfPast    ? rows.inputs.past
                      : rows.counts(),
        *most);
  return true;
}

/// A row of which there is more has no slots.
void RowTranslation::limit(Value ofRow, int64_t most) {
  const Type i64 = builder.getI64Type(), i1 = builder.getI1Type();
  const Dims ofRows{RowSymbols::rows()}, ofTokens{all.set.size};
  Value fits =
      rows.make<LessOrEqualOp>(i1, ofRows, {ofRow, rows.integer(most)});
  slots = rows.make<WhereOp>(i64, ofTokens,
                             {rows.ofTokens(fits, all.set), slots,
                              rows.integer(onnx::kSlotOfTooManyPositions)});
}

/// A row has a position and an encoder key at least. What bounds how many it has is asked of each;
/// anything else would have to hold row by row.
LogicalResult RowTranslation::translateGuard(GuardOp guard) {
  const auto kind = guard.getKind();
  for (auto [lhs, rhs] :
       llvm::zip(guard.getLhs().getValues(), guard.getRhs().getValues())) {
    const DimExpr one = DimExpr::symbol("new positions but one") + 1;
    const DimExpr oneKey = DimExpr::symbol("encoder keys but one") + 1;
    auto ofRow = [&](DimExpr value) {
      return value.replaceSymbols(
          [&](StringRef name) -> std::optional<DimExpr> {
            if (name == sizes.sequence.asSymbol())
              return sizes.takesOne ? DimExpr(1) : one;
            if (name == sizes.encoder.asSymbol())
              return oneKey;
            return name == sizes.batch.asSymbol()
                       ? std::optional(DimExpr(int64_t(1)))
                       : std::nullopt;
          });
    };
    const DimExpr left = ofRow(lhs), right = ofRow(rhs);
    const bool holds = kind == "equal" ? left == right
                       : kind == "at_least"
                           ? (left - right).isKnownNonNegative()
                           : (right - left).isKnownNonNegative();
    if (holds || (kind == "at_most" && limitRows(lhs, rhs)) ||
        (kind == "at_least" && limitRows(lhs * -1, rhs * -1)))
      continue;
    if (dependsOnRow(lhs) || dependsOnRow(rhs))
      return refuse(guard, guard.getMessage());
    auto of = [&](DimExpr size) {
      return dist::DimsAttr::get(builder.getContext(), *sizes.inStep(size));
    };
    GuardOp::create(builder, guard.getLoc(), of(lhs), kind, of(rhs),
                    guard.getMessage());
  }
  return success();
}

bool RowTranslation::dependsOnRow(DimExpr value) const {
  return sizes.isOfKeys(value) || sizes.mentions(value, sizes.sequence);
}

Value RowTranslation::clone(Operation *op, ValueRange operands,
                            ArrayRef<Type> types) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(op->getAttrs());
  if (op->getPropertiesStorage())
    state.propertiesAttr = op->getPropertiesAsAttribute();
  Operation *made = builder.create(state);
  return made->getNumResults() ? made->getResult(0) : Value();
}

/// Sizes of rows are none of its, but for the keys that a row has room for.
LogicalResult RowTranslation::translateShared(Operation *op) {
  SmallVector<Value, 4> operands;
  for (Value operand : op->getOperands()) {
    if (kindOf(operand) != RowKind::Shared)
      return refuse(op, "it makes one value of all positions");
    operands.push_back(values.lookup(operand));
  }
  // Places of keys count from 0, as they do in any request.
  const bool isOfKeys =
      isa<RangeOp>(op) && sizes.isOfKeys(dimsOf(op->getResult(0))[0]);
  if (isOfKeys && dimsOf(op->getResult(0))[0] != sizes.all() &&
      dimsOf(op->getResult(0))[0] != sizes.encoder)
    return refuse(op, "it counts something else than the keys");
  if (std::string why = findMixing(op); !why.empty() && !isa<RangeOp>(op))
    return refuse(op, why);
  SmallVector<Type, 2> types;
  for (Value result : op->getResults()) {
    if (!isa<TensorType>(result.getType())) {
      types.push_back(result.getType());
      continue;
    }
    auto dims = sizesOf(result.getType(), all.set.size, /*isOfRows=*/false);
    if (!dims)
      return refuse(op, "its result has the keys before a step as a size");
    types.push_back(dist::makeType(elementOf(result), *dims));
  }
  Value first = clone(op, operands, types);
  for (Value result : op->getResults())
    values[result] = first.getDefiningOp()->getResult(
        cast<OpResult>(result).getResultNumber());
  return success();
}

} // namespace shardc::import
