#include "mneme/snapshot/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "mneme/snapshot/testing/each_member.h"

namespace mneme {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Digest digest(std::string_view text) { return digest_of(std::as_bytes(std::span(text))); }

KernelDocument kernel_document() {
  KernelDocument document;
  KernelRecord& kernel = document.kernel;
  kernel.static_hash = digest("kernel");
  kernel.name = "_Z4axpyfPKfPfi";
  kernel.demangled = "axpy(float, float const*, float*, int)";
  kernel.source = "axpy.cu:3";
  kernel.target = "nvptx";
  kernel.arch = "sm_90";
  kernel.pipeline = "default<O2>";
  kernel.parameters = {{Parameter::Kind::floating, "a", "float", 0, 4, 4}, {Parameter::Kind::pointer, "x", "ptr", 8, 8, 8}};
  kernel.parameter_bytes = 16;
  kernel.globals = {{"table", 64, 16, true, false, false}, {"counter", 4, 4, false, false, true}};
  kernel.images = {{CodeImageRecord::Kind::cubin, digest("machine code"), Bytes(4096)},
                   {CodeImageRecord::Kind::ptx, digest("text"), Bytes(900)},
                   {CodeImageRecord::Kind::cubin, digest("other code"), Bytes(100)}};
  document.ir_size = Bytes(1234);
  document.ir_digest = digest("ir");
  InstanceRecord instance;
  instance.static_hash = kernel.static_hash;
  instance.dynamic_hash = digest("instance");
  instance.grid = {128, 2, 1};
  instance.block = {256, 1, 1};
  instance.dynamic_shared_memory = Bytes(1024);
  instance.cooperative = true;
  instance.parameters = ByteVector(16, std::byte{0x5a});
  instance.device_kind = "cpu";
  instance.device_name = "a processor";
  instance.space_base = DevicePtr(0x7a0000000000);
  instance.space_size = Bytes(uint64_t{1} << 38);
  instance.state_bytes = Bytes(4096);
  instance.recorded_at = "2026-01-01T00:00:00Z";
  instance.mneme_version = "0.1.0";
  instance.annotations = {{DevicePtr(0x7a0000000000), Bytes(400), "forces", {ElementType::f32, 1e-5, ErrorKind::relative}},
                          {DevicePtr(0x7a0000000200), Bytes(16), "", {ElementType::complex128, 0.5}}};
  instance.recorded_time = RecordedTime{"cupti_activity", 1250.5, 3, 1000, 1100.25};
  instance.attributes = {{"programmatic_stream_serialization", "1"}};
  instance.shape_launches = ShapeLaunches{12, 13203.0};
  instance.trimmed = Trimming{{digest_of(ByteVector(3))}, 12, Bytes(700000)};
  document.instances = {instance};
  return document;
}

json instance_json(const InstanceRecord& instance) { return json::parse(encode_instance(instance).substr(33)); }

// The document as version 1.1 wrote it, with the instances in it.
std::string encode_version_1(const KernelDocument& document) {
  json root = json::parse(encode_kernel(document));
  root.erase("checksum");
  root["version"] = {{"major", 1}, {"minor", 1}};
  root["instances"] = json::array();
  for (const InstanceRecord& instance : document.instances) root["instances"].push_back(instance_json(instance));
  root["checksum"] = digest(root.dump()).hex();
  return root.dump(1) + "\n";
}

// The message for the kernel document after `change`; "" when it is read.
template <typename Change>
std::string refusal(Change change) {
  json document = json::parse(encode_version_1(kernel_document()));
  change(document);
  auto decoded = decode_kernel(document.dump(), "k.json");
  return decoded.ok() ? "" : decoded.status().to_string();
}

TEST(KernelCodec, RoundTrip) {
  KernelDocument document = kernel_document();
  document.instances.clear();
  auto decoded = decode_kernel(encode_kernel(document), "k.json");
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, document);
}

TEST(KernelCodec, EveryMemberIsWrittenAndRead) {
  KernelDocument document = kernel_document();
  document.lists_instances = true;
  const std::string usual = encode_version_1(document);
  testing_members::change_each(document, [&](const std::string& name) {
    const std::string text = encode_version_1(document);
    EXPECT_NE(text, usual) << name << " is not written";
    auto decoded = decode_kernel(text, "k.json");
    ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.status().message();
    EXPECT_EQ(*decoded, document) << name << " is not read";
  });
}

TEST(KernelCodec, DocumentsOfVersion1HaveTheirInstancesInThem) {
  KernelDocument document = kernel_document();
  document.lists_instances = true;
  auto decoded = decode_kernel(encode_version_1(document), "k.json");
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, document);
}

