//===- QuantizePages.cpp - Pools of keys and values in 8 bits -------------===//
//
// What is new is rounded when it is written; attention reads it as numbers:
//
//   pool' = PageWrite pool, k              scale   = max |k| / 127, of each entry
//   y = PagedAttention q, pool', ..        pool'   = PageWrite pool, i8(k / scale)
//                                          scales' = PageWrite scales, scale
//                                          y = PagedAttention q, pool', .., scales'
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/ops/Pages.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <limits>

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_QUANTIZEPAGES
#include "passes/import/Passes.h.inc"

using dist::DimExpr;
using namespace onnx;

namespace {

/// A pool, what writes to it, and who reads that: attention, through transposes
/// that leave an entry's elements together.
struct PoolUses {
  BlockArgument pool;
  PageWriteOp write;
  std::optional<unsigned> output;
  SmallVector<TransposeOp, 2> transposes;
  /// With operand numbers.
  SmallVector<std::pair<PagedAttentionOp, unsigned>, 2> reads;

  /// Nothing where others read it, too.
  static std::optional<PoolUses> of(BlockArgument pool) {
    PoolUses uses;
    uses.pool = pool;
    if (!pool.hasOneUse())
      return std::nullopt;
    OpOperand &only = *pool.use_begin();
    uses.write = dyn_cast<PageWriteOp>(only.getOwner());
    if (!uses.write || only.getOperandNumber() != 0 ||
        uses.write.getAxis() + 1 == dimsOf(pool).size() ||
        !uses.follow(uses.write.getResult()) || !uses.output)
      return std::nullopt;
    return uses;
  }

private:
  bool follow(Value value) {
    for (OpOperand &use : value.getUses()) {
      auto transpose = dyn_cast<TransposeOp>(use.getOwner());
      if (transpose && transpose.getPerm() &&
          transpose.getPerm()->back() + 1 ==
              int64_t(transpose.getPerm()->size())) {
        transposes.push_back(transpose);
        if (!follow(transpose.getResult()))
          return false;
      } else if (isa<func::ReturnOp>(use.getOwner()) && !output) {
        output = use.getOperandNumber();
      } else if (auto attention = dyn_cast<PagedAttentionOp>(use.getOwner());
                 attention &&
                 (use.getOperandNumber() == PagedOperand::Keys ||
                  use.getOperandNumber() == PagedOperand::Values)) {
        reads.push_back({attention, use.getOperandNumber()});
      } else {
        return false;
      }
    }
    return true;
  }
};

class PoolQuantizer {
public:
  PoolQuantizer(func::FuncOp function, Type stored)
      : function(function), stored(stored), builder(function.getContext()) {}

  void quantize(PoolUses &uses) {
    builder.setInsertionPoint(uses.write);
    loc = uses.write.getLoc();
    const Dims dims = scaleDims(dimsOf(uses.pool));
    BlockArgument scales = function.front().addArgument(
        dist::makeType(builder.getF32Type(), dims), uses.pool.getLoc());
    Value added = uses.write.getAdded(), scale = scaleOf(added);
    Value rounded = roundedBy(added, scale);
    auto write = cast<PageWriteOp>(builder.clone(*uses.write));
    write->setOperand(0, scales);
    write->setOperand(1, scale);
    write->getResult(0).setType(scales.getType());
    retype(uses.pool);
    uses.write->setOperand(1, rounded);
    retype(uses.write.getResult());
    readScales(uses, write.getResult());
    addPort(uses, scales, write.getResult());
  }

private:
  /// Largest number of the type.
  double largest() const { return isa<FloatType>(stored) ? 448 : 127; }

  static Dims scaleDims(Dims dims) {
    dims.back() = 1;
    return dims;
  }
  void retype(Value value) {
    value.setType(cast<RankedTensorType>(value.getType()).clone(stored));
  }
  template <typename OpTy>
  Value make(Type element, const Dims &dims, ValueRange operands,
             ArrayRef<NamedAttribute> attributes = {}) {
    OperationState state(loc, OpTy::getOperationName());
    state.addOperands(operands);
    state.addTypes(dist::makeType(element, dims));
    state.addAttributes(attributes);
    return builder.create(state)->getResult(0);
  }
  Value number(double value) {
    auto type = RankedTensorType::get({}, builder.getF32Type());
    return ConstantOp::create(
        builder, loc, type,
        DenseElementsAttr::get(type, builder.getF32FloatAttr(value)));
  }

