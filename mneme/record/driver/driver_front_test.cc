// Programs that were not built for recording are recorded at a driver that the tests bring along: bare and recorded they print
// the same, and what is in the database is what they did.
#include "mneme/record/driver/driver_front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <span>

#include "mneme/base/file_system.h"
#include "mneme/device/address_space.h"
#include "mneme/record/driver/testing/recorded_program.h"
#include "mneme/runtime/testing/device_image.h"

namespace mneme::driver {
namespace {

using ::testing::HasSubstr;

class DriverFrontTest : public RecordedAtTheDriver {
 protected:
  // The memory of the one recorded launch.
  MemoryState prologue() {
    const auto all = kernels();
    if (all.size() != 1 || all[0].instances.size() != 1) return {};
    auto states = Database::open(database_)->load_memory(all[0].instances[0]);
    EXPECT_TRUE(states.ok());
    return states.ok() ? states->prologue : MemoryState();
  }
  static std::vector<MemoryRange> ranges(const MemoryState& state, Region::Kind kind) {
    std::vector<MemoryRange> found;
    for (const Region& region : state.regions)
      if (region.kind == kind) found.push_back(region.range());
    return found;
  }
};

const std::string kCubin = MNEME_TEST_CUBIN;
const std::string kSum = "sum 500500\n";  // of 0 to 999, and one for each

TEST_F(DriverFrontTest, ALaunchIsRecordedHoweverTheDriverIsFound) {
  for (const std::string way : {"dlsym ", "proc "}) {
    EXPECT_EQ(bare(way + kCubin + " launch"), kSum);
    EXPECT_EQ(recorded(way + kCubin + " launch"), kSum) << way;
  }
  EXPECT_EQ(bare("linked " + kCubin + " launch", MNEME_TEST_LINKED_PROGRAM), kSum);
  EXPECT_EQ(recorded("linked " + kCubin + " launch", MNEME_TEST_LINKED_PROGRAM), kSum);
  EXPECT_EQ(report().recorders, 3u);
  EXPECT_EQ(report().launches, 3u);
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(report().duplicates, 2u);
}

TEST_F(DriverFrontTest, AKernelThatIsNotAskedForByNameIsRecorded) {
  const std::string steps = "dlsym " + kCubin + " enumerated";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().launches, 2u);
  EXPECT_EQ(report().instances, 2u);
  EXPECT_EQ(report().loads, 2u);
}

TEST_F(DriverFrontTest, AllocationsAndLoadsThatSucceedAreCounted) {
  recorded("dlsym " + kCubin);
  EXPECT_EQ(report().allocations, 1u);
  EXPECT_EQ(report().loads, 1u);
  recorded("dlsym " + kCubin + " async managed mapped pool library");
  EXPECT_EQ(report().allocations, 1 + 1 + 2 + 1 + 2 + 1u);
  EXPECT_EQ(report().loads, 1 + 1 + 1u);
}

TEST_F(DriverFrontTest, WhatIsRecordedIsTheCodeTheLaunchAndTheMemory) {
  ASSERT_EQ(recorded("dlsym " + kCubin + " launch"), kSum);
  const auto all = kernels();
  ASSERT_EQ(all.size(), 1u);
  const KernelRecord& kernel = all[0].kernel;
  EXPECT_EQ(kernel.name, "add_one");
  EXPECT_EQ(kernel.arch, "sm_90");
  EXPECT_EQ(kernel.level, CodeLevel::cubin);
  ASSERT_EQ(kernel.images.size(), 1u);
  EXPECT_EQ(kernel.images[0].kind, CodeImageRecord::Kind::cubin);
  const auto cubin = FileSystem::posix().read(kCubin);
  ASSERT_TRUE(cubin.ok());
  EXPECT_EQ(kernel.images[0].digest, digest_of(*cubin));
  ASSERT_EQ(kernel.parameters.size(), 2u);
  EXPECT_EQ(kernel.parameters[1], (Parameter{Parameter::Kind::opaque, "", "", 8, 4, 1}));
  EXPECT_EQ(kernel.parameter_bytes, 12u);
  // The driver finds one of the two variables that the cubin has.
  ASSERT_EQ(kernel.globals.size(), 2u);
  EXPECT_EQ(kernel.globals[0].name, "table");
  EXPECT_TRUE(kernel.globals[0].constant_space);

  ASSERT_EQ(all[0].instances.size(), 1u);
  const InstanceRecord& instance = all[0].instances[0];
  EXPECT_EQ(instance.grid, (Dim3{4, 1, 1}));
  EXPECT_EQ(instance.block, (Dim3{256, 1, 1}));
  auto database = Database::open(database_);
  ASSERT_TRUE(database.ok());
  EXPECT_TRUE(database->check_instance(instance.static_hash, instance.dynamic_hash).ok());
  auto states = database->load_memory(instance);
  ASSERT_TRUE(states.ok());
  const auto words_of = [&](const MemoryState& state) {
    std::vector<uint32_t> words(1000);
    for (const Region& region : state.regions) {
      if (region.kind != Region::Kind::allocation) continue;
      const PageRequest request{region.pages.at(0), std::as_writable_bytes(std::span(words))};
      EXPECT_TRUE(database->read_pages({&request, 1}).ok());
    }
    return words;
  };
  EXPECT_EQ(words_of(states->prologue)[999], 999u);
  EXPECT_EQ(words_of(states->epilogue)[999], 1000u);
}

TEST_F(DriverFrontTest, KernelsOfLibrariesAndPackedArgumentsAreTheSameLaunch) {
  EXPECT_EQ(recorded("dlsym " + kCubin + " packed"), kSum);
  EXPECT_EQ(recorded("proc " + kCubin + " library launch"), kSum);
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(report().duplicates, 1u);
}

TEST_F(DriverFrontTest, CodeInContainersIsTheSameCode) {
  for (const char* image : {MNEME_TEST_FATBIN, MNEME_TEST_FATBIN_ZSTD, MNEME_TEST_FATBIN_LZ4})
    EXPECT_EQ(recorded("dlsym " + std::string(image) + " launch"), kSum);
  EXPECT_EQ(recorded("dlsym " + kCubin + " launch"), kSum);
  const auto all = kernels();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].instances.size(), 1u);
}

TEST_F(DriverFrontTest, PtxIsRecordedAsText) {
  EXPECT_EQ(recorded("dlsym " MNEME_TEST_PTX " launch"), kSum);
  const auto all = kernels();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kernel.level, CodeLevel::ptx);
  ASSERT_EQ(all[0].kernel.images.size(), 1u);
  EXPECT_EQ(all[0].kernel.images[0].kind, CodeImageRecord::Kind::ptx);
  ASSERT_EQ(all[0].kernel.globals.size(), 2u);
  EXPECT_EQ(all[0].kernel.globals[0].name, "table");
  EXPECT_TRUE(all[0].kernel.globals[0].constant_space);
  EXPECT_EQ(all[0].kernel.globals[1].name, "unused");
}

