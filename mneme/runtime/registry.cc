#include "mneme/runtime/registry.h"

#include <algorithm>

#include "mneme/runtime/code_container.h"

namespace mneme {
namespace {

template <typename T>
void erase_image(std::unordered_map<const void*, std::vector<std::shared_ptr<const T>>>& index, const RegisteredImage* image) {
  for (auto entry = index.begin(); entry != index.end();) {
    std::erase_if(entry->second, [&](const auto& registered) { return registered->image.get() == image; });
    entry = entry->second.empty() ? index.erase(entry) : std::next(entry);
  }
}

}  // namespace

void RegisteredImage::read() const {
  auto run = [this]() -> Status {
    std::string architecture;
    {
      std::lock_guard lock(mutex_);
      architecture = architecture_;
    }
    std::string name = fmt::format("{} {}", wrapper_ ? "fat binary" : "loaded image", id_);
    if (!wrapper_) {
      MNEME_ASSIGN(code_, read_device_code(loaded_.bytes, sm_of(architecture), name));
      elf_ = {.bytes = code_.cubin, .sm = code_.sm, .owner = nullptr};
      if (code_.cubin.empty()) return {};
      MNEME_ASSIGN(segments_, read_segments(elf_.bytes, name));
      return {};
    }
    const CodeContainer& container = container_of(wrapper_);
    MNEME_ASSIGN(ByteSpan content, container.content(wrapper_));
    MNEME_ASSIGN(elf_, container.find(content, architecture, name));
    MNEME_ASSIGN(segments_, read_segments(elf_.bytes, name));
    return {};
  };
  std::call_once(read_once_, [&] { read_status_ = run(); });
}

Result<const SegmentTable*> RegisteredImage::segments() const {
  read();
  if (!read_status_.ok()) return read_status_;
  return &segments_;
}

Result<DeviceElf> RegisteredImage::device_elf() const {
  read();
  if (!read_status_.ok()) return read_status_;
  return elf_;
}

Result<const DeviceCode*> RegisteredImage::code() const {
  if (wrapper_) return error(Code::unsupported, "fat binary {} was registered with a CUDA runtime, which loads it itself", id_);
  read();
  if (!read_status_.ok()) return read_status_;
  return &code_;
}

std::vector<RegisteredVariable> RegisteredImage::variables() const {
  std::lock_guard lock(mutex_);
  return variables_;
}

std::vector<RegisteredFunction> RegisteredImage::functions() const {
  std::lock_guard lock(mutex_);
  return functions_;
}

Result<const EmbeddedSegment*> RegisteredKernel::segment() const {
  MNEME_ASSIGN(const SegmentTable* table, image->segments());
  const std::string_view options = compile_options(image->wrapper());
  if (table->segments.empty() && table->damaged.empty())
    return error(Code::not_found, "kernel {}: its device image holds no recorded IR: compile the file that defines it with {}",
                 name, options);
  Result<const EmbeddedSegment*> found = table->find(name);
  if (found.status().code() == Code::not_found)
    return error(Code::not_found, "kernel {}: no IR of it in its device image: compile the file that defines it with {}", name,
                 options);
  return found;
}

void Registry::set_architecture(const std::string& architecture) {
  std::unique_lock lock(mutex_);
  architecture_ = architecture;
  for (auto& [handle, image] : images_) {
    std::lock_guard image_lock(image->mutex_);
    image->architecture_ = architecture;
  }
}

std::shared_ptr<const RegisteredImage> Registry::add_image(void** handle, uint32_t table, const void* wrapper) {
  std::unique_lock lock(mutex_);
  auto image = std::make_shared<RegisteredImage>(next_id_++, handle, table, wrapper, architecture_);
  images_[handle] = image;
  return image;
}

std::shared_ptr<const RegisteredImage> Registry::add_image(void** handle, LoadedImage loaded) {
  std::unique_lock lock(mutex_);
  auto image = std::make_shared<RegisteredImage>(next_id_++, handle, std::move(loaded), architecture_);
  images_[handle] = image;
  return image;
}

void Registry::add_function(void** handle, const void* host_function, const char* device_name) {
  std::unique_lock lock(mutex_);
  auto found = images_.find(handle);
  if (found == images_.end()) return;
  RegisteredImage& image = *found->second;
  {
    std::lock_guard image_lock(image.mutex_);
    image.functions_.push_back({host_function, device_name});
  }
  auto& kernels = kernels_[host_function];
  if (image.wrapper() == nullptr) kernels.clear();  // the driver has given the handle anew
  kernels.push_back(std::make_shared<RegisteredKernel>(RegisteredKernel{device_name, found->second}));
}

void Registry::add_variable(void** handle, RegisteredVariable variable) {
  std::unique_lock lock(mutex_);
  auto found = images_.find(handle);
  if (found == images_.end()) return;
  RegisteredImage& image = *found->second;
  variables_[variable.host_address].push_back(std::make_shared<RegisteredSymbol>(RegisteredSymbol{variable, found->second}));
  std::lock_guard image_lock(image.mutex_);
  image.variables_.push_back(std::move(variable));
}

std::shared_ptr<const RegisteredImage> Registry::remove_image(void** handle) {
  std::unique_lock lock(mutex_);
  auto found = images_.find(handle);
  if (found == images_.end()) return nullptr;
  std::shared_ptr<RegisteredImage> image = std::move(found->second);
  images_.erase(found);
  erase_image(kernels_, image.get());
  erase_image(variables_, image.get());
  return image;
}

std::shared_ptr<const RegisteredKernel> Registry::find_kernel(const void* host_function) const {
  std::shared_lock lock(mutex_);
  auto found = kernels_.find(host_function);
  return found == kernels_.end() ? nullptr : found->second.front();
}

std::shared_ptr<const RegisteredSymbol> Registry::find_variable(const void* host_address) const {
  std::shared_lock lock(mutex_);
  auto found = variables_.find(host_address);
  return found == variables_.end() ? nullptr : found->second.front();
}

std::shared_ptr<const RegisteredSymbol> Registry::find_variable_around(const void* host_address) const {
  const auto address = reinterpret_cast<uintptr_t>(host_address);
  std::shared_lock lock(mutex_);
  for (const auto& [start, symbols] : variables_) {
    const RegisteredVariable& variable = symbols.front()->variable;
    const auto begin = reinterpret_cast<uintptr_t>(start);
    if (!variable.managed && address >= begin && address - begin < variable.size) return symbols.front();
  }
  return nullptr;
}

std::shared_ptr<const RegisteredImage> Registry::find_image(void** handle) const {
  std::shared_lock lock(mutex_);
  auto found = images_.find(handle);
  return found == images_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const RegisteredImage>> Registry::images() const {
  std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<const RegisteredImage>> all;
  for (const auto& [handle, image] : images_) all.push_back(image);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->id() < b->id(); });
  return all;
}

}  // namespace mneme