TEST(KernelCodec, DocumentsUpToVersion20HaveNoPipeline) {
  KernelDocument document = kernel_document();
  json written = json::parse(encode_version_1(document));
  written["kernel"].erase("pipeline");
  written.erase("checksum");
  written["checksum"] = digest(written.dump()).hex();
  document.kernel.pipeline.clear();
  document.lists_instances = true;
  auto decoded = decode_kernel(written.dump(), "k.json");
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, document);
}

// The level of a kernel's code decides what readers must know.
TEST(KernelCodec, AKernelWithoutIrIsOfVersion3) {
  KernelDocument document = kernel_document();
  document.instances.clear();
  EXPECT_EQ(json::parse(encode_kernel(document))["version"], (json{{"major", 2}, {"minor", 3}}));
  document.ir_size = Bytes();
  document.ir_digest = Digest();
  document.kernel.parameters = {{Parameter::Kind::opaque, "", "", 0, 3, 1}, {Parameter::Kind::opaque, "", "", 8, 8, 1}};
  for (CodeLevel level : {CodeLevel::ptx, CodeLevel::cubin}) {
    document.kernel.level = level;
    const std::string text = encode_kernel(document);
    EXPECT_EQ(json::parse(text)["version"], (json{{"major", 3}, {"minor", 1}}));
    EXPECT_FALSE(json::parse(text).contains("ir"));
    auto decoded = decode_kernel(text, "k.json");
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(*decoded, document);
  }
}

// A reader before version 2.5 reads the list of code objects over, and replays the kernel all the same.
TEST(KernelCodec, CodeObjectsAreAListOfTheirOwnSinceVersion25) {
  KernelDocument document = kernel_document();
  document.instances.clear();
  document.kernel.images = {{CodeImageRecord::Kind::hsaco, digest("code object"), Bytes(4096)}};
  const std::string text = encode_kernel(document);
  const json written = json::parse(text);
  EXPECT_EQ(written["version"], (json{{"major", 2}, {"minor", 5}}));
  EXPECT_EQ(written["kernel"]["images"], json::array());
  const std::string file = "Image_" + digest("code object").hex() + ".hsaco";
  EXPECT_EQ(written["kernel"]["code_objects"],
            json::array({{{"kind", "hsaco"}, {"bytes", 4096}, {"digest", digest("code object").hex()}, {"file", file}}}));
  auto decoded = decode_kernel(text, "k.json");
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, document);
  EXPECT_EQ(decoded->kernel.machine_code(), &decoded->kernel.images[0]);
  EXPECT_EQ(refusal([&](json& j) { j["kernel"]["code_objects"] = j["kernel"]["images"]; }),
            "corrupt: k.json: /kernel/code_objects/0/kind: the image kind 'cubin' is not known");
  EXPECT_EQ(refusal([&](json& j) { j["kernel"]["images"] = written["kernel"]["code_objects"]; }),
            "corrupt: k.json: /kernel/images/0/kind: the image kind 'hsaco' is not known");
}

TEST(KernelCodec, DocumentsUpToVersion21HaveIrAndNoImages) {
  KernelDocument document = kernel_document();
  json written = json::parse(encode_version_1(document));
  written["kernel"].erase("code");
  written["kernel"].erase("images");
  written["instances"][0].erase("attributes");
  written.erase("checksum");
  written["checksum"] = digest(written.dump()).hex();
  document.kernel.images.clear();
  document.instances[0].attributes.clear();
  document.lists_instances = true;
  auto decoded = decode_kernel(written.dump(), "k.json");
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, document);
}

TEST(KernelCodec, NamesWhatIsWrongWithCode) {
  const auto image = [](json& j) -> json& { return j["kernel"]["images"][0]; };
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["code"] = "sass"; }),
            "corrupt: k.json: /kernel/code: the code 'sass' is not known");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["code"] = 1; }), "corrupt: k.json: /kernel/code: a string expected");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["code"] = "ptx", j["kernel"]["images"].erase(1); }),
            "corrupt: k.json: /kernel/images: the code is ptx, and no image is");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["code"] = "cubin", j["kernel"].erase("images"); }),
            "corrupt: k.json: /kernel: the code is cubin, and no image is");
  EXPECT_EQ(refusal([&](json& j) { image(j)["kind"] = "fatbin"; }),
            "corrupt: k.json: /kernel/images/0/kind: the image kind 'fatbin' is not known");
  EXPECT_EQ(refusal([&](json& j) { image(j)["file"] = "../secret"; }),
            "corrupt: k.json: /kernel/images/0/file: the file must be named 'Image_" + digest("machine code").hex() +
                ".cubin', not '../secret'");
  EXPECT_EQ(refusal([&](json& j) { image(j).erase("digest"); }),
            "corrupt: k.json: /kernel/images/0: the key 'digest' is missing");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["cluster"] = {2, 0, 1}; }),
            "corrupt: k.json: /instances/0/cluster/1: an extent of 0");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["attributes"] = 1; }),
            "corrupt: k.json: /instances/0/attributes: an object expected");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["attributes"]["priority"] = 1; }),
            "corrupt: k.json: /instances/0/attributes/priority: a string expected");
}

