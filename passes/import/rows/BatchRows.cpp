//===- BatchRows.cpp - A step of rows of any sequences --------------------===//
//
// The function for requests of equal lengths becomes one for rows of any: what
// it takes of each request, of all rows one after the other, and how they lie
// (RowBuilder.h). Caches become pools of pages.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Layout.h"
#include "passes/import/Matching.h"
#include "passes/import/Passes.h"
#include "passes/import/rows/EncoderKeys.h"
#include "passes/import/rows/FrontOfInputs.h"
#include "passes/import/rows/KeptCaches.h"
#include "passes/import/rows/ReplaceSizes.h"
#include "passes/import/rows/RowCausality.h"
#include "passes/import/rows/RowTranslation.h"
#include "passes/import/rows/StaticCaches.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_BATCHROWS
#include "passes/import/Passes.h.inc"

using dist::DimExpr;
using onnx::CacheInfo;
using onnx::FunctionInfo;
using onnx::ReshapeOp;
using onnx::RowSymbols;

namespace {

/// What comes with each step beside the model's inputs.
struct Extra {
  std::string name;
  Value RowInputs::*member;
  SmallVector<DimExpr, 2> dims;
};

std::vector<Extra> extras(const RowSizes &sizes) {
  const DimExpr tokens = RowSymbols::tokens(), rows = RowSymbols::rows();
  std::vector<Extra> all = {
      {"rows.row", &RowInputs::row, {tokens}},
      {"rows.position", &RowInputs::position, {tokens}},
      {"rows.first", &RowInputs::first, {rows + 1}},
      {"rows.past", &RowInputs::past, {rows}},
      {"rows.slots", &RowInputs::slots, {tokens}},
      {"rows.pages", &RowInputs::pages, {rows, RowSymbols::pagesOfRow()}},
      {"rows.copies", &RowInputs::copies, {RowSymbols::copies(), 2}},
      {"rows.wanted", &RowInputs::wanted, {RowSymbols::wanted()}}};
  if (!sizes.encoder.asSymbol())
    return all;
  all.push_back({"rows.encoder_lengths", &RowInputs::encoderLengths, {rows}});
  all.push_back({"rows.encoder_slots",
                 &RowInputs::encoderSlots,
                 {RowSymbols::encoderKeys()}});
  all.push_back({"rows.encoder_pages",
                 &RowInputs::encoderPages,
                 {rows, RowSymbols::encoderPages()}});
  return all;
}

/// Reshapes of reshapes: what was tried out needs no steps on the way any more.
void foldReshapes(Block &block) {
  for (auto reshape : llvm::make_early_inc_range(block.getOps<ReshapeOp>())) {
    if (auto inner = reshape.getData().getDefiningOp<ReshapeOp>())
      reshape->setOperand(0, inner.getData());
    if (haveSameDims(reshape.getData(), reshape.getResult())) {
      reshape.getResult().replaceAllUsesWith(reshape.getData());
      reshape.erase();
    }
  }
}

class StepMaker {
public:
  /// `unused` are inputs that a step does not have.
  StepMaker(func::FuncOp function, const RowSizes &sizes,
            const EncoderKeys &encoderKeys, ArrayRef<unsigned> unused)
      : function(function), sizes(sizes), encoderKeys(encoderKeys),
        unused(unused), builder(function.getContext()) {}

