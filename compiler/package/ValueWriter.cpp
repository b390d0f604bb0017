#include "compiler/package/ValueWriter.h"

#include "compiler/package/ElementTypes.h"

using namespace mlir;

namespace shardc::package {

using dist::DimExpr;

static DimExpr localBytes(dist::ValueAttr value, Type element) {
  return rt::storageBytes(
      element,
      dist::product(value.getHasLocal() ? value.getLocal() : value.getDims()));
}

void ValueWriter::addBuffer(Value value, BufferEntry entry) {
  bufferNumbers[value] = entries.size();
  entries.push_back(entry);
}

LogicalResult ValueWriter::addInput(rt::InputOp op) {
  auto type = elementType(op, op.getElement());
  auto given = elementType(op, op.getGiven().value_or(op.getElement()));
  if (failed(type) || failed(given))
    return failure();
  for (auto [d, size] : llvm::enumerate(op.getValue().getDims()))
    if (std::optional<StringRef> symbol = size.asSymbol())
      symbolSources.try_emplace(*symbol, inputs.size(), d);
  dist::ValueAttr value = op.getValue();
  const SmallVector<DimExpr, 4> dims(value.getHasLocal() ? value.getLocal()
                                                         : value.getDims());
  SmallVector<DimExpr, 4> room = dims, strides;
  if (op.getCacheDim())
    room = rt::cacheRoom(dims, *op.getCacheDim());
  if (op.getDimFirst())
    strides = rt::stridesWithFirst(dims, *op.getCacheDim());
  addBuffer(op.getBuffer(), {artifact::BufferKind_Input,
                             tables.scalar(dist::product(room) *
                                           rt::elementBytes(op.getElement())),
                             static_cast<uint32_t>(inputs.size())});
  // The API needs one whole view of each input.
  uint32_t view =
      makeView(*type, bufferNumbers[op.getBuffer()], dims, strides, 0,
               !value.getSharding() || value.getSharding()->isReplicated());
  inputs.push_back(artifact::CreateInput(
      builder, builder.CreateString(op.getName().str()), *given,
      tables.scalarList(value.getDims()), tables.layout(value), view));
  return success();
}

LogicalResult ValueWriter::addStored(Value buffer, uint32_t file,
                                     uint64_t offset, uint64_t length,
                                     Type element, dist::ValueAttr value) {
  auto type = elementType(buffer.getDefiningOp(), element);
  if (failed(type))
    return failure();
  std::vector<int64_t> dims;
  for (DimExpr size : value.getDims()) {
    if (!size.asConstant())
      return buffer.getDefiningOp()->emitError("weight of unknown size");
    dims.push_back(*size.asConstant());
  }
  addBuffer(buffer, {artifact::BufferKind_Weight,
                     tables.scalar(localBytes(value, element)),
                     static_cast<uint32_t>(weights.size())});
  weights.push_back(artifact::CreateWeight(
      builder, builder.CreateString(names.lookup(buffer.getDefiningOp())), file,
      offset, length, *type, builder.CreateVector(dims), tables.layout(value)));
  return success();
}

LogicalResult ValueWriter::addConstant(rt::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getElements());
  if (!elements)
    return op.emitError("has elements that are not stored densely");
  std::string bytes = bytesOf(elements);
  return addStored(op.getBuffer(), FileTable::kConstants, files.placeOf(bytes),
                   bytes.size(), elements.getElementType(), op.getValue());
}

void ValueWriter::addAlloc(rt::AllocOp op) {
  BufferEntry entry{op.getPersistent() ? artifact::BufferKind_Persistent
                                       : artifact::BufferKind_Arena,
                    tables.scalar(op.getBytes().getValues()[0])};
  if (!op.getPersistent()) {
    entry.firstUse = numbers.last();
    for (Operation *view : op->getUsers())
      for (Operation *user : view->getUsers()) {
        // An output stays until the request is over.
        if (isa<rt::OutputOp>(user))
          entry.lastUse = numbers.last();
        if (!InstructionNumbers::isInstruction(*user))
          continue;
        entry.firstUse = std::min(entry.firstUse, numbers.of(user));
        entry.lastUse = std::max(entry.lastUse, numbers.of(user));
      }
  }
  addBuffer(op.getBuffer(), entry);
}

