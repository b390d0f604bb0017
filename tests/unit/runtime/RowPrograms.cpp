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

ProgramBuilder meanOfTokens() {
  ProgramBuilder p({{"tp", 1}});
  auto one = p.constant(1), two = p.constant(2), page = p.constant(kPage);
  auto tokens = p.symbol("tokens of a step", 0, 1);
  auto rows = p.symbol("rows of a step", 2, 0);
  auto pages = p.symbol("pages of a pool", 1, 0);
  auto ofRow = p.symbol("pages of a row", 5, 1);
  auto copied = p.symbol("copied pages", 6, 0);
  auto wanted = p.symbol("wanted tokens", 7, 0);
  auto firsts = p.binary(artifact::ScalarOp_Add, rows, one);
  auto whole = [&](uint32_t size) { return p.whole(size); };
  auto ids = p.input("input_ids", Int64, {whole(one), whole(tokens)});
  auto pool = p.input("past", Float32,
                      {whole(pages), whole(one), whole(page), whole(one)});
  auto past = p.input("rows.past", Int64, {whole(rows)});
  auto first = p.input("rows.first", Int64, {whole(firsts)});
  auto slots = p.input("rows.slots", Int64, {whole(tokens)});
  auto table = p.input("rows.pages", Int64, {whole(rows), whole(ofRow)});
  auto copies = p.input("rows.copies", Int64, {whole(copied), whole(two)});
  auto asked = p.input("rows.wanted", Int64, {whole(wanted)});
  std::vector<float> words(kWords);
  std::iota(words.begin(), words.end(), 0.f);
  auto embedding = p.weight("words", Float32, {kWords},
                            {whole(p.constant(kWords))}, bytesOf(words));
  auto flat = p.value(Float32, {one, tokens});
  p.run("Gather", {int32_t(embedding), int32_t(ids)}, {int32_t(flat)},
        {p.ints("axis", {0})}, -1, "/embedding");
  auto x = p.view(flat, {one, one, tokens, one}, {tokens, tokens, one, one},
                  p.constant(0));
  auto all = p.value(Float32, {pages, one, page, one});
  p.run("PageWrite",
        {int32_t(pool), int32_t(x), int32_t(slots), int32_t(copies)},
        {int32_t(all)}, {p.ints("axis", {2})});
  auto zero = p.value(Float32, {one, one, tokens, one});
  p.run("Sub", {int32_t(x), int32_t(x)}, {int32_t(zero)});
  auto none = p.value(Float32, {pages, one, page, one});
  p.run("Sub", {int32_t(all), int32_t(all)}, {int32_t(none)});
  auto mean = p.value(Float32, {one, one, tokens, one});
  p.run("PagedAttention",
        {int32_t(zero), int32_t(none), int32_t(all), int32_t(table),
         int32_t(past), int32_t(first)},
        {int32_t(mean)}, {p.ints("is_causal", {1})});
  auto y = p.value(Float32, {one, one, wanted, one});
  p.run("Gather", {int32_t(mean), int32_t(asked)}, {int32_t(y)},
        {p.ints("axis", {2})});
  auto logits =
      p.view(y, {one, wanted, one}, {wanted, one, one}, p.constant(0));
  p.output("logits", logits, {whole(one), whole(wanted), whole(one)});
  p.output("present", all, {whole(pages), whole(one), whole(page), whole(one)});
  p.writeCache(1, pool, 1, all, {pages, one, page, one});
  return p;
}

} // namespace shardc::test
