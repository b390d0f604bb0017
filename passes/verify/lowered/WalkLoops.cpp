//===- WalkLoops.cpp - What iterations leave behind -----------------------===//
//
// An element that an iteration reads, or that is read behind the loop, is at a
// place of a buffer that iterations write. It is what the op has there, by
// induction: before the first iteration there is the initial value, and at the
// end of one, that started with what the op starts one with, what it yields.
//
//   rt.call "Copy"(%x) into(%h)       %h = onnx.Loop %trips, %none, %x
//   rt.loop %goesOn                   ^bb0(%i, %go, %h):
//     rt.call "Neg"(%h) into(%m)        %m = onnx.Neg %h
//     rt.call "Copy"(%m) into(%h)       onnx.Yield %go, %m
//   rt.end
//
// At rt.loop %h is %x; at rt.end it is Neg of what it was at rt.loop.
//
//===----------------------------------------------------------------------===//

#include "passes/verify/lowered/Walk.h"

using namespace mlir;

namespace shardc::verify {

using dist::DimExpr;

namespace {

/// Whether an element is the only one of a constant of this number.
bool isNumber(const LoweredElement &made, int64_t number) {
  auto constant = dyn_cast_or_null<rt::ConstantOp>(made.op);
  if (made.kind != LoweredElement::Kind::Source || !constant)
    return false;
  auto elements = dyn_cast<DenseIntElementsAttr>(constant.getElements());
  return elements && elements.isSplat() &&
         elements.getSplatValue<llvm::APInt>().getZExtValue() ==
             static_cast<uint64_t>(number);
}

Index zeros(const Window *window) {
  return Index(window ? window->dims.size() : 0, 0);
}

/// Whether both show the same place.
bool isSamePlace(LoweredState &state, Value a, const Index &at, Value b) {
  const Window *first = state.windowOf(a), *second = state.windowOf(b);
  return first && second &&
         a.getDefiningOp<rt::ViewOp>().getBuffer() ==
             b.getDefiningOp<rt::ViewOp>().getBuffer() &&
         first->address(at) == second->address(zeros(second));
}

/// How far a view moves with each step of a symbol; nothing where that differs.
std::optional<int64_t> strideOf(Value view, DimExpr symbol,
                                const Point &point) {
  const DimExpr offset = cast<rt::ViewType>(view.getType()).getOffset();
  const DimExpr step =
      offset.replaceSymbols([&](StringRef name) -> std::optional<DimExpr> {
        return name == symbol.asSymbol() ? std::optional(symbol + 1)
                                         : std::nullopt;
      }) -
      offset;
  bool isSteady = true;
  step.forEachSymbol(
      [&](StringRef name, bool) { isSteady &= name != symbol.asSymbol(); });
  return isSteady ? point.of(step) : std::nullopt;
}

} // namespace

//===----------------------------------------------------------------------===//
// Scalars: the number of the iteration, and whether there is another one
//===----------------------------------------------------------------------===//

std::optional<std::pair<Walk::Scalar, Walk::Scalar>>
Walk::operandsOf(const LoweredElement &made, StringRef kernel) {
  auto call = made.kind == LoweredElement::Kind::Made
                  ? dyn_cast<rt::CallOp>(made.op)
                  : rt::CallOp();
  if (!call)
    return std::nullopt;
  StringRef name = call.getKernel();
  SmallVector<int64_t, 2> numbers = {0, 1};
  if (made.member >= 0) {
    const rt::Member &member = program.membersOf(call)->members[made.member];
    name = member.kernel.getValue();
    numbers.assign(member.inputs.begin(), member.inputs.end());
  } else if (call.getInputs().size() != 2) {
    return std::nullopt;
  }
  if (name != kernel || numbers.size() != 2 || numbers[0] < 0 || numbers[1] < 0)
    return std::nullopt;
  auto scalar = [&](int64_t number) {
    const bool isInput = number < int64_t(call.getInputs().size());
    return Scalar{call, isInput ? call.getInputs()[number] : Value(),
                  isInput ? LoweredElement()
                          : memberElement(call, number, made.index)};
  };
  return std::pair(scalar(numbers[0]), scalar(numbers[1]));
}

LoweredElement Walk::read(const Scalar &scalar, int64_t rank,
                          const Branches &branches) {
  LoweredState &state = sideOf(rank).state;
  return scalar.view
             ? state.read(scalar.view, zeros(state.windowOf(scalar.view)),
                          program.timeOf(scalar.reader), branches)
             : scalar.element;
}

LogicalResult Walk::relateScalar(const Scalar &scalar, int64_t rank,
                                 Value value, const Branches &branches) {
  Side &side = sideOf(rank);
  const Index *dims = side.reference.dimsOf(value);
  if (!dims)
    return success();
  const ReferenceElement wanted{value, Index(dims->size(), 0)};
  return scalar.view
             ? relateView(rank, scalar.reader, scalar.view,
                          zeros(side.state.windowOf(scalar.view)), wanted,
                          branches)
             : relate(rank, scalar.reader, scalar.element, wanted, branches);
}

bool Walk::counts(int64_t rank, rt::LoopOp bracket, Value view,
                  const Index &index, const Branches &before,
                  const Branches &inside) {
  LoweredState &state = sideOf(rank).state;
  if (!isNumber(state.read(view, index, program.timeOf(bracket), before), 0))
    return false;
  const auto sum = operandsOf(
      state.read(view, index, program.timeOf(program.endOf(bracket)), inside),
      "Add");
  if (!sum || !sum->first.view || !isNumber(read(sum->second, rank, inside), 1))
    return false;
  const LoweredElement last = read(sum->first, rank, inside);
  return last.kind == LoweredElement::Kind::Looped && last.op == bracket &&
         isSamePlace(state, view, index, sum->first.view);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

rt::LoopOp Walk::loopOver(const LoweredElement &made,
                          const Branches &branches) const {
  if (made.kind == LoweredElement::Kind::Looped)
    return cast<rt::LoopOp>(made.op);
  rt::LoopOp last;
  auto window = made.view ? made.view.getDefiningOp<rt::ViewOp>() : nullptr;
  for (const auto &writer : window ? program.writersOf(window.getBuffer())
                                   : ArrayRef<LoweredProgram::Writer>())
    for (auto [bracket, isThen] : program.around(writer.op))
      if (auto loop = dyn_cast<rt::LoopOp>(bracket);
          loop && writer.time < made.time &&
          llvm::none_of(
              branches, [&](auto &known) { return known.first == loop; }))
        last = loop;
  return last;
}

LogicalResult Walk::relateLooped(rt::LoopOp bracket, int64_t rank,
                                 Operation *reader, Value view,
                                 const Index &index,
                                 const ReferenceElement &wanted,
                                 const Branches &branches) {
  onnx::LoopOp loop = loopOf(wanted);
  if (!keepsSizes(loop))
    return success();
  // Branches that an iteration takes are not those of the one before.
  Branches before = branches, inside;
  llvm::erase_if(before, [&](auto &branch) {
    return program.timeOf(branch.first) >= program.timeOf(bracket);
  });
  inside = before;
  inside.emplace_back(bracket, true);
  if (!looped
           .insert({rank, bracket, view.getAsOpaquePointer(), index,
                    wanted.value.getAsOpaquePointer(), wanted.index, before})
           .second)
    return success();
  if (compared.insert(loop).second &&
      failed(relateGoesOn(loop, bracket, rank, before)))
    return failure();
  LoweredState &state = sideOf(rank).state;
  auto differs = [&](const Twine &why) {
    return breach(reader, {LoweredElement::Kind::Looped, bracket, -1, 0, {}},
                  wanted, why);
  };
  auto argument = dyn_cast<BlockArgument>(wanted.value);
  if (argument && argument == loop.getIteration())
    return counts(rank, bracket, view, index, before, inside)
               ? success()
               : differs("is not the number of the iteration");
  if (argument && argument == loop.getGoesOn())
    return isSamePlace(state, view, index, bracket.getCondition())
               ? success()
               : differs("is not the condition");
  const unsigned k = argument ? argument.getArgNumber() - 2
                              : cast<OpResult>(wanted.value).getResultNumber();
  if (k >= loop.getNumCarried())
    return relateRow(loop, bracket, rank, reader, view, index, wanted, inside);
  return failure(
      failed(relateView(rank, bracket, view, index,
                        {loop.getCarried()[k], wanted.index}, before)) ||
      failed(relateView(rank, program.endOf(bracket), view, index,
                        {loop.getNext()[k], wanted.index}, inside)));
}

/// Row number `count` - 1 is written in each iteration, where `count` is 0 before
/// the first one, and one more in each from before the row is written.
LogicalResult Walk::relateRow(onnx::LoopOp loop, rt::LoopOp bracket,
                              int64_t rank, Operation *reader, Value view,
                              const Index &index,
                              const ReferenceElement &wanted,
                              const Branches &inside) {
  auto differs = [&](const Twine &why) {
    return breach(reader, {LoweredElement::Kind::Looped, bracket, -1, 0, {}},
                  wanted, why);
  };
  Operation *end = program.endOf(bracket);
  const DimExpr rows = dist::getDims(wanted.value.getType()).front();
  const BodySize all = program.sizeBetween(end, nullptr, rows);
  if (!all.op || !all.value.asSymbol())
    return differs("does not say how many rows there are");
  const DimExpr count = all.value;
  const BodySize first =
      program.sizeBetween(&bracket->getBlock()->front(), bracket, count);
  const BodySize next = program.sizeBetween(bracket, end, count);
  if (!first.op || first.value != 0 || !next.op || next.value != count + 1 ||
      program.sizeBetween(end, all.op, count).op)
    return differs("counts its rows otherwise");
  Side &side = sideOf(rank);
  const Window *window = side.state.windowOf(view);
  const auto number = side.point.of(count);
  if (!window || !number)
    return success();
  const unsigned k = cast<OpResult>(wanted.value).getResultNumber();
  const ReferenceElement row{loop.getScanned()[k - loop.getNumCarried()],
                             Index(llvm::drop_begin(wanted.index))};
  for (const auto &writer :
       program.writersOf(view.getDefiningOp<rt::ViewOp>().getBuffer())) {
    const Window *written = side.state.windowOf(writer.view);
    const auto stride = strideOf(writer.view, count, side.point);
    if (writer.time < program.timeOf(next.op) ||
        writer.time > program.timeOf(end) || !written || !stride)
      continue;
    if (const auto at =
            written->find(window->address(index) +
                          (*number - 1 - wanted.index.front()) * *stride))
      return relateView(rank, end, writer.view, *at, row, inside);
  }
  return differs("has its rows elsewhere");
}

LogicalResult Walk::relateGoesOn(onnx::LoopOp loop, rt::LoopOp bracket,
                                 int64_t rank, const Branches &branches) {
  Branches inside = branches;
  inside.emplace_back(bracket, true);
  Value condition = isa<NoneType>(loop.getCondition().getType())
                        ? Value()
                        : loop.getCondition();
  return failure(failed(relateGoesOnAt(bracket, loop, bracket, rank, condition,
                                       branches)) ||
                 failed(relateGoesOnAt(program.endOf(bracket), loop, bracket,
                                       rank, loop.getGoesOnStill(), inside)));
}

/// `condition` and iteration < trips, each if there is one.
LogicalResult Walk::relateGoesOnAt(Operation *reader, onnx::LoopOp loop,
                                   rt::LoopOp bracket, int64_t rank,
                                   Value condition, const Branches &branches) {
  LoweredState &state = sideOf(rank).state;
  auto differs = [&](const Twine &why) {
    return reader->emitError("has a condition that ") << why;
  };
  Value goesOn = bracket.getCondition();
  const Index place = zeros(state.windowOf(goesOn));
  LoweredElement made =
      state.read(goesOn, place, program.timeOf(reader), branches);
  if (isa<NoneType>(loop.getTripCount().getType())) {
    if (!condition)
      return isNumber(made, 1) ? success() : differs("is not true");
    const Index *dims = sideOf(rank).reference.dimsOf(condition);
    return !dims ? success()
                 : relateView(rank, reader, goesOn, place,
                              {condition, Index(dims->size(), 0)}, branches);
  }
  if (condition) {
    const auto both = operandsOf(made, "And");
    if (!both)
      return differs("is not that of two");
    if (failed(relateScalar(both->first, rank, condition, branches)))
      return failure();
    made = read(both->second, rank, branches);
  }
  const auto less = operandsOf(made, "Less");
  if (!less || !less->first.view)
    return differs("does not compare with the number of iterations");
  Branches before = branches, inside;
  llvm::erase_if(before, [&](auto &branch) { return branch.first == bracket; });
  inside = before;
  inside.emplace_back(bracket, true);
  // What is compared is the number of iterations that are over.
  const LoweredElement over = read(less->first, rank, branches);
  const bool isOver = reader == bracket ? isNumber(over, 0)
                                        : operandsOf(over, "Add").has_value();
  if (!isOver ||
      !counts(rank, bracket, less->first.view,
              zeros(state.windowOf(less->first.view)), before, inside))
    return differs("does not count iterations");
  return relateScalar(less->second, rank, loop.getTripCount(), branches);
}

} // namespace shardc::verify
