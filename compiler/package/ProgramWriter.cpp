//===- ProgramWriter.cpp - An rt.program as a FlatBuffer ------------------===//

#include "compiler/package/ProgramWriter.h"

#include "compiler/package/TableWriter.h"
#include "dialects/onnx/Profiles.h"

using namespace mlir;

namespace shardc::package {

using dist::DimExpr;
using flatbuffers::Offset;

std::optional<uint8_t> elementType(Type type) {
  if (type.isF32())
    return artifact::ElementType_Float32;
  if (type.isF64())
    return artifact::ElementType_Float64;
  if (type.isF16())
    return artifact::ElementType_Float16;
  if (type.isBF16())
    return artifact::ElementType_BFloat16;
  if (isa<Float8E4M3FNType>(type))
    return artifact::ElementType_Float8E4M3FN;
  if (isa<Float8E4M3FNUZType>(type))
    return artifact::ElementType_Float8E4M3FNUZ;
  if (isa<Float8E5M2Type>(type))
    return artifact::ElementType_Float8E5M2;
  if (isa<Float8E5M2FNUZType>(type))
    return artifact::ElementType_Float8E5M2FNUZ;
  if (isa<Float8E8M0FNUType>(type))
    return artifact::ElementType_Float8E8M0;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return artifact::ElementType_Bool;
  case 4:
    return isUnsigned ? artifact::ElementType_UInt4
                      : artifact::ElementType_Int4;
  case 8:
    return isUnsigned ? artifact::ElementType_UInt8
                      : artifact::ElementType_Int8;
  case 16:
    return isUnsigned ? artifact::ElementType_UInt16
                      : artifact::ElementType_Int16;
  case 32:
    return isUnsigned ? artifact::ElementType_UInt32
                      : artifact::ElementType_Int32;
  case 64:
    return isUnsigned ? artifact::ElementType_UInt64
                      : artifact::ElementType_Int64;
  default:
    return std::nullopt;
  }
}

uint32_t FileTable::indexOf(StringRef modelFile) {
  auto [it, isNew] = indices.try_emplace(modelFile, modelFiles.size() + 1);
  if (isNew)
    modelFiles.push_back(modelFile.str());
  return it->second;
}

uint64_t FileTable::placeOf(const std::string &bytes) {
  auto [it, isNew] = places.try_emplace(bytes);
  if (isNew) {
    // Aligned, so that the runtime can map instead of copy.
    constants.resize((constants.size() + 63) / 64 * 64);
    it->second = constants.size();
    constants += bytes;
  }
  return it->second;
}

namespace {

class ProgramWriter : private TableWriter {
public:
  ProgramWriter(rt::ProgramOp program, const dist::Mesh &mesh,
                const WeightNames &names, FileTable &files)
      : TableWriter(mesh), program(program), files(files), names(names) {}

  FailureOr<std::string> write() {
    numberInstructions();
    for (Operation &op : program.getBody().front())
      if (failed(add(op)))
        return failure();
    for (auto &buffer : buffers)
      bufferOffsets.push_back(artifact::CreateBuffer(
          builder, buffer.kind, buffer.bytes, buffer.source, buffer.firstUse,
          buffer.lastUse));
    if (failed(bindSymbols()))
      return failure();
    return finish();
  }

private:
  struct BufferEntry {
    artifact::BufferKind kind;
    uint32_t bytes, source = 0, firstUse = 0, lastUse = 0;
  };

  static bool isInstruction(Operation &op) {
    return isa<rt::CallOp, rt::CollectiveOp, rt::ReadSizesOp, rt::SetSizesOp,
               rt::IfOp, rt::ElseOp, rt::LoopOp, rt::EndOp, rt::SendOp,
               rt::ReceiveOp, rt::WaitOp>(op);
  }

  /// Lifetimes count the instructions after rt.ready.
  void numberInstructions() {
    bool isLoading = true;
    uint32_t number = 0;
    for (Operation &op : program.getBody().front()) {
      isLoading &= !isa<rt::ReadyOp>(op);
      if (isInstruction(op) && !isLoading)
        numbers[&op] = number++;
    }
    numRun = number;
  }

