#include "tools/shardc/verify/RowRequests.h"

#include "dialects/onnx/RowSymbols.h"
#include "runtime/artifact/Format.h"
#include "runtime/base/Message.h"
#include "runtime/serve/StepInputs.h"
#include "tools/tensors/Compare.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>

using namespace shardc::runtime;

namespace shardc::verifier {
namespace {

using Dims = std::vector<int64_t>;

int64_t product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t(1),
                         std::multiplies<>());
}

/// A tensor as [outer, along, inner] of one dim, bytes for elements.
struct Lines {
  Lines(std::span<const int64_t> dims, size_t dim, int64_t elementBytes)
      : outer(product(dims.first(dim))), along(dims[dim]),
        inner(product(dims.subspan(dim + 1)) * elementBytes) {}
  int64_t at(int64_t o, int64_t i) const { return (o * along + i) * inner; }

  int64_t outer, along, inner;
};

class Rows {
public:
  Rows(Session &session, const Request &request)
      : session(session), request(request), page(session.page()) {}

  Status run(std::vector<Tensor> &outputs) {
    SHARDC_RETURN_IF_ERROR(findSizes());
    SHARDC_RETURN_IF_ERROR(fillRows());
    fillPools();
    std::vector<InputTensor> all(step.tensors().begin(), step.tensors().end());
    for (const Pool &pool : pools)
      all.push_back({session.inputs()[pool.input].name, pool.element, pool.dims,
                     pool.bytes.data()});
    std::vector<Tensor> found(session.outputs().size());
    SHARDC_RETURN_IF_ERROR(session.run(all, found));
    outputs.resize(found.size());
    for (size_t o = 0; o < found.size(); ++o)
      SHARDC_RETURN_IF_ERROR(readOutput(o, found[o], outputs[o]));
    return Status::ok();
  }

private:
  /// One cache.
  struct Pool {
    size_t input, output, axis; ///< along which positions lie
    ElementType element;
    Dims dims;
    std::vector<std::byte> bytes;
  };

  const NamedTensor *find(const std::string &name) const {
    for (const NamedTensor &named : request.inputs)
      if (named.name == name)
        return &named;
    return nullptr;
  }

  /// Of any cache: what it is before and after says how many positions come; or
  /// it has room for them, and another input says where they are.
  Status findSizes() {
    for (const CacheInfo &cache : session.caches()) {
      const NamedTensor *past = find(session.inputs()[cache.input].name);
      if (!past)
        return argumentError("input '", session.inputs()[cache.input].name,
                             "' is missing");
      const auto before = past->tensor.dims();
      const auto after = request.expected[cache.output].dims();
      size_t axis = 1;
      while (axis < before.size() && before[axis] == after[axis])
        ++axis;
      batch = before[0];
      if (axis >= before.size()) {
        axis = roomDim(session.inputs()[cache.input], before);
        SHARDC_RETURN_IF_ERROR(findPlaces(axis));
        room = before[axis];
      } else {
        length = before[axis];
        count = after[axis] - length;
      }
      pools.push_back({cache.input,
                       cache.output,
                       axis,
                       past->tensor.element(),
                       Dims(before.begin(), before.end()),
                       {}});
    }
    pagesOfRow = (length + count + page - 1) / page;
    return batch > 0 ? Status::ok() : argumentError("it has no row");
  }

  /// Where a pool has a page, a static cache has all its room.
  static size_t roomDim(const TensorInfo &pool,
                        std::span<const int64_t> before) {
    size_t axis = 1;
    while (axis < before.size() &&
           pool.dims[axis] == std::to_string(before[axis]))
      ++axis;
    return axis;
  }

  /// Of static caches: the one integer input that a step does not have says
  /// where the new positions are.
  Status findPlaces(size_t axis) {
    if (axis >= session.inputs()[session.caches()[0].input].dims.size())
      return argumentError("its caches have room for a page; use --serve with "
                           "another number of positions");
    for (const NamedTensor &named : request.inputs)
      for (const TensorInfo &info : session.inputs())
        for (size_t d = 0; named.name == info.name && d < info.dims.size(); ++d)
          if (info.dims[d] == *onnx::RowSymbols::tokens().asSymbol())
            count = named.tensor.dims()[d];
    if (count <= 0)
      return argumentError("it has no new position");
    for (const NamedTensor &named : request.inputs) {
      if (isOfStep(named.name) || named.tensor.bytes() == 0)
        continue;
      const std::vector<double> places = tensors::toDoubles(named.tensor);
      length = static_cast<int64_t>(places[0]);
      for (size_t i = 0; i < places.size(); ++i)
        if (places[i] != places[0] + double(i % static_cast<size_t>(count)) &&
            places[i] != places[0])
          return argumentError("'", named.name, "' says other places than ",
                               "those behind ", length, " positions");
      return Status::ok();
    }
    return argumentError("no input says where its positions are");
  }