TEST(KernelCodec, WhiteSpaceDoesNotMatter) {
  EXPECT_EQ(refusal([](json&) {}), "");
}

TEST(KernelCodec, NamesWhatIsWrong) {
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["name"] = 7; }), "corrupt: k.json: /kernel/name: a string expected");
  EXPECT_EQ(refusal([](json& j) { j["kernel"].erase("arch"); }), "corrupt: k.json: /kernel: the key 'arch' is missing");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["arch"] = "sm_90\x1b[2J"; }),
            "corrupt: k.json: /kernel/arch: no name of an architecture, as sm_90 is");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["pipeline"] = "default<O2>\x1b[2J"; }),
            "corrupt: k.json: /kernel/pipeline: no pass pipeline, as default<O2> is");
  EXPECT_EQ(refusal([](json& j) { j["kernel"] = json::array(); }), "corrupt: k.json: /kernel: an object expected");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["grid"] = "big"; }),
            "corrupt: k.json: /instances/0/grid: three numbers expected");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["grid"][1] = 0; }), "corrupt: k.json: /instances/0/grid/1: an extent of 0");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["block"][2] = uint64_t{1} << 32; }),
            "corrupt: k.json: /instances/0/block/2: 4294967296 is above 4294967295");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["state_bytes"] = -1; }),
            "corrupt: k.json: /instances/0/state_bytes: a whole number from 0 to 2^64-1 expected");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["state_bytes"] = 1e30; }),
            "corrupt: k.json: /instances/0/state_bytes: a whole number from 0 to 2^64-1 expected");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["space_size"] = ~uint64_t{0}; }),
            "corrupt: k.json: /instances/0/space_size: 18446744073709551615 bytes from 0x7a0000000000 do not fit in an address");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["space_base"] = "far"; }),
            "corrupt: k.json: /instances/0/space_base: 'far' is no address (0x and hexadecimal digits)");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["parameters"] = "00"; }),
            "corrupt: k.json: /instances/0/parameters: 1 bytes of arguments, 16 expected");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["parameters"] = "zz"; }),
            "corrupt: k.json: /instances/0/parameters: pairs of hexadecimal digits expected");
  EXPECT_EQ(
      refusal([](json& j) { j["kernel"]["parameters"][1]["offset"] = ~uint64_t{0}; }),
      "corrupt: k.json: /kernel/parameters/1: a parameter at 18446744073709551615 of 8 bytes reaches beyond the 16 bytes of all");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["parameter_bytes"] = uint64_t{1} << 40; }),
            "corrupt: k.json: /kernel/parameter_bytes: 1099511627776 is above 1048576");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["globals"][0]["alignment"] = 3; }),
            "corrupt: k.json: /kernel/globals/0/alignment: 3 is no alignment");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["parameters"][1]["alignment"] = 0; }),
            "corrupt: k.json: /kernel/parameters/1/alignment: 0 is no alignment");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["parameters"][1]["alignment"] = (uint64_t{1} << 32) + 8; }),
            "corrupt: k.json: /kernel/parameters/1/alignment: 4294967304 is above 4294967295");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["dynamic_shared_memory"] = uint64_t{1} << 32; }),
            "corrupt: k.json: /instances/0/dynamic_shared_memory: 4294967296 is above 4294967295");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["static_hash"] = "../../etc/passwd"; }),
            "corrupt: k.json: /kernel/static_hash: '../../etc/passwd' is not a hash (32 hexadecimal digits)");
}

