#include "mneme/hip/table.h"

#include <array>
#include <mutex>
#include <unordered_map>

#include "mneme/hip/program_code.h"

namespace mneme::hip {
namespace {

std::array<Table, MNEME_MAX_TABLES>& all_tables() {
  static auto* tables = new std::array<Table, MNEME_MAX_TABLES>;
  return *tables;
}

// What CUDA's slots hold until somebody fills them.
cudaError_t has_no_cuda() { return cudaErrorNotSupported; }
const char* has_no_text(cudaError_t) { return "unknown error"; }

// Annotations of the program go to whoever asks for them at CUDA's table.
void annotate(mneme_call_table* program, const void* pointer, uint64_t count, const mneme_annotation* annotation) {
  mneme_call_table& cuda = Table::attached(program->index).attach(*program, SlotsEnd::filled);
  if (cuda.annotate) cuda.annotate(&cuda, pointer, count, annotation);
}

}  // namespace

std::optional<mneme_hip_call> find_call(std::string_view name) {
  static const auto* const calls = new std::unordered_map<std::string_view, mneme_hip_call>{
#define MNEME_NAMED(function) {#function, MNEME_CALL_##function},
      MNEME_HIP_CALLS(MNEME_NAMED)
#undef MNEME_NAMED
  };
  const auto found = calls->find(name);
  return found == calls->end() ? std::nullopt : std::optional(found->second);
}

mneme_function Table::real(std::string_view name) const {
  if (const auto set = set_by_tests_.find(name); set != set_by_tests_.end()) return set->second;
  const auto call = find_call(name);
  return call ? real(*call) : nullptr;
}

Table& Table::attached(uint32_t index) { return all_tables()[index]; }

mneme_call_table& Table::attach(mneme_call_table& program, SlotsEnd end) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (program_) return cuda_;
  program_ = &program;
  end_ = end;
  for (mneme_function& slot : slots_) slot = reinterpret_cast<mneme_function>(&has_no_cuda);
  for (mneme_call text : {MNEME_CALL_cudaGetErrorName, MNEME_CALL_cudaGetErrorString})
    slots_[text] = reinterpret_cast<mneme_function>(&has_no_text);
  cuda_ = {.abi_version = MNEME_ABI_VERSION,
           .call_count = MNEME_CALL_COUNT,
           .index = program.index,
           .device = MNEME_TABLE_HIP,
           .slots = slots_,
           .real = real_,
           .find_global = end == SlotsEnd::runtime ? &find_global : nullptr,
           .calls_digest = MNEME_CUDA_CALLS_DIGEST,
           .object = program.object,
           .annotate = nullptr};
  program.annotate = &annotate;
  install_missing(*this);
  install_errors(*this);
  install_registration(*this);
  install_launches(*this);
  install_functions(*this);
  install_modules(*this);
  install_memory(*this);
  install_copies(*this);
  install_arrays(*this);
  install_textures(*this);
  install_streams(*this);
  install_device(*this);
  install_contexts(*this);
  install_graphs(*this);
  if (end == SlotsEnd::runtime) {
    install_loaded_code(*this);
    install_external_memory(*this);
    install_ends(*this);
  }
  std::copy(std::begin(slots_), std::end(slots_), std::begin(real_));
  return cuda_;
}

}  // namespace mneme::hip
