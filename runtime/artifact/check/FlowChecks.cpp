//===- FlowChecks.cpp - Buffers and sizes along every path ----------------===//
//
// One walk over a list of instructions keeps what is certain to have happened
// before: which buffers are written, and which symbols have a value. Brackets
// fork it:
//
//   if c          {}
//     a = ...     {a, b}
//     b = ...
//   else          {}
//     a = ...     {a}
//   end           {a}, what both branches have done
//   loop c        {a}
//     d = ...     {a, d}, and again from {a} in the next iteration
//   end           {a}, for it may not run at all
//
//===----------------------------------------------------------------------===//
#include "runtime/artifact/check/ProgramChecks.h"

namespace shardc::runtime {
namespace {

/// Of brackets; each keeps a copy of what is certain.
constexpr size_t kMaxNesting = 64;

class FlowChecker {
public:
  /// `writtenIn` as in ProgramChecker; this walk goes on from it.
  FlowChecker(const artifact::Program &program, bool load,
              std::vector<uint8_t> writtenIn)
      : program(program), list(*(load ? program.load() : program.run())),
        phase(load ? 1 : 2) {
    now.writtenIn = std::move(writtenIn);
    now.writtenIn.resize(program.buffers()->size());
    for (const artifact::Symbol *symbol : *program.symbols())
      now.isBound.push_back(!isBoundByRun(*symbol));
    findKnownScalars();
  }

  Status run() {
    for (const artifact::Input *input : *program.inputs())
      for (uint32_t dim : *input->dims())
        if (!isKnown[dim])
          return artifactError("input '", input->name()->c_str(),
                               "' has a size that the run finds");
    for (uint32_t i = 0; i < list.size(); ++i) {
      SHARDC_RETURN_IF_ERROR(checkSizes(i));
      SHARDC_RETURN_IF_ERROR(touchAll(i));
      SHARDC_RETURN_IF_ERROR(follow(i));
    }
    if (!open.empty())
      return artifactError(describe(*list.Get(open.back().instruction)),
                           " has no end");
    return phase == 2 ? checkOutputs() : Status::ok();
  }

  std::vector<uint8_t> takeWritten() { return std::move(now.writtenIn); }

private:
  /// What is certain.
  struct State {
    std::vector<uint8_t> writtenIn; ///< by buffer
    std::vector<char> isBound;      ///< by symbol
  };
  /// An `if` or `loop` that has not ended.
  struct Open {
    uint32_t instruction;
    HostInstruction kind;
    State before;
    State afterThen; ///< of an `if` behind its `else`
    bool hasElse = false;
    uint32_t condition = 0; ///< buffer
    bool isConditionWritten = false;
  };

  /// Scalars whose symbols all have a value.
  void findKnownScalars() {
    isKnown.assign(program.scalars()->size(), 1);
    for (uint32_t i = 0; i < isKnown.size(); ++i) {
      const artifact::Scalar *scalar = program.scalars()->Get(i);
      if (scalar->op() == artifact::ScalarOp_Symbol)
        isKnown[i] = now.isBound[static_cast<size_t>(scalar->value())];
      else if (scalar->op() >= artifact::ScalarOp_Add)
        isKnown[i] = isKnown[static_cast<size_t>(scalar->lhs())] &&
                     isKnown[static_cast<size_t>(scalar->rhs())];
    }
  }

  bool isViewKnown(int32_t number) const {
    if (number < 0)
      return true;
    const artifact::View *view =
        program.views()->Get(static_cast<uint32_t>(number));
    bool known = isKnown[view->offset()] &&
                 isKnown[program.buffers()->Get(view->buffer())->bytes()];
    for (uint32_t d = 0; d < view->dims()->size(); ++d)
      known = known && isKnown[view->dims()->Get(d)] &&
              isKnown[view->strides()->Get(d)];
    return known;
  }

  bool isAttributeKnown(const artifact::Attribute &attribute) const {
    bool known = true;
    if (attribute.scalars())
      for (uint32_t scalar : *attribute.scalars())
        known = known && isKnown[scalar];
    if (attribute.layout())
      for (const artifact::DimLayout *layout : *attribute.layout())
        for (const artifact::SegmentLayout *segment : *layout->segments())
          for (const artifact::FactorLayout *factor : *segment->factors())
            known = known && isKnown[factor->size()];
    return known;
  }

  /// Nothing is as large as a symbol says that has no value yet.
  Status checkSizes(uint32_t index) const {
    const artifact::Instruction &instruction = *list.Get(index);
    bool known = true;
    for (int32_t view : *instruction.inputs())
      known = known && isViewKnown(view);
    for (int32_t view : *instruction.outputs())
      known = known && isViewKnown(view);
    const bool isOfHost =
        hostInstruction(instruction.kernel()->string_view()) !=
        HostInstruction::None;
    if (instruction.attributes())
      for (const artifact::Attribute *attribute : *instruction.attributes())
        // What the host binds need not have a value yet.
        if (!isOfHost || attribute->name()->string_view() == "values")
          known = known && isAttributeKnown(*attribute);
    if (known)
      return Status::ok();
    return artifactError(describe(instruction), " (instruction ", index,
                         ") needs a size that nothing is certain to have read "
                         "or set before");
  }

  Status checkOutputs() const {
    for (const artifact::Output *output : *program.outputs()) {
      bool known = output->view() < program.views()->size() &&
                   isViewKnown(static_cast<int32_t>(output->view()));
      for (uint32_t dim : *output->dims())
        known = known && dim < isKnown.size() && isKnown[dim];
      if (!known)
        return artifactError("output '", output->name()->c_str(),
                             "' has a size that is not known at the end");
    }
    return Status::ok();
  }

