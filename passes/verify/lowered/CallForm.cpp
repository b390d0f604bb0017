//===- CallForm.cpp - The call that an op becomes -------------------------===//

#include "passes/verify/lowered/CallForm.h"

#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Pages.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Resampling.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::verify {

namespace {

class FormMaker {
public:
  FormMaker(Operation *op, const CallText &call, Reference &reference)
      : op(op), call(call), reference(reference) {}

  CallForm run() {
    if (!takesKernel())
      return fail("is another kernel than the op's");
    makeInputs();
    if (form.problem.empty())
      form.problem = problemOfConfig(op, call, reference.point);
    return form;
  }

private:
  CallForm fail(const Twine &problem) {
    form.problem = problem.str();
    return form;
  }

  StringRef stem() const {
    return isa<dist::OnceOp>(op) ? "Once" : op->getName().stripDialect();
  }

  bool takesKernel() const {
    if (isa<onnx::MatMulOp, onnx::GemmOp>(op) && op->hasAttr("operand_bits"))
      return call.kernel == "MatMulBFloat16";
    if (isa<onnx::MixtureOfExpertsOp>(op) && op->hasAttr("operand_bits"))
      return call.kernel == "MixtureOfExpertsBFloat16";
    return call.kernel == stem() ||
           (isa<onnx::MatMulOp>(op) && (call.kernel == "MatMulDequantized" ||
                                        call.kernel == "MatMulQuantized" ||
                                        call.kernel == "MatMulFloat8"));
  }

  static bool isAbsent(Value value) {
    return !value || isa<NoneType>(value.getType());
  }

  static std::optional<ReferenceElement>
  elementOf(Value value, ArrayRef<int64_t> seen, Reference &reference) {
    const Index *dims = reference.dimsOf(value);
    return dims ? std::optional(
                      ReferenceElement{value, broadcastIndex(seen, *dims)})
                : std::nullopt;
  }

  void add(Value value) {
    Reference *known = &reference;
    if (isAbsent(value))
      form.inputs.push_back({});
    else
      form.inputs.push_back({[value, known](ArrayRef<int64_t> seen) {
        return elementOf(value, seen, *known);
      }});
  }

  void makeInputs() {
    if (auto gemm = dyn_cast<onnx::GemmOp>(op))
      makeGemm(gemm);
    else if (call.kernel == "MatMulDequantized")
      makeDequantized(cast<onnx::MatMulOp>(op));
    else if (call.kernel == "MatMulFloat8" || call.kernel == "MatMulQuantized")
      makeOfBytes(cast<onnx::MatMulOp>(op));
    else if (auto experts = dyn_cast<onnx::MixtureOfExpertsOp>(op))
      makeExperts(experts);
    else
      makePlain();
    while (!form.inputs.empty() && !form.inputs.back().element &&
           form.inputs.size() > call.isThere.size())
      form.inputs.pop_back();
    bool isAlike = form.inputs.size() == call.isThere.size();
    for (size_t i = 0; isAlike && i < call.isThere.size(); ++i)
      isAlike = bool(form.inputs[i].element) == call.isThere[i];
    if (!isAlike)
      form.problem = "has other inputs than the op";
  }

  void makePlain() {
    SmallVector<Value> operands(op->getOperands());
    if (isa<onnx::AttentionOp>(op) && operands.size() > 4) {
      // Past and lengths are none of the kernel's.
      operands.erase(
          operands.begin() + onnx::AttentionOperand::PastKey,
          operands.begin() +
              std::min<size_t>(onnx::AttentionOperand::Sinks, operands.size()));
    } else if (isa<onnx::RangeOp>(op)) {
      if (op->hasAttr("bounds"))
        operands.clear();
      else
        operands.erase(operands.begin() + 1); // the limit
    }
    for (Value operand : operands)
      add(operand);
    form.isProduct = isa<onnx::MatMulOp>(op);
    if (form.isProduct)
      form.inputs[1].isColumn = true;
    form.isElementwise = !form.isProduct && broadcastsToResult();
  }

  /// Sizes may look as if they did, of ops that combine operands otherwise.
  bool broadcastsToResult() {
    if (op->getNumResults() != 1 ||
        isa<onnx::AttentionOp, onnx::CacheAppendOp, onnx::ConvOp,
            onnx::GatherOp, onnx::GatherElementsOp, onnx::GatherNDOp,
            onnx::GridSampleOp, onnx::MatMulIntegerOp, onnx::MergeAttentionOp,
            onnx::MixtureOfExpertsOp, onnx::PagedAttentionOp,
            onnx::PagedAttentionPartsOp, onnx::PageWriteOp,
            onnx::RotaryEmbeddingOp, onnx::ScatterElementsOp,
            onnx::ScatterNDOp>(op))
      return false;
    const Index *result = reference.dimsOf(op->getResult(0));
    for (Value operand : op->getOperands()) {
      if (isAbsent(operand))
        continue;
      const Index *dims = reference.dimsOf(operand);
      if (!result || !dims || dims->size() > result->size())
        return false;
      for (size_t d = 0; d < dims->size(); ++d)
        if ((*dims)[d] != 1 &&
            (*dims)[d] != (*result)[d + result->size() - dims->size()])
          return false;
    }
    return true;
  }

