// The codec of the pool's messages: what is sent arrives, and what no worker would send is refused.
#include "mneme/pool/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <random>

#include "mneme/pool/isolated_messages.h"
#include "mneme/process/zygote_messages.h"

namespace mneme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Json = nlohmann::json;

class MessagesTest : public ::testing::Test {
 protected:
  MessagesTest() : ends_(std::move(*Channel::pair())) {}

  template <typename Sent>
  Sent to_worker_and_back(Sent message) {
    EXPECT_TRUE(send(ends_.first, ToWorker(std::move(message))).ok());
    auto decoded = decode_to_worker(*ends_.second.receive());
    EXPECT_TRUE(decoded.ok()) << decoded.status().to_string();
    return std::get<Sent>(*decoded);
  }
  template <typename Sent>
  Sent from_worker_and_back(WorkerRole role, Sent message) {
    EXPECT_TRUE(send(ends_.first, FromWorker(std::move(message))).ok());
    auto decoded = decode_from_worker(role, *ends_.second.receive());
    EXPECT_TRUE(decoded.ok()) << decoded.status().to_string();
    return std::get<Sent>(*decoded);
  }

  std::pair<Channel, Channel> ends_;
};

ObjectHandle some_memory() { return std::make_shared<Descriptor>(::memfd_create("object", MFD_CLOEXEC)); }

TEST_F(MessagesTest, WhatIsSentToAWorkerArrives) {
  const Json configuration = {{"passes", "default<O3>"}};
  const auto compile = to_worker_and_back(CompileJob{7, configuration, true, true});
  EXPECT_EQ(compile.id, 7u);
  EXPECT_EQ(compile.configuration, configuration);
  EXPECT_TRUE(compile.assemble);
  EXPECT_TRUE(compile.alone);
  EXPECT_TRUE(to_worker_and_back(AssembleAnswer{true}).assemble);
  EXPECT_FALSE(to_worker_and_back(AssembleAnswer{false}).assemble);
  const auto measure = to_worker_and_back(MeasureJob{8, configuration, {{"digest", "ab"}}, some_memory(), true});
  EXPECT_EQ(measure.id, 8u);
  EXPECT_EQ(measure.configuration, configuration);
  EXPECT_EQ(measure.code["digest"], "ab");
  EXPECT_TRUE(measure.object && measure.object->open());
  EXPECT_TRUE(measure.alone);
  EXPECT_FALSE(to_worker_and_back(MeasureJob{8, configuration, {}, nullptr, false}).object);
  EXPECT_EQ(to_worker_and_back(StopJob{9}).id, 9u);
}

TEST_F(MessagesTest, CopiesArriveInBothDirectionsWithTheirDescriptors) {
  SharedCopies copies{{{"size", 4096}}, {}};
  for (int i = 0; i < 5; ++i) copies.descriptors.push_back(std::move(*some_memory()));  // as many as there may be
  const InstanceCopies sent{5, std::make_shared<SharedCopies>(std::move(copies))};
  for (const InstanceCopies& arrived : {to_worker_and_back(sent), from_worker_and_back(WorkerRole::device, sent)}) {
    EXPECT_EQ(arrived.instance, 5u);
    EXPECT_EQ(arrived.copies->description["size"], 4096);
    EXPECT_THAT(arrived.copies->descriptors, SizeIs(5));
  }
}

TEST_F(MessagesTest, WhatAWorkerSaysOfItselfArrives) {
  for (WorkerRole role : {WorkerRole::compile, WorkerRole::device, WorkerRole::keeper}) {
    from_worker_and_back(role, WorkerReady());
    EXPECT_EQ(from_worker_and_back(role, WorkerRefused{"no GPU"}).reason, "no GPU");
  }
  const auto device = from_worker_and_back(WorkerRole::device, DeviceOpened{"H200", "sm_90"});
  EXPECT_EQ(device.name, "H200");
  EXPECT_EQ(device.architecture, "sm_90");
  EXPECT_EQ(from_worker_and_back(WorkerRole::device, MaskLost{"a fault"}).reason, "a fault");
  EXPECT_EQ(from_worker_and_back(WorkerRole::device, WorkerExhausted{"files"}).reason, "files");
}

