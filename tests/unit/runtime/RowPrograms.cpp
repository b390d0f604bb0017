#include "tests/unit/runtime/RowPrograms.h"

#include "tests/unit/runtime/SessionFixture.h"

#include <numeric>

namespace shardc::test {

ProgramBuilder meanOfAll(int64_t ways) {
  ProgramBuilder p({{"tp", ways}});
  auto one = p.constant(1), two = p.constant(2), page = p.constant(kPage);
  auto heads = p.constant(kHeads), c = p.coordinate(0);
  auto local = p.localSize(heads, ways, c);
  auto split = p.split(heads, ways, c);
  auto tokens = p.symbol("tokens of a step", 0, 2);
  auto rows = p.symbol("rows of a step", 1, 0);
  auto ofRow = p.symbol("pages of a row", 6, 1);
  auto keys = p.multiply(ofRow, page);
  auto copied = p.symbol("copied pages", 8, 0);
  auto wanted = p.symbol("wanted tokens", 9, 0);
  auto pages = p.symbol("pages of a pool", 2, 0);
  auto firsts = p.binary(artifact::ScalarOp_Add, rows, one);
  auto whole = [&](uint32_t size) { return p.whole(size); };
  auto x =
      p.input("x", Float32, {whole(one), split, whole(tokens), whole(one)});
  auto mask =
      p.input("m", artifact::ElementType_Bool, {whole(rows), whole(keys)});
  auto pool =
      p.input("past", Float32, {whole(pages), split, whole(page), whole(one)});
  auto first = p.input("rows.first", Int64, {whole(firsts)});
  auto past = p.input("rows.past", Int64, {whole(rows)});
  auto slots = p.input("rows.slots", Int64, {whole(tokens)});
  auto table = p.input("rows.pages", Int64, {whole(rows), whole(ofRow)});
  p.input("rows.position", Int64, {whole(tokens)});
  auto copies = p.input("rows.copies", Int64, {whole(copied), whole(two)});
  auto asked = p.input("rows.wanted", Int64, {whole(wanted)});
  auto all = p.value(Float32, {pages, local, page, one});
  p.run("PageWrite",
        {int32_t(pool), int32_t(x), int32_t(slots), int32_t(copies)},
        {int32_t(all)}, {p.ints("axis", {2})});
  auto zero = p.value(Float32, {one, local, tokens, one});
  p.run("Sub", {int32_t(x), int32_t(x)}, {int32_t(zero)});
  auto none = p.value(Float32, {pages, local, page, one});
  p.run("Sub", {int32_t(all), int32_t(all)}, {int32_t(none)});
  auto shown = p.view(mask, {rows, one, one, keys}, {keys, one, one, one},
                      p.constant(0));
  auto mean = p.value(Float32, {one, local, tokens, one});
  p.run("PagedAttention",
        {int32_t(zero), int32_t(none), int32_t(all), int32_t(table),
         int32_t(past), int32_t(first), int32_t(shown)},
        {int32_t(mean)}, {p.ints("is_causal", {1})});
  auto y = p.value(Float32, {one, local, wanted, one});
  p.run("Gather", {int32_t(mean), int32_t(asked)}, {int32_t(y)},
        {p.ints("axis", {2})});
  p.output("y", y, {whole(one), split, whole(wanted), whole(one)});
  p.output("present", all, {whole(pages), split, whole(page), whole(one)});
  p.writeCache(2, pool, 1, all, {pages, local, page, one});
  return p;
}

namespace {

/// What both stages are given.
struct TokenInputs {
  uint32_t one, two, page, tokens, rows, pages, ofRow, copied, wanted;
  uint32_t ids, pool, past, first, slots, table, copies, asked;

