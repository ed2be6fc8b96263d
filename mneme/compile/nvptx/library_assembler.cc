#include "mneme/compile/nvptx/library_assembler.h"

namespace mneme::nvptx {
namespace {

using Handle = LibraryAssembler::Handle;

// The first function gives the log's size. The terminator and line feeds at the end are left out.
std::string read_log(Handle handle, int (*size_of)(Handle, size_t*), int (*read)(Handle, char*)) {
  size_t size = 0;
  if (handle == nullptr || size_of(handle, &size) != 0 || size == 0) return "";
  std::string log(size + 1, '\0');
  if (read(handle, log.data()) != 0) return "";
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  while (!log.empty() && log.back() == '\n') log.pop_back();
  return log;
}

}  // namespace

Result<Assembled> LibraryAssembler::assemble(const AssembleRequest& request) {
  const std::vector<std::string> texts = arguments(request);
  std::vector<const char*> options;
  for (const std::string& text : texts) options.push_back(text.c_str());
  Handle handle = nullptr;
  Assembled assembled;
  assembled.image.device = DeviceKind::cuda;
  int result = run(handle, request.ptx, options);
  if (result == kSuccess) result = take(handle, assembled.image.bytes);
  if (result != kSuccess) return failed(handle, result, request.architecture);
  assembled.log = read_log(handle, functions_.info_log_size, functions_.info_log);
  functions_.destroy(&handle);
  return assembled;
}

int LibraryAssembler::take(Handle handle, ByteVector& cubin) const {
  size_t size = 0;
  if (int result = functions_.cubin_size(handle, &size); result != kSuccess) return result;
  cubin.resize(size);
  return functions_.cubin(handle, cubin.data());
}

// Takes the log, then gives up the handle, which is null when even its creation failed.
Status LibraryAssembler::failed(Handle handle, int result, const std::string& architecture) const {
  const std::string log = read_log(handle, functions_.error_log_size, functions_.error_log);
  if (handle != nullptr) functions_.destroy(&handle);
  const std::string name = static_cast<size_t>(result) < words_.results.size()
                               ? fmt::format("{}{}", words_.prefix, words_.results[static_cast<size_t>(result)])
                               : fmt::format("{} error {}", words_.library, result);
  return error(Code::incompatible, "assembling PTX for {} by {}: {}{}{}", architecture, words_.library, name,
               log.empty() ? "" : ": ", log);
}

}  // namespace mneme::nvptx
