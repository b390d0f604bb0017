#include "runtime/launch/HostNodes.h"

#include "runtime/launch/HostThreads.h"

#include <algorithm>
#include <charconv>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace shardc::runtime {

static constexpr int kMostListedCpus = 1 << 16; ///< a list says no more

static bool readNumber(std::string_view &text, int &number) {
  const char *end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number < 0 || number >= kMostListedCpus)
    return false;
  text.remove_prefix(static_cast<size_t>(next - text.data()));
  return true;
}

static bool take(std::string_view &text, char sign) {
  if (!text.starts_with(sign))
    return false;
  text.remove_prefix(1);
  return true;
}

std::vector<int> parseCpuList(std::string_view text) {
  std::vector<int> cpus;
  while (text.ends_with('\n'))
    text.remove_suffix(1);
  while (!text.empty()) {
    int first = 0;
    if (!readNumber(text, first))
      return {};
    int last = first;
    if (take(text, '-') && (!readNumber(text, last) || last < first))
      return {};
    for (int cpu = first; cpu <= last; ++cpu)
      cpus.push_back(cpu);
    if (!text.empty() && (!take(text, ',') || text.empty()))
      return {};
  }
  return cpus;
}

std::vector<HostNode> readHostNodes(const ReadText &read,
                                    const std::vector<int> &allowed) {
  const std::string folder = "/sys/devices/system/node/";
  std::vector<HostNode> nodes;
  for (int number : parseCpuList(read(folder + "online").value_or(""))) {
    HostNode node{number, {}};
    const std::string path =
        folder + "node" + std::to_string(number) + "/cpulist";
    for (int cpu : parseCpuList(read(path).value_or("")))
      if (std::binary_search(allowed.begin(), allowed.end(), cpu))
        node.cpus.push_back(cpu);
    if (!node.cpus.empty()) // else it has memory only
      nodes.push_back(std::move(node));
  }
  return nodes;
}

const HostNode *nodeOfRank(const std::vector<HostNode> &nodes, int rank,
                           int ranks, int threads) {
  if (nodes.size() < 2)
    return nullptr;
  const size_t index =
      static_cast<size_t>(rank) * nodes.size() / static_cast<size_t>(ranks);
  const HostNode &node = nodes[index];
  return static_cast<size_t>(threads) <= node.cpus.size() ? &node : nullptr;
}

bool bindToNode(const HostNode &node) {
  if (!setAllowedCpus(node.cpus))
    return false;
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  const auto number = static_cast<size_t>(node.number);
  std::vector<unsigned long> mask(number / kBits + 1);
  mask[number / kBits] |= 1ul << number % kBits;
  // The kernel leaves off the last of the bits that it is told of.
  return syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(),
                 mask.size() * kBits + 1) == 0;
}

} // namespace shardc::runtime