  /// Of each entry and head, in f32: entries of zeros have the smallest.
  Value scaleOf(Value added) {
    const Type f32 = builder.getF32Type(), element = elementOf(added);
    const Dims dims = dimsOf(added), one = scaleDims(dims);
    Value sizes = make<AbsOp>(element, dims, {added});
    Value most = make<ReduceMaxOp>(
        element, one, {sizes},
        builder.getNamedAttr(
            "axes", builder.getDenseI64ArrayAttr({int64_t(dims.size()) - 1})));
    if (element != f32)
      most = make<CastOp>(f32, one, {most});
    Value scale = make<MulOp>(f32, one, {most, number(1 / largest())});
    return make<MaxOp>(f32, one,
                       {scale, number(std::numeric_limits<float>::min())});
  }

  Value roundedBy(Value added, Value scale) {
    const Type f32 = builder.getF32Type();
    const Dims dims = dimsOf(added);
    if (elementOf(added) != f32)
      added = make<CastOp>(f32, dims, {added});
    Value scaled = make<DivOp>(f32, dims, {added, scale});
    if (!isa<FloatType>(stored))
      scaled = make<RoundOp>(f32, dims, {scaled});
    return make<CastOp>(stored, dims, {scaled});
  }

  /// Attention gets the scales as it gets what they are of.
  void readScales(PoolUses &uses, Value scales) {
    llvm::DenseMap<Value, Value> scalesOf{{uses.write.getResult(), scales}};
    for (TransposeOp transpose : uses.transposes) {
      builder.setInsertionPointAfter(transpose);
      retype(transpose.getResult());
      Operation *same = builder.clone(*transpose);
      same->setOperand(0, scalesOf.lookup(transpose.getData()));
      same->getResult(0).setType(dist::makeType(
          builder.getF32Type(), scaleDims(dimsOf(transpose.getResult()))));
      scalesOf[transpose.getResult()] = same->getResult(0);
    }
    for (auto [attention, number] : uses.reads)
      setScales(attention,
                number == PagedOperand::Keys ? PagedOperand::KeyScales
                                             : PagedOperand::ValueScales,
                scalesOf.lookup(attention->getOperand(number)));
  }

  void setScales(PagedAttentionOp attention, unsigned number, Value scales) {
    builder.setInsertionPoint(attention);
    SmallVector<Value> operands(attention->getOperands());
    if (operands.size() <= number) {
      Value none = NoneOp::create(builder, loc, builder.getNoneType());
      operands.resize(number + 1, none);
    }
    operands[number] = scales;
    attention->setOperands(operands);
  }

  /// The scales are a cache beside that of the pool.
  void addPort(const PoolUses &uses, BlockArgument scales, Value written) {
    FunctionInfo info(function);
    Operation *terminator = function.front().getTerminator();
    const unsigned output = terminator->getNumOperands();
    terminator->insertOperands(output, written);
    function.setType(builder.getFunctionType(
        function.front().getArgumentTypes(), terminator->getOperandTypes()));
    const std::string in =
        info.inputName(uses.pool.getArgNumber()).getValue().str();
    const std::string out = info.outputName(*uses.output).getValue().str();
    info.setInputName(scales.getArgNumber(), in + ".scales");
    info.setOutputName(output, out + ".scales");
    info.setCache(
        {builder.getStringAttr("write"), scales.getArgNumber(), output, 0});
    // Of a pool that was narrowed nobody gives the wider numbers.
    const auto given = TypeAttr::get(stored);
    if (info.inputGiven(uses.pool.getArgNumber()))
      info.setInputGiven(uses.pool.getArgNumber(), given);
    if (info.outputGiven(*uses.output))
      info.setOutputGiven(*uses.output, given);
  }

  func::FuncOp function;
  const Type stored;
  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
};

struct QuantizePages : impl::QuantizePagesBase<QuantizePages> {
  using QuantizePagesBase::QuantizePagesBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      quantize(function);
  }

private:
  Type storedType() {
    MLIRContext *context = &getContext();
    return type == "f8" ? Type(Float8E4M3FNType::get(context))
                        : Type(IntegerType::get(context, 8));
  }

  void quantize(func::FuncOp function) {
    const FunctionInfo info(function);
    SmallVector<PoolUses> pools;
    for (const CacheInfo &cache : info.caches()) {
      BlockArgument pool = function.getArgument(cache.input);
      std::optional<PoolUses> uses = PoolUses::of(pool);
      const Type element = elementOf(pool);
      if (!uses || !isa<FloatType>(element) || element.isF64()) {
        function.emitWarning("--kv-type ")
            << type << ": keys and values stay as they are, since not only "
            << "attention reads " << info.inputName(cache.input)
            << ", or it is no float of at most 32 bits";
        return;
      }
      pools.push_back(*uses);
    }
    PoolQuantizer quantizer(function, storedType());
    for (PoolUses &uses : pools)
      quantizer.quantize(uses);
  }
};

} // namespace
} // namespace shardc::import
