//===- Pages.cpp - What PageWrite and PagedAttention compute --------------===//
//
// Attention of rows is attention of one after the other: the keys of a row are
// taken out of their pages, in order.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Pages.h"
#include "dialects/onnx/evaluate/Attention.h"

using namespace mlir;

namespace shardc::onnx::evaluate {

/// Elements before, along and behind a dim.
struct Around {
  Around(const Tensor &x, int64_t axis) : along(x.shape[axis]) {
    for (int64_t d = 0; d < axis; ++d)
      before *= x.shape[d];
    for (int64_t d = axis + 1; d < x.rank(); ++d)
      behind *= x.shape[d];
  }
  int64_t before = 1, along, behind = 1;
};

static Outcome write(Call &call) {
  const Tensor &pool = call.operand(0), &added = call.operand(1);
  const Tensor &slots = call.operand(2);
  const int64_t axis = cast<PageWriteOp>(call.op).getAxis();
  if (pool.rank() != added.rank() || pool.rank() <= axis || axis <= 0 ||
      added.shape[axis] != slots.size() || added.shape[0] != 1)
    return Outcome::Unfit;
  const Around to(pool, axis), from(added, axis);
  const int64_t ofPage = pool.shape[0] == 0 ? 0 : to.before / pool.shape[0];
  if (ofPage != from.before || to.behind != from.behind)
    return Outcome::Unfit;
  Tensor y = pool;
  const Tensor &copies = call.operand(3);
  const int64_t pageSize = ofPage * to.along * to.behind;
  for (int64_t i = 0; i + 1 < copies.size(); i += 2) {
    const double source = copies.data[i], target = copies.data[i + 1];
    if (!(source >= 0 && source < double(pool.shape[0]) && target >= 0 &&
          target < double(pool.shape[0])))
      return Outcome::Invalid;
    if (source != target)
      std::copy_n(y.data.begin() + int64_t(source) * pageSize, pageSize,
                  y.data.begin() + int64_t(target) * pageSize);
  }
  for (int64_t i = 0; i < slots.size(); ++i) {
    const double slot = slots.data[i];
    if (slot < 0)
      continue;
    if (!(slot < double(pool.shape[0] * to.along)))
      return Outcome::Invalid;
    const int64_t page = int64_t(slot) / to.along;
    const int64_t place = int64_t(slot) % to.along;
    for (int64_t o = 0; o < ofPage; ++o)
      std::copy_n(added.data.begin() + (o * from.along + i) * from.behind,
                  from.behind,
                  y.data.begin() +
                      ((page * ofPage + o) * to.along + place) * to.behind);
  }
  return call.finish(std::move(y));
}

/// Dims [.., begin : begin + count, ..] of `axis`.
static Tensor part(const Tensor &x, int64_t axis, int64_t begin,
                   int64_t count) {
  Shape shape = x.shape;
  shape[axis] = count;
  Tensor y(x.element, shape);
  const Around from(x, axis);
  for (int64_t o = 0; o < from.before; ++o)
    std::copy_n(x.data.begin() + (o * from.along + begin) * from.behind,
                count * from.behind, y.data.begin() + o * count * from.behind);
  return y;
}

/// Keys [0, count) of a row: [1, kv, count, d]. Nothing if a page is none.
static std::optional<Tensor> keysOf(const Tensor &pool, const Tensor &pages,
                                    int64_t row, int64_t count) {
  const int64_t heads = pool.shape[1], places = pool.shape[2];
  const int64_t size = pool.shape[3];
  Tensor y(pool.element, {1, heads, count, size});
  for (int64_t j = 0; j < count; ++j) {
    const double page = pages.data[row * pages.shape[1] + j / places];
    if (!(page >= 0 && page < double(pool.shape[0])))
      return std::nullopt;
    for (int64_t h = 0; h < heads; ++h)
      std::copy_n(pool.data.begin() +
                      ((int64_t(page) * heads + h) * places + j % places) *
                          size,
                  size, y.data.begin() + (h * count + j) * size);
  }
  return y;
}

/// The part of the mask for queries [begin, begin + count) of a row, and the
/// keys that it has.
static Tensor maskOf(const Tensor &mask, int64_t row, int64_t begin,
                     int64_t count, int64_t keys) {
  Tensor y = part(mask, 3, 0, keys);
  if (mask.shape[0] != 1)
    y = part(y, 0, row, 1);
  return mask.shape[2] != 1 ? part(y, 2, begin, count) : y;
}

namespace {
/// One row after the other.
class RowsAttention {
public:
  explicit RowsAttention(Call &call) : call(call) {}

