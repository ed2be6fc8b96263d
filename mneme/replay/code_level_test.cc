// Replays of kernels that were recorded without IR, on a CUDA driver for tests whose kernels are functions of the test.
#include "mneme/replay/code_level.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "mneme/cpu/run/cpu_device.h"
#include "mneme/device/cuda/cuda_device.h"
#include "mneme/device/cuda/fake_driver.h"
#include "mneme/replay/determinism.h"
#include "mneme/replay/session.h"
#include "mneme/store/testing/made_recording.h"

namespace mneme {
namespace {

using testing::HasSubstr;
using testing_store::kMadeSpaceBase;
using testing_store::MadeDatabase;
using testing_store::MadeRecording;
using Kind = CodeImageRecord::Kind;

constexpr int kCount = 64;

std::string ptx_of(const std::string& directives) {
  return ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry scale(.param .u64 out, .param .u64 in, .param .u32 "
         "n)\n" +
         directives + "{\nret;\n}\n";
}

ByteVector bytes_of_text(const std::string& text) {
  const ByteSpan bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// out[i] = 2 * in[i] + offset, where `offset` is a variable of the module.
class CodeLevels : public testing::Test {
 protected:
  void SetUp() override {
    void* handle = dlopen(MNEME_FAKE_CUDA_LIBRARY, RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    driver_ = reinterpret_cast<cuda::FakeDriverStateFunction>(dlsym(handle, "mneme_fake_driver_state"))();
    *driver_ = cuda::FakeDriverState();
    driver_->globals["offset"].resize(sizeof(int));
    driver_->kernels["scale"] = [this](const cuda::FakeLaunch& launch) { run(launch); };
    auto device = cuda::open_device(0, {MNEME_FAKE_CUDA_LIBRARY, {}, "libnvidia-ml-that-is-not-there.so"});
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    device_ = std::move(*device);
    auto compiler = Compiler::create(DeviceKind::cuda, "sm_90");
    ASSERT_TRUE(compiler.ok()) << compiler.status().to_string();
    compiler_ = std::move(*compiler);
  }
  void TearDown() override {
    session_.reset();
    device_.reset();
    *driver_ = cuda::FakeDriverState();
  }

  void run(const cuda::FakeLaunch& launch) {
    ++launches_;
    uint64_t out = 0, in = 0;
    int n = 0, offset = 0;
    std::memcpy(&out, launch.parameters.data(), 8);
    std::memcpy(&in, launch.parameters.data() + 8, 8);
    std::memcpy(&n, launch.parameters.data() + 16, 4);
    std::memcpy(&offset, driver_->globals["offset"].data(), 4);
    const int threads = static_cast<int>(launch.grid[0] * launch.block[0]);
    for (int i = 0; i < std::min(n, threads); ++i)
      reinterpret_cast<int*>(out)[i] = 2 * reinterpret_cast<const int*>(in)[i] + offset + wrong_;
  }

  ByteVector cubin(const std::string& directives = "") {
    Translation translation;
    translation.code = ptx_of(directives);
    translation.architecture = "sm_90";
    translation.kernels = {"scale"};
    auto code = compiler_->assemble(translation);
    EXPECT_TRUE(code.ok()) << code.status().to_string();
    return code.ok() ? code->image.bytes : ByteVector();
  }

  MadeRecording recording(CodeLevel level, const std::string& directives = "") {
    MadeRecording made;
    made.kernel.name = made.kernel.demangled = "scale";
    made.kernel.level = level;
    made.images.push_back({Kind::cubin, cubin(directives)});
    if (level == CodeLevel::ptx) made.images.push_back({Kind::ptx, bytes_of_text(ptx_of(directives))});
    std::vector<int> in(kCount), out(kCount, -1), after(kCount);
    for (int i = 0; i < kCount; ++i) in[static_cast<size_t>(i)] = i, after[static_cast<size_t>(i)] = 2 * i + 5;
    const DevicePtr to = kMadeSpaceBase, from = kMadeSpaceBase + 1_MiB;
    made.regions = {{.address = DevicePtr(0x1000),
                     .name = "offset",
                     .before = testing_store::bytes_of(std::vector<int>{5}),
                     .after = testing_store::bytes_of(std::vector<int>{5})},
                    {.address = to, .name = "", .before = testing_store::bytes_of(out), .after = testing_store::bytes_of(after)},
                    {.address = from, .name = "", .before = testing_store::bytes_of(in), .after = testing_store::bytes_of(in)}};
    made.regions[0].kind = Region::Kind::global;
    made.kernel.globals = {{"offset", 4, 4, false, false, true}};
    made.argument(Parameter::Kind::opaque, "", "", to.address);
    made.argument(Parameter::Kind::opaque, "", "", from.address);
    made.argument(Parameter::Kind::opaque, "", "", int32_t{kCount});
    made.grid = {4, 1, 1};
    made.block = {16, 1, 1};
    return made;
  }

  Status prepare(const MadeRecording& made, Device& device) {
    MNEME_ASSIGN(instance_, made_.publish(made));
    MNEME_ASSIGN(Database database, Database::open(made_.directory()));
    database_ = std::make_unique<Database>(std::move(database));
    MNEME_ASSIGN(session_, Session::prepare(*database_, instance_.static_hash, instance_.dynamic_hash, device));
    return {};
  }
  void prepare(const MadeRecording& made) {
    const Status status = prepare(made, *device_);
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  std::string refusal(const std::string& member, const nlohmann::json& value) {
    nlohmann::json json;
    json[nlohmann::json::json_pointer("/" + member)] = value;
    auto configuration = configuration_from_json(json);
    EXPECT_TRUE(configuration.ok()) << configuration.status().to_string();
    return session_->replay(*configuration).failure.to_string();
  }

  cuda::FakeDriverState* driver_ = nullptr;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Compiler> compiler_;
  MadeDatabase made_;
  std::unique_ptr<Database> database_;
  InstanceRecord instance_;
  std::unique_ptr<Session> session_;
  int launches_ = 0, wrong_ = 0;
};

// The table is in code that is assembled for it: the recorded machine code has none.
TEST_F(CodeLevels, PtxIsCompiledForAProgramWithATableOfItsVariables) {
  MadeRecording made = recording(CodeLevel::ptx);
  std::string ptx = ptx_of("");
  ptx.insert(ptx.find(".visible"), ".global .align 4 .u32 offset = 5;\n");
  ptx.insert(ptx.find("ret;"), ".reg .b32 %r<2>;\nld.global.u32 %r1, [offset];\n");
  made.images[1].second = bytes_of_text(ptx);
  prepare(made);
  const auto compiled = session_->compile_for_program({});
  ASSERT_TRUE(compiled.ok()) << compiled.status().to_string();
  EXPECT_EQ(compiled->variables, std::vector<std::string>{"offset"});
  const std::string_view image(reinterpret_cast<const char*>(compiled->code.image.bytes.data()),
                               compiled->code.image.bytes.size());
  EXPECT_NE(image.find("__mneme_variables"), image.npos);
  EXPECT_TRUE(session_->measure({}, compiled->code).verified);
  session_.reset();
  prepare(recording(CodeLevel::cubin));
  EXPECT_EQ(session_->compile_for_program({}).status().to_string(),
            "unsupported: its machine code reaches variables of its own module, as 'offset'");
}

TEST_F(CodeLevels, ACubinIsLoadedAsItIsVerifiedAndTimed) {
  MadeRecording made = recording(CodeLevel::cubin);
  made.grid = {4, 1, 1};
  made.cluster = {2, 1, 1};
  prepare(made);
  ReplayResult result = session_->replay({.execution = {.iterations = 3}});
  ASSERT_TRUE(result.failure.ok()) << result.failure.to_string();
  EXPECT_TRUE(result.verified);
  EXPECT_EQ(result.exec_time.size(), 3u);
  EXPECT_EQ(result.assembler, "recorded");
  EXPECT_EQ(result.obj_hash, digest_of(made.images[0].second));
  EXPECT_EQ(result.shape->cluster, (Dim3{2, 1, 1}));
  EXPECT_THAT(driver_->last_launch.cluster, testing::ElementsAre(2, 1, 1));
  EXPECT_EQ(result.mask, "no IR: the kernel was recorded as machine code (cubin), and which bytes it only writes is not known");
  EXPECT_EQ(session_->replay({.passes = "as-built"}).failure.to_string(), "ok");
}

TEST_F(CodeLevels, AVariableIsWhereTheLoaderPutsItThoughItsAddressMayBeInMemory) {
  prepare(recording(CodeLevel::cubin));
  EXPECT_EQ(session_->plan().regions[0].placement, Placement::module_symbol);
  driver_->globals["offset"].assign(sizeof(int), std::byte{7});
  EXPECT_TRUE(session_->replay({}).verified) << "what the module held is replaced by what was recorded";
}

TEST_F(CodeLevels, WhatIsWrongIsFoundAndNamedByItsArgument) {
  prepare(recording(CodeLevel::cubin));
  wrong_ = 1;
  const ReplayResult result = session_->replay({});
  ASSERT_TRUE(result.failure.ok()) << result.failure.to_string();
  EXPECT_FALSE(result.verified);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.mismatches[0].buffer, "argument '0'");
  EXPECT_TRUE(result.order_dependences.empty());
  EXPECT_FALSE(result.not_written.has_value());
  Configuration tolerant;
  tolerant.tolerance = {{"0", {ElementType::i32, 1}}};
  EXPECT_TRUE(session_->replay(tolerant).verified);
}

TEST_F(CodeLevels, TheLaunchCanBeChanged) {
  prepare(recording(CodeLevel::cubin));
  Configuration configuration;
  configuration.block.x = 32;
  configuration.keep_threads = true;
  EXPECT_TRUE(session_->replay(configuration).verified);
  EXPECT_THAT(driver_->last_launch.grid, testing::ElementsAre(2, 1, 1));
  configuration.shared_memory = Bytes(1000);
  EXPECT_TRUE(session_->replay(configuration).verified);
  EXPECT_EQ(driver_->last_launch.shared_bytes, 1000u);
}

TEST_F(CodeLevels, ARequiredBlockAllowsNoOther) {
  for (CodeLevel level : {CodeLevel::cubin, CodeLevel::ptx}) {
    session_.reset();
    prepare(recording(level, ".reqntid 16, 1, 1\n"));
    EXPECT_TRUE(session_->replay({}).verified);
    EXPECT_EQ(
        refusal("block/x", 32),
        fmt::format("invalid_argument: block is 32x1x1: the kernel was recorded as {}, which can be launched with blocks of "
                    "16x1x1 alone (.reqntid); leave the block as recorded",
                    level == CodeLevel::cubin ? "machine code (cubin)" : "PTX"));
  }
}

TEST_F(CodeLevels, WhatACubinLacksIsRefusedByName) {
  prepare(recording(CodeLevel::cubin));
  EXPECT_EQ(
      refusal("passes", "default<O2>"),
      "unsupported: passes: the kernel was recorded as machine code (cubin): there is no IR that passes could change; leave "
      "the pipeline out, or say as-built");
  const auto lacks = [](const char* key, const char* what) {
    return fmt::format(
        "unsupported: {}: the kernel was recorded as machine code (cubin): there is no {} that it could change; "
        "leave it out",
        key, what);
  };
  EXPECT_EQ(refusal("linkage", "internal"), lacks("linkage", "IR"));
  EXPECT_EQ(refusal("pass_plugins", {"plugin.so"}), lacks("pass_plugins", "IR"));
  EXPECT_EQ(refusal("ir", "kernel.ll"), lacks("ir", "IR"));
  EXPECT_EQ(refusal("specialise/arguments", {"*"}), lacks("specialise.arguments", "IR"));
  EXPECT_EQ(refusal("specialise/max_threads", 64), lacks("specialise.max_threads", "IR"));
  EXPECT_EQ(refusal("codegen/level", 2), lacks("codegen.level", "IR"));
  EXPECT_EQ(refusal("codegen/target", "sm_90a"), lacks("codegen.target", "IR"));
  EXPECT_EQ(refusal("assembler/level", 2), lacks("assembler.level", "PTX"));
  EXPECT_EQ(refusal("assembler/max_registers", 32), lacks("assembler.max_registers", "PTX"));
  EXPECT_EQ(refusal("grid/x", 4), "ok");
  EXPECT_EQ(refusal("verdict/mask", false), "ok");
  EXPECT_EQ(refusal("execution/warm_up", 1), "ok");
}

// Every member is either a launch's, a verdict's or a measurement's, or it is refused.
TEST_F(CodeLevels, NoMemberThatChangesCodeIsLeftOutInSilence) {
  KernelRecord kernel;
  kernel.level = CodeLevel::cubin;
  for (const ConfigurationField& field : configuration_fields()) {
    const std::string section = field.key.substr(0, field.key.find('.'));
    Configuration usual;
    nlohmann::json json = to_json(usual);
    std::string pointer = "/" + field.key;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    using Form = ConfigurationField::Kind;
    switch (field.kind) {
      case Form::number: json[nlohmann::json::json_pointer(pointer)] = std::max<uint64_t>(field.min, 2); break;
      case Form::real: json[nlohmann::json::json_pointer(pointer)] = field.least == 0 ? 0.5 : field.least; break;
      case Form::flag: json[nlohmann::json::json_pointer(pointer)] = section != "verdict"; break;
      case Form::text: json[nlohmann::json::json_pointer(pointer)] = "other"; break;
      case Form::texts: json[nlohmann::json::json_pointer(pointer)] = {"other"}; break;
      case Form::choice: json[nlohmann::json::json_pointer(pointer)] = field.choices.back(); break;
      case Form::sections: continue;
    }
    auto configuration = configuration_from_json(json);
    ASSERT_TRUE(configuration.ok()) << field.key << configuration.status().to_string();
    const bool launch = section == "grid" || section == "block" || section == "keep_threads" || section == "shared_memory" ||
                        section == "execution" || section == "verdict";
    EXPECT_EQ(check_code_level(*configuration, kernel).ok(), launch) << field.key;
    KernelRecord with_ir = kernel;
    with_ir.level = CodeLevel::ir;
    EXPECT_TRUE(check_code_level(*configuration, with_ir).ok()) << field.key;
  }
}

TEST_F(CodeLevels, PtxIsAssembledAsAskedAndElseTheCubinRuns) {
  MadeRecording made = recording(CodeLevel::ptx);
  prepare(made);
  ReplayResult as_built = session_->replay({});
  EXPECT_TRUE(as_built.verified) << as_built.failure.to_string();
  EXPECT_EQ(as_built.assembler, "recorded");
  ReplayResult result = session_->replay({.assembler = {.level = 1}});
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_NE(result.assembler, "recorded");
  EXPECT_EQ(refusal("codegen/level", 2),
            "unsupported: codegen.level: the kernel was recorded as PTX: there is no IR that it could change; leave it out");
}

// As of a kernel of Triton's: its IR was found, and its pipeline is not known.
constexpr const char* kScaleIr = R"(
target triple = "nvptx64-nvidia-cuda"
@offset = addrspace(1) externally_initialized global i32 0, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @scale(ptr %out, ptr %in, i32 %n) #0 {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %offset = load i32, ptr addrspace(1) @offset
  %sum = add i32 %t, %offset
  store i32 %sum, ptr %out
  ret void
}
attributes #0 = { "nvvm.reqntid"="16" "target-cpu"="sm_90" }
)";

MadeRecording with_ir(MadeRecording made) {
  made.kernel.level = CodeLevel::ir;
  made.kernel.globals[0].escapes = false;
  made.ir = kScaleIr;
  return made;
}

TEST_F(CodeLevels, BesideIrAsBuiltIsTheCubin) {
  const MadeRecording made = with_ir(recording(CodeLevel::cubin, ".reqntid 16, 1, 1\n"));
  prepare(made);
  EXPECT_EQ(session_->replay({}).assembler, "recorded");
  const ReplayResult compiled = session_->replay({.passes = "default<O3>"});
  EXPECT_TRUE(compiled.verified) << compiled.failure.to_string();
  EXPECT_NE(compiled.assembler, "recorded");
  const ReplayResult as_built = session_->replay({.passes = "as-built"});
  EXPECT_TRUE(as_built.verified) << as_built.failure.to_string();
  EXPECT_EQ(as_built.assembler, "recorded");
  EXPECT_EQ(as_built.obj_hash, digest_of(made.images[0].second));
  for (const char* passes : {"as-built", "default<O1>"}) {
    Configuration configuration;
    configuration.passes = passes;
    configuration.block.x = 32;
    EXPECT_EQ(
        session_->replay(configuration).failure.to_string(),
        "invalid_argument: block is 32x1x1: the kernel was recorded as LLVM IR, which can be launched with blocks of 16x1x1 "
        "alone (.reqntid); leave the block as recorded");
  }
  EXPECT_EQ(session_->replay({.passes = "as-built", .codegen = {.level = 2}}).failure.to_string(),
            "unsupported: codegen.level: as-built is the program's own machine code, without IR that it could change; name a "
            "pipeline");
}

// The program's compiler can then be asked to do again what it did.
TEST_F(CodeLevels, WhereThePipelineIsKnownAsBuiltIsThatThoughThereIsACubin) {
  MadeRecording made = with_ir(recording(CodeLevel::cubin));
  made.kernel.pipeline = "default<O2>";
  prepare(made);
  const ReplayResult result = session_->replay({.passes = "as-built"});
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_NE(result.assembler, "recorded");
}

TEST_F(CodeLevels, WhatNeedsIrIsNotDoneAndSaysWhy) {
  prepare(recording(CodeLevel::cubin));
  EXPECT_FALSE(session_->has_ir());
  EXPECT_EQ(
      session_->code_of({}).status().to_string(),
      "unsupported: no IR: the kernel was recorded as machine code (cubin), and what depends on the order of threads is not "
      "known");
  EXPECT_TRUE(session_->prepare_mask().ok());
  EXPECT_TRUE(session_->rehearse().ok());
  auto ranges = typed_ranges_of(session_->kernel(), session_->instance(), session_->plan(), {}, {}, {});
  ASSERT_TRUE(ranges.ok()) << ranges.status().to_string();
  const Behaviour behaviour = observe_behaviour(*session_, {}, 3, *ranges);
  EXPECT_TRUE(behaviour.deterministic);
  EXPECT_TRUE(behaviour.result.verified) << behaviour.result.failure.to_string();
  EXPECT_EQ(behaviour.races.not_looked,
            "no IR: the kernel was recorded as machine code (cubin), and its accesses cannot be noted");
}

TEST_F(CodeLevels, OtherDevicesAreRefused) {
  auto cpu = Device::open(DeviceKind::cpu);
  ASSERT_TRUE(cpu.ok()) << cpu.status().to_string();
  EXPECT_EQ(prepare(recording(CodeLevel::cubin), **cpu).to_string(),
            "unsupported: the kernel was recorded as machine code (cubin), without LLVM IR: it can be replayed on a CUDA device "
            "(--device cuda), and not on the CPU device");
}

TEST_F(CodeLevels, ACubinWithoutTheKernelIsRefused) {
  MadeRecording made = recording(CodeLevel::cubin);
  made.kernel.name = "missing";
  prepare(made);
  EXPECT_THAT(session_->replay({}).failure.to_string(),
              HasSubstr("not_found: the program's own code does not have the kernel that was recorded with it: "));
}

}  // namespace
}  // namespace mneme
