#include "busy_compilers.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mneme/compile/backend.h"
#include "mneme/pool/compile_work.h"

namespace mneme {
namespace {

[[noreturn]] void compile_for_ever(RecordedKernel& recorded, DeviceKind kind) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  [[maybe_unused]] int ignored = ::nice(5);  // as compile workers are
  auto work = create_compile_work(recorded, kind, architecture_without_device(kind, recorded.kernel.arch));
  while (work.ok() && (*work)->translate(Configuration()).ok()) {
    (*work)->keep();
    if (!(*work)->assemble()[0].ok()) break;
  }
  ::_exit(1);
}

}  // namespace

Result<BusyCompilers> BusyCompilers::start(const PoolSetup& setup, unsigned count) {
  MNEME_ASSIGN(auto recorded, RecordedKernel::load(setup));
  BusyCompilers compilers;
  for (unsigned i = 0; i < count; ++i) {
    const pid_t process = ::fork();
    if (process == 0) compile_for_ever(*recorded, setup.device_kind);
    if (process < 0) return error(Code::exhausted, "starting {} processes that compile: {}", count, std::strerror(errno));
    compilers.processes_.push_back(process);
  }
  return compilers;
}

BusyCompilers::~BusyCompilers() {
  for (pid_t process : processes_) ::kill(process, SIGKILL);
  for (pid_t process : processes_)
    while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace mneme
