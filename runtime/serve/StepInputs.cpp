#include "runtime/serve/StepInputs.h"

#include "runtime/artifact/Format.h"
#include "runtime/base/Message.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>
#include <charconv>

namespace shardc::runtime {
namespace {

// What the compiler calls them (dialects/onnx/RowSymbols.h).
constexpr std::string_view kTokens = "tokens of a step";
constexpr std::string_view kRows = "rows of a step";
constexpr std::string_view kPagesOfRow = "pages of a row";
constexpr std::string_view kPrefix = "rows.";

bool mentions(const std::string &dim, std::string_view symbol) {
  return dim.find(symbol) != std::string::npos;
}

/// -1 for what is no number.
int64_t numberOf(const std::string &dim) {
  int64_t number = 0;
  const char *end = dim.data() + dim.size();
  const auto [at, error] = std::from_chars(dim.data(), end, number);
  return error == std::errc() && at == end ? number : -1;
}

int64_t product(std::span<const int64_t> sizes) {
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  return all;
}

std::string textOf(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t d = 0; d < dims.size(); ++d) {
    text += d ? ", " : "";
    text += std::to_string(dims[d]);
  }
  return text + "]";
}

/// Pages for the longest row; of long ones an eighth more at most, since each
/// number is another shape.
int64_t roomFor(std::span<const StepRow> rows) {
  size_t most = 1;
  for (const StepRow &row : rows)
    most = std::max(most, row.pages.size());
  const auto pages = static_cast<int64_t>(most);
  int64_t step = 1;
  while (step * 16 <= pages)
    step *= 2;
  return (pages + step - 1) / step * step;
}

} // namespace

Status StepInputs::make(std::span<const TensorInfo> infos,
                        std::span<const size_t> caches, int64_t page,
                        StepInputs &inputs) {
  inputs = {};
  inputs.page = page;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (std::find(caches.begin(), caches.end(), i) != caches.end())
      continue;
    if (infos[i].name.rfind(kPrefix, 0) == 0)
      inputs.integers.push_back({infos[i].name, {}, {}});
    else
      SHARDC_RETURN_IF_ERROR(inputs.addPort(infos[i]));
  }
  if (std::none_of(inputs.ports.begin(), inputs.ports.end(),
                   [](const Port &port) { return port.kind == Kind::Tokens; }))
    return artifactError("no input of the model says how many new positions a "
                         "row has");
  inputs.packed.resize(inputs.ports.size());
  return Status::ok();
}

Status StepInputs::addPort(const TensorInfo &info) {
  Port port;
  port.info = info;
  port.number = ports.size();
  const bool isOfRows = !info.dims.empty() && info.dims[0] == kRows;
  for (size_t d = isOfRows ? 1 : 0; d < info.dims.size(); ++d) {
    const std::string &dim = info.dims[d];
    if (dim == kTokens)
      port.tokens = static_cast<int>(port.sizes.size());
    if (mentions(dim, kPagesOfRow))
      port.keys = static_cast<int>(port.sizes.size());
    port.sizes.push_back(numberOf(dim));
  }
  if (isOfRows)
    port.kind = Kind::Rows;
  else if (port.tokens < 0)
    return artifactError("input '", info.name, "' is of no row of a step");
  if (artifact::isSubByte(info.element))
    return artifactError("input '", info.name, "' has elements of ",
                         artifact::elementBits(info.element),
                         " bits, which no step takes");
  ports.push_back(std::move(port));
  return Status::ok();
}

Status StepInputs::find(const Port &port, std::span<const InputTensor> inputs,
                        const InputTensor *&found) const {
  found = nullptr;
  for (const InputTensor &tensor : inputs)
    if (tensor.name == port.info.name) {
      if (found)
        return argumentError("input '", port.info.name, "' is given twice");
      found = &tensor;
    }
  if (!found)
    return argumentError("input '", port.info.name, "' is missing");
  if (found->element != port.info.element)
    return argumentError("input '", port.info.name,
                         "' has elements of another type than ",
                         typeText(port.info));
  return Status::ok();
}

/// The dims of a row's tensor, with or without a leading one for its batch.
static std::span<const int64_t> withoutBatch(std::span<const int64_t> dims,
                                             size_t rank) {
  return dims.size() == rank + 1 && dims[0] == 1 ? dims.subspan(1) : dims;
}

