// ExportedProgram: one recorded launch with its compiled code and its memory, run without a compiler.
//
//   MNEME_ASSIGN(auto program, ExportedProgram::open(path));
//   MNEME_ASSIGN(auto device, Device::open(program->description().device));
//   MNEME_ASSIGN(ProgramRun run, program->run(*device, 10));
//
// A run is that of a replay of the same code: the memory is restored at its recorded addresses, the kernel runs, all memory is
// compared with what was recorded after the launch, and further launches are timed. Used by one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mneme/device/held_addresses.h"
#include "mneme/exported/description.h"
#include "mneme/exported/program_file.h"
#include "mneme/measure/measurement.h"
#include "mneme/store/archive_files.h"
#include "mneme/store/database.h"
#include "mneme/verify/difference.h"
#include "mneme/verify/verification.h"

namespace mneme {

struct ProgramRun {
  Verification verification;                 // of the first launch, or of the last timed one where only that was wrong
  std::vector<RangeDifference> differences;  // where bytes differ, by named pieces
  Measurement measurement;                   // no times where the launch was wrong, or none was asked for
  bool exclusive = false;                    // no other process of Mneme ran on the device meanwhile
  bool verified() const { return verification.right(); }
};

class ExportedProgram {
 public:
  // Failures: those of FileSystem::open(), read_program(), decode_description(), ArchiveFiles::open() and Database.
  static Result<std::unique_ptr<ExportedProgram>> open(const Path& path);
  // The same of a program whose file is open already.
  static Result<std::unique_ptr<ExportedProgram>> open(std::unique_ptr<ReadableFile> file, const std::string& name);

  const ProgramDescription& description() const { return description_; }
  const KernelRecord& kernel() const { return kernel_; }

  // Keeps the addresses of its memory free. It is called before a device is opened.
  HeldAddresses hold_addresses() const;
  // `timed` is how many launches are timed, each from restored memory. Failures: those of PreparedMemory::create() and of the
  // device; a launch that leaves wrong memory is none.
  Result<ProgramRun> run(Device& device, uint32_t timed);

 private:
  struct Launch;
  ExportedProgram() = default;
  Status load();
  std::vector<TypedRange> typed_ranges(const MemoryPlan& plan) const;
  Status judge_run(Launch& launch, RestoredRun&& restored, ProgramRun& run);
  Status time_launches(Launch& launch, uint32_t timed, ProgramRun& run);

  std::unique_ptr<ArchiveFiles> files_;
  std::unique_ptr<Database> database_;
  ProgramDescription description_;
  CodeImage code_;
  KernelRecord kernel_;
  RecordedInstance recorded_;
};

// What is shown to a person of a run, in lines: the verdict, with each piece that differs, and the times.
std::string describe_run(const ProgramRun& run);
// Of a program: what it launches, where its code is from, and how much memory it has.
std::string describe_program(const ExportedProgram& program, const std::string& device);

}  // namespace mneme
