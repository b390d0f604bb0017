#include "runtime/serve/StepInputs.h"

#include "runtime/artifact/Format.h"
#include "runtime/base/Message.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>
#include <charconv>

namespace shardc::runtime {
namespace {

constexpr std::string_view kPrefix = "rows.", kPast = "rows.past";

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
int64_t roomFor(std::span<const StepRow> rows,
                std::span<const int64_t> StepRow::*pagesOf) {
  size_t most = 1;
  for (const StepRow &row : rows)
    most = std::max(most, (row.*pagesOf).size());
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
  // Where its rows may be of any number, they are a symbol.
  inputs.hasOneRow =
      std::any_of(infos.begin(), infos.end(), [](const TensorInfo &info) {
        return info.name == kPast && info.dims == std::vector<std::string>{"1"};
      });
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
  const bool isOfTokens = std::any_of(
      info.dims.begin(), info.dims.end(), [](const std::string &dim) {
        return dim == StepSymbols::kTokens || dim == StepSymbols::kEncoderKeys;
      });
  const bool isOfRows =
      !info.dims.empty() && (hasOneRow ? !isOfTokens && info.dims[0] == "1"
                                       : info.dims[0] == StepSymbols::kRows);
  for (size_t d = isOfRows ? 1 : 0; d < info.dims.size(); ++d) {
    const std::string &dim = info.dims[d];
    const auto number = static_cast<int>(port.sizes.size());
    if (dim == StepSymbols::kTokens || dim == StepSymbols::kEncoderKeys)
      port.added = number;
    if (dim == StepSymbols::kEncoderKeys)
      port.kind = Kind::Encoder;
    if (mentions(dim, StepSymbols::kPagesOfRow))
      port.keys = number;
    if (mentions(dim, StepSymbols::kEncoderPages))
      port.encoderKeys = number;
    port.sizes.push_back(numberOf(dim));
  }
  if (isOfRows)
    port.kind = Kind::Rows;
  else if (port.added < 0)
    return artifactError("input '", info.name, "' is of no row of a step");
  if (artifact::isSubByte(info.element))
    return artifactError("input '", info.name, "' has elements of ",
                         artifact::elementBits(info.element),
                         " bits, which no step takes");
  if (port.kind == Kind::Encoder)
    encoderName = info.name;
  ports.push_back(std::move(port));
  return Status::ok();
}

/// Null where it is missing and need not be there.
Status StepInputs::find(const Port &port, std::span<const InputTensor> inputs,
                        const InputTensor *&found) const {
  found = nullptr;
  for (const InputTensor &tensor : inputs)
    if (tensor.name == port.info.name) {
      if (found)
        return argumentError("input '", port.info.name, "' is given twice");
      found = &tensor;
    }
  if (!found && port.kind != Kind::Encoder)
    return argumentError("input '", port.info.name, "' is missing");
  if (found && found->element != port.info.element)
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

/// How many of what a step adds a row's tensor has.
Status StepInputs::measure(const Port &port, const InputTensor &tensor,
                           int64_t &count) const {
  if (tensor.dims.size() != port.sizes.size())
    return argumentError("input '", port.info.name, "' has dims ",
                         textOf(tensor.dims), ", expected ", port.sizes.size(),
                         " of one row");
  const int64_t here = tensor.dims[static_cast<size_t>(port.added)];
  if (count >= 0 && here != count)
    return argumentError("input '", port.info.name, "' has ", here,
                         " positions, another input of the row has ", count);
  count = here;
  return Status::ok();
}

Status StepInputs::countOf(std::span<const InputTensor> inputs,
                           RowCounts &counts) const {
  int64_t positions = -1, encoderKeys = -1;
  const Port *missing = nullptr;
  for (const Port &port : ports) {
    const InputTensor *tensor = nullptr;
    SHARDC_RETURN_IF_ERROR(find(port, inputs, tensor));
    if (!tensor)
      missing = &port;
    else if (port.kind != Kind::Rows)
      SHARDC_RETURN_IF_ERROR(measure(
          port, *tensor, port.kind == Kind::Encoder ? encoderKeys : positions));
  }
  if (missing && encoderKeys > 0)
    return argumentError("input '", missing->info.name, "' is missing, others ",
                         "of the encoder are given");
  counts = {positions, std::max<int64_t>(encoderKeys, 0)};
  for (const InputTensor &tensor : inputs)
    if (std::none_of(ports.begin(), ports.end(), [&](const Port &port) {
          return port.info.name == tensor.name;
        }))
      return argumentError("input '", std::string(tensor.name),
                           "' is none that the model takes of a row");
  return positions > 0 ? Status::ok()
                       : argumentError("a row has no new positions");
}

/// How many of what a step adds are the row's.
int64_t StepInputs::addedBy(const Port &port, const StepRow &row) {
  if (port.kind == Kind::Encoder)
    return row.givesEncoder ? row.encoderKeys : 0;
  return row.count;
}

Status StepInputs::check(const Port &port, const InputTensor &tensor,
                         const StepRow &row) const {
  const auto dims = withoutBatch(tensor.dims, port.sizes.size());
  bool fits = dims.size() == port.sizes.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) {
    const auto dim = static_cast<int>(d);
    const int64_t size = dim == port.added         ? addedBy(port, row)
                         : dim == port.keys        ? row.past + row.count
                         : dim == port.encoderKeys ? row.encoderKeys
                                                   : port.sizes[d];
    fits = size < 0 ? dims[d] >= 0 : dims[d] == size;
  }
  if (!fits)
    return argumentError("input '", port.info.name, "' of a row behind ",
                         row.past, " positions with ", row.count,
                         " new ones has dims ", textOf(tensor.dims),
                         port.encoderKeys >= 0
                             ? ", and its sequence's encoder gave " +
                                   std::to_string(row.encoderKeys)
                             : "");
  return tensor.data || product(dims) == 0
             ? Status::ok()
             : argumentError("input '", port.info.name, "' has no data");
}

/// The dims in the step, from those of the first row's tensor.
Status StepInputs::sizeWhole(const Port &port, std::span<const StepRow> rows,
                             Room room) {
  Packed &into = packed[port.number];
  into.dims.clear();
  if (port.kind == Kind::Rows)
    into.dims.push_back(static_cast<int64_t>(rows.size()));
  const size_t first = into.dims.size();
  for (int64_t size : port.sizes)
    into.dims.push_back(std::max<int64_t>(size, 0));
  for (const StepRow &row : rows)
    if (port.kind != Kind::Encoder || row.givesEncoder) {
      const InputTensor *tensor = nullptr;
      SHARDC_RETURN_IF_ERROR(find(port, row.inputs, tensor));
      SHARDC_RETURN_IF_ERROR(check(port, *tensor, row));
      const auto dims = withoutBatch(tensor->dims, port.sizes.size());
      std::copy(dims.begin(), dims.end(),
                into.dims.begin() + static_cast<std::ptrdiff_t>(first));
      break;
    }
  if (into.dims.size() > kMaxRank)
    return argumentError("input '", port.info.name, "' has too many dims");
  auto set = [&](int dim, int64_t size) {
    if (dim >= 0)
      into.dims[first + static_cast<size_t>(dim)] = size;
  };
  set(port.keys, room.keys);
  set(port.encoderKeys, room.encoderKeys);
  int64_t added = 0;
  for (const StepRow &row : rows)
    added += addedBy(port, row);
  set(port.added, added);
  into.bytes.assign(
      static_cast<size_t>(product(into.dims) *
                          artifact::elementBytes(port.info.element)),
      std::byte(0));
  return Status::ok();
}

/// What one row gives; `offset` in elements.
Status StepInputs::packRow(const Port &port, const StepRow &row,
                           int64_t offset) {
  Packed &into = packed[port.number];
  const InputTensor *tensor = nullptr;
  SHARDC_RETURN_IF_ERROR(find(port, row.inputs, tensor));
  SHARDC_RETURN_IF_ERROR(check(port, *tensor, row));
  const auto dims = withoutBatch(tensor->dims, port.sizes.size());
  const TensorView whole =
      packedView(into.bytes.data(), port.info.element, into.dims);
  const int first = whole.rank - static_cast<int>(dims.size());
  TensorView to = whole;
  to.rank = static_cast<int>(dims.size());
  for (int d = 0; d < to.rank; ++d) {
    to.dims[d] = dims[static_cast<size_t>(d)];
    to.strides[d] = whole.strides[d + first];
    if (d != port.added && d != port.keys && d != port.encoderKeys &&
        to.dims[d] != whole.dims[d + first])
      return argumentError("input '", port.info.name, "' has dims ",
                           textOf(tensor->dims),
                           " in one row, and others in another");
  }
  to.data += offset * artifact::elementBytes(port.info.element);
  if (product(dims) > 0)
    copyView(to, packedView(tensor->data, port.info.element, dims));
  return Status::ok();
}

/// What is new of rows one behind the other, zeros behind the keys of each.
Status StepInputs::pack(const Port &port, std::span<const StepRow> rows,
                        Room room) {
  SHARDC_RETURN_IF_ERROR(sizeWhole(port, rows, room));
  const TensorView whole =
      packedView(packed[port.number].bytes.data(), port.info.element,
                 packed[port.number].dims);
  int64_t offset = 0; // of the row at hand, in elements
  for (const StepRow &row : rows) {
    const int64_t added = addedBy(port, row);
    if (port.kind != Kind::Encoder || row.givesEncoder)
      SHARDC_RETURN_IF_ERROR(packRow(port, row, offset));
    offset += port.kind == Kind::Rows ? whole.strides[0]
                                      : added * whole.strides[port.added];
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

/// With zeros behind.
static void addPages(std::span<const int64_t> own, int64_t room,
                     std::vector<int64_t> &pages) {
  pages.insert(pages.end(), own.begin(), own.end());
  pages.insert(pages.end(), static_cast<size_t>(room) - own.size(), 0);
}

void StepInputs::describeEncoder(std::span<const StepRow> rows,
                                 int64_t pagesOfRow) {
  const auto numRows = static_cast<int64_t>(rows.size());
  int64_t added = 0;
  for (const StepRow &row : rows)
    added += row.givesEncoder ? row.encoderKeys : 0;
  auto &lengths = values("encoder_lengths", {numRows});
  for (const StepRow &row : rows)
    lengths.push_back(row.encoderKeys);
  auto &slots = values("encoder_slots", {added});
  for (const StepRow &row : rows)
    for (int64_t at = 0; row.givesEncoder && at < row.encoderKeys; ++at)
      slots.push_back(row.encoderPages[static_cast<size_t>(at / page)] * page +
                      at % page);
  auto &pages = values("encoder_pages", {numRows, pagesOfRow});
  for (const StepRow &row : rows)
    addPages(row.encoderPages, pagesOfRow, pages);
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
  for (const StepRow &row : rows)
    addPages(row.pages, pagesOfRow, pages);
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
  if (hasOneRow && rows.size() != 1)
    return argumentError("a step of ", rows.size(),
                         " rows: of this model it "
                         "has one, since an op makes one value of all of its "
                         "positions (shardc check names it)");
  const int64_t pagesOfRow = roomFor(rows, &StepRow::pages);
  const int64_t encoderPages = roomFor(rows, &StepRow::encoderPages);
  for (const Port &port : ports)
    SHARDC_RETURN_IF_ERROR(
        pack(port, rows, {pagesOfRow * page, encoderPages * page}));
  describe(rows, pagesOfRow, copies);
  if (hasEncoder())
    describeEncoder(rows, encoderPages);
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