TEST_F(DriverFrontTest, HowTheProgramHasPtxAssembledIsKept) {
  EXPECT_EQ(recorded("dlsym " MNEME_TEST_PTX " jit_options launch"), kSum);
  const auto all = kernels();
  ASSERT_EQ(all.size(), 1u);
  using Attributes = std::map<std::string, std::string>;
  EXPECT_EQ(all[0].instances.at(0).attributes, (Attributes{{"jit_max_registers", "32"}, {"jit_optimization_level", "1"}}));
}

TEST_F(DriverFrontTest, MachineCodeIsAssembledAlready) {
  EXPECT_EQ(recorded("dlsym " + kCubin + " jit_options launch"), kSum);
  EXPECT_TRUE(kernels().at(0).instances.at(0).attributes.empty());
}

TEST_F(DriverFrontTest, StreamOrderedMemoryIsServed) {
  EXPECT_EQ(bare("dlsym " + kCubin + " async"), "sum 499500\n");
  EXPECT_EQ(recorded("dlsym " + kCubin + " async"), "sum 499500\n");
  EXPECT_EQ(report().instances, 1u);
}

TEST_F(DriverFrontTest, WhatCannotBeRecordedIsCountedWithItsReason) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " capture texture unknown grid";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 0u);
  EXPECT_EQ(report().launches, 3u);  // what goes into a graph is launched by the graph
  EXPECT_EQ(passed(NotRecorded::textures), 1u);
  EXPECT_EQ(passed(NotRecorded::unknown_kernel), 1u);
  EXPECT_EQ(passed(NotRecorded::parameter_set), 1u);
}

// Machine code does not tell whether it uses them.
TEST_F(DriverFrontTest, TexturesAndSurfacesAreRecordedWithTheirArrays) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " surface launch";
  EXPECT_EQ(recorded(steps), bare(steps));
  ASSERT_EQ(report().instances, 2u);
  auto database = Database::open(database_);
  const KernelDocument kernel = kernels().at(0);
  const InstanceRecord &first = kernel.instances.at(0), &second = kernel.instances.at(1);
  const auto with = database->load_instance(first.static_hash, first.dynamic_hash);
  const auto without = database->load_instance(second.static_hash, second.dynamic_hash);
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_TRUE(without->prologue.textures.empty()) << "the array was destroyed, and its surface with it";
  const TextureSet& textures = with->prologue.textures;
  ASSERT_EQ(textures.objects.size(), 1u);
  EXPECT_EQ(textures.objects[0].kind, TextureObject::Kind::surface);
  ASSERT_EQ(textures.arrays.size(), 1u);
  EXPECT_EQ(textures.arrays[0].shape, (ArrayShape{4, 2, 0, {CU_AD_FORMAT_FLOAT, 1}, ArrayShape::kSurface, 0}));
  const auto& regions = with->prologue.regions;
  const auto copy = std::find_if(regions.begin(), regions.end(), [](const Region& r) { return r.kind == Region::Kind::array; });
  ASSERT_NE(copy, regions.end());
  const float last[] = {0, 0, 0, 0, 0, 0, 0, 7};
  EXPECT_EQ(copy->pages.at(0), digest_of(std::as_bytes(std::span(last))));
}

TEST_F(DriverFrontTest, PtxTellsThatItUsesNoTextures) {
  const std::string steps = "dlsym " MNEME_TEST_PTX " surface";
  EXPECT_EQ(recorded(steps), bare(steps));
  ASSERT_EQ(report().instances, 1u);
  EXPECT_TRUE(prologue().textures.empty());
}

TEST_F(DriverFrontTest, ALaunchIsRecordedWithTheTexturesOfItsOwnContext) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " lasting_surface context launch destroy";
  EXPECT_EQ(recorded(steps), bare(steps));
  auto database = Database::open(database_);
  std::map<DevicePtr, size_t> objects;  // by what the kernel was given
  const auto all = kernels();
  for (const InstanceRecord& instance : all.at(0).instances) {
    DevicePtr given;
    std::memcpy(&given.address, instance.parameters.data(), sizeof given.address);
    objects[given] = database->load_memory(instance)->prologue.textures.objects.size();
  }
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects.begin()->second, 1u);
  EXPECT_EQ(objects.rbegin()->second, 0u);
}

TEST_F(DriverFrontTest, AKernelThatMayReadATextureByAReferenceIsNotRecorded) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " launch reference";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::textures), 1u);
}

TEST_F(DriverFrontTest, ArraysAndMemoryOfGraphicsAreNotRecorded) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " graphics launch";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(passed(NotRecorded::textures), 1u) << "a surface of an array that is not copied may be written";
  EXPECT_EQ(passed(NotRecorded::external_memory), 1u);
  EXPECT_EQ(report().instances, 1u) << "when they were unmapped";
}

// By a pointer, by a texture of a mipmapped array, and by one of a level of it.
TEST_F(DriverFrontTest, MemoryOfAnotherInterfaceThatIsImportedIsNotRecorded) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " external launch";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(passed(NotRecorded::external_memory), 1u);
  EXPECT_EQ(passed(NotRecorded::textures), 2u);
  EXPECT_EQ(report().instances, 1u) << "which uses none of it";
}

// What kernels need for calls whose depth the compiler does not know, and for launches of their own.
TEST_F(DriverFrontTest, LimitsOfTheContextAreRecordedWhereTheProgramHasRaisedThem) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " launch limits launch";
  EXPECT_EQ(recorded(steps), bare(steps));
  const KernelDocument kernel = kernels().at(0);
  ASSERT_EQ(kernel.instances.size(), 2u);
  std::vector<std::map<std::string, std::string>> attributes;
  for (const InstanceRecord& instance : kernel.instances) attributes.push_back(instance.attributes);
  const std::map<std::string, std::string> raised = {{"limit_pending_launches", "4096"}, {"limit_stack_size", "65536"}};
  EXPECT_THAT(attributes, ::testing::UnorderedElementsAre(::testing::IsEmpty(), raised));
}

TEST_F(DriverFrontTest, AKernelThatReadsAManagedVariableIsNotRecorded) {
  for (const char* image : {MNEME_TEST_MANAGED_CUBIN, MNEME_TEST_MANAGED_PTX})
    EXPECT_EQ(recorded("dlsym " + std::string(image) + " launch"), kSum) << image;
  EXPECT_EQ(report().instances, 0u);
  EXPECT_EQ(passed(NotRecorded::managed_global), 2u);
}

