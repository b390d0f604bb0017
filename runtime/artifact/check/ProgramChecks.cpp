#include "runtime/artifact/check/ProgramChecks.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

constexpr int64_t kMaxWorldSize = 1 << 16;
constexpr uint32_t kMaxFactors = 64;

/// Sub-axes of one axis: their digits must not overlap, so that a coordinate is
/// the sum of its digits. Strides grow from the last to the first digit.
bool digitsAreDisjoint(std::vector<std::pair<int64_t, int64_t>> digits) {
  std::sort(digits.begin(), digits.end());
  for (size_t i = 1; i < digits.size(); ++i)
    if (digits[i].first % (digits[i - 1].first * digits[i - 1].second) != 0)
      return false;
  return true;
}

} // namespace

Status ProgramChecker::checkAxes() {
  int64_t world = 1;
  for (const artifact::Axis *axis : *program.axes()) {
    if (axis->size() < 1 || axis->size() > kMaxWorldSize / world)
      return artifactError("mesh axis ", axis->name()->c_str(), " has size ",
                           axis->size(), ", expected at least 1 and at most ",
                           kMaxWorldSize, " ranks in all");
    world *= axis->size();
  }
  return Status::ok();
}

Status ProgramChecker::checkScalars() {
  if (!isAligned(program.scalars()))
    return artifactError("the scalars are misaligned");
  for (uint32_t i = 0; i < program.scalars()->size(); ++i) {
    const artifact::Scalar *scalar = program.scalars()->Get(i);
    artifact::ScalarOp op = scalar->op();
    bool fine = op <= artifact::ScalarOp_MAX;
    auto earlier = [&](int32_t k) {
      return k >= 0 && static_cast<uint32_t>(k) < i;
    };
    auto below = [&](size_t size) {
      return scalar->value() >= 0 &&
             static_cast<uint64_t>(scalar->value()) < size;
    };
    if (isBinary(op))
      fine = fine && earlier(scalar->lhs()) && earlier(scalar->rhs());
    else if (op == artifact::ScalarOp_Symbol)
      fine = below(program.symbols()->size());
    else if (op == artifact::ScalarOp_Coordinate)
      fine = below(program.axes()->size());
    if (!fine)
      return artifactError("scalar ", i, " is malformed");
  }
  dependence = scalarDependences(program);
  for (const artifact::Symbol *symbol : *program.symbols())
    if (isBoundByRun(*symbol) || symbol->capacity())
      continue; // checkSymbols looks at the former
    else if (symbol->input() >= program.inputs()->size() ||
             symbol->dim() >=
                 program.inputs()->Get(symbol->input())->dims()->size())
      return artifactError("symbol ", symbol->name()->c_str(),
                           " is bound to a dim that no input has");
  return Status::ok();
}

Status ProgramChecker::checkScalarIndex(uint64_t index, uint8_t allowed,
                                        const char *where) {
  if (index >= dependence.size())
    return artifactError(where, " refers to scalar ", index,
                         ", the program has ", dependence.size());
  if (dependence[index] & ~allowed)
    return artifactError(where, " depends on ",
                         dependence[index] & ~allowed & kOnSymbols
                             ? "an input's shape"
                             : "the rank's coordinates",
                         ", which it may not");
  return Status::ok();
}

Status ProgramChecker::checkGuards() {
  for (const artifact::Guard *guard : *program.guards()) {
    if (guard->kind() > artifact::GuardKind_MAX)
      return artifactError("a guard's kind is unknown");
    uint8_t any = kOnSymbols | kOnCoordinates;
    SHARDC_RETURN_IF_ERROR(checkScalarIndex(guard->lhs(), any, "a guard"));
    SHARDC_RETURN_IF_ERROR(checkScalarIndex(guard->rhs(), any, "a guard"));
  }
  return Status::ok();
}

