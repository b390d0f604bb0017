//===- Lowering.cpp - From local ops to calls on buffers ------------------===//

#include "passes/lower/Lowering.h"

#include "dialects/dist/NodeName.h"
#include "dialects/onnx/WholeSums.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::lower {

using dist::DimExpr;

Lowering::Lowering(rt::ProgramOp program, const dist::Mesh &mesh, Form form)
    : mesh(mesh), isForHost(form.isForHost), isInOrder(form.isInOrder),
      program(program), builder(program.getContext()) {
  Block &body = program.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&body);
  ready = rt::ReadyOp::create(builder, program.getLoc());
}

LogicalResult Lowering::lower(Operation *op) {
  if (auto lowerable = dyn_cast<LowerableOp>(op))
    return lowerable.lower(*this);
  return op->emitError("is not of phase partitioned");
}

LogicalResult Lowering::lowerBody(Block &body) {
  for (Operation &op : body.without_terminator())
    if (failed(lower(&op)))
      return failure();
  return success();
}

OpBuilder &Lowering::atRun() {
  builder.setInsertionPointToEnd(&program.getBody().front());
  return builder;
}

OpBuilder &Lowering::atLoad() {
  builder.setInsertionPoint(ready);
  return builder;
}

ValueView Lowering::view(Value value) const { return values.lookup(value); }

void Lowering::bind(Value value, ValueView view) {
  values[value] = std::move(view);
}

void Lowering::bindWindow(Value result, const ValueView &view,
                          StridedLayout layout) {
  ValueView window = view.with(std::move(layout));
  window.element = cast<RankedTensorType>(result.getType()).getElementType();
  window.isReplicated = dist::getSharding(result.getType()).isReplicated();
  // A window whose place depends on an input's size exists at run time only.
  window.isLoadTime &= !dependsOnInputs(window.layout.dims) &&
                       !dependsOnInputs({window.layout.offset});
  bind(result, window);
}

Sizes Lowering::localDims(Value value) {
  dist::ValueAttr encoding = dist::getValueAttr(value.getType());
  if (encoding && encoding.getHasLocal())
    return Sizes(encoding.getLocal());
  return dist::getDims(value.getType());
}

dist::ValueAttr Lowering::encodingOf(Type type) {
  if (dist::ValueAttr encoding = dist::getValueAttr(type))
    return encoding;
  // In a body of control flow, which every rank runs whole.
  return dist::getValueAttr(
      dist::withSharding(cast<RankedTensorType>(type),
                         dist::Sharding::replicated(dist::getDims(type))));
}

bool Lowering::dependsOnInputs(ArrayRef<DimExpr> sizes) const {
  bool depends = false;
  for (DimExpr size : sizes)
    size.forEachSymbol(
        [&](StringRef, bool isCoordinate) { depends |= !isCoordinate; });
  return depends;
}

static Sizes cacheRoom(const Sizes &dims, const Cache &cache) {
  return cache.dim ? Sizes(rt::cacheRoom(dims, *cache.dim)) : dims;
}

StridedLayout Lowering::cacheLayout(const Sizes &dims, const Cache &cache) {
  StridedLayout layout = StridedLayout::contiguous(cacheRoom(dims, cache));
  if (cache.isDimFirst)
    layout.strides = rt::stridesWithFirst(dims, *cache.dim);
  layout.dims = dims;
  return layout;
}

ValueView Lowering::allocateCache(Location loc, Value present,
                                  const Cache &cache) {
  auto type = cast<RankedTensorType>(present.getType());
  OpBuilder &b = atRun();
  Sizes dims = localDims(present);
  DimExpr bytes = dist::product(cacheRoom(dims, cache)) *
                  rt::elementBytes(type.getElementType());
  auto alloc = rt::AllocOp::create(b, loc, b.getType<rt::BufferType>(),
                                   dist::DimsAttr::get(b.getContext(), {bytes}),
                                   /*persistent=*/false);
  addCacheOp(loc, alloc, cache);
  return {alloc, type.getElementType(), cacheLayout(dims, cache),
          /*isLoadTime=*/false, dist::getSharding(type).isReplicated()};
}