Status StepInputs::countOf(std::span<const InputTensor> inputs,
                           int64_t &count) const {
  count = -1;
  for (const Port &port : ports) {
    const InputTensor *tensor = nullptr;
    SHARDC_RETURN_IF_ERROR(find(port, inputs, tensor));
    if (port.kind != Kind::Tokens)
      continue;
    if (tensor->dims.size() != port.sizes.size())
      return argumentError("input '", port.info.name, "' has dims ",
                           textOf(tensor->dims), ", expected ",
                           port.sizes.size(), " of one row");
    const int64_t here = tensor->dims[static_cast<size_t>(port.tokens)];
    if (count >= 0 && here != count)
      return argumentError("input '", port.info.name, "' has ", here,
                           " positions, another input of the row has ", count);
    count = here;
  }
  for (const InputTensor &tensor : inputs)
    if (std::none_of(ports.begin(), ports.end(), [&](const Port &port) {
          return port.info.name == tensor.name;
        }))
      return argumentError("input '", std::string(tensor.name),
                           "' is none that the model takes of a row");
  return count > 0 ? Status::ok() : argumentError("a row has no new positions");
}

Status StepInputs::check(const Port &port, const InputTensor &tensor,
                         const StepRow &row) const {
  const auto dims = withoutBatch(tensor.dims, port.sizes.size());
  bool fits = dims.size() == port.sizes.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) {
    const int64_t size = static_cast<int>(d) == port.tokens ? row.count
                         : static_cast<int>(d) == port.keys
                             ? row.past + row.count
                             : port.sizes[d];
    fits = size < 0 ? dims[d] >= 0 : dims[d] == size;
  }
  if (!fits)
    return argumentError("input '", port.info.name, "' of a row behind ",
                         row.past, " positions with ", row.count,
                         " new ones has dims ", textOf(tensor.dims));
  return tensor.data || product(dims) == 0
             ? Status::ok()
             : argumentError("input '", port.info.name, "' has no data");
}

/// The dims in the step, from those of the first row's tensor.
Status StepInputs::sizeWhole(const Port &port, std::span<const int64_t> ofRow,
                             std::span<const StepRow> rows, int64_t keys) {
  Packed &into = packed[port.number];
  into.dims.clear();
  if (port.kind == Kind::Rows)
    into.dims.push_back(static_cast<int64_t>(rows.size()));
  const size_t first = into.dims.size();
  into.dims.insert(into.dims.end(), ofRow.begin(), ofRow.end());
  if (into.dims.size() > kMaxRank)
    return argumentError("input '", port.info.name, "' has too many dims");
  if (port.keys >= 0)
    into.dims[first + static_cast<size_t>(port.keys)] = keys;
  if (port.tokens >= 0) {
    int64_t &tokens = into.dims[first + static_cast<size_t>(port.tokens)];
    tokens = 0;
    for (const StepRow &row : rows)
      tokens += row.count;
  }
  into.bytes.assign(
      static_cast<size_t>(product(into.dims) *
                          artifact::elementBytes(port.info.element)),
      std::byte(0));
  return Status::ok();
}

/// New positions of rows one behind the other, zeros behind the keys of each.
Status StepInputs::pack(const Port &port, std::span<const StepRow> rows,
                        int64_t keys) {
  Packed &into = packed[port.number];
  const int64_t element = artifact::elementBytes(port.info.element);
  int64_t offset = 0; // of the row at hand, in elements
  for (size_t r = 0; r < rows.size(); ++r) {
    const InputTensor *tensor = nullptr;
    SHARDC_RETURN_IF_ERROR(find(port, rows[r].inputs, tensor));
    SHARDC_RETURN_IF_ERROR(check(port, *tensor, rows[r]));
    const auto dims = withoutBatch(tensor->dims, port.sizes.size());
    if (r == 0)
      SHARDC_RETURN_IF_ERROR(sizeWhole(port, dims, rows, keys));
    const TensorView whole =
        packedView(into.bytes.data(), port.info.element, into.dims);
    const int first = whole.rank - static_cast<int>(dims.size());
    TensorView to = whole;
    to.rank = static_cast<int>(dims.size());
    for (int d = 0; d < to.rank; ++d) {
      to.dims[d] = dims[static_cast<size_t>(d)];
      to.strides[d] = whole.strides[d + first];
      if (d != port.tokens && d != port.keys &&
          to.dims[d] != whole.dims[d + first])
        return argumentError("input '", port.info.name, "' has dims ",
                             textOf(tensor->dims),
                             " in one row, and others in another");
    }
    to.data += offset * element;
    const TensorView from = packedView(tensor->data, port.info.element, dims);
    if (product(dims) > 0)
      copyView(to, from);
    offset += port.kind == Kind::Rows ? whole.strides[0]
                                      : rows[r].count * to.strides[port.tokens];
  }
  return Status::ok();
}