  bool fits() const {
    const Tensor &keys = call.operand(PagedOperand::Keys);
    const Tensor &values = call.operand(PagedOperand::Values);
    const Tensor &pages = call.operand(PagedOperand::Pages);
    return call.operand(0).rank() == 4 && keys.rank() == 4 &&
           values.rank() == 4 && pages.rank() == 2 &&
           keys.shape[0] == values.shape[0] &&
           keys.shape[2] == values.shape[2] &&
           call.operand(PagedOperand::Past).size() == pages.shape[0] &&
           call.operand(PagedOperand::First).size() == pages.shape[0] + 1;
  }

  Outcome run(Tensor &y) const {
    const Tensor &first = call.operand(PagedOperand::First);
    const Tensor &past = call.operand(PagedOperand::Past);
    const bool isCausal = cast<PagedAttentionOp>(call.op).getIsCausal() != 0;
    for (int64_t row = 0; row < past.size(); ++row) {
      const double begin = first.data[row], end = first.data[row + 1];
      const double keys = past.data[row] + end - begin;
      if (!(begin >= 0 && begin <= end &&
            end <= double(call.operand(0).shape[2]) &&
            (isCausal ? past.data[row] : keys) >= 0 &&
            keys <= double(places())))
        return Outcome::Invalid;
      const Outcome done =
          runRow(row, int64_t(begin), int64_t(end - begin), int64_t(keys), y);
      if (done != Outcome::Done)
        return done;
    }
    return Outcome::Done;
  }

private:
  int64_t places() const {
    return call.operand(PagedOperand::Pages).shape[1] *
           call.operand(PagedOperand::Keys).shape[2];
  }

  Outcome runRow(int64_t row, int64_t begin, int64_t count, int64_t keys,
                 Tensor &y) const {
    const Tensor &pages = call.operand(PagedOperand::Pages);
    auto k = keysOf(call.operand(PagedOperand::Keys), pages, row, keys);
    auto v = keysOf(call.operand(PagedOperand::Values), pages, row, keys);
    if (!k || !v)
      return Outcome::Invalid;
    auto op = cast<PagedAttentionOp>(call.op);
    const AttentionForm form = {op.getScale().convertToDouble(),
                                op.getSoftcap().convertToDouble(),
                                {op.getIsCausal() != 0, keys - count,
                                 call.sizes.of(int64_t(op.getWindow()))},
                                op.getZeroRows()};
    Tensor mask;
    if (call.has(PagedOperand::Mask))
      mask = maskOf(call.operand(PagedOperand::Mask), row, begin, count, keys);
    const Tensor seen = attended(
        call, form, part(call.operand(0), 2, begin, count), *k, *v,
        mask.element ? &mask : nullptr,
        call.has(PagedOperand::Sinks) ? &call.operand(PagedOperand::Sinks)
                                      : nullptr);
    if (!seen.element)
      return Outcome::Unfit;
    const int64_t size = seen.shape[3], queries = y.shape[2];
    for (int64_t h = 0; h < seen.shape[1]; ++h)
      std::copy_n(seen.data.begin() + h * count * size, count * size,
                  y.data.begin() + (h * queries + begin) * size);
    return Outcome::Done;
  }

  Call &call;
};
} // namespace

static Outcome attendToPages(Call &call) {
  const RowsAttention rows(call);
  if (!rows.fits())
    return Outcome::Unfit;
  Shape shape = call.operand(0).shape;
  shape[3] = call.operand(PagedOperand::Values).shape[3];
  Tensor y(call.operand(0).element, shape);
  const Outcome done = rows.run(y);
  return done == Outcome::Done ? call.finish(std::move(y)) : done;
}

void addPages(Evaluators &all) {
  all.add<PageWriteOp>(write);
  all.add<PagedAttentionOp>(attendToPages);
}

} // namespace shardc::onnx::evaluate
