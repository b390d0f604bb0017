#include "runtime/program/Mesh.h"

#include <map>

namespace shardc::runtime {

static int worldSize(const artifact::Program &program) {
  int64_t ranks = 1;
  for (const artifact::Axis *axis : *program.axes())
    ranks *= axis->size();
  return static_cast<int>(ranks);
}

std::vector<int64_t> coordinatesOf(const artifact::Program &program, int rank) {
  std::vector<int64_t> coordinates(program.axes()->size());
  int64_t rest = rank;
  for (size_t a = coordinates.size(); a-- > 0;) {
    int64_t size = program.axes()->Get(static_cast<uint32_t>(a))->size();
    coordinates[a] = rest % size;
    rest /= size;
  }
  return coordinates;
}

GroupPartition partitionRanks(const artifact::Program &program,
                              const artifact::Group &group) {
  GroupPartition partition;
  int size = 1;
  for (const artifact::AxisPart *part : *group.parts())
    size *= static_cast<int>(part->size());
  std::map<std::vector<int64_t>, int> groupOfKey;
  for (int rank = 0; rank < worldSize(program); ++rank) {
    std::vector<int64_t> key = coordinatesOf(program, rank);
    std::vector<int64_t> coordinates = key;
    int index = 0;
    for (const artifact::AxisPart *part : *group.parts()) {
      int64_t axisSize = program.axes()->Get(part->axis())->size();
      int64_t stride = axisSize / (part->pre() * part->size());
      int64_t digit = coordinates[part->axis()] / stride % part->size();
      index = index * static_cast<int>(part->size()) + static_cast<int>(digit);
      key[part->axis()] -= digit * stride;
    }
    auto [it, fresh] = groupOfKey.emplace(
        std::move(key), static_cast<int>(partition.groups.size()));
    if (fresh)
      partition.groups.emplace_back(static_cast<size_t>(size));
    partition.groupOf.push_back(it->second);
    partition.indexOf.push_back(index);
    partition
        .groups[static_cast<size_t>(it->second)][static_cast<size_t>(index)] =
        rank;
  }
  return partition;
}

} // namespace shardc::runtime
