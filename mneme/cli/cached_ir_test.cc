// The LLVM IR of kernels that Triton has compiled (testing/triton), for recordings of their cubins.
#include "mneme/cli/cached_ir.h"

#include <gmock/gmock.h>

#include <fstream>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/compile/compiler.h"
#include "mneme/ir/kernel_launch.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/compile_request.h"
#include "mneme/store/testing/made_recording.h"

namespace mneme::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_store::MadeDatabase;
using testing_store::MadeRecording;
using Kind = CodeImageRecord::Kind;

ByteVector read(const Path& path) {
  auto bytes = FileSystem::posix().read(path);
  EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
  return bytes.ok() ? *bytes : ByteVector();
}

std::string text_in(const Path& path) {
  const ByteVector bytes = read(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

// A cache of Triton's with one of its kernels, whose files a test may change.
class TritonCache {
 public:
  explicit TritonCache(std::string kernel) : kernel_(std::move(kernel)) {
    std::filesystem::create_directories(file("").parent_path());
    for (const char* extension : {".cubin", ".llir", ".ptx", ".json"})
      std::filesystem::copy_file(Path(MNEME_TEST_TRITON) / (kernel_ + extension), file(extension));
  }
  Path file(const char* extension) const { return folder_.path() / "TYPICALHASH" / (kernel_ + extension); }
  Path folder() const { return folder_.path(); }
  void change(const char* extension, const std::string& from, const std::string& to) {
    std::string text = text_in(file(extension));
    replace(text, from, to);
    std::ofstream(file(extension), std::ios::binary | std::ios::trunc) << text;
  }
  Result<uint64_t> add_to(const Path& directory) const {
    MNEME_ASSIGN(Database database, Database::create(directory));
    CompilerCaches caches({folder()});
    return add_cached_ir(database, caches);
  }

 private:
  std::string kernel_;
  TemporaryDirectory folder_;
};

// As the recorder describes a kernel by its machine code.
MadeRecording recording_of(const std::string& name, const std::vector<uint64_t>& sizes) {
  MadeRecording made;
  made.kernel.name = made.kernel.demangled = name;
  made.kernel.level = CodeLevel::cubin;
  made.images.push_back({Kind::cubin, read(Path(MNEME_TEST_TRITON) / (name + ".cubin"))});
  for (const uint64_t size : sizes) {
    const uint64_t offset = (made.parameters.size() + size - 1) / size * size;
    made.parameters.resize(offset + size);
    made.kernel.parameters.push_back({Parameter::Kind::opaque, "", "", offset, size, 1});
  }
  made.grid = {1, 1, 1};
  made.block = {128, 1, 1};
  made.regions.push_back({Region::Kind::allocation, testing_store::kMadeSpaceBase, "", ByteVector(64), ByteVector(64)});
  return made;
}
MadeRecording recorded_add() { return recording_of("add_kernel", {8, 8, 8, 4, 8, 8}); }
MadeRecording recorded_softmax() { return recording_of("softmax_kernel", {8, 8, 4, 4, 4, 8, 8}); }

class CachedIrTest : public testing::Test {
 protected:
  void publish(const MadeRecording& made) {
    auto instance = database_.publish(made);
    ASSERT_TRUE(instance.ok()) << instance.status().to_string();
    instance_ = *instance;
  }
  KernelRecord kernel() const { return Database::open(database_.directory())->load_kernel(instance_.static_hash).value(); }
  // What is said of IR that is not usable. The recording stays as it is.
  std::string refusal(const TritonCache& cache) {
    const KernelRecord before = kernel();
    const std::string said = read_cached_ir(before, cache.file(".cubin")).status().to_string();
    testing::internal::CaptureStderr();
    EXPECT_EQ(cache.add_to(database_.directory()).value(), 0u);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr("add_kernel stays without LLVM IR: a cache has its cubin, but not usable IR: "));
    EXPECT_EQ(kernel(), before);
    std::string neutral = said;
    while (neutral.find(cache.folder().string()) != std::string::npos)
      replace(neutral, cache.folder().string() + "/TYPICALHASH/", "");
    return neutral;
  }

  MadeDatabase database_;
  InstanceRecord instance_;
};

TEST_F(CachedIrTest, AKernelWhoseCubinIsInTheCacheGetsItsIr) {
  publish(recorded_add());
  const KernelRecord before = kernel();
  TritonCache cache("add_kernel");
  EXPECT_EQ(cache.add_to(database_.directory()).value(), 1u);
  const KernelRecord after = kernel();
  EXPECT_EQ(after.level, CodeLevel::ir);
  EXPECT_EQ(after.arch, "sm_90a");
  EXPECT_EQ(after.images, before.images);
  EXPECT_EQ(after.pipeline, "");
  ASSERT_EQ(after.parameters.size(), 6u);
  EXPECT_EQ(after.parameters[0], (Parameter{Parameter::Kind::pointer, "", "ptr addrspace(1)", 0, 8, 8}));
  EXPECT_EQ(after.parameters[3], (Parameter{Parameter::Kind::integer, "", "i32", 24, 4, 4}));
  EXPECT_EQ(after.parameters[4].offset, 32u);
  auto opened = Database::open(database_.directory());
  const Status whole = opened->check_instance(instance_.static_hash, instance_.dynamic_hash);
  EXPECT_TRUE(whole.ok()) << whole.to_string();
  // The second time there is nothing to do.
  EXPECT_EQ(cache.add_to(database_.directory()).value(), 0u);
  EXPECT_EQ(kernel(), after);
}

TEST_F(CachedIrTest, WithoutThePtxTheArchitectureIsTheRecordedOne) {
  publish(recorded_add());
  TritonCache cache("add_kernel");
  std::filesystem::remove(cache.file(".ptx"));
  std::filesystem::remove(cache.file(".json"));
  EXPECT_EQ(cache.add_to(database_.directory()).value(), 1u);
  EXPECT_EQ(kernel().arch, "sm_90");
}

TEST_F(CachedIrTest, AKernelThatNoCacheHasStaysAsItIs) {
  publish(recorded_add());
  const KernelRecord before = kernel();
  TritonCache cache("softmax_kernel");
  testing::internal::CaptureStderr();
  EXPECT_EQ(cache.add_to(database_.directory()).value(), 0u);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(kernel(), before);
}

TEST_F(CachedIrTest, IrThatDoesNotFitIsRefused) {
  publish(recorded_add());
  {
    TritonCache cache("add_kernel");
    cache.change(".llir", "define ptx_kernel void @add_kernel(", "define ptx_kernel void @other(");
    EXPECT_EQ(refusal(cache), "not_found: add_kernel.llir does not define the recorded kernel 'add_kernel'; it has other");
  }
  {
    TritonCache cache("add_kernel");
    cache.change(".llir", "define ptx_kernel void", "define void");
    EXPECT_EQ(refusal(cache),
              "incompatible: add_kernel.llir defines 'add_kernel' as a function, and no kernel: it wants the calling convention "
              "ptx_kernel");
  }
  {
    TritonCache cache("add_kernel");
    cache.change(".llir", "ret void", "ret");
    EXPECT_EQ(refusal(cache), "corrupt: reading add_kernel.llir as textual LLVM IR: line 116, column 6: expected type");
  }
  {
    TritonCache cache("add_kernel");
    cache.change(".llir", "target datalayout", "target triple = \"x86_64-pc-linux-gnu\"\ntarget datalayout");
    EXPECT_EQ(refusal(cache), "incompatible: add_kernel.llir is for the target 'x86_64-pc-linux-gnu', and not for NVIDIA GPUs");
  }
  {
    TritonCache cache("add_kernel");
    std::filesystem::remove(cache.file(".llir"));
    EXPECT_THAT(refusal(cache), HasSubstr("not_found: "));
  }
}

TEST_F(CachedIrTest, ParametersThatLieElsewhereAreRefused) {
  publish(recording_of("add_kernel", {8, 8, 8, 8, 8, 8}));
  TritonCache cache("add_kernel");
  EXPECT_EQ(
      refusal(cache),
      "incompatible: add_kernel.llir: parameter 3 of 'add_kernel' has 4 bytes at offset 24, and 8 at 24 as it was recorded");
}

TEST_F(CachedIrTest, AnotherNumberOfParametersIsRefused) {
  publish(recording_of("add_kernel", {8, 8, 8, 4, 8}));
  TritonCache cache("add_kernel");
  EXPECT_EQ(refusal(cache), "incompatible: add_kernel.llir: 'add_kernel' takes 6 parameters, and 5 as it was recorded");
}

TEST_F(CachedIrTest, AVariableThatWasRecordedMustBeInTheIr) {
  MadeRecording made = recorded_add();
  made.kernel.globals.push_back({"counter", 4, 4, false});
  publish(made);
  TritonCache cache("add_kernel");
  EXPECT_EQ(refusal(cache), "incompatible: add_kernel.llir: it has no variable 'counter', which was recorded");
}

// As libdevice has it where a kernel computes an error function.
TEST_F(CachedIrTest, AConstantOfTheIrMayHaveBeenRecorded) {
  MadeRecording made = recorded_add();
  made.kernel.globals.push_back({"_$_str", 11, 1, false});
  publish(made);
  const auto with_constant = [](TritonCache& cache, const char* constant) {
    cache.change(".llir", "define ptx_kernel void @add_kernel(",
                 fmt::format("{}\ndefine ptx_kernel void @add_kernel(", constant));
  };
  {
    TritonCache cache("add_kernel");
    with_constant(cache, R"(@.str = private constant [10 x i8] c"__CUDA_FTZ")");
    EXPECT_EQ(refusal(cache), "incompatible: add_kernel.llir: it has no variable '_$_str', which was recorded");
  }
  TritonCache cache("add_kernel");
  with_constant(cache, R"(@.str = private unnamed_addr constant [11 x i8] c"__CUDA_FTZ\00")");
  const auto found = add_cached_ir_guarded(database_.directory(), {cache.folder()});
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(*found, 1u);
}

TEST_F(CachedIrTest, InAChildTheSameIsDone) {
  publish(recorded_add());
  TritonCache cache("add_kernel");
  const auto found = add_cached_ir_guarded(database_.directory(), {cache.folder()});
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(*found, 1u);
  EXPECT_EQ(kernel().level, CodeLevel::ir);
}

// What `mneme record` says of a program at a driver of the tests, whose kernel's IR is in a cache.
class RecordCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(MNEME_TEST_CUBIN, cache_.path() / "add_one.cubin");
    write_ir(
        "@table = addrspace(4) externally_initialized global [24 x i8] zeroinitializer\n"
        "@unused = addrspace(1) externally_initialized global i32 0\n"
        "define ptx_kernel void @add_one(ptr addrspace(1) %0, i32 %1) { ret void }\n");
  }
  void write_ir(const std::string& text) const { std::ofstream(cache_.path() / "add_one.llir") << text; }
  std::string record(const std::string& environment, const std::string& options) const {
    const std::string command =
        fmt::format("LD_LIBRARY_PATH=" MNEME_TEST_DRIVER_FOLDER " HOME=/nowhere TMPDIR=/nowhere {} " MNEME_TEST_COMMAND
                    " record -rdb {} --device cuda {} -- " MNEME_TEST_DRIVER_PROGRAM " dlsym " MNEME_TEST_CUBIN " launch 2>&1",
                    environment, database_.path().string(), options);
    std::string said;
    FILE* output = ::popen(command.c_str(), "r");
    for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) said += static_cast<char>(c);
    EXPECT_EQ(::pclose(output), 0) << said;
    return said;
  }
  CodeLevel level() const { return Database::open(database_.path())->list()->kernels.at(0).kernel.level; }

  TemporaryDirectory cache_, database_;
};