  /// Not one after the other.
  int64_t pageOf(int64_t row, int64_t position) const {
    return numPages() - 1 - (position / page * batch + row);
  }
  int64_t numPages() const { return batch * pagesOfRow + 1; }

  void fillPools() {
    for (Pool &pool : pools) {
      const Tensor &past = find(session.inputs()[pool.input].name)->tensor;
      const Dims before = pool.dims;
      pool.dims[0] = numPages();
      pool.dims[pool.axis] = page;
      const int64_t size = artifact::elementBytes(pool.element);
      // What no row has is never read.
      pool.bytes.assign(static_cast<size_t>(product(pool.dims) * size),
                        std::byte(0x7b));
      forEachEntry(pool, before, length,
                   [&](int64_t of, int64_t to, int64_t bytes) {
                     std::memcpy(pool.bytes.data() + to, past.data() + of,
                                 static_cast<size_t>(bytes));
                   });
    }
  }

  /// Calls body(offset in [batch, .., positions, ..], offset in the pool, bytes).
  template <typename Body>
  void forEachEntry(const Pool &pool, std::span<const int64_t> dims,
                    int64_t positions, Body body) const {
    const int64_t size = artifact::elementBytes(pool.element);
    const std::span<const int64_t> row = dims.subspan(1);
    const std::span<const int64_t> ofPage = std::span(pool.dims).subspan(1);
    const Lines from(row, pool.axis - 1, size), to(ofPage, pool.axis - 1, size);
    for (int64_t r = 0; r < batch; ++r)
      for (int64_t o = 0; o < from.outer; ++o)
        for (int64_t i = 0; i < positions; ++i)
          body(r * product(row) * size + from.at(o, i),
               pageOf(r, i) * product(ofPage) * size + to.at(o, i % page),
               from.inner);
  }

  /// Whether an input has one of the batch after the other: a step has the rows
  /// in place of that dim, or nothing.
  bool isOfBatch(const NamedTensor &named) const {
    const auto dims = named.tensor.dims();
    for (const TensorInfo &info : session.inputs())
      if (info.name == named.name && !dims.empty() && dims[0] == batch)
        return info.dims[0] == "1" ||
               info.dims[0] == *onnx::RowSymbols::rows().asSymbol();
    return false;
  }

  Status fillRows() {
    std::vector<size_t> caches;
    for (const Pool &pool : pools)
      caches.push_back(pool.input);
    SHARDC_RETURN_IF_ERROR(
        StepInputs::make(session.inputs(), caches, page, step));
    std::vector<std::vector<InputTensor>> inputs(static_cast<size_t>(batch));
    std::vector<std::vector<Dims>> dims(inputs.size());
    std::vector<Dims> pages(inputs.size());
    std::vector<StepRow> rows;
    for (size_t r = 0; r < inputs.size(); ++r) {
      const auto row = static_cast<int64_t>(r);
      dims[r].reserve(request.inputs.size());
      for (const NamedTensor &named : request.inputs)
        if (isOfStep(named.name) && !isPast(named.name)) {
          const Tensor &whole = named.tensor;
          Dims &own =
              dims[r].emplace_back(whole.dims().begin(), whole.dims().end());
          const bool isSplit = isOfBatch(named);
          if (isSplit)
            own[0] = 1;
          const std::byte *data =
              whole.data() + (isSplit ? whole.bytes() / batch * row : 0);
          inputs[r].push_back({named.name, whole.element(), own,
                               withoutRoom(named, own, data)});
        }
      for (int64_t p = 0; p < pagesOfRow; ++p)
        pages[r].push_back(pageOf(row, p * page));
      rows.push_back({inputs[r], pages[r], length, count, count});
      int64_t given = 0;
      SHARDC_RETURN_IF_ERROR(step.countOf(inputs[r], given));
      if (given != count)
        return argumentError("its inputs have ", given,
                             " new positions, its "
                             "caches get ",
                             count);
    }
    return step.fill(rows, {});
  }

