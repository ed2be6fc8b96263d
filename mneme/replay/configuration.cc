#include "mneme/replay/configuration.h"

#include <algorithm>
#include <limits>

#include "mneme/base/file_system.h"
#include "mneme/replay/configuration_fields.h"
#include "mneme/replay/json_text.h"

namespace mneme {

using Json = nlohmann::json;

// Outside of the unnamed namespace, where the templates of configuration_fields.h find them.
template <class Fields>
void list_fields(Fields& fields, ExtentOverride& extent) {
  fields.number("x", extent.x);
  fields.number("y", extent.y);
  fields.number("z", extent.z);
}

template <class Fields>
void list_fields(Fields& fields, CodegenOptions& codegen) {
  fields.number("level", codegen.level, {.max = 3});
  fields.text("target", codegen.target);
  fields.text("features", codegen.features);
  fields.texts("fast_math", codegen.fast_math);
  fields.choice("ftz", codegen.ftz, kFlushDenormals);
  fields.choice("contraction", codegen.contraction, kContractions);
  fields.number("code_object", codegen.code_object, {.min = 5, .max = 6});
}

template <class Fields>
void list_fields(Fields& fields, AssemblerOptions& assembler) {
  fields.number("level", assembler.level, {.max = 4});
  fields.texts("options", assembler.options);
  fields.number("max_registers", assembler.max_registers, {.min = 1});
  fields.choice("load_cache", assembler.load_cache, kLoadCacheNames);
  fields.choice("store_cache", assembler.store_cache, kStoreCacheNames);
}

template <class Fields>
void list_fields(Fields& fields, SpecialiseOptions& specialise) {
  fields.texts("arguments", specialise.arguments);
  fields.flag("dimensions", specialise.dimensions);
  fields.flag("ranges", specialise.ranges);
  fields.flag("alignment", specialise.alignment);
  fields.flag("no_alias", specialise.no_alias);
  fields.number("max_threads", specialise.bounds.max_threads, {.min = 1, .max = 1024});
  fields.number("min_blocks", specialise.bounds.min_blocks, {.min = 1, .max = 1024});
  fields.number("max_cluster", specialise.bounds.max_cluster, {.min = 1, .max = 1024});
  fields.number("max_registers", specialise.bounds.max_registers, {.min = 1, .max = 255});
  fields.number("waves_per_eu", specialise.bounds.waves_per_eu, {.min = 1, .max = 20});
}

template <class Fields>
void list_fields(Fields& fields, Execution& execution) {
  constexpr NumberRange kLaunches{.max = 1'000'000}, kAtLeastOne{.min = 1, .max = 1'000'000};
  fields.number("iterations", execution.iterations, kLaunches);
  fields.number("warm_up", execution.warm_up, kLaunches);
  fields.choice("stop", execution.stop, kStopNames);
  fields.number("min_iterations", execution.min_iterations, kAtLeastOne);
  fields.number("max_iterations", execution.max_iterations, kAtLeastOne);
  fields.real("relative_error", execution.relative_error, 1e-6, 1);
  fields.real("max_time", execution.max_time, 1e-6, 1e6);
  fields.choice("l2", execution.l2, kCacheNames);
  fields.flag("shared_device", execution.shared_device);
}

constexpr std::pair<const char*, ElementType> kElementTypes[] = {{"f16", ElementType::f16},
                                                                 {"bf16", ElementType::bf16},
                                                                 {"f8e4m3", ElementType::f8e4m3},
                                                                 {"f8e5m2", ElementType::f8e5m2},
                                                                 {"f32", ElementType::f32},
                                                                 {"f64", ElementType::f64},
                                                                 {"i8", ElementType::i8},
                                                                 {"i16", ElementType::i16},
                                                                 {"i32", ElementType::i32},
                                                                 {"i64", ElementType::i64},
                                                                 {"u8", ElementType::u8},
                                                                 {"u16", ElementType::u16},
                                                                 {"u32", ElementType::u32},
                                                                 {"u64", ElementType::u64},
                                                                 {"complex64", ElementType::complex64},
                                                                 {"complex128", ElementType::complex128}};
constexpr std::pair<const char*, ErrorKind> kErrors[] = {
    {"absolute", ErrorKind::absolute}, {"relative", ErrorKind::relative}, {"ulp", ErrorKind::ulp}};
constexpr std::pair<const char*, Norm> kNorms[] = {
    {"none", Norm::none}, {"L1", Norm::l1}, {"L2", Norm::l2}, {"Linf", Norm::linf}};
constexpr std::pair<const char*, NanPolicy> kNanPolicies[] = {
    {"recorded", NanPolicy::recorded}, {"any", NanPolicy::any}, {"none", NanPolicy::none}};

template <class Fields>
void list_fields(Fields& fields, BufferTolerance& tolerance) {
  fields.text("buffer", tolerance.buffer);
  fields.choice("type", tolerance.tolerance.type, kElementTypes);
  fields.real("threshold", tolerance.tolerance.threshold, 0, std::numeric_limits<double>::max());
  fields.choice("error", tolerance.tolerance.error, kErrors);
  fields.choice("norm", tolerance.tolerance.norm, kNorms);
  fields.choice("nan", tolerance.tolerance.nan, kNanPolicies);
}

template <class Fields>
void list_fields(Fields& fields, Verdict& verdict) {
  fields.flag("mask", verdict.mask);
}

template <class Fields>
void list_fields(Fields& fields, Configuration& configuration) {
  fields.text("passes", configuration.passes);
  fields.choice("linkage", configuration.linkage, kLinkages);
  fields.texts("pass_plugins", configuration.pass_plugins);
  fields.section("grid", configuration.grid);
  fields.section("block", configuration.block);
  fields.flag("keep_threads", configuration.keep_threads);
  fields.number("shared_memory", configuration.shared_memory);
  fields.text("ir", configuration.ir.path);
  fields.text("ir_digest", configuration.ir.digest);
  fields.section("specialise", configuration.specialise);
  fields.section("codegen", configuration.codegen);
  fields.section("assembler", configuration.assembler);
  fields.section("execution", configuration.execution);
  fields.sections("tolerance", configuration.tolerance);
  fields.section("verdict", configuration.verdict);
}

namespace {

// Takes out what is as in `defaults`, and sections that are empty then.
void drop_defaults(Json& json, const Json& defaults) {
  for (auto member = json.begin(); member != json.end();) {
    auto usual = defaults.find(member.key());
    if (usual != defaults.end() && member->is_object()) drop_defaults(*member, *usual);
    bool drop = usual != defaults.end() && (*member == *usual || (member->is_object() && member->empty()));
    member = drop ? json.erase(member) : std::next(member);
  }
}

Json all_fields(Configuration configuration) {
  FieldWriter fields;
  list_fields(fields, configuration);
  return fields.take();
}

// Lists the fields, without their values.
class FieldLister {
 public:
  using Kind = ConfigurationField::Kind;
  FieldLister(std::string path, std::vector<ConfigurationField>& all) : path_(std::move(path)), all_(all) {}

