#include "passes/import/rows/StaticCaches.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/layout/IndexForm.h"
#include "passes/import/rows/PlaceDims.h"
#include "passes/import/rows/StaticTrial.h"
#include "passes/import/rows/StaticWrite.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

namespace {

struct StaticCache {
  unsigned output;
  StaticWrite write;
};

std::vector<StaticCache> findStaticCaches(func::FuncOp function) {
  std::vector<StaticCache> found;
  llvm::SmallDenseSet<Value> seen; // one output has what was written
  for (OpOperand &output : function.front().getTerminator()->getOpOperands())
    if (auto write = findStaticWrite(output.get());
        write && seen.insert(write->past).second)
      found.push_back({output.getOperandNumber(), *write});
  return found;
}

/// The inputs that a value is computed from.
llvm::SetVector<BlockArgument> inputsOf(Value value) {
  llvm::SetVector<BlockArgument> inputs;
  llvm::SetVector<Value> all;
  all.insert(value);
  for (size_t i = 0; i < all.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(all[i]))
      inputs.insert(argument);
    else if (isa<TensorType>(all[i].getType()))
      all.insert(all[i].getDefiningOp()->operand_begin(),
                 all[i].getDefiningOp()->operand_end());
  }
  return inputs;
}

class Growing {
public:
  Growing(func::FuncOp function, std::vector<StaticCache> caches,
          StaticSizes sizes)
      : function(function), caches(std::move(caches)), sizes(sizes),
        builder(function.getContext()) {}

  /// Without a look at what it computes; `places` say where the new positions
  /// are.
  LogicalResult grow(ArrayRef<BlockArgument> places) {
    if (failed(findDims()))
      return failure();
    SmallVector<Value> counted;
    for (Operation &op : function.front())
      if (isa<ConstantOp, WeightOp>(op) && dims->hasPlaces(op.getResult(0)))
        counted.push_back(op.getResult(0));
    for (Value value : counted)
      if (failed(count(value)))
        return failure();
    setTypes();
    for (BlockArgument input : places)
      replacePlaces(input);
    for (const StaticCache &cache : caches)
      append(cache);
    limit();
    function.setType(FunctionType::get(
        function.getContext(), function.front().getArgumentTypes(),
        function.front().getTerminator()->getOperandTypes()));
    return success();
  }

  const PlaceDims &placeDims() const { return *dims; }

private:
  LogicalResult findDims() {
    llvm::DenseSet<Operation *> apart;
    for (const StaticCache &cache : caches)
      apart.insert(cache.write.scatter);
    dims.emplace(function, apart);
    for (const StaticCache &cache : caches) {
      const auto &order = cache.write.order;
      dims->add(cache.write.scatter->getResult(0),
                llvm::find(order, cache.write.axis) - order.begin());
    }
    dims->close();
    const PlaceDims::Problem problem = dims->findProblem();
    return problem.op ? problem.op->emitError("has no place in a step of rows "
                                              "of different lengths: ")
                            << problem.why
                      : success();
  }

  Dims grown(Value value) const {
    Dims to = dimsOf(value);
    for (auto [d, dim] : llvm::enumerate(to))
      if (dims->isPlace(value, int64_t(d)))
        dim = sizes.past + sizes.count;
    return to;
  }

  /// A constant as one of as many places as there are.
  LogicalResult count(Value value) {
    Operation *op = value.getDefiningOp();
    builder.setInsertionPoint(op);
    const Type element = elementOf(value);
    const Type type = dist::makeType(element, grown(value));
    auto constant = dyn_cast<ConstantOp>(op);
    auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                             : DenseElementsAttr();
    Value made;
    if (elements && elements.isSplat()) {
      auto scalar = RankedTensorType::get({}, element);
      Value one = ConstantOp::create(
          builder, op->getLoc(), scalar,
          DenseElementsAttr::get(scalar, elements.getSplatValue<Attribute>()));
      made = ExpandOp::create(builder, op->getLoc(), type, one, ValueRange{});
    } else if (const auto form = indexFormOf(value); constant && form) {
      made = counting(value, *form);
    }
    if (!made)
      return op->emitError("has no place in a step of rows of different "
                           "lengths: it says something of each place of a "
                           "cache, and of no others");
    replacements.emplace_back(value, made);
    return success();
  }

