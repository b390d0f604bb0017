#include "passes/import/rows/StaticTrial.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Attention.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;
using evaluate::Tensor;

/// Room that is tried where a request says how much there is.
constexpr int64_t kRoom = 24;
constexpr int64_t kMostRoom = int64_t(1) << 17;

/// Small ones, the last that fit, and those around each number that lengths are
/// compared with.
bool StaticTrial::chooseSizes(func::FuncOp after) {
  room = sizes.room.asConstant().value_or(kRoom);
  const auto thresholds = thresholdsOf(after, numbers(after, {0, 1}), 8);
  if (room < 4 || room > kMostRoom || !thresholds)
    return false;
  if (!sizes.room.asConstant() && !thresholds->empty())
    room = std::max(room, thresholds->back() + 4);
  const bool takesOne = !sizes.count.asSymbol();
  requests = {{0, 1}, {0, 3}, {1, 2}, {5, 3}, {room - 3, 3}, {room - 1, 1}};
  for (int64_t number : *thresholds)
    for (int64_t past = number - 2; past <= number + 1; ++past)
      requests.push_back({past, 2});
  if (takesOne)
    for (RequestSize &request : requests)
      request.count = 1;
  llvm::erase_if(requests, [&](RequestSize request) {
    return request.past < 0 || request.past + request.count > room;
  });
  return true;
}

RowNumbers StaticTrial::numbers(func::FuncOp function,
                                RequestSize request) const {
  evaluate::Sizes at;
  at.symbols[*sizes.past.asSymbol()] = request.past;
  if (auto symbol = sizes.count.asSymbol())
    at.symbols[*symbol] = request.count;
  if (auto symbol = sizes.room.asSymbol())
    at.symbols[*symbol] = room;
  if (auto symbol = sizes.batch.asSymbol())
    at.symbols[*symbol] = 1;
  return numbersOf(function, at, request, [&](BlockArgument input) {
    return function == before &&
           llvm::is_contained(places, input.getArgNumber());
  });
}

/// Where the caches are written is where the new positions belong.
LogicalResult StaticTrial::checkPlaces(RequestSize at) {
  for (Value value : written) {
    auto found = ofBefore.find(value);
    bool isRight =
        found != ofBefore.end() && found->second.size() % at.count == 0;
    for (int64_t i = 0; isRight && i < found->second.size(); ++i)
      isRight = found->second.data[i] == double(at.past + i % at.count);
    if (!isRight)
      return before.emitError("has no step of rows: ")
             << FunctionInfo(before).inputName(places[0])
             << " says where it writes into its caches, but not by the "
                "positions themselves";
  }
  return success();
}

/// Every element that both have; nothing where one is not known.
static std::string differenceOf(const Tensor &was, const Tensor &is) {
  if (was.rank() != is.rank())
    return "it has other dims";
  for (int64_t d = 0; d < is.rank(); ++d)
    if (is.shape[d] > was.shape[d])
      return "it has more elements";
  const auto from = evaluate::stridesOf(was.shape),
             to = evaluate::stridesOf(is.shape);
  for (int64_t e = 0; e < is.size(); ++e) {
    int64_t at = 0;
    for (int64_t d = 0; d < is.rank(); ++d)
      at += e / to[d] % is.shape[d] * from[d];
    const double a = was.data[at], b = is.data[e];
    if (a != b && !(std::isnan(a) && std::isnan(b)))
      return "it says " + std::to_string(a) + " where a cache has room, and " +
             std::to_string(b) + " without";
  }
  return "";
}

/// Places that hold nothing are hidden from every query.
std::string StaticTrial::differenceOfMask(Operation &was, RequestSize at) {
  auto attention = cast<AttentionOp>(was);
  if (attention.getIsCausal() || attention.getWindow())
    return "it counts its queries, and a cache with room has more keys";
  auto mask = was.getNumOperands() > AttentionOperand::Mask
                  ? ofBefore.find(was.getOperand(AttentionOperand::Mask))
                  : ofBefore.end();
  if (mask == ofBefore.end())
    return "it is not known to hide the places of a cache that hold nothing";
  if (!hiding.insert(mask->first).second)
    return ""; // of another layer
  const Tensor &shown = mask->second;
  const bool isAdded = !shown.element.isInteger(1);
  const int64_t keys = shown.rank() ? shown.shape.back() : 1;
  if (keys != room)
    return "its mask is none of places of a cache";
  for (int64_t row = 0; row < shown.size() / keys; ++row)
    for (int64_t key = at.past + at.count; key < keys; ++key) {
      const int64_t own = at.past + (row % at.count);
      const double *of = shown.data.data() + row * keys;
      if (!isHidden(isAdded, of[key], of[own]))
        return "it shows a place of a cache that holds nothing";
    }
  return "";
}

std::string StaticTrial::differenceAt(Operation &op, Operation &was,
                                      const PlaceDims &dims, RequestSize at) {
  if (dims.attends(&op))
    return differenceOfMask(was, at);
  bool areKnown = true;
  for (auto [is, old] : llvm::zip(op.getResults(), was.getResults())) {
    auto a = ofBefore.find(old);
    auto b = ofAfter.find(is);
    areKnown &= a != ofBefore.end() && b != ofAfter.end();
    if (a == ofBefore.end() || b == ofAfter.end())
      continue;
    if (std::string why = differenceOf(a->second, b->second); !why.empty())
      return why;
  }
  return !areKnown && dims.joinsPlaces(&op)
             ? "it reads places of a cache that may hold nothing"
             : "";
}

LogicalResult StaticTrial::compare(func::FuncOp after, const IRMapping &clones,
                                   const PlaceDims &dims) {
  if (!chooseSizes(after))
    return before.emitError("has no step of rows: room for ")
           << sizes.room.str() << " positions in its caches, expected 4 to "
           << kMostRoom << ", and a few numbers that lengths are compared with";
  for (RequestSize request : requests) {
    ofBefore = numbers(before, request);
    ofAfter = numbers(after, request);
    hiding.clear();
    if (failed(checkPlaces(request)))
      return failure();
    for (Operation &op : after.front().without_terminator())
      if (Operation *was = clones.lookupOrNull(&op))
        if (std::string why = differenceAt(op, *was, dims, request);
            !why.empty())
          return op.emitError("has no place in a step of rows of different "
                              "lengths: ")
                 << why << " (at " << request.count << " positions behind "
                 << request.past << ")";
  }
  return success();
}

} // namespace shardc::import