TEST(KernelCodec, AnnotationsAreElementsInOrder) {
  auto annotations = [](json& j) -> json& { return j["instances"][0]["annotations"]; };
  EXPECT_EQ(refusal([&](json& j) {
              annotations(j)[0]["tolerance"] = "f31, 1, ulp";
            }).find("corrupt: k.json: /instances/0/annotations/0/tolerance: reading the tolerance 'f31, 1, ulp': "),
            0u);
  EXPECT_EQ(refusal([&](json& j) { annotations(j)[0]["bytes"] = 7; }),
            "corrupt: k.json: /instances/0/annotations/0: 7 bytes at 0x7a0000000000 are no elements of f32");
  EXPECT_EQ(refusal([&](json& j) { annotations(j)[1]["bytes"] = 0; }),
            "corrupt: k.json: /instances/0/annotations/1: 0 bytes at 0x7a0000000200 are no elements of complex128");
  EXPECT_EQ(refusal([&](json& j) { annotations(j)[1]["address"] = "0xfffffffffffffff8"; }),
            "corrupt: k.json: /instances/0/annotations/1: 16 bytes at 0xfffffffffffffff8 are no elements of complex128");
  EXPECT_EQ(refusal([&](json& j) { annotations(j)[0]["bytes"] = 516; }),
            "corrupt: k.json: /instances/0/annotations/1: the annotation at 0x7a0000000200 overlaps the one before it");
  EXPECT_EQ(refusal([&](json& j) { annotations(j)[0].erase("tag"); }),
            "corrupt: k.json: /instances/0/annotations/0: the key 'tag' is missing");
}

TEST(KernelCodec, DocumentsOfVersion10HaveNoAnnotations) {
  KernelDocument document = kernel_document();
  document.instances[0].annotations.clear();
  json old = json::parse(encode_version_1(document));
  EXPECT_TRUE(old["instances"][0]["annotations"].empty());
  EXPECT_EQ(refusal([&](json& j) { j["instances"][0].erase("annotations"); }).find("corrupt: k.json: /checksum: "), 0u);
}

TEST(KernelCodec, RecordedTimesAreTimes) {
  auto time = [](json& j) -> json& { return j["instances"][0]["recorded_time"]; };
  EXPECT_EQ(refusal([&](json& j) { time(j)["captured"] = -1; }),
            "corrupt: k.json: /instances/0/recorded_time/captured: a number that is not negative expected");
  EXPECT_EQ(refusal([&](json& j) { time(j)["others"].erase("median"); }),
            "corrupt: k.json: /instances/0/recorded_time/others: the key 'median' is missing");
  EXPECT_EQ(refusal([&](json& j) { time(j).erase("clock_source"); }),
            "corrupt: k.json: /instances/0/recorded_time: the key 'clock_source' is missing");
  KernelDocument document = kernel_document();
  document.instances[0].recorded_time = RecordedTime{"steady_clock", 7.0, 0, 0, 0};
  document.lists_instances = true;
  EXPECT_EQ(*decode_kernel(encode_version_1(document), "k.json"), document);
  EXPECT_EQ(document.instances[0].recorded_time->reference(), 7.0);
  EXPECT_EQ((RecordedTime{"steady_clock", 7.0, 3, 4.0, 5.0}).reference(), 5.0) << "of the launches that nothing was read before";
  document.instances[0].recorded_time.reset();
  EXPECT_EQ(*decode_kernel(encode_version_1(document), "k.json"), document);
}

TEST(KernelCodec, ShapeLaunchesAreSinceVersion22) {
  const auto launches = [](json& j) -> json& { return j["instances"][0]["shape_launches"]; };
  EXPECT_EQ(refusal([&](json& j) { launches(j).erase("count"); }),
            "corrupt: k.json: /instances/0/shape_launches: the key 'count' is missing");
  EXPECT_EQ(refusal([&](json& j) { launches(j)["total"] = -1; }),
            "corrupt: k.json: /instances/0/shape_launches/total: a number that is not negative expected");
  KernelDocument document = kernel_document();
  document.lists_instances = true;
  document.instances[0].shape_launches = ShapeLaunches{3, std::nullopt};
  EXPECT_EQ(*decode_kernel(encode_version_1(document), "k.json"), document);
  document.instances[0].shape_launches.reset();
  EXPECT_EQ(*decode_kernel(encode_version_1(document), "k.json"), document);
}

TEST(KernelCodec, TrimmedInstancesAreSinceVersion24) {
  const auto trimmed = [](json& j) -> json& { return j["instances"][0]["trimmed"]; };
  EXPECT_EQ(refusal([&](json& j) { trimmed(j).erase("pages"); }),
            "corrupt: k.json: /instances/0/trimmed: the key 'pages' is missing");
  EXPECT_EQ(refusal([&](json& j) { trimmed(j)["of"][0] = "0123"; }),
            "corrupt: k.json: /instances/0/trimmed/of/0: a hash of 32 hexadecimal digits expected");
  EXPECT_EQ(refusal([&](json& j) { trimmed(j)["of"][0] = 7; }),
            "corrupt: k.json: /instances/0/trimmed/of/0: a hash of 32 hexadecimal digits expected");
  EXPECT_EQ(refusal([&](json& j) { trimmed(j)["of"] = json::array(); }),
            "corrupt: k.json: /instances/0/trimmed/of: a hash expected");
  KernelDocument document = kernel_document();
  document.lists_instances = true;
  document.instances[0].trimmed.reset();
  EXPECT_EQ(*decode_kernel(encode_version_1(document), "k.json"), document);
}

