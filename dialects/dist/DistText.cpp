//===- DistText.cpp - Syntax of sizes, axes and shardings -----------------===//

#include "dialects/dist/Dist.h"

using namespace mlir;

namespace shardc::dist {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static FailureOr<DimExpr> parseFactor(AsmParser &parser);

static FailureOr<DimExpr> parseTerm(AsmParser &parser) {
  FailureOr<DimExpr> value = parseFactor(parser);
  while (succeeded(value)) {
    bool divide = succeeded(parser.parseOptionalKeyword("floordiv"));
    bool mod = !divide && succeeded(parser.parseOptionalKeyword("mod"));
    if (!divide && !mod && failed(parser.parseOptionalStar()))
      return value;
    llvm::SMLoc loc = parser.getCurrentLocation();
    FailureOr<DimExpr> next = parseFactor(parser);
    if (failed(next))
      return failure();
    if ((divide || mod) && next->isConstant(0))
      return parser.emitError(loc, "division of a size by 0");
    value = divide ? DimExpr::floorDiv(*value, *next)
            : mod  ? DimExpr::mod(*value, *next)
                   : *value * *next;
  }
  return failure();
}

FailureOr<DimExpr> parseDim(AsmParser &parser) {
  FailureOr<DimExpr> sum = parseTerm(parser);
  while (succeeded(sum)) {
    bool minus = succeeded(parser.parseOptionalMinus());
    if (!minus && failed(parser.parseOptionalPlus()))
      return sum;
    FailureOr<DimExpr> next = parseTerm(parser);
    if (failed(next))
      return failure();
    sum = minus ? *sum - *next : *sum + *next;
  }
  return failure();
}

static FailureOr<DimExpr> parseMinMax(AsmParser &parser, bool isMin) {
  if (parser.parseLParen())
    return failure();
  FailureOr<DimExpr> lhs = parseDim(parser);
  if (failed(lhs) || parser.parseComma())
    return failure();
  FailureOr<DimExpr> rhs = parseDim(parser);
  if (failed(rhs) || parser.parseRParen())
    return failure();
  return isMin ? DimExpr::min(*lhs, *rhs) : DimExpr::max(*lhs, *rhs);
}

static FailureOr<DimExpr> parseFactor(AsmParser &parser) {
  if (succeeded(parser.parseOptionalMinus())) {
    FailureOr<DimExpr> value = parseFactor(parser);
    return failed(value) ? value : FailureOr<DimExpr>(DimExpr(-1) * *value);
  }
  if (succeeded(parser.parseOptionalLParen())) {
    FailureOr<DimExpr> value = parseDim(parser);
    if (failed(value) || parser.parseRParen())
      return failure();
    return value;
  }
  int64_t constant = 0;
  OptionalParseResult integer = parser.parseOptionalInteger(constant);
  if (integer.has_value())
    return failed(*integer) ? FailureOr<DimExpr>(failure())
                            : FailureOr<DimExpr>(DimExpr(constant));
  StringAttr symbol;
  if (succeeded(parser.parseOptionalSymbolName(symbol)))
    return DimExpr::coordinate(symbol.getValue());
  std::string quoted;
  if (succeeded(parser.parseOptionalString(&quoted)))
    return DimExpr::symbol(quoted);
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name)))
    return parser.emitError(parser.getCurrentLocation(), "expected a size");
  if (name == "min" || name == "max")
    return parseMinMax(parser, name == "min");
  return DimExpr::symbol(name);
}

ParseResult parseDimList(AsmParser &parser, SmallVectorImpl<DimExpr> &dims) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        FailureOr<DimExpr> dim = parseDim(parser);
        if (failed(dim))
          return failure();
        dims.push_back(*dim);
        return success();
      });
}

void printDimList(AsmPrinter &printer, ArrayRef<DimExpr> dims) {
  printer << '[';
  llvm::interleaveComma(dims, printer.getStream());
  printer << ']';
}

//===----------------------------------------------------------------------===//
// Axes and shardings
//===----------------------------------------------------------------------===//

/// "tp"=4, or "tp":(4)2 for a minor part.
static ParseResult parseAxis(AsmParser &parser, AxisRef &axis) {
  if (parser.parseString(&axis.name))
    return failure();
  if (succeeded(parser.parseOptionalEqual()))
    return parser.parseInteger(axis.size);
  return failure(parser.parseColon() || parser.parseLParen() ||
                 parser.parseInteger(axis.pre) || parser.parseRParen() ||
                 parser.parseInteger(axis.size));
}

/// "tp"=2, or "cp"=2 + "tp"=2, which split a factor; -"cp"=4 in reverse.
static ParseResult parseAxes(AsmParser &parser, Factor &factor) {
  factor.isReversed = succeeded(parser.parseOptionalMinus());
  do {
    AxisRef axis;
    if (parseAxis(parser, axis))
      return failure();
    factor.axes.push_back(axis);
  } while (succeeded(parser.parseOptionalPlus()));
  return success();
}

