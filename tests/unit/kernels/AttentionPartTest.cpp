// Attention to keys that come in parts, against its definition on all of them.
#include "tests/unit/kernels/AttentionReference.h"

namespace shardc::runtime::host {
namespace {

/// Place and size of neighbouring positions.
using Piece = std::pair<int64_t, int64_t>;
using PieceList = std::vector<Piece>;

/// Those pieces of a dim, behind each other.
template <typename T>
Tensor take(const Tensor &from, int dim, const PieceList &pieces) {
  Dims dims = from.dims();
  dims[static_cast<size_t>(dim)] = 0;
  for (const auto &[place, size] : pieces)
    dims[static_cast<size_t>(dim)] += size;
  const Tensor taken = Tensor::filled<T>(dims, T(Compute<T>(0)));
  int64_t at = 0;
  for (const auto &[place, size] : pieces) {
    const Tensor source = from.slice(dim, place, size);
    const Tensor target = taken.slice(dim, at, size);
    forEach(source.dims(), [&](const Dims &index) {
      target.view.as<T>()[target.offset(index)] =
          source.view.as<T>()[source.offset(index)];
    });
    at += size;
  }
  return taken;
}

std::vector<int64_t> asAttribute(const PieceList &pieces) {
  std::vector<int64_t> pairs;
  for (const auto &[place, size] : pieces)
    pairs.insert(pairs.end(), {place, size});
  return pairs;
}

/// Parts `rank` and 2 `ranks` - 1 - `rank` of a dim.
PieceList zigZag(int64_t size, int64_t ranks, int64_t rank) {
  PieceList pieces;
  for (const int64_t part : {rank, 2 * ranks - 1 - rank}) {
    const int64_t begin = part * size / (2 * ranks);
    pieces.emplace_back(begin, (part + 1) * size / (2 * ranks) - begin);
  }
  return pieces;
}

/// What one rank computes whose queries are these pieces, of keys in parts.
template <typename T>
void expectParts(const Problem &s, const PieceList &rows,
                 const std::vector<PieceList> &parts, double tolerance) {
  using Acc = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Tensor q = take<T>(s.q, 2, rows);
  Dims dims = q.dims();
  dims[3] = s.v.view.dims[3];
  const Tensor values = Tensor::filled<Acc>(dims, 9);
  const Tensor out = Tensor::filled<T>(dims, T(Compute<T>(9)));
  dims[3] = 2;
  const Tensor stats = Tensor::filled<Acc>(dims, 9);
  Tensor mask = s.mask;
  if (!mask.view.isAbsent())
    mask = take<Boolean>(mask, 2, rows);
  bool isFirst = true;
  for (const PieceList &part : parts) {
    EXPECT_OK(runKernel("AttentionPart",
                        {q, take<T>(s.k, 2, part), take<T>(s.v, 2, part), mask,
                         isFirst ? Tensor::absent() : values,
                         isFirst ? Tensor::absent() : stats},
                        {values, stats},
                        s.attributes()
                            .ints("query_pieces", asAttribute(rows))
                            .ints("key_pieces", asAttribute(part))));
    isFirst = false;
  }
  EXPECT_OK(runKernel("AttentionFinish", {values, stats, s.sinks}, {out},
                      Attributes().text("zero_rows", s.zeroRows)));
  int64_t at = 0;
  for (const auto &[place, size] : rows) {
    const Tensor here = out.slice(2, at, size);
    forEach(here.dims(), [&, place = place](const Dims &index) {
      const double expected =
          attend<T>(s, {index[0], index[1], place + index[2], index[3]});
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(double(here.at<T>(index))));
      else
        EXPECT_NEAR(double(here.at<T>(index)), expected, tolerance);
    });
    at += size;
  }
}

/// Each of `ranks` ranks with zig-zag parts, its own first.
template <typename T>
void expectRing(const Problem &s, int64_t ranks, double tolerance) {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<PieceList> parts;
    for (int64_t step = 0; step < ranks; ++step)
      parts.push_back(
          zigZag(s.k.view.dims[2], ranks, (rank + ranks - step) % ranks));
    expectParts<T>(s, zigZag(s.q.view.dims[2], ranks, rank), parts, tolerance);
  }
}

