//===- LoweredProgram.cpp - Who wrote what a view shows -------------------===//

#include "passes/verify/lowered/LoweredProgram.h"

using namespace mlir;

namespace shardc::verify {

using dist::DimExpr;

int64_t Window::address(ArrayRef<int64_t> index) const {
  int64_t address = offset;
  for (auto [i, stride] : llvm::zip_equal(index, strides))
    address += i * stride;
  return address;
}

/// Along the dims by falling stride: as many steps as leave what the others
/// reach.
static bool findAlong(const Window &window, ArrayRef<unsigned> order,
                      int64_t rest, Index &index) {
  if (order.empty())
    return rest == 0;
  const unsigned d = order.front();
  int64_t reach = 0;
  for (unsigned other : order.drop_front())
    reach += (window.dims[other] - 1) * window.strides[other];
  const int64_t stride = window.strides[d];
  for (int64_t i = std::min(rest / stride, window.dims[d] - 1); i >= 0; --i) {
    if (rest - i * stride > reach)
      return false;
    index[d] = i;
    if (findAlong(window, order.drop_front(), rest - i * stride, index))
      return true;
  }
  return false;
}

std::optional<Index> Window::find(int64_t address) const {
  Index index(dims.size(), 0);
  SmallVector<unsigned, 6> order;
  int64_t rest = address - offset;
  for (unsigned d = 0; d < dims.size(); ++d) {
    if (dims[d] <= 0)
      return std::nullopt;
    if (dims[d] == 1 || strides[d] == 0)
      continue;
    if (strides[d] < 0) // not among what is written
      return std::nullopt;
    order.push_back(d);
  }
  if (rest < 0)
    return std::nullopt;
  llvm::sort(order,
             [&](unsigned a, unsigned b) { return strides[a] > strides[b]; });
  return findAlong(*this, order, rest, index) ? std::optional(index)
                                              : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The list of instructions
//===----------------------------------------------------------------------===//

LoweredProgram::LoweredProgram(rt::ProgramOp program) {
  SmallVector<std::pair<Operation *, bool>> open;
  for (Operation &op : program.getBody().front()) {
    times[&op] = order.size();
    order.push_back(&op);
    if (isa<rt::EndOp>(op) && !open.empty()) {
      ends[open.back().first] = &op;
      open.pop_back();
    }
    if (isa<rt::ElseOp>(op) && !open.empty())
      open.back().second = false;
    enclosing[&op] =
        open.empty() ? std::pair<Operation *, bool>() : open.back();
    if (isa<rt::IfOp, rt::LoopOp>(op))
      open.emplace_back(&op, true);
    addSizes(op);
    if (auto call = dyn_cast<rt::CallOp>(op))
      addWriter(op, call.getOutputs());
    else if (auto collective = dyn_cast<rt::CollectiveOp>(op))
      addWriter(op, collective.getOutput());
    else if (auto receive = dyn_cast<rt::ReceiveOp>(op))
      addWriter(op, receive.getView());
  }
}

void LoweredProgram::addWriter(Operation &op, ValueRange views) {
  for (auto [number, view] : llvm::enumerate(views))
    if (auto window = view.getDefiningOp<rt::ViewOp>())
      writers[window.getBuffer()].push_back(
          {&op, static_cast<unsigned>(number), view, timeOf(&op)});
}

void LoweredProgram::addSizes(Operation &op) {
  if (auto set = dyn_cast<rt::SetSizesOp>(op))
    for (auto [bound, value] : llvm::zip_equal(set.getSizes().getValues(),
                                               set.getValues().getValues()))
      sizes[bound.opaque()].push_back({&op, value});
  auto guard = dyn_cast<rt::CallOp>(op);
  if (!guard || guard.getKernel() != "Guard")
    return;
  const DictionaryAttr config = guard.getConfig();
  auto side = [&](StringRef name) {
    return config.getAs<dist::DimsAttr>(name).getValues()[0];
  };
  if (config.getAs<StringAttr>("kind").getValue() == "equal")
    sizes[side("lhs").opaque()].push_back({&op, side("rhs")});
}

BodySize LoweredProgram::sizeBetween(Operation *first, Operation *last,
                                     DimExpr size) const {
  const auto found = sizes.find(size.opaque());
  if (found == sizes.end())
    return {};
  BodySize bound, guarded;
  auto isBefore = [&](const BodySize &said, unsigned time) {
    return timeOf(said.op) < time;
  };
  for (auto said = llvm::lower_bound(found->second, timeOf(first), isBefore);
       said != found->second.end() &&
       (!last || timeOf(said->op) < timeOf(last));
       ++said) {
    if (!isa<rt::SetSizesOp>(said->op)) {
      if (!guarded.op)
        guarded = *said;
    } else if (bound.op) {
      return {};
    } else {
      bound = *said;
    }
  }
  return bound.op ? bound : guarded;
}

ArrayRef<LoweredProgram::Writer> LoweredProgram::writersOf(Value buffer) const {
  auto found = writers.find(buffer);
  if (found == writers.end())
    return {};
  return found->second;
}

const std::optional<rt::Members> &
LoweredProgram::membersOf(rt::CallOp call) const {
  auto [entry, isNew] = members.try_emplace(call);
  if (isNew)
    entry->second = rt::membersOf(call);
  return entry->second;
}

Branches LoweredProgram::around(Operation *op) const {
  Branches branches;
  for (auto bracket = enclosing.lookup(op); bracket.first;
       bracket = enclosing.lookup(bracket.first))
    branches.push_back(bracket);
  return branches;
}

//===----------------------------------------------------------------------===//
// At a point
//===----------------------------------------------------------------------===//

const Window *LoweredState::windowOf(Value view) {
  auto [entry, isNew] = windows.try_emplace(view);
  if (isNew) {
    auto type = cast<rt::ViewType>(view.getType());
    const auto dims = point.of(type.getDims());
    const auto strides = point.of(type.getStrides());
    const auto offset = point.of(type.getOffset());
    if (dims && strides && offset)
      entry->second = std::make_unique<Window>(Window{
          *dims, *strides, *offset, type.getElement().getIntOrFloatBitWidth()});
  }
  return entry->second.get();
}

/// Row-major on this rank.
static std::optional<Index> sourceDims(const Point &point,
                                       dist::ValueAttr value) {
  return point.of(value.getHasLocal() ? value.getLocal() : value.getDims());
}

std::optional<Index> LoweredState::joinedDims(rt::JoinOp join) {
  std::optional<Index> joined;
  for (Value weight : join.getWeights()) {
    const auto dims =
        sourceDims(point, weight.getDefiningOp<rt::WeightOp>().getValue());
    if (!dims)
      return std::nullopt;
    if (!joined)
      joined = dims;
    else
      (*joined)[join.getDim()] += (*dims)[join.getDim()];
  }
  return joined;
}

static std::optional<LoweredElement>
elementAt(Operation *source, const Index &dims, int64_t address) {
  if (address < 0 || address >= countOf(dims))
    return std::nullopt;
  return LoweredElement{LoweredElement::Kind::Source, source, -1, 0,
                        unflatten(address, dims)};
}

std::optional<LoweredElement> LoweredState::sourceElement(Value buffer,
                                                          int64_t address) {
  Operation *source = buffer.getDefiningOp();
  if (auto join = dyn_cast<rt::JoinOp>(source)) {
    const auto dims = joinedDims(join);
    if (!dims || address < 0 || address >= countOf(*dims))
      return std::nullopt;
    Index index = unflatten(address, *dims);
    for (Value part : join.getWeights()) {
      auto weight = part.getDefiningOp<rt::WeightOp>();
      const int64_t size =
          (*sourceDims(point, weight.getValue()))[join.getDim()];
      if (index[join.getDim()] < size)
        return LoweredElement{LoweredElement::Kind::Source, weight, -1, 0,
                              index};
      index[join.getDim()] -= size;
    }
    return std::nullopt;
  }
  if (auto input = dyn_cast<rt::InputOp>(source)) {
    auto dims = sourceDims(point, input.getValue());
    if (!dims || !input.getCacheDim())
      return dims ? elementAt(source, *dims, address) : std::nullopt;
    const size_t grows = *input.getCacheDim();
    SmallVector<DimExpr, 4> sizes(input.getValue().getHasLocal()
                                      ? input.getValue().getLocal()
                                      : input.getValue().getDims());
    const auto room = point.of(rt::cacheRoom(sizes, grows));
    if (!room)
      return std::nullopt;
    Window window{*dims, Index(dims->size()), 0, 0};
    int64_t stride = 1;
    for (size_t d = dims->size(); d-- > 0;) {
      if (input.getDimFirst() && d == grows)
        continue;
      window.strides[d] = stride;
      stride *= (*room)[d];
    }
    if (input.getDimFirst())
      window.strides[grows] = stride;
    if (auto index = window.find(address))
      return LoweredElement{LoweredElement::Kind::Source, source, -1, 0,
                            *index};
    return std::nullopt;
  }
  dist::ValueAttr value;
  if (auto weight = dyn_cast<rt::WeightOp>(source))
    value = weight.getValue();
  else if (auto constant = dyn_cast<rt::ConstantOp>(source))
    value = constant.getValue();
  if (!value)
    return std::nullopt;
  const auto dims = sourceDims(point, value);
  return dims ? elementAt(source, *dims, address) : std::nullopt;
}

LoweredElement LoweredState::read(Value view, Index index, unsigned time,
                                  const Branches &branches) {
  using Kind = LoweredElement::Kind;
  while (true) {
    auto source = view.getDefiningOp<rt::ViewOp>();
    const Window *window = source ? windowOf(view) : nullptr;
    if (!window)
      return {};
    const int64_t address = window->address(index);
    if (!isa<rt::AllocOp>(source.getBuffer().getDefiningOp()))
      return sourceElement(source.getBuffer(), address)
          .value_or(LoweredElement());
    std::optional<LoweredElement> found;
    unsigned when = 0;
    for (const auto &writer :
         llvm::reverse(program.writersOf(source.getBuffer()))) {
      if (writer.time >= time)
        continue;
      const Window *written = windowOf(writer.view);
      const auto at = written ? written->find(address) : std::nullopt;
      if (!at)
        continue;
      Operation *undecided = nullptr;
      bool isTaken = true;
      for (auto [bracket, isThen] : program.around(writer.op)) {
        auto known = llvm::find_if(branches, [&](const auto &branch) {
          return branch.first == bracket;
        });
        if (known == branches.end())
          undecided = bracket;
        else
          isTaken &= known->second == isThen;
      }
      if (!isTaken)
        continue;
      Operation *carries = loopThatCarries(source.getBuffer(), address,
                                           writer.time, time, branches);
      if (carries || isa_and_nonnull<rt::LoopOp>(undecided))
        return {Kind::Looped, carries ? carries : undecided, -1, 0, index, view,
                time};
      if (undecided)
        return {Kind::Decided, undecided, -1, 0, index, view, time};
      if (written->bits != window->bits)
        return {};
      found = LoweredElement{Kind::Made, writer.op, -1, writer.output, *at};
      when = writer.time;
      break;
    }
    if (!found)
      return {Kind::Nothing, nullptr, -1, 0, index, view, time};
    auto call = dyn_cast<rt::CallOp>(found->op);
    if (!call)
      return *found;
    if (call.getKernel() == "Copy" && call.getInputs().size() == 1 &&
        isa<rt::ViewType>(call.getInputs()[0].getType())) {
      view = call.getInputs()[0];
      const Window *from = windowOf(view);
      if (!from || from->dims != windowOf(call.getOutputs()[0])->dims)
        return {};
      index = found->index;
      time = when;
      continue;
    }
    if (const auto &members = program.membersOf(call)) {
      int64_t number =
          members->results[found->output] - call.getInputs().size();
      for (auto [m, member] : llvm::enumerate(members->members)) {
        if (number < int64_t(member.rows.size())) {
          found->member = static_cast<int>(m);
          found->output = static_cast<unsigned>(number);
          break;
        }
        number -= member.rows.size();
      }
    }
    return *found;
  }
}

Operation *LoweredState::loopThatCarries(Value buffer, int64_t address,
                                         unsigned written, unsigned time,
                                         const Branches &branches) {
  Operation *innermost = nullptr;
  for (auto [bracket, isThen] : branches) {
    const unsigned first = program.timeOf(bracket);
    Operation *end = program.endOf(bracket);
    if (!isa<rt::LoopOp>(bracket) || !end || first >= time || first < written ||
        program.timeOf(end) < time ||
        (innermost && program.timeOf(innermost) > first))
      continue;
    for (const auto &writer : program.writersOf(buffer)) {
      const Window *later =
          writer.time >= time && writer.time < program.timeOf(end)
              ? windowOf(writer.view)
              : nullptr;
      if (later && later->find(address))
        innermost = bracket;
    }
  }
  return innermost;
}

std::vector<Index> LoweredState::seamsOf(Value view, unsigned time) {
  std::vector<Index> seams;
  auto source = view.getDefiningOp<rt::ViewOp>();
  const Window *window = source ? windowOf(view) : nullptr;
  const auto writers = source ? program.writersOf(source.getBuffer())
                              : ArrayRef<LoweredProgram::Writer>();
  if (!window || writers.size() < 2)
    return seams;
  for (const auto &writer : writers) {
    const Window *written = windowOf(writer.view);
    if (writer.time >= time || !written || countOf(written->dims) == 0)
      continue;
    Index last = written->dims;
    for (int64_t &i : last)
      --i;
    for (const Index &end : {Index(last.size(), 0), last})
      if (auto index = window->find(written->address(end)))
        seams.push_back(*index);
  }
  return seams;
}

} // namespace shardc::verify