Status ProgramChecker::checkGroups() {
  for (uint32_t g = 0; g < program.groups()->size(); ++g) {
    std::vector<std::vector<std::pair<int64_t, int64_t>>> digits(
        program.axes()->size());
    for (const artifact::AxisPart *part : *program.groups()->Get(g)->parts()) {
      if (part->axis() >= program.axes()->size())
        return artifactError("group ", g, " names mesh axis ", part->axis(),
                             ", the mesh has ", program.axes()->size());
      int64_t size = program.axes()->Get(part->axis())->size();
      // Each bound alone first: their product must not overflow.
      bool fine = part->pre() >= 1 && part->size() >= 1 &&
                  part->pre() <= size && part->size() <= size &&
                  size % (part->pre() * part->size()) == 0;
      if (!fine)
        return artifactError("group ", g, ": part (", part->pre(), ")",
                             part->size(), " does not divide axis ",
                             program.axes()->Get(part->axis())->name()->c_str(),
                             " of size ", size);
      if (part->size() > 1)
        digits[part->axis()].push_back(
            {size / (part->pre() * part->size()), part->size()});
    }
    for (const auto &ofAxis : digits)
      if (!digitsAreDisjoint(ofAxis))
        return artifactError("group ", g, ": its parts of one axis overlap");
  }
  return Status::ok();
}

/// One more than ways, ascending from 0.
static bool areBounds(const flatbuffers::Vector<int64_t> &bounds,
                      int64_t ways) {
  if (!isAligned(&bounds) || static_cast<int64_t>(bounds.size()) - 1 != ways ||
      bounds.Get(0) != 0)
    return false;
  for (uint32_t way = 0; way + 1 < bounds.size(); ++way)
    if (bounds.Get(way) >= bounds.Get(way + 1))
      return false;
  return true;
}

Status ProgramChecker::checkLayout(const artifact::DimLayout *layout,
                                   const char *where) {
  for (const artifact::SegmentLayout *segment : *layout->segments()) {
    if (segment->factors()->size() > kMaxFactors)
      return artifactError(where, " has a dim of ", segment->factors()->size(),
                           " factors, expected at most ", kMaxFactors);
    for (const artifact::FactorLayout *factor : *segment->factors()) {
      SHARDC_RETURN_IF_ERROR(
          checkScalarIndex(factor->size(), kOnSymbols, where));
      if (factor->ways() < 1)
        return artifactError(where, " has a factor of ", factor->ways(),
                             " ways, expected at least 1");
      if (factor->within() < 1 || factor->ways() % factor->within() != 0)
        return artifactError(where, " has a factor of ", factor->ways(),
                             " ways within ", factor->within());
      if (factor->bounds() && !areBounds(*factor->bounds(), factor->ways()))
        return artifactError(where, " has a factor of ", factor->ways(),
                             " ways whose bounds do not ascend from 0, one "
                             "for each way and the last");
      if (factor->ways() > 1)
        SHARDC_RETURN_IF_ERROR(
            checkScalarIndex(factor->index(), kOnCoordinates, where));
    }
  }
  return Status::ok();
}

Status ProgramChecker::checkLayouts(
    const flatbuffers::Vector<flatbuffers::Offset<artifact::DimLayout>> *list,
    size_t rank, const char *where) {
  if (rank > artifact::kMaxRank || list->size() != rank)
    return artifactError(where, " has ", rank, " dims and ", list->size(),
                         " layouts, expected one for each of at most ",
                         artifact::kMaxRank);
  for (const artifact::DimLayout *layout : *list) {
    SHARDC_RETURN_IF_ERROR(checkLayout(layout, where));
    for (const artifact::SegmentLayout *segment : *layout->segments())
      for (const artifact::FactorLayout *factor : *segment->factors())
        if (factor->within() != 1)
          return artifactError(where, " has a part of a part of a dim");
  }
  return Status::ok();
}

namespace {

/// Inputs and outputs look alike.
template <typename Port> std::string portName(const char *kind, const Port &p) {
  return message(kind, " '", p.name()->c_str(), "'");
}

bool isWideFloat(artifact::ElementType type) {
  return type >= artifact::ElementType_Float16 &&
         type <= artifact::ElementType_Float64;
}

/// A port is its view, but that a float may be cast on the way.
template <typename Port>
bool isPortOf(const artifact::View &view, const Port &port) {
  return view.dims()->size() == port.dims()->size() &&
         (view.element() == port.element() ||
          (isWideFloat(view.element()) && isWideFloat(port.element())));
}

} // namespace