TEST_F(DriverFrontTest, AManagedVariableIsRecordedByItsName) {
  ::setenv("MNEME_FAKE_MANAGED_VARIABLE", "4", 1);
  for (const char* image : {MNEME_TEST_MANAGED_CUBIN, MNEME_TEST_MANAGED_PTX})
    for (const char* way : {" launch", " library launch"})
      EXPECT_EQ(recorded("dlsym " + std::string(image) + way), kSum) << image;
  EXPECT_EQ(report().instances, 2u);
  EXPECT_EQ(report().duplicates, 2u);
  for (const KernelDocument& kernel : kernels()) {
    const auto states = Database::open(database_)->load_memory(kernel.instances.at(0));
    ASSERT_TRUE(states.ok());
    const auto& regions = states->prologue.regions;
    EXPECT_TRUE(
        std::ranges::any_of(regions, [](const Region& r) { return r.kind == Region::Kind::global && r.name == "increment"; }));
  }
  // What has the name and is another thing is none.
  ::setenv("MNEME_FAKE_MANAGED_VARIABLE", "8", 1);
  recorded("dlsym " MNEME_TEST_MANAGED_PTX " launch");
  EXPECT_EQ(passed(NotRecorded::managed_global), 1u);
  ::setenv("MNEME_FAKE_MANAGED_VARIABLE", "4", 1);
  ::setenv("MNEME_FAKE_SHARES_MANAGED", "0", 1);
  recorded("dlsym " MNEME_TEST_MANAGED_PTX " launch");
  ::unsetenv("MNEME_FAKE_SHARES_MANAGED");
  ::unsetenv("MNEME_FAKE_MANAGED_VARIABLE");
  EXPECT_EQ(passed(NotRecorded::managed_global), 2u);
}

TEST_F(DriverFrontTest, AKernelThatAllocatesOrFreesItselfIsNotRecorded) {
  for (const char* image : {MNEME_TEST_HEAP_CUBIN, MNEME_TEST_HEAP_PTX})
    EXPECT_EQ(recorded("dlsym " + std::string(image) + " launch"), kSum) << image;
  EXPECT_EQ(report().instances, 0u);
  EXPECT_EQ(passed(NotRecorded::device_heap), 2u);
}

// Static variables of two files have one name in what they are linked into, where nothing tells which of them the driver finds.
TEST_F(DriverFrontTest, AKernelWhoseImageHasTwoVariablesOfOneNameIsNotRecorded) {
  recorded("dlsym " MNEME_TEST_TWO_VARIABLES_CUBIN " launch");
  EXPECT_EQ(passed(NotRecorded::same_names), 0u);
  const ByteVector read = FileSystem::posix().read(MNEME_TEST_TWO_VARIABLES_CUBIN).value();
  std::string image(reinterpret_cast<const char*>(read.data()), read.size());
  for (size_t at = image.find("counted_b"); at != std::string::npos; at = image.find("counted_b")) image[at + 8] = 'a';
  const std::string file = (folder_.path() / "same.cubin").string();
  ASSERT_TRUE(FileSystem::posix().write_atomically(file, std::as_bytes(std::span(image))).ok());
  recorded("dlsym " + file + " launch");
  EXPECT_EQ(passed(NotRecorded::same_names), 1u);
  EXPECT_EQ(report().instances, 1u) << "of the image that has two names";
}

// With the code of the kernels that it launches, and all that they may reach.
TEST_F(DriverFrontTest, AKernelThatLaunchesKernelsIsRecordedAsMachineCode) {
  const std::string cubin = MNEME_TEST_LAUNCHES_CUBIN;
  EXPECT_EQ(recorded("dlsym " + cubin + " launch"), kSum);
  ASSERT_EQ(report().instances, 1u);
  const KernelDocument document = kernels().at(0);
  EXPECT_EQ(document.kernel.level, CodeLevel::cubin);
  EXPECT_EQ(document.instances.at(0).memory_extent, MemoryExtent::all);
  auto image = Database::open(database_)->load_image(document.kernel.images.at(0));
  ASSERT_TRUE(image.ok());
  std::ifstream file(cubin, std::ios::binary);
  const std::string loaded{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(std::ranges::equal(*image, std::as_bytes(std::span(loaded))));

  EXPECT_EQ(recorded("dlsym " MNEME_TEST_LAUNCHES_PTX " launch"), kSum);
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::device_launch), 1u);
}

TEST_F(DriverFrontTest, MemoryThatIsNotTheDevicesOwnIsKnownAndNotServed) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " pool other_pool captured_memory launch";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::pool_memory), 3u);
}

TEST_F(DriverFrontTest, MemoryOfAPoolOfTheProgramsOwnIsServed) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " own_pool";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 3u);
  EXPECT_EQ(passed(NotRecorded::pool_memory), 0u);
}

TEST_F(DriverFrontTest, MemoryOfAPoolThatIsMoreThanTheDevicesMemoryIsNotServed) {
  options_.max = 100;
  for (const std::string pool : {" shared_pool", " small_pool", " managed_pool"}) {
    const std::string steps = "dlsym " + kCubin + pool;
    EXPECT_EQ(recorded(steps), bare(steps));
  }
  EXPECT_EQ(report().instances, 0u);
  EXPECT_EQ(passed(NotRecorded::pool_memory), 9u);
}

TEST_F(DriverFrontTest, MemoryThatTheProgramMapsItselfIsRecordedWhereItLies) {
  const std::string steps = "dlsym " + kCubin + " no_access mapped";
  EXPECT_EQ(bare(steps), "mapped 500500\nsum 499500\n");
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 1u);
  const MemoryState state = prologue();
  // The driver takes no wish for less than 32 MiB, so that each reservation is that large. Two pieces are one region.
  EXPECT_EQ(ranges(state, Region::Kind::mapped), std::vector({MemoryRange{kReservationsBase + kReservationStep, 4_MiB}}));
  EXPECT_EQ(ranges(state, Region::Kind::allocation).size(), 0u) << "nothing leads to the program's allocation";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().duplicates, 1u) << "reservations have the same places in each run";
}

TEST_F(DriverFrontTest, WhatIsNotMappedAnyMoreIsNotRecorded) {
  const std::string steps = "dlsym " + kCubin + " mapped launch mapped";
  options_.kernels = "add_one";
  options_.skip = 1;
  options_.max = 1;
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(ranges(prologue(), Region::Kind::mapped), std::vector<MemoryRange>());
}

TEST_F(DriverFrontTest, NothingIsUnmappedUnderACapture) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " meanwhile";
  EXPECT_EQ(recorded(steps), "sum 519500\n");
  EXPECT_EQ(report().instances, 20u);
  for (const KernelDocument& kernel : kernels())
    for (const InstanceRecord& instance : kernel.instances)
      EXPECT_TRUE(Database::open(database_)->check_instance(instance.static_hash, instance.dynamic_hash).ok());
}

TEST_F(DriverFrontTest, ContextsComeAndGoWhileKernelsRun) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " contexts_meanwhile";
  EXPECT_EQ(recorded(steps), "sum 519500\n");
  EXPECT_EQ(report().launches, 20u);
  EXPECT_EQ(report().instances + report().duplicates + passed(NotRecorded::concurrent), 20u);
  for (const KernelDocument& kernel : kernels())
    for (const InstanceRecord& instance : kernel.instances)
      EXPECT_TRUE(Database::open(database_)->check_instance(instance.static_hash, instance.dynamic_hash).ok());
}

