// Ranks: the processes of a parallel program (MPI, torchrun), by the numbers that their launcher gives them, and which of them
// are recorded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mneme/base/status.h"

namespace mneme {

// The rank of a process, from the first of these variables of its environment that is set to a number: RANK (torchrun),
// OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, MV2_COMM_WORLD_RANK, SLURM_PROCID. A launcher's own comes before that of the batch
// system that it runs under. Nothing when none is: the program has no ranks.
std::optional<uint64_t> rank_of_process(const std::function<const char*(const char*)>& environment);

// Whether the process with this rank is recorded. `ranks` is "all", or a list of numbers, "0,2"; a process without a rank always
// is.
bool records_rank(std::string_view ranks, std::optional<uint64_t> rank);

// Where the process with this rank writes what it was told to write to `file`, as each recorded rank was. The first of them
// writes there, and so does a process without a rank; rank 3 writes to report.rank3.json in the place of report.json.
std::filesystem::path file_of_rank(const std::filesystem::path& file, std::string_view ranks, std::optional<uint64_t> rank);

// invalid_argument: `ranks` is neither.
Status check_ranks(std::string_view ranks);

}  // namespace mneme