// The recorder writes names that a program, a file system or a driver has made.
TEST(KernelCodec, NamesMayHoldAnyByte) {
  KernelDocument document = kernel_document();
  document.kernel.source = "gr\xf6\xdf.cu:12";
  auto kernel = decode_kernel(encode_kernel(document), "k.json");
  ASSERT_TRUE(kernel.ok()) << kernel.status().to_string();
  EXPECT_EQ(kernel->kernel.source, "gr\ufffd\ufffd.cu:12");
  InstanceRecord instance = document.instances[0];
  instance.device_name = "a \xff";
  const std::string line = encode_instance(instance);
  auto read = decode_instance(std::string_view(line).substr(0, line.size() - 1), document.kernel, "l.mneme", 256);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->device_name, "a \ufffd");
}

TEST(KernelCodec, NoDocumentNamesAFileElsewhere) {
  EXPECT_EQ(refusal([](json& j) { j["ir"]["file"] = "../secret"; }),
            "corrupt: k.json: /ir/file: the file must be named '" + ir_file_name(digest("kernel")) + "', not '../secret'");
  EXPECT_THAT(refusal([](json& j) { j["instances"][0]["prologue"] = "/etc/passwd"; }),
              HasSubstr("/instances/0/prologue: the file must be named 'DeviceState.prologue."));
}

TEST(KernelCodec, ToldVersions) {
  auto with_checksum = [](json& j) {
    j.erase("checksum");
    const std::string text = j.dump();
    j["checksum"] = digest_of(std::as_bytes(std::span(text))).hex();
  };
  EXPECT_EQ(refusal([&](json& j) { j["version"]["major"] = 6, with_checksum(j); }),
            "incompatible: k.json: format version 6.1, this Mneme reads versions 1.x to 5.x: use a newer Mneme");
  EXPECT_EQ(refusal([&](json& j) { j["version"]["major"] = 0, with_checksum(j); }),
            "incompatible: k.json: format version 0.1, this Mneme reads versions 1.x to 5.x: record again");
  // A newer format may have another checksum.
  EXPECT_EQ(refusal([](json& j) { j["version"]["major"] = 6, j["checksum"] = "new"; }),
            "incompatible: k.json: format version 6.1, this Mneme reads versions 1.x to 5.x: use a newer Mneme");
  EXPECT_EQ(refusal([](json& j) { j["version"]["major"] = 6; }),
            "corrupt: k.json: /version/major: the format version is 6.1, and the checksum that of version 1.1: it was damaged");
  EXPECT_EQ(refusal([](json& j) { j["format"] = "something"; }),
            "corrupt: k.json: /format: 'mneme kernel' expected, not 'something'");
}

TEST(KernelCodec, NoticesEveryFlippedBit) {
  for (const std::string& text : {encode_kernel(kernel_document()), encode_version_1(kernel_document())})
    for (size_t at = 0; at < text.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = text;
        damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
        auto decoded = decode_kernel(damaged, "k.json");
        // White space may turn into other white space.
        if (decoded.ok())
          EXPECT_EQ(json::parse(damaged), json::parse(text)) << "byte " << at << " bit " << bit;
        else
          EXPECT_TRUE(decoded.status().message().starts_with("k.json: ")) << decoded.status().message();
      }
    }
}

TEST(KernelCodec, NoticesTruncationAtEveryByte) {
  const std::string text = encode_kernel(kernel_document());
  for (size_t size = 0; size + 1 < text.size(); ++size) EXPECT_FALSE(decode_kernel(text.substr(0, size), "k.json").ok()) << size;
  EXPECT_EQ(decode_kernel("", "k.json").status().message(), "k.json: offset 0: the file is empty");
  EXPECT_EQ(decode_kernel("{\"a\": ?}", "k.json").status().message(), "k.json: offset 6: this is not JSON");
  EXPECT_THAT(decode_kernel("{\"a\": 1e999}", "k.json").status().to_string(), HasSubstr("corrupt: k.json: this is not JSON: "));
}

TEST(KernelCodec, RefusesDeepNesting) {
  std::string deep = "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_EQ(decode_kernel(deep, "k.json").status().message(), "k.json: JSON nested deeper than 16");
}