constexpr const char* kFound = "mneme: the LLVM IR of 1 kernel was found in Triton's cache\n";

TEST_F(RecordCommandTest, LooksInTheFolderThatItIsTold) {
  EXPECT_THAT(record("", ""), Not(HasSubstr("LLVM IR")));
  EXPECT_EQ(level(), CodeLevel::cubin);
  // The kernel was recorded before.
  EXPECT_THAT(record("", "--ir-cache " + cache_.path().string()), HasSubstr(kFound));
  EXPECT_EQ(level(), CodeLevel::ir);
  EXPECT_THAT(record("", "--ir-cache " + cache_.path().string()), Not(HasSubstr("LLVM IR")));
}

TEST_F(RecordCommandTest, LooksWhereTheProgramsEnvironmentPutsTheCache) {
  EXPECT_THAT(record("TRITON_CACHE_DIR=" + cache_.path().string(), ""), HasSubstr(kFound));
}

TEST_F(RecordCommandTest, WarnsOfIrThatIsNotUsableAndEndsAsTheProgram) {
  write_ir("no IR");
  EXPECT_THAT(record("", "--ir-cache " + cache_.path().string()),
              HasSubstr("mneme: warning: add_one stays without LLVM IR: a cache has its cubin, but not usable IR: reading " +
                        (cache_.path() / "add_one.llir").string() + " as textual LLVM IR: line 1, column 1: "));
  EXPECT_EQ(level(), CodeLevel::cubin);
}