  void makeGemm(onnx::GemmOp gemm) {
    form.isProduct = true;
    addMatrix(gemm.getLhs(), gemm.getTransA() != 0);
    addMatrix(gemm.getRhs(), gemm.getTransB() != 0);
    form.inputs.back().isColumn = true;
    if (!gemm.getAddend().empty())
      add(gemm.getAddend().front());
  }

  void addMatrix(Value value, bool isTransposed) {
    Reference *known = &reference;
    form.inputs.push_back(
        {[value, isTransposed, known](ArrayRef<int64_t> seen) {
          Index index(seen.begin(), seen.end());
          if (isTransposed)
            std::swap(index.end()[-1], index.end()[-2]);
          return elementOf(value, index, *known);
        }});
  }

  /// Numbers, scales and zero points of weights; null where they are none.
  static onnx::DequantizeLinearOp dequantizationOf(Value weights,
                                                   bool &isTransposed) {
    isTransposed = false;
    if (auto transpose = weights.getDefiningOp<onnx::TransposeOp>()) {
      isTransposed = true;
      weights = transpose.getData();
    }
    return weights.getDefiningOp<onnx::DequantizeLinearOp>();
  }

  void makeDequantized(onnx::MatMulOp matmul) {
    bool isTransposed = false;
    auto weights = dequantizationOf(matmul.getRhs(), isTransposed);
    if (!weights) {
      form.problem = "has quantised weights, which the op has not";
      return;
    }
    form.isProduct = true;
    add(matmul.getLhs());
    for (Value operand : weights->getOperands()) {
      if (isAbsent(operand))
        form.inputs.push_back({});
      else
        addMatrix(operand, isTransposed);
      form.inputs.back().isColumn = true;
    }
  }

  /// Bytes of both operands, their scales and their zero points.
  void makeOfBytes(onnx::MatMulOp matmul) {
    bool isTransposed = false;
    auto weights = dequantizationOf(matmul.getRhs(), isTransposed);
    auto left = matmul.getLhs().getDefiningOp<onnx::DequantizeLinearOp>();
    if (!weights || !left) {
      form.problem = "has quantised operands, which the op has not";
      return;
    }
    form.isProduct = true;
    for (size_t i = 0; i < 3; ++i) {
      auto operandOf = [&](onnx::DequantizeLinearOp op) {
        return i < op->getNumOperands() ? op->getOperand(i) : Value();
      };
      add(operandOf(left));
      if (isAbsent(operandOf(weights)))
        form.inputs.push_back({});
      else
        addMatrix(operandOf(weights), isTransposed);
      form.inputs.back().isColumn = true;
    }
  }

  /// Weights that are quantised are made of three inputs.
  void makeExperts(onnx::MixtureOfExpertsOp experts) {
    constexpr size_t kUp = 3, kDown = 4, kUpScale = 6, kDownScale = 8;
    for (Value operand : experts->getOperands())
      add(operand);
    form.inputs.resize(10);
    for (auto [number, scale] :
         {std::pair(kUp, kUpScale), std::pair(kDown, kDownScale)}) {
      if (scale >= call.isThere.size() || !call.isThere[scale])
        continue;
      bool isTransposed = false;
      auto weights =
          dequantizationOf(experts->getOperand(number), isTransposed);
      if (!weights) {
        form.problem = "has quantised weights, which the op has not";
        return;
      }
      SmallVector<CallForm::Input, 6> kept = std::move(form.inputs);
      form.inputs.clear();
      for (Value operand : weights->getOperands())
        addMatrix(operand, isTransposed);
      SmallVector<CallForm::Input, 6> made = std::move(form.inputs);
      form.inputs = std::move(kept);
      form.inputs[number] = made[0];
      for (size_t i = 1; i < made.size(); ++i)
        form.inputs[scale + i - 1] = made[i];
    }
  }

  Operation *op;
  const CallText &call;
  Reference &reference;
  CallForm form;
};

} // namespace

CallForm callFormOf(Operation *op, const CallText &call, Reference &reference) {
  return FormMaker(op, call, reference).run();
}

} // namespace shardc::verify
