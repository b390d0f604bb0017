//===- CallConfig.cpp - What the kernel of an op is told ------------------===//

#include "passes/verify/lowered/CallForm.h"

#include "dialects/onnx/WholeSums.h"
#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Pages.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Resampling.h"
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
  ConfigCheck(Operation *op, const CallText &call, const Point &point)
      : op(op), call(call), rank(call.rank), point(point) {}

  /// "" where an entry says what the op does.
  std::string check(NamedAttribute entry) const {
    const StringRef name = entry.getName();
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

  /// What a kernel that is not told would do otherwise, though the op has no
  /// attribute of that name.
  SmallVector<std::string, 8> required() const {
    SmallVector<std::string, 8> names = requiredOfKind();
    if (isa<onnx::MatMulOp, onnx::GemmOp, onnx::ConvOp, onnx::AttentionOp,
            onnx::PagedAttentionOp, onnx::MixtureOfExpertsOp>(op) &&
        onnx::isSummedInOrder(op) && call.kernel != "AttentionFinish")
      names.push_back("in_order");
    return names;
  }

private:
  SmallVector<std::string, 8> requiredOfKind() const {
    if (isa<dist::OnceOp>(op))
      return {"present"};
    if (isa<onnx::ReduceMeanOp>(op))
      return {"count"};
    if (isa<onnx::RangeOp>(op) && op->hasAttr("bounds"))
      return {"start", "delta"};
    if (isa<onnx::GatherOp>(op) && tableRows().isSplit())
      return {"lookup"};
    if (isa<onnx::PagedAttentionPartsOp>(op) ||
        (isa<onnx::PageWriteOp>(op) && placesOfPages().isSplit()))
      return {"places"};
    if (auto attention = dyn_cast<onnx::AttentionOp>(op))
      return requiredOfAttention(attention);
    SmallVector<std::string, 8> names;
    if (auto experts = dyn_cast<onnx::MixtureOfExpertsOp>(op)) {
      names.push_back("experts");
      if (experts.getKeepsChoices())
        names.push_back("keeps_choices");
      // Scales behind the op's own operands.
      if (call.isThere.size() > 6 && call.isThere[6])
        addBlocks(dequantizationOf(experts.getUp()), "up_", names);
      if (call.isThere.size() > 8 && call.isThere[8])
        addBlocks(dequantizationOf(experts.getDown()), "down_", names);
    } else if (call.kernel == "MatMulDequantized") {
      Operation *weights = dequantizationOf(cast<onnx::MatMulOp>(op).getRhs());
      addBlocks(weights, "", names);
      if (weights && weights->hasAttr("activation_bits"))
        names.push_back("activation_bits");
    } else if (isa<onnx::DequantizeLinearOp, onnx::QuantizeLinearOp>(op)) {
      addBlocks(op, "", names);
    }
    return names;
  }

  SmallVector<std::string, 8>
  requiredOfAttention(onnx::AttentionOp attention) const {
    const bool isSplit =
        dist::getSharding(op->getOperand(0).getType()).dims[2].isSplit();
    if (!isSplit || call.kernel == "AttentionFinish")
      return {};
    if (attention.getIsCausal() == 0)
      return {"split_rows"};
    return {"split_rows", "query_pieces"};
  }

  static void addBlocks(Operation *scaled, StringRef prefix,
                        SmallVectorImpl<std::string> &names) {
    if (!scaled ||
        scaled->getAttrOfType<IntegerAttr>("block_size") == nullptr ||
        scaled->getAttrOfType<IntegerAttr>("block_size").getInt() == 0)
      return;
    names.append({(prefix + "axis").str(), (prefix + "block_size").str()});
    if (blockedDim(scaled).isSplit())
      for (StringRef name : kPlaceOfBlocks)
        names.push_back((prefix + name).str());
  }

  static std::string differs(StringRef name) {
    return ("is told another \"" + name + "\" than the op says").str();
  }

  /// A segment of the dim that blocks cut, whose elements the kernel counts.
  static constexpr StringRef kPlaceOfBlocks[] = {"base", "starts", "locals",
                                                 "globals"};

  /// The dim of quantised data whose blocks do not end where those of a rank
  /// do.
  static dist::DimSharding blockedDim(Operation *scaled) {
    const int64_t axis = scaled->getAttrOfType<IntegerAttr>("axis").getInt();
    return onnx::hasWholeBlocks(scaled)
               ? dist::DimSharding()
               : dist::getSharding(scaled->getOperand(0).getType()).dims[axis];
  }

  /// Weights of products are one segment; else it is that of the element.
  std::optional<Index> placeOfBlocks(StringRef name, Operation *scaled) const {
    const dist::DimSharding dim = blockedDim(scaled);
    int64_t left = 0;
    if (scaled == op && !call.element.empty())
      left = call.element[op->getAttrOfType<IntegerAttr>("axis").getInt()];
    dist::DimExpr base = 0;
    for (const dist::Segment &segment : dim.segments) {
      const auto size = point.of(segment.localSize(*point.mesh));
      if (!size)
        return std::nullopt;
      if (left >= *size && dim.segments.size() > 1) {
        left -= *size;
        base = base + segment.size();
        continue;
      }
      SmallVector<dist::DimExpr, 4> values;
      for (const dist::Factor &factor : segment.factors)
        values.push_back(name == "starts"   ? factor.lowerBound(*point.mesh)
                         : name == "locals" ? factor.localSize(*point.mesh)
                                            : factor.size);
      if (name == "base")
        values.assign({base});
      return point.of(values);
    }
    return std::nullopt;
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
    if (name == "in_order")
      return Index{onnx::isSummedInOrder(op)};
    if (name == "count")
      return count();
    if (name == "lookup")
      return lookup();
    if (name == "places" &&
        isa<onnx::PagedAttentionPartsOp, onnx::PageWriteOp>(op))
      return firstAndAll(placesOfPages());
    if (name == "k" || (name == "pads" && op->hasAttr("bounds")))
      return dims("bounds");
    if (isa<onnx::RangeOp>(op) && (name == "start" || name == "delta"))
      return boundOfRange(name == "start" ? 0 : 1);
    if (auto experts = dyn_cast<onnx::MixtureOfExpertsOp>(op)) {
      if (name == "experts")
        return wantedOfExperts();
      if (name == "keeps_choices")
        return Index{experts.getKeepsChoices()};
    }
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
    return firstAndAll(tableRows());
  }

  dist::DimSharding tableRows() const {
    const auto dims = dist::getSharding(op->getOperand(0).getType()).dims;
    const int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
    return dims[axis < 0 ? axis + int64_t(dims.size()) : axis];
  }

  dist::DimSharding placesOfPages() const {
    if (auto write = dyn_cast<onnx::PageWriteOp>(op))
      return dist::getSharding(write.getPool().getType()).dims[write.getAxis()];
    auto attention = cast<onnx::PagedAttentionPartsOp>(op);
    return dist::getSharding(attention.getKeys().getType()).dims[2];
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
    if (!scaled)
      return std::nullopt;
    if (name == "activation_bits") {
      auto bits = scaled->getAttrOfType<IntegerAttr>(name);
      return bits ? std::optional(Index{bits.getInt()}) : std::nullopt;
    }
    if (llvm::is_contained(kPlaceOfBlocks, name))
      return placeOfBlocks(name, scaled);
    if (name != "axis" && name != "block_size")
      return std::nullopt;
    if (name == "axis")
      return Index{axis};
    const int64_t size =
        scaled->getAttrOfType<IntegerAttr>("block_size").getInt();
    if (!onnx::hasWholeBlocks(scaled))
      return Index{size};
    const int64_t own = scaled->getAttrOfType<IntegerAttr>("axis").getInt();
    // A quotient of expressions: a rank may have neither elements nor blocks.
    const auto elements =
        localDims(scaled->getOperand(0).getType())[own].exactDiv(
            localDims(scaled->getOperand(1).getType())[own]);
    return elements ? point.of(SmallVector<dist::DimExpr, 1>{*elements})
                    : std::nullopt;
  }

  Operation *op;
  const CallText &call;
  const int64_t rank;
  const Point &point;
};

} // namespace

/// What the sizes, or other inputs, of a call say, or what makes no difference.
static bool isSaidOtherwise(Operation *op, const CallText &call,
                            NamedAttribute own) {
  const StringRef name = own.getName();
  constexpr StringRef kAlways[] = {"activation_bits", // a product's
                                   "allowzero",
                                   "auto_pad",
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
                                   "operand_bits", // the kernel's name
                                   "output_dtype",
                                   "parts",
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
  if (name == "axes")
    return isa<onnx::ResizeOp, dist::OnceOp>(op);
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
  const ConfigCheck check(op, call, point);
  for (NamedAttribute entry : call.config)
    if (std::string problem = check.check(entry); !problem.empty())
      return problem;
  for (StringRef name : check.required())
    if (!call.config.get(name))
      return ("is not told \"" + name + "\"").str();
  for (NamedAttribute own : op->getAttrs())
    if (!call.config.get(own.getName()) && !isSaidOtherwise(op, call, own))
      return ("is not told \"" + own.getName().getValue() + "\"").str();
  return "";
}

} // namespace shardc::verify
