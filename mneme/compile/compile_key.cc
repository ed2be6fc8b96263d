#include "mneme/compile/compile_key.h"

#include <dlfcn.h>
#include <llvm/Config/llvm-config.h>

#include <filesystem>

#include "mneme/base/code_folder.h"
#include "mneme/base/file_system.h"

// Every value is taken apart by structured bindings: a member that is added to its type does not compile here until it is part of
// the key.
namespace mneme {
namespace {

template <typename T>
void add_optional(Hasher& hasher, const std::optional<T>& value) {
  hasher.add(uint64_t{value.has_value()}).add(uint64_t{value.value_or(T())});
}

void add_texts(Hasher& hasher, const std::vector<std::string>& texts) {
  hasher.add(texts.size());
  for (const std::string& text : texts) hasher.add(std::string_view(text));
}

void add_dimension(Hasher& hasher, const Dim3& value) {
  hasher.add(uint64_t{value.x}).add(uint64_t{value.y}).add(uint64_t{value.z});
}

void add_dimensions(Hasher& hasher, const std::optional<LaunchDimensions>& value) {
  hasher.add(uint64_t{value.has_value()});
  if (!value) return;
  const auto& [grid, block] = *value;
  add_dimension(hasher, grid);
  add_dimension(hasher, block);
}

// What is in a plugin's file counts, not where it lies. One that cannot be read is refused when it is loaded.
void add_plugins(Hasher& hasher, const std::vector<std::string>& files) {
  hasher.add(files.size());
  for (const std::string& file : files) {
    auto content = FileSystem::posix().read(file);
    if (content.ok())
      hasher.add(content->size()).add(ByteSpan(*content));
    else
      hasher.add(std::string_view(file));
  }
}

void add_codegen(Hasher& hasher, const CodegenOptions& value) {
  const auto& [level, target, features, fast_math, ftz, contraction, code_object] = value;
  hasher.add(uint64_t{level}).add(std::string_view(target)).add(std::string_view(features));
  add_texts(hasher, fast_math);
  hasher.add(static_cast<uint64_t>(ftz)).add(static_cast<uint64_t>(contraction));
  add_optional(hasher, code_object);
}

void add_specialisation(Hasher& hasher, const Specialisation& value) {
  const auto& [kernel, arguments, pointers, dimensions, ranges, bounds] = value;
  hasher.add(std::string_view(kernel)).add(arguments.size());
  for (const auto& [parameter, bytes] : arguments) hasher.add(uint64_t{parameter}).add(bytes.size()).add(ByteSpan(bytes));
  hasher.add(pointers.size());
  for (const auto& [parameter, alignment, no_alias] : pointers)
    hasher.add(uint64_t{parameter}).add(alignment).add(uint64_t{no_alias});
  add_dimensions(hasher, dimensions);
  add_dimensions(hasher, ranges);
  const auto& [max_threads, min_blocks, max_cluster, max_registers, waves_per_eu] = bounds;
  for (const auto& bound : {max_threads, min_blocks, max_cluster, max_registers, waves_per_eu}) add_optional(hasher, bound);
}

}  // namespace

std::string build_identity() {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  Dl_info info;
  // The loader calls the program by whatever it was started as.
  const bool library = dladdr(reinterpret_cast<void*>(&build_identity), &info) != 0 && info.dli_fname &&
                       std::string_view(info.dli_fname).find(".so") != std::string_view::npos;
  const std::vector<std::string> folders = {code_folder(), program.parent_path().parent_path() / "lib", MNEME_LLVM_FOLDER};
  return fmt::format("mneme {} {}{}", MNEME_VERSION, describe_code_libraries(folders),
                     describe_file(library ? info.dli_fname : program.string()));
}

std::vector<std::string> code_libraries() {
  return {MNEME_LLVM_LIBRARY, fmt::format("libLLVM.so.{}.{}", LLVM_VERSION_MAJOR, LLVM_VERSION_MINOR)};
}

// In the order in which the libraries are loaded: from beside this code, else from the prefix of the program, and LLVM's from
// where it was when Mneme was built.
std::string describe_code_libraries(const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& name : code_libraries())
    for (const std::string& folder : folders)
      if (const std::string file = folder + "/" + name; FileSystem::posix().exists(file)) {
        text += describe_file(file) + " ";
        break;
      }
  return text;
}

std::string describe_file(const std::string& path) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  const auto time = std::filesystem::last_write_time(path, failure).time_since_epoch().count();
  return failure ? path : fmt::format("{} {} {}", path, size, time);
}

void add_to(Hasher& hasher, const AssemblerOptions& value) {
  const auto& [level, options, max_registers, load_cache, store_cache] = value;
  add_optional(hasher, level);
  add_texts(hasher, options);
  add_optional(hasher, max_registers);
  hasher.add(static_cast<uint64_t>(load_cache)).add(static_cast<uint64_t>(store_cache));
}

void add_to(Hasher& hasher, const CompileOptions& value) {
  const auto& [passes, as_built, linkage, pass_plugins, codegen, assembler, bindings, kernels, specialisation, variable_table,
               tracking] = value;
  hasher.add(std::string_view(passes)).add(std::string_view(as_built)).add(static_cast<uint64_t>(linkage));
  add_plugins(hasher, pass_plugins);
  add_codegen(hasher, codegen);
  add_to(hasher, assembler);
  hasher.add(bindings.size());
  for (const auto& [name, address] : bindings) hasher.add(std::string_view(name)).add(address.address);
  add_texts(hasher, kernels);
  add_specialisation(hasher, specialisation);
  add_texts(hasher, variable_table);
  const auto& [ranges, plane, note] = tracking;
  hasher.add(ranges.size()).add(plane.count).add(static_cast<uint64_t>(note));
  for (const auto& [base, size, offset] : ranges) hasher.add(base.address).add(size.count).add(offset.count);
}

}  // namespace mneme
