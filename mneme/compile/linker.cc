#include "mneme/compile/linker.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "mneme/base/memory_file.h"

LLD_HAS_DRIVER(elf)

namespace mneme {
namespace {

// Files in memory have names that LLD opens.
std::string name_of(const Descriptor& file) { return fmt::format("/proc/self/fd/{}", file.number()); }

Result<Descriptor> file_of(ByteSpan bytes) { return make_memory_file("mneme-link", bytes); }

// What is written into a pipe, whose other end LLD opens by its name: a regular file it would put beside another and rename.
class Output {
 public:
  static Result<std::unique_ptr<Output>> open() {
    auto output = std::unique_ptr<Output>(new Output);
    int ends[2];
    output->stop_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
    if (!output->stop_.open() || ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
      return error(Code::io, "making a pipe for the linker's output: {}", std::strerror(errno));
    output->out_ = Descriptor(ends[0]);
    output->in_ = Descriptor(ends[1]);
    try {
      output->reader_ = std::thread([&reading = *output] { reading.read(); });
    } catch (const std::system_error& failure) {
      return error(Code::exhausted, "starting a thread for the linker's output: {}", failure.what());
    }
    return output;
  }
  ~Output() { end(); }
  std::string name() const { return name_of(in_); }
  // All that has been written until now.
  ByteVector end() {
    if (reader_.joinable()) {
      const uint64_t one = 1;
      [[maybe_unused]] auto written = ::write(stop_.number(), &one, sizeof one);
      reader_.join();
    }
    return std::move(bytes_);
  }

 private:
  Output() = default;
  // The end of the writing is told, not that of the file: a child that another thread forks meanwhile has the pipe too.
  void read() {
    for (bool stopped = false; !stopped;) {
      pollfd events[] = {{out_.number(), POLLIN, 0}, {stop_.number(), POLLIN, 0}};
      ::poll(events, 2, -1);
      stopped = events[1].revents != 0;
      ByteVector part(size_t{1} << 16);
      for (ssize_t count; (count = ::read(out_.number(), part.data(), part.size())) > 0;)
        bytes_.insert(bytes_.end(), part.begin(), part.begin() + count);
    }
  }

  Descriptor in_, out_, stop_;
  ByteVector bytes_;
  std::thread reader_;
};

Status run_lld(const std::vector<std::string>& arguments) {
  std::vector<const char*> words{"ld.lld"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  std::string out, err;
  llvm::raw_string_ostream out_stream(out), err_stream(err);
  lld::Result result = lld::lldMain(words, out_stream, err_stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) return Status(Code::internal, llvm::StringRef(err).rtrim().str());
  return {};
}

}  // namespace

Result<ByteVector> link_in_memory(const std::vector<std::string>& arguments, std::span<const ByteSpan> objects) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  MNEME_ASSIGN(auto output, Output::open());
  std::vector<std::string> words{"-shared", "-o", output->name()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<Descriptor> files;
  for (const ByteSpan& object : objects) {
    MNEME_ASSIGN(Descriptor file, file_of(object));
    words.push_back(name_of(file));
    files.push_back(std::move(file));
  }
  MNEME_TRY(run_lld(words));
  return output->end();
}

}  // namespace mneme