TEST_F(DriverFrontTest, AReservationLiesWhereTheProgramOrTheDriverWantsIt) {
  EXPECT_EQ(recorded("dlsym " + kCubin + " mapped_elsewhere"), "mapped 500500\nsum 499500\n");
  EXPECT_EQ(ranges(prologue(), Region::Kind::mapped), std::vector({MemoryRange{DevicePtr(0x6e0000000000), 2_MiB}}));
  std::filesystem::remove_all(database_);
  ::setenv("MNEME_FAKE_ELSEWHERE_FROM", fmt::format("{:#x}", kReservationsBase.address).c_str(), 1);
  EXPECT_EQ(recorded("dlsym " + kCubin + " mapped"), "mapped 500500\nsum 499500\n");
  ::unsetenv("MNEME_FAKE_ELSEWHERE_FROM");
  const auto elsewhere = ranges(prologue(), Region::Kind::mapped);
  ASSERT_EQ(elsewhere.size(), 1u);
  EXPECT_TRUE(elsewhere[0].address < kReservationsBase || elsewhere[0].address > kHostMemoryBase) << elsewhere[0].address.address;
}

TEST_F(DriverFrontTest, MappedMemoryThatIsMoreThanTheDevicesOwnIsKnownAndNotRecorded) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " alias host_memory imported launch";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::mapped_memory), 2u);
  EXPECT_EQ(passed(NotRecorded::external_memory), 1u);
  EXPECT_EQ(ranges(prologue(), Region::Kind::mapped), std::vector<MemoryRange>());
}

TEST_F(DriverFrontTest, ManagedMemoryIsRecordedWhereItLies) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " managed launch";
  EXPECT_EQ(bare(steps), "managed 500500\n" + kSum);
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 2u);
  const auto all = kernels();
  ASSERT_EQ(all.size(), 1u);
  const auto database = *Database::open(database_);
  std::vector<size_t> managed;
  for (const InstanceRecord& instance : all[0].instances)
    managed.push_back(ranges(database.load_memory(instance)->prologue, Region::Kind::managed).size());
  EXPECT_EQ(managed, (std::vector<size_t>{1, 0})) << "the second launch came when it was freed";
}

TEST_F(DriverFrontTest, HostMemoryIsRecordedWhereItIsPinned) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " pinned registered launch";
  EXPECT_EQ(bare(steps), "pinned 500500\nregistered 500500\n" + kSum);
  EXPECT_EQ(recorded(steps), bare(steps));
  ASSERT_EQ(report().instances, 3u);
  const auto all = kernels();
  const auto database = *Database::open(database_);
  std::vector<MemoryRange> host;
  for (const InstanceRecord& instance : all.at(0).instances)
    for (const MemoryRange& range : ranges(database.load_memory(instance)->prologue, Region::Kind::host)) host.push_back(range);
  ASSERT_EQ(host.size(), 2u) << "the third launch came when both were gone";
  EXPECT_EQ(host[0], (MemoryRange{kHostMemoryBase, Bytes(4000)}));
  EXPECT_EQ(host[1].size, Bytes(4000));
}

TEST_F(DriverFrontTest, PageableMemoryOfTheHostIsNotRecordedWhereTheDeviceReachesIt) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " pageable pageable launch";
  EXPECT_EQ(bare(steps), "pageable 500500\npageable 500500\n" + kSum);
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::pageable_memory), 2u);
  EXPECT_EQ(kernels().at(0).instances.at(0).attributes, (std::map<std::string, std::string>()));
}

// Of machine code it is not known whether eight bytes are a pointer: 2^22, say, is a size and also where many programs begin.
TEST_F(DriverFrontTest, ANumberThatIsAlsoAnAddressOfTheProgramIsNoPointerToPageableMemory) {
  EXPECT_EQ(recorded("dlsym " + kCubin + " pageable_low"), "pageable low 1\nsum 499500\n");
  EXPECT_EQ(passed(NotRecorded::pageable_memory), 0u);
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(kernels().at(0).instances.at(0).attributes,
            (std::map<std::string, std::string>{{"pageable_pointers", "parameters"}}));
}

TEST_F(DriverFrontTest, ALaunchIsRecordedWhereTheDeviceReachesNoPageableMemory) {
  ::setenv("MNEME_FAKE_REACHES_PAGEABLE", "0", 1);
  options_.max = 100;
  EXPECT_EQ(recorded("dlsym " + kCubin + " pageable pageable_behind"), "pageable 500500\npageable behind 500500\nsum 499500\n");
  ::unsetenv("MNEME_FAKE_REACHES_PAGEABLE");
  EXPECT_EQ(report().instances, 2u) << "the program's kernel would fault, and the recorder leaves it so";
  EXPECT_EQ(passed(NotRecorded::pageable_memory), 0u);
  const auto all = kernels();
  ASSERT_EQ(all.size(), 1u);
  for (const InstanceRecord& instance : all[0].instances) EXPECT_TRUE(instance.attributes.empty());
}

TEST_F(DriverFrontTest, AnAddressOfPageableMemoryInWhatALaunchReachesIsToldByTheInstance) {
  options_.max = 100;
  const std::map<std::string, std::string> told = {{"pageable_pointers", "memory"}};
  for (const MemoryExtent extent : {MemoryExtent::reachable, MemoryExtent::all}) {
    options_.memory_extent = extent;
    EXPECT_EQ(recorded("dlsym " + kCubin + " pageable_behind"), "pageable behind 500500\nsum 499500\n");
  }
  EXPECT_EQ(recorded("dlsym " + kCubin + " launch"), kSum);
  EXPECT_EQ(passed(NotRecorded::pageable_memory), 0u);
  std::multiset<std::map<std::string, std::string>> attributes;
  const auto all = kernels();
  ASSERT_EQ(all.size(), 1u);
  for (const InstanceRecord& instance : all[0].instances) attributes.insert(instance.attributes);
  EXPECT_EQ(attributes, (std::multiset<std::map<std::string, std::string>>{{}, told, told}));
}

TEST_F(DriverFrontTest, ManagedMemoryThatTheHostMayNotReachMeanwhileIsNotRecorded) {
  ::setenv("MNEME_FAKE_SHARES_MANAGED", "0", 1);
  const std::string steps = "dlsym " + kCubin + " managed launch";
  EXPECT_EQ(recorded(steps), bare(steps));
  ::unsetenv("MNEME_FAKE_SHARES_MANAGED");
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::managed_memory), 1u);
}

TEST_F(DriverFrontTest, AContextOfTheProgramsOwnIsRecordedAndGoesWithWhatIsInIt) {
  const std::string steps = "dlsym " + kCubin + " launch context launch launch destroy launch";
  options_.max = 100;
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_THAT(bare(steps), HasSubstr("free 1\n"));
  // In its context each launch finds what the one before has left; all that were made see other memory beside their own.
  EXPECT_EQ(report().launches, 5u);
  EXPECT_EQ(report().instances, 4u);
  EXPECT_EQ(passed(NotRecorded::unknown_kernel), 1u) << "the module went with its context";
}

