#include "runtime/tensor/Ownership.h"

#include "runtime/base/Message.h"

namespace shardc::runtime {
namespace {

/// More runs than this mean that a layout splits a dim into crumbs.
constexpr size_t kMaxRuns = size_t{1} << 22;

struct Factor {
  int64_t size;
  int64_t begin; ///< owned: [begin, end)
  int64_t end;
};

Status readFactor(const artifact::FactorLayout &layout,
                  std::span<const int64_t> scalars, Factor &factor) {
  factor.size = scalars[layout.size()];
  if (factor.size < 0)
    return artifactError("a factor has size ", factor.size);
  if (layout.ways() == 1) {
    factor.begin = 0;
    factor.end = factor.size;
    return Status::ok();
  }
  int64_t index = scalars[layout.index()];
  if (index < 0 || index >= layout.ways())
    return artifactError("way ", index, " of ", layout.ways(),
                         " ways does not exist");
  auto begin = [&](int64_t way) {
    return wayBegin(factor.size, layout.ways(), layout.bounds(), way);
  };
  const int64_t inBlock = layout.ways() / layout.within();
  const int64_t block = index - index % inBlock;
  const int64_t first = begin(block), last = begin(block + inBlock);
  factor.begin = begin(index) - first;
  factor.end = begin(index + 1) - first;
  factor.size = last - first;
  return Status::ok();
}

void appendRun(OwnedRuns &owned, int64_t start, int64_t length) {
  if (!owned.runs.empty() &&
      owned.runs.back().start + owned.runs.back().length == start)
    owned.runs.back().length += length;
  else
    owned.runs.push_back({start, length});
}

/// Appends what factors[at...] own, for the element block that starts at
/// `base`; `inner[at]` is the product of the sizes after factor `at`.
Status appendFactors(std::span<const Factor> factors,
                     std::span<const int64_t> inner, size_t at, int64_t base,
                     OwnedRuns &owned) {
  const Factor &factor = factors[at];
  bool restIsWhole = true;
  for (size_t f = at + 1; f < factors.size(); ++f)
    restIsWhole &= factors[f].begin == 0 && factors[f].end == factors[f].size;
  if (restIsWhole) {
    if (factor.end > factor.begin && inner[at] > 0)
      appendRun(owned, base + factor.begin * inner[at],
                (factor.end - factor.begin) * inner[at]);
    return Status::ok();
  }
  if (owned.runs.size() > kMaxRuns)
    return artifactError("a layout splits a dim into more than ", kMaxRuns,
                         " runs");
  for (int64_t i = factor.begin; i < factor.end; ++i)
    SHARDC_RETURN_IF_ERROR(
        appendFactors(factors, inner, at + 1, base + i * inner[at], owned));
  return Status::ok();
}

Status appendSegment(const artifact::SegmentLayout &segment,
                     std::span<const int64_t> scalars, OwnedRuns &owned) {
  std::vector<Factor> factors;
  for (const artifact::FactorLayout *layout : *segment.factors()) {
    Factor factor;
    SHARDC_RETURN_IF_ERROR(readFactor(*layout, scalars, factor));
    factors.push_back(factor);
  }
  int64_t global = 1, local = 1;
  std::vector<int64_t> inner(factors.size());
  for (size_t f = factors.size(); f-- > 0;) {
    inner[f] = global;
    if (__builtin_mul_overflow(global, factors[f].size, &global))
      return artifactError("a dim is too large for 64 bits");
    local *= factors[f].end - factors[f].begin;
  }
  if (factors.empty())
    appendRun(owned, owned.globalSize, 1);
  else if (local > 0)
    SHARDC_RETURN_IF_ERROR(
        appendFactors(factors, inner, 0, owned.globalSize, owned));
  owned.localSize += local;
  if (__builtin_add_overflow(owned.globalSize, global, &owned.globalSize))
    return artifactError("a dim is too large for 64 bits");
  return Status::ok();
}

} // namespace

int64_t wayBegin(int64_t size, int64_t ways, int64_t index) {
  // index * size may not fit into 64 bits.
  __extension__ using Wide = __int128;
  return static_cast<int64_t>(static_cast<Wide>(index) * size / ways);
}

int64_t wayBegin(int64_t size, int64_t ways,
                 const flatbuffers::Vector<int64_t> *bounds, int64_t index) {
  if (!bounds)
    return wayBegin(size, ways, index);
  const auto at = [&](int64_t way) {
    return bounds->Get(static_cast<flatbuffers::uoffset_t>(way));
  };
  return wayBegin(size, at(ways), at(index));
}

OwnedRuns OwnedRuns::whole(int64_t size) {
  OwnedRuns owned{size, size, {}};
  if (size > 0)
    owned.runs.push_back({0, size});
  return owned;
}

Status resolveLayout(const artifact::DimLayout &layout,
                     std::span<const int64_t> scalars, OwnedRuns &owned) {
  owned = OwnedRuns();
  for (const artifact::SegmentLayout *segment : *layout.segments())
    SHARDC_RETURN_IF_ERROR(appendSegment(*segment, scalars, owned));
  return Status::ok();
}

Status resolveLayouts(const Layouts &layouts, std::span<const int64_t> scalars,
                      std::vector<OwnedRuns> &dims) {
  dims.resize(layouts.size());
  for (uint32_t d = 0; d < layouts.size(); ++d)
    SHARDC_RETURN_IF_ERROR(resolveLayout(*layouts.Get(d), scalars, dims[d]));
  return Status::ok();
}

bool isContiguousBlock(std::span<const OwnedRuns> dims, int64_t &offset) {
  offset = 0;
  for (const OwnedRuns &dim : dims)
    if (dim.localSize == 0)
      return true;
  bool restMustBeWhole = false;
  for (const OwnedRuns &dim : dims) {
    if (dim.runs.size() != 1 || (restMustBeWhole && !dim.isWhole()))
      return false;
    offset = offset * dim.globalSize + dim.runs[0].start;
    restMustBeWhole |= dim.localSize > 1;
  }
  return true;
}

std::optional<std::vector<OwnedRuns>>
inWholeBytes(artifact::ElementType element, std::span<const OwnedRuns> dims) {
  std::vector<OwnedRuns> bytes(dims.begin(), dims.end());
  if (!artifact::isSubByte(element))
    return bytes;
  const int64_t ofByte = 8 / artifact::elementBits(element);
  bool areWhole = !bytes.empty();
  auto scale = [&](int64_t &count) {
    areWhole &= count % ofByte == 0;
    count /= ofByte;
  };
  if (areWhole) {
    OwnedRuns &last = bytes.back();
    scale(last.globalSize);
    scale(last.localSize);
    for (OwnedRun &run : last.runs) {
      scale(run.start);
      scale(run.length);
    }
  }
  return areWhole ? std::optional(std::move(bytes)) : std::nullopt;
}

} // namespace shardc::runtime
