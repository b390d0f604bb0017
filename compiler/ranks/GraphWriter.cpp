//===- GraphWriter.cpp - An ONNX graph, node by node ----------------------===//

#include "compiler/ranks/GraphWriter.h"

#include "dialects/onnx/ElementTypes.h"

#include "mlir/IR/Builders.h"

#include <limits>

using namespace mlir;

namespace shardc::ranks {

using dist::DimExpr;
using dist::detail::AtomKind;
using dist::detail::DimAtom;

Type GraphWriter::i64() const { return IntegerType::get(context, 64); }
Type GraphWriter::i1() const { return IntegerType::get(context, 1); }
Type GraphWriter::f32() const { return Float32Type::get(context); }

void GraphWriter::fail(const Twine &what) {
  if (problem.empty())
    problem = (node.empty() ? Twine() : node + ": ").str() + what.str();
}

std::string GraphWriter::unique(StringRef base) {
  std::string name = base.str();
  while (name.empty() || !names.insert(name).second)
    name = (base + "." + Twine(++numbers[base])).str();
  return name;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static void setAttribute(const Attribute &from, ::onnx::AttributeProto &to) {
  to.set_name(from.name);
  if (auto *number = std::get_if<int64_t>(&from.value)) {
    to.set_type(::onnx::AttributeProto::INT);
    to.set_i(*number);
  } else if (auto *real = std::get_if<float>(&from.value)) {
    to.set_type(::onnx::AttributeProto::FLOAT);
    to.set_f(*real);
  } else if (auto *text = std::get_if<std::string>(&from.value)) {
    to.set_type(::onnx::AttributeProto::STRING);
    to.set_s(*text);
  } else {
    to.set_type(::onnx::AttributeProto::INTS);
    for (int64_t value : std::get<std::vector<int64_t>>(from.value))
      to.add_ints(value);
  }
}

std::vector<std::string>
GraphWriter::add(StringRef op, ArrayRef<std::string> inputs, size_t results,
                 ArrayRef<Attribute> attributes, StringRef domain) {
  ::onnx::NodeProto &made = *graph.add_node();
  std::vector<std::string> outputs;
  for (size_t i = 0; i < results; ++i)
    outputs.push_back(unique(node.empty() ? op : StringRef(node)));
  made.set_name(outputs.front());
  made.set_op_type(op.str());
  made.set_domain(domain.str());
  while (!inputs.empty() && inputs.back().empty())
    inputs = inputs.drop_back();
  for (const std::string &input : inputs)
    made.add_input(input);
  for (const std::string &output : outputs)
    made.add_output(output);
  for (const Attribute &attribute : attributes)
    setAttribute(attribute, *made.add_attribute());
  return outputs;
}

std::string GraphWriter::one(StringRef op, ArrayRef<std::string> inputs,
                             ArrayRef<Attribute> attributes) {
  return add(op, inputs, 1, attributes).front();
}

Tensor GraphWriter::make(StringRef op, ArrayRef<Tensor> inputs, Dims dims,
                         Type element, ArrayRef<Attribute> attributes,
                         StringRef domain) {
  std::vector<std::string> names;
  for (const Tensor &input : inputs)
    names.push_back(input.name);
  Tensor made{add(op, names, 1, attributes, domain).front(), std::move(dims),
              element};
  if (!domain.empty())
    declare(made);
  return made;
}

static Dims broadcast(const Dims &lhs, const Dims &rhs) {
  Dims all(std::max(lhs.size(), rhs.size()), DimExpr(1));
  for (const Dims *dims : {&rhs, &lhs})
    for (size_t i = 0; i < dims->size(); ++i)
      if (DimExpr size = dims->end()[-1 - i]; !size.isConstant(1))
        all.end()[-1 - i] = size;
  return all;
}

Tensor GraphWriter::binary(StringRef op, const Tensor &lhs, const Tensor &rhs,
                           Type element) {
  return make(op, {lhs, rhs}, broadcast(lhs.dims, rhs.dims),
              element ? element : lhs.element);
}

Tensor GraphWriter::where(const Tensor &condition, const Tensor &lhs,
                          const Tensor &rhs) {
  return make("Where", {condition, lhs, rhs},
              broadcast(broadcast(condition.dims, lhs.dims), rhs.dims),
              lhs.element);
}

Tensor GraphWriter::cast(const Tensor &x, Type element) {
  if (x.element == element || x.isAbsent())
    return x;
  return make("Cast", {x}, x.dims, element,
              {{"to", onnx::elementNumberOf(element)}});
}

Tensor GraphWriter::reshape(const Tensor &x, Dims dims) {
  if (x.dims == dims)
    return x;
  // Sizes of 0 are meant.
  return make("Reshape", {x, sizes(dims)}, dims, x.element,
              {{"allowzero", int64_t(1)}});
}

Tensor GraphWriter::expand(const Tensor &x, Dims dims) {
  return x.dims == dims ? x : make("Expand", {x, sizes(dims)}, dims, x.element);
}

Tensor GraphWriter::transpose(const Tensor &x, ArrayRef<int64_t> perm) {
  if (llvm::is_sorted(perm))
    return x;
  Dims dims;
  for (int64_t dim : perm)
    dims.push_back(x.dims[dim]);
  return make("Transpose", {x}, dims, x.element,
              {{"perm", std::vector<int64_t>(perm.begin(), perm.end())}});
}

Tensor GraphWriter::unsqueeze(const Tensor &x, size_t dim) {
  Dims dims = x.dims;
  dims.insert(dims.begin() + dim, 1);
  return make("Unsqueeze", {x, integers(int64_t(dim))}, dims, x.element);
}

Tensor GraphWriter::slice(const Tensor &x, size_t dim, DimExpr start,
                          DimExpr size) {
  if (x.dims[dim] == size)
    return x;
  Dims dims = x.dims;
  dims[dim] = size;
  return make("Slice",
              {x, sizes(start), sizes(start + size), integers(int64_t(dim))},
              dims, x.element);
}

Tensor GraphWriter::concat(ArrayRef<Tensor> parts, size_t dim) {
  if (parts.size() == 1)
    return parts.front();
  Dims dims = parts.front().dims;
  for (const Tensor &part : parts.drop_front())
    dims[dim] = dims[dim] + part.dims[dim];
  return make("Concat", parts, dims, parts.front().element,
              {{"axis", int64_t(dim)}});
}

Tensor GraphWriter::padTo(const Tensor &x, size_t dim, DimExpr size) {
  if (x.dims[dim] == size)
    return x;
  Dims missing = x.dims;
  missing[dim] = size - x.dims[dim];
  return concat({x, zeros(missing, x.element)}, dim);
}

Tensor GraphWriter::pick(const Tensor &x, int64_t index) {
  Dims dims(x.dims.begin() + 1, x.dims.end());
  return make("Gather", {x, scalar(i64(), index)}, dims, x.element,
              {{"axis", int64_t(0)}});
}

Tensor GraphWriter::zeros(const Dims &dims, Type element) {
  Tensor zero = scalar(element, 0);
  return dims.empty() ? zero : expand(zero, dims);
}

Tensor GraphWriter::reduce(StringRef op, const Tensor &x, int64_t dim,
                           bool keepsDim) {
  Dims dims = x.dims;
  if (keepsDim)
    dims[dim] = 1;
  else
    dims.erase(dims.begin() + dim);
  return make(op, {x, integers(dim)}, dims, x.element,
              {{"keepdims", int64_t(keepsDim)}});
}

Tensor GraphWriter::range(DimExpr start, DimExpr size) {
  auto scalarOf = [&](DimExpr value) { return reshape(sizes(value), {}); };
  return make("Range",
              {scalarOf(start), scalarOf(start + size), scalar(i64(), 1)},
              {size}, i64());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

std::string GraphWriter::constant(ArrayRef<int64_t> values, bool isScalar) {
  std::string key = isScalar ? "s" : "v";
  for (int64_t value : values)
    key += "," + std::to_string(value);
  std::string &known = constants[key];
  if (!known.empty())
    return known;
  known = unique("constant");
  ::onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(known);
  tensor.set_data_type(::onnx::TensorProto::INT64);
  if (!isScalar)
    tensor.add_dims(values.size());
  for (int64_t value : values)
    tensor.add_int64_data(value);
  return known;
}

Tensor GraphWriter::integers(ArrayRef<int64_t> values) {
  return {
      constant(values, /*isScalar=*/false), {int64_t(values.size())}, i64()};
}

Tensor GraphWriter::scalar(Type element, double value) {
  if (element == i64())
    return {constant(int64_t(value), /*isScalar=*/true), {}, element};
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.17g", value);
  // Narrow types are written as floats and cast: ONNX packs them in other ways.
  const bool isDouble = element.isF64();
  const std::string key = std::string(isDouble ? "d" : "f") + digits;
  std::string &known = constants[key];
  if (known.empty()) {
    known = unique("constant");
    ::onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(known);
    tensor.set_data_type(isDouble ? ::onnx::TensorProto::DOUBLE
                                  : ::onnx::TensorProto::FLOAT);
    if (isDouble)
      tensor.add_double_data(value);
    else
      tensor.add_float_data(static_cast<float>(value));
  }
  if (isDouble || element.isF32())
    return {known, {}, element};
  const std::string made = known;
  std::string &narrow =
      constants[key + ":" + std::to_string(onnx::elementNumberOf(element))];
  if (narrow.empty())
    narrow = cast({made, {}, f32()}, element).name;
  return {narrow, {}, element};
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Tensor GraphWriter::sizes(ArrayRef<DimExpr> values) {
  std::vector<int64_t> constants;
  for (DimExpr value : values)
    if (std::optional<int64_t> known = value.asConstant())
      constants.push_back(*known);
  if (constants.size() == values.size())
    return integers(constants);
  Dims count{int64_t(values.size())};
  if (values.size() == 1)
    return {size(values.front()), count, i64()};
  std::vector<std::string> parts;
  for (DimExpr value : values)
    parts.push_back(size(value));
  return {one("Concat", parts, {{"axis", int64_t(0)}}), count, i64()};
}

std::string GraphWriter::size(DimExpr value) {
  if (std::optional<int64_t> constant = value.asConstant())
    return this->constant(*constant, /*isScalar=*/false);
  if (auto found = known.find(value.opaque()); found != known.end())
    return found->second;
  std::string sum;
  for (const DimExpr::Term &term : value.terms()) {
    const std::string made = termOf(term);
    sum = sum.empty() ? made : one("Add", {sum, made});
  }
  return known[value.opaque()] = sum;
}

std::string GraphWriter::termOf(const DimExpr::Term &term) {
  std::string product;
  for (const DimAtom *atom : term.atoms) {
    const std::string made = atomOf(atom);
    product = product.empty() ? made : one("Mul", {product, made});
  }
  const std::string factor = constant(term.coefficient, /*isScalar=*/false);
  if (product.empty())
    return factor;
  return term.coefficient == 1 ? product : one("Mul", {product, factor});
}

std::string GraphWriter::atomOf(const DimAtom *atom) {
  if (atom->kind == AtomKind::Symbol) {
    if (!symbols.count(atom->name) && findSymbol)
      findSymbol(atom->name);
    if (!symbols.count(atom->name))
      fail("needs the size \"" + Twine(atom->name) +
           "\", which no input of the rank has");
    return symbols[atom->name];
  }
  const std::string lhs = size(atom->lhs), rhs = size(atom->rhs);
  switch (atom->kind) {
  case AtomKind::Min:
    return one("Min", {lhs, rhs});
  case AtomKind::Max:
    return one("Max", {lhs, rhs});
  case AtomKind::Mod:
    return one("Mod", {lhs, rhs});
  case AtomKind::FloorDiv:
    // ONNX's division of integers rounds towards zero.
    if (atom->lhs.isKnownNonNegative())
      return one("Div", {lhs, rhs});
    return one("Div", {one("Sub", {lhs, one("Mod", {lhs, rhs})}), rhs});
  default:
    llvm_unreachable("a rank's sizes have no coordinates");
  }
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

void GraphWriter::describe(const Tensor &tensor,
                           ::onnx::ValueInfoProto &info) const {
  info.set_name(tensor.name);
  auto *type = info.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::elementNumberOf(tensor.element));
  type->mutable_shape();
  for (DimExpr size : tensor.dims) {
    auto *dim = type->mutable_shape()->add_dim();
    if (std::optional<int64_t> constant = size.asConstant())
      dim->set_dim_value(*constant);
    else
      dim->set_dim_param(size.asSymbol() ? size.asSymbol()->str() : size.str());
  }
}

void GraphWriter::declare(const Tensor &tensor) {
  describe(tensor, *graph.add_value_info());
}

} // namespace shardc::ranks