TEST(InstanceListCodec, RoundTrip) {
  const KernelDocument document = kernel_document();
  const std::string line = encode_instance(document.instances[0]);
  ASSERT_EQ(line.find('\n'), line.size() - 1);
  auto decoded = decode_instance(std::string_view(line).substr(0, line.size() - 1), document.kernel, "l.mneme", 256);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, document.instances[0]);
  for (const InstanceListHeader& header :
       {InstanceListHeader{digest("kernel"), 256, 0}, InstanceListHeader{digest("kernel"), ~uint64_t{0}, ~uint64_t{0}}}) {
    const std::string text = encode_list_header(header);
    ASSERT_EQ(text.size(), kListHeaderBytes);
    auto read = decode_list_header(text, "l.mneme");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, header);
  }
  InstanceRecord clustered = document.instances[0];
  EXPECT_EQ(version_of(clustered), kTrimmedVersion);
  clustered.trimmed.reset();
  EXPECT_EQ(version_of(clustered), kCommonVersion);
  clustered.cluster = {2, 1, 1};
  EXPECT_EQ(version_of(clustered), kCodeLevelVersion) << "a reader that does not know clusters would launch another kernel";
  const InstanceListHeader newest{digest("kernel"), 1000, 1, kCodeLevelVersion};
  EXPECT_EQ(*decode_list_header(encode_list_header(newest), "l.mneme"), newest);
}

TEST(InstanceListCodec, NoticesEveryFlippedBitAndTruncation) {
  const KernelDocument document = kernel_document();
  const std::string head = encode_list_header({digest("kernel"), 1000, 1});
  std::string line = encode_instance(document.instances[0]);
  line.pop_back();
  auto refused = [&](const std::string& text, bool is_head) {
    const Status status =
        is_head ? decode_list_header(text, "l.mneme").status() : decode_instance(text, document.kernel, "l.mneme", 256).status();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_TRUE(status.message().starts_with(is_head ? "l.mneme: offset 0: " : "l.mneme: offset 256: ")) << status.message();
  };
  for (bool is_head : {true, false}) {
    const std::string& whole = is_head ? head : line;
    for (size_t at = 0; at < whole.size(); ++at) {
      refused(whole.substr(0, at), is_head);
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
        refused(damaged, is_head);
      }
    }
  }
  EXPECT_EQ(decode_list_header("", "l.mneme").status().message(), "l.mneme: offset 0: the file is empty");
}

TEST(InstanceListCodec, SaysWhatIsWrong) {
  const auto refusal = [](const std::function<void(json&)>& change) {
    json header = json::parse(encode_list_header({digest("kernel"), 1000, 1}).substr(33));
    change(header);
    std::string text = header.dump();
    text.resize(kListHeaderBytes - 34, ' ');
    return decode_list_header(digest_of(std::as_bytes(std::span(text))).hex() + " " + text + "\n", "l.mneme")
        .status()
        .to_string();
  };
  EXPECT_EQ(refusal([](json&) {}), "ok");
  EXPECT_EQ(refusal([](json& j) { j["version"]["major"] = 6; }),
            "incompatible: l.mneme: format version 6.3, this Mneme reads versions 1.x to 5.x: use a newer Mneme");
  EXPECT_EQ(refusal([](json& j) { j["format"] = "mneme kernel"; }),
            "corrupt: l.mneme: /format: 'mneme instances' expected, not 'mneme kernel'");
  EXPECT_EQ(refusal([](json& j) { j["bytes"] = kListHeaderBytes; }), "ok");
  EXPECT_EQ(refusal([](json& j) { j["bytes"] = kListHeaderBytes - 1; }),
            "corrupt: l.mneme: /bytes: 255 bytes, of which the first line alone has 256");
}

StateDocument state_document() {
  StateDocument document;
  document.moment = Moment::epilogue;
  document.static_hash = digest("kernel");
  document.dynamic_hash = digest("instance");
  document.packs = {digest("pack"), digest("another pack")};
  document.state.regions = {
      {Region::Kind::allocation, DevicePtr(0x7a0000000000), Bytes(kPageSize.count + 1), "", {digest("a"), digest("b")}},
      {Region::Kind::global, DevicePtr(0x7b0000000040), Bytes(64), "table", {digest("c")}},
  };
  return document;
}

TEST(StateCodec, RoundTrip) {
  StateDocument document = state_document();
  auto decoded = decode_state(encode_state(document), "s.mneme");
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, document);
  document.state.regions.clear();
  EXPECT_EQ(*decode_state(encode_state(document), "s.mneme"), document);
}

