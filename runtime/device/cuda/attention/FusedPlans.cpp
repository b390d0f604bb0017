#include "runtime/device/cuda/attention/FusedPlans.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <string_view>

namespace shardc::runtime {
namespace {

std::atomic<bool> isAnnounced = false;

/// The library lies beside the plugin, and stays open.
FusedAttentionEntry *open() {
  const char *wanted = std::getenv("SHARDC_CUDNN");
  Dl_info here = {};
  if ((wanted && std::string_view(wanted) == "0") ||
      dladdr(reinterpret_cast<const void *>(&kFusedAttentionEntry), &here) ==
          0 ||
      !here.dli_fname)
    return nullptr;
  std::string path = here.dli_fname;
  path.resize(path.rfind('/') + 1); // 0 where there is none
  path += kFusedAttentionLibrary;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<FusedAttentionEntry *>(
                       dlsym(library, kFusedAttentionEntry))
                 : nullptr;
}

FusedAttentionEntry *entryOfLibrary() {
  static FusedAttentionEntry *const entry = open();
  return entry;
}

} // namespace

bool FusedPlans::mayBeThere() { return isAnnounced || entryOfLibrary(); }

void FusedPlans::announce() { isAnnounced = true; }

std::shared_ptr<FusedPlans> FusedPlans::of(int device) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<FusedPlans>> devices;
  FusedAttentionEntry *const entry = entryOfLibrary();
  if (!entry)
    return nullptr;
  std::lock_guard lock(mutex);
  std::weak_ptr<FusedPlans> &known = devices[device];
  if (auto found = known.lock())
    return found;
  std::unique_ptr<FusedAttentionEngine> engine(entry(kFusedAttentionLayout));
  if (!engine)
    return nullptr;
  auto made = std::make_shared<FusedPlans>(std::move(engine));
  known = made;
  return made;
}

std::shared_ptr<FusedAttention>
FusedPlans::find(const FusedAttentionShape &shape, int64_t mostWorkspace) {
  /// A plan, and what it is a plan of.
  struct Owned {
    std::shared_ptr<FusedPlans> owner;
    std::unique_ptr<FusedAttention> plan; // goes first
  };
  std::lock_guard lock(mutex);
  if (auto known = plans.find(shape); known != plans.end())
    if (auto plan = known->second.lock())
      return plan;
  std::unique_ptr<FusedAttention> made = engine->plan(shape);
  if (!made || made->workspaceBytes() > mostWorkspace)
    return nullptr;
  FusedAttention *const plan = made.get();
  const auto owned =
      std::make_shared<Owned>(shared_from_this(), std::move(made));
  const std::shared_ptr<FusedAttention> shared(owned, plan);
  std::erase_if(plans,
                [](const auto &entry) { return entry.second.expired(); });
  plans[shape] = shared;
  return shared;
}

} // namespace shardc::runtime
