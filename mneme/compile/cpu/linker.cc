#include "mneme/compile/cpu/linker.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <vector>

#include "mneme/base/file_system.h"

LLD_HAS_DRIVER(elf)

namespace mneme::cpu {
namespace {

// A folder that goes with everything in it.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make() {
    std::string path = std::filesystem::temp_directory_path() / "mneme-link-XXXXXX";
    if (!::mkdtemp(path.data())) return error(Code::io, "making a temporary folder {}: {}", path, std::strerror(errno));
    return ScratchFolder(path);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Status run_lld(const std::vector<std::string>& arguments) {
  std::vector<const char*> words{"ld.lld"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  std::string out, err;
  llvm::raw_string_ostream out_stream(out), err_stream(err);
  lld::Result result = lld::lldMain(words, out_stream, err_stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) return error(Code::internal, "linking the host code: {}", llvm::StringRef(err).rtrim().str());
  return {};
}

}  // namespace

Result<ByteVector> link_shared_object(ByteSpan object) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  MNEME_ASSIGN(ScratchFolder folder, ScratchFolder::make());
  FileSystem& files = FileSystem::posix();
  auto write = [&](const std::string& path, ByteSpan bytes) -> Status {
    MNEME_ASSIGN(auto file, files.create(path));
    MNEME_TRY(file->append(bytes));
    return file->close();
  };
  // An empty library called libm.so.6 makes the image need the real one, wherever the machine has it.
  std::string nothing = folder.file("nothing.ld"), libm = folder.file("libm.so.6"), input = folder.file("image.o"),
              output = folder.file("image.so");
  MNEME_TRY(write(nothing, {}));
  MNEME_TRY(run_lld({"-shared", "-m", "elf_x86_64", "--soname=libm.so.6", "-o", libm, nothing}));
  MNEME_TRY(write(input, object));
  MNEME_TRY(run_lld({"-shared", "--no-as-needed", "--build-id=none", "-z", "now", "-o", output, input, libm}));
  return files.read(output);
}

}  // namespace mneme::cpu