void Lowering::addCacheOp(Location loc, Value buffer, const Cache &cache) {
  OpBuilder &b = atRun();
  rt::CacheOp::create(
      b, loc, buffer, cache.kind, b.getI64IntegerAttr(cache.input),
      b.getI64IntegerAttr(cache.output),
      cache.dim ? b.getI64IntegerAttr(*cache.dim) : IntegerAttr());
}

ValueView Lowering::allocate(Operation *op, Value result) {
  auto type = cast<RankedTensorType>(result.getType());
  auto cache = caches.find(op);
  ValueView view = cache != caches.end()
                       ? allocateCache(op->getLoc(), result, cache->second)
                       : allocate(op, type.getElementType(), localDims(result),
                                  dist::getSharding(type).isReplicated());
  bind(result, view);
  return view;
}

ValueView Lowering::allocateAtRun(Operation *op, Value result) {
  auto type = cast<RankedTensorType>(result.getType());
  ValueView view =
      allocateAt(op->getLoc(), type.getElementType(), localDims(result),
                 /*isLoadTime=*/false, dist::getSharding(type).isReplicated());
  bind(result, view);
  return view;
}

ValueView Lowering::allocateAtRun(Operation *op, Type element, Sizes dims) {
  return allocateAt(op->getLoc(), element, std::move(dims),
                    /*isLoadTime=*/false, /*isReplicated=*/true);
}

ValueView Lowering::constant(Operation *op, DenseElementsAttr elements) {
  auto type = cast<RankedTensorType>(elements.getType());
  OpBuilder &b = atLoad();
  auto buffer = rt::ConstantOp::create(
      b, op->getLoc(), b.getType<rt::BufferType>(), elements, encodingOf(type));
  return {buffer, type.getElementType(),
          StridedLayout::contiguous(dist::getDims(type)), /*isLoadTime=*/true,
          /*isReplicated=*/true};
}

ValueView Lowering::allocate(Operation *op, Type element, Sizes dims,
                             bool isReplicated) {
  bool isLoadTime = !dependsOnInputs(dims) && op->getNumOperands() > 0 &&
                    !op->hasTrait<OpTrait::IsTerminator>();
  for (Value operand : op->getOperands())
    if (!isa<NoneType>(operand.getType()))
      isLoadTime &= view(operand).isLoadTime;
  return allocateAt(op->getLoc(), element, std::move(dims), isLoadTime,
                    isReplicated);
}

ValueView Lowering::allocateAt(Location loc, Type element, Sizes dims,
                               bool isLoadTime, bool isReplicated) {
  OpBuilder &b = isLoadTime ? atLoad() : atRun();
  DimExpr bytes = rt::storageBytes(element, dist::product(dims));
  auto alloc = rt::AllocOp::create(b, loc, b.getType<rt::BufferType>(),
                                   dist::DimsAttr::get(b.getContext(), {bytes}),
                                   isLoadTime);
  return {alloc, element, StridedLayout::contiguous(dims), isLoadTime,
          isReplicated};
}

ValueView Lowering::contiguous(Operation *op, const ValueView &view) {
  if (view.layout.isContiguous())
    return view;
  ValueView copied = allocateAt(op->getLoc(), view.element, view.layout.dims,
                                view.isLoadTime, view.isReplicated);
  copy(op, view, copied);
  return copied;
}

ValueView Lowering::summands(Operation *op, Value operand) {
  return isInOrder ? contiguous(op, view(operand)) : view(operand);
}

Value Lowering::viewOp(const ValueView &view, OpBuilder &b, Location loc) {
  if (view.isAbsent()) {
    if (!absent) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&program.getBody().front());
      absent = rt::AbsentOp::create(b, loc, b.getNoneType());
    }
    return absent;
  }
  const StridedLayout &layout = view.layout;
  auto type =
      rt::ViewType::get(b.getContext(), view.element, layout.dims,
                        layout.strides, layout.offset, view.isReplicated);
  Value &made = viewOps[{view.buffer, type}];
  if (!made) {
    // Right behind the buffer, where both load and run see it.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(view.buffer);
    made = rt::ViewOp::create(b, loc, type, view.buffer);
  }
  return made;
}

