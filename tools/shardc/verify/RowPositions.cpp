#include "tools/shardc/verify/RowPositions.h"

#include "dialects/onnx/RowSymbols.h"
#include "runtime/base/Message.h"
#include "tools/tensors/Compare.h"

#include <algorithm>

using namespace shardc::runtime;

namespace shardc::verifier {
namespace {

class Finder {
public:
  Finder(const Session &session, const Request &request,
         std::span<const Tensor> expected, RowPositions &found)
      : session(session), request(request), expected(expected), at(found) {}

  Status run() {
    for (const CacheInfo &cache : session.caches())
      SHARDC_RETURN_IF_ERROR(addCache(cache));
    return checkKept();
  }

private:
  /// What it is before and after says how many positions come; or it has room
  /// for them, and an input says where they are; or it keeps the last ones.
  Status addCache(const CacheInfo &cache) {
    const TensorInfo &pool = session.inputs()[cache.input];
    const auto past =
        std::ranges::find(request.inputs, pool.name, &NamedTensor::name);
    if (past == request.inputs.end())
      return argumentError("input '", pool.name, "' is missing");
    const auto before = past->tensor.dims();
    const auto after = expected[cache.output].dims();
    size_t axis = 1;
    while (axis < before.size() && before[axis] == after[axis])
      ++axis;
    at.batch = before[0];
    if (axis < before.size()) {
      at.length = before[axis];
      at.count = after[axis] - at.length;
      at.axes.push_back(axis);
      return Status::ok();
    }
    axis = roomDim(pool, before);
    if (axis >= pool.dims.size())
      return argumentError("its caches have room for a page; use --serve with "
                           "another number of positions");
    at.axes.push_back(axis);
    if (!hasPlaces()) {
      mostKept = std::min(mostKept, before[axis]);
      return Status::ok();
    }
    at.room = before[axis];
    return findPlaces();
  }

  /// Where a pool has a page, such a cache has all its room.
  static size_t roomDim(const TensorInfo &pool,
                        std::span<const int64_t> before) {
    size_t axis = 1;
    while (axis < before.size() &&
           pool.dims[axis] == std::to_string(before[axis]))
      ++axis;
    return axis;
  }

  /// Whether a step leaves out an input, which says where positions are.
  bool hasPlaces() const {
    return std::ranges::any_of(request.inputs, [&](const NamedTensor &named) {
      return !isOfStep(session, named.name) && named.tensor.bytes() > 0;
    });
  }

  Status findCount() {
    for (const NamedTensor &named : request.inputs)
      for (const TensorInfo &info : session.inputs())
        for (size_t d = 0; named.name == info.name && d < info.dims.size(); ++d)
          if (info.dims[d] == *onnx::RowSymbols::tokens().asSymbol())
            // One of each row of the batch, where these are side by side.
            at.count =
                d == 0 && info.dims.size() > 1 ? 1 : named.tensor.dims()[d];
    return at.count > 0 ? Status::ok()
                        : argumentError("it has no new position");
  }

  /// Of static caches: the one integer input that a step does not have says
  /// where the new positions are.
  Status findPlaces() {
    SHARDC_RETURN_IF_ERROR(findCount());
    for (const NamedTensor &named : request.inputs) {
      if (isOfStep(session, named.name) || named.tensor.bytes() == 0)
        continue;
      const std::vector<double> places = tensors::toDoubles(named.tensor);
      at.length = static_cast<int64_t>(places[0]);
      const auto count = static_cast<size_t>(at.count);
      for (size_t i = 0; i < places.size(); ++i)
        if (places[i] != places[0] + double(i % count) &&
            places[i] != places[0])
          return argumentError("'", named.name, "' says other places than ",
                               "those behind ", at.length, " positions");
      return Status::ok();
    }
    return argumentError("no input says where its positions are");
  }

  /// Caches of the last positions, as long as these are all: what such a cache
  /// has let go nobody knows.
  Status checkKept() {
    if (mostKept == INT64_MAX)
      return Status::ok();
    if (at.count == 0)
      SHARDC_RETURN_IF_ERROR(countKeys());
    if (at.length + at.count > mostKept)
      return argumentError("its caches keep the last ", mostKept, " of ",
                           at.length + at.count,
                           " positions, and a step has all");
    return Status::ok();
  }

  /// By what an input has of each key, as a mask does.
  Status countKeys() {
    SHARDC_RETURN_IF_ERROR(findCount());
    const std::string pages = onnx::RowSymbols::pagesOfRow().asSymbol()->str();
    for (const NamedTensor &named : request.inputs)
      for (const TensorInfo &info : session.inputs())
        for (size_t d = 0; info.name == named.name && d < info.dims.size(); ++d)
          if (!isPool(info.name) &&
              info.dims[d].find(pages) != std::string::npos) {
            at.length = named.tensor.dims()[d] - at.count;
            return at.length < 0
                       ? argumentError("it has fewer keys than positions")
                       : Status::ok();
          }
    return argumentError("no input says how many positions its caches have");
  }

  bool isPool(const std::string &name) const {
    return std::ranges::any_of(session.caches(), [&](const CacheInfo &cache) {
      return session.inputs()[cache.input].name == name;
    });
  }

  const Session &session;
  const Request &request;
  const std::span<const Tensor> expected;
  RowPositions &at;
  int64_t mostKept = INT64_MAX; ///< by caches that keep the last positions
};

} // namespace

Status findPositions(const Session &session, const Request &request,
                     std::span<const Tensor> expected, RowPositions &found) {
  return Finder(session, request, expected, found).run();
}

bool isOfStep(const Session &session, const std::string &name) {
  return std::ranges::any_of(session.inputs(), [&](const TensorInfo &info) {
    return info.name == name;
  });
}

} // namespace shardc::verifier