TEST_F(DriverFrontTest, AContextGoesWhenTheProgramHasDetachedFromItAsOftenAsItAttached) {
  const std::string steps = "dlsym " + kCubin + " context attach detach launch detach_last launch";
  options_.max = 100;
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_THAT(bare(steps), HasSubstr("free 1\n"));
  EXPECT_EQ(report().instances, 2u);
  EXPECT_EQ(passed(NotRecorded::unknown_kernel), 1u) << "the module went with its context";
}

TEST_F(DriverFrontTest, AKernelOfALibraryIsTheSameInEachContext) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " library launch context library launch destroy";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 3u);
  EXPECT_EQ(kernels().size(), 1u);
}

TEST_F(DriverFrontTest, EveryFunctionOfTheTableIsHooked) {
  std::set<int> hooked;
  for (const auto& hooks : {image_hooks(), context_hooks(), peer_hooks(), memory_hooks(), texture_hooks(), mapped_memory_hooks(),
                            sharing_hooks(), opening_hooks(), host_memory_hooks(), launch_hooks(), graph_hooks(), write_hooks()})
    for (const DriverHook& one : hooks) EXPECT_TRUE(hooked.insert(one.slot).second) << one.slot;
  // Deployed code stands before these alone (GraphsAtTheDriver.EveryFunctionOfNodesIsHooked).
#define MNEME_ADD(name) EXPECT_TRUE(hooked.insert(MNEME_DRIVER_CALL_##name).second) << #name;
  MNEME_DRIVER_NODE_CALLS(MNEME_ADD)
#undef MNEME_ADD
  EXPECT_EQ(hooked.size(), size_t{MNEME_DRIVER_CALL_COUNT});
}

TEST_F(DriverFrontTest, AValueThatAStreamWritesIsWritten) {
  const std::string steps = "dlsym " + kCubin + " launch write_value";
  EXPECT_EQ(bare(steps), "sum 500506\n");
  EXPECT_EQ(recorded(steps), bare(steps));
}

TEST_F(DriverFrontTest, APrimaryContextThatTheProgramLetsGoIsGone) {
  const std::string steps = "dlsym " + kCubin + " launch release launch";
  options_.max = 100;
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_THAT(bare(steps), HasSubstr("free 1\n"));
  EXPECT_EQ(report().launches, 3u);
  EXPECT_EQ(report().instances, 2u);
  EXPECT_EQ(passed(NotRecorded::unknown_kernel), 1u);
}

// As a library does that looks which devices there are.
TEST_F(DriverFrontTest, APrimaryContextThatIsLetGoLeavesMemoryOfOtherContexts) {
  const std::string steps = "dlsym " + kCubin + " context launch let_go launch";
  options_.max = 100;
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 2u);
}

TEST_F(DriverFrontTest, APrimaryContextThatIsResetTakesItsMemoryAndLeavesThatOfOtherContexts) {
  const std::string steps = "dlsym " + kCubin + " launch context launch reset_primary launch";
  options_.max = 100;
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_THAT(bare(steps), HasSubstr("free 1\n"));
  EXPECT_EQ(report().instances, 3u);
}

TEST_F(DriverFrontTest, AGreenContextAndAStreamOfAnotherContextAreNotRecorded) {
  const std::string steps = "dlsym " + kCubin + " green other_stream launch";
  options_.max = 100;
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::other_context), 2u);
}

TEST_F(DriverFrontTest, EachDeviceIsRecordedInARangeOfItsOwn) {
  ::setenv("MNEME_FAKE_DEVICES", "2", 1);
  const std::string steps = "dlsym " + kCubin + " launch device launch back launch";
  options_.max = 100;
  EXPECT_EQ(recorded(steps), bare(steps));
  ::unsetenv("MNEME_FAKE_DEVICES");
  EXPECT_EQ(report().instances, 3u);
  const auto all = kernels();
  ASSERT_EQ(all.size(), 1u);
  std::map<DevicePtr, int> bases;
  for (const InstanceRecord& instance : all[0].instances) ++bases[instance.space_base];
  EXPECT_EQ(bases, (std::map<DevicePtr, int>{{address_space_base(1), 1}, {address_space_base(0), 2}}));
  for (const InstanceRecord& instance : all[0].instances)
    EXPECT_EQ(instance.attributes.contains("device"), instance.space_base == address_space_base(1));
}

TEST_F(DriverFrontTest, MemoryOfAnotherDeviceIsReachedAsTheProgramHasAllowed) {
  ::setenv("MNEME_FAKE_DEVICES", "2", 1);
  options_.max = 100;
  for (const std::string way : {" launch device peer", " pool_access device peer_launch launch"}) {
    const std::string steps = "dlsym " + kCubin + way;
    EXPECT_EQ(recorded(steps), bare(steps)) << way;
  }
  // What was not allowed faults in the program.
  EXPECT_EQ(recorded("dlsym " + kCubin + " device peer_launch"), "cuLaunchKernel returned 700\nstatus 1024\n");
  ::unsetenv("MNEME_FAKE_DEVICES");
  EXPECT_EQ(passed(NotRecorded::peer_memory), 4u);
}

TEST_F(DriverFrontTest, MemoryOfAnotherDeviceIsNotReachedAnyMoreWhenTheProgramTakesThatBack) {
  ::setenv("MNEME_FAKE_DEVICES", "2", 1);
  for (const std::string way : {" launch device peer disable_peer", " pool_access pool_access device pool_no_access"})
    EXPECT_EQ(recorded("dlsym " + kCubin + way + " peer_launch"), "cuLaunchKernel returned 700\nstatus 1024\n") << way;
  // Nor when the pool is gone, or the device has been reset.
  for (const std::string way : {" destroyed_pool device", " device peer back reset_second device"})
    EXPECT_EQ(recorded("dlsym " + kCubin + way + " peer_launch"), "cuLaunchKernel returned 700\nstatus 1024\n") << way;
  // What is allocated from a pool outlives it.
  const std::string in_use = "dlsym " + kCubin + " destroyed_pool_in_use launch device peer_launch";
  EXPECT_EQ(recorded(in_use), bare(in_use));
  // Of two permissions one is left.
  const std::string steps = "dlsym " + kCubin + " pool_access launch device peer disable_peer peer_launch";
  EXPECT_EQ(recorded(steps), bare(steps));
  ::unsetenv("MNEME_FAKE_DEVICES");
}

// Memory that the driver places is recorded where it lies, and is the program's own in every way.
TEST_F(DriverFrontTest, MemoryThatTheDriverPlacesIsRecordedAndCanBeShared) {
  options_.memory_from = MemoryFrom::driver;
  const std::string steps = "dlsym " + kCubin + " share launch pitched share launch";
  EXPECT_THAT(bare(steps), HasSubstr("shared: 0\n"));
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 3u);
  const auto all = kernels();
  ASSERT_EQ(all.size(), 1u);
  for (const InstanceRecord& instance : all[0].instances) {
    const auto states = Database::open(database_)->load_memory(instance);
    ASSERT_TRUE(states.ok()) << states.status().to_string();
    const auto placed = ranges(states->prologue, Region::Kind::mapped);
    ASSERT_EQ(placed.size(), 1u) << "of reachable memory, and what was freed is not there";
    EXPECT_TRUE(ranges(states->prologue, Region::Kind::allocation).empty());
  }
}