  explicit TokenInputs(ProgramBuilder &p) {
    const auto whole = [&](uint32_t size) { return p.whole(size); };
    one = p.constant(1), two = p.constant(2), page = p.constant(kPage);
    tokens = p.symbol("tokens of a step", 0, 1);
    rows = p.symbol("rows of a step", 2, 0);
    pages = p.symbol("pages of a pool", 1, 0);
    ofRow = p.symbol("pages of a row", 5, 1);
    copied = p.symbol("copied pages", 6, 0);
    wanted = p.symbol("wanted tokens", 7, 0);
    const auto firsts = p.binary(artifact::ScalarOp_Add, rows, one);
    ids = p.input("input_ids", Int64, {whole(one), whole(tokens)});
    pool = p.input("past", Float32,
                   {whole(pages), whole(one), whole(page), whole(one)});
    past = p.input("rows.past", Int64, {whole(rows)});
    first = p.input("rows.first", Int64, {whole(firsts)});
    slots = p.input("rows.slots", Int64, {whole(tokens)});
    table = p.input("rows.pages", Int64, {whole(rows), whole(ofRow)});
    copies = p.input("rows.copies", Int64, {whole(copied), whole(two)});
    asked = p.input("rows.wanted", Int64, {whole(wanted)});
  }
};

/// [1, tokens]: what each token counts as.
uint32_t lookUp(ProgramBuilder &p, const TokenInputs &in) {
  std::vector<float> words(kWords);
  std::iota(words.begin(), words.end(), 0.f);
  words[kFailing] = -1;
  words[kSlow] = -2;
  auto embedding = p.weight("words", Float32, {kWords},
                            {p.whole(p.constant(kWords))}, bytesOf(words));
  auto flat = p.value(Float32, {in.one, in.tokens});
  p.run("Gather", {int32_t(embedding), int32_t(in.ids)}, {int32_t(flat)},
        {p.ints("axis", {0})}, -1, "/embedding");
  return flat;
}

/// The mean, as logits.
void keepAndAverage(ProgramBuilder &p, const TokenInputs &in, uint32_t flat) {
  const auto whole = [&](uint32_t size) { return p.whole(size); };
  auto x = p.view(flat, {in.one, in.one, in.tokens, in.one},
                  {in.tokens, in.tokens, in.one, in.one}, p.constant(0));
  const std::vector<uint32_t> dims = {in.pages, in.one, in.page, in.one};
  auto all = p.value(Float32, dims);
  p.run("PageWrite",
        {int32_t(in.pool), int32_t(x), int32_t(in.slots), int32_t(in.copies)},
        {int32_t(all)}, {p.ints("axis", {2})});
  auto zero = p.value(Float32, {in.one, in.one, in.tokens, in.one});
  p.run("Sub", {int32_t(x), int32_t(x)}, {int32_t(zero)});
  auto none = p.value(Float32, dims);
  p.run("Sub", {int32_t(all), int32_t(all)}, {int32_t(none)});
  auto mean = p.value(Float32, {in.one, in.one, in.tokens, in.one});
  p.run("PagedAttention",
        {int32_t(zero), int32_t(none), int32_t(all), int32_t(in.table),
         int32_t(in.past), int32_t(in.first)},
        {int32_t(mean)}, {p.ints("is_causal", {1})});
  auto y = p.value(Float32, {in.one, in.one, in.wanted, in.one});
  p.run("Gather", {int32_t(mean), int32_t(in.asked)}, {int32_t(y)},
        {p.ints("axis", {2})});
  auto logits = p.view(y, {in.one, in.wanted, in.one},
                       {in.wanted, in.one, in.one}, p.constant(0));
  p.output("logits", logits, {whole(in.one), whole(in.wanted), whole(in.one)});
  p.output("present", all,
           {whole(in.pages), whole(in.one), whole(in.page), whole(in.one)});
  p.writeCache(1, in.pool, 1, all, dims);
}

} // namespace

ProgramBuilder meanOfTokens(int64_t ways, int64_t sleepMs) {
  ProgramBuilder p({{"tp", ways}});
  const TokenInputs in(p);
  const uint32_t flat = lookUp(p, in);
  keepAndAverage(p, in, flat);
  if (ways == 1 && sleepMs == 0)
    return p;
  auto checked = p.value(Float32, {in.one, in.tokens});
  const auto faulty = ways == 1 ? p.constant(1) : p.coordinate(0);
  p.run("TestFaults", {int32_t(flat)}, {int32_t(checked)},
        {p.scalars("faulty", {faulty}), p.ints("ms", {sleepMs})}, -1, "/late");
  if (sleepMs > 0) {
    auto sum = p.value(Float32, {in.one, in.tokens});
    p.run("all_reduce", {int32_t(checked)}, {int32_t(sum)},
          {p.text("kind", "sum")}, p.group({{0, 1, ways}}), "/sum");
  }
  return p;
}

std::unique_ptr<TestArtifact> meanOfTokensInStages(int64_t replicas) {
  ProgramBuilder begin({{"tp", 1}}), end({{"tp", 1}});
  const TokenInputs in(begin), on(end);
  const uint32_t flat = lookUp(begin, in);
  auto checked = begin.value(Float32, {in.one, in.tokens});
  begin.run("TestFaults", {int32_t(flat)}, {int32_t(checked)},
            {begin.ints("faulty", {1})}, -1, "/first");
  begin.run("send", {int32_t(checked)}, {},
            {begin.ints("stage", {1}), begin.ints("transfer", {0})});
  auto received = end.value(Float32, {on.one, on.tokens});
  end.run("receive", {}, {int32_t(received)},
          {end.ints("stage", {0}), end.ints("transfer", {0})});
  keepAndAverage(end, on, received);
  auto artifact = std::make_unique<TestArtifact>(begin);
  artifact->manifest["mesh"] = {{{"name", "dp"}, {"size", replicas}},
                                {{"name", "pp"}, {"size", 2}},
                                {{"name", "tp"}, {"size", 1}}};
  artifact->addProgram(end, 1);
  return artifact;
}

} // namespace shardc::test