void Lowering::call(Operation *op, StringRef kernel, ArrayRef<ValueView> inputs,
                    ArrayRef<ValueView> outputs, Config config) {
  bool isLoadTime =
      llvm::all_of(outputs, [](const ValueView &v) { return v.isLoadTime; });
  OpBuilder &b = isLoadTime ? atLoad() : atRun();
  SmallVector<Value, 4> inputOps, outputOps;
  for (const ValueView &input : inputs)
    inputOps.push_back(viewOp(input, b, op->getLoc()));
  for (const ValueView &output : outputs)
    outputOps.push_back(viewOp(output, b, op->getLoc()));
  rt::CallOp::create(b, op->getLoc(), b.getStringAttr(kernel), inputOps,
                     outputOps, b.getDictionaryAttr(config));
}

rt::CollectiveOp Lowering::collective(Operation *op, StringRef kernel,
                                      const ValueView &input,
                                      const ValueView &output,
                                      dist::AxesAttr axes,
                                      const ValueView *choices) {
  OpBuilder &b = output.isLoadTime ? atLoad() : atRun();
  Value from = viewOp(input, b, op->getLoc());
  Value by = choices ? viewOp(*choices, b, op->getLoc()) : Value();
  Value to = viewOp(output, b, op->getLoc());
  return rt::CollectiveOp::create(
      b, op->getLoc(), b.getStringAttr(kernel), from, by, to, axes,
      IntegerAttr(), StringAttr(), IntegerAttr(), dist::ValueAttr(),
      IntegerAttr(), dist::ValueAttr(), IntegerAttr(), IntegerAttr(),
      op->getAttrOfType<StringAttr>("why"));
}

void Lowering::send(Operation *op, const ValueView &view, IntegerAttr stage,
                    IntegerAttr transfer) {
  OpBuilder &b = atRun();
  rt::SendOp::create(b, op->getLoc(), viewOp(view, b, op->getLoc()), stage,
                     transfer);
}

void Lowering::receive(Operation *op, const ValueView &view, IntegerAttr stage,
                       IntegerAttr transfer) {
  OpBuilder &b = atRun();
  rt::ReceiveOp::create(b, op->getLoc(), viewOp(view, b, op->getLoc()), stage,
                        transfer);
}

void Lowering::readSizes(Operation *op, const ValueView &view,
                         dist::DimsAttr sizes) {
  OpBuilder &b = atRun();
  rt::ReadSizesOp::create(b, op->getLoc(), viewOp(view, b, op->getLoc()),
                          sizes);
}

Lowering::Config Lowering::attributes(Operation *op,
                                      ArrayRef<StringRef> names) {
  Config config;
  for (StringRef name : names)
    if (Attribute attribute = op->getAttr(name))
      config.emplace_back(StringAttr::get(op->getContext(), name), attribute);
  return config;
}

Lowering::Config Lowering::order(Operation *op, ArrayRef<StringRef> names) {
  Config config = attributes(op, names);
  if (isInOrder)
    config.push_back(ints("in_order", {1}));
  return config;
}

NamedAttribute Lowering::scalars(StringRef name, ArrayRef<DimExpr> values) {
  return {builder.getStringAttr(name),
          dist::DimsAttr::get(builder.getContext(), values)};
}

NamedAttribute Lowering::ints(StringRef name, ArrayRef<int64_t> values) {
  return {builder.getStringAttr(name), builder.getDenseI64ArrayAttr(values)};
}

void Lowering::end(Operation *op) {
  --depth;
  rt::EndOp::create(atRun(), op->getLoc());
}