TEST_F(MessagesTest, WhatAWorkerSaysOfAJobArrives) {
  const auto translated = from_worker_and_back(WorkerRole::compile, CodeTranslated{1, "ab", {{"times", {{"translate", 5}}}}});
  EXPECT_EQ(translated.id, 1u);
  EXPECT_EQ(translated.digest, "ab");
  EXPECT_EQ(translated.about["times"]["translate"], 5);
  EXPECT_EQ(from_worker_and_back(WorkerRole::compile, TranslationBegan{4}).id, 4u);
  EXPECT_EQ(from_worker_and_back(WorkerRole::compile, JobsJoined{5}).id, 5u);
  const auto assembled = from_worker_and_back(WorkerRole::compile, CodeAssembled{2, {{"digest", "cd"}}, some_memory()});
  EXPECT_EQ(assembled.id, 2u);
  EXPECT_EQ(assembled.description["digest"], "cd");
  EXPECT_TRUE(assembled.object && assembled.object->open());
  EXPECT_EQ(from_worker_and_back(WorkerRole::device, JobBegan{3}).id, 3u);
  EXPECT_EQ(from_worker_and_back(WorkerRole::device, JobLoading{4}).id, 4u);
  const auto timed = from_worker_and_back(WorkerRole::device, JobTimed{5, {Nanoseconds(1.5), Nanoseconds(2)}});
  EXPECT_EQ(timed.id, 5u);
  EXPECT_THAT(timed.times, ElementsAre(Nanoseconds(1.5), Nanoseconds(2)));
  PoolResult result;
  result.failure = Failure::wrong_result;
  result.reason = "it differs";
  result.details.together.exec_time = {Nanoseconds(7)};
  const auto ended = from_worker_and_back(WorkerRole::device, JobEnded{6, result});
  EXPECT_EQ(ended.id, 6u);
  EXPECT_EQ(ended.result.failure, Failure::wrong_result);
  EXPECT_EQ(ended.result.reason, "it differs");
  EXPECT_EQ(to_json(ended.result.details), to_json(result.details));
  EXPECT_FALSE(from_worker_and_back(WorkerRole::device, JobEnded{6, PoolResult()}).result.failed());
}

TEST_F(MessagesTest, AnOrderIsReadAsItWasWritten) {
  const WorkerOrder order{WorkerRole::keeper, 3, "sm_90", "a fault", 2};
  const auto read = worker_order_from_json(to_json(order));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->role, WorkerRole::keeper);
  EXPECT_EQ(read->device, 3);
  EXPECT_EQ(read->architecture, "sm_90");
  EXPECT_EQ(read->no_mask, "a fault");
  EXPECT_EQ(read->copies, 2u);
  for (const char* member : {"role", "device", "architecture", "no_mask", "copies"}) {
    Json damaged = to_json(order);
    damaged[member] = Json::array();
    EXPECT_EQ(worker_order_from_json(damaged).status().code(), Code::corrupt) << member;
    damaged.erase(member);
    EXPECT_EQ(worker_order_from_json(damaged).status().code(), Code::corrupt) << member;
  }
}

Status refusal(WorkerRole role, Json body) { return decode_from_worker(role, Message{std::move(body), {}}).status(); }

