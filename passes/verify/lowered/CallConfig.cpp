//===- CallConfig.cpp - What the kernel of an op is told ------------------===//

#include "passes/verify/lowered/CallForm.h"

#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::verify {

namespace {

int64_t rankOf(Value value) {
  return static_cast<int64_t>(dist::getDims(value.getType()).size());
}

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
    if (isa<onnx::MixtureOfExpertsOp>(op) && name == "experts")
      return wantedOfExperts();
    if (isa<onnx::AttentionOp>(op))
      return wantedOfAttention(name);
    return wantedOfBlocks(name);
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

  std::optional<Index> wantedOfExperts() const {
    auto experts = cast<onnx::MixtureOfExpertsOp>(op);
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

  /// Null where it is not one's result, or that transposed.
  static Operation *dequantizationOf(Value weights) {
    if (auto transpose = weights.getDefiningOp<onnx::TransposeOp>())
      weights = transpose.getData();
    return weights.getDefiningOp<onnx::DequantizeLinearOp>();
  }

  std::optional<Index> wantedOfBlocks(StringRef name) const {
    if (auto matmul = dyn_cast<onnx::MatMulOp>(op))
      return wantedOfBlocks(name, dequantizationOf(matmul.getRhs()), rank - 2);
    if (isa<onnx::DequantizeLinearOp, onnx::QuantizeLinearOp>(op))
      return wantedOfBlocks(name, op,
                            op->getAttrOfType<IntegerAttr>("axis").getInt());
    auto experts = dyn_cast<onnx::MixtureOfExpertsOp>(op);
    if (experts && name.consume_front("up_"))
      return wantedOfBlocks(name, dequantizationOf(experts.getUp()), 1);
    if (experts && name.consume_front("down_"))
      return wantedOfBlocks(name, dequantizationOf(experts.getDown()), 1);
    return std::nullopt;
  }

  std::optional<Index> wantedOfBlocks(StringRef name, Operation *scaled,
                                      int64_t axis) const {
    if (!scaled || (name != "axis" && name != "block_size"))
      return std::nullopt;
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

} // namespace

/// What the sizes, or other inputs, of a call say, or what makes no difference.
static bool isSaidOtherwise(Operation *op, const CallText &call,
                            NamedAttribute own) {
  const StringRef name = own.getName();
  constexpr StringRef kAlways[] = {"allowzero",
                                   "auto_pad",
                                   "axes",
                                   "ceil_mode",
                                   "in_capacity",
                                   "k",
                                   "keepdims",
                                   "kernel_shape",
                                   "kv_num_heads",
                                   "max",
                                   "min",
                                   "noop_with_empty_axes",
                                   "num_heads",
                                   "output_dtype",
                                   "q_num_heads",
                                   "qk_matmul_output_mode",
                                   "rotary_embedding_dim",
                                   "softmax_precision",
                                   "stash_type",
                                   "to",
                                   "transA",
                                   "transB",
                                   "why"};
  if (llvm::is_contained(kAlways, name) || name.contains('.'))
    return true;
  if (name == "bounds")
    return isa<onnx::RangeOp>(op)
               ? call.config.get("start") != nullptr
               : call.config.get("k") || call.config.get("pads");
  if (isa<onnx::PadOp>(op) && (name == "pads" || name == "value"))
    return op->hasAttr("bounds"); // and an operand
  if (name == "causal_offset")
    return cast<onnx::AttentionOp>(op).getIsCausal() == 0;
  const Type result = getElementTypeOrSelf(op->getResult(0).getType());
  const bool isFloat8 =
      isa<FloatType>(result) && result.getIntOrFloatBitWidth() == 8;
  if (name == "saturate" || name == "round_mode" || name == "precision")
    return !isFloat8 || isa<onnx::QuantizeLinearOp>(op);
  auto blocks = op->getAttrOfType<IntegerAttr>("block_size");
  if (blocks && (name == "axis" || name == "block_size"))
    return blocks.getInt() == 0;
  return call.kernel == "AttentionFinish" && name != "zero_rows";
}

std::string problemOfConfig(Operation *op, const CallText &call,
                            const Point &point) {
  const ConfigCheck check(op, call.rank, point);
  for (NamedAttribute entry : call.config)
    if (std::string problem = check.check(entry); !problem.empty())
      return problem;
  for (NamedAttribute own : op->getAttrs())
    if (!call.config.get(own.getName()) && !isSaidOtherwise(op, call, own))
      return ("is not told \"" + own.getName().getValue() + "\"").str();
  return "";
}

} // namespace shardc::verify
