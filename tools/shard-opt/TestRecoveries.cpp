//===- TestRecoveries.cpp - Passes for tests of the reference evaluator ---===//

#include "tools/shard-opt/TestRecoveries.h"

#include "dialects/onnx/evaluate/Evaluate.h"
#include "passes/import/validate/Validator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace shardc {

using namespace onnx::evaluate;

namespace {

/// Results as "name: 2x3 [0, 1, ...]", with digits enough to read them back.
struct EvaluatePass : PassWrapper<EvaluatePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EvaluatePass)

  StringRef getArgument() const override { return "shardc-test-evaluate"; }
  StringRef getDescription() const override {
    return "Prints what functions without arguments give";
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      evaluate(function);
  }

  /// What an op that cannot be evaluated is used for cannot be either.
  static void evaluate(func::FuncOp function) {
    Sizes sizes;
    bool overflows = false;
    llvm::DenseMap<Value, Tensor> values;
    llvm::DenseMap<Value, std::string> whyNot;
    for (Operation &op : function.front()) {
      std::string reason;
      SmallVector<const Tensor *> operands;
      for (Value operand : op.getOperands()) {
        operands.push_back(&values[operand]);
        if (reason.empty())
          reason = whyNot.lookup(operand);
      }
      if (isa<func::ReturnOp>(op)) {
        for (Value value : op.getOperands())
          if (whyNot.contains(value))
            llvm::outs() << function.getName() << ": " << whyNot[value] << '\n';
          else
            print(function.getName(), values[value]);
        continue;
      }
      Call call{&op, operands, sizes, Precision::Rounded, overflows};
      Outcome outcome = reason.empty() ? evaluateOp(call) : Outcome::Unknown;
      if (outcome != Outcome::Done && reason.empty())
        reason = (op.getName().stripDialect() +
                  (outcome == Outcome::Unknown ? " is unknown"
                   : outcome == Outcome::Unfit ? " has sizes that do not fit"
                                               : " has no meaning"))
                     .str();
      for (auto [i, value] : llvm::enumerate(op.getResults())) {
        const bool isMade = reason.empty() && i < call.results.size();
        values[value] = isMade ? call.results[i] : Tensor();
        if (!reason.empty())
          whyNot[value] = reason;
      }
    }
  }

  static void print(StringRef name, const Tensor &tensor) {
    if (!tensor.element) {
      llvm::outs() << name << ": absent\n";
      return;
    }
    llvm::outs() << name << ": " << tensor.element << " [";
    llvm::interleaveComma(tensor.shape, llvm::outs());
    llvm::outs() << "] = [";
    llvm::interleaveComma(tensor.data, llvm::outs(), [](double value) {
      llvm::outs() << llvm::format("%.17g", value);
    });
    llvm::outs() << "]\n";
  }
};

struct ValidatePass : PassWrapper<ValidatePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ValidatePass)

  StringRef getArgument() const override { return "shardc-test-validate"; }
  StringRef getDescription() const override {
    return "Says whether the two results of each function are the same";
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      import::Validator validator;
      validator.enter(function.front());
      Operation *end = function.front().getTerminator();
      import::Verdict verdict =
          validator.verdictOn(end->getOperand(0), end->getOperand(1));
      llvm::outs() << function.getName() << ": ";
      if (verdict.kind == import::Verdict::Different)
        llvm::outs() << "different with " << verdict.sizes << ": "
                     << verdict.difference << '\n';
      else
        llvm::outs() << (verdict.kind == import::Verdict::Same ? "same\n"
                                                               : "unknown\n");
    }
  }
};

} // namespace

void registerTestRecoveries() {
  PassRegistration<EvaluatePass>();
  PassRegistration<ValidatePass>();
}

} // namespace shardc