// An older reader would not have memory of these kinds at its address.
TEST(StateCodec, MemoryOutsideOfTheRecordersRangeIsOfANewerVersion) {
  const auto version = [](Region::Kind kind) {
    StateDocument document = state_document();
    document.state.regions[0].kind = kind;
    const ByteVector bytes = encode_state(document);
    EXPECT_EQ(*decode_state(bytes, "s.mneme"), document);
    return FormatVersion{static_cast<uint16_t>(bytes[8]), static_cast<uint16_t>(bytes[10])};
  };
  for (Region::Kind kind : {Region::Kind::allocation, Region::Kind::global, Region::Kind::host})
    EXPECT_EQ(version(kind), kCommonVersion) << to_string(kind);
  for (Region::Kind kind : {Region::Kind::mapped, Region::Kind::managed})
    EXPECT_EQ(version(kind), kOutsideMemoryVersion) << to_string(kind);
}

TEST(StateCodec, EveryMemberIsWrittenAndRead) {
  StateDocument document = state_document();
  const ByteVector usual = encode_state(document);
  const auto see = [&](const std::string& name) {
    const ByteVector bytes = encode_state(document);
    EXPECT_NE(bytes, usual) << name << " is not written";
    auto decoded = decode_state(bytes, "s.mneme");
    ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.status().message();
    EXPECT_EQ(*decoded, document) << name << " is not read";
  };
  auto& [moment, static_hash, dynamic_hash, state, packs] = document;
  testing_members::change(moment, Moment::prologue, "moment", see);
  testing_members::change(static_hash, digest("other"), "static_hash", see);
  testing_members::change(dynamic_hash, digest("other"), "dynamic_hash", see);
  testing_members::change(packs, {digest("other")}, "packs", see);
  testing_members::change(packs, {}, "packs", see);
  auto& [regions, of_version_5] = state;
  EXPECT_TRUE(of_version_5.empty());
  testing_members::change_each(regions[1], see);
}

TEST(StateCodec, TakesHeadersOfOtherMinorVersions) {
  auto with_header = [](ByteVector bytes, std::ptrdiff_t change) {  // a header so much longer, with what nobody knows, or shorter
    const auto end = bytes.begin() + 96 + 8 + 2 * 16;
    change > 0 ? void(bytes.insert(end, static_cast<size_t>(change), std::byte{7})) : void(bytes.erase(end + change, end));
    const uint32_t header = static_cast<uint32_t>(96 + 8 + 2 * 16 + change);
    const uint64_t total = bytes.size();
    std::memcpy(bytes.data() + 12, &header, sizeof header);
    std::memcpy(bytes.data() + 16, &total, sizeof total);
    std::memset(bytes.data() + 24, 0, 16);
    const Digest checksum = digest_of(bytes);
    std::memcpy(bytes.data() + 24, checksum.bytes.data(), sizeof checksum);
    return decode_state(bytes, "s.mneme");
  };
  const StateDocument document = state_document();
  EXPECT_EQ(*with_header(encode_state(document), 40), document);
  StateDocument before = document;  // as version 1 wrote it
  before.packs.clear();
  EXPECT_EQ(*with_header(encode_state(document), -40), before);
  EXPECT_EQ(with_header(encode_state(document), -16).status().to_string(),
            "corrupt: s.mneme: offset 104: 2 packs do not fit in a header of 120 bytes");
}

TEST(StateCodec, NoticesEveryFlippedBitAndTruncation) {
  const ByteVector bytes = encode_state(state_document());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      ByteVector damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(1 << bit);
      auto decoded = decode_state(damaged, "s.mneme");
      ASSERT_FALSE(decoded.ok()) << "byte " << at << " bit " << bit;
      EXPECT_TRUE(decoded.status().message().starts_with("s.mneme: ")) << decoded.status().message();
    }
    EXPECT_FALSE(decode_state(ByteSpan(bytes).first(at), "s.mneme").ok()) << at;
  }
}

TEST(StateCodec, SaysWhatIsWrong) {
  ByteVector bytes = encode_state(state_document());
  EXPECT_EQ(decode_state({}, "s.mneme").status().message(), "s.mneme: offset 0: the file is empty");
  EXPECT_EQ(decode_state(ByteSpan(bytes).first(140), "s.mneme").status().message(),
            fmt::format("s.mneme: offset 16: the file has 140 bytes, {} expected", bytes.size()));
  ByteVector newer = bytes;
  newer[8] = std::byte{6};
  EXPECT_EQ(decode_state(newer, "s.mneme").status().to_string(),
            "corrupt: s.mneme: offset 8: the format version is 6.3, and the checksum that of version 2.3: it was damaged");
  newer[24] ^= std::byte{1};  // what is not known may be newer
  EXPECT_EQ(decode_state(newer, "s.mneme").status().to_string(),
            "incompatible: s.mneme: format version 6.3, this Mneme reads versions 1.x to 5.x: use a newer Mneme");
  ByteVector flipped = bytes;
  flipped.back() ^= std::byte{1};
  EXPECT_THAT(decode_state(flipped, "s.mneme").status().message(), HasSubstr("s.mneme: offset 24: the file's checksum is "));
}