  template <class T>
  void number(std::string_view key, const T& value, NumberRange range = {}) {
    ConfigurationField& field = add(key, Kind::number);
    if constexpr (std::is_integral_v<T>) field.usual = fmt::format("{}", value);
    field.min = range.min;
    field.max = range.max;
  }
  void real(std::string_view key, double value, double min, double max) {
    ConfigurationField& field = add(key, Kind::real);
    field.usual = fmt::format("{}", value);
    field.least = min;
    field.most = max;
  }
  void flag(std::string_view key, bool) { add(key, Kind::flag); }
  void text(std::string_view key, const std::string& value) { add(key, Kind::text).usual = value; }
  void texts(std::string_view key, const std::vector<std::string>&) { add(key, Kind::texts); }
  template <class T, size_t N>
  void choice(std::string_view key, const T&, const std::pair<const char*, T> (&names)[N]) {
    ConfigurationField& field = add(key, Kind::choice);
    for (const auto& [name, value] : names) field.choices.emplace_back(name);
  }
  template <class T>
  void section(std::string_view key, T& value) {
    FieldLister fields(path_ + std::string(key) + ".", all_);
    list_fields(fields, value);
  }
  template <class T>
  void sections(std::string_view key, std::vector<T>&) {
    add(key, Kind::sections);
  }

 private:
  ConfigurationField& add(std::string_view key, Kind kind) {
    ConfigurationField& field = all_.emplace_back();
    field.key = path_ + std::string(key);
    field.kind = kind;
    return field;
  }

  std::string path_;
  std::vector<ConfigurationField>& all_;
};

}  // namespace

const std::vector<ConfigurationField>& configuration_fields() {
  static const std::vector<ConfigurationField> fields = [] {
    std::vector<ConfigurationField> all;
    Configuration usual;
    FieldLister lister("", all);
    list_fields(lister, usual);
    return all;
  }();
  return fields;
}

std::string current_name(std::string_view path) {
  for (const RenamedField& field : kRenamedFields)
    if (path == fmt::format("{}.{}", field.section, field.former)) return fmt::format("{}.{}", field.section, field.now);
  return std::string(path);
}

std::map<std::string, std::string> former_names() {
  std::map<std::string, std::string> names;
  for (const RenamedField& field : kRenamedFields)
    names[fmt::format("{}.{}", field.section, field.former)] = fmt::format("{}.{}", field.section, field.now);
  return names;
}

std::string text_under_first_names(const Json& configuration) {
  const auto is_renamed = [&](const RenamedField& field) {
    const auto section = configuration.find(field.section);
    return section != configuration.end() && section->is_object() && section->contains(field.now);
  };
  if (!configuration.is_object() || std::none_of(std::begin(kRenamedFields), std::end(kRenamedFields), is_renamed))
    return json_text(configuration);
  Json first = configuration;
  for (const RenamedField& field : kRenamedFields)
    if (is_renamed(field)) {
      Json& section = first[std::string(field.section)];
      section[std::string(field.former)] = section[std::string(field.now)];
      section.erase(std::string(field.now));
    }
  return json_text(first);
}

Digest Configuration::digest() const {
  Configuration code = *this;
  code.execution = {};
  code.tolerance = {};
  code.verdict = {};
  if (!code.ir.digest.empty() || pin(code.ir, FileSystem::posix()).ok()) code.ir.path.clear();
  code.pass_plugins.clear();
  Hasher hasher;
  hasher.add(std::string_view(text_under_first_names(to_json(code))));
  for (const std::string& path : pass_plugins) {
    auto content = FileSystem::posix().read(path);
    hasher.add(content.ok() ? digest_of(*content).hex() : path);
  }
  return hasher.finish();
}

Json to_json(const Configuration& configuration) {
  static const Json kDefaults = all_fields({});
  Json json = all_fields(configuration);
  drop_defaults(json, kDefaults);
  json["passes"] = configuration.passes;  // always to be seen
  return json;
}

Result<Configuration> configuration_from_json(const Json& json) {
  Configuration result;
  FieldReader fields(json, "");
  list_fields(fields, result);
  MNEME_TRY(fields.finish());
  for (const BufferTolerance& tolerance : result.tolerance)
    MNEME_TRY(check(tolerance.tolerance).with_context(fmt::format("configuration: the tolerance for '{}'", tolerance.buffer)));
  return result;
}

}  // namespace mneme