// The recorder reads in primary contexts, and serves what is allocated in others as usual.
TEST_F(DriverFrontTest, MemoryOfAContextOfTheProgramsOwnIsTheRecordersWhoeverPlacesTheOther) {
  options_.memory_from = MemoryFrom::driver;
  const std::string steps = "dlsym " + kCubin + " context launch destroy launch";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 2u);
}

TEST_F(DriverFrontTest, AnAllocationIsWhatTheProgramAskedFor) {
  EXPECT_EQ(recorded("dlsym " + kCubin + " range free launch"), "range 1 4000\nsum 1000\n");
}

TEST_F(DriverFrontTest, PitchedMemoryIsServed) {
  const std::string steps = "dlsym " + kCubin + " pitched";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 1u);
  const auto allocations = ranges(prologue(), Region::Kind::allocation);
  ASSERT_EQ(allocations.size(), 1u);
  EXPECT_EQ(allocations[0].size, Bytes(4 * 1024)) << "rows of 1000 bytes";
}

TEST_F(DriverFrontTest, AForkedChildRecordsNothing) {
  EXPECT_EQ(recorded("dlsym " + kCubin + " fork launch"), kSum);
  EXPECT_EQ(report().instances, 1u);
}

TEST_F(DriverFrontTest, AProcessThatWasStartedWithAllDescriptorsClosedIsCounted) {
  const std::string closing =
      "bash -c 'for f in /proc/self/fd/*; do n=${f##*/}; [ $n -gt 2 ] && eval \"exec $n>&-\"; done; exec \"$@\"' - ";
  EXPECT_EQ(recorded("dlsym " + kCubin + " launch", closing + MNEME_TEST_PROGRAM), kSum);
  EXPECT_EQ(report().launches, 1u);
  EXPECT_EQ(report().instances, 1u);
}

TEST_F(DriverFrontTest, WhereThereIsNoMoreMemoryTheProgramIsToldAsWithoutRecording) {
  ::setenv("MNEME_FAKE_MEMORY", "536870912", 1);
  const std::string steps = "dlsym " + kCubin + " too_much launch";
  const std::string without = bare(steps), with = recorded(steps);
  ::unsetenv("MNEME_FAKE_MEMORY");
  EXPECT_EQ(without, "too much: 2, pieces: 63, and again\nsum 500500\n");
  EXPECT_EQ(with, without);
  EXPECT_EQ(report().instances, 1u);
}

TEST_F(DriverFrontTest, WhatIsAllocatedAndFreedIsSeenInTheMemoryThatIsLeft) {
  const std::string steps = "dlsym " + kCubin + " info trim launch info";
  EXPECT_EQ(bare(steps), "taken 64, given back 64\nleft behind 0\ntaken 64, given back 64\nsum 500500\n");
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 1u);
}

TEST_F(DriverFrontTest, AttributesOfPointersAreThoseOfTheProgramsAllocations) {
  const std::string steps = "dlsym " + kCubin + " attributes";
  EXPECT_THAT(bare(steps), HasSubstr("memory of the pool: type 2 of device 0, mapped 1, pool 0x100\n"));
  EXPECT_EQ(recorded(steps), bare(steps));
  ::setenv("SHOW_RANGES", "1", 1);
  const std::string ranges = recorded(steps);
  ::unsetenv("SHOW_RANGES");
  EXPECT_THAT(ranges, HasSubstr("memory: type 2 of device 0, mapped 1, pool 0, begins there: 1, 4000 bytes\n"));
  EXPECT_THAT(ranges, HasSubstr("memory of the pool: type 2 of device 0, mapped 1, pool 0x100, begins there: 1, 4000 bytes\n"));
}

TEST_F(DriverFrontTest, ArraysOfThreeDimensionsAndOfLevelsAreRecorded) {
  options_.max = 100;
  const std::string steps = "dlsym " + kCubin + " volume mipmapped";
  EXPECT_EQ(recorded(steps), bare(steps));
  ASSERT_EQ(report().instances, 2u);
  const auto database = Database::open(database_);
  std::vector<ArrayShape> shapes;  // of all launches
  std::map<TextureObject::Kind, size_t> objects;
  const auto all = kernels();
  for (const InstanceRecord& instance : all.at(0).instances) {
    const auto states = database->load_memory(instance);
    ASSERT_TRUE(states.ok()) << states.status().to_string();
    for (const auto& array : states->prologue.textures.arrays) shapes.push_back(array.shape);
    for (const TextureObject& object : states->prologue.textures.objects) ++objects[object.kind];
  }
  const ArrayShape volume{4, 2, 3, {CU_AD_FORMAT_FLOAT, 1}, ArrayShape::kSurface, 0};
  const ArrayShape levels{8, 4, 0, {CU_AD_FORMAT_FLOAT, 1}, ArrayShape::kSurface, 3};
  EXPECT_EQ(std::ranges::count(shapes, volume), 2) << "the second launch could read it, too";
  EXPECT_EQ(std::ranges::count(shapes, levels), 1);
  EXPECT_EQ(objects[TextureObject::Kind::surface], 3u) << "of the volume twice, and of a level";
  EXPECT_EQ(objects[TextureObject::Kind::texture], 1u);
}

// The program ends by the signal as without a recorder, and what was recorded before is whole.
TEST_F(DriverFrontTest, ASignalEndsTheProgramInTheMiddleOfALaunch) {
  for (const auto& [step, status] : {std::pair("sigterm", 143), {"sigint", 130}, {"abort", 134}}) {
    const std::string program = "dlsym " + kCubin + " launch " + step + " launch; echo ended by $?";
    EXPECT_THAT(bare(program), HasSubstr(fmt::format("ended by {}\n", status)));
    EXPECT_EQ(recorded(program), bare(program)) << step;
    for (const KernelDocument& kernel : kernels())
      for (const InstanceRecord& instance : kernel.instances)
        EXPECT_TRUE(Database::open(database_)->check_instance(instance.static_hash, instance.dynamic_hash).ok()) << step;
  }
}

TEST_F(DriverFrontTest, ASignalThatTheProgramHandlesChangesNothing) {
  const std::string steps = "dlsym " + kCubin + " handled launch";
  EXPECT_EQ(bare(steps), "signal 2\n" + kSum);
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().launches, 2u);
  EXPECT_EQ(report().instances, 2u);
}

// Other threads wait for a launch that is captured: they go on when its thread has left it by another way.
TEST_F(DriverFrontTest, ALaunchThatDoesNotReturnIsNotRecordedAndHoldsNobodyUp) {
  const std::string steps = "dlsym " + kCubin + " canceled launch";
  EXPECT_EQ(bare(steps), "canceled: 1\n" + kSum);
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 1u);
  EXPECT_EQ(passed(NotRecorded::launch_failed), 1u);
}

