//===- DimExprText.cpp - Symbolic sizes as text ---------------------------===//
//
//   expr   := term (("+" | "-") term)*
//   term   := factor (("*" | "//" | "floordiv" | "mod" | "%") factor)*
//   factor := integer | name | "\"" any "\"" | "@" name | "(" expr ")"
//           | "-" factor | ("min" | "max") "(" expr "," expr ")"
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/algebra/DimLimits.h"

#include "llvm/ADT/StringExtras.h"

namespace shardc::dist {
using namespace detail;

static bool isBareName(llvm::StringRef name) {
  if (name.empty() || !(llvm::isAlpha(name[0]) || name[0] == '_'))
    return false;
  for (llvm::StringRef keyword : {"floordiv", "mod", "min", "max"})
    if (name == keyword)
      return false;
  return llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static void printName(llvm::raw_ostream &os, llvm::StringRef name) {
  if (isBareName(name)) {
    os << name;
    return;
  }
  os << '"';
  llvm::printEscapedString(name, os);
  os << '"';
}

/// A sum needs parentheses inside a product.
static void printOperand(llvm::raw_ostream &os, DimExpr expr) {
  bool simple =
      expr.asSymbol() || (expr.asConstant() && *expr.asConstant() >= 0);
  if (!simple)
    os << '(';
  expr.print(os);
  if (!simple)
    os << ')';
}

static void printAtom(llvm::raw_ostream &os, const DimAtom *atom) {
  switch (atom->kind) {
  case AtomKind::Symbol:
    return printName(os, atom->name);
  case AtomKind::Coordinate:
    os << '@';
    return printName(os, atom->name);
  case AtomKind::Min:
  case AtomKind::Max:
    os << (atom->kind == AtomKind::Min ? "min(" : "max(");
    atom->lhs.print(os);
    os << ", ";
    atom->rhs.print(os);
    os << ')';
    return;
  case AtomKind::FloorDiv:
  case AtomKind::Mod:
    os << '(';
    printOperand(os, atom->lhs);
    os << (atom->kind == AtomKind::FloorDiv ? " floordiv " : " mod ");
    printOperand(os, atom->rhs);
    os << ')';
    return;
  }
}

void DimExpr::print(llvm::raw_ostream &os) const {
  if (terms().empty())
    os << '0';
  for (auto [i, term] : llvm::enumerate(terms())) {
    int64_t coefficient = term.coefficient;
    if (i > 0) {
      os << (coefficient < 0 ? " - " : " + ");
      coefficient = coefficient < 0 ? -coefficient : coefficient;
    }
    if (term.atoms.empty()) {
      os << coefficient;
      continue;
    }
    for (auto [factor, atom] : llvm::enumerate(term.atoms)) {
      if (factor > 0)
        os << " * ";
      printAtom(os, atom);
    }
    if (coefficient != 1)
      os << " * " << coefficient;
  }
}

std::string DimExpr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, DimExpr expr) {
  expr.print(os);
  return os;
}

namespace {

/// What is longer, or nested deeper, is no size of a model.
constexpr size_t kMaxText = 1 << 12;
constexpr unsigned kMaxNesting = 128;

class Parser {
public:
  explicit Parser(llvm::StringRef text) : rest(text) {}