  /// Of what says something of each place of a static cache, that of those which
  /// have a position; `dims` become theirs.
  const std::byte *withoutRoom(const NamedTensor &named, Dims &dims,
                               const std::byte *data) {
    const std::string pages = onnx::RowSymbols::pagesOfRow().asSymbol()->str();
    for (const TensorInfo &info : session.inputs())
      for (size_t d = 0; room > 0 && info.name == named.name && d < dims.size();
           ++d)
        if (dims[d] == room && info.dims[d].find(pages) != std::string::npos) {
          const int64_t size = artifact::elementBytes(named.tensor.element());
          const Lines from(dims, d, size);
          dims[d] = length + count;
          const Lines to(dims, d, size);
          auto &bytes =
              cut.emplace_back(static_cast<size_t>(product(dims) * size));
          for (int64_t o = 0; o < to.outer; ++o)
            std::memcpy(bytes.data() + to.at(o, 0), data + from.at(o, 0),
                        static_cast<size_t>(to.along * to.inner));
          return bytes.data();
        }
    return data;
  }

  /// But for what chooses the branch of a merged decoder.
  bool isOfStep(const std::string &name) const {
    return std::any_of(
        session.inputs().begin(), session.inputs().end(),
        [&](const TensorInfo &info) { return info.name == name; });
  }

  bool isPast(const std::string &name) const {
    return std::any_of(pools.begin(), pools.end(), [&](const Pool &pool) {
      return session.inputs()[pool.input].name == name;
    });
  }

  Status readOutput(size_t number, const Tensor &found, Tensor &output) const {
    const Tensor &expected = request.expected[number];
    SHARDC_RETURN_IF_ERROR(output.reshape(found.element(), expected.dims()));
    for (const Pool &pool : pools)
      if (pool.output == number) {
        // Of a static cache, nothing is said of places that hold nothing.
        std::memcpy(output.data(), expected.data(), expected.bytes());
        forEachEntry(pool, expected.dims(), length + count,
                     [&](int64_t to, int64_t from, int64_t bytes) {
                       std::memcpy(output.data() + to, found.data() + from,
                                   static_cast<size_t>(bytes));
                     });
        return Status::ok();
      }
    const auto dims = expected.dims();
    if (std::ranges::equal(dims, found.dims())) {
      std::memcpy(output.data(), found.data(),
                  static_cast<size_t>(found.bytes()));
      return Status::ok();
    }
    // [batch, .., count, ..] of [1, .., batch * count, ..].
    size_t axis = 1;
    while (axis < dims.size() && dims[axis] == found.dims()[axis])
      ++axis;
    Dims sideBySide(dims.begin(), dims.end());
    if (axis < dims.size()) {
      sideBySide[0] = 1;
      sideBySide[axis] = batch * count;
    }
    if (axis >= dims.size() || dims[0] != batch || dims[axis] != count ||
        !std::ranges::equal(sideBySide, found.dims()))
      return artifactError("output '", session.outputs()[number].name,
                           "' is not one of new positions, or of rows");
    const int64_t size = artifact::elementBytes(found.element());
    const Lines to(dims.subspan(1), axis - 1, size);
    const Lines from(found.dims().subspan(1), axis - 1, size);
    for (int64_t r = 0; r < batch; ++r)
      for (int64_t o = 0; o < to.outer; ++o)
        std::memcpy(output.data() + r * (output.bytes() / batch) + to.at(o, 0),
                    found.data() + from.at(o, r * count),
                    static_cast<size_t>(count * to.inner));
    return Status::ok();
  }

  Session &session;
  const Request &request;
  const int64_t page;
  StepInputs step;
  std::vector<Pool> pools;
  int64_t room = 0; ///< of static caches; 0: they grow
  std::deque<std::vector<std::byte>> cut;
  int64_t batch = 0, length = 0, count = 0, pagesOfRow = 0;
};

} // namespace

Status runAsRows(Session &session, const Request &request,
                 std::vector<Tensor> &outputs) {
  return Rows(session, request).run(outputs);
}

} // namespace shardc::verifier
