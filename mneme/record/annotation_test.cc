// What a program says of its memory, from the program's side and by ranges.
#include <gmock/gmock.h>

#include <limits>

#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> lines_of(const std::vector<Annotation>& annotations) {
  std::vector<std::string> lines;
  for (const Annotation& a : annotations)
    lines.push_back(fmt::format("{}+{} {} {}", a.address, a.size.count, a.tag, format_tolerance(a.tolerance)));
  return lines;
}

Annotation annotation(uint64_t address, uint64_t bytes, const char* tag, ElementType type = ElementType::f32) {
  return {DevicePtr(address), Bytes(bytes), tag, {type, 1}};
}

TEST(Annotations, LaterOnesReplaceWhatTheyCover) {
  Annotations annotations;
  auto tags = [&] {
    std::string text;
    for (const Annotation& a : annotations.all()) text += fmt::format("{}:{}+{} ", a.tag, a.address.address, a.size.count);
    return text;
  };
  annotations.set(annotation(1000, 100, "a"));
  annotations.set(annotation(1000, 100, "b"));
  EXPECT_EQ(tags(), "b:1000+100 ");
  annotations.set(annotation(1040, 20, "c"));
  EXPECT_EQ(tags(), "b:1000+40 c:1040+20 b:1060+40 ");
  annotations.set(annotation(1090, 100, "d"));
  EXPECT_EQ(tags(), "b:1000+40 c:1040+20 b:1060+28 d:1090+100 ");  // no part of an element stays
  annotations.set(annotation(1050, 42, "e"));
  EXPECT_EQ(tags(), "b:1000+40 c:1040+8 e:1050+42 d:1094+96 ");
  annotations.forget({DevicePtr(1000), Bytes(60)});
  EXPECT_EQ(tags(), "e:1062+30 d:1094+96 ");
  annotations.forget({DevicePtr(0), Bytes(5000)});
  EXPECT_EQ(tags(), "");
}

TEST(Annotations, OnlyThoseOfTheRegions) {
  Annotations annotations;
  annotations.set(annotation(1000, 100, "a"));
  annotations.set(annotation(1200, 100, "b"));
  annotations.set(annotation(3000, 8, "c"));
  MemoryState state;
  state.regions = {{Region::Kind::allocation, DevicePtr(900), Bytes(200), "", {}},
                   {Region::Kind::global, DevicePtr(3000), Bytes(64), "g", {}}};
  EXPECT_THAT(lines_of(annotations.within(state)), ElementsAre("0x3e8+100 a f32, 1, absolute", "0xbb8+8 c f32, 1, absolute"));
}

// One that reaches out of its region is left out, and those behind it are not.
TEST(Annotations, OnlyThoseThatARegionHoldsWhole) {
  Annotations annotations;
  annotations.set(annotation(896, 8, "before"));
  annotations.set(annotation(904, 4, "first"));
  annotations.set(annotation(1000, 8, "inside"));
  annotations.set(annotation(1096, 4, "last"));
  MemoryState state;
  const auto within = [&](uint64_t begin, uint64_t end) {
    state.regions = {{Region::Kind::allocation, DevicePtr(begin), Bytes(end - begin), "", {}}};
    std::string tags;
    for (const Annotation& each : annotations.within(state)) tags += each.tag + " ";
    return tags;
  };
  EXPECT_EQ(within(896, 1100), "before first inside last ");
  EXPECT_EQ(within(897, 1100), "first inside last ");
  EXPECT_EQ(within(904, 1099), "first inside ");
  EXPECT_EQ(within(905, 1100), "inside last ");
}

class Annotating : public ::testing::Test {
 protected:
  // As mneme_annotate in the program does.
  void annotate(const void* pointer, uint64_t count, mneme_annotation annotation) {
    program.call_table().annotate(&program.call_table(), pointer, count, &annotation);
  }
  std::vector<std::string> recorded() {
    auto instances = program.instances();
    return instances.empty() ? std::vector<std::string>{"no instance"} : lines_of(instances.back().annotations);
  }
  std::string refusal(const void* pointer, uint64_t count, mneme_annotation annotation) {
    ::testing::internal::CaptureStderr();
    annotate(pointer, count, annotation);
    return ::testing::internal::GetCapturedStderr();
  }
  FakeProgram program;
};

TEST_F(Annotating, IsKeptWithTheInstance) {
  float* data = program.allocate<float>(100);
  program.allocate<int>(16);
  annotate(data, 0, {MNEME_F32, 1e-5, MNEME_RELATIVE, MNEME_L2, MNEME_NAN_ANY, "forces"});
  annotate(data + 10, 5, {MNEME_F32, 2, MNEME_ULP});
  program.launch(program.increment, reinterpret_cast<int*>(data), 1);
  EXPECT_THAT(recorded(),
              ElementsAre("0x7a0000000000+40 forces f32, 1e-05, relative, L2, nan=any", "0x7a0000000028+20  f32, 2, ulp",
                          "0x7a000000003c+340 forces f32, 1e-05, relative, L2, nan=any"));
}