  Status touchAll(uint32_t index) {
    for (int32_t view : *list.Get(index)->inputs())
      SHARDC_RETURN_IF_ERROR(touch(index, view, false));
    for (int32_t view : *list.Get(index)->outputs())
      SHARDC_RETURN_IF_ERROR(touch(index, view, true));
    return Status::ok();
  }

  /// No buffer is read before it was written or touched outside its lifetime.
  Status touch(uint32_t index, int32_t view, bool write) {
    if (view < 0)
      return Status::ok();
    const artifact::Instruction &instruction = *list.Get(index);
    uint32_t b = program.views()->Get(static_cast<uint32_t>(view))->buffer();
    const artifact::Buffer *buffer = program.buffers()->Get(b);
    const bool cache = buffer->kind() == artifact::BufferKind_Cache;
    const bool arena = buffer->kind() == artifact::BufferKind_Arena || cache;
    if (!arena && buffer->kind() != artifact::BufferKind_Persistent)
      return Status::ok();
    uint8_t &writtenIn = now.writtenIn[b];
    if (arena && !cache &&
        (index < buffer->first_use() || index > buffer->last_use()))
      return artifactError(describe(instruction), " (instruction ", index,
                           ") touches buffer ", b, " outside its lifetime [",
                           buffer->first_use(), ", ", buffer->last_use(), "]");
    const bool written = writtenIn == phase || (!arena && writtenIn != 0);
    if (!write && !written)
      return artifactError(describe(instruction), " (instruction ", index,
                           ") reads buffer ", b, " before it is written");
    if (!write)
      return Status::ok();
    if (arena && writtenIn != 0 && writtenIn != phase)
      return artifactError("buffer ", b,
                           " is arena memory of both load and run");
    writtenIn = phase;
    for (Open &bracket : open)
      bracket.isConditionWritten |= bracket.condition == b;
    return Status::ok();
  }

  void bind(uint32_t index) {
    const auto *sizes = findAttribute(*list.Get(index), "sizes");
    for (uint32_t scalar : *sizes->scalars())
      if (bindsSymbol(program, index, scalar))
        now.isBound[static_cast<size_t>(
            program.scalars()->Get(scalar)->value())] = 1;
    findKnownScalars();
  }

  Status enter(uint32_t index, HostInstruction kind) {
    if (open.size() == kMaxNesting)
      return artifactError(describe(*list.Get(index)), " is nested in ",
                           kMaxNesting, " others, expected fewer");
    const auto view = static_cast<uint32_t>(list.Get(index)->inputs()->Get(0));
    open.push_back({index,
                    kind,
                    now,
                    {},
                    false,
                    program.views()->Get(view)->buffer(),
                    false});
    return Status::ok();
  }

  Status follow(uint32_t index) {
    const artifact::Instruction &instruction = *list.Get(index);
    std::string_view name = instruction.kernel()->string_view();
    const HostInstruction kind = hostInstruction(name);
    const bool meetsOthers = collectiveForm(name) || name == artifact::kSend ||
                             name == artifact::kReceive;
    if (!open.empty() && meetsOthers)
      return artifactError(describe(instruction),
                           " communicates where the data decide whether it "
                           "runs");
    switch (kind) {
    case HostInstruction::None:
      break;
    case HostInstruction::ReadSizes:
    case HostInstruction::SetSizes:
      bind(index);
      break;
    case HostInstruction::If:
    case HostInstruction::Loop:
      return enter(index, kind);
    case HostInstruction::Else:
      return startElse(instruction);
    case HostInstruction::End:
      return leave(instruction);
    }
    return Status::ok();
  }

  Status startElse(const artifact::Instruction &instruction) {
    if (open.empty() || open.back().kind != HostInstruction::If ||
        open.back().hasElse)
      return artifactError(describe(instruction), " belongs to no if");
    open.back().hasElse = true;
    open.back().afterThen = std::exchange(now, open.back().before);
    findKnownScalars();
    return Status::ok();
  }

  Status leave(const artifact::Instruction &instruction) {
    if (open.empty())
      return artifactError(describe(instruction), " belongs to nothing");
    Open bracket = std::move(open.back());
    open.pop_back();
    if (bracket.kind == HostInstruction::If && !bracket.hasElse)
      return artifactError(describe(instruction), " ends an if without else");
    if (bracket.kind == HostInstruction::Loop && !bracket.isConditionWritten)
      return artifactError(describe(instruction),
                           " ends a loop that never writes its condition");
    if (bracket.kind == HostInstruction::Loop) {
      now = std::move(bracket.before);
    } else {
      for (size_t b = 0; b < now.writtenIn.size(); ++b)
        if (bracket.afterThen.writtenIn[b] != now.writtenIn[b])
          now.writtenIn[b] = bracket.before.writtenIn[b];
      for (size_t s = 0; s < now.isBound.size(); ++s)
        now.isBound[s] = now.isBound[s] && bracket.afterThen.isBound[s];
    }
    findKnownScalars();
    return Status::ok();
  }

  const artifact::Program &program;
  const flatbuffers::Vector<flatbuffers::Offset<artifact::Instruction>> &list;
  const uint8_t phase;
  State now;
  std::vector<char> isKnown; ///< by scalar, follows from now.isBound
  std::vector<Open> open;
};

} // namespace

/// Runs for `load` first; writtenIn carries what it wrote over to `run`.
Status ProgramChecker::checkFlow(bool load) {
  FlowChecker checker(program, load, std::move(writtenIn));
  SHARDC_RETURN_IF_ERROR(checker.run());
  writtenIn = checker.takeWritten();
  return Status::ok();
}

} // namespace shardc::runtime