std::vector<int64_t> &StepInputs::values(std::string_view name,
                                         std::initializer_list<int64_t> dims) {
  for (Integers &one : integers)
    if (std::string_view(one.name).substr(kPrefix.size()) == name) {
      one.dims.assign(dims);
      one.values.clear();
      return one.values;
    }
  // The program does without it.
  static thread_local std::vector<int64_t> nowhere;
  nowhere.clear();
  return nowhere;
}

void StepInputs::describe(std::span<const StepRow> rows, int64_t pagesOfRow,
                          std::span<const std::array<int64_t, 2>> copies) {
  const auto numRows = static_cast<int64_t>(rows.size());
  int64_t tokens = 0, wanted = 0;
  for (const StepRow &row : rows) {
    tokens += row.count;
    wanted += row.wanted;
  }
  auto &first = values("first", {numRows + 1});
  for (int64_t at = 0; const StepRow &row : rows) {
    if (first.empty())
      first.push_back(0);
    first.push_back(at += row.count);
  }
  auto &past = values("past", {numRows});
  for (const StepRow &row : rows)
    past.push_back(row.past);
  auto &ofToken = values("row", {tokens});
  for (int64_t r = 0; r < numRows; ++r)
    ofToken.insert(ofToken.end(),
                   static_cast<size_t>(rows[static_cast<size_t>(r)].count), r);
  auto &position = values("position", {tokens});
  for (const StepRow &row : rows)
    for (int64_t i = 0; i < row.count; ++i)
      position.push_back(row.past + i);
  auto &slots = values("slots", {tokens});
  for (const StepRow &row : rows)
    for (int64_t at = row.past; at < row.past + row.count; ++at)
      slots.push_back(row.pages[static_cast<size_t>(at / page)] * page +
                      at % page);
  auto &pages = values("pages", {numRows, pagesOfRow});
  for (const StepRow &row : rows) {
    pages.insert(pages.end(), row.pages.begin(), row.pages.end());
    pages.insert(pages.end(),
                 static_cast<size_t>(pagesOfRow) - row.pages.size(), 0);
  }
  auto &pairs = values("copies", {static_cast<int64_t>(copies.size()), 2});
  for (const auto &copy : copies)
    pairs.insert(pairs.end(), copy.begin(), copy.end());
  auto &asked = values("wanted", {wanted});
  for (int64_t at = 0; const StepRow &row : rows) {
    at += row.count;
    for (int64_t i = row.wanted; i > 0; --i)
      asked.push_back(at - i);
  }
}

Status StepInputs::fill(std::span<const StepRow> rows,
                        std::span<const std::array<int64_t, 2>> copies) {
  const int64_t pagesOfRow = roomFor(rows);
  for (const Port &port : ports)
    SHARDC_RETURN_IF_ERROR(pack(port, rows, pagesOfRow * page));
  describe(rows, pagesOfRow, copies);
  // Never null: none of them has elements.
  alignas(16) static constexpr std::byte kNone[16] = {};
  made.clear();
  for (const Port &port : ports)
    made.push_back({port.info.name, port.info.element, packed[port.number].dims,
                    packed[port.number].bytes.empty()
                        ? static_cast<const void *>(kNone)
                        : packed[port.number].bytes.data()});
  for (const Integers &one : integers)
    made.push_back({one.name, ElementType_Int64, one.dims,
                    one.values.empty() ? static_cast<const void *>(kNone)
                                       : one.values.data()});
  return Status::ok();
}

} // namespace shardc::runtime
