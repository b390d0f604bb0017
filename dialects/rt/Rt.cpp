//===- Rt.cpp - The rt dialect: how a rank executes -----------------------===//

#include "dialects/rt/Rt.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/rt/RtDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/rt/RtTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/rt/RtOps.cpp.inc"

namespace shardc::rt {

static LogicalResult verifyKinds(KernelOp kernel, ArrayAttr kinds,
                                 size_t operands, StringRef what) {
  if (kinds.size() != operands)
    return kernel.emitError("has ")
           << operands << " " << what << ", but " << kinds.size() << " kinds";
  for (StringRef kind : kinds.getAsValueRange<StringAttr>())
    if (kind != kColumn && kind != kRow)
      return kernel.emitError("has an operand of kind \"")
             << kind << "\", expected \"column\" or \"row\"";
  return success();
}

LogicalResult JoinOp::verify() {
  if (getWeights().size() < 2)
    return emitOpError("has ")
           << getWeights().size() << " weights, expected two or more";
  Type element;
  for (Value weight : getWeights()) {
    auto source = weight.getDefiningOp<WeightOp>();
    if (!source)
      return emitOpError("joins what is no rt.weight");
    if (element && source.getElement() != element)
      return emitOpError("joins ") << element << " and " << source.getElement();
    element = source.getElement();
    if (getDim() >= source.getValue().getDims().size())
      return emitOpError("joins along dim ")
             << getDim() << " of " << source.getValue().getDims().size();
  }
  return success();
}

LogicalResult CollectiveOp::verify() {
  const artifact::CollectiveForm *form =
      artifact::collectiveForm(getKernel().str());
  if (!form)
    return emitOpError("\"") << getKernel() << "\" is no collective";
  const bool hasFirst = getDim() && getValue();
  const bool hasSecond = getToDim() && getToValue();
  auto has = [&](StringRef what, bool isThere,
                 bool isExpected) -> LogicalResult {
    if (isThere == isExpected)
      return success();
    return emitOpError("\"")
           << getKernel() << "\" has " << (isThere ? "a " : "no ") << what;
  };
  if (failed(has("split dim", hasFirst, form->splitDims > 0)) ||
      failed(has("second split dim", hasSecond, form->splitDims > 1)) ||
      failed(has("kind", getKind().has_value(), form->reduces)) ||
      failed(has("distance", getDistance().has_value(), form->hasDistance)) ||
      failed(has("choice of experts", getChoices() && getExperts(),
                 form->isRouted)))
    return failure();
  auto isDimOf = [](std::optional<uint64_t> dim,
                    std::optional<dist::ValueAttr> value) {
    return !dim || !value || *dim < value->getDims().size();
  };
  if (!isDimOf(getDim(), getValue()) || !isDimOf(getToDim(), getToValue()))
    return emitOpError("splits a dim that its value does not have");
  return success();
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  auto yield =
      dyn_cast_or_null<YieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield)
    return emitError("does not end with rt.yield");
  if (failed(verifyKinds(*this, getInputKinds(), block.getNumArguments(),
                         "inputs")))
    return failure();
  for (Operation &op : block)
    if (StringRef dialect = op.getName().getDialectNamespace();
        dialect != "arith" && dialect != "math" && dialect != "rt")
      return op.emitError("is no part of a kernel: expected ops of arith, math "
                          "and rt");
  return verifyKinds(*this, getOutputKinds(), yield.getNumOperands(),
                     "outputs");
}

LogicalResult ReduceOp::verify() {
  // The maximum may pass over a NaN where it is that of numbers.
  if (getKind() == "sum" || getKind() == "max" || getKind() == "min" ||
      getKind() == "max_number")
    return success();
  return emitError("reduces by \"")
         << getKind()
         << "\", expected \"sum\", \"max\", \"max_number\" or \"min\"";
}

int64_t elementBytes(Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

dist::DimExpr storageBytes(Type element, dist::DimExpr count) {
  unsigned bits = element.getIntOrFloatBitWidth();
  const int64_t ofByte = bits == 2 || bits == 4 ? 8 / bits : 1;
  return ofByte > 1 ? dist::DimExpr::floorDiv(count + (ofByte - 1), ofByte)
                    : count * elementBytes(element);
}

/// <f32, [batch, 96], [96, 1], 0, replicated>
Type ViewType::parse(AsmParser &parser) {
  Type element;
  SmallVector<dist::DimExpr, 4> dims, strides;
  if (parser.parseLess() || parser.parseType(element) || parser.parseComma() ||
      dist::parseDimList(parser, dims) || parser.parseComma() ||
      dist::parseDimList(parser, strides) || parser.parseComma())
    return {};
  FailureOr<dist::DimExpr> offset = dist::parseDim(parser);
  if (failed(offset))
    return {};
  bool replicated = succeeded(parser.parseOptionalComma());
  if (replicated && parser.parseKeyword("replicated"))
    return {};
  if (parser.parseGreater())
    return {};
  return ViewType::get(parser.getContext(), element, dims, strides, *offset,
                       replicated);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << '<' << getElement() << ", ";
  dist::printDimList(printer, getDims());
  printer << ", ";
  dist::printDimList(printer, getStrides());
  printer << ", " << getOffset().str();
  if (getReplicated())
    printer << ", replicated";
  printer << '>';
}

dist::DimExpr cacheCapacity() {
  // No size of a model has this name: ONNX's are identifiers.
  return dist::DimExpr::symbol("capacity of caches");
}

SmallVector<dist::DimExpr, 4> cacheRoom(ArrayRef<dist::DimExpr> dims,
                                        int64_t dim) {
  SmallVector<dist::DimExpr, 4> room(dims);
  room[dim] = dist::DimExpr::max(dims[dim], cacheCapacity());
  return room;
}

SmallVector<dist::DimExpr, 4> stridesWithFirst(ArrayRef<dist::DimExpr> dims,
                                               int64_t first) {
  SmallVector<dist::DimExpr, 4> strides(dims.size());
  dist::DimExpr stride = 1;
  for (int64_t d = dims.size(); d-- > 0;)
    if (d != first) {
      strides[d] = stride;
      stride = stride * dims[d];
    }
  strides[first] = stride;
  return strides;
}

void RtDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/rt/RtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/rt/RtOps.cpp.inc"
      >();
}

} // namespace shardc::rt