  Value counting(Value value, const IndexForm &form) {
    DimExpr step(int64_t(0));
    for (auto [d, coefficient] : llvm::enumerate(form.coefficients)) {
      if (coefficient.isConstant(0))
        continue;
      if (!dims->isPlace(value, int64_t(d)))
        return {};
      step = coefficient;
    }
    const Location loc = value.getLoc();
    auto bounds =
        dist::DimsAttr::get(builder.getContext(), {form.offset, step});
    Value range = RangeOp::create(
        builder, loc,
        dist::makeType(elementOf(value), {sizes.past + sizes.count}),
        ValueRange{}, bounds);
    return reshaped(builder, loc, range, grown(value));
  }

  void setTypes() {
    for (auto [from, to] : replacements)
      from.replaceAllUsesWith(to);
    auto set = [&](Value value) {
      if (dims->hasPlaces(value))
        value.setType(dist::makeType(elementOf(value), grown(value)));
    };
    llvm::for_each(function.getArguments(), set);
    for (Operation &op : function.front())
      if (!isMade(&op))
        llvm::for_each(op.getResults(), set);
  }

  /// Made after dims were numbered.
  bool isMade(Operation *op) const {
    return llvm::any_of(replacements, [&](const auto &pair) {
      Operation *made = pair.second.getDefiningOp();
      return op == made || (made->getNumOperands() == 1 &&
                            op == made->getOperand(0).getDefiningOp());
    });
  }

  /// The new positions follow those that the caches hold.
  void replacePlaces(BlockArgument places) {
    builder.setInsertionPointToStart(&function.front());
    const Location loc = places.getLoc();
    const Type element = elementOf(places);
    const Dims to = dimsOf(places);
    Dims ones(to.size(), DimExpr(1));
    auto counts = llvm::find(to, sizes.count);
    Value value;
    if (counts == to.end()) {
      value = SymbolsOp::create(
          builder, loc, dist::makeType(element, {DimExpr(1)}),
          dist::DimsAttr::get(builder.getContext(), {sizes.past}));
    } else {
      value = RangeOp::create(
          builder, loc, dist::makeType(element, {sizes.count}), ValueRange{},
          dist::DimsAttr::get(builder.getContext(), {sizes.past, DimExpr(1)}));
      ones[counts - to.begin()] = sizes.count;
    }
    value = reshaped(builder, loc, value, ones);
    if (ones != to)
      value = ExpandOp::create(builder, loc, dist::makeType(element, to), value,
                               ValueRange{});
    places.replaceAllUsesWith(value);
  }

  void append(const StaticCache &cache) {
    StaticWrite write = cache.write;
    builder.setInsertionPoint(write.scatter);
    const Location loc = write.scatter->getLoc();
    Dims past = dimsOf(write.past), present = past;
    past[write.axis] = sizes.past;
    present[write.axis] = sizes.past + sizes.count;
    write.past.setType(dist::makeType(elementOf(write.past), past));
    SmallVector<int64_t> back(write.order.size());
    for (auto [d, of] : llvm::enumerate(write.order))
      back[of] = int64_t(d);
    Value added = transposed(builder, loc, write.added, back);
    Value joined = ConcatOp::create(
        builder, loc, dist::makeType(elementOf(write.past), present),
        ValueRange{write.past, added}, write.axis);
    Value asWritten = transposed(
        builder, loc, joined,
        SmallVector<int64_t>(write.order.begin(), write.order.end()));
    Value written = write.scatter->getResult(0);
    for (Operation *user : llvm::make_early_inc_range(written.getUsers()))
      if (auto back = dyn_cast<TransposeOp>(user); back && back.getPerm())
        back.getResult().replaceAllUsesWith(
            transposed(builder, loc, asWritten, *back.getPerm()));
    written.replaceAllUsesWith(asWritten);
    function.front().getTerminator()->setOperand(cache.output, joined);
    FunctionInfo(function).setCache({builder.getStringAttr("append"),
                                     write.past.getArgNumber(), cache.output,
                                     write.axis});
  }

