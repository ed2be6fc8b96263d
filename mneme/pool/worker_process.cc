#include "mneme/pool/worker_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "mneme/base/activity.h"
#include "mneme/base/code_folder.h"
#include "mneme/compile/backend.h"
#include "mneme/device/device.h"
#include "mneme/pool/compile_work.h"
#include "mneme/pool/compiled_work.h"
#include "mneme/pool/device_work.h"
#include "mneme/pool/keeper.h"
#include "mneme/pool/messages.h"
#include "mneme/pool/recorded_kernel.h"
#include "mneme/pool/warm_up.h"
#include "mneme/process/child.h"
#include "mneme/process/zygote.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// The pool's standard output is its caller's: kernels that print do not print there.
void divert_output() {
  Descriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(nowhere.number(), STDIN_FILENO);
  ::dup2(nowhere.number(), STDOUT_FILENO);
}

Result<SharedCopies> receive_copies(Channel& channel) {
  MNEME_ASSIGN(Message message, channel.receive());
  MNEME_ASSIGN(ToWorker decoded, decode_to_worker(std::move(message)));
  const auto* sent = std::get_if<InstanceCopies>(&decoded);
  if (!sent) return error(Code::corrupt, "a message of the pool's processes: copies of the recorded memory were promised");
  return std::move(*sent->copies);
}

Result<std::unique_ptr<DeviceWork>> open_device_work(const RecordedKernel& recorded, DeviceKind kind, const WorkerOrder& order,
                                                     std::unique_ptr<Device>& device, Channel& channel) {
  DeviceCopies copies;
  for (size_t i = 0; i < order.copies; ++i) {
    MNEME_ASSIGN(SharedCopies there, receive_copies(channel));
    copies.there.push_back(std::move(there));
  }
  copies.keep = [&channel](size_t instance, SharedCopies shared) {
    return send(channel, FromWorker(InstanceCopies{instance, std::make_shared<SharedCopies>(std::move(shared))}));
  };
  copies.no_mask = order.no_mask;
  if (auto place = CachePlace::from_environment(); place.ok()) copies.cache = std::make_shared<DiskCache>(std::move(*place));
  copies.lost_to_mask = [&channel](const std::string& no_mask) { return send(channel, MaskLost{no_mask}); };
  MNEME_ASSIGN(device, Device::open(kind, order.device));
  MNEME_TRY(announce(channel, device->properties()));
  return create_device_work(recorded, *device, std::move(copies));
}

void be_without_device(const PoolSetup& setup, const RecordedKernel& recorded, Channel channel) {
  auto work = [&]() -> Result<std::unique_ptr<DeviceWork>> {
    MNEME_ASSIGN(CodeFor made_for, code_without_device(recorded.kernel, setup.compile_for));
    DeviceProperties none;
    none.name = none.architecture = made_for.architecture;
    MNEME_TRY(announce(channel, none));
    return create_compiled_work(recorded, std::move(made_for));
  }();
  serve_device(std::move(channel), std::move(work));
}

void be_worker(const PoolSetup& setup, RecordedKernel& recorded, const WorkerOrder& order, Channel channel) {
  const std::string name = fmt::format("mneme-{}", to_string(order.role));
  ::prctl(PR_SET_NAME, name.c_str());  // for people who look at the system's processes
  if (order.role == WorkerRole::compile) {
    // What runs on a device is timed, and must not wait for a core.
    [[maybe_unused]] int ignored = ::nice(10);
    return serve_compile(std::move(channel), create_compile_work(recorded, setup.device_kind, order.architecture));
  }
  if (!setup.compile_for.empty()) return be_without_device(setup, recorded, std::move(channel));
  reserve_descriptors(256);  // what a device takes, while there is one thread
  if (order.role == WorkerRole::keeper) return serve_keeper(std::move(channel), Device::open(setup.device_kind, order.device));
  const HeldAddresses held = recorded.hold_addresses();
  std::unique_ptr<Device> device;
  auto work = open_device_work(recorded, setup.device_kind, order, device, channel);
  serve_device(std::move(channel), std::move(work));
}

}  // namespace

Result<Path> worker_command() {
  if (const char* command = std::getenv("MNEME_COMMAND"); command && *command) return Path(command);
  const Path own = code_folder().parent_path() / "bin" / "mneme";
  if (::access(own.c_str(), X_OK) == 0) return own;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const Path command = Path(folder) / "mneme"; ::access(command.c_str(), X_OK) == 0) return command;
  return error(Code::unavailable, "there is no mneme for its workers, neither {} nor on the PATH; set MNEME_COMMAND to one",
               own.string());
}

int run_worker_process(int descriptor) {
  end_with_parent();
  Channel pool{Descriptor(descriptor)};
  auto message = pool.receive();
  if (!message.ok()) return 1;
  auto setup = pool_setup_from_json(message->body);
  auto recorded = setup.ok() ? RecordedKernel::load(*setup) : setup.status();
  if (!recorded.ok()) {
    [[maybe_unused]] Status ignored = send(pool, ZygoteRefused{recorded.status().to_string()});
    return 1;
  }
  divert_output();
  keep_freed_memory();
  const KernelRecord& kernel = (*recorded)->kernel;
  warm_llvm_up(setup->device_kind,
               setup->compile_for.empty() ? architecture_without_device(setup->device_kind, kernel.arch) : setup->compile_for,
               kernel.target);
  limit_compile_memory(setup->compile_memory);
  run_zygote(std::move(pool), [&](const Json& json, Channel channel) {
    if (auto order = worker_order_from_json(json); order.ok()) be_worker(*setup, **recorded, *order, std::move(channel));
  });
  return 0;
}

}  // namespace mneme
