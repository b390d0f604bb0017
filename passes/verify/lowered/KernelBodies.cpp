//===- KernelBodies.cpp - Generated kernels against ops -------------------===//

#include "passes/verify/lowered/KernelBodies.h"

#include "dialects/onnx/evaluate/Evaluate.h"
#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/rt/Provenance.h"
#include "dialects/rt/RowReference.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace shardc::verify {

using onnx::evaluate::Outcome;
using onnx::evaluate::Precision;
using onnx::evaluate::Shape;
using onnx::evaluate::Tensor;

namespace {

/// An op that is done for one row of `columns`, as evaluation wants it.
class RowOp {
public:
  RowOp(Operation *op, size_t columns) : columns(columns), op(op->clone()) {
    MLIRContext *context = op->getContext();
    Builder builder(context);
    const bool isReduction = op->hasAttr("axes");
    if (op->hasAttr("axis"))
      this->op->setAttr("axis", builder.getI64IntegerAttr(1));
    if (isReduction)
      this->op->setAttr("axes", builder.getDenseI64ArrayAttr({1}));
    Shape shape{1, isReduction ? 1 : int64_t(columns)};
    if (isRotary()) {
      this->op->setAttr("rotary_embedding_dim", builder.getI64IntegerAttr(0));
      shape = {1, 1, 1, 2 * int64_t(columns)};
    }
    for (Value result : this->op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        result.setType(RankedTensorType::get(shape, type.getElementType()));
  }
  ~RowOp() { op->erase(); }

  bool isRotary() const { return isa<onnx::RotaryEmbeddingOp>(op); }

  /// What the op's results are, of rows; halves of heads are rows of their own.
  Outcome run(ArrayRef<const rt::RowValues *> inputs, Precision precision,
              std::vector<rt::RowValues> &results) {
    SmallVector<Tensor, 4> tensors;
    if (isRotary())
      tensors.push_back(joined(*inputs[0], *inputs[1]));
    for (size_t i = isRotary() ? 2 : 0; i < inputs.size(); ++i)
      tensors.push_back(tensorOf(tensors.size(), inputs[i]));
    SmallVector<const Tensor *, 4> operands;
    for (const Tensor &tensor : tensors)
      operands.push_back(&tensor);
    onnx::evaluate::Sizes sizes;
    bool overflows = false;
    onnx::evaluate::Call call{op, operands, sizes, precision, overflows};
    const Outcome outcome = onnx::evaluate::evaluateOp(call);
    if (outcome != Outcome::Done)
      return outcome;
    for (const Tensor &result : call.results)
      add(result, results);
    return outcome;
  }

private:
  Type elementOf(size_t operand) const {
    return getElementTypeOrSelf(op->getOperand(operand).getType());
  }

  Tensor tensorOf(size_t operand, const rt::RowValues *values) const {
    if (!values)
      return {};
    if (isa<onnx::ClipOp>(op) && operand > 0) { // a bound is one number
      Tensor bound(elementOf(operand), {});
      bound.data = {values->front()};
      return bound;
    }
    Shape shape{1, int64_t(columns)};
    if (isRotary())
      shape = {1, 1, int64_t(columns)};
    Tensor tensor(elementOf(operand), shape);
    tensor.data = *values;
    return tensor;
  }

  Tensor joined(const rt::RowValues &first, const rt::RowValues &second) const {
    Tensor head(elementOf(0), {1, 1, 1, 2 * int64_t(columns)});
    head.data = first;
    llvm::append_range(head.data, second);
    return head;
  }

  void add(const Tensor &result, std::vector<rt::RowValues> &results) const {
    if (isRotary()) {
      results.emplace_back(result.data.begin(), result.data.begin() + columns);
      results.emplace_back(result.data.begin() + columns, result.data.end());
    } else if (result.data.size() == 1) {
      results.emplace_back(columns, result.data[0]);
    } else {
      results.push_back(result.data);
    }
  }

  const size_t columns;
  Operation *op;
};

/// What a kernel gives for a row when its members are done as ops.
class MemberRow {
public:
  MemberRow(const rt::Members &all, ArrayRef<Operation *> ops, size_t columns)
      : all(all), ops(ops), columns(columns) {}

  Outcome run(ArrayRef<rt::RowValues> inputs, Precision precision) {
    values.assign(inputs.begin(), inputs.end());
    for (auto [member, op] : llvm::zip_equal(all.members, ops)) {
      SmallVector<const rt::RowValues *, 4> operands;
      for (int64_t number : member.inputs) {
        if (number >= int64_t(values.size()))
          return Outcome::Unfit;
        operands.push_back(number < 0 ? nullptr : &values[number]);
      }
      if (operands.empty() || !operands.front())
        return Outcome::Unfit;
      std::vector<rt::RowValues> results;
      if (isa<dist::AllReduceOp>(op)) {
        values.push_back(negated(*operands.front()));
        continue;
      }
      // What is not yet divided by the count of all is not rounded.
      const bool isMean = isa<onnx::ReduceMeanOp>(op);
      if (Outcome outcome =
              RowOp(op, columns)
                  .run(operands, isMean ? Precision::Exact : precision,
                       results);
          outcome != Outcome::Done)
        return outcome;
      if (isMean)
        divideByWhole(member, op, precision, results.front());
      if (results.size() != member.rows.size())
        return Outcome::Unfit;
      llvm::append_range(values, results);
    }
    return llvm::all_of(all.results,
                        [&](int64_t number) {
                          return number >= 0 && number < int64_t(values.size());
                        })
               ? Outcome::Done
               : Outcome::Unfit;
  }

