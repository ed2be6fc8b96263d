// The processes of a pool in this process, for tests that do something to them.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace mneme::testing_pool {

// Of every thread, each thread's in the order in which they were started.
inline std::vector<pid_t> children_of(const std::string& process) {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + process + "/task", gone)) {
    std::ifstream list(thread.path() / "children");
    for (pid_t child; list >> child;) found.push_back(child);
  }
  return found;
}

// Of the one pool that this process has.
inline pid_t zygote() {
  const std::vector<pid_t> children = children_of("self");
  return children.empty() ? 0 : children.front();
}
inline std::vector<pid_t> workers() { return children_of(std::to_string(zygote())); }

// Not a zombie either.
inline bool runs(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] != 'Z';
}

// The device workers that run, and then the keepers.
inline std::vector<pid_t> workers_with_a_device() {
  std::vector<pid_t> found;
  for (const char* wanted : {"mneme-device", "mneme-keeper"})
    for (pid_t worker : workers()) {
      std::ifstream file(fmt::format("/proc/{}/comm", worker));
      std::string name;
      if (file >> name && name == wanted && runs(worker)) found.push_back(worker);
    }
  return found;
}

inline size_t open_files() {
  const auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

// Pieces of shared memory that this process has mapped.
inline size_t shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t found = 0;
  for (std::string line; std::getline(maps, line);)
    found += line.find("/memfd:") != std::string::npos || line.find("/dev/shm/") != std::string::npos;
  return found;
}

}  // namespace mneme::testing_pool
