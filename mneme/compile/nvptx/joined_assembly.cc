#include "mneme/compile/nvptx/joined_assembly.h"

#include <llvm/ADT/StringRef.h>

#include <optional>
#include <tuple>
#include <utility>

#include "mneme/compile/nvptx/joined_cubin.h"
#include "mneme/compile/nvptx/joined_ptx.h"

namespace mneme::nvptx {
namespace {

// What two requests must have in common besides their options for one to be taken out like the other; empty: the request is to be
// assembled alone.
std::string kernel_key(const AssembleRequest& request) {
  if (request.lines == LineInfo::keep || request.ptx.size() > JoinedAssembly::kLongest) return "";
  const auto kernel = find_lone_kernel(request.ptx);
  if (!kernel) return "";
  return fmt::format("{} {} {} {} {}", kernel->name, kernel->version, kernel->target, kernel->address_size, request.architecture);
}

// The places of requests that can be assembled in one call.
std::vector<std::vector<size_t>> groups_of(std::span<const AssembleRequest> requests) {
  std::map<std::pair<std::string, std::vector<std::string>>, std::vector<size_t>> groups;
  for (size_t i = 0; i < requests.size(); ++i)
    if (std::string key = kernel_key(requests[i]); !key.empty())
      groups[{std::move(key), ptxas_arguments(requests[i])}].push_back(i);
  std::vector<std::vector<size_t>> sorted;
  for (auto& [key, group] : groups) {
    for (size_t begin = 0; begin < group.size(); begin += JoinedAssembly::kMost)
      sorted.emplace_back(group.begin() + static_cast<ptrdiff_t>(begin),
                          group.begin() + static_cast<ptrdiff_t>(std::min(begin + JoinedAssembly::kMost, group.size())));
  }
  return sorted;
}

// The log as it would be of the kernel alone: what is said of no kernel, and what is said of this one. Some lines behind that
// which names a kernel are of it too.
std::string log_of(llvm::StringRef log, const std::string& joined_name, llvm::StringRef name) {
  const std::string quoted = "'" + joined_name + "'";
  std::string own;
  bool is_own = true;
  for (llvm::StringRef line; !log.empty();) {
    std::tie(line, log) = log.split('\n');
    if (line.contains("Compiling entry function '")) is_own = line.contains(quoted);
    if (!is_own || (line.contains("'mneme_joined_") && !line.contains(quoted))) continue;
    const size_t at = line.find(joined_name);
    own += line.take_front(at);
    if (at != llvm::StringRef::npos) own += (name + line.drop_front(at + joined_name.size())).str();
    own += '\n';
  }
  return own;
}

}  // namespace

std::vector<Result<Assembled>> JoinedAssembly::assemble(std::span<const AssembleRequest> requests) {
  Results results(requests.size());
  for (std::vector<size_t>& group : groups_of(requests)) join(requests, std::move(group), results);
  std::vector<Result<Assembled>> all;
  for (size_t i = 0; i < requests.size(); ++i)
    all.push_back(results[i] ? std::move(*results[i]) : assembler_.assemble(requests[i]));
  return all;
}

void JoinedAssembly::join(std::span<const AssembleRequest> requests, std::vector<size_t> group, Results& results) {
  const AssembleRequest& first = requests[group.front()];
  const std::string key = kernel_key(first);
  auto known = patterns_.find(key);
  if (known == patterns_.end()) {
    auto& alone = results[group.front()].emplace(assembler_.assemble(first));
    if (!alone.ok()) return;
    known = patterns_.emplace(key, Pattern{first, alone->image.bytes}).first;
    group.erase(group.begin());
  }
  Pattern& pattern = known->second;
  const bool comparable = ptxas_arguments(pattern.request) == ptxas_arguments(first);
  if (!pattern.usable || group.size() < 2 || (!pattern.compared && !comparable)) return;
  std::vector<const AssembleRequest*> together;
  for (size_t i : group) together.push_back(&requests[i]);
  if (!pattern.compared) together.push_back(&pattern.request);
  std::vector<Assembled> parts = assemble_together(together, pattern);
  for (size_t i = 0; i < group.size() && !parts.empty(); ++i) results[group[i]] = std::move(parts[i]);
}

// Where something is wrong with one of them, or the assembler warns of one, each says so for itself.
std::vector<Assembled> JoinedAssembly::assemble_together(const std::vector<const AssembleRequest*>& requests, Pattern& pattern) {
  std::vector<LoneKernel> kernels;
  for (const AssembleRequest* request : requests) kernels.push_back(find_lone_kernel(request->ptx).value());
  AssembleRequest whole = *requests.front();
  whole.ptx = join_ptx(kernels);
  const auto joined = assembler_.assemble(whole);
  if (!joined.ok() || joined->log.find("warning") != std::string::npos) return {};
  const std::string name(kernels.front().name);
  std::vector<Assembled> parts;
  for (size_t i = 0; i < kernels.size() && pattern.usable; ++i) {
    auto taken = take_kernel(joined->image.bytes, joined_name(i), pattern.cubin, name);
    pattern.usable = taken.ok();
    if (!taken.ok()) continue;
    Assembled& part = parts.emplace_back();
    part.image = joined->image;
    part.image.bytes = std::move(*taken);
    part.log = log_of(joined->log, joined_name(i), name);
  }
  if (pattern.usable && !std::exchange(pattern.compared, true)) pattern.usable = parts.back().image.bytes == pattern.cubin;
  return pattern.usable ? std::move(parts) : std::vector<Assembled>();
}

}  // namespace mneme::nvptx