  /// The function of rows, behind the other; null after an error.
  func::FuncOp make() {
    builder.setInsertionPointAfter(function);
    auto step = func::FuncOp::create(builder, function.getLoc(),
                                     (function.getSymName() + "_rows").str(),
                                     builder.getFunctionType({}, {}));
    Block *block = step.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    // The model's first, but for what chose this branch of it, or said where
    // the new positions are; types come later.
    for (BlockArgument argument : function.getArguments())
      stepArguments.push_back(
          isUnused(argument)
              ? BlockArgument()
              : block->addArgument(argument.getType(), argument.getLoc()));
    RowInputs inputs;
    for (const Extra &extra : extras(sizes))
      inputs.*extra.member = block->addArgument(
          dist::makeType(builder.getI64Type(), extra.dims), function.getLoc());
    RowBuilder rows(builder, sizes, inputs);
    RowTranslation translation(function, encoderKeys, rows, builder);
    if (failed(checkPorts()) || failed(bindInputs(translation)) ||
        failed(translation.run())) {
      step.erase();
      return {};
    }
    addReturn(translation);
    foldReshapes(*block);
    eraseDead(*block);
    finish(step);
    if (sizes.isOfOneRow)
      replaceSizes(step, {{*RowSymbols::rows().asSymbol(), DimExpr(1)}});
    // Where positions come one at a time, those behind are not there yet.
    FunctionInfo(step).setCausal(
        sizes.takesOne || (!sizes.isOfOneRow && isCausal(function, sizes)));
    numTried = translation.numTried();
    numBelieved = translation.numUnknown();
    return step;
  }

  unsigned numTried = 0, numBelieved = 0; ///< distinct ops

private:
  bool isPast(BlockArgument argument) const {
    return llvm::any_of(FunctionInfo(function).caches(),
                        [&](const CacheInfo &cache) {
                          return cache.input == argument.getArgNumber();
                        });
  }

  /// An input whose value said which branch runs, and nothing else, or where the
  /// positions of a static cache are.
  bool isUnused(BlockArgument argument) const {
    if (llvm::is_contained(unused, argument.getArgNumber()))
      return true;
    const FunctionInfo info(function);
    const StringAttr name = info.inputName(argument.getArgNumber());
    DictionaryAttr when = info.when();
    return name && when && when.get(name) && argument.use_empty();
  }

  bool isPresent(unsigned output) const {
    return FunctionInfo(function).cache(output).has_value();
  }

