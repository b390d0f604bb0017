//===- Epilogue.cpp - Sums and activations that belong to a product -------===//

#include "passes/lower/rows/Epilogue.h"

#include "dialects/rt/Provenance.h"
#include "passes/lower/overlap/Movement.h"
#include "passes/lower/overlap/RowProduct.h"
#include "passes/lower/rows/RowKernel.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::lower {

using dist::DimExpr;

namespace {

/// The buffer of a view, seen otherwise.
struct Window {
  Value view;
  StridedLayout layout;
};

class EpilogueFolding {
public:
  explicit EpilogueFolding(ArrayRef<RowCall *> members) : members(members) {}

  bool run() {
    if (!findProduct() || !readAddendOfGemm() || !readMembers() || !canSink())
      return false;
    replace();
    return true;
  }

private:
  //===--- What is folded
  //--------------------------------------------------===//

  /// The product among the first member's operands.
  bool findProduct() {
    for (Value input : members.front()->call.getInputs())
      if (rt::CallOp writer = soleWriter(input)) {
        product = writer;
        dims = Sizes(viewTypeOf(product.getOutputs()[0]).getDims());
        element = viewTypeOf(product.getOutputs()[0]).getElement();
        handedOn = bufferOf(input);
        return true;
      }
    return false;
  }

  /// The product that writes all that a view of the first member shows, which
  /// nobody else reads.
  rt::CallOp soleWriter(Value view) {
    Value buffer = bufferOf(view);
    rt::CallOp writer;
    if (!isTemporary(buffer, members.front()->call, &writer) || !writer ||
        (writer.getKernel() != "MatMul" && writer.getKernel() != "Gemm"))
      return {};
    const StridedLayout read = layoutOf(view),
                        written = layoutOf(writer.getOutputs()[0]);
    const bool isSame = read.isContiguous() && written.isContiguous() &&
                        read.offset == written.offset &&
                        read.dims.back() == written.dims.back() &&
                        dist::product(read.dims) == dist::product(written.dims);
    return isSame ? writer : rt::CallOp();
  }

  /// Whether one call writes a buffer and `reader` alone reads it.
  static bool isTemporary(Value buffer, rt::CallOp reader, rt::CallOp *writer) {
    auto alloc = buffer ? buffer.getDefiningOp<rt::AllocOp>() : rt::AllocOp();
    if (!alloc || alloc.getPersistent())
      return false;
    for (Operation *user : buffer.getUsers()) {
      if (isa<rt::FreeOp>(user))
        continue;
      if (!isa<rt::ViewOp>(user))
        return false;
      for (OpOperand &use : user->getUses()) {
        if (use.getOwner() == reader.getOperation())
          continue;
        auto call = dyn_cast<rt::CallOp>(use.getOwner());
        if (!call || *writer ||
            !llvm::is_contained(call.getOutputs(), use.get()))
          return false;
        *writer = call;
      }
    }
    return true;
  }

  bool readAddendOfGemm() {
    if (product.getKernel() == "MatMul")
      return true;
    if (numberOr(product, "alpha", 1) != 1 || numberOr(product, "beta", 1) != 1)
      return false;
    return product.getInputs().size() < 3 ||
           isa<NoneType>(product.getInputs()[2].getType()) ||
           add(product.getInputs()[2]);
  }

  bool readMembers() {
    for (RowCall *member : members) {
      rt::CallOp call = member->call;
      const StringRef kernel = call.getKernel();
      if (activation ||
          (kernel == "Add" ? !readAdd(call)
           : kernel == "Relu"
               ? !activate("relu")
               : kernel != "Gelu" || !isByTanh(call) || !activate("gelu")))
        return false;
      rt::CallOp writer;
      if (member != members.front() && (!isTemporary(handedOn, call, &writer)))
        return false;
      handedOn = member->outputs[0].buffer;
    }
    to = withRows(layoutOf(members.back()->call.getOutputs()[0]),
                  ArrayRef(dims).drop_back());
    return to.has_value();
  }

  bool readAdd(rt::CallOp call) {
    Value other;
    for (Value input : call.getInputs())
      if (bufferOf(input) != handedOn)
        other = input;
    return call.getInputs().size() == 2 && other && add(other);
  }

  bool activate(StringRef name) {
    activation = name;
    return true;
  }

  static bool isByTanh(rt::CallOp call) {
    auto form = dyn_cast_or_null<StringAttr>(
        Attribute(call.getConfig().get("approximate")));
    return form && form.getValue() == "tanh";
  }

  /// As the bias where it is one row, as the residual where it has all rows.
  bool add(Value view) {
    if (!isa<rt::ViewType>(view.getType()))
      return false;
    const StridedLayout layout = layoutOf(view);
    if (viewTypeOf(view).getElement() != element || layout.dims.empty() ||
        layout.dims.back() != dims.back() ||
        !layout.strides.back().isConstant(1))
      return false;
    size_t repeats = 0, rows = layout.dims.size() - 1;
    for (size_t d = 0; d < rows; ++d)
      repeats +=
          layout.strides[d].isConstant(0) || layout.dims[d].isConstant(1);
    if (repeats == rows) {
      StridedLayout row{{dims.back()}, {1}, layout.offset};
      return set(bias, view, row.broadcast(dims));
    }
    // Some rows for all of a batch are no residual.
    for (size_t d = 0; d < rows; ++d)
      if (layout.strides[d].isConstant(0) && !layout.dims[d].isConstant(1))
        return false;
    return set(residual, view, withRows(layout, ArrayRef(dims).drop_back()));
  }

