//===- CallForm.cpp - The call that an op becomes -------------------------===//

#include "passes/verify/lowered/CallForm.h"

#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::verify {

using dist::DimExpr;

namespace {

int64_t rankOf(Value value) {
  return static_cast<int64_t>(dist::getDims(value.getType()).size());
}

//===----------------------------------------------------------------------===//
// What kernels are told
//===----------------------------------------------------------------------===//

/// Attributes of an op as those of its call.
class ConfigCheck {
public:
  ConfigCheck(Operation *op, int64_t rank, const Point &point)
      : op(op), rank(rank), point(point) {}

  /// "" where an entry says what the op does.
  std::string check(NamedAttribute entry) const {
    const StringRef name = entry.getName();
    if (isBlocks(name))
      return "";
    const std::optional<Index> found = numbersOf(entry.getValue(), name);
    if (const std::optional<Index> wanted = wantedNumbers(name))
      return found == wanted ? "" : differs(name);
    Attribute own = op->getAttr(name);
    if (!own)
      return ("is told \"" + name + "\", of which the op knows nothing").str();
    const std::optional<Index> numbers = numbersOf(own, name);
    return (found ? found == numbers : own == entry.getValue()) ? ""
                                                                : differs(name);
  }

private:
  static std::string differs(StringRef name) {
    return ("is told another \"" + name + "\" than the op says").str();
  }

  /// Where blocks of quantised weights begin on a rank: see lowerScaled.
  static bool isBlocks(StringRef name) {
    if (!name.consume_front("up_"))
      name.consume_front("down_");
    return name == "base" || name == "starts" || name == "locals" ||
           name == "globals";
  }

