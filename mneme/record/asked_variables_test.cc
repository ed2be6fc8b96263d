// Variables whose addresses the host takes: a launch is recorded with those that it is given, by an argument or in memory.
#include <gmock/gmock.h>

#include "mneme/record/testing/fake_runtime.h"
#include "mneme/snapshot/pointed_variables.h"

namespace mneme::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

class AskedVariables : public ::testing::Test {
 protected:
  explicit AskedVariables(RecordingOptions options = {}) : program_(std::move(options)) {
    image_ = program_.add_image({program_.segment(stub_, {})}, {stub_});
    program_.add_variable(image_, shadow_, "unnamed", sizeof variable_);
    program_.vendor().symbols[shadow_] = {variable_, sizeof variable_};
    program_.vendor().kernels[stub_] = [](void**) { return cudaSuccess; };
    data_ = program_.allocate<int*>(16);
  }

  int* ask(const void* symbol) {
    void* address = nullptr;
    EXPECT_EQ(program_.call<cudaError_t(void**, const void*)>(MNEME_CALL_cudaGetSymbolAddress, &address, symbol), cudaSuccess);
    return static_cast<int*>(address);
  }
  // The launch, which is the last one of its kernel.
  RecordedInstance launch(const void* kernel, void* data) {
    EXPECT_EQ(program_.launch(kernel, static_cast<int*>(data)), cudaSuccess);
    const uint64_t given = address_of(data);
    for (const InstanceRecord& one : program_.instances()) {
      uint64_t word = 0;
      std::memcpy(&word, one.parameters.data(), sizeof word);
      if (word != given || (seen_.contains(one.dynamic_hash))) continue;
      seen_.insert(one.dynamic_hash);
      return *Database::open(program_.database())->load_instance(one.static_hash, one.dynamic_hash);
    }
    ADD_FAILURE() << "it is not recorded";
    return {};
  }
  static std::vector<const Region*> at(const RecordedInstance& launch, const void* address) {
    std::vector<const Region*> found;
    for (const Region& region : launch.prologue.regions)
      if (region.address.address == address_of(address)) found.push_back(&region);
    return found;
  }

  const char* const stub_ = "unrelated";
  alignas(64) int variable_[16] = {};
  int shadow_[16] = {};
  FakeProgram program_;
  void** image_ = nullptr;
  int** data_ = nullptr;
  std::set<Digest> seen_;
  void* place_ = nullptr;
};

TEST_F(AskedVariables, OneThatAnArgumentPointsIntoIsRecordedWhereItLies) {
  const auto before = launch(program_.increment, variable_ + 3);
  EXPECT_THAT(at(before, variable_), IsEmpty()) << "the program has not asked for it";
  EXPECT_EQ(ask(shadow_), variable_);
  variable_[5] = 7;
  const auto found = launch(program_.increment, variable_ + 3);
  ASSERT_EQ(at(found, variable_).size(), 1u);
  const Region& region = *at(found, variable_)[0];
  EXPECT_EQ(region.kind, Region::Kind::mapped);
  EXPECT_EQ(region.size, Bytes(sizeof variable_));
}

TEST_F(AskedVariables, OneWhoseAddressTheHostHasPutIntoMemoryIsRecorded) {
  data_[2] = ask(shadow_);
  EXPECT_EQ(at(launch(program_.increment, data_), variable_).size(), 1u);
  data_[2] = nullptr;
  data_[3] = reinterpret_cast<int*>(1);
  EXPECT_THAT(at(launch(program_.increment, data_), variable_), IsEmpty()) << "nothing points there";
}

TEST_F(AskedVariables, OneThatTheKernelNamesIsRecordedByItsNameAndWhetherPointersLeadThere) {
  const auto pointed = [](const RecordedInstance& launch) { return pointed_variables_in(launch.instance.attributes); };
  EXPECT_EQ(ask(program_.shadow), program_.table);
  EXPECT_THAT(pointed(launch(program_.add_table, data_)), IsEmpty());
  data_[1] = program_.table + 4;
  const auto found = launch(program_.add_table, data_);
  EXPECT_THAT(pointed(found), ElementsAre("table"));
  ASSERT_EQ(at(found, program_.table).size(), 1u);
  EXPECT_EQ(at(found, program_.table)[0]->kind, Region::Kind::global);
}

TEST_F(AskedVariables, OneOfSeveralNamesIsPointedToByEach) {
  data_[1] = ask(program_.shadow);
  const auto found = launch(program_.two_names, data_);
  EXPECT_THAT(pointed_variables_in(found.instance.attributes), ElementsAre("alias", "table"));
  EXPECT_EQ(at(found, program_.table).size(), 1u);
}

TEST_F(AskedVariables, OneGoesWithItsImage) {
  data_[2] = ask(shadow_);
  program_.remove_image(image_);
  EXPECT_THAT(at(launch(program_.increment, data_), variable_), IsEmpty());
}

TEST_F(AskedVariables, OneOfALibraryGoesWithTheLibrary) {
  static int* place = variable_;
  static const auto find = [](void** address, size_t* size, cudaLibrary_t, const char*) {
    *address = place;
    if (size) *size = sizeof variable_;
    return cudaSuccess;
  };
  FakeProgram program({}, {}, [](std::vector<mneme_function>& slots) {
    slots[MNEME_CALL_cudaLibraryGetGlobal] =
        reinterpret_cast<mneme_function>(+[](void** address, size_t* size, cudaLibrary_t library, const char* name) {
          return find(address, size, library, name);
        });
  });
  const auto library = reinterpret_cast<cudaLibrary_t>(8);
  void* address = nullptr;
  EXPECT_EQ(program.call<decltype(cudaLibraryGetGlobal)>(MNEME_CALL_cudaLibraryGetGlobal, &address, nullptr, library, "v"),
            cudaSuccess);
  EXPECT_EQ(recorder()->outside_memory().variables(0).size(), 1u);
  program.call<decltype(cudaLibraryUnload)>(MNEME_CALL_cudaLibraryUnload, library);
  EXPECT_THAT(recorder()->outside_memory().variables(0), IsEmpty());
}

TEST_F(AskedVariables, MemoryThatIsKnownOtherwiseIsNone) {
  program_.vendor().symbols[shadow_] = {data_, 16};
  ask(shadow_);
  EXPECT_THAT(recorder()->outside_memory().variables(0), IsEmpty());
  program_.add_managed_variable(image_, &place_, "managed", 64);
  program_.vendor().symbols[&place_] = {variable_, sizeof variable_};
  ask(&place_);
  EXPECT_THAT(recorder()->outside_memory().variables(0), IsEmpty());
}

class AskedVariablesWithAllMemory : public AskedVariables {
 protected:
  AskedVariablesWithAllMemory() : AskedVariables(with_all_memory()) {}
};

TEST_F(AskedVariablesWithAllMemory, AreRecordedWhateverPointsThere) {
  ask(shadow_);
  EXPECT_EQ(at(launch(program_.increment, data_), variable_).size(), 1u);
  ask(program_.shadow);
  EXPECT_THAT(pointed_variables_in(launch(program_.add_table, data_).instance.attributes), ElementsAre("table"));
}

}  // namespace
}  // namespace mneme::testing
