#include "runtime/program/CacheViews.h"

#include "runtime/program/ViewResolver.h"

#include <algorithm>

namespace shardc::runtime {

CacheViews::CacheViews(const artifact::Program &program) : program(program) {
  views.resize(program.caches()->size());
  std::vector<int64_t> ofBuffer(program.buffers()->size(), -1);
  for (uint32_t c = 0; c < program.caches()->size(); ++c) {
    const artifact::CachePair *pair = program.caches()->Get(c);
    ofBuffer[pair->buffer()] = c;
    for (uint32_t b = 0; b < program.buffers()->size(); ++b) {
      const artifact::Buffer *buffer = program.buffers()->Get(b);
      // What is set is not what the input held.
      if (buffer->kind() == artifact::BufferKind_Input &&
          buffer->source() == pair->input() &&
          pair->kind() != artifact::CacheKind_Set)
        ofBuffer[b] = c;
    }
  }
  const std::vector<char> used = usedViews(program);
  for (uint32_t v = 0; v < program.views()->size(); ++v)
    if (const int64_t cache = ofBuffer[program.views()->Get(v)->buffer()];
        cache >= 0 && used[v])
      views[static_cast<size_t>(cache)].push_back(v);
  addedSizes.resize(views.size(), -1);
  for (const artifact::Instruction *instruction : *program.run()) {
    const auto &inputs = *instruction->inputs();
    if (instruction->kernel()->string_view() != "CacheAppend" ||
        inputs.size() < 2 || inputs[0] < 0 || inputs[1] < 0)
      continue;
    const auto *past = program.views()->Get(static_cast<uint32_t>(inputs[0]));
    const auto *added = program.views()->Get(static_cast<uint32_t>(inputs[1]));
    if (const int64_t cache = ofBuffer[past->buffer()];
        cache >= 0 && added->dims()->size() == 4)
      addedSizes[static_cast<size_t>(cache)] = added->dims()->Get(2);
  }
}

int64_t CacheViews::added(size_t cache,
                          std::span<const int64_t> scalars) const {
  const int64_t size = addedSizes[cache];
  return size < 0 ? -1 : scalars[static_cast<size_t>(size)];
}

int64_t CacheViews::neededBytes(size_t cache, std::span<const int64_t> scalars,
                                int64_t bytes) const {
  int64_t needed = 0;
  for (uint32_t view : views[cache]) {
    const int64_t end = viewEnd(program, view, scalars);
    if (end < 0 || end >= bytes) // it may be anywhere
      return bytes;
    needed = std::max(needed, end);
  }
  return needed;
}

} // namespace shardc::runtime