Status ProgramChecker::checkInputs() {
  for (uint32_t i = 0; i < program.inputs()->size(); ++i) {
    const artifact::Input *input = program.inputs()->Get(i);
    std::string where = portName("input", *input);
    if (input->element() > artifact::ElementType_MAX ||
        artifact::isSubByte(input->element()))
      return artifactError(where, " has an unknown element type");
    for (uint32_t dim : *input->dims())
      SHARDC_RETURN_IF_ERROR(checkScalarIndex(dim, kOnSymbols, where.c_str()));
    SHARDC_RETURN_IF_ERROR(
        checkLayouts(input->layout(), input->dims()->size(), where.c_str()));
    if (input->view() >= program.views()->size())
      return artifactError(where, " has no view");
    const artifact::View *view = program.views()->Get(input->view());
    const artifact::Buffer *buffer = program.buffers()->Get(view->buffer());
    if (buffer->kind() != artifact::BufferKind_Input || buffer->source() != i ||
        !isPortOf(*view, *input))
      return artifactError(where, " and its view disagree");
  }
  return Status::ok();
}

/// Whether an instruction or an output reads the bytes of an input.
static bool isRead(const artifact::Program &program, uint32_t input) {
  auto reads = [&](int64_t view) {
    if (view < 0 || view >= program.views()->size())
      return false;
    const uint32_t number =
        program.views()->Get(static_cast<uint32_t>(view))->buffer();
    const artifact::Buffer *buffer = program.buffers()->Get(number);
    return buffer->kind() == artifact::BufferKind_Input &&
           buffer->source() == input;
  };
  for (const artifact::Instruction *instruction : *program.run())
    for (int32_t view : *instruction->inputs())
      if (reads(view))
        return true;
  for (const artifact::Output *output : *program.outputs())
    if (reads(output->view()))
      return true;
  return false;
}

/// Past and present have the same type, but for the sizes of dims; memory that
/// a program sets is not what it reads.
Status ProgramChecker::checkCache(const artifact::CachePair &pair) {
  if (pair.input() >= program.inputs()->size() ||
      pair.output() >= program.outputs()->size() ||
      pair.buffer() >= program.buffers()->size() ||
      pair.kind() > artifact::CacheKind_MAX)
    return artifactError("a cache is of no input, output, buffer or kind");
  const artifact::Input *input = program.inputs()->Get(pair.input());
  const artifact::Output *output = program.outputs()->Get(pair.output());
  const artifact::Buffer *buffer = program.buffers()->Get(pair.buffer());
  const auto rank = static_cast<int64_t>(input->dims()->size());
  bool fits = pair.dim() >= -1 && pair.dim() < rank &&
              output->dims()->size() == input->dims()->size() &&
              output->element() == input->element() &&
              input->view() < program.views()->size() &&
              output->view() < program.views()->size() &&
              program.views()->Get(input->view())->element() ==
                  program.views()->Get(output->view())->element();
  if (pair.kind() == artifact::CacheKind_Keep)
    fits &= buffer->kind() == artifact::BufferKind_Input &&
            buffer->source() == pair.input();
  else
    fits &= buffer->kind() == artifact::BufferKind_Cache && fits &&
            program.views()->Get(output->view())->buffer() == pair.buffer();
  if (pair.kind() == artifact::CacheKind_Append)
    fits &= pair.dim() >= 0;
  if (pair.kind() == artifact::CacheKind_Set)
    fits &= !isRead(program, pair.input());
  return fits ? Status::ok()
              : artifactError(portName("cache", *input),
                              " does not fit its output");
}

Status ProgramChecker::checkCaches() {
  if (!program.caches())
    return Status::ok();
  const auto &pairs = *program.caches();
  for (uint32_t c = 0; c < pairs.size(); ++c) {
    SHARDC_RETURN_IF_ERROR(checkCache(*pairs.Get(c)));
    if (c > 0 && pairs.Get(c)->input() <= pairs.Get(c - 1)->input())
      return artifactError("the caches are not in the order of their inputs");
  }
  return Status::ok();
}

