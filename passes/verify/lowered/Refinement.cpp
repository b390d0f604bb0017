//===- Refinement.cpp - A lowered program does what was partitioned -------===//

#include "passes/verify/lowered/Refinement.h"

#include "dialects/onnx/ops/Quantization.h"
#include "passes/verify/lowered/Ranks.h"
#include "passes/verify/lowered/Walk.h"

#include "llvm/ADT/StringSet.h"

#include <limits>

using namespace mlir;

namespace shardc::verify {

namespace {

/// What the program shows of itself, and the elements where the walk starts.
class Ports {
public:
  Ports(rt::ProgramOp program, func::FuncOp function, Walk &walk)
      : program(program), function(function), info(function), walk(walk) {
    for (Operation &op : program.getBody().front())
      TypeSwitch<Operation *>(&op)
          .Case([&](rt::InputOp input) { inputs.push_back(input); })
          .Case([&](rt::OutputOp output) { outputs.push_back(output); })
          .Case([&](rt::SendOp send) { sends.push_back(send); })
          .Case([&](rt::ReceiveOp receive) { receives.push_back(receive); })
          .Case([&](rt::ReadSizesOp sizes) { readSizes.push_back(sizes); });
  }

  LogicalResult start() {
    return failure(failed(checkInputs()) || failed(startOutputs()) ||
                   failed(startSends()) || failed(startReadSizes()));
  }

private:
  InFlightDiagnostic differs(Operation *op, const Twine &what) {
    InFlightDiagnostic error = op->emitError(what);
    error.attachNote(function.getLoc()) << "what was partitioned is here";
    return error;
  }

  LogicalResult checkInputs() {
    if (inputs.size() != function.getNumArguments())
      return differs(program, "has " + Twine(inputs.size()) + " inputs, not " +
                                  Twine(function.getNumArguments()));
    for (auto [i, input] : llvm::enumerate(inputs)) {
      BlockArgument argument = function.getArgument(i);
      auto type = cast<RankedTensorType>(argument.getType());
      StringAttr name = info.inputName(i);
      if (input.getIndex() != i ||
          input.getElement() != type.getElementType() ||
          (name && name != input.getNameAttr()) ||
          input.getGivenAttr() != info.inputGiven(i) ||
          input.getValue() != dist::getValueAttr(type))
        return differs(input,
                       "is not input " + Twine(i) + " of what was partitioned");
    }
    return success();
  }

  LogicalResult startOutputs() {
    auto terminator = function.front().getTerminator();
    if (outputs.size() != terminator->getNumOperands())
      return differs(program, "has " + Twine(outputs.size()) +
                                  " outputs, not " +
                                  Twine(terminator->getNumOperands()));
    for (auto [i, output] : llvm::enumerate(outputs)) {
      Value value = terminator->getOperand(i);
      StringAttr name = info.outputName(i);
      if (int64_t(output.getIndex()) != info.modelOutput(i) ||
          (name && name != output.getNameAttr()) ||
          output.getGivenAttr() != info.outputGiven(i) ||
          output.getValue() != dist::getValueAttr(value.getType()))
        return differs(output, "is not output " + Twine(i) +
                                   " of what was partitioned");
      if (failed(walk.relateViews(output, output.getView(), value)))
        return failure();
    }
    return success();
  }

  LogicalResult startSends() {
    size_t number = 0;
    for (auto send : function.getOps<dist::SendOp>()) {
      if (number == sends.size())
        return differs(program, "does not send all that it should");
      rt::SendOp made = sends[number++];
      if (made.getStage() != send.getStage() ||
          made.getTransfer() != send.getTransfer())
        return differs(made, "is not the next transfer of what was "
                             "partitioned");
      if (failed(walk.relateViews(made, made.getView(), send.getOperand())))
        return failure();
    }
    if (number != sends.size())
      return differs(sends[number], "sends what should not be sent");
    size_t taken = 0;
    for (auto receive : function.getOps<dist::ReceiveOp>())
      if (taken == receives.size() ||
          receives[taken].getStage() != receive.getStage() ||
          receives[taken++].getTransfer() != receive.getTransfer())
        return differs(program, "receives other transfers than it should");
    return success();
  }

  LogicalResult startReadSizes() {
    size_t number = 0;
    for (auto sizes : function.getOps<onnx::ReadSizesOp>()) {
      if (number == readSizes.size())
        return differs(program, "does not read all sizes that it should");
      rt::ReadSizesOp made = readSizes[number++];
      if (made.getSizes() != sizes.getSizes())
        return differs(made, "is not the next rt.read_sizes of what was "
                             "partitioned");
      if (failed(walk.relateViews(made, made.getView(), sizes.getData())))
        return failure();
    }
    return success();
  }