// Where it waits and reads files, the recorder would be left in the middle of its work.
TEST_F(DriverFrontTest, AThreadIsNotCanceledInALaunch) {
  const std::string steps = "dlsym " + kCubin + " canceled_before launch";
  EXPECT_EQ(bare(steps), "canceled: 1\nsum 501500\n");
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 2u);
}

TEST_F(DriverFrontTest, ExceptionsOfTheProgramPassThroughALaunch) {
  EXPECT_EQ(bare(kCubin, MNEME_TEST_THROWING_PROGRAM), "caught: 20 of 20 from launches, 20 of 20 around them\n");
  EXPECT_EQ(recorded(kCubin, MNEME_TEST_THROWING_PROGRAM), bare(kCubin, MNEME_TEST_THROWING_PROGRAM));
  EXPECT_EQ(report().launches, 40u);
  EXPECT_EQ(report().instances, 4u) << "of those that returned";
}

TEST_F(DriverFrontTest, AProgramThatBecomesAnotherIsRecordedOn) {
  const std::string steps = "dlsym " + kCubin + " launch exec";
  EXPECT_EQ(bare(steps), kSum);
  EXPECT_EQ(recorded(steps), kSum);
  EXPECT_EQ(report().recorders, 2u);
  EXPECT_EQ(report().launches, 2u);
  EXPECT_GE(report().instances + report().duplicates, 1u) << "what waited to be stored is lost with the first program";
}

TEST_F(DriverFrontTest, CodeMayGoWhenItWasLoaded) {
  const std::string steps = "dlsym " + kCubin + " image_gone launch image_gone";
  EXPECT_EQ(recorded(steps), bare(steps));
  EXPECT_EQ(report().instances, 3u);
  ASSERT_EQ(kernels().size(), 1u);
  EXPECT_TRUE(Database::open(database_)->load_image(kernels()[0].kernel.images.at(0)).ok());
}

TEST_F(DriverFrontTest, ALibraryWithKernelsMayBeClosed) {
  ::setenv("IMAGE_LIBRARY", MNEME_TEST_IMAGE_LIBRARY, 1);
  const std::string steps = "dlsym " + kCubin + " dlclosed launch dlclosed";
  const std::string without = bare(steps), with = recorded(steps);
  ::unsetenv("IMAGE_LIBRARY");
  EXPECT_EQ(without, "sum 502500\n");
  EXPECT_EQ(with, without);
  EXPECT_EQ(report().instances, 3u);
}

// When the recorder has stored all and has told what it did.
TEST_F(DriverFrontTest, ALaunchAtTheVeryEndOfTheProgramIsMade) {
  const std::string steps = "linked " + kCubin + " launch at_exit";
  EXPECT_EQ(bare(steps, MNEME_TEST_LINKED_PROGRAM), kSum + "sum 501500\n");
  EXPECT_EQ(recorded(steps, MNEME_TEST_LINKED_PROGRAM), kSum + "sum 501500\n");
  EXPECT_GE(report().instances, 1u);
}

// Such a process ends with its last thread, which must not be one of the recorder's that waits for work.
TEST_F(DriverFrontTest, AProgramEndsWithItsLastThreadWhenMainHasEndedBefore) {
  const std::string steps = "dlsym " + kCubin + " launch main_ends", program = "timeout -s KILL 60 " MNEME_TEST_PROGRAM;
  const std::string without = bare(steps, program);
  EXPECT_EQ(without, "sum 501500\nat the end SIGTERM is blocked: 0\n");
  EXPECT_EQ(recorded(steps, program), without);
  EXPECT_EQ(report().instances, 2u);
}

// A program that was built for recording says of its memory how far it may differ, through its call table.
TEST_F(DriverFrontTest, AnnotationsOfARebuiltProgramAreKept) {
  const std::string steps = "dlsym " + kCubin + " annotate launch";
  EXPECT_EQ(bare(steps, MNEME_TEST_ANNOTATED_PROGRAM), kSum);
  const std::string said = recorded(steps, "env " MNEME_ENV_INTERPOSERS "=" MNEME_TEST_RECORDER " " MNEME_TEST_ANNOTATED_PROGRAM);
  EXPECT_THAT(said, HasSubstr("sum 500500\n"));
  EXPECT_THAT(said, HasSubstr("mneme: warning: an annotation is ignored: the program has not called the CUDA driver yet\n"));
  EXPECT_THAT(said, HasSubstr("no memory that is recorded lies there"));
  ASSERT_EQ(report().instances, 1u);
  const auto annotations = kernels().at(0).instances.at(0).annotations;
  ASSERT_EQ(annotations.size(), 1u);
  EXPECT_EQ(annotations[0].tag, "words");
  EXPECT_EQ(annotations[0].size, Bytes(4000));
}

// By itself, and with a function of another file that it needs (relocatable device code): the image that is loaded has the
// segments of both.
TEST_F(DriverFrontTest, TheIrOfARebuiltProgramIsFoundInTheLoadedImage) {
  testing::TestSegment kernel, function;
  kernel.name = "add_one";
  kernel.parameters = {{MNEME_PARAM_POINTER, 0, 8, "words"}, {MNEME_PARAM_INTEGER, 8, 4, "count"}};
  kernel.parameter_bytes = 12;
  kernel.bitcode = "of the kernel";
  function.kind = MNEME_SEGMENT_FUNCTION;
  function.name = "helper";
  function.bitcode = "of the function";
  for (const bool needs_another : {false, true}) {
    options_.max = 1;
    kernel.hash = needs_another ? 2 : 1;
    if (needs_another) kernel.needs = {"helper"};
    const std::string file = (folder_.path() / fmt::format("rebuilt-{}.cubin", needs_another)).string();
    ASSERT_TRUE(FileSystem::posix().write_atomically(file, testing::make_device_elf({kernel.build(), function.build()})).ok());
    EXPECT_EQ(recorded("dlsym " + file + " launch"), kSum);
  }
  ASSERT_EQ(report().instances, 2u);
  std::vector<size_t> ir;
  for (const KernelDocument& document : kernels()) {
    EXPECT_EQ(document.kernel.level, CodeLevel::ir);
    EXPECT_EQ(document.kernel.pipeline, "default<O2>");
    ASSERT_EQ(document.kernel.parameters.size(), 2u);
    EXPECT_EQ(document.kernel.parameters[0].name, "words");
    const auto bitcode = Database::open(database_)->load_ir(document.kernel.static_hash);
    ASSERT_TRUE(bitcode.ok()) << bitcode.status().message();
    ir.push_back(bitcode->size());
  }
  EXPECT_THAT(ir, ::testing::UnorderedElementsAre(13u, 28u)) << "the function's is behind the kernel's";
}