  LogicalResult add(Operation &op) {
    if (auto input = dyn_cast<rt::InputOp>(op))
      return addInput(input);
    if (auto weight = dyn_cast<rt::WeightOp>(op))
      return addWeight(weight.getBuffer(), files.indexOf(weight.getFile()),
                       weight.getOffset(), weight.getLength(),
                       weight.getElement(), weight.getValue());
    if (auto constant = dyn_cast<rt::ConstantOp>(op))
      return addConstant(constant);
    if (auto alloc = dyn_cast<rt::AllocOp>(op)) {
      addAlloc(alloc);
      return success();
    }
    if (auto cache = dyn_cast<rt::CacheOp>(op))
      addCache(cache);
    if (auto view = dyn_cast<rt::ViewOp>(op))
      return addView(view);
    if (auto call = dyn_cast<rt::CallOp>(op))
      return addCall(call);
    if (auto collective = dyn_cast<rt::CollectiveOp>(op)) {
      addCollective(collective);
      return success();
    }
    if (auto wait = dyn_cast<rt::WaitOp>(op)) {
      Offsets<artifact::Attribute> attributes;
      addNumber(attributes, artifact::kFlight, wait.getFlight());
      addInstruction(wait, artifact::kWait, wait.getInputs(), wait.getOutput(),
                     attributes, -1);
      return success();
    }
    if (auto read = dyn_cast<rt::ReadSizesOp>(op)) {
      addReadSizes(read);
      return success();
    }
    if (auto send = dyn_cast<rt::SendOp>(op))
      addTransfer(send, artifact::kSend, send.getView(), {});
    if (auto receive = dyn_cast<rt::ReceiveOp>(op))
      addTransfer(receive, artifact::kReceive, {}, receive.getView());
    if (auto set = dyn_cast<rt::SetSizesOp>(op)) {
      addSetSizes(set);
      return success();
    }
    if (isa<rt::IfOp, rt::ElseOp, rt::LoopOp, rt::EndOp>(op)) {
      // The artifact's brackets have the same names.
      addInstruction(&op, op.getName().stripDialect(), op.getOperands(), {}, {},
                     -1);
      return success();
    }
    if (auto output = dyn_cast<rt::OutputOp>(op))
      return addOutput(output);
    if (auto guard = dyn_cast<rt::GuardOp>(op))
      addGuard(guard);
    if (isa<rt::ReadyOp>(op))
      isLoading = false;
    return success();
  }

  FailureOr<artifact::ElementType> element(Operation *op, Type type) {
    if (std::optional<uint8_t> found = elementType(type))
      return static_cast<artifact::ElementType>(*found);
    return op->emitError("has element type ")
           << type << ", which no backend stores";
  }

  static DimExpr localBytes(dist::ValueAttr value, Type element) {
    return rt::storageBytes(element, dist::product(value.getHasLocal()
                                                       ? value.getLocal()
                                                       : value.getDims()));
  }

  void addBuffer(Value value, BufferEntry entry) {
    bufferNumbers[value] = buffers.size();
    buffers.push_back(entry);
  }

  LogicalResult addInput(rt::InputOp op) {
    auto type = element(op, op.getElement());
    auto given = element(op, op.getGiven().value_or(op.getElement()));
    if (failed(type) || failed(given))
      return failure();
    for (auto [d, size] : llvm::enumerate(op.getValue().getDims()))
      if (std::optional<StringRef> symbol = size.asSymbol())
        symbolSources.try_emplace(*symbol, inputs.size(), d);
    dist::ValueAttr value = op.getValue();
    SmallVector<DimExpr, 4> room(value.getHasLocal() ? value.getLocal()
                                                     : value.getDims());
    if (op.getCacheDim())
      room = rt::cacheRoom(room, *op.getCacheDim());
    addBuffer(op.getBuffer(),
              {artifact::BufferKind_Input,
               scalar(dist::product(room) * rt::elementBytes(op.getElement())),
               static_cast<uint32_t>(inputs.size())});
    // The API needs one whole view of each input.
    uint32_t view = makeView(
        *type, bufferNumbers[op.getBuffer()],
        value.getHasLocal() ? value.getLocal() : value.getDims(), {}, 0,
        !value.getSharding() || value.getSharding()->isReplicated());
    inputs.push_back(artifact::CreateInput(
        builder, builder.CreateString(op.getName().str()), *given,
        scalarList(value.getDims()), layout(value), view));
    return success();
  }

  LogicalResult addWeight(Value buffer, uint32_t file, uint64_t offset,
                          uint64_t length, Type elementType,
                          dist::ValueAttr value) {
    auto type = element(buffer.getDefiningOp(), elementType);
    if (failed(type))
      return failure();
    std::vector<int64_t> dims;
    for (DimExpr size : value.getDims()) {
      if (!size.asConstant())
        return buffer.getDefiningOp()->emitError("weight of unknown size");
      dims.push_back(*size.asConstant());
    }
    addBuffer(buffer, {artifact::BufferKind_Weight,
                       scalar(localBytes(value, elementType)),
                       static_cast<uint32_t>(weights.size())});
    weights.push_back(artifact::CreateWeight(
        builder, builder.CreateString(names.lookup(buffer.getDefiningOp())),
        file, offset, length, *type, builder.CreateVector(dims),
        layout(value)));
    return success();
  }

