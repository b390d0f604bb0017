//===- Grouping.cpp - Which calls become one ------------------------------===//

#include "passes/lower/rows/Grouping.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace shardc::lower {

namespace {

using Members = llvm::SmallVector<unsigned, 4>;

/// How far a call sinks, and how many operands a kernel has, at most.
constexpr unsigned kMaxDistance = 64, kMaxOperands = 24;

bool overlap(llvm::ArrayRef<unsigned> a, llvm::ArrayRef<unsigned> b) {
  return llvm::any_of(a, [&](unsigned x) { return llvm::is_contained(b, x); });
}

class RowGrouping {
public:
  explicit RowGrouping(llvm::ArrayRef<GroupItem> items)
      : items(items), groupOf(items.size(), kNone) {}

  std::vector<Members> run() {
    for (unsigned i = 0; i < items.size(); ++i) {
      if (items[i].rows != GroupItem::kNone)
        add(i);
      for (const GroupItem::Operand &output : items[i].outputs)
        writerOf[output.id] = i;
    }
    std::vector<Members> result;
    for (unsigned i = 0; i < items.size(); ++i)
      if (groupOf[i] != kNone && groups[groupOf[i]].back() == i)
        result.push_back(groups[groupOf[i]]);
    return result;
  }

private:
  static constexpr unsigned kNone = ~0u;

  /// Into one group with as many of its producers as can sink to it.
  void add(unsigned item) {
    Members members{item};
    for (const GroupItem::Operand &input : items[item].inputs) {
      auto writer = writerOf.find(input.id);
      if (writer == writerOf.end() || groupOf[writer->second] == kNone ||
          item - groups[groupOf[writer->second]].front() > kMaxDistance ||
          llvm::is_contained(members, writer->second))
        continue;
      Members united = groups[groupOf[writer->second]];
      united.append(members);
      llvm::sort(united);
      if (haveOneSpace(united) && canSink(united) && canHandOn(united))
        members = united;
    }
    for (unsigned member : members)
      groupOf[member] = groups.size();
    groups.push_back(members);
  }

  bool haveOneSpace(const Members &members) const {
    int columns = GroupItem::kAnyColumns;
    size_t operands = 0;
    for (unsigned m : members) {
      if (items[m].rows != items[members.front()].rows)
        return false;
      operands += items[m].inputs.size() + items[m].outputs.size();
      if (items[m].columns == GroupItem::kAnyColumns)
        continue;
      if (columns != GroupItem::kAnyColumns && columns != items[m].columns)
        return false;
      columns = items[m].columns;
    }
    return operands <= kMaxOperands;
  }

  /// Nothing between the members keeps an earlier one in its place.
  bool canSink(const Members &members) const {
    for (unsigned i = members.front() + 1; i < members.back(); ++i) {
      if (llvm::is_contained(members, i))
        continue;
      const GroupItem &other = items[i];
      if (other.isBarrier)
        return false;
      for (unsigned m : members)
        if (m < i && (overlap(other.writes, items[m].reads) ||
                      overlap(other.writes, items[m].writes) ||
                      overlap(other.reads, items[m].writes)))
          return false;
    }
    return true;
  }

  /// What a member reads of another is the very operand that that one wrote.
  bool canHandOn(const Members &members) const {
    for (auto [position, later] : llvm::enumerate(members))
      for (unsigned earlier : llvm::ArrayRef(members).take_front(position)) {
        const GroupItem &from = items[earlier], &to = items[later];
        if (overlap(from.writes, to.writes) || overlap(from.reads, to.writes))
          return false;
        for (const GroupItem::Operand &input : to.inputs)
          if (llvm::is_contained(from.writes, input.buffer) &&
              llvm::none_of(from.outputs, [&](const auto &output) {
                return output.id == input.id;
              }))
            return false;
      }
    return true;
  }

  llvm::ArrayRef<GroupItem> items;
  std::vector<Members> groups; ///< those that were united with others stay
  std::vector<unsigned> groupOf;
  llvm::DenseMap<unsigned, unsigned> writerOf; ///< by operand
};

} // namespace

std::vector<Members> groupRows(llvm::ArrayRef<GroupItem> items) {
  return RowGrouping(items).run();
}

} // namespace shardc::lower