template <typename T> Problem grouped(int64_t positions) {
  return {Tensor::integers<T>({2, positions, 6, 4}, 1).permuted({0, 2, 1, 3}),
          Tensor::integers<T>({2, positions, 2, 4}, 2).permuted({0, 2, 1, 3}),
          Tensor::integers<T>({2, 2, positions, 3}, 3)};
}

template <typename T> void variants(int64_t positions, double tolerance) {
  for (const int64_t ranks : {1, 2, 3, 4}) {
    Problem s = grouped<T>(positions);
    expectRing<T>(s, ranks, tolerance);
    s.causal = true;
    expectRing<T>(s, ranks, tolerance);
    s.softcap = 2;
    s.sinks = Tensor::integers<T>({6}, 5);
    expectRing<T>(s, ranks, tolerance);
    s.window = 5;
    expectRing<T>(s, ranks, tolerance);
    s.mask = Tensor::integers<Boolean>({positions, positions})
                 .broadcast({2, 6, positions, positions});
    expectRing<T>(s, ranks, tolerance);
  }
}

TEST(AttentionPart, GivesTheWholeInTurn) {
  variants<float>(70, 1e-5);
  variants<double>(37, 1e-12);
  variants<Float16>(37, 5e-3);
}

/// Some ranks have no query, one query, or no key.
TEST(AttentionPart, FewerPositionsThanRanks) {
  for (const int64_t positions : {0, 1, 2, 5})
    variants<float>(positions, 1e-5);
}

TEST(AttentionPart, RowsThatSeeNothing) {
  Problem s = grouped<float>(20);
  s.mask = Tensor::integers<Boolean>({20, 1}).broadcast({2, 6, 20, 20});
  for (std::string_view rows : {"hidden", "nan", "none"}) {
    s.zeroRows = rows;
    expectRing<float>(s, 3, 1e-5);
  }
}

/// Keys that causality hides are not looked at.
TEST(AttentionPart, SkipsWhatIsHidden) {
  Problem s = grouped<float>(16);
  s.causal = true;
  Problem poisoned = s;
  poisoned.k = take<float>(s.k, 2, {{0, 16}});
  for (int64_t at = 8; at < 16; ++at)
    poisoned.k.view.as<float>()[poisoned.k.offset({0, 0, at, 0})] = NAN;
  expectParts<float>(s, {{0, 8}}, {{{0, 8}}, {{8, 8}}}, 1e-5);
  const Tensor q = take<float>(s.q, 2, {{0, 8}});
  const Tensor values = Tensor::filled<float>({2, 6, 8, 3}, 0),
               stats = Tensor::filled<float>({2, 6, 8, 2}, 0);
  const auto part = [&](const Problem &p, int64_t from, bool isFirst) {
    EXPECT_OK(runKernel("AttentionPart",
                        {q, take<float>(p.k, 2, {{from, 8}}),
                         take<float>(p.v, 2, {{from, 8}}), Tensor::absent(),
                         isFirst ? Tensor::absent() : values,
                         isFirst ? Tensor::absent() : stats},
                        {values, stats},
                        p.attributes()
                            .ints("query_pieces", {0, 8})
                            .ints("key_pieces", {from, 8})));
  };
  part(poisoned, 0, true);
  const std::vector<float> before = values.values<float>();
  part(poisoned, 8, false);
  EXPECT_EQ(values.values<float>(), before);
}

TEST(AttentionPart, RefusesPiecesThatDoNotFit) {
  const Problem s = grouped<float>(8);
  const Tensor values = Tensor::filled<float>({2, 6, 8, 3}, 0),
               stats = Tensor::filled<float>({2, 6, 8, 2}, 0);
  for (const std::vector<int64_t> &pieces : std::vector<std::vector<int64_t>>{
           {0, 7}, {0, 9}, {0}, {-1, 8}, {0, 9, 0, -1}, {0, 4, 4, 5}}) {
    const Status status =
        runKernel("AttentionPart", {s.q, s.k, s.v}, {values, stats},
                  s.attributes().ints("key_pieces", pieces));
    EXPECT_NE(status.message().find("key_pieces do not cover"),
              std::string::npos)
        << status.message();
  }
  const Tensor other = Tensor::filled<float>({2, 6, 8, 3}, 0);
  EXPECT_FALSE(runKernel("AttentionPart",
                         {s.q, s.k, s.v, Tensor::absent(), other, stats},
                         {values, stats}, s.attributes())
                   .isOk());
}

} // namespace
} // namespace shardc::runtime::host