  /// There is no place for more.
  void limit() {
    if (!sizes.room.asConstant())
      return;
    builder.setInsertionPointToStart(&function.front());
    auto of = [&](DimExpr size) {
      return dist::DimsAttr::get(builder.getContext(), {size});
    };
    GuardOp::create(builder, caches[0].write.scatter->getLoc(),
                    of(sizes.past + sizes.count), stringify(GuardKind::AtMost),
                    of(sizes.room),
                    "the model's caches have room for " + sizes.room.str() +
                        " positions");
  }

  func::FuncOp function;
  const std::vector<StaticCache> caches;
  const StaticSizes sizes;
  OpBuilder builder;
  std::optional<PlaceDims> dims;
  SmallVector<std::pair<Value, Value>> replacements;
};

InFlightDiagnostic refuse(func::FuncOp function) {
  return function.emitError("has no step of rows: ");
}

/// Of all caches the same; nothing after an error.
std::optional<StaticSizes> sizesOf(func::FuncOp function,
                                   ArrayRef<StaticCache> caches) {
  std::optional<StaticSizes> sizes;
  for (const StaticCache &cache : caches) {
    const StaticWrite &write = cache.write;
    const Dims past = dimsOf(write.past), added = dimsOf(write.added);
    StaticSizes own{
        past[0], DimExpr::symbol("positions before those of a step"),
        added[llvm::find(write.order, write.axis) - write.order.begin()],
        past[write.axis]};
    const StringAttr name =
        FunctionInfo(function).inputName(write.past.getArgNumber());
    if (write.axis == 0 || !(own.count.asSymbol() || own.count.isConstant(1))) {
      refuse(function) << "into the cache of " << name << " it writes "
                       << own.count.str() << " positions along dim "
                       << write.axis
                       << ", expected any number, or one, behind dim 0";
      return std::nullopt;
    }
    if (sizes && (sizes->count != own.count || sizes->room != own.room)) {
      refuse(function) << "the cache of " << name
                       << " has other sizes than the first";
      return std::nullopt;
    }
    sizes = own;
  }
  return sizes;
}

/// The inputs that say where caches are written, one for all of them or each its
/// own; none after an error.
llvm::SetVector<BlockArgument> placesOf(func::FuncOp function,
                                        ArrayRef<StaticCache> caches) {
  llvm::SetVector<BlockArgument> inputs;
  for (const StaticCache &cache : caches)
    for (BlockArgument input : inputsOf(cache.write.places))
      inputs.insert(input);
  const bool areNumbers = llvm::all_of(inputs, [](BlockArgument input) {
    return isa<IntegerType>(elementOf(input));
  });
  if (inputs.empty() || !areNumbers) {
    refuse(function) << "no input of integers says where it writes into its "
                        "caches";
    inputs.clear();
  }
  return inputs;
}

} // namespace

bool hasStaticCaches(func::FuncOp function) {
  return !findStaticCaches(function).empty();
}

LogicalResult growStaticCaches(func::FuncOp function,
                               SmallVectorImpl<unsigned> &unused) {
  const std::vector<StaticCache> caches = findStaticCaches(function);
  if (caches.empty())
    return success();
  const std::optional<StaticSizes> sizes = sizesOf(function, caches);
  const auto places =
      sizes ? placesOf(function, caches) : llvm::SetVector<BlockArgument>();
  if (places.empty())
    return failure();
  for (BlockArgument input : places)
    unused.push_back(input.getArgNumber());
  IRMapping mapping;
  OwningOpRef<func::FuncOp> before(function.clone(mapping));
  StaticTrial trial(*before, *sizes, unused);
  for (const StaticCache &cache : caches)
    trial.writes(mapping.lookup(cache.write.places));
  Growing growing(function, caches, *sizes);
  if (failed(growing.grow(places.getArrayRef())) ||
      failed(trial.compare(function, mapping, growing.placeDims())))
    return failure();
  eraseDead(function.front());
  return success();
}

} // namespace shardc::import