Status ProgramChecker::checkConditions() {
  if (!program.conditions())
    return Status::ok();
  for (const artifact::Condition *condition : *program.conditions()) {
    if (condition->input() >= program.inputs()->size())
      return artifactError("a condition is on input ", condition->input(),
                           ", which there is not");
    const artifact::Input *input = program.inputs()->Get(condition->input());
    if (condition->dim() < 0 && input->element() != artifact::ElementType_Bool)
      return artifactError("a condition is on input ", condition->input(),
                           ", which is no boolean input");
    if (condition->dim() >= static_cast<int64_t>(input->dims()->size()) ||
        condition->size() < 0)
      return artifactError("a condition is on dim ", condition->dim(),
                           " of input ", condition->input(),
                           ", which has no such dim or size");
  }
  return Status::ok();
}

Status ProgramChecker::checkOutputs() {
  for (const artifact::Output *output : *program.outputs()) {
    std::string where = portName("output", *output);
    if (output->element() > artifact::ElementType_MAX ||
        artifact::isSubByte(output->element()))
      return artifactError(where, " has an unknown element type");
    for (uint32_t dim : *output->dims())
      SHARDC_RETURN_IF_ERROR(checkScalarIndex(dim, kOnSymbols, where.c_str()));
    SHARDC_RETURN_IF_ERROR(
        checkLayouts(output->layout(), output->dims()->size(), where.c_str()));
    SHARDC_RETURN_IF_ERROR(checkView(output->view(), false, where.c_str()));
    const artifact::View *view = program.views()->Get(output->view());
    if (!isPortOf(*view, *output))
      return artifactError(where, " and its view disagree");
    auto kind = program.buffers()->Get(view->buffer())->kind();
    uint8_t written = writtenIn[view->buffer()];
    if (((kind == artifact::BufferKind_Arena ||
          kind == artifact::BufferKind_Cache) &&
         written != 2) ||
        (kind == artifact::BufferKind_Persistent && written == 0))
      return artifactError(where, " is never written");
  }
  return Status::ok();
}

Status ProgramChecker::checkAll() {
  SHARDC_RETURN_IF_ERROR(checkAxes());
  SHARDC_RETURN_IF_ERROR(checkScalars());
  SHARDC_RETURN_IF_ERROR(checkGuards());
  SHARDC_RETURN_IF_ERROR(checkGroups());
  SHARDC_RETURN_IF_ERROR(checkWeights());
  SHARDC_RETURN_IF_ERROR(checkJoins());
  SHARDC_RETURN_IF_ERROR(checkBuffers());
  SHARDC_RETURN_IF_ERROR(checkViews());
  SHARDC_RETURN_IF_ERROR(checkSymbols());
  SHARDC_RETURN_IF_ERROR(checkInputs());
  SHARDC_RETURN_IF_ERROR(checkConditions());
  SHARDC_RETURN_IF_ERROR(checkCaches());
  SHARDC_RETURN_IF_ERROR(checkKernelNames());
  SHARDC_RETURN_IF_ERROR(checkInstructions(/*load=*/true));
  SHARDC_RETURN_IF_ERROR(checkInstructions(/*load=*/false));
  SHARDC_RETURN_IF_ERROR(checkFlow(/*load=*/true));
  SHARDC_RETURN_IF_ERROR(checkFlow(/*load=*/false));
  SHARDC_RETURN_IF_ERROR(checkFlights(/*load=*/true));
  SHARDC_RETURN_IF_ERROR(checkFlights(/*load=*/false));
  return checkOutputs();
}

Status verifyProgram(std::string_view name, const void *data, size_t bytes,
                     KnowsKernel knowsKernel) {
  if (bytes >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return artifactError(name, ": ", bytes, " bytes are too many");
  flatbuffers::Verifier verifier(static_cast<const uint8_t *>(data), bytes,
                                 /*max_depth=*/64,
                                 static_cast<flatbuffers::uoffset_t>(bytes));
  if (bytes < 16 || !artifact::ProgramBufferHasIdentifier(data) ||
      !artifact::VerifyProgramBuffer(verifier))
    return artifactError(name, ": not a valid program; the artifact is damaged,"
                               " compile it again");
  ProgramChecker checker(*artifact::GetProgram(data), knowsKernel);
  if (Status status = checker.checkAll(); !status.isOk())
    return artifactError(name, ": ", status.message());
  return Status::ok();
}

} // namespace shardc::runtime
