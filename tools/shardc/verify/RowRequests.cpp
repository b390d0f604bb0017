#include "tools/shardc/verify/RowRequests.h"

#include "dialects/onnx/RowSymbols.h"
#include "runtime/artifact/Format.h"
#include "runtime/base/Message.h"
#include "runtime/serve/StepInputs.h"
#include "tools/shardc/verify/RowPositions.h"

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
  Rows(Session &session, const Request &request, const StepOutputs &ofStep)
      : session(session), request(request), ofStep(ofStep),
        page(session.page()) {}

  Status run(std::vector<Tensor> &outputs) {
    findEncoder();
    SHARDC_RETURN_IF_ERROR(findSizes());
    SHARDC_RETURN_IF_ERROR(measureEncoder());
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

  static bool isOfEncoder(const TensorInfo &info) {
    return std::find(info.dims.begin(), info.dims.end(),
                     onnx::RowSymbols::encoderKeys().asSymbol()->str()) !=
           info.dims.end();
  }
  bool isOfEncoder(const std::string &name) const {
    return std::any_of(session.inputs().begin(), session.inputs().end(),
                       [&](const TensorInfo &info) {
                         return info.name == name && isOfEncoder(info);
                       });
  }

  /// Caches of cross-attention, which a step does not have: a request reads them,
  /// or sets them, and then has no positions before.
  void findEncoder() {
    hasEncoder =
        std::any_of(session.inputs().begin(), session.inputs().end(),
                    [](const TensorInfo &info) { return isOfEncoder(info); });
    const TensorInfo &pool = session.inputs()[session.caches()[0].input];
    for (const NamedTensor &named : request.inputs)
      if (hasEncoder && !isOfStep(named.name) &&
          named.tensor.element() == pool.element &&
          named.tensor.dims().size() == pool.dims.size())
        given.push_back(&named.tensor);
    if (given.empty() || ofStep.others.empty())
      return;
    const Tensor &present = ofStep.others.front(), &past = *given.front();
    readsEncoder = present.bytes() == 0 ||
                   (present.bytes() == past.bytes() &&
                    std::memcmp(present.data(), past.data(),
                                static_cast<size_t>(past.bytes())) == 0);
    isPrompt = !readsEncoder;
  }

  Status measureEncoder() {
    if (!hasEncoder)
      return Status::ok();
    for (const NamedTensor &named : request.inputs)
      for (const TensorInfo &info : session.inputs())
        for (size_t d = 0; info.name == named.name && d < info.dims.size(); ++d)
          if (info.dims[d] == *onnx::RowSymbols::encoderKeys().asSymbol())
            encoderKeys = named.tensor.dims()[d];
    if (readsEncoder) {
      // In the order of the caches whose pools have them.
      if (given.size() != pools.size())
        return argumentError("it has ", given.size(), " caches of encoders, ",
                             "and pools for ", pools.size());
      encoderKeys = given.front()->dims()[pools.front().axis];
    }
    encoderPagesOfRow = (encoderKeys + page - 1) / page;
    return Status::ok();
  }

  /// Of a prompt, which reads no past: how many positions it has.
  Status addPool(const CacheInfo &cache) {
    const auto after = ofStep.expected[cache.output].dims();
    at.batch = after[0];
    at.count = after[kEncoderAxis];
    pools.push_back({cache.input,
                     cache.output,
                     kEncoderAxis,
                     session.inputs()[cache.input].element,
                     Dims(after.begin(), after.end()),
                     {}});
    return Status::ok();
  }

  Status findSizes() {
    if (isPrompt) {
      for (const CacheInfo &cache : session.caches())
        SHARDC_RETURN_IF_ERROR(addPool(cache));
    } else {
      SHARDC_RETURN_IF_ERROR(
          findPositions(session, request, ofStep.expected, at));
      const std::vector<CacheInfo> caches = session.caches();
      for (size_t c = 0; c < caches.size(); ++c) {
        const CacheInfo &cache = caches[c];
        const Tensor &past = find(session.inputs()[cache.input].name)->tensor;
        pools.push_back({cache.input,
                         cache.output,
                         at.axes[c],
                         past.element(),
                         Dims(past.dims().begin(), past.dims().end()),
                         {}});
      }
    }
    pagesOfRow = (at.length + at.count + page - 1) / page;
    return at.batch > 0 ? Status::ok() : argumentError("it has no row");
  }

  /// Not one after the other.
  int64_t pageOf(int64_t row, int64_t position) const {
    return numPages() - 1 - (position / page * at.batch + row);
  }
  int64_t encoderPageOf(int64_t row, int64_t key) const {
    return key / page * at.batch + row;
  }
  int64_t numPages() const {
    return at.batch * (pagesOfRow + encoderPagesOfRow) + 1;
  }

  void fillPools() {
    for (size_t p = 0; p < pools.size(); ++p) {
      Pool &pool = pools[p];
      const Tensor &past = find(session.inputs()[pool.input].name)->tensor;
      const Dims before = pool.dims;
      pool.dims[0] = numPages();
      pool.dims[pool.axis] = page;
      const int64_t size = artifact::elementBytes(pool.element);
      // What no row has is never read.
      pool.bytes.assign(static_cast<size_t>(product(pool.dims) * size),
                        std::byte(0x7b));
      fillPages(pool, past, before, at.length, &Rows::pageOf);
      if (readsEncoder)
        fillPages(pool, *given[p], given[p]->dims(), encoderKeys,
                  &Rows::encoderPageOf);
    }
  }

  using PageOf = int64_t (Rows::*)(int64_t row, int64_t position) const;

  void fillPages(Pool &pool, const Tensor &from, std::span<const int64_t> dims,
                 int64_t positions, PageOf pageOf) const {
    forEachEntry(
        pool, dims, positions,
        [&](int64_t of, int64_t to, int64_t bytes) {
          std::memcpy(pool.bytes.data() + to, from.data() + of,
                      static_cast<size_t>(bytes));
        },
        pageOf);
  }

  /// Calls body(offset in [batch, .., positions, ..], offset in the pool, bytes).
  template <typename Body>
  void forEachEntry(const Pool &pool, std::span<const int64_t> dims,
                    int64_t positions, Body body,
                    PageOf pageOf = &Rows::pageOf) const {
    const int64_t size = artifact::elementBytes(pool.element);
    const std::span<const int64_t> row = dims.subspan(1);
    const std::span<const int64_t> ofPage = std::span(pool.dims).subspan(1);
    const Lines from(row, pool.axis - 1, size), to(ofPage, pool.axis - 1, size);
    for (int64_t r = 0; r < at.batch; ++r)
      for (int64_t o = 0; o < from.outer; ++o)
        for (int64_t i = 0; i < positions; ++i)
          body(r * product(row) * size + from.at(o, i),
               (this->*pageOf)(r, i) * product(ofPage) * size +
                   to.at(o, i % page),
               from.inner);
  }

  /// Whether an input has one of the batch after the other: a step has the rows
  /// in place of that dim, or nothing.
  bool isOfBatch(const NamedTensor &named) const {
    const auto dims = named.tensor.dims();
    for (const TensorInfo &info : session.inputs())
      if (info.name == named.name && !dims.empty() && dims[0] == at.batch)
        return info.dims[0] == "1" ||
               // Of a model that takes one position of each row.
               (info.dims[0] == *onnx::RowSymbols::tokens().asSymbol() &&
                dims.size() > 1) ||
               info.dims[0] == *onnx::RowSymbols::rows().asSymbol();
    return false;
  }

  Status fillRows() {
    std::vector<size_t> caches;
    for (const Pool &pool : pools)
      caches.push_back(pool.input);
    SHARDC_RETURN_IF_ERROR(
        StepInputs::make(session.inputs(), caches, page, step));
    std::vector<std::vector<InputTensor>> inputs(static_cast<size_t>(at.batch));
    std::vector<std::vector<Dims>> dims(inputs.size());
    std::vector<Dims> pages(inputs.size()), encoderPages(inputs.size());
    std::vector<StepRow> rows;
    for (size_t r = 0; r < inputs.size(); ++r) {
      const auto row = static_cast<int64_t>(r);
      dims[r].reserve(request.inputs.size());
      for (const NamedTensor &named : request.inputs)
        if (isOfStep(named.name) && !isPast(named.name) &&
            !(readsEncoder && isOfEncoder(named.name))) {
          const Tensor &whole = named.tensor;
          Dims &own =
              dims[r].emplace_back(whole.dims().begin(), whole.dims().end());
          const bool isSplit = isOfBatch(named);
          if (isSplit)
            own[0] = 1;
          const std::byte *data =
              whole.data() + (isSplit ? whole.bytes() / at.batch * row : 0);
          inputs[r].push_back({named.name, whole.element(), own,
                               withoutRoom(named, own, data)});
        }
      for (int64_t p = 0; p < pagesOfRow; ++p)
        pages[r].push_back(pageOf(row, p * page));
      for (int64_t p = 0; p < encoderPagesOfRow; ++p)
        encoderPages[r].push_back(encoderPageOf(row, p * page));
      rows.push_back({inputs[r], pages[r], at.length, at.count, at.count,
                      encoderPages[r], encoderKeys,
                      hasEncoder && !readsEncoder});
      RowCounts counts;
      SHARDC_RETURN_IF_ERROR(step.countOf(inputs[r], counts));
      if (counts.positions != at.count)
        return argumentError("its inputs have ", counts.positions,
                             " new positions, its "
                             "caches get ",
                             at.count);
    }
    return step.fill(rows, {});
  }

  /// Of what says something of each place of a static cache, that of those which
  /// have a position; `dims` become theirs.
  const std::byte *withoutRoom(const NamedTensor &named, Dims &dims,
                               const std::byte *data) {
    const std::string pages = onnx::RowSymbols::pagesOfRow().asSymbol()->str();
    for (const TensorInfo &info : session.inputs())
      for (size_t d = 0;
           at.room > 0 && info.name == named.name && d < dims.size(); ++d)
        if (dims[d] == at.room &&
            info.dims[d].find(pages) != std::string::npos) {
          const int64_t size = artifact::elementBytes(named.tensor.element());
          const Lines from(dims, d, size);
          dims[d] = at.length + at.count;
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

  bool isOfStep(const std::string &name) const {
    return verifier::isOfStep(session, name);
  }

  bool isPast(const std::string &name) const {
    return std::any_of(pools.begin(), pools.end(), [&](const Pool &pool) {
      return session.inputs()[pool.input].name == name;
    });
  }

  Status readOutput(size_t number, const Tensor &found, Tensor &output) const {
    const Tensor &expected = ofStep.expected[number];
    SHARDC_RETURN_IF_ERROR(output.reshape(found.element(), expected.dims()));
    for (const Pool &pool : pools)
      if (pool.output == number) {
        // Of a static cache, nothing is said of places that hold nothing.
        std::memcpy(output.data(), expected.data(), expected.bytes());
        forEachEntry(pool, expected.dims(), at.length + at.count,
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
      sideBySide[axis] = at.batch * at.count;
    }
    if (axis >= dims.size() || dims[0] != at.batch || dims[axis] != at.count ||
        !std::ranges::equal(sideBySide, found.dims()))
      return artifactError("output '", session.outputs()[number].name,
                           "' is not one of new positions, or of rows");
    const int64_t size = artifact::elementBytes(found.element());
    const Lines to(dims.subspan(1), axis - 1, size);
    const Lines from(found.dims().subspan(1), axis - 1, size);
    for (int64_t r = 0; r < at.batch; ++r)
      for (int64_t o = 0; o < to.outer; ++o)
        std::memcpy(output.data() + r * (output.bytes() / at.batch) +
                        to.at(o, 0),
                    found.data() + from.at(o, r * at.count),
                    static_cast<size_t>(at.count * to.inner));
    return Status::ok();
  }

  Session &session;
  const Request &request;
  const StepOutputs &ofStep;
  const int64_t page;
  StepInputs step;
  std::vector<Pool> pools;
  std::deque<std::vector<std::byte>> cut;
  RowPositions at;
  int64_t pagesOfRow = 0;

  static constexpr size_t kEncoderAxis = 2;
  bool hasEncoder = false, readsEncoder = false, isPrompt = false;
  std::vector<const Tensor *> given; ///< caches of cross-attention
  int64_t encoderKeys = 0, encoderPagesOfRow = 0;
};

Tensor memoryOf(const Tensor &tensor) {
  Tensor made = Tensor::borrow(tensor.data(), tensor.bytes());
  (void)made.reshape(tensor.element(), tensor.dims()); // it fits
  return made;
}

} // namespace

StepOutputs::StepOutputs(std::span<const TensorInfo> ofModel,
                         const Session &session, const Request &request) {
  std::vector<char> isOfStep(ofModel.size());
  for (const TensorInfo &own : session.outputs())
    for (size_t o = 0; o < ofModel.size(); ++o)
      if (ofModel[o].name == own.name) {
        infos.push_back(ofModel[o]);
        expected.push_back(memoryOf(request.expected[o]));
        isOfStep[o] = 1;
      }
  for (size_t o = 0; o < ofModel.size(); ++o)
    if (!isOfStep[o])
      others.push_back(memoryOf(request.expected[o]));
}

Status runAsRows(Session &session, const Request &request,
                 const StepOutputs &expected, std::vector<Tensor> &outputs) {
  return Rows(session, request, expected).run(outputs);
}

} // namespace shardc::verifier