// A well-formed file may still hold nonsense: the checksum is no protection against an adversary.
TEST(StateCodec, BoundsWhatTheChecksumLetsThrough) {
  auto refusal_of = [](StateDocument document) { return decode_state(encode_state(document), "s.mneme").status().message(); };
  StateDocument document = state_document();
  document.state.regions[0].size = Bytes(~uint64_t{0});
  EXPECT_THAT(refusal_of(document), HasSubstr("a region at 0x7a0000000000 of 18446744073709551615 bytes"));
  document = state_document();
  document.state.regions[0].size = Bytes(uint64_t{1} << 60);
  EXPECT_THAT(refusal_of(document), HasSubstr("2 pages for a region at 0x7a0000000000 of 1152921504606846976 bytes"));
  document = state_document();
  std::swap(document.state.regions[0], document.state.regions[1]);
  EXPECT_THAT(refusal_of(document), HasSubstr("the region at 0x7a0000000000 overlaps the one before it"));
  document = state_document();
  const Region& first = document.state.regions[0];
  document.state.regions[1].address = first.address + (first.size - Bytes(1));  // the last byte of the one before
  EXPECT_THAT(refusal_of(document), HasSubstr(" overlaps the one before it"));
  document.state.regions[1].address = first.range().end();
  EXPECT_EQ(refusal_of(document), "") << "neighbours";
  document.state.regions[1].address = DevicePtr(~uint64_t{0} - 1000);  // its page would end beyond all addresses
  EXPECT_THAT(refusal_of(document), HasSubstr("a region at 0xfffffffffffffc17 of 64 bytes"));
}

TEST(KernelCodec, NamesWhatIsNearlyRight) {
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["grid"].push_back(1); }),
            "corrupt: k.json: /instances/0/grid: three numbers expected");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["parameters"] = std::string(33, '5'); }),
            "corrupt: k.json: /instances/0/parameters: pairs of hexadecimal digits expected");
  EXPECT_EQ(refusal([](json& j) { j["instances"][0]["space_base"] = "0x7a0g"; }),
            "corrupt: k.json: /instances/0/space_base: '0x7a0g' is no address (0x and hexadecimal digits)");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["parameters"][1]["offset"] = 12; }),
            "corrupt: k.json: /kernel/parameters/1: a parameter at 12 of 8 bytes reaches beyond the 16 bytes of all");
  EXPECT_EQ(refusal([](json& j) { j["kernel"]["name"] = ""; }), "corrupt: k.json: /kernel/name: the name is empty");
}

// What no Mneme has written, under a checksum that is right.
TEST(StateCodec, NamesWhatNoStateHas) {
  const ByteVector usual = encode_state(state_document());
  const auto refusal_of = [&](const std::function<void(ByteVector&)>& change) {
    ByteVector bytes = usual;
    change(bytes);
    const uint64_t size = bytes.size();
    std::memcpy(bytes.data() + 16, &size, sizeof size);
    const ByteSpan all(bytes);
    const Digest checksum = Hasher().add(all.first(24)).add(ByteVector(16)).add(all.subspan(40)).finish();
    std::memcpy(bytes.data() + 24, checksum.bytes.data(), 16);
    return decode_state(bytes, "s.mneme").status().message();
  };
  uint32_t regions = 0;  // where they begin
  std::memcpy(&regions, usual.data() + 12, sizeof regions);
  EXPECT_EQ(refusal_of([](ByteVector&) {}), "");
  EXPECT_EQ(refusal_of([](ByteVector& b) { b[72] = std::byte{3}; }), "s.mneme: offset 72: 3 is no moment");
  EXPECT_EQ(refusal_of([](ByteVector& b) { b[95] = std::byte{1}; }), "s.mneme: offset 80: reserved bytes are not zero");
  EXPECT_THAT(refusal_of([](ByteVector& b) { b[100] = std::byte{1}; }), HasSubstr(" packs do not fit in a header of "));
  EXPECT_THAT(refusal_of([&](ByteVector& b) { b[regions] = std::byte{7}; }), HasSubstr("region kind 7 is not known"));
  EXPECT_THAT(refusal_of([&](ByteVector& b) { b[regions + 4] = std::byte{1}; }), HasSubstr("reserved bytes are not zero"));
  EXPECT_THAT(refusal_of([](ByteVector& b) { b.resize(b.size() + 8); }), HasSubstr("8 bytes are left over"));
}

}  // namespace
}  // namespace mneme
