//===- InferBlock.cpp - Types of blocks and of the bodies in them ---------===//
//
// The part of ShapeInference that walks a block and writes down what was
// assumed. The body of an If or Loop may not run, or run often, so that what is
// assumed in it must not be believed around it:
//
//   %y = onnx.If %c {              %x: tensor<seq x 96>
//     onnx.Guard seq equal 4       holds, and is checked, where %c is true
//     %0 = onnx.Reshape %x         tensor<4 x 96>, what the body has in place
//     ...                          of %x
//   } else {
//     ...                          seq is any size here, and behind the op
//   }
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/algebra/DimLimits.h"
#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

/// Sizes that are too large to be compared with others end the compilation.
static LogicalResult checkSizes(Operation *op) {
  for (Type type : op->getResultTypes())
    for (DimExpr size : dist::getDims(type))
      if (dist::isTooLarge(size))
        return op->emitOpError(
            "has a result whose size is an expression of tens of thousands of "
            "terms, or beyond 64 bits: expected one that a few symbols make; "
            "export the model with fixed sizes");
  return success();
}

/// The newest use of `value`.
static OpOperand *lastUse(Value value) {
  return value.use_empty() ? nullptr : &*value.use_begin();
}

/// Whether the weight or constant has been read as elements of another type:
/// behind `previous` stands another one of the same place.
static bool isReadAnew(Value value, Operation *previous, Operation *op) {
  Operation *source = beforeReshapes(value).getDefiningOp();
  if (!source || source->getNumOperands() != 0)
    return false;
  for (Operation *other = op->getPrevNode(); other && other != previous;
       other = other->getPrevNode())
    if (other->getName() == source->getName() &&
        other->getLoc() == source->getLoc())
      return true;
  return false;
}

/// An op that others replace must have used each operand, or known its value.
/// One that takes no part it has to set to None: what nobody read would be left
/// out of what is computed.
static LogicalResult inferReplaced(OnnxOp op, ShapeInference &inference) {
  bool isDead = op->use_empty();
  Operation *previous = op->getPrevNode();
  SmallVector<Value> operands(op->getOperands());
  SmallVector<OpOperand *> uses = llvm::map_to_vector(operands, lastUse);
  if (failed(op.inferTypes(inference)))
    return failure();
  if (isDead || !op->use_empty()) // a sequence stays until it is taken apart
    return success();
  for (auto [i, value] : llvm::enumerate(operands)) {
    bool isStillThere = i < op->getNumOperands() && op->getOperand(i) == value;
    if (isStillThere && ShapeInference::isPresent(value) &&
        lastUse(value) == uses[i] && !inference.known(value) &&
        !isReadAnew(value, previous, op))
      return op->emitOpError("has operand ")
             << i << ", which is not supported: export without it";
  }
  return success();
}

/// Whether the word names a type with these dims, see Onnx_Ranks.
static bool hasRank(ArrayRef<DimExpr> dims, StringRef word) {
  const auto rank = static_cast<int64_t>(dims.size());
  if (word == "one")
    return rank == 0 || (rank == 1 && dims[0].asConstant().value_or(1) == 1);
  SmallVector<StringRef, 2> choices;
  word.split(choices, '|');
  return llvm::any_of(choices, [&](StringRef choice) {
    const bool isLeast = choice.consume_back("+");
    int64_t wanted = 0;
    return choice == "*" || (!choice.getAsInteger(10, wanted) &&
                             (isLeast ? rank >= wanted : rank == wanted));
  });
}

/// For people: "0|1" is "0 or 1 dims", "3+" is "3 or more dims".
static std::string rankText(StringRef word) {
  if (word == "one")
    return "a single element";
  std::string text;
  for (char c : word)
    text += c == '|' ? " or " : c == '+' ? " or more" : std::string(1, c);
  return text + (word == "1" ? " dim" : " dims");
}

/// Only a sequence has no type where it is read.
LogicalResult ShapeInference::checkOperands(OnnxOp op) {
  SmallVector<StringRef, 8> ranks;
  op.ranks().split(ranks, ' ');
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!ShapeInference::isPresent(operand))
      continue;
    if (!ShapeInference::hasType(operand)) {
      if (op->hasTrait<TakesSequences>())
        continue;
      return op->emitOpError("has a sequence as operand ")
             << i << ", expected a tensor";
    }
    const StringRef wanted = ranks[std::min<size_t>(i, ranks.size() - 1)];
    if (!hasRank(dist::getDims(operand.getType()), wanted))
      return op->emitOpError("has operand ")
             << i << " of " << operand.getType() << ", expected "
             << rankText(wanted);
  }
  return success();
}

