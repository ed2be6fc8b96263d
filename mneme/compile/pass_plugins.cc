#include "mneme/compile/pass_plugins.h"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "mneme/compile/plugin_file.h"

namespace mneme {
namespace {

namespace fs = std::filesystem;

struct Stamp {
  fs::file_time_type written;
  uintmax_t size = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

struct LoadedPlugin {
  Stamp stamp;
  std::unique_ptr<llvm::PassPlugin> plugin;
};

bool is_elf(const std::string& path) {
  auto buffer = llvm::MemoryBuffer::getFileSlice(path, 4, 0);
  return buffer && (*buffer)->getBuffer() ==
                       "\x7f"
                       "ELF";
}

// LLVM itself binds a plugin's functions only when they are called, and would find then that they are not there.
Status check_library(const std::string& path) {
  if (!is_elf(path)) return error(Code::invalid_argument, "it is no shared library");
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return error(Code::incompatible, "{}; a plugin must be built for LLVM {}", ::dlerror(), LLVM_VERSION_STRING);
  void* entry = ::dlsym(library, "llvmGetPassPluginInfo");
  if (!entry) return error(Code::invalid_argument, "it is no LLVM pass plugin: it has no function llvmGetPassPluginInfo");
  unsigned version = reinterpret_cast<decltype(&llvmGetPassPluginInfo)>(entry)().APIVersion;
  if (version != LLVM_PLUGIN_API_VERSION)
    return error(Code::incompatible,
                 "it has version {} of LLVM's plugin interface, and LLVM {} version {}: build it for this LLVM", version,
                 LLVM_VERSION_STRING, LLVM_PLUGIN_API_VERSION);
  return {};
}

Result<const llvm::PassPlugin*> load_once(const fs::path& file) {
  static std::mutex mutex;
  static std::map<fs::path, LoadedPlugin>& loaded = *new std::map<fs::path, LoadedPlugin>;  // passes outlive every static object
  std::scoped_lock lock(mutex);
  std::error_code failure;
  Stamp stamp{fs::last_write_time(file, failure), fs::file_size(file, failure)};
  auto& [known_stamp, plugin] = loaded[file];
  if (plugin && known_stamp != stamp)
    return error(Code::incompatible, "it has changed since this process loaded it: start another one");
  if (plugin) return plugin.get();
  MNEME_TRY(check_library(file));
  llvm::Expected<llvm::PassPlugin> opened = llvm::PassPlugin::Load(file);
  if (!opened) return error(Code::incompatible, "{}", llvm::toString(opened.takeError()));
  known_stamp = stamp;
  plugin = std::make_unique<llvm::PassPlugin>(std::move(*opened));
  return plugin.get();
}

}  // namespace

Result<PassPlugins> PassPlugins::load(const std::vector<std::string>& paths) {
  PassPlugins plugins;
  for (const std::string& path : paths) {
    MNEME_ASSIGN(const fs::path file, find_plugin_file(path));
    auto plugin = load_once(file);
    if (!plugin.ok()) return plugin.status().with_context("loading the pass plugin " + path);
    plugins.plugins_.push_back(*plugin);
  }
  return plugins;
}

void PassPlugins::register_with(llvm::PassBuilder& builder) const {
  for (const llvm::PassPlugin* plugin : plugins_) plugin->registerPassBuilderCallbacks(builder);
}

bool PassPlugins::generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                           llvm::raw_pwrite_stream& out) const {
  for (const llvm::PassPlugin* plugin : plugins_)
    if (plugin->invokePreCodeGenCallback(module, machine, type, out)) return true;
  return false;
}

}  // namespace mneme
