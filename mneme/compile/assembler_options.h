// AssemblerOptions: options of the assembler that turns PTX into machine code. Each member is a knob of the configuration's
// section "assembler". What is not set is left to the assembler.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mneme {

// Cache operators of the PTX ISA, for those loads and stores that name none themselves.
enum class LoadCache { unset, ca, cg, cs, lu, cv };
enum class StoreCache { unset, wb, cg, cs, wt };

// Their names in configurations and on the command line.
inline constexpr std::pair<const char*, LoadCache> kLoadCacheNames[] = {{"default", LoadCache::unset}, {"ca", LoadCache::ca},
                                                                        {"cg", LoadCache::cg},         {"cs", LoadCache::cs},
                                                                        {"lu", LoadCache::lu},         {"cv", LoadCache::cv}};
inline constexpr std::pair<const char*, StoreCache> kStoreCacheNames[] = {{"default", StoreCache::unset},
                                                                          {"wb", StoreCache::wb},
                                                                          {"cg", StoreCache::cg},
                                                                          {"cs", StoreCache::cs},
                                                                          {"wt", StoreCache::wt}};

struct AssemblerOptions {
  std::optional<unsigned> level = {};          // 0 to 4
  std::vector<std::string> options = {};       // given to the assembler as they are, in its own spelling
  std::optional<unsigned> max_registers = {};  // a thread
  LoadCache load_cache = LoadCache::unset;
  StoreCache store_cache = StoreCache::unset;

  friend bool operator==(const AssemblerOptions&, const AssemblerOptions&) = default;
};

}  // namespace mneme