  std::optional<Index> numbersOf(Attribute attribute, StringRef name) const {
    Index numbers;
    if (auto dims = dyn_cast<dist::DimsAttr>(attribute)) {
      const auto values = point.of(dims.getValues());
      if (!values)
        return std::nullopt;
      numbers = *values;
    } else if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute)) {
      numbers.assign(list.asArrayRef().begin(), list.asArrayRef().end());
    } else if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
      numbers = {integer.getInt()};
    } else {
      return std::nullopt;
    }
    if ((name == "axis" || name == "axes") && op->getNumOperands() > 0)
      for (int64_t &axis : numbers)
        axis += axis < 0 ? rankOf(op->getOperand(0)) : 0;
    return numbers;
  }

  std::optional<Index> dims(StringRef attribute) const {
    auto values = op->getAttrOfType<dist::DimsAttr>(attribute);
    return values ? point.of(values.getValues()) : std::nullopt;
  }

  /// What has another name in the op, or none.
  std::optional<Index> wantedNumbers(StringRef name) const {
    if (name == "present")
      return isFirst();
    if (name == "count")
      return count();
    if (name == "lookup")
      return lookup();
    if (name == "k" || (name == "pads" && op->hasAttr("bounds")))
      return dims("bounds");
    if (isa<onnx::RangeOp>(op) && (name == "start" || name == "delta"))
      return boundOfRange(name == "start" ? 0 : 1);
    if (isa<onnx::MixtureOfExpertsOp>(op))
      return wantedOfExperts(name);
    if (isa<onnx::AttentionOp>(op))
      return wantedOfAttention(name);
    if (isa<onnx::MatMulOp, onnx::DequantizeLinearOp, onnx::QuantizeLinearOp>(
            op) &&
        (name == "block_size" || name == "axis"))
      return wantedOfBlocks(name);
    return std::nullopt;
  }

  std::optional<Index> isFirst() const {
    const auto axes = cast<dist::OnceOp>(op).getAxes().getAxes();
    const auto index = point.of(dist::flatIndex(
        SmallVector<dist::AxisRef>(axes.begin(), axes.end()), *point.mesh));
    return index ? std::optional(Index{*index == 0}) : std::nullopt;
  }

  std::optional<Index> count() const {
    auto axes = op->getAttrOfType<DenseI64ArrayAttr>("axes");
    const auto sizes = point.of(dist::getDims(op->getOperand(0).getType()));
    if (!axes || !sizes)
      return std::nullopt;
    int64_t count = 1;
    for (int64_t axis : axes.asArrayRef())
      count *= (*sizes)[axis < 0 ? axis + sizes->size() : axis];
    return Index{count};
  }

  std::optional<Index> lookup() const {
    auto axis = op->getAttrOfType<IntegerAttr>("axis");
    if (!axis)
      return std::nullopt;
    const auto dims = dist::getSharding(op->getOperand(0).getType()).dims;
    const int64_t d = axis.getInt() < 0 ? axis.getInt() + int64_t(dims.size())
                                        : axis.getInt();
    return firstAndAll(dims[d]);
  }

  std::optional<Index> boundOfRange(size_t number) const {
    const auto bounds = dims("bounds");
    return bounds ? std::optional(Index{(*bounds)[number]}) : std::nullopt;
  }

  std::optional<Index> wantedOfExperts(StringRef name) const {
    auto experts = cast<onnx::MixtureOfExpertsOp>(op);
    if (name != "experts")
      return std::nullopt;
    const Index wanted =
        firstAndAll(dist::getSharding(experts.getDown().getType()).dims[0])
            .value_or(Index{0, 0});
    return Index{wanted[1], wanted[0]};
  }

  /// Of a dim of which a rank has a range: where that starts, and how many
  /// there are in all. Where it has none, its start is as good as any other.
  std::optional<Index> firstAndAll(const dist::DimSharding &dim) const {
    const auto all = point.of(dim.size());
    const auto local = point.of(dim.localSize(*point.mesh));
    if (!all || !local)
      return std::nullopt;
    const auto first = *local > 0 ? toGlobal(dim, 0, point)
                                  : point.of(dim.lowerBound(*point.mesh));
    return first ? std::optional(Index{*first, *all}) : std::nullopt;
  }

  /// Which of all queries this rank has, as ranges.
  std::optional<Index> wantedOfAttention(StringRef name) const {
    const auto rows = dist::getSharding(op->getOperand(0).getType()).dims[2];
    if (name == "split_rows")
      return Index{rows.isSplit()};
    if (name != "query_pieces")
      return std::nullopt;
    const auto local = point.of(rows.localSize(*point.mesh));
    if (!local)
      return std::nullopt;
    Index pieces;
    for (const dist::Range &range : rows.ranges(*point.mesh)) {
      const auto start = point.of(range.start), size = point.of(range.size);
      if (!start || !size)
        return std::nullopt;
      pieces.append({*start, *size});
    }
    return pieces;
  }

  std::optional<Index> wantedOfBlocks(StringRef name) const {
    Operation *scaled = op;
    int64_t axis = 0;
    if (auto matmul = dyn_cast<onnx::MatMulOp>(op)) {
      Value weights = matmul.getRhs();
      if (auto transpose = weights.getDefiningOp<onnx::TransposeOp>())
        weights = transpose.getData();
      scaled = weights.getDefiningOp();
      axis = rank - 2;
      if (!isa_and_nonnull<onnx::DequantizeLinearOp>(scaled))
        return std::nullopt;
    } else {
      axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
    }
    if (name == "axis")
      return Index{axis};
    const int64_t size =
        scaled->getAttrOfType<IntegerAttr>("block_size").getInt();
    if (!onnx::hasWholeBlocks(scaled))
      return Index{size};
    const int64_t own = scaled->getAttrOfType<IntegerAttr>("axis").getInt();
    const auto elements =
        point.of(localDims(scaled->getOperand(0).getType())[own]);
    const auto blocks =
        point.of(localDims(scaled->getOperand(1).getType())[own]);
    return elements && blocks && *blocks > 0
               ? std::optional(Index{*elements / *blocks})
               : std::nullopt;
  }

  Operation *op;
  const int64_t rank;
  const Point &point;
};

//===----------------------------------------------------------------------===//
// What kernels read
//===----------------------------------------------------------------------===//

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
    return call.kernel == stem() ||
           (isa<onnx::MatMulOp>(op) && (call.kernel == "MatMulDequantized" ||
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
    else if (call.kernel == "MatMulFloat8")
      makeFloat8(cast<onnx::MatMulOp>(op));
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

  bool broadcastsToResult() {
    if (op->getNumResults() != 1)
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

  void makeFloat8(onnx::MatMulOp matmul) {
    bool isTransposed = false;
    auto weights = dequantizationOf(matmul.getRhs(), isTransposed);
    auto left = matmul.getLhs().getDefiningOp<onnx::DequantizeLinearOp>();
    if (!weights || !left) {
      form.problem = "has quantised operands, which the op has not";
      return;
    }
    form.isProduct = true;
    add(left.getInput());
    addMatrix(weights.getInput(), isTransposed);
    add(left.getScale());
    addMatrix(weights.getScale(), isTransposed);
    form.inputs[1].isColumn = form.inputs[3].isColumn = true;
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

std::string problemOfConfig(Operation *op, const CallText &call,
                            const Point &point) {
  const ConfigCheck check(op, call.rank, point);
  for (NamedAttribute entry : call.config)
    if (std::string problem = check.check(entry); !problem.empty())
      return problem;
  return "";
}

CallForm callFormOf(Operation *op, const CallText &call, Reference &reference) {
  return FormMaker(op, call, reference).run();
}

} // namespace shardc::verify