LogicalResult checkNumbers(Operation *op, StringRef name,
                           ArrayRef<int64_t> numbers) {
  constexpr int64_t kFarthest = int64_t{1} << 30;
  for (int64_t number : numbers)
    if (number < -kFarthest || number > kFarthest)
      return op->emitOpError("has ")
             << name << " of " << number << ", expected numbers from "
             << -kFarthest << " to " << kFarthest;
  return success();
}

/// Places along a dim may be any, as they are clamped to it; so may a seed. What
/// an op without operands says is what it holds: the place of a weight.
static LogicalResult checkAttributes(Operation *op) {
  if (op->getNumOperands() == 0)
    return success();
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    if (llvm::is_contained({"start", "end", "starts", "ends", "steps", "seed"},
                           name))
      continue;
    SmallVector<int64_t> numbers;
    if (auto number = dyn_cast<IntegerAttr>(attribute.getValue()))
      numbers.push_back(number.getValue().getSExtValue());
    if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute.getValue()))
      llvm::append_range(numbers, list.asArrayRef());
    if (failed(checkNumbers(op, name, numbers)))
      return failure();
  }
  return success();
}

LogicalResult ShapeInference::inferOps(ArrayRef<Operation *> ops) {
  Operation *outer = current;
  for (Operation *op : ops) {
    current = op;
    if (auto onnxOp = dyn_cast<OnnxOp>(op))
      if (failed(checkOperands(onnxOp)) || failed(checkAttributes(op)) ||
          failed(op->hasTrait<IsReplaced>() ? inferReplaced(onnxOp, *this)
                                            : onnxOp.inferTypes(*this)) ||
          isRefused || failed(checkSizes(op)))
        return failure();
  }
  current = outer;
  return success();
}

LogicalResult ShapeInference::inferBlock(Block &block) {
  return inferOps(
      llvm::map_to_vector(block, [](Operation &op) { return &op; }));
}

static bool bindsSymbols(Operation &op) {
  return isa<ReadSizesOp>(op) || op.getNumRegions() > 0;
}

static llvm::StringSet<> symbolsBoundIn(Block &block) {
  llvm::StringSet<> bound;
  for (Operation &op : block)
    if (bindsSymbols(op))
      forEachSize(&op, [&](DimExpr size) {
        if (std::optional<StringRef> name = size.asSymbol())
          bound.insert(*name);
      });
  return bound;
}

LogicalResult ShapeInference::inferBody(Region &body) {
  const size_t first = assumed.size();
  auto outerKeys = assumedKeys;
  auto outerEqualities = equalities;
  auto outerBounds = lowerBounds;
  Scope here{&body, {}};
  Scope *outer = std::exchange(scope, &here);
  LogicalResult inferred = inferBlock(body.front());
  llvm::StringSet<> bound = symbolsBoundIn(body.front());
  if (succeeded(inferred) && hasEqualities()) {
    reshapeCaptures(body);
    for (Operation &op : body.front())
      simplifyTypes(op);
  }
  if (succeeded(inferred))
    insertGuards(body.front(), first, bound);
  scope = outer;
  for (Value value : here.learned)
    values.erase(value);
  assumed.truncate(first);
  assumedKeys = std::move(outerKeys);
  equalities = std::move(outerEqualities);
  lowerBounds = std::move(outerBounds);
  return inferred;
}

void ShapeInference::bindArguments(ArrayRef<BlockArgument> arguments,
                                   ValueRange operands) {
  for (auto [number, operand] : llvm::enumerate(operands)) {
    Value argument = arguments[number];
    argument.setType(operand.getType());
    if (const KnownValue *value = known(operand))
      setKnown(argument, KnownValue(*value));
  }
}

void ShapeInference::forget(Region &body) {
  body.walk([&](Block *block) {
    for (Value argument : block->getArguments())
      values.erase(argument);
    for (Operation &op : *block)
      for (Value result : op.getResults())
        values.erase(result);
  });
}

