#include "mneme/pool/pipeline_check.h"

#include <chrono>
#include <span>

#include "mneme/compile/compiler.h"
#include "mneme/compile/target_triple.h"
#include "mneme/pool/isolated.h"

namespace mneme {
namespace {

constexpr std::chrono::milliseconds kPatience{10'000};  // what takes longer has been parsed

// Whether no parenthesis of it belongs to one of what stands before or behind it.
bool is_closed(std::string_view pipeline) {
  int depth = 0;
  for (char c : pipeline) {
    depth += (c == '(') - (c == ')');
    if (depth < 0) return false;
  }
  return depth == 0 && !pipeline.empty();
}

// What a pipeline is parsed with. Each target has passes of its own.
struct With {
  const std::vector<std::string>& plugins;
  std::string_view target;
};

// On a module of nothing, on which passes take no time.
Status parse(const std::string& pipeline, const With& with) {
  IsolatedWork work;
  const std::string nothing = fmt::format("target triple = \"{}\"\n", triple_of(with.target));
  const ByteSpan source = std::as_bytes(std::span(nothing));
  work.source.assign(source.begin(), source.end());
  work.name = "nothing";
  work.pipeline = replace_as_built(pipeline, "default<O3>");
  work.options.plugins = with.plugins;
  MNEME_ASSIGN(IsolatedRun run, IsolatedRun::begin(work));
  if (!run.wait(kPatience)) return {};
  return run.end().status();
}

using Pipelines = std::span<const std::string>;

// Together as far as they parse, as each process takes its time.
std::optional<RefusedPipeline> find(Pipelines pipelines, size_t place, const With& with) {
  if (pipelines.empty()) return std::nullopt;
  std::string together;
  bool closed = true;
  for (const std::string& pipeline : pipelines) {
    together += (together.empty() ? "" : ",") + pipeline;
    closed = closed && is_closed(pipeline);
  }
  const bool alone = pipelines.size() == 1;
  if (alone || closed) {
    Status status = parse(together, with);
    if (status.code() != Code::invalid_argument) return std::nullopt;
    if (alone) return RefusedPipeline{place, std::move(status)};
  }
  const size_t half = pipelines.size() / 2;
  if (auto refused = find(pipelines.first(half), place, with)) return refused;
  return find(pipelines.subspan(half), place + half, with);
}

}  // namespace

std::optional<RefusedPipeline> find_refused_pipeline(const std::vector<std::string>& pipelines,
                                                     const std::vector<std::string>& plugins, std::string_view target) {
  return find(pipelines, 0, {plugins, target});
}

}  // namespace mneme