// A variable is told by the address of its stand-in on the host, also before the first call of the driver. It lies in the image
// that the runtime has loaded.
TEST_F(DriverFrontTest, AnnotationsOfVariablesOfARebuiltProgramAreKept) {
  const std::string steps = "dlsym " MNEME_TEST_FATBIN " annotate wrapped launch";
  EXPECT_EQ(bare(steps, MNEME_TEST_ANNOTATED_PROGRAM), kSum);
  const std::string said = recorded(steps, "env " MNEME_ENV_INTERPOSERS "=" MNEME_TEST_RECORDER " " MNEME_TEST_ANNOTATED_PROGRAM);
  EXPECT_THAT(said, HasSubstr("sum 500500\n"));
  ASSERT_EQ(report().instances, 1u);
  const auto memory = prologue();
  const auto table =
      std::find_if(memory.regions.begin(), memory.regions.end(), [](const Region& r) { return r.name == "table"; });
  ASSERT_NE(table, memory.regions.end());
  std::vector<std::pair<std::string, DevicePtr>> tables;
  const KernelDocument kernel = kernels().at(0);
  for (const Annotation& one : kernel.instances.at(0).annotations)
    if (one.tag != "words") tables.emplace_back(one.tag, one.address);
  EXPECT_THAT(tables, ::testing::ElementsAre(std::pair(std::string("early"), table->address),
                                             std::pair(std::string("late"), table->address + Bytes(8))));
}

// The memory is the driver's, since its kernels look further where memory is mapped.
TEST_F(DriverFrontTest, ALaunchThatIsNotRecordedMakesNoOtherCallOfTheDriver) {
  options_.memory_from = MemoryFrom::driver;
  const std::string steps = "dlsym " + kCubin + " calls";
  const std::string without = bare(steps);
  EXPECT_THAT(without, HasSubstr("calls: "));
  options_.kernels = "nosuch";
  EXPECT_EQ(recorded(steps), without);
  EXPECT_EQ(passed(NotRecorded::other_kernel), 6u);
  options_.kernels.clear();
  options_.max = 0;
  EXPECT_EQ(recorded(steps), without);
  EXPECT_EQ(passed(NotRecorded::beyond_max), 6u);
  EXPECT_EQ(report().launches, 12u);
}

TEST_F(DriverFrontTest, LaunchesBeyondTheMaximumCountInTheirShape) {
  options_.max = 1;
  recorded("dlsym " + kCubin + " launch launch packed launch");
  EXPECT_EQ(passed(NotRecorded::beyond_max), 3u);
  const auto all = kernels();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].instances.at(0).shape_launches, (ShapeLaunches{4, std::nullopt}));
}

// Whichever call of the recorder's own fails, and whenever: the program does what it does without, and no launch is lost in
// silence.
TEST_F(DriverFrontTest, ACallOfTheRecordersOwnThatFailsIsNoFailureOfTheProgram) {
  const std::string steps = "dlsym " + kCubin + " launch async launch";
  const std::string without = bare(steps);
  // Of these the program makes none itself; of the last, one at its end, behind those of the recorder.
  const std::pair<const char*, int> calls[] = {{"cuMemCreate", 6},         {"cuMemMap", 6},
                                               {"cuMemSetAccess", 6},      {"cuMemAddressReserve", 2},
                                               {"cuStreamCreate", 2},      {"cuStreamSynchronize", 12},
                                               {"cuLaunchKernelEx", 8},    {"cuMemHostAlloc", 2},
                                               {"cuMemsetD8Async", 3},     {"cuMemcpyHtoDAsync_v2", 0},
                                               {"cuMemcpyDtoHAsync_v2", 4}};
  uint64_t launches = 0;
  for (const auto& [function, most] : calls)
    for (int after = 0; after < most; ++after)
      for (const int result : {2, 999}) {
        ::setenv("MNEME_FAKE_FAIL", fmt::format("{}:{}:{}", function, after, result).c_str(), 1);
        std::string with = recorded(steps);
        ::unsetenv("MNEME_FAKE_FAIL");
        // What the recorder has to say stands in lines of its own.
        for (size_t at = 0; (at = with.find("mneme: ")) != std::string::npos;) with.erase(at, with.find('\n', at) + 1 - at);
        ASSERT_EQ(with, without) << function << " after " << after << ": " << result;
        launches += 3;
        uint64_t told = report().instances + report().duplicates;
        for (const auto& counter : report().not_recorded) told += counter.launches;
        ASSERT_EQ(report().launches, launches) << function << " after " << after << ": " << result;
        ASSERT_EQ(told, launches) << function << " after " << after << ": " << result;
      }
  EXPECT_GT(report().lost(), 20u) << "nothing has failed";
  for (const KernelDocument& kernel : kernels())
    for (const InstanceRecord& instance : kernel.instances)
      EXPECT_TRUE(Database::open(database_)->check_instance(instance.static_hash, instance.dynamic_hash).ok());
}

#ifdef MNEME_TEST_STRESS
TEST_F(DriverFrontTest, ManyThreadsAndStreamsDoNotRace) {
  EXPECT_EQ(shell("LD_LIBRARY_PATH=" MNEME_TEST_DRIVER_FOLDER " " MNEME_TEST_STRESS " " + kCubin + " " + database_), "done\n");
  EXPECT_FALSE(kernels().empty());
}
#endif

TEST_F(DriverFrontTest, WithoutARecorderCallsGoToTheDriver) {
  const std::string preloaded = "LD_PRELOAD=" MNEME_TEST_PRELOAD " " MNEME_TEST_PROGRAM;
  EXPECT_EQ(bare("dlsym " + kCubin + " where"), "launches go to libcuda.so.1\nsum 499500\n");
  EXPECT_EQ(shell("LD_LIBRARY_PATH=" MNEME_TEST_DRIVER_FOLDER " " + preloaded + " dlsym " + kCubin + " where launch"),
            "launches go to libmneme_preload.so\n" + kSum);
}

TEST_F(DriverFrontTest, WithoutADriverTheLibraryDoesNothing) {
  const std::string command = "LD_PRELOAD=" MNEME_TEST_PRELOAD " " MNEME_ENV_DRIVER_INTERPOSER "=/nowhere.so ";
  EXPECT_THAT(shell("LD_LIBRARY_PATH=/nowhere " + command + MNEME_TEST_PROGRAM " dlsym " + kCubin),
              HasSubstr("no driver: libcuda.so.1"));
  EXPECT_EQ(shell(command + "sh -c 'echo a child'"), "a child\n");
}

TEST_F(DriverFrontTest, AMissingRecorderIsToldAndTheProgramGoesOn) {
  EXPECT_EQ(
      shell("LD_LIBRARY_PATH=" MNEME_TEST_DRIVER_FOLDER " LD_PRELOAD=" MNEME_TEST_PRELOAD " " MNEME_ENV_DRIVER_INTERPOSER
            "=/nowhere.so " MNEME_TEST_PROGRAM " dlsym " +
            kCubin + " launch"),
      "mneme: warning: the program goes on without the interposer /nowhere.so: /nowhere.so: cannot open shared object file: No "
      "such file or directory\n" +
          kSum);
}

}  // namespace
}  // namespace mneme::driver
