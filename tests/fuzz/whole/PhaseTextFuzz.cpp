//===- PhaseTextFuzz.cpp - Any text as a phase's, for --from --------------===//
//
//   // partitioned
//   module attributes ...
//
// The first line names the phase. What its check lets through goes as far as
// `lowered`.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipeline.h"
#include "tests/fuzz/whole/Phases.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <random>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace shardc::fuzz {
namespace {

using llvm::StringRef;

void compileText(StringRef all) {
  auto [line, text] = all.split('\n');
  if (!line.consume_front("// "))
    return;
  const auto phase = llvm::find(kPhases, line);
  if (phase == kPhases.end())
    return;
  Compiler compiler;
  compiler.mesh.axes = {{"tp", 2}};
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      text, mlir::ParserConfig(&compiler.context), "text");
  if (!module)
    return compiler.expectError();
  if (compiler.isOfPhase(*module, line) && phase + 1 != kPhases.end())
    (void)compiler.run(*module, phase[1], "lowered");
}

/// Words, numbers and signs; spaces go with what they follow.
std::vector<std::string> split(StringRef text) {
  std::vector<std::string> tokens;
  for (size_t i = 0, end = 0; i < text.size(); i = end) {
    end = i + 1;
    const auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    if (isWord(text[i]))
      while (end < text.size() && isWord(text[end]))
        ++end;
    while (end < text.size() && text[end] == ' ')
      ++end;
    tokens.push_back(text.substr(i, end - i).str());
  }
  return tokens;
}

class Mutation {
public:
  Mutation(StringRef text, unsigned seed) : random(seed) {
    auto [line, rest] = text.split('\n');
    first = line.str();
    tokens = split(rest);
  }

  std::string run() {
    for (size_t n = 1 + random() % 3; n > 0 && !tokens.empty(); --n)
      change();
    std::string all = first + "\n";
    for (const std::string &token : tokens)
      all += token;
    return all;
  }

private:
  void change() {
    static constexpr const char *kNumbers[] = {
        "0", "1", "2", "3", "-1", "4294967296", "9223372036854775807"};
    const size_t at = random() % tokens.size();
    const auto place = tokens.begin() + static_cast<ptrdiff_t>(at);
    switch (random() % 8) {
    case 0:
      tokens.erase(place);
      break;
    case 1: // a line of another place, which may be of another function
      insertLine(at);
      break;
    case 2:
      std::swap(tokens[at], tokens[random() % tokens.size()]);
      break;
    case 3:
    case 4:
      changeNumber(kNumbers[random() % std::size(kNumbers)]);
      break;
    default: // of the same kind: a word or a number
      tokens[at] = like(tokens[at]);
    }
  }

  static int kind(const std::string &token) {
    return llvm::isDigit(token[0]) ? 0 : llvm::isAlpha(token[0]) ? 1 : 2;
  }

  std::string like(const std::string &token) {
    for (int tries = 0; tries < 50; ++tries) {
      const std::string &other = tokens[random() % tokens.size()];
      if (kind(other) == kind(token) && other != token)
        return other;
    }
    return token;
  }

  void changeNumber(const char *number) {
    for (int tries = 0; tries < 50; ++tries) {
      std::string &token = tokens[random() % tokens.size()];
      if (kind(token) == 0) {
        token = number;
        return;
      }
    }
  }

  void insertLine(size_t at) {
    const size_t from = random() % tokens.size();
    std::vector<std::string> line;
    for (size_t i = from; i < tokens.size() && i < from + 200; ++i) {
      line.push_back(tokens[i]);
      if (tokens[i].find('\n') != std::string::npos)
        break;
    }
    tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(at), line.begin(),
                  line.end());
  }

  std::minstd_rand random;
  std::string first;
  std::vector<std::string> tokens;
};

} // namespace
} // namespace shardc::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  if (seed % 8 == 0)
    return LLVMFuzzerMutate(data, size, most);
  const std::string made =
      shardc::fuzz::Mutation({reinterpret_cast<char *>(data), size}, seed)
          .run();
  if (made.size() > most)
    return 0;
  std::memcpy(data, made.data(), made.size());
  return made.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  shardc::fuzz::compileText({reinterpret_cast<const char *>(data), size});
  return 0;
}