// Every member of every message, missing and of another kind.
TEST_F(MessagesTest, AMessageWithoutAMemberIsRefused) {
  const std::vector<std::pair<WorkerRole, Json>> kMessages = {
      {WorkerRole::compile, {{"type", "refused"}, {"reason", "x"}}},
      {WorkerRole::compile, {{"type", "translated"}, {"id", 1u}, {"digest", "x"}, {"about", Json::object()}}},
      {WorkerRole::compile, {{"type", "assembled"}, {"id", 1u}, {"description", {{"digest", "x"}}}}},
      {WorkerRole::device, {{"type", "device"}, {"name", "x"}, {"architecture", "x"}}},
      {WorkerRole::device, {{"type", "mask_lost"}, {"reason", "x"}}},
      {WorkerRole::device, {{"type", "exhausted"}, {"reason", "x"}}},
      {WorkerRole::device, {{"type", "began"}, {"id", 1u}}},
      {WorkerRole::device, {{"type", "loading"}, {"id", 1u}}},
      {WorkerRole::device, {{"type", "timed"}, {"id", 1u}, {"times", {1, 2.5}}}},
      {WorkerRole::device, {{"type", "ended"}, {"id", 1u}, {"failure", "none"}, {"reason", ""}, {"details", Json::object()}}},
  };
  for (const auto& [role, body] : kMessages) {
    EXPECT_TRUE(refusal(role, body).ok()) << body.dump() << refusal(role, body).to_string();
    for (const auto& [name, value] : body.items()) {
      Json damaged = body;
      for (const Json& other : {Json(), Json(-1), Json({1, {{"times", "none"}}}), Json(true)}) {
        damaged[name] = other;
        EXPECT_EQ(refusal(role, damaged).code(), Code::corrupt) << damaged.dump();
      }
      damaged.erase(name);
      EXPECT_EQ(refusal(role, damaged).code(), Code::corrupt) << damaged.dump();
    }
  }
}

TEST_F(MessagesTest, WhatNoWorkerOfThatRoleSaysIsRefused) {
  const Json began = {{"type", "began"}, {"id", 1u}};
  EXPECT_TRUE(refusal(WorkerRole::device, began).ok());
  EXPECT_EQ(refusal(WorkerRole::compile, began).code(), Code::corrupt);
  EXPECT_EQ(refusal(WorkerRole::keeper, began).code(), Code::corrupt);
  const Json translated = {{"type", "translated"}, {"id", 1u}, {"digest", "x"}, {"about", Json::object()}};
  EXPECT_EQ(refusal(WorkerRole::device, translated).code(), Code::corrupt);
  // A compile worker has measured nothing.
  Json ended = {{"type", "ended"}, {"id", 1u}, {"failure", "none"}, {"reason", ""}, {"details", Json::object()}};
  EXPECT_EQ(refusal(WorkerRole::compile, ended).code(), Code::corrupt);
  ended["failure"] = "compile_error";
  EXPECT_TRUE(refusal(WorkerRole::compile, ended).ok());
  ended["failure"] = "no such failure";
  EXPECT_EQ(refusal(WorkerRole::compile, ended).code(), Code::corrupt);
}

TEST_F(MessagesTest, WhatResultsRelyOnIsOfItsKind) {
  const auto translated = [](Json about) {
    return refusal(WorkerRole::compile, {{"type", "translated"}, {"id", 1u}, {"digest", "x"}, {"about", std::move(about)}});
  };
  EXPECT_TRUE(translated({{"times", Json::object()}, {"specialised", Json::array()}}).ok());
  EXPECT_EQ(translated({{"times", 5}}).code(), Code::corrupt);
  EXPECT_EQ(translated({{"specialised", 5}}).code(), Code::corrupt);
  EXPECT_EQ(translated(Json::array({1})).code(), Code::corrupt);
  const auto assembled = [](Json description) {
    return refusal(WorkerRole::compile, {{"type", "assembled"}, {"id", 1u}, {"description", std::move(description)}});
  };
  EXPECT_EQ(assembled({{"digest", 5}}).code(), Code::corrupt);
  EXPECT_EQ(assembled({{"times", Json::object()}}).code(), Code::corrupt);
  const auto ended = [](Json details) {
    return refusal(WorkerRole::device,
                   {{"type", "ended"}, {"id", 1u}, {"failure", "none"}, {"reason", ""}, {"details", std::move(details)}});
  };
  EXPECT_EQ(ended(Json::array({1})).code(), Code::corrupt);
  EXPECT_EQ(ended({{"times", "none"}}).code(), Code::corrupt);
}

