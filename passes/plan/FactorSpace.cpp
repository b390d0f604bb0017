//===- FactorSpace.cpp - Finest common factorisation of all dims ----------===//

#include "passes/plan/FactorSpace.h"

#include "dialects/dist/algebra/DimLimits.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace shardc::plan {

using dist::DimExpr;

FactorNode FactorSpace::add(Kind kind, DimExpr size,
                            llvm::ArrayRef<FactorNode> children) {
  FactorNode node = nodes.size();
  nodes.push_back({kind, size, node, {children.begin(), children.end()}});
  return node;
}

FactorNode FactorSpace::leaf(DimExpr size) { return add(Kind::Leaf, size, {}); }

FactorNode FactorSpace::product(llvm::ArrayRef<FactorNode> children) {
  llvm::SmallVector<FactorNode, 4> kept;
  DimExpr total = 1;
  for (FactorNode child : children) {
    if (size(child).isConstant(1))
      continue;
    total = total * size(child);
    kept.push_back(child);
  }
  if (kept.size() == 1)
    return kept.front();
  return kept.empty() ? leaf(1) : add(Kind::Product, total, kept);
}

FactorNode FactorSpace::concat(llvm::ArrayRef<FactorNode> children) {
  llvm::SmallVector<FactorNode, 4> kept;
  llvm::SmallVector<DimExpr, 4> sizes;
  for (FactorNode child : children) {
    if (size(child).isConstant(0))
      continue;
    sizes.push_back(size(child));
    kept.push_back(child);
  }
  if (kept.size() == 1)
    return kept.front();
  return kept.empty() ? leaf(0) : add(Kind::Concat, dist::sum(sizes), kept);
}

FactorNode FactorSpace::find(FactorNode node) const {
  while (nodes[node].parent != node) {
    nodes[node].parent = nodes[nodes[node].parent].parent;
    node = nodes[node].parent;
  }
  return node;
}

FactorSpace::List FactorSpace::parts(FactorNode node, Kind kind) const {
  node = find(node);
  if (nodes[node].kind != kind)
    return {node};
  List list;
  bool isFlat = true;
  for (FactorNode child : nodes[node].children) {
    list.push_back(find(child));
    isFlat &= nodes[list.back()].kind != kind;
  }
  if (isFlat)
    return list;
  llvm::SmallVector<FactorNode, 8> open(llvm::reverse(list));
  list.clear();
  while (!open.empty()) {
    FactorNode next = find(open.pop_back_val());
    if (nodes[next].kind == kind)
      open.append(nodes[next].children.rbegin(), nodes[next].children.rend());
    else
      list.push_back(next);
  }
  // Flat from now on, which it is asked for often.
  nodes[node].children.assign(list.begin(), list.end());
  return list;
}

bool FactorSpace::unify(FactorNode lhs, FactorNode rhs) {
  lhs = find(lhs), rhs = find(rhs);
  if (lhs == rhs)
    return true;
  if (nodes[lhs].size != nodes[rhs].size)
    return false;
  if (nodes[rhs].kind == Kind::Leaf)
    std::swap(lhs, rhs);
  bool agree = true;
  if (nodes[lhs].kind != Kind::Leaf) {
    bool products =
        nodes[lhs].kind == Kind::Product && nodes[rhs].kind == Kind::Product;
    Kind kind = products ? Kind::Product : Kind::Concat;
    List left = parts(lhs, kind), right = parts(rhs, kind);
    agree = products ? alignProducts(std::move(left), std::move(right))
                     : alignConcats(std::move(left), std::move(right));
  }
  // Aligning may have refined either side in place; a failure leaves two nodes.
  lhs = find(lhs), rhs = find(rhs);
  if (agree && lhs != rhs)
    nodes[lhs].parent = rhs;
  return agree;
}

std::optional<std::pair<FactorNode, FactorNode>>
FactorSpace::splitProduct(FactorNode node, DimExpr major) {
  node = find(node);
  std::optional<DimExpr> rest = nodes[node].size.exactDiv(major);
  if (!rest || nodes[node].kind != Kind::Leaf)
    return std::nullopt;
  FactorNode first = leaf(major), second = leaf(*rest);
  nodes[node].kind = Kind::Product;
  nodes[node].children = {first, second};
  return std::make_pair(first, second);
}

std::optional<std::pair<FactorNode, FactorNode>>
FactorSpace::splitConcat(FactorNode node, DimExpr first) {
  node = find(node);
  DimExpr rest = nodes[node].size - first;
  if (nodes[node].kind == Kind::Leaf) {
    FactorNode head = leaf(first), tail = leaf(rest);
    nodes[node].kind = Kind::Concat;
    nodes[node].children = {head, tail};
    return std::make_pair(head, tail);
  }
  if (nodes[node].kind != Kind::Product)
    return std::nullopt;
  // (18, 16) cut at 96 is [(6, 16) | (12, 16)]: the major factor is cut.
  List factors = parts(node, Kind::Product);
  DimExpr minor = 1;
  for (FactorNode factor : llvm::drop_begin(factors))
    minor = minor * size(factor);
  std::optional<DimExpr> major = first.exactDiv(minor);
  if (!major || !rest.exactDiv(minor))
    return std::nullopt;
  auto cut = splitConcat(factors.front(), *major);
  if (!cut)
    return std::nullopt;
  List head = factors, tail = factors;
  head.front() = cut->first;
  tail.front() = cut->second;
  FactorNode headNode = product(head), tailNode = product(tail);
  nodes[node].kind = Kind::Concat;
  nodes[node].children = {headNode, tailNode};
  return std::make_pair(headNode, tailNode);
}

