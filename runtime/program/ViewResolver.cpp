#include "runtime/program/ViewResolver.h"

#include "runtime/base/Message.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

__extension__ using Wide = __int128;

/// No buffer of a rank is larger: keeps sums of sizes inside 64 bits.
constexpr int64_t kMaxBufferBytes = int64_t{1} << 46;
/// Nor has a view more elements, those that it repeats (stride 0) included, so
/// that products of dims stay inside, too.
constexpr int64_t kMaxElements = kMaxBufferBytes * 8;

} // namespace

std::vector<char> usedViews(const artifact::Program &program) {
  std::vector<char> used(program.views()->size());
  auto use = [&](int64_t view) {
    if (view >= 0) // not absent
      used[static_cast<size_t>(view)] = 1;
  };
  for (const artifact::Instruction *instruction : *program.run()) {
    for (int32_t view : *instruction->inputs())
      use(view);
    for (int32_t view : *instruction->outputs())
      use(view);
  }
  for (const artifact::Output *output : *program.outputs())
    use(output->view());
  return used;
}

std::vector<char> usedBuffers(const artifact::Program &program) {
  std::vector<char> used(program.buffers()->size());
  const std::vector<char> views = usedViews(program);
  for (uint32_t v = 0; v < views.size(); ++v)
    used[program.views()->Get(v)->buffer()] |= views[v];
  return used;
}

Status bufferBytes(const artifact::Program &program, uint32_t buffer,
                   std::span<const int64_t> scalars, int64_t &bytes) {
  bytes = scalars[program.buffers()->Get(buffer)->bytes()];
  if (bytes < 0 || bytes > kMaxBufferBytes)
    return artifactError("buffer ", buffer, " would have ", bytes,
                         " bytes; change the inputs' shapes");
  return Status::ok();
}

Status resolveView(const artifact::Program &program, uint32_t index,
                   std::span<const int64_t> scalars, ResolvedView &resolved) {
  const artifact::View *view = program.views()->Get(index);
  int64_t bytes = 0;
  SHARDC_RETURN_IF_ERROR(bufferBytes(program, view->buffer(), scalars, bytes));
  TensorView &into = resolved.view;
  into = TensorView();
  into.element = view->element();
  into.rank = static_cast<int>(view->dims()->size());
  resolved.buffer = view->buffer();
  const int64_t bits = artifact::elementBits(into.element);
  // Beyond the buffer's ends it does not matter how far, and a sum of several
  // dims' reaches would not fit into any integer.
  const Wide end = static_cast<Wide>(bytes) * 8 / bits;
  Wide lowest = scalars[view->offset()], highest = lowest, elements = 1;
  bool empty = false;
  for (uint32_t d = 0; d < view->dims()->size(); ++d) {
    into.dims[d] = scalars[view->dims()->Get(d)];
    into.strides[d] = scalars[view->strides()->Get(d)];
    if (into.dims[d] < 0)
      return artifactError("dim ", d, " of view ", index, " would be ",
                           into.dims[d], "; change the inputs' shapes");
    empty |= into.dims[d] == 0;
    Wide reach = static_cast<Wide>(into.dims[d] - 1) * into.strides[d];
    lowest = std::max<Wide>(lowest + std::min<Wide>(reach, 0), -1);
    highest = std::min<Wide>(highest + std::max<Wide>(reach, 0), end);
    elements = std::min<Wide>(elements * into.dims[d], kMaxElements + 1);
  }
  if (empty) {
    resolved.byteOffset = 0;
    return Status::ok();
  }
  if (elements > kMaxElements)
    return artifactError("view ", index, " ", dimsText(into),
                         " has too many elements; change the inputs' shapes");
  if (lowest < 0 || highest >= end)
    return artifactError("view ", index, " ", dimsText(into),
                         " reaches out of its buffer of ", bytes, " bytes");
  const Wide first = static_cast<Wide>(scalars[view->offset()]) * bits;
  resolved.byteOffset = static_cast<int64_t>(first / 8);
  into.skipped = static_cast<int64_t>(first % 8) / bits;
  return Status::ok();
}

Status seeBlock(const BlockLayout &block, ResolvedView &resolved) {
  TensorView &view = resolved.view;
  const int64_t bits = artifact::elementBits(view.element);
  int64_t offset = resolved.byteOffset * 8 / bits + view.skipped;
  if (!block.see(view, offset))
    return artifactError("a view ", dimsText(view),
                         " of a weight goes beyond a row of the rank's part");
  resolved.byteOffset = offset * bits / 8;
  view.skipped = offset * bits % 8 / bits;
  return Status::ok();
}

int64_t viewEnd(const artifact::Program &program, uint32_t index,
                std::span<const int64_t> scalars) {
  ResolvedView resolved;
  if (!resolveView(program, index, scalars, resolved).isOk())
    return -1;
  const TensorView &view = resolved.view;
  if (view.numElements() == 0)
    return 0;
  int64_t last = scalars[program.views()->Get(index)->offset()];
  for (int d = 0; d < view.rank; ++d)
    last += std::max<int64_t>((view.dims[d] - 1) * view.strides[d], 0);
  return artifact::storageBytes(view.element, last + 1);
}

void forEachUsed(const artifact::Program &program,
                 const std::function<void(const artifact::Buffer &)> &use) {
  const std::vector<char> used = usedViews(program);
  for (uint32_t v = 0; v < used.size(); ++v)
    if (used[v])
      use(*program.buffers()->Get(program.views()->Get(v)->buffer()));
}

} // namespace shardc::runtime