TEST_F(MessagesTest, WhatIsNoMessageAtAllIsRefused) {
  for (const Json& body : {Json(), Json(5), Json("ready"), Json::array({"type", "ready"}), Json::object(), Json({{"type", "x"}}),
                           Json({{"ready", true}}), Json(Json::value_t::discarded)})
    for (WorkerRole role : {WorkerRole::compile, WorkerRole::device, WorkerRole::keeper}) {
      EXPECT_EQ(refusal(role, body).code(), Code::corrupt);
      EXPECT_EQ(decode_to_worker(Message{body, {}}).status().code(), Code::corrupt);
    }
  EXPECT_THAT(refusal(WorkerRole::device, Json::object()).message(), HasSubstr("'type' is missing or is of another kind"));
}

TEST_F(MessagesTest, WhatAZygoteIsToldArrives) {
  ASSERT_TRUE(send(ends_.first, ForkWorker{7, {{"role", "compile"}}}, std::array{0}).ok());
  Message message = *ends_.second.receive();
  const auto fork = std::get<ForkWorker>(*decode_to_zygote(message));
  EXPECT_EQ(fork.id, 7u);
  EXPECT_EQ(fork.order["role"], "compile");
  EXPECT_THAT(message.descriptors, SizeIs(1)) << "they stay with the message";
  ASSERT_TRUE(send(ends_.first, KillWorkerProcess{8}).ok());
  message = *ends_.second.receive();
  EXPECT_EQ(std::get<KillWorkerProcess>(*decode_to_zygote(message)).id, 8u);
}

TEST_F(MessagesTest, WhatAZygoteSaysArrives) {
  ASSERT_TRUE(send(ends_.first, WorkerProcessEnded{9, 139, "was not forked"}).ok());
  Message message = *ends_.second.receive();
  const auto end = std::get<WorkerProcessEnded>(*decode_from_zygote(message));
  EXPECT_EQ(end.id, 9u);
  EXPECT_EQ(end.wait_status, 139);
  EXPECT_EQ(end.not_forked, "was not forked");
  ASSERT_TRUE(send(ends_.first, ZygoteRefused{"another version"}).ok());
  message = *ends_.second.receive();
  EXPECT_EQ(std::get<ZygoteRefused>(*decode_from_zygote(message)).reason, "another version");
  Message from_an_older_version{{{"reason", "the pool's program is of another version"}}, {}};
  EXPECT_EQ(std::get<ZygoteRefused>(*decode_from_zygote(from_an_older_version)).reason,
            "the pool's program is of another version");
}

TEST_F(MessagesTest, WhatIsNoMessageOfAZygoteIsRefused) {
  const std::vector<Json> kWrong = {{{"type", "fork"}, {"id", 1u}, {"order", {}}},  // no connection came with it
                                    {{"type", "kill"}},
                                    {{"type", "ended"}, {"id", 1u}, {"status", uint64_t{1} << 40}, {"not_forked", ""}},
                                    {{"type", "ended"}, {"id", 1u}, {"status", ~uint64_t{0}}, {"not_forked", ""}},
                                    {{"type", "ended"}, {"id", -1}, {"status", 0}, {"not_forked", ""}},
                                    {{"type", "refused"}},
                                    {{"fork", 1u}},
                                    Json()};
  for (const Json& body : kWrong) {
    Message one{body, {}}, another{body, {}};
    EXPECT_EQ(decode_to_zygote(one).status().code(), Code::corrupt) << body.dump();
    EXPECT_EQ(decode_from_zygote(another).status().code(), Code::corrupt) << body.dump();
  }
}