  LogicalResult addConstant(rt::ConstantOp op) {
    auto elements = dyn_cast<DenseElementsAttr>(op.getElements());
    if (!elements)
      return op.emitError("has elements that are not stored densely");
    std::string bytes = bytesOf(elements);
    return addWeight(op.getBuffer(), FileTable::kConstants,
                     files.placeOf(bytes), bytes.size(),
                     elements.getElementType(), op.getValue());
  }

  void addAlloc(rt::AllocOp op) {
    BufferEntry entry{op.getPersistent() ? artifact::BufferKind_Persistent
                                         : artifact::BufferKind_Arena,
                      scalar(op.getBytes().getValues()[0])};
    if (!op.getPersistent()) {
      entry.firstUse = numRun ? numRun - 1 : 0;
      for (Operation *view : op->getUsers())
        for (Operation *user : view->getUsers()) {
          // An output stays until the request is over.
          if (isa<rt::OutputOp>(user))
            entry.lastUse = numRun ? numRun - 1 : 0;
          if (!isInstruction(*user))
            continue;
          entry.firstUse = std::min(entry.firstUse, numbers[user]);
          entry.lastUse = std::max(entry.lastUse, numbers[user]);
        }
    }
    addBuffer(op.getBuffer(), entry);
  }

  /// In the order of their inputs, which is the same in all programs.
  void addCache(rt::CacheOp op) {
    auto all = program.getBody().getOps<rt::CacheOp>();
    const auto number = llvm::count_if(
        all, [&](rt::CacheOp o) { return o.getInput() < op.getInput(); });
    const uint32_t buffer = bufferNumbers[op.getBuffer()];
    const artifact::CacheKind kind =
        op.getKind() == "append" ? artifact::CacheKind_Append
        : op.getKind() == "set"  ? artifact::CacheKind_Set
                                 : artifact::CacheKind_Keep;
    if (kind != artifact::CacheKind_Keep) {
      buffers[buffer].kind = artifact::BufferKind_Cache;
      buffers[buffer].source = number;
    }
    caches.resize(std::distance(all.begin(), all.end()));
    caches[number] =
        artifact::CreateCachePair(builder, op.getInput(), op.getOutput(),
                                  op.getDim().value_or(-1), buffer, kind);
  }

  uint32_t makeView(artifact::ElementType type, uint32_t buffer,
                    ArrayRef<DimExpr> dims, ArrayRef<DimExpr> strides,
                    DimExpr offset, bool replicated) {
    SmallVector<DimExpr, 4> contiguous(dims.size());
    DimExpr stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      contiguous[d] = stride;
      stride = stride * dims[d];
    }
    if (strides.empty())
      strides = contiguous;
    views.push_back(artifact::CreateView(builder, buffer, type,
                                         scalarList(dims), scalarList(strides),
                                         scalar(offset), replicated));
    return views.size() - 1;
  }

  LogicalResult addView(rt::ViewOp op) {
    rt::ViewType view = op.getView().getType();
    auto type = element(op, view.getElement());
    if (failed(type))
      return failure();
    viewNumbers[op.getView()] =
        makeView(*type, bufferNumbers[op.getBuffer()], view.getDims(),
                 view.getStrides(), view.getOffset(), view.getReplicated());
    return success();
  }

  std::vector<int32_t> viewList(ValueRange values) {
    std::vector<int32_t> list;
    for (Value value : values)
      list.push_back(isa<NoneType>(value.getType())
                         ? -1
                         : static_cast<int32_t>(viewNumbers[value]));
    return list;
  }

  void addInstruction(Operation *op, StringRef kernel, ValueRange ins,
                      ValueRange outs, Offsets<artifact::Attribute> attributes,
                      int32_t group) {
    (isLoading ? load : run)
        .push_back(artifact::CreateInstruction(
            builder, builder.CreateString(kernel.str()),
            builder.CreateVector(viewList(ins)),
            builder.CreateVector(viewList(outs)),
            builder.CreateVector(attributes),
            builder.CreateString(nodeName(op)), group));
  }

  LogicalResult addCall(rt::CallOp op) {
    Offsets<artifact::Attribute> attributes;
    for (NamedAttribute named : op.getConfig()) {
      auto made = attribute(op, named);
      if (failed(made))
        return failure();
      attributes.push_back(*made);
    }
    addInstruction(op, op.getKernel(), op.getInputs(), op.getOutputs(),
                   attributes, -1);
    return success();
  }