/// Largest size that divides both, where that is more than 1.
static std::optional<DimExpr> commonDivisor(DimExpr lhs, DimExpr rhs) {
  if (rhs.exactDiv(lhs))
    return lhs;
  if (lhs.exactDiv(rhs))
    return rhs;
  if (!lhs.asConstant() || !rhs.asConstant())
    return std::nullopt;
  int64_t divisor = std::gcd(*lhs.asConstant(), *rhs.asConstant());
  return divisor > 1 ? std::optional<DimExpr>(divisor) : std::nullopt;
}

/// A refinement of what came before may have split entry `i` as well.
void FactorSpace::flatten(List &list, size_t i, Kind kind) {
  List inner = parts(list[i], kind);
  if (inner.size() == 1)
    return;
  list.erase(list.begin() + i);
  list.insert(list.begin() + i, inner.begin(), inner.end());
}

bool FactorSpace::alignProducts(List lhs, List rhs) {
  size_t i = 0, j = 0;
  while (i < lhs.size() && j < rhs.size()) {
    flatten(lhs, i, Kind::Product);
    flatten(rhs, j, Kind::Product);
    FactorNode &a = lhs[i], &b = rhs[j];
    if (size(a) == size(b)) {
      if (!unify(a, b))
        return false;
      ++i, ++j;
      continue;
    }
    std::optional<DimExpr> common = commonDivisor(size(a), size(b));
    if (!common || common->isConstant(0))
      return false;
    auto take = [&](FactorNode &node,
                    size_t &index) -> std::optional<FactorNode> {
      if (size(node) == *common) {
        ++index;
        return node;
      }
      auto halves = splitProduct(node, *common);
      if (!halves)
        return std::nullopt;
      node = halves->second;
      return halves->first;
    };
    std::optional<FactorNode> left2 = take(a, i), right2 = take(b, j);
    if (!left2 || !right2 || !unify(*left2, *right2))
      return false;
  }
  return i == lhs.size() && j == rhs.size();
}

bool FactorSpace::alignConcats(List lhs, List rhs) {
  size_t i = 0, j = 0;
  while (i < lhs.size() && j < rhs.size()) {
    flatten(lhs, i, Kind::Concat);
    flatten(rhs, j, Kind::Concat);
    // Tied to itself one element further on, a dim falls apart into elements.
    if (lhs.size() + rhs.size() > kMaxSegments)
      return false;
    FactorNode &a = lhs[i], &b = rhs[j];
    if (size(a) == size(b)) {
      if (!unify(a, b))
        return false;
      ++i, ++j;
      continue;
    }
    bool leftLonger = (size(a) - size(b)).isKnownNonNegative();
    if (!leftLonger && !(size(b) - size(a)).isKnownNonNegative())
      return false;
    FactorNode &longer = leftLonger ? a : b;
    FactorNode shorter = leftLonger ? b : a;
    auto halves = splitConcat(longer, size(shorter));
    if (!halves || !unify(halves->first, shorter))
      return false;
    longer = halves->second;
    ++(leftLonger ? j : i);
  }
  return i == lhs.size() && j == rhs.size();
}

void FactorSpace::forEachLeaf(
    FactorNode node, llvm::function_ref<void(FactorNode, bool)> visit) const {
  for (FactorNode segment : parts(node, Kind::Concat))
    for (FactorNode factor : parts(segment, Kind::Product)) {
      if (nodes[factor].kind == Kind::Leaf) {
        visit(factor, false);
        continue;
      }
      forEachLeaf(factor, [&](FactorNode leaf, bool) { visit(leaf, true); });
    }
}

bool FactorSpace::holds(llvm::ArrayRef<FactorNode> dims,
                        FactorNode leaf) const {
  bool found = false;
  for (FactorNode dim : dims)
    forEachLeaf(dim, [&](FactorNode other, bool) { found |= other == leaf; });
  return found;
}

std::optional<FactorNode> FactorSpace::minorNeighbour(FactorNode node,
                                                      FactorNode leaf) const {
  for (FactorNode segment : parts(node, Kind::Concat)) {
    List factors = parts(segment, Kind::Product);
    for (size_t i = 0; i + 1 < factors.size(); ++i)
      if (factors[i] == find(leaf) && nodes[factors[i + 1]].kind == Kind::Leaf)
        return factors[i + 1];
  }
  return std::nullopt;
}

dist::DimSharding FactorSpace::sharding(
    FactorNode node,
    llvm::function_ref<llvm::ArrayRef<dist::AxisRef>(FactorNode)> axesOf)
    const {
  dist::DimSharding dim;
  for (FactorNode segment : parts(node, Kind::Concat)) {
    dist::Segment &shardingSegment = dim.segments.emplace_back();
    for (FactorNode factor : parts(segment, Kind::Product)) {
      dist::Factor &f = shardingSegment.factors.emplace_back();
      f.size = nodes[factor].size;
      if (nodes[factor].kind == Kind::Leaf) {
        llvm::ArrayRef<dist::AxisRef> axes = axesOf(factor);
        f.axes.assign(axes.begin(), axes.end());
      }
    }
  }
  dim.normalize();
  return dim;
}

} // namespace shardc::plan