/// (6:"tp"=2, 16)
static ParseResult parseFactors(AsmParser &parser, Segment &segment) {
  if (parser.parseLParen())
    return failure();
  do {
    FailureOr<DimExpr> size = parseDim(parser);
    if (failed(size))
      return failure();
    Factor factor{*size, {}};
    if (succeeded(parser.parseOptionalColon()) && parseAxes(parser, factor))
      return failure();
    segment.factors.push_back(std::move(factor));
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseRParen();
}

static ParseResult parseSegments(AsmParser &parser, DimSharding &dim) {
  do {
    if (failed(parseDim(parser)) || parser.parseColon())
      return failure();
    if (parseFactors(parser, dim.segments.emplace_back()))
      return failure();
  } while (succeeded(parser.parseOptionalVerticalBar()));
  return parser.parseRSquare();
}

static ParseResult parseDimSharding(AsmParser &parser, DimExpr size,
                                    DimSharding &dim) {
  if (succeeded(parser.parseOptionalLSquare()))
    return parseSegments(parser, dim);
  if (succeeded(parser.parseOptionalLBrace())) {
    dim = DimSharding::unsplit(size);
    if (succeeded(parser.parseOptionalRBrace()))
      return success();
    return failure(parseAxes(parser, dim.segments[0].factors[0]) ||
                   parser.parseRBrace());
  }
  return parseFactors(parser, dim.segments.emplace_back());
}

static ParseResult parsePartial(AsmParser &parser, Sharding &sharding) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        PartialAxis partial;
        StringRef kind;
        llvm::SMLoc loc;
        if (parseAxis(parser, partial.axis) || parser.parseColon() ||
            parser.getCurrentLocation(&loc) || parser.parseKeyword(&kind))
          return failure();
        std::optional<ReduceKind> parsed = symbolizeReduceKind(kind);
        if (!parsed)
          return parser.emitError(loc, "expected sum, max or min");
        partial.kind = *parsed;
        sharding.partial.push_back(partial);
        return success();
      });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Attribute ValueAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimExpr, 4> dims, local;
  bool hasSharding = false, hasLocal = false;
  Sharding sharding;
  if (parser.parseLess() || parser.parseKeyword("dims") ||
      parser.parseEqual() || parseDimList(parser, dims))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef key;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return {};
    if (key == "sharding") {
      hasSharding = true;
      if (parser.parseCommaSeparatedList(
              AsmParser::Delimiter::Square, [&]() -> ParseResult {
                size_t i = sharding.dims.size();
                if (i >= dims.size())
                  return parser.emitError(parser.getCurrentLocation(),
                                          "more dims sharded than there are");
                return parseDimSharding(parser, dims[i],
                                        sharding.dims.emplace_back());
              }))
        return {};
    } else if (key == "partial") {
      if (parsePartial(parser, sharding))
        return {};
    } else if (key == "local") {
      hasLocal = true;
      if (parseDimList(parser, local))
        return {};
    } else {
      parser.emitError(loc, "expected sharding, partial or local");
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  if (hasSharding && sharding.dims.size() != dims.size()) {
    parser.emitError(parser.getNameLoc(), "expected a sharding for each dim");
    return {};
  }
  sharding.normalize();
  return ValueAttr::get(parser.getContext(), dims,
                        hasSharding ? ShardingRef(sharding) : ShardingRef(),
                        local, hasLocal);
}

void ValueAttr::print(AsmPrinter &printer) const {
  printer << "<dims = ";
  printDimList(printer, getDims());
  if (getSharding()) {
    printer << ", sharding = ";
    getSharding()->print(printer.getStream());
  }
  if (getHasLocal()) {
    printer << ", local = ";
    printDimList(printer, getLocal());
  }
  printer << '>';
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimExpr, 4> values;
  if (parser.parseLess() || parseDimList(parser, values) ||
      parser.parseGreater())
    return {};
  return DimsAttr::get(parser.getContext(), values);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDimList(printer, getValues());
  printer << '>';
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRef, 2> axes;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parseAxis(parser, axes.emplace_back()); }) ||
      parser.parseGreater())
    return {};
  return AxesAttr::get(parser.getContext(), axes);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(
      getAxes(), printer.getStream(),
      [&](const AxisRef &axis) { dist::print(printer.getStream(), axis); });
  printer << "]>";
}

/// "tp"=2, or "tp"=2:[3, 1] where the ways have unequal parts.
static ParseResult parseMeshAxis(AsmParser &parser, Axis &axis) {
  if (parser.parseString(&axis.name) || parser.parseEqual() ||
      parser.parseInteger(axis.size))
    return failure();
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalColon()))
    return success();
  SmallVector<int64_t> shares;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(shares.emplace_back());
      }))
    return failure();
  if (std::string problem = problemOfShares(shares, axis); !problem.empty())
    return parser.emitError(loc, "shares: ") << problem;
  axis.shares = reducedShares(shares);
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  Mesh mesh;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&]() -> ParseResult {
            Axis axis;
            llvm::SMLoc loc = parser.getCurrentLocation();
            if (parseMeshAxis(parser, axis))
              return failure();
            if (axis.size < 1 || mesh.find(axis.name))
              return parser.emitError(loc, "mesh axes have different names and "
                                           "sizes of at least 1");
            mesh.axes.push_back(axis);
            return success();
          }) ||
      parser.parseGreater())
    return {};
  return MeshAttr::get(parser.getContext(), MeshRef(mesh));
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(
      getMesh()->axes, printer.getStream(), [&](const Axis &axis) {
        printer << '"' << axis.name << "\"=" << axis.size;
        if (axis.shares.empty())
          return;
        printer << ":[";
        llvm::interleaveComma(axis.shares, printer.getStream());
        printer << ']';
      });
  printer << "]>";
}

} // namespace shardc::dist