  int32_t group(dist::AxesAttr axes) {
    auto [it, isNew] = groupNumbers.try_emplace(axes, groups.size());
    if (!isNew)
      return it->second;
    Offsets<artifact::AxisPart> parts;
    for (const dist::AxisRef &axis : axes.getAxes())
      for (size_t a = 0; a < mesh.axes.size(); ++a)
        if (mesh.axes[a].name == axis.name)
          parts.push_back(
              artifact::CreateAxisPart(builder, a, axis.pre, axis.size));
    groups.push_back(
        artifact::CreateGroup(builder, builder.CreateVector(parts)));
    return it->second;
  }

  void addNumber(Offsets<artifact::Attribute> &attributes, const char *name,
                 int64_t value) {
    attributes.push_back(artifact::CreateAttribute(
        builder, builder.CreateString(name),
        builder.CreateVector(std::vector<int64_t>{value})));
  }

  void addCollective(rt::CollectiveOp op) {
    Offsets<artifact::Attribute> attributes;
    if (op.getKindAttr())
      attributes.push_back(artifact::CreateAttribute(
          builder, builder.CreateString("kind"), 0, 0, 0,
          builder.CreateString(op.getKind()->str())));
    std::vector<int64_t> dims;
    Offsets<artifact::DimLayout> layouts;
    auto addDim = [&](int64_t dim, dist::ValueAttr value) {
      dims.push_back(dim);
      layouts.push_back(
          dimLayout(value.getSharding()->dims[dim], op.getAxes().getAxes()));
    };
    if (op.getDimAttr())
      addDim(*op.getDim(), op.getValueAttr());
    if (op.getToDimAttr())
      addDim(*op.getToDim(), op.getToValueAttr());
    if (!dims.empty()) {
      attributes.push_back(artifact::CreateAttribute(
          builder, builder.CreateString("dim"), builder.CreateVector(dims)));
      attributes.push_back(
          artifact::CreateAttribute(builder, builder.CreateString("layout"), 0,
                                    0, 0, 0, builder.CreateVector(layouts)));
    }
    if (op.getFlight())
      addNumber(attributes, artifact::kFlight, *op.getFlight());
    if (op.getDistanceAttr())
      addNumber(attributes, "distance", *op.getDistance());
    SmallVector<Value, 2> inputs{op.getInput()};
    if (op.getChoices()) {
      inputs.push_back(op.getChoices());
      addNumber(attributes, "experts", *op.getExperts());
    }
    addInstruction(op, op.getKernel(), inputs, op.getOutput(), attributes,
                   group(op.getAxes()));
  }

  template <typename Transfer>
  void addTransfer(Transfer op, StringRef kernel, ValueRange ins,
                   ValueRange outs) {
    auto number = [&](const char *name, int64_t value) {
      return artifact::CreateAttribute(
          builder, builder.CreateString(name),
          builder.CreateVector(std::vector<int64_t>{value}));
    };
    addInstruction(
        op, kernel, ins, outs,
        {number("stage", op.getStage()), number("transfer", op.getTransfer())},
        -1);
  }

  void addReadSizes(rt::ReadSizesOp op) {
    for (DimExpr size : op.getSizes().getValues())
      if (std::optional<StringRef> name = size.asSymbol();
          name && !symbolSources.contains(*name))
        if (auto &binders = symbolBinders[*name]; binders.empty())
          binders.push_back(numbers[op]);
    Offsets<artifact::Attribute> sizes{
        artifact::CreateAttribute(builder, builder.CreateString("sizes"), 0,
                                  scalarList(op.getSizes().getValues()))};
    addInstruction(op, artifact::kReadSizes, op.getView(), {}, sizes, -1);
  }

  void addSetSizes(rt::SetSizesOp op) {
    for (DimExpr size : op.getSizes().getValues())
      symbolBinders[*size.asSymbol()].push_back(numbers[op]);
    Offsets<artifact::Attribute> attributes;
    for (auto [name, list] : {std::pair("sizes", op.getSizes()),
                              std::pair("values", op.getValues())})
      attributes.push_back(
          artifact::CreateAttribute(builder, builder.CreateString(name), 0,
                                    scalarList(list.getValues())));
    addInstruction(op, artifact::kSetSizes, {}, {}, attributes, -1);
  }

  LogicalResult addOutput(rt::OutputOp op) {
    auto given = element(
        op, op.getGiven().value_or(
                cast<rt::ViewType>(op.getView().getType()).getElement()));
    if (failed(given))
      return failure();
    outputs.push_back(artifact::CreateOutput(
        builder, builder.CreateString(op.getName().str()), *given,
        scalarList(op.getValue().getDims()), layout(op.getValue()),
        viewNumbers[op.getView()], op.getIndex()));
    return success();
  }