  const rt::RowValues &result(unsigned output) const {
    return values[all.results[output]];
  }

private:
  /// The least of all ranks is the largest of what is negated, which is what a
  /// member does of such a collective.
  static rt::RowValues negated(rt::RowValues row) {
    for (double &value : row)
      value = -value;
    return row;
  }

  /// A rank's part of a mean is of the count of all.
  void divideByWhole(const rt::Member &member, Operation *op,
                     Precision precision, rt::RowValues &row) const {
    auto count = dyn_cast_or_null<dist::DimsAttr>(member.config.get("count"));
    double part = 1;
    if (count && count.getValues().size() == 1 &&
        count.getValues()[0].asConstant())
      part = double(columns) / double(*count.getValues()[0].asConstant());
    const Type element = getElementTypeOrSelf(op->getResult(0).getType());
    for (double &value : row)
      value = precision == Precision::Exact
                  ? value * part
                  : rt::roundedTo(element, value * part);
  }

  const rt::Members &all;
  ArrayRef<Operation *> ops;
  const size_t columns;
  std::vector<rt::RowValues> values; ///< by number, see Provenance.h
};

class BodyCheck {
public:
  BodyCheck(rt::CallOp call, rt::KernelOp kernel, const rt::Members &all,
            ArrayRef<Operation *> ops)
      : call(call), kernel(kernel), all(all), ops(ops) {}

  LogicalResult run() {
    std::mt19937 random(11);
    for (int64_t row = 0; row < rt::kRowSamples; ++row)
      if (failed(compare(row, sample(row, random))))
        return failure();
    return success();
  }

private:
  std::vector<rt::RowValues> sample(int64_t row, std::mt19937 &random) {
    std::vector<rt::RowValues> inputs;
    for (auto [kind, argument] :
         llvm::zip_equal(kernel.getInputKinds().getAsValueRange<StringAttr>(),
                         kernel.getBody().getArguments())) {
      const Type element = argument.getType();
      auto draw = [&] {
        const double drawn = rt::rowSample(row, random);
        return element.isSignlessInteger(1) ? double(drawn > 0)
                                            : rt::roundedTo(element, drawn);
      };
      rt::RowValues &input = inputs.emplace_back(kColumns, draw());
      if (kind == rt::kColumn)
        for (double &value : input)
          value = draw();
    }
    return inputs;
  }

  LogicalResult compare(int64_t row, ArrayRef<rt::RowValues> inputs) {
    rt::RowReference body(kernel);
    MemberRow rounded(all, ops, kColumns), exact(all, ops, kColumns);
    if (failed(body.run(inputs, kColumns)))
      return failure();
    for (auto [member, precision] :
         {std::pair(&rounded, Precision::Rounded), {&exact, Precision::Exact}})
      if (member->run(inputs, precision) != Outcome::Done)
        return call.emitError("stands for what cannot be evaluated: this is a "
                              "bug of shardc; use --kernels reference");
    for (auto [output, value] : llvm::enumerate(
             kernel.getBody().front().getTerminator()->getOperands()))
      for (size_t c = 0; c < kColumns; ++c)
        if (const double wanted = rounded.result(output)[c];
            !body.allows(output, c, wanted, value.getType()) &&
            !body.allows(output, c, exact.result(output)[c], value.getType()))
          return call.emitError("is a kernel that gives ")
                 << body.expected(output, c) << " where what it stands for "
                 << "gives " << wanted << " (row " << row << ", column " << c
                 << " of output " << output
                 << "): this is a bug of shardc; use --kernels reference";
    return success();
  }

  static constexpr size_t kColumns = 6;
  rt::CallOp call;
  rt::KernelOp kernel;
  const rt::Members &all;
  ArrayRef<Operation *> ops;
};

} // namespace

void KernelBodies::add(rt::CallOp call, unsigned member, Operation *op) {
  auto &known = ops[call];
  if (known.size() <= member)
    known.resize(member + 1);
  known[member] = op;
}

LogicalResult KernelBodies::verify() {
  llvm::DenseSet<std::pair<Attribute, Attribute>> verified;
  for (auto &[op, members] : ops) {
    auto call = cast<rt::CallOp>(op);
    const auto all = rt::membersOf(call);
    if (!all || members.size() != all->members.size() ||
        llvm::is_contained(members, nullptr) ||
        !verified
             .insert(
                 {call.getKernelAttr(), call->getDiscardableAttrDictionary()})
             .second)
      continue;
    auto kernel = SymbolTable::lookupNearestSymbolFrom<rt::KernelOp>(
        call, call.getKernelAttr());
    if (!kernel || kernel.getInputKinds().size() != call.getInputs().size() ||
        all->results.size() != kernel.getOutputKinds().size())
      return call.emitError("is not the kernel that it calls");
    if (failed(BodyCheck(call, kernel, *all, members).run()))
      return failure();
  }
  return success();
}

} // namespace shardc::verify