// From the database to PTX.
class TakenOver : public CachedIrTest {
 protected:
  void take_over(const MadeRecording& made) {
    publish(made);
    TritonCache cache(made.kernel.name);
    ASSERT_EQ(cache.add_to(database_.directory()).value(), 1u);
    stored_ = std::make_unique<Database>(Database::open(database_.directory()).value());
    kernel_ = kernel();
    auto recorded = stored_->load_instance(instance_.static_hash, instance_.dynamic_hash);
    ASSERT_TRUE(recorded.ok()) << recorded.status().to_string();
    plan_ = plan_memory(kernel_, instance_, recorded->prologue, recorded->epilogue).value();
    compiler_ = Compiler::create(DeviceKind::cuda, "sm_90").value();
  }
  static Configuration by_o3() {  // as-built is the cubin
    Configuration configuration;
    configuration.passes = "default<O3>";
    return configuration;
  }
  Result<Translation> translate(const Configuration& configuration) {
    MNEME_ASSIGN(KernelCode code, KernelCode::load(*stored_, kernel_));
    MNEME_ASSIGN(const CompileRequest request, compile_request(configuration, {kernel_, instance_, plan_}, code));
    return compiler_->translate(**code.module(), request.options);
  }
  std::string ptx(const Configuration& configuration) {
    const auto translation = translate(configuration);
    EXPECT_TRUE(translation.ok()) << translation.status().to_string();
    return translation.ok() ? translation->code : std::string();
  }