  rt::ProgramOp program;
  func::FuncOp function;
  onnx::FunctionInfo info;
  Walk &walk;
  SmallVector<rt::InputOp> inputs;
  SmallVector<rt::OutputOp> outputs;
  SmallVector<rt::SendOp> sends;
  SmallVector<rt::ReceiveOp> receives;
  SmallVector<rt::ReadSizesOp> readSizes;
};

/// Sizes that bodies of control flow set, about which nothing is known.
llvm::StringSet<> sizesThatAreSet(rt::ProgramOp program) {
  llvm::StringSet<> names;
  for (auto sizes : program.getOps<rt::SetSizesOp>())
    for (dist::DimExpr size : sizes.getSizes().getValues())
      size.forEachSymbol([&](StringRef name, bool) { names.insert(name); });
  return names;
}

/// How many bytes of its buffer a view reaches, at a point.
std::optional<int64_t> reachOf(rt::ViewType type, const Point &point) {
  const auto dims = point.of(type.getDims());
  const auto strides = point.of(type.getStrides());
  const auto offset = point.of(type.getOffset());
  if (!dims || !strides || !offset || countOf(*dims) <= 0)
    return std::nullopt;
  int64_t first = *offset, last = *offset;
  for (auto [size, stride] : llvm::zip_equal(*dims, *strides))
    (stride < 0 ? first : last) += (size - 1) * stride;
  if (first < 0)
    return std::numeric_limits<int64_t>::max();
  const int64_t bits = type.getElement().getIntOrFloatBitWidth();
  const int64_t width = bits < 8 && bits > 1 ? bits : (bits + 7) / 8 * 8;
  return ((last + 1) * width + 7) / 8;
}

/// All that views show is inside of their buffers.
LogicalResult verifyBounds(rt::ProgramOp program, const Point &point) {
  const llvm::StringSet<> set = sizesThatAreSet(program);
  auto isKnown = [&](ArrayRef<dist::DimExpr> exprs) {
    bool isKnown = true;
    for (dist::DimExpr expr : exprs)
      expr.forEachSymbol(
          [&](StringRef name, bool) { isKnown &= !set.contains(name); });
    return isKnown;
  };
  for (auto view : program.getOps<rt::ViewOp>()) {
    auto alloc = view.getBuffer().getDefiningOp<rt::AllocOp>();
    auto type = cast<rt::ViewType>(view.getType());
    if (!alloc || !isKnown(alloc.getBytes().getValues()) ||
        !isKnown(type.getDims()) || !isKnown(type.getStrides()) ||
        !isKnown(type.getOffset()))
      continue;
    const auto bytes = point.of(alloc.getBytes().getValues()[0]);
    const auto reach = reachOf(type, point);
    if (bytes && reach && *reach > *bytes)
      return view.emitError("shows more than the ")
             << *bytes << " bytes of its buffer";
  }
  return success();
}

/// Every guard of the function is one of the program.
LogicalResult verifyGuards(rt::ProgramOp program, func::FuncOp function) {
  llvm::DenseSet<std::tuple<Attribute, Attribute, Attribute>> known;
  for (auto guard : program.getOps<rt::GuardOp>())
    known.insert({guard.getLhs(), guard.getKindAttr(), guard.getRhs()});
  for (auto guard : function.getOps<onnx::GuardOp>())
    if (!known.contains({guard.getLhs(), guard.getKindAttr(), guard.getRhs()}))
      return program.emitError("has lost a guard: ") << guard.getMessage();
  return success();
}

/// Ops that compute what somebody reads. Numbers of quantised weights may be
/// made by the kernel that reads them.
SmallVector<Operation *> opsToCompare(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (!op->use_empty() && !arranges(op) &&
        !isa<onnx::WeightOp, onnx::ConstantOp, onnx::NoneOp, onnx::IfOp,
             onnx::DequantizeLinearOp, dist::RingOp>(op))
      ops.push_back(op);
  });
  return ops;
}

/// What is not known is told: a choice of the report (shardc --explain-json).
void tellUncompared(func::FuncOp function, size_t all,
                    ArrayRef<Operation *> left) {
  if (!left.empty())
    left.front()->emitRemark("verify-phase: of ")
        << all << " ops of " << function.getSymName() << ", " << left.size()
        << " are not compared with instructions; this is the first";
}

} // namespace

LogicalResult verifyRefinement(rt::ProgramOp program, func::FuncOp function,
                               const dist::Mesh &mesh) {
  if (failed(verifyGuards(program, function)))
    return failure();
  const LoweredProgram lowered(program);
  SmallVector<Operation *> left = opsToCompare(function);
  const size_t all = left.size();
  // Every other rank at other sizes.
  std::optional<llvm::StringMap<int64_t>> sizes[] = {
      findSizes(function, mesh, 0), findSizes(function, mesh, 1)};
  if (!sizes[0] && !sizes[1]) {
    program.emitWarning("is not compared with what was partitioned: no sizes "
                        "were found of which all conditions hold");
    return success();
  }
  for (auto [i, rank] :
       llvm::enumerate(ranksToCompare(program, function, mesh))) {
    const auto &here = sizes[i % 2] ? *sizes[i % 2] : *sizes[1 - i % 2];
    if (failed(verifyBounds(program, {&mesh, rank, here})))
      return failure();
    Walk walk(lowered, mesh, here, rank);
    if (failed(Ports(program, function, walk).start()) || failed(walk.run()))
      return failure();
    llvm::erase_if(left, [&](Operation *op) { return walk.hasCompared(op); });
  }
  tellUncompared(function, all, left);
  return success();
}

} // namespace shardc::verify
