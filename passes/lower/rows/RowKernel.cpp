//===- RowKernel.cpp - From a group of calls to a kernel ------------------===//

#include "passes/lower/rows/RowKernel.h"

#include "dialects/dist/NodeName.h"
#include "dialects/rt/Provenance.h"
#include "runtime/artifact/Format.h"
#include "runtime/base/Hash.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::lower {

using dist::DimExpr;

StringAttr KernelTable::add(rt::KernelOp kernel, StringRef what) {
  std::string body;
  llvm::raw_string_ostream os(body);
  kernel.print(os, OpPrintingFlags().useLocalScope());
  auto [entry, isNew] = byBody.try_emplace((what + body).str());
  if (!isNew) {
    kernel.erase();
    return entry->second;
  }
  std::string hash = runtime::hashHex(body.data(), body.size());
  entry->second =
      StringAttr::get(module.getContext(), artifact::kGeneratedPrefix + what +
                                               "_" + hash.substr(0, 12));
  kernel.setSymNameAttr(entry->second);
  return entry->second;
}

Location nodesOf(ArrayRef<rt::CallOp> calls) {
  constexpr size_t kNamed = 4;
  llvm::SmallSetVector<StringRef, 4> nodes;
  for (rt::CallOp call : calls)
    if (StringRef name = nodeName(call); !name.empty())
      nodes.insert(name);
  if (nodes.size() < 2)
    return calls.back()->getLoc();
  std::string text = llvm::join(nodes.getArrayRef().take_front(kNamed), " + ");
  if (nodes.size() > kNamed)
    text += " + " + std::to_string(nodes.size() - kNamed) + " more";
  return NameLoc::get(StringAttr::get(calls.back()->getContext(), text));
}

namespace {

/// Operands that are the same window are one argument.
struct Argument {
  RowOperand operand;
  Value stored;   ///< of the operand's type
  Value wide;     ///< as computed with, once a member reads it
  int64_t number; ///< among inputs, or else members' outputs
  bool isInput;
};

class GroupReplacement {
public:
  GroupReplacement(ArrayRef<RowCall *> members, KernelTable &kernels,
                   Places &places)
      : members(members), kernels(kernels), places(places),
        last(members.back()->call), builder(last) {}

  void run() {
    for (RowCall *member : members)
      calls.insert(member->call);
    findSpace();
    createKernel();
    for (RowCall *member : members)
      emit(*member);
    finishKernel();
    createCall();
    removeMembers();
  }

private:
  /// That of the member with most columns; trailing dims of 1 go where no row
  /// has more than one.
  void findSpace() {
    dims = members.front()->dims;
    for (RowCall *member : members)
      if (!member->dims.back().isConstant(1))
        dims = member->dims;
    while (dims.size() > 1 && dims.back().isConstant(1) && canDrop(1))
      dims.pop_back();
  }

  bool canDrop(size_t count) const {
    const size_t rank = dims.size() - count;
    for (RowCall *member : members)
      for (const auto *list : {&member->inputs, &member->outputs})
        for (const RowOperand &operand : *list)
          if (!operand.isAbsent() && !operand.strides[rank - 1].isConstant(0) &&
              !operand.strides[rank - 1].isConstant(1))
            return false;
    return true;
  }

  RowOperand inSpace(RowOperand operand) const {
    operand.strides.resize(dims.size(), 0);
    return operand;
  }

  void createKernel() {
    OpBuilder atModule(kernels.module.getContext());
    atModule.setInsertionPointToEnd(kernels.module.getBody());
    Location loc = UnknownLoc::get(builder.getContext());
    kernel =
        rt::KernelOp::create(atModule, loc, "", builder.getStrArrayAttr({}),
                             builder.getStrArrayAttr({}));
    block = &kernel.getBody().emplaceBlock();
  }

  static bool isNarrow(Type element) {
    return element.isF16() || element.isBF16();
  }

  /// What a member gives has the bits of its type, as if it were stored: what
  /// readers make of it must not change with where a kernel ends. Of f16,
  ///   s = a + b;  p = s * c;  e = p < d         s and p are rounded
  /// whether the comparison is in this kernel, in another, or in none.
  static Value stored(Type element, Value value, RowBody &body) {
    return isNarrow(element)
               ? arith::TruncFOp::create(body.builder, body.loc, element, value)
               : value;
  }

  static Value wide(Argument &known, RowBody &body) {
    if (!known.wide)
      known.wide =
          isNarrow(known.operand.element)
              ? arith::ExtFOp::create(body.builder, body.loc,
                                      body.builder.getF32Type(), known.stored)
              : known.stored;
    return known.wide;
  }

  Value valueOf(const RowOperand &operand, RowBody &body) {
    for (Argument &known : values)
      if (known.operand == operand)
        return wide(known, body);
    inputs.push_back(inSpace(operand));
    values.push_back({operand, block->addArgument(operand.element, body.loc),
                      Value(), int64_t(inputs.size()) - 1, true});
    return wide(values.back(), body);
  }

  /// What the record of the members calls what an operand holds.
  const Argument &argumentOf(const RowOperand &operand) const {
    return *llvm::find_if(values, [&](const Argument &known) {
      return known.operand == operand;
    });
  }

  void emit(RowCall &member) {
    OpBuilder inside = OpBuilder::atBlockEnd(block);
    RowBody body{inside, kernel.getLoc()};
    SmallVector<Value, 4> read;
    for (const RowOperand &operand : member.inputs)
      read.push_back(operand.isAbsent() ? Value() : valueOf(operand, body));
    SmallVector<Value, 2> written = member.emit(member.call, read, body);
    record(member);
    for (auto [operand, value] : llvm::zip_equal(member.outputs, written))
      values.push_back({operand, stored(operand.element, value, body), Value(),
                        numMade++, false});
  }