  std::unique_ptr<Database> stored_;
  KernelRecord kernel_;
  MemoryPlan plan_;
  std::unique_ptr<Compiler> compiler_;
};

TEST_F(TakenOver, IsCompiledForTheArchitectureOfItsPtx) {
  take_over(recorded_add());
  const auto translation = translate(by_o3());
  ASSERT_TRUE(translation.ok()) << translation.status().to_string();
  EXPECT_EQ(translation->architecture, "sm_90a");
  EXPECT_THAT(translation->code, HasSubstr(".version 8.7"));
  EXPECT_THAT(translation->code, HasSubstr(".target sm_90a\n")) << "without \", debug\", which assemblers do not optimise";
  EXPECT_THAT(translation->code, HasSubstr(".reqntid 128"));
  EXPECT_THAT(translation->code, HasSubstr(".visible .entry add_kernel("));
}

TEST_F(TakenOver, PointersIntoSharedMemoryHave32BitsAsItsDataLayoutSays) {
  take_over(recorded_softmax());
  const std::string code = ptx(by_o3());
  EXPECT_THAT(code, HasSubstr(".extern .shared .align 16 .b8 global_smem[]"));
  EXPECT_THAT(code, testing::ContainsRegex("mov.b32 [^;]*, global_smem;"));
  EXPECT_THAT(code, Not(testing::ContainsRegex("mov.b64 [^;]*, global_smem;")));
}

TEST_F(TakenOver, IsContractedUnlessTheCompilerWasAskedNotTo) {
  publish(recorded_softmax());
  const auto fused = [&](const TritonCache& cache) {
    auto cached = read_cached_ir(kernel(), cache.file(".cubin"));
    EXPECT_TRUE(cached.ok()) << cached.status().to_string();
    auto module = ir::Module::parse(cached->bitcode, "softmax");
    return module->print().find("fsub contract float") != std::string::npos;
  };
  TritonCache cache("softmax_kernel");
  EXPECT_TRUE(fused(cache));
  cache.change(".json", "\"enable_fp_fusion\": true", "\"enable_fp_fusion\": false");
  EXPECT_FALSE(fused(cache));
}

TEST_F(TakenOver, AnotherBlockIsRefusedWithTheReason) {
  take_over(recorded_add());
  Configuration configuration;
  configuration.block.x = 64;
  EXPECT_EQ(translate(configuration).status().to_string(),
            "invalid_argument: block is 64x1x1: the kernel was recorded as LLVM IR, which can be launched with blocks of 128x1x1 "
            "alone (.reqntid); leave the block as recorded");
}

TEST_F(TakenOver, NotesOfAccessesSayThatTheyCannotSeeInlineAssembly) {
  take_over(recorded_add());
  KernelCode code = KernelCode::load(*stored_, kernel_).value();
  CompileOptions options = compile_options({}, kernel_, plan_);
  options.tracking.ranges.push_back({testing_store::kMadeSpaceBase, Bytes(64), Bytes(0)});
  const Status status = compiler_->translate(**code.module(), options).status();
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("inline assembly accesses memory: 'mov.u32 $0, 0x0;"));
  const Result<PointerUse>& use = code.pointer_use();
  ASSERT_TRUE(use.ok()) << use.status().to_string();
  EXPECT_EQ(use->other, "inline PTX that is given an address");
}

TEST_F(TakenOver, AsBuiltIsTheCubinAndWhatItLacksIsRefused) {
  take_over(recorded_add());
  Configuration configuration;
  EXPECT_TRUE(names_program_code(configuration, kernel_)) << "also where no pipeline is named";
  configuration.passes = "default<O3>";
  EXPECT_FALSE(names_program_code(configuration, kernel_));
  configuration.passes = kAsBuilt;
  EXPECT_TRUE(check_code_level(configuration, kernel_).ok());
  configuration.assembler.level = 1;
  EXPECT_EQ(check_code_level(configuration, kernel_).to_string(),
            "unsupported: assembler.level: as-built is the program's own machine code, without PTX that it could change; name a "
            "pipeline");
  configuration.assembler = {};
  configuration.codegen.level = 1;
  EXPECT_EQ(check_code_level(configuration, kernel_).to_string(),
            "unsupported: codegen.level: as-built is the program's own machine code, without IR that it could change; name a "
            "pipeline");
}

}  // namespace
}  // namespace mneme::cli
