//===- Scan.cpp - Scan is a Loop over rows --------------------------------===//
//
//   Scan(state, x)     one iteration for each row of x (along its axis)
//
// becomes
//
//   Loop(rows of x, None, state) {
//   ^bb0(%i, %goesOn, %state):
//     %row = Gather(x, %i)
//     ... the body ...
//   }
//
// with x read from behind, and outputs turned round, where directions say so.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

namespace {

class ScanReplacement {
public:
  ScanReplacement(ScanOp scan, ShapeInference &inference)
      : scan(scan), d(scan, inference), inference(inference),
        builder(inference.builder),
        unknown(UnrankedTensorType::get(UnknownType::get(scan.getContext()))) {}

  LogicalResult run() {
    if (inference.opset < 9)
      return scan.emitOpError("is of opset ")
             << inference.opset
             << ", where it scans a batch of sequences: expected one of opset "
                "9 "
                "or later; export the model again";
    const size_t scanned = scan.getNumScanInputs();
    if (scanned < 1 || scanned > scan.getInputs().size() ||
        scan.getBody().getNumArguments() != scan.getInputs().size() ||
        scan.getBody().front().getTerminator()->getNumOperands() !=
            scan->getNumResults())
      return scan.emitOpError("has ")
             << scan.getInputs().size() << " inputs, " << scanned
             << " of them to scan, and a body that does not take them";
    for (Value input : scan.getInputs())
      if (!ShapeInference::isPresent(input))
        return scan.emitOpError("has an input that is left out: none may be");
    numStates = scan.getInputs().size() - scanned;
    if (failed(findAxes()))
      return failure();
    OpBuilder::InsertionGuard guard(builder);
    LoopOp loop = makeLoop();
    builder.setInsertionPoint(scan);
    // Its user sees what takes the loop's place.
    auto user = YieldOp::create(builder, scan.getLoc(), loop.getResults());
    if (failed(inference.inferOps({loop})))
      return failure();
    SmallVector<Value> results(user->getOperands());
    user.erase();
    for (size_t j = numStates; j < results.size(); ++j)
      if (!(results[j] = finish(results[j], j - numStates)))
        return failure();
    return d.replaceBy(results);
  }

private:
  static int64_t at(std::optional<ArrayRef<int64_t>> list, size_t index) {
    return list && index < list->size() ? (*list)[index] : 0;
  }

  /// All scanned inputs have as many rows.
  LogicalResult findAxes() {
    for (auto [j, value] :
         llvm::enumerate(scan.getInputs().drop_front(numStates))) {
      FailureOr<int64_t> axis = inference.normalizeAxis(
          scan, at(scan.getScanInputAxes(), j), inference.rank(value));
      if (failed(axis))
        return failure();
      axes.push_back(*axis);
      DimExpr size = inference.dims(value)[*axis];
      if (j == 0)
        rows = size;
      else if (failed(inference.assume(scan, GuardKind::Equal, rows, size,
                                       "Scan: inputs of different lengths")))
        return failure();
    }
    return success();
  }

  LoopOp makeLoop() {
    Location loc = scan.getLoc();
    builder.setInsertionPoint(scan);
    Value none = NoneOp::create(builder, loc, builder.getNoneType());
    SmallVector<Value> inputs(scan.getInputs().take_front(numStates));
    auto loop = LoopOp::create(
        builder, loc, SmallVector<Type>(scan.getNumResults(), unknown),
        d.integer(d.i64(), rows), none, inputs,
        builder.getI64IntegerAttr(scan->getNumResults() - numStates));
    SmallVector<Type> types(2 + numStates, unknown);
    Block *body = builder.createBlock(&loop.getBody(), {}, types,
                                      SmallVector<Location>(types.size(), loc));
    Block &old = scan.getBody().front();
    for (size_t k = 0; k < numStates; ++k)
      old.getArgument(k).replaceAllUsesWith(body->getArgument(2 + k));
    for (size_t j = 0; j < axes.size(); ++j)
      old.getArgument(numStates + j)
          .replaceAllUsesWith(row(j, body->getArgument(0)));
    SmallVector<Value> yielded{body->getArgument(1)};
    llvm::append_range(yielded, old.getTerminator()->getOperands());
    for (Operation &op : llvm::make_early_inc_range(old.without_terminator()))
      op.moveBefore(body, body->end());
    builder.setInsertionPointToEnd(body);
    YieldOp::create(builder, loc, yielded);
    return loop;
  }

  /// This iteration's row of scanned input `j`; types are inferred later.
  Value row(size_t j, Value iteration) {
    Location loc = scan.getLoc();
    Value index = iteration;
    if (at(scan.getScanInputDirections(), j) != 0) {
      Value last = d.integer(d.i64(), rows - 1);
      index = SubOp::create(builder, loc, unknown, last, iteration);
    }
    return GatherOp::create(builder, loc, unknown,
                            scan.getInputs()[numStates + j], index,
                            builder.getI64IntegerAttr(axes[j]));
  }

  /// Rows along the axis and in the order that the attributes want.
  Value finish(Value scanned, size_t j) {
    if (at(scan.getScanOutputDirections(), j) != 0) {
      auto integer = [&](int64_t value) {
        return d.integers({DimExpr(value)});
      };
      scanned = d.make<SliceOp>({scanned, integer(-1), integer(INT64_MIN + 1),
                                 integer(0), integer(-1)});
    }
    if (!scanned)
      return {};
    FailureOr<int64_t> axis = inference.normalizeAxis(
        scan, at(scan.getScanOutputAxes(), j), d.rank(scanned));
    if (failed(axis))
      return {};
    SmallVector<int64_t> perm;
    for (int64_t dim = 1; dim < d.rank(scanned); ++dim)
      perm.push_back(dim);
    perm.insert(perm.begin() + *axis, 0);
    return d.transpose(scanned, perm);
  }

  ScanOp scan;
  Decomposition d;
  ShapeInference &inference;
  OpBuilder &builder;
  const Type unknown;
  size_t numStates = 0;
  SmallVector<int64_t> axes; ///< by scanned input
  DimExpr rows;
};

} // namespace

LogicalResult ScanOp::inferTypes(ShapeInference &inference) {
  return ScanReplacement(*this, inference).run();
}

ShardingRule ScanOp::shardingRule() { return replicatedRule(*this); }

} // namespace shardc::onnx