TEST_F(Annotating, IsForgottenWithTheMemory) {
  int* data = program.allocate<int>(100);
  annotate(data, 0, {MNEME_I32, 1});
  EXPECT_EQ(program.free(data + 1), cudaErrorInvalidValue);
  program.launch(program.increment, data, 1);
  EXPECT_THAT(recorded(), ElementsAre("0x7a0000000000+400  i32, 1, absolute")) << "it is still there";
  const Digest before = program.instances().back().dynamic_hash;
  EXPECT_EQ(program.free(data), cudaSuccess);
  ASSERT_EQ(program.allocate<int>(100), data);
  program.launch(program.increment, data, 0);
  for (const InstanceRecord& instance : program.instances())
    if (instance.dynamic_hash != before) EXPECT_THAT(instance.annotations, IsEmpty());
}

TEST_F(Annotating, ChangesNoHashAndIsRenewedByAnEqualLaunch) {
  int* data = program.allocate<int>(100);
  program.launch(program.increment, data, 0);
  annotate(data, 3, {MNEME_I32, 1, MNEME_ABSOLUTE, MNEME_NO_NORM, MNEME_NAN_AS_RECORDED, "counts"});
  program.launch(program.increment, data, 0);
  EXPECT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.report().duplicates, 1u);
  EXPECT_THAT(recorded(), ElementsAre("0x7a0000000000+12 counts i32, 1, absolute"));
}

TEST_F(Annotating, VariablesByTheirNameAndByTheirPlace) {
  int* data = program.allocate<int>(100);
  annotate(&program.shadow[4], 2, {MNEME_I32, 3, MNEME_ABSOLUTE, MNEME_NO_NORM, MNEME_NAN_AS_RECORDED, "by name"});
  annotate(&program.table[8], 0, {MNEME_I32, 4, MNEME_ABSOLUTE, MNEME_NO_NORM, MNEME_NAN_AS_RECORDED, "by place"});
  program.launch(program.increment, data, 1);
  EXPECT_THAT(recorded(), IsEmpty());  // this kernel does not see the variable
  program.launch(program.add_table, data);
  std::vector<Annotation> annotations;
  for (const InstanceRecord& instance : program.instances())
    annotations.insert(annotations.end(), instance.annotations.begin(), instance.annotations.end());
  auto place = reinterpret_cast<uint64_t>(program.table);
  EXPECT_THAT(lines_of(annotations), ElementsAre(fmt::format("{:#x}+8 by name i32, 3, absolute", place + 16),
                                                 fmt::format("{:#x}+32 by place i32, 4, absolute", place + 32)));
}

TEST_F(Annotating, AsManyElementsAsThereAre) {
  float* data = program.allocate<float>(5);
  annotate(data, 5, {MNEME_F32, 1});
  annotate(data + 4, 1, {MNEME_F32, 2});
  program.launch(program.increment, reinterpret_cast<int*>(data), 1);
  EXPECT_THAT(recorded(), ElementsAre("0x7a0000000000+16  f32, 1, absolute", "0x7a0000000010+4  f32, 2, absolute"));
}

// The last of each kind; what follows it is none.
TEST_F(Annotating, EveryTypeErrorNormAndPolicy) {
  double* data = program.allocate<double>(4);
  annotate(data, 1, {MNEME_COMPLEX128, 1, MNEME_ABSOLUTE, MNEME_LINF, MNEME_NAN_NONE});
  annotate(data + 2, 1, {MNEME_F64, 1, MNEME_ULP});
  program.launch(program.increment, reinterpret_cast<int*>(data), 0);
  EXPECT_THAT(recorded(),
              ElementsAre("0x7a0000000000+16  complex128, 1, absolute, Linf, nan=none", "0x7a0000000010+8  f64, 1, ulp"));
  EXPECT_EQ(refusal(data, 1, {static_cast<mneme_dtype>(MNEME_COMPLEX128 + 1), 1}),
            "mneme: warning: annotating 0x7a0000000000: 16 is no mneme_dtype; the annotation is ignored\n");
  EXPECT_EQ(refusal(data, 1, {MNEME_F64, 1, MNEME_ABSOLUTE, static_cast<mneme_norm>(MNEME_LINF + 1)}),
            "mneme: warning: annotating 0x7a0000000000: 4 is no mneme_norm; the annotation is ignored\n");
  EXPECT_EQ(refusal(data, 1, {MNEME_F64, 1, MNEME_ABSOLUTE, MNEME_L1, static_cast<mneme_nan>(MNEME_NAN_NONE + 1)}),
            "mneme: warning: annotating 0x7a0000000000: 3 is no mneme_nan; the annotation is ignored\n");
}