/// Values around a body, and its arguments, keep their types: others have them,
/// too.
void ShapeInference::reshapeCaptures(Region &body) {
  llvm::MapVector<Value, SmallVector<OpOperand *>> uses;
  body.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      bool isGiven =
          !body.isAncestor(value.getParentRegion()) ||
          (isa<BlockArgument>(value) && value.getParentRegion() == &body);
      if (isGiven && hasType(value))
        uses[value].push_back(&operand);
    }
  });
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&body.front());
  for (auto &[value, operands] : uses) {
    SmallVector<DimExpr, 4> simple = dims(value);
    if (simple == dist::getDims(value.getType()))
      continue;
    Value reshaped = ReshapeOp::create(builder, value.getLoc(),
                                       dist::makeType(element(value), simple),
                                       value, ValueRange{});
    keepKnown(value, reshaped);
    for (OpOperand *operand : operands)
      operand->set(reshaped);
  }
}

void ShapeInference::simplifyTypes(Operation &op) {
  auto simplifyType = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && dist::getValueAttr(type))
      setType(value, type.getElementType(), dims(value));
  };
  llvm::for_each(op.getResults(), simplifyType);
  for (NamedAttribute attribute : op.getAttrs())
    if (auto dims = dyn_cast<dist::DimsAttr>(attribute.getValue())) {
      SmallVector<DimExpr, 4> values;
      for (DimExpr value : dims.getValues())
        values.push_back(simplify(value));
      op.setAttr(attribute.getName(),
                 dist::DimsAttr::get(op.getContext(), values));
    }
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      llvm::for_each(block.getArguments(), simplifyType);
      for (Operation &inner : block)
        simplifyTypes(inner);
    }
}

/// The last op of the block that binds a symbol of these; null if none does.
static Operation *lastBinder(Block &block, DimExpr lhs, DimExpr rhs) {
  llvm::SmallDenseSet<StringRef> wanted;
  for (DimExpr side : {lhs, rhs})
    side.forEachSymbol([&](StringRef name, bool) { wanted.insert(name); });
  Operation *last = nullptr;
  for (Operation &op : block)
    if (bindsSymbols(op))
      forEachSize(&op, [&](DimExpr size) {
        size.forEachSymbol([&](StringRef name, bool) {
          last = wanted.contains(name) ? &op : last;
        });
      });
  return last;
}

/// What a body must check of an equality whose one side, a symbol, the other
/// one stands for in its types. Nothing if the op that binds the symbol does.
std::optional<std::pair<DimExpr, DimExpr>>
ShapeInference::equalityToCheck(const Assumption &assumption,
                                const llvm::StringSet<> &bound) const {
  DimExpr lhs = assumption.lhs, rhs = assumption.rhs;
  for (int side : {0, 1}) {
    std::optional<StringRef> symbol = lhs.asSymbol();
    if (symbol && equalities.contains(*symbol))
      return bound.contains(*symbol)
                 ? std::nullopt
                 : std::optional(std::make_pair(lhs, simplify(rhs)));
    if (side == 0)
      std::swap(lhs, rhs);
  }
  return std::make_pair(simplify(lhs), simplify(rhs));
}

void ShapeInference::insertGuards(Block &block, size_t first,
                                  const llvm::StringSet<> &bound) {
  MLIRContext *context = builder.getContext();
  OpBuilder::InsertionGuard keep(builder);
  builder.setInsertionPointToStart(&block);
  llvm::DenseSet<std::tuple<int, const void *, const void *>> seen;
  for (const Assumption &assumption : ArrayRef(assumed).drop_front(first)) {
    DimExpr lhs = simplify(assumption.lhs), rhs = simplify(assumption.rhs);
    if (scope && assumption.kind == GuardKind::Equal) {
      auto sides = equalityToCheck(assumption, bound);
      if (!sides)
        continue;
      std::tie(lhs, rhs) = *sides;
    } else if (!needsCheck(assumption)) {
      continue;
    }
    if (!seen.insert({int(assumption.kind), lhs.opaque(), rhs.opaque()}).second)
      continue;
    OpBuilder at = builder;
    if (Operation *binder = scope ? lastBinder(block, lhs, rhs) : nullptr)
      at.setInsertionPointAfter(binder);
    GuardOp::create(at, assumption.loc, dist::DimsAttr::get(context, lhs),
                    stringify(assumption.kind),
                    dist::DimsAttr::get(context, rhs), assumption.message);
  }
}

} // namespace shardc::onnx