/// In the order of their inputs, which is the same in all programs.
void ValueWriter::addCache(rt::CacheOp op) {
  auto all =
      op->getParentOfType<rt::ProgramOp>().getBody().getOps<rt::CacheOp>();
  const auto number = llvm::count_if(
      all, [&](rt::CacheOp o) { return o.getInput() < op.getInput(); });
  const uint32_t buffer = bufferNumbers[op.getBuffer()];
  const artifact::CacheKind kind =
      op.getKind() == "append"  ? artifact::CacheKind_Append
      : op.getKind() == "set"   ? artifact::CacheKind_Set
      : op.getKind() == "write" ? artifact::CacheKind_Write
                                : artifact::CacheKind_Keep;
  if (kind != artifact::CacheKind_Keep) {
    entries[buffer].kind = artifact::BufferKind_Cache;
    entries[buffer].source = number;
  }
  caches.resize(std::distance(all.begin(), all.end()));
  caches[number] =
      artifact::CreateCachePair(builder, op.getInput(), op.getOutput(),
                                op.getDim().value_or(-1), buffer, kind);
}

uint32_t ValueWriter::makeView(artifact::ElementType type, uint32_t buffer,
                               ArrayRef<DimExpr> dims,
                               ArrayRef<DimExpr> strides, DimExpr offset,
                               bool replicated) {
  SmallVector<DimExpr, 4> contiguous(dims.size());
  DimExpr stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    contiguous[d] = stride;
    stride = stride * dims[d];
  }
  if (strides.empty())
    strides = contiguous;
  views.push_back(artifact::CreateView(
      builder, buffer, type, tables.scalarList(dims),
      tables.scalarList(strides), tables.scalar(offset), replicated));
  return views.size() - 1;
}

LogicalResult ValueWriter::addView(rt::ViewOp op) {
  rt::ViewType view = op.getView().getType();
  auto type = elementType(op, view.getElement());
  if (failed(type))
    return failure();
  viewNumbers[op.getView()] =
      makeView(*type, bufferNumbers[op.getBuffer()], view.getDims(),
               view.getStrides(), view.getOffset(), view.getReplicated());
  return success();
}

std::vector<int32_t> ValueWriter::viewList(ValueRange values) const {
  std::vector<int32_t> list;
  for (Value value : values)
    list.push_back(isa<NoneType>(value.getType())
                       ? -1
                       : static_cast<int32_t>(viewNumbers.lookup(value)));
  return list;
}

LogicalResult ValueWriter::addOutput(rt::OutputOp op) {
  auto given = elementType(
      op, op.getGiven().value_or(
              cast<rt::ViewType>(op.getView().getType()).getElement()));
  if (failed(given))
    return failure();
  outputs.push_back(artifact::CreateOutput(
      builder, builder.CreateString(op.getName().str()), *given,
      tables.scalarList(op.getValue().getDims()), tables.layout(op.getValue()),
      viewNumbers[op.getView()], op.getIndex()));
  return success();
}

LogicalResult ValueWriter::addWeight(rt::WeightOp op) {
  return addStored(op.getBuffer(), files.indexOf(op.getFile()), op.getOffset(),
                   op.getLength(), op.getElement(), op.getValue());
}

void ValueWriter::addJoin(rt::JoinOp op) {
  std::vector<uint32_t> numbers;
  DimExpr bytes = 0;
  for (Value buffer : op.getWeights()) {
    auto weight = buffer.getDefiningOp<rt::WeightOp>();
    numbers.push_back(entries[bufferNumbers[buffer]].source);
    bytes = bytes + localBytes(weight.getValue(), weight.getElement());
  }
  addBuffer(op.getBuffer(), {artifact::BufferKind_Joined, tables.scalar(bytes),
                             static_cast<uint32_t>(joins.size())});
  joins.push_back(artifact::CreateJoin(builder, builder.CreateVector(numbers),
                                       static_cast<uint32_t>(op.getDim())));
}

void ValueWriter::finish() {
  for (const BufferEntry &buffer : entries)
    buffers.push_back(artifact::CreateBuffer(builder, buffer.kind, buffer.bytes,
                                             buffer.source, buffer.firstUse,
                                             buffer.lastUse));
}

} // namespace shardc::package