  static bool set(std::optional<Window> &addend, Value view,
                  std::optional<StridedLayout> layout) {
    if (addend || !layout)
      return false;
    addend = Window{view, *layout};
    return true;
  }

  /// The product is done where the last member stands: what it reads must still
  /// be there, and it must not wait for anybody.
  bool canSink() {
    rt::CallOp last = members.back()->call;
    if (product->getBlock() != last->getBlock() ||
        !product->isBeforeInBlock(last))
      return false;
    const Accesses mine = accessesOf(product);
    for (Operation *op = product->getNextNode(); op != last;
         op = op->getNextNode()) {
      if (isBarrier(op) || communicates(op))
        return false;
      for (Value buffer : accessesOf(op).writes)
        if (llvm::is_contained(mine.reads, buffer))
          return false;
    }
    return true;
  }

  //===--- The call
  //---------------------------------------------------------===//

  void replace() {
    rt::CallOp last = members.back()->call;
    SmallVector<rt::CallOp> old{product};
    for (RowCall *member : members)
      old.push_back(member->call);
    OpBuilder builder(last);
    Location loc = nodesOf(old);
    SmallVector<Value, 4> inputs(product.getInputs().take_front(2));
    if (bias)
      inputs.push_back(viewOf(*bias, builder));
    if (residual) {
      if (!bias)
        inputs.push_back(
            rt::AbsentOp::create(builder, loc, builder.getNoneType()));
      inputs.push_back(viewOf(*residual, builder));
    }
    NamedAttrList config;
    if (activation)
      config.append("activation", builder.getStringAttr(*activation));
    auto call = rt::CallOp::create(builder, loc, "Linear", inputs,
                                   viewOf({last.getOutputs()[0], *to}, builder),
                                   config.getDictionary(builder.getContext()));
    rt::setMembers(call, record(call));
    delayFrees(call);
    erase(old);
  }

  /// The product of the first two inputs, the sums with the others, and the
  /// activation. An addend of Gemm is the first that is found, hence the bias.
  rt::Members record(rt::CallOp call) {
    rt::Members all;
    const int64_t first = call.getInputs().size();
    rt::Member made{product.getKernelAttr(), product.getConfig(), {0, 1}, {0}};
    if (const auto addends = product.getInputs().drop_front(2);
        !addends.empty())
      made.inputs.push_back(isa<NoneType>(addends.front().getType())
                                ? -1
                                : numberOf(addends.front()));
    all.members.push_back(made);
    for (RowCall *member : members) {
      rt::CallOp old = member->call;
      rt::Member next{old.getKernelAttr(), old.getConfig(), {}, {0}};
      const int64_t handed = first + int64_t(all.members.size()) - 1;
      Value from =
          all.members.size() == 1
              ? bufferOf(product.getOutputs()[0])
              : bufferOf(members[all.members.size() - 2]->call.getOutputs()[0]);
      for (Value input : old.getInputs())
        next.inputs.push_back(bufferOf(input) == from ? handed
                                                      : numberOf(input));
      all.members.push_back(next);
    }
    all.results = {first + int64_t(all.members.size()) - 1};
    return all;
  }

  /// Of an addend among the call's inputs.
  int64_t numberOf(Value addend) const {
    return bias && bias->view == addend ? 2 : 3;
  }

  static Value viewOf(const Window &window, OpBuilder &builder) {
    rt::ViewType old = viewTypeOf(window.view);
    auto type = rt::ViewType::get(builder.getContext(), old.getElement(),
                                  window.layout.dims, window.layout.strides,
                                  window.layout.offset, old.getReplicated());
    return rt::ViewOp::create(builder, window.view.getLoc(), type,
                              bufferOf(window.view));
  }

  /// With the views and buffers that nobody else uses.
  static void erase(ArrayRef<rt::CallOp> calls) {
    llvm::SmallSetVector<Operation *, 16> sources;
    for (rt::CallOp call : calls) {
      for (Value operand : call->getOperands())
        sources.insert(operand.getDefiningOp());
      call->erase();
    }
    for (size_t i = 0; i < sources.size(); ++i) { // buffers come behind views
      Operation *op = sources[i];
      const bool isUsed = llvm::any_of(op->getUsers(), [](Operation *user) {
        return !isa<rt::FreeOp>(user);
      });
      if (isUsed || !isa<rt::ViewOp, rt::AllocOp>(op))
        continue;
      if (auto view = dyn_cast<rt::ViewOp>(op))
        sources.insert(view.getBuffer().getDefiningOp());
      for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
        user->erase();
      op->erase();
    }
  }

  ArrayRef<RowCall *> members;
  rt::CallOp product;
  Sizes dims; ///< of the product
  Type element;
  Value handedOn; ///< the buffer that the next member reads
  std::optional<Window> bias, residual;
  std::optional<StringRef> activation;
  std::optional<StridedLayout> to;
};

} // namespace

bool foldIntoProduct(ArrayRef<RowCall *> members) {
  return EpilogueFolding(members).run();
}

} // namespace shardc::lower
