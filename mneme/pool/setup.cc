#include "mneme/pool/setup.h"

#include "mneme/compile/backend.h"
#include "mneme/pool/weights.h"

namespace mneme {

using Json = nlohmann::json;

Status check_protocol(const Json& message) {
  if (message.is_object() && message.value("protocol", Json()) == kWorkerProtocol) return {};
  return error(Code::incompatible,
               "the set-up of a pool's workers is of another version of Mneme: the program and the mneme that it starts "
               "(MNEME_COMMAND, or the PATH's) must be of one");
}

Json to_json(const PoolSetup& setup) {
  Json instances = Json::array();
  for (const Digest& instance : setup.instances) instances.push_back(instance.hex());
  return {{"protocol", kWorkerProtocol},
          {"database", setup.database.string()},
          {"static_hash", setup.static_hash.hex()},
          {"instances", instances},
          {"device_kind", to_string(setup.device_kind)},
          {"compile_for", setup.compile_for},
          {"compile_memory", setup.compile_memory.count},
          {"weights", setup.weights}};
}

Result<PoolSetup> pool_setup_from_json(const Json& json) {
  MNEME_TRY(check_protocol(json));
  const auto is = [&](const char* key, Json::value_t type) { return json.contains(key) && json[key].type() == type; };
  if (!is("database", Json::value_t::string) || !is("static_hash", Json::value_t::string) ||
      !is("instances", Json::value_t::array) || !is("device_kind", Json::value_t::string) ||
      !is("compile_for", Json::value_t::string) || !is("compile_memory", Json::value_t::number_unsigned) ||
      !is("weights", Json::value_t::array))
    return error(Code::invalid_argument, "the set-up of a pool's workers: members are missing");
  PoolSetup setup;
  setup.database = json["database"].get<std::string>();
  MNEME_ASSIGN(setup.static_hash, Digest::from_hex(json["static_hash"].get<std::string>()));
  for (const Json& instance : json["instances"]) {
    MNEME_ASSIGN(Digest digest, Digest::from_hex(instance.is_string() ? instance.get<std::string>() : ""));
    setup.instances.push_back(digest);
  }
  setup.compile_for = json["compile_for"].get<std::string>();
  if (setup.compile_for.empty()) {
    MNEME_ASSIGN(setup.device_kind, parse_device_kind(json["device_kind"].get<std::string>()));
  } else {
    MNEME_ASSIGN(setup.device_kind, kind_of_architecture(setup.compile_for));
  }
  setup.compile_memory = Bytes(json["compile_memory"].get<uint64_t>());
  for (const Json& weight : json["weights"]) setup.weights.push_back(weight.is_number() ? weight.get<double>() : 0);
  MNEME_TRY(check_weights(setup.weights, setup.instances.size()).with_context("the set-up of a pool's workers"));
  return setup;
}

}  // namespace mneme