  /// Numbers of what members make start at 0 until all inputs are known.
  void record(RowCall &member) {
    rt::Member made{
        member.call.getKernelAttr(), member.call.getConfig(), {}, {}};
    for (const RowOperand &operand : member.inputs) {
      const Argument *known =
          operand.isAbsent() ? nullptr : &argumentOf(operand);
      made.inputs.push_back(known ? known->number : -1);
      isMade.push_back(known && !known->isInput);
    }
    for (const RowOperand &output : member.outputs)
      made.rows.push_back(inSpace(output).isPerRow());
    recorded.members.push_back(std::move(made));
  }

  /// Behind all inputs.
  void numberWhatMembersMake() {
    size_t place = 0;
    for (rt::Member &member : recorded.members)
      for (int64_t &number : member.inputs)
        number += isMade[place++] ? int64_t(inputs.size()) : 0;
    for (int64_t &number : recorded.results)
      number += inputs.size();
  }

  /// Whether anything but the members and rt.free uses the buffer.
  bool isNeeded(Value buffer) const {
    auto alloc = buffer.getDefiningOp<rt::AllocOp>();
    if (!alloc || alloc.getPersistent())
      return true;
    for (Operation *user : buffer.getUsers()) {
      if (isa<rt::FreeOp>(user))
        continue;
      auto view = dyn_cast<rt::ViewOp>(user);
      if (!view || llvm::any_of(view->getUsers(), [&](Operation *reader) {
            return !calls.contains(reader);
          }))
        return true;
    }
    return false;
  }

  void finishKernel() {
    OpBuilder inside = OpBuilder::atBlockEnd(block);
    SmallVector<Value, 4> yielded;
    for (RowCall *member : members)
      for (const RowOperand &operand : member->outputs) {
        if (!isNeeded(operand.buffer)) {
          temporaries.insert(operand.buffer);
          continue;
        }
        outputs.push_back(inSpace(operand));
        const Argument &known = argumentOf(operand);
        recorded.results.push_back(known.number);
        yielded.push_back(known.stored);
      }
    rt::YieldOp::create(inside, kernel.getLoc(), yielded);
    kernel.setInputKindsAttr(kindsOf(inputs));
    kernel.setOutputKindsAttr(kindsOf(outputs));
  }

  ArrayAttr kindsOf(ArrayRef<RowOperand> operands) {
    SmallVector<StringRef, 4> kinds;
    for (const RowOperand &operand : operands)
      kinds.push_back(operand.isPerRow() ? rt::kRow : rt::kColumn);
    return builder.getStrArrayAttr(kinds);
  }

  Value viewOf(const RowOperand &operand, Location loc) {
    Sizes own = dims;
    if (operand.isPerRow())
      own.back() = 1;
    auto type = rt::ViewType::get(builder.getContext(), operand.element, own,
                                  operand.strides, operand.offset,
                                  operand.isReplicated);
    return rt::ViewOp::create(builder, loc, type, operand.buffer);
  }

  std::string whatItDoes() {
    constexpr size_t kNamed = 4;
    std::string text;
    for (RowCall *member : members.take_front(kNamed))
      text += (text.empty() ? "" : "_") + member->call.getKernel().str();
    return members.size() > kNamed ? text + "_etc" : text;
  }

  void createCall() {
    SmallVector<rt::CallOp> named;
    for (RowCall *member : members)
      named.push_back(member->call);
    Location loc = nodesOf(named);
    SmallVector<Value, 8> reads, writes;
    for (const RowOperand &operand : inputs)
      reads.push_back(viewOf(operand, loc));
    for (const RowOperand &operand : outputs)
      writes.push_back(viewOf(operand, loc));
    StringAttr name = kernels.add(kernel, whatItDoes());
    created = rt::CallOp::create(builder, loc, name, reads, writes,
                                 builder.getDictionaryAttr({}));
    numberWhatMembersMake();
    rt::setMembers(created, recorded);
  }

  /// What was freed behind a member is now read later.
  void delayFrees() {
    for (const RowOperand &operand : inputs)
      if (Operation *free = places.freeOf(operand.buffer);
          free && places.isBefore(free, last)) {
        free->moveAfter(created);
        places.put(free, last);
      }
  }

  void removeMembers() {
    delayFrees();
    llvm::SmallSetVector<Operation *, 16> views;
    for (RowCall *member : members) {
      for (Value operand : member->call->getOperands())
        views.insert(operand.getDefiningOp());
      member->call.erase();
    }
    for (Operation *view : views)
      if (view->use_empty())
        view->erase();
    for (Value buffer : temporaries) {
      for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
        user->erase();
      buffer.getDefiningOp()->erase();
    }
  }

  ArrayRef<RowCall *> members;
  KernelTable &kernels;
  Places &places;
  rt::CallOp last, created;
  OpBuilder builder;
  llvm::SmallPtrSet<Operation *, 8> calls;
  Sizes dims;
  rt::KernelOp kernel;
  Block *block = nullptr;
  SmallVector<Argument, 16> values;
  SmallVector<RowOperand, 8> inputs, outputs;
  rt::Members recorded;
  SmallVector<bool, 16> isMade; ///< of each input of each member
  int64_t numMade = 0;
  llvm::SmallSetVector<Value, 4> temporaries;
};

} // namespace

void replaceByKernel(ArrayRef<RowCall *> members, KernelTable &kernels,
                     Places &places) {
  GroupReplacement(members, kernels, places).run();
}

} // namespace shardc::lower