TEST_F(Annotating, IsForgottenWithMemoryThatIsFreedInAStreamCapture) {
  int* data = program.allocate<int>(100);
  annotate(data, 0, {MNEME_I32, 1});
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  program.call<decltype(cudaStreamBeginCapture)>(MNEME_CALL_cudaStreamBeginCapture, stream, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(program.free(data), cudaSuccess);
  cudaGraph_t graph = nullptr;
  program.call<decltype(cudaStreamEndCapture)>(MNEME_CALL_cudaStreamEndCapture, stream, &graph);
  program.launch(program.increment, program.allocate<int>(100), 0);  // frees what was freed in the capture
  EXPECT_THAT(recorded(), IsEmpty());
}

// Memory and variables are others then.
TEST_F(Annotating, IsForgottenWithTheDevice) {
  int* data = program.allocate<int>(100);
  annotate(data, 0, {MNEME_I32, 1});
  annotate(program.shadow, 0, {MNEME_I32, 1});
  EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
  ASSERT_EQ(program.allocate<int>(100), data);
  program.launch(program.add_table, data);
  EXPECT_THAT(recorded(), IsEmpty());
}

// The program is not to find an error of a call that it did not make.
TEST_F(Annotating, AVariableThatIsNotThereHidesNoOtherAndLeavesNoError) {
  static int missing_shadow[4], other_shadow[4], managed_shadow[4];
  alignas(16) static int other[4];
  static const char reader[] = "reader";
  void** image = program.add_image({program.segment(reader, {{"other", sizeof other}})}, {reader});
  program.vendor().kernels[reader] = [](void**) { return cudaSuccess; };
  program.add_variable(image, missing_shadow, "missing", sizeof missing_shadow);
  program.add_variable(image, other_shadow, "other", sizeof other_shadow);
  program.vendor().symbols[other_shadow] = {other, sizeof other};
  program.vendor().globals["other"] = {other, sizeof other};
  program.launch(program.plain, program.allocate<int>(100));  // opens the device
  EXPECT_EQ(refusal(other + 2, 1, {MNEME_I32, 1}), "");
  EXPECT_EQ(program.vendor().last_error, cudaSuccess);
  program.vendor().last_error = cudaErrorInvalidPitchValue;
  EXPECT_EQ(refusal(other + 2, 1, {MNEME_I32, 1}), "");
  EXPECT_NE(program.vendor().last_error, cudaSuccess) << "the program's own stays";
  program.launch(reader, other);
  EXPECT_THAT(recorded(), ElementsAre(fmt::format("{:#x}+4  i32, 1, absolute", reinterpret_cast<uint64_t>(other + 2))));
  // A managed variable's memory is not at its shadow.
  program.add_managed_variable(image, managed_shadow, "managed", sizeof managed_shadow);
  EXPECT_EQ(refusal(managed_shadow, 1, {MNEME_I32, 1}),
            fmt::format("mneme: warning: annotating {:#x}: no memory that is recorded lies there; the annotation is ignored\n",
                        reinterpret_cast<uint64_t>(managed_shadow)));
}

TEST_F(Annotating, WhatCannotBeKeptIsSaidOnce) {
  float* data = program.allocate<float>(100);
  EXPECT_EQ(refusal(data, 101, {MNEME_F32, 1}),
            "mneme: warning: annotating 0x7a0000000000: 101 elements of f32 reach beyond the 400 B at 0x7a0000000000; the "
            "annotation is ignored\n");
  EXPECT_EQ(refusal(data, 101, {MNEME_F32, 1}), "");
  EXPECT_EQ(refusal(data + 99, 0, {MNEME_F64, 1}),
            "mneme: warning: annotating 0x7a000000018c: an element of f64 reaches beyond the 400 B at 0x7a0000000000; the "
            "annotation is ignored\n");
  EXPECT_EQ(refusal(data, 1, {static_cast<mneme_dtype>(99), 1}),
            "mneme: warning: annotating 0x7a0000000000: 99 is no mneme_dtype; the annotation is ignored\n");
  EXPECT_EQ(refusal(data, 1, {MNEME_F32, 1, static_cast<mneme_error>(3)}),
            "mneme: warning: annotating 0x7a0000000000: 3 is no mneme_error; the annotation is ignored\n");
  EXPECT_EQ(refusal(data, 1, {MNEME_F32, -1}),
            "mneme: warning: annotating 0x7a0000000000: a tolerance's threshold is a finite number that is not negative, not -1; "
            "the annotation is ignored\n");
  EXPECT_EQ(refusal(reinterpret_cast<void*>(0x1000), 1, {MNEME_F32, 1}),
            "mneme: warning: annotating 0x1000: no memory that is recorded lies there; the annotation is ignored\n");
  program.launch(program.increment, reinterpret_cast<int*>(data), 1);
  EXPECT_THAT(recorded(), IsEmpty());
}

}  // namespace
}  // namespace mneme::testing