TEST_F(MessagesTest, IsolatedWorkArrives) {
  IsolatedWork work;
  work.source = {std::byte{1}, std::byte{0}, std::byte{255}};
  work.name = "a module";
  work.pipeline = "default<O2>";
  work.options = {.plugins = {"a.so", "b.so"}, .passes = {}, .cpu = "sm_90", .features = "+ptx80", .codegen_level = 2};
  work.memory = Bytes(5);
  for (bool with_pipeline : {true, false}) {
    if (!with_pipeline) work.pipeline.reset();
    ASSERT_TRUE(send(ends_.first, work).ok());
    const auto arrived = decode_isolated_work(*ends_.second.receive());
    ASSERT_TRUE(arrived.ok()) << arrived.status().to_string();
    EXPECT_EQ(arrived->source, work.source);
    EXPECT_EQ(arrived->name, work.name);
    EXPECT_EQ(arrived->pipeline, work.pipeline);
    EXPECT_EQ(arrived->options.plugins, work.options.plugins);
    EXPECT_EQ(arrived->options.cpu, "sm_90");
    EXPECT_EQ(arrived->options.features, "+ptx80");
    EXPECT_EQ(arrived->options.codegen_level, 2u);
    EXPECT_EQ(arrived->memory, Bytes(5));
  }
  EXPECT_EQ(decode_isolated_work(Message{{{"source", "text"}}, {}}).status().code(), Code::corrupt);
  const Json whole = {{"source", Json::binary({1})}, {"name", "a"}, {"pipeline", nullptr},
                      {"plugins", Json::array()},    {"cpu", ""},   {"features", ""},
                      {"codegen_level", 2u},         {"memory", 5u}};
  EXPECT_TRUE(decode_isolated_work(Message{whole, {}}).ok());
  for (const auto& [key, wrong] : {std::pair("pipeline", Json(5)), std::pair("codegen_level", Json((uint64_t{1} << 32) + 2))}) {
    Json damaged = whole;
    damaged[key] = wrong;
    EXPECT_EQ(decode_isolated_work(Message{damaged, {}}).status().code(), Code::corrupt) << key;
  }
}

TEST_F(MessagesTest, WhatCameOfIsolatedWorkArrives) {
  ASSERT_TRUE(send(ends_.first, IsolatedReply(ByteVector{std::byte{7}})).ok());
  const IsolatedReply bitcode = decode_isolated_reply(*ends_.second.receive());
  ASSERT_TRUE(bitcode.ok()) << bitcode.status().to_string();
  EXPECT_THAT(*bitcode, ElementsAre(std::byte{7}));
  ASSERT_TRUE(send(ends_.first, IsolatedReply(error(Code::invalid_argument, "no such pass"))).ok());
  EXPECT_EQ(decode_isolated_reply(*ends_.second.receive()).status().to_string(), "invalid_argument: no such pass");
  for (unsigned code : {static_cast<unsigned>(Code::internal) + 1, 99u})
    EXPECT_EQ(
        decode_isolated_reply(Message{{{"code", code}, {"message", ""}, {"bitcode", Json::binary({})}}, {}}).status().code(),
        Code::corrupt);
  EXPECT_EQ(decode_isolated_reply(Message{Json(), {}}).status().code(), Code::corrupt);
}

// Bytes of a message that a candidate has written over.
TEST_F(MessagesTest, DamagedBytesAreAMessageOrRefused) {
  std::vector<uint8_t> bytes =
      Json::to_cbor({{"type", "ended"}, {"id", 1}, {"failure", "none"}, {"reason", ""}, {"details", {{"times", {{"run", 5}}}}}});
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> damaged = bytes;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    const std::array<uint64_t, 2> header{damaged.size(), 0};
    ASSERT_EQ(::write(ends_.first.descriptor(), header.data(), sizeof header), sizeof header);
    ASSERT_EQ(::write(ends_.first.descriptor(), damaged.data(), damaged.size()), static_cast<ssize_t>(damaged.size()));
    const auto decoded = decode_from_worker(WorkerRole::device, *ends_.second.receive());
    if (!decoded.ok()) EXPECT_EQ(decoded.status().code(), Code::corrupt);
  }
}

}  // namespace
}  // namespace mneme