  void addGuard(rt::GuardOp op) {
    artifact::GuardKind kind =
        op.getKind() == "equal"      ? artifact::GuardKind_Equal
        : op.getKind() == "at_least" ? artifact::GuardKind_AtLeast
                                     : artifact::GuardKind_AtMost;
    guards.push_back(
        artifact::CreateGuard(builder, kind, scalar(op.getLhs().getValues()[0]),
                              scalar(op.getRhs().getValues()[0]),
                              builder.CreateString(op.getMessage().str()),
                              builder.CreateString(nodeName(op))));
  }

  LogicalResult bindSymbols() {
    for (const std::string &name : scalars.symbols()) {
      if (auto found = symbolBinders.find(name); found != symbolBinders.end()) {
        symbols.push_back(
            artifact::CreateSymbol(builder, builder.CreateString(name), 0, 0,
                                   builder.CreateVector(found->second)));
        continue;
      }
      if (DimExpr::symbol(name) == rt::cacheCapacity()) {
        symbols.push_back(artifact::CreateSymbol(
            builder, builder.CreateString(name), 0, 0, 0, true));
        continue;
      }
      auto it = symbolSources.find(name);
      if (it == symbolSources.end())
        return program.emitError("size \"")
               << name << "\" is the dim of no input: expected an input with a "
               << "dim of that name alone; export the model with it";
      symbols.push_back(
          artifact::CreateSymbol(builder, builder.CreateString(name),
                                 it->second.first, it->second.second));
    }
    return success();
  }

  Offsets<artifact::Condition> conditions() {
    Offsets<artifact::Condition> conditions;
    for (const onnx::Condition &condition : onnx::conditionsOf(
             program->getAttrOfType<DictionaryAttr>(onnx::kWhenAttr)))
      for (auto input : program.getOps<rt::InputOp>())
        if (input.getName() == condition.input)
          conditions.push_back(artifact::CreateCondition(
              builder, input.getIndex(), condition.value.value_or(false),
              condition.value ? -1 : static_cast<int32_t>(condition.dim),
              condition.size));
    return conditions;
  }

  std::string finish() {
    Offsets<artifact::Axis> axes;
    for (const dist::Axis &axis : mesh.axes)
      axes.push_back(artifact::CreateAxis(
          builder, builder.CreateString(axis.name), axis.size));
    builder.Finish(
        artifact::CreateProgram(
            builder, builder.CreateVector(axes), builder.CreateVector(symbols),
            builder.CreateVectorOfStructs(scalars.scalars()),
            builder.CreateVector(guards), builder.CreateVector(groups),
            builder.CreateVector(weights), builder.CreateVector(inputs),
            builder.CreateVector(outputs), builder.CreateVector(bufferOffsets),
            builder.CreateVector(views), builder.CreateVector(load),
            builder.CreateVector(run), builder.CreateVector(conditions()),
            builder.CreateVector(caches)),
        artifact::ProgramIdentifier());
    return std::string(
        reinterpret_cast<const char *>(builder.GetBufferPointer()),
        builder.GetSize());
  }

  rt::ProgramOp program;
  FileTable &files;
  bool isLoading = true;
  uint32_t numRun = 0;
  llvm::DenseMap<Operation *, uint32_t> numbers;
  llvm::DenseMap<Value, uint32_t> bufferNumbers, viewNumbers;
  llvm::DenseMap<Attribute, int32_t> groupNumbers;
  llvm::StringMap<std::pair<uint32_t, uint32_t>> symbolSources;
  llvm::StringMap<std::vector<uint32_t>> symbolBinders; ///< instructions
  const WeightNames &names;
  std::vector<BufferEntry> buffers;
  Offsets<artifact::Symbol> symbols;
  Offsets<artifact::Guard> guards;
  Offsets<artifact::Group> groups;
  Offsets<artifact::Weight> weights;
  Offsets<artifact::Input> inputs;
  Offsets<artifact::Output> outputs;
  Offsets<artifact::Buffer> bufferOffsets;
  Offsets<artifact::View> views;
  Offsets<artifact::CachePair> caches;
  Offsets<artifact::Instruction> load, run;
};

} // namespace

FailureOr<std::string> writeProgram(rt::ProgramOp program,
                                    const dist::Mesh &mesh,
                                    const WeightNames &names,
                                    FileTable &files) {
  return ProgramWriter(program, mesh, names, files).write();
}

} // namespace shardc::package