  /// Rows give what a step has for each new position, or for each key; outputs
  /// are those of positions, or of whole rows.
  LogicalResult checkPorts() {
    const FunctionInfo info(function);
    for (BlockArgument argument : function.getArguments()) {
      const StringAttr name = info.inputName(argument.getArgNumber());
      if (name && name.getValue().starts_with("rows."))
        return function.emitError("has no step of rows: ")
               << name << " is called as what a step has beside the model's "
               << "inputs";
      if (isPast(argument) || isUnused(argument))
        continue;
      for (DimExpr dim : dist::getDims(argument.getType()))
        if ((sizes.isOfTokens(dim) && dim != sizes.sequence) ||
            (sizes.isOfKeys(dim) && dim != sizes.all() && dim != sizes.encoder))
          return function.emitError("has no step of rows: ")
                 << name << " has " << dim.str()
                 << " elements, expected as many as there are new positions, "
                 << "or as many as there are keys";
      if (encoderKeys.isSource(argument) &&
          llvm::count(dist::getDims(argument.getType()), sizes.encoder) != 1)
        return function.emitError("has no step of rows: ")
               << name << " has two dims of the encoder's output";
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      for (DimExpr dim : dist::getDims(function.getResultTypes()[i]))
        if (!isPresent(i) && (sizes.isOfKeys(dim) ||
                              (sizes.isOfTokens(dim) &&
                               sizes.inStep(dim) != RowSymbols::tokens())))
          return function.emitError("has no step of rows: output ")
                 << info.outputName(i) << " has " << dim.str()
                 << " elements, expected one for each new position";
    return success();
  }

  LogicalResult bindInputs(RowTranslation &translation) {
    for (BlockArgument argument : function.getArguments()) {
      const Type element = elementOf(argument);
      BlockArgument made = stepArguments[argument.getArgNumber()];
      if (!made)
        continue;
      if (isPast(argument)) {
        made.setType(dist::makeType(element, poolOf(argument)));
        translation.bindPool(argument, made);
        continue;
      }
      std::optional<Dims> dims = translation.stepDims(argument);
      if (!dims)
        return function.emitError("has no step of rows: ")
               << FunctionInfo(function).inputName(argument.getArgNumber())
               << " has two dims of new positions, or of keys";
      made.setType(dist::makeType(element, *dims));
      translation.bindInput(argument, made);
    }
    return success();
  }

  Dims poolOf(BlockArgument past) const {
    Dims dims = dimsOf(past);
    dims[0] = RowSymbols::pages();
    for (DimExpr &dim : dims)
      if (dim == sizes.past)
        dim = sizes.page;
    return dims;
  }

  void addReturn(RowTranslation &translation) {
    SmallVector<Value> results;
    Operation *terminator = function.front().getTerminator();
    for (OpOperand &output : terminator->getOpOperands())
      results.push_back(translation.result(output));
    func::ReturnOp::create(builder, terminator->getLoc(), results);
  }

  /// Types, names and what each input is.
  void finish(func::FuncOp step) {
    Block &block = step.front();
    step.setType(builder.getFunctionType(
        block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
    FunctionInfo from(function), to(step);
    to.setPage(sizes.page);
    const std::vector<Extra> behind = extras(sizes);
    const size_t first = step.getNumArguments() - behind.size();
    for (auto [i, extra] : llvm::enumerate(behind))
      to.setInputName(first + i, extra.name);
    for (auto [i, argument] : llvm::enumerate(stepArguments)) {
      if (!argument)
        continue;
      if (StringAttr name = from.inputName(i))
        to.setInputName(argument.getArgNumber(), name.getValue());
      if (TypeAttr given = from.inputGiven(i))
        to.setInputGiven(argument.getArgNumber(), given);
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (StringAttr name = from.outputName(i))
        to.setOutputName(i, name.getValue());
      if (TypeAttr given = from.outputGiven(i))
        to.setOutputGiven(i, given);
      if (std::optional<CacheInfo> cache = from.cache(i))
        to.setCache({builder.getStringAttr("write"),
                     stepArguments[cache->input].getArgNumber(), cache->output,
                     0});
    }
  }

  func::FuncOp function;
  const RowSizes &sizes;
  const EncoderKeys &encoderKeys;
  const ArrayRef<unsigned> unused;
  OpBuilder builder;
  /// By argument of the function; null: the step has none.
  SmallVector<BlockArgument> stepArguments;
};

struct BatchRows : impl::BatchRowsBase<BatchRows> {
  using BatchRowsBase::BatchRowsBase;

  void runOnOperation() override {
    func::FuncOp general = generalFunction();
    if (!general)
      return signalPassFailure();
    SmallVector<unsigned> unused;
    const auto all = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    if (failed(computeKeptCaches(general, all, unused)) ||
        failed(growStaticCaches(general, unused)))
      return signalPassFailure();
    takeFrontOfInputs(general);
    FailureOr<RowSizes> sizes = RowSizes::of(general, page);
    if (failed(sizes))
      return signalPassFailure();
    FailureOr<EncoderKeys> encoderKeys = EncoderKeys::of(general, *sizes);
    if (failed(encoderKeys))
      return signalPassFailure();
    sizes->encoder = encoderKeys->length;
    dropEncoderOutputs(general, *encoderKeys);
    func::FuncOp step = makeAnyStep(general, *sizes, *encoderKeys, unused);
    if (!step)
      return signalPassFailure();
    const std::string name = general.getSymName().str();
    for (func::FuncOp function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (function != step)
        function.erase();
    step.setSymName(name);
  }

private:
  func::FuncOp makeStep(func::FuncOp general, const RowSizes &sizes,
                        const EncoderKeys &keys, ArrayRef<unsigned> unused) {
    StepMaker maker(general, sizes, keys, unused);
    func::FuncOp step = maker.make();
    numTried += maker.numTried;
    numBelieved += maker.numBelieved;
    return step;
  }

  /// An error of a step that was tried.
  struct Refusal {
    Location where;
    std::string why;
  };

  /// The step, or the first error of making it.
  std::pair<func::FuncOp, std::optional<Refusal>>
  tryStep(func::FuncOp general, const RowSizes &sizes, const EncoderKeys &keys,
          ArrayRef<unsigned> unused) {
    std::optional<Refusal> first;
    ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &found) {
      if (!first && found.getSeverity() == DiagnosticSeverity::Error)
        first = Refusal{found.getLocation(), found.str()};
      return success();
    });
    func::FuncOp step = makeStep(general, sizes, keys, unused);
    return {step, first};
  }

  /// For any rows; where an op forbids that, for one, and a warning names it.
  func::FuncOp makeAnyStep(func::FuncOp general, RowSizes sizes,
                           const EncoderKeys &keys, ArrayRef<unsigned> unused) {
    if (sizes.takesOne)
      return makeStep(general, sizes, keys, unused);
    auto [step, ofRows] = tryStep(general, sizes, keys, unused);
    if (step || !ofRows)
      return step;
    sizes.isOfOneRow = true;
    auto [stepOfOne, ofOne] = tryStep(general, sizes, keys, unused);
    if (stepOfOne)
      emitWarning(ofRows->where)
          << ofRows->why << ": a step has one row, whose prompt comes whole";
    else
      emitRefusals(*ofRows, ofOne);
    return stepOfOne;
  }

  static void emitRefusals(const Refusal &ofRows,
                           const std::optional<Refusal> &ofOne) {
    InFlightDiagnostic error = emitError(ofRows.where) << ofRows.why;
    if (ofOne && (ofOne->where != ofRows.where || ofOne->why != ofRows.why))
      error.attachNote(ofOne->where) << "in a step of one row: " << ofOne->why;
  }

  /// Keys of the encoder that a request hands on, which a sequence has.
  static void dropEncoderOutputs(func::FuncOp function,
                                 const EncoderKeys &keys) {
    Operation *terminator = function.front().getTerminator();
    llvm::BitVector theirs(terminator->getNumOperands());
    for (OpOperand &output : terminator->getOpOperands())
      if (keys.sources.contains(output.get()) ||
          keys.poolOf.contains(output.get()))
        theirs.set(output.getOperandNumber());
    if (theirs.any())
      dropOutputs(function, theirs);
  }

  /// Whether a function is for all requests that another is for.
  static bool isForAllOf(func::FuncOp function, func::FuncOp other) {
    const DictionaryAttr narrower = FunctionInfo(other).when();
    return llvm::all_of(
        FunctionInfo(function).when(), [&](NamedAttribute condition) {
          return narrower.get(condition.getName()) == condition.getValue();
        });
  }

  /// The one for every request; of a merged decoder the branch that goes on from
  /// a past, as it does from an empty one.
  func::FuncOp generalFunction() {
    SmallVector<func::FuncOp> goOn;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      const FunctionInfo info(function);
      if (!info.when())
        return function;
      const SmallVector<CacheInfo> caches = info.caches();
      auto is = [&](StringRef kind) {
        return [=](const CacheInfo &cache) { return cache.kind == kind; };
      };
      if (llvm::any_of(caches, is("append")) &&
          llvm::all_of(caches, [&](const CacheInfo &cache) {
            return is("append")(cache) || is("keep")(cache);
          }))
        goOn.push_back(function);
    }
    // Those for sizes that are broadcast are for fewer requests.
    for (func::FuncOp function : goOn)
      if (llvm::all_of(goOn, [&](func::FuncOp other) {
            return isForAllOf(function, other);
          }))
        return function;
    getOperation().emitError(
        "has no step of rows: the value of an input decides which of its "
        "branches runs, and not one of them alone appends to all caches");
    return {};
  }
};

} // namespace
} // namespace shardc::import