  std::optional<DimExpr> parse() {
    if (rest.size() > kMaxText)
      return std::nullopt;
    std::optional<DimExpr> expr = parseSum();
    rest = rest.ltrim();
    return rest.empty() && expr && !isTooLarge(*expr) ? expr : std::nullopt;
  }

private:
  bool consume(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  bool consumeWord(llvm::StringRef word) {
    rest = rest.ltrim();
    if (!rest.starts_with(word) ||
        (rest.size() > word.size() &&
         (llvm::isAlnum(rest[word.size()]) || rest[word.size()] == '_')))
      return false;
    rest = rest.drop_front(word.size());
    return true;
  }

  std::optional<DimExpr> parseSum() {
    std::optional<DimExpr> sum = parseProduct();
    while (sum) {
      bool minus = consume("-");
      if (!minus && !consume("+"))
        return sum;
      std::optional<DimExpr> next = parseProduct();
      if (!next)
        return std::nullopt;
      sum = minus ? *sum - *next : *sum + *next;
    }
    return sum;
  }

  std::optional<DimExpr> parseProduct() {
    std::optional<DimExpr> value = parseFactor();
    while (value) {
      bool divide = consume("//") || consumeWord("floordiv");
      bool mod = !divide && (consume("%") || consumeWord("mod"));
      if (!divide && !mod && !consume("*"))
        return value;
      std::optional<DimExpr> next = parseFactor();
      if (!next || ((divide || mod) && next->isConstant(0)))
        return std::nullopt;
      value = divide ? DimExpr::floorDiv(*value, *next)
              : mod  ? DimExpr::mod(*value, *next)
                     : *value * *next;
    }
    return value;
  }

  std::optional<DimExpr> parseFactor() {
    if (nesting == kMaxNesting)
      return std::nullopt;
    ++nesting;
    std::optional<DimExpr> value = parseNested();
    --nesting;
    return value;
  }

  std::optional<DimExpr> parseNested() {
    if (consume("-")) {
      std::optional<DimExpr> value = parseFactor();
      return value ? std::optional<DimExpr>(DimExpr(-1) * *value)
                   : std::nullopt;
    }
    if (consume("(")) {
      std::optional<DimExpr> value = parseSum();
      return value && consume(")") ? value : std::nullopt;
    }
    if (consume("@")) {
      std::optional<std::string> name = parseName();
      return name ? std::optional<DimExpr>(DimExpr::coordinate(*name))
                  : std::nullopt;
    }
    bool isMin = consumeWord("min");
    if (isMin || consumeWord("max"))
      return parseMinMax(isMin);
    int64_t constant;
    rest = rest.ltrim();
    llvm::StringRef digits = rest.take_while(llvm::isDigit);
    if (!digits.empty()) {
      rest = rest.drop_front(digits.size());
      return digits.getAsInteger(10, constant)
                 ? std::nullopt
                 : std::optional<DimExpr>(DimExpr(constant));
    }
    std::optional<std::string> name = parseName();
    return name ? std::optional<DimExpr>(DimExpr::symbol(*name)) : std::nullopt;
  }

  std::optional<DimExpr> parseMinMax(bool isMin) {
    if (!consume("("))
      return std::nullopt;
    std::optional<DimExpr> lhs = parseSum();
    if (!lhs || !consume(","))
      return std::nullopt;
    std::optional<DimExpr> rhs = parseSum();
    if (!rhs || !consume(")"))
      return std::nullopt;
    return isMin ? DimExpr::min(*lhs, *rhs) : DimExpr::max(*lhs, *rhs);
  }

  /// One of a quoted name, as printEscapedString writes it: a backslash twice,
  /// "\22" for what is not printed. Any other backslash is one.
  char takeCharacter() {
    if (rest.size() >= 3 && rest[0] == '\\' && llvm::isHexDigit(rest[1]) &&
        llvm::isHexDigit(rest[2])) {
      const uint8_t byte = llvm::hexFromNibbles(rest[1], rest[2]);
      rest = rest.drop_front(3);
      return static_cast<char>(byte);
    }
    const char taken = rest[0];
    rest = rest.drop_front(rest.starts_with("\\\\") ? 2 : 1);
    return taken;
  }

  std::optional<std::string> parseName() {
    rest = rest.ltrim();
    if (rest.consume_front("\"")) {
      std::string name;
      while (!rest.empty() && rest[0] != '"')
        name.push_back(takeCharacter());
      return rest.consume_front("\"") ? std::optional<std::string>(name)
                                      : std::nullopt;
    }
    if (rest.empty() || !(llvm::isAlpha(rest[0]) || rest[0] == '_'))
      return std::nullopt;
    llvm::StringRef name = rest.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    rest = rest.drop_front(name.size());
    return name.str();
  }

  llvm::StringRef rest;
  unsigned nesting = 0;
};

} // namespace

std::optional<DimExpr> parseDimExpr(llvm::StringRef text) {
  return Parser(text).parse();
}

} // namespace shardc::dist