void Lowering::setSizes(Operation *op, ArrayRef<DimExpr> symbols,
                        ArrayRef<DimExpr> values) {
  OpBuilder &b = atRun();
  rt::SetSizesOp::create(b, op->getLoc(),
                         dist::DimsAttr::get(b.getContext(), symbols),
                         dist::DimsAttr::get(b.getContext(), values));
}

void Lowering::guard(Operation *op, DimExpr lhs, StringRef kind, DimExpr rhs,
                     StringRef message) {
  OpBuilder &b = atRun();
  auto dims = [&](DimExpr size) {
    return dist::DimsAttr::get(b.getContext(), size);
  };
  // Between brackets a guard holds where it stands.
  bool standsInBody = depth > 0 || isa<onnx::LoopOp>(op);
  if (!standsInBody) {
    rt::GuardOp::create(b, op->getLoc(), dims(lhs), b.getStringAttr(kind),
                        dims(rhs), b.getStringAttr(message));
    return;
  }
  rt::CallOp::create(
      b, op->getLoc(), b.getStringAttr("Guard"), ValueRange(), ValueRange(),
      b.getDictionaryAttr({{"lhs", dims(lhs)},
                           {"rhs", dims(rhs)},
                           {"kind", b.getStringAttr(kind)},
                           {"message", b.getStringAttr(message)}}));
}

void Lowering::bindSymbols(ArrayRef<DimExpr> sizes) {
  for (DimExpr size : sizes)
    size.forEachSymbol([&](StringRef name, bool) { bound.insert(name); });
}

DimExpr Lowering::newSymbol(Operation *op, const Twine &what) {
  // No size of a model has such a name: ONNX's are identifiers.
  return DimExpr::symbol(
      (what + " of " + nodeName(op, "a loop") + " #" + Twine(numSymbols++))
          .str());
}

namespace {

/// Which brackets of a program stand around an op.
class Brackets {
public:
  explicit Brackets(Block &body) {
    SmallVector<Operation *> open;
    for (Operation &op : body) {
      if (isa<rt::EndOp>(op))
        ends[open.pop_back_val()] = &op;
      around[&op] = open.empty() ? nullptr : open.back();
      if (isa<rt::IfOp, rt::LoopOp>(op))
        open.push_back(&op);
    }
  }

  /// The op itself, or the end of the outermost brackets around it that do not
  /// stand around `other` as well.
  Operation *beside(Operation *op, Operation *other) const {
    llvm::DenseSet<Operation *> common;
    for (Operation *b = around.lookup(other); b; b = around.lookup(b))
      common.insert(b);
    Operation *bracket = around.lookup(op);
    for (; bracket && !common.contains(bracket);
         bracket = around.lookup(bracket))
      op = ends.lookup(bracket);
    return op;
  }

private:
  llvm::DenseMap<Operation *, Operation *> around, ends;
};

} // namespace

void Lowering::freeBuffers() {
  Block &body = program.getBody().front();
  llvm::DenseMap<Operation *, unsigned> order;
  for (auto [number, op] : llvm::enumerate(body))
    order[&op] = number;
  Brackets brackets(body);
  SmallVector<std::pair<Operation *, rt::AllocOp>> lastUses;
  for (auto alloc : llvm::make_early_inc_range(body.getOps<rt::AllocOp>())) {
    if (alloc->use_empty()) {
      alloc->erase();
      continue;
    }
    if (alloc.getPersistent())
      continue;
    Operation *last = alloc;
    bool isOutput = false;
    for (Operation *view : alloc->getUsers())
      for (Operation *user : view->getUsers()) {
        isOutput |= isa<rt::OutputOp>(user);
        last = order[user] > order[last] ? user : last;
      }
    if (!isOutput)
      // A loop may come back to where the buffer is used.
      lastUses.emplace_back(brackets.beside(last, alloc), alloc);
  }
  for (auto [last, alloc] : lastUses) {
    builder.setInsertionPointAfter(last);
    rt::FreeOp::create(builder, alloc.getLoc(), alloc);
  }
}

} // namespace shardc::lower
