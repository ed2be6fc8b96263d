// What a group of launches that are complete leaves for the case that its process is killed before they are listed. Not for other
// rooms.
//
// The launches' packs and states are whole files under temporary names by then, whose bytes the system has. A temporary file
// "Unlisted.tmp.<random number>" in the database's folder says of each launch what else its listing takes. Whoever opens the
// database when the process is gone lists them (recover_unlisted()). Nothing waits for the disk here: when the machine loses its
// power, too, what cannot be read whole is not listed.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mneme/store/database_impl.h"

namespace mneme {

// The name of such a file is a temporary one of this.
inline constexpr std::string_view kUnlistedName = "Unlisted";

// One launch.
struct UnlistedLaunch {
  struct Pack {
    std::string temporary;  // the name of its file in the folder of packs
    Digest name;            // that it is to have
  };
  KernelDocument kernel;  // without instances
  InstanceRecord instance;
  std::vector<Pack> packs{};                // none: it has no page that the database did not have
  std::array<std::string, 2> states{};      // the names of the files with the prologue and the epilogue
  std::optional<ByteVector> ir{};           // where no launch before it in the file has them, and the database neither
  std::map<uint32_t, ByteVector> images{};  // likewise: the bytes of their files, by their places in the kernel's record
};

// What a file tells.
struct Unlisted {
  uint64_t begun = 0;  // when, in nanoseconds since 1970: launches of a later file of a process count on those of an earlier
  std::vector<UnlistedLaunch> launches{};
};

ByteVector encode_unlisted_begin(uint64_t begun);
// What of a launch is known before its pages are stored, of a kernel that is encoded (encode_kernel()), and the whole of it,
// which begins with that.
ByteVector encode_unlisted_records(std::string_view encoded_kernel, const InstanceRecord& instance);
ByteVector encode_unlisted(const UnlistedLaunch& launch, ByteSpan records);
// The launches of a file, as far as it is whole: its end may have been lost. corrupt: this is no such file.
Result<Unlisted> decode_unlisted(ByteSpan bytes, const std::string& name);

// The file of one group. It is removed with the object.
class UnlistedFile {
 public:
  UnlistedFile(Database::Impl& database, TemporaryFile file) : database_(database), file_(std::move(file)) {}
  ~UnlistedFile();
  UnlistedFile(const UnlistedFile&) = delete;
  UnlistedFile& operator=(const UnlistedFile&) = delete;

  static Result<std::unique_ptr<UnlistedFile>> create(Database::Impl& database);
  // Records are those of the launch. The IR and the images that are needed are taken from the recording.
  Status add(UnlistedLaunch launch, ByteSpan records, const Recording& recording);
  // The bytes of the images' files that it tells, by their names. It has them no more.
  std::map<std::string, ByteVector> take_images() { return std::exchange(images_, {}); }

 private:
  Database::Impl& database_;
  TemporaryFile file_;
  std::set<std::string> told_;  // files of IR and images that the file has the bytes of
  std::map<std::string, ByteVector> images_;
};

// Lists the launches that processes which are gone have left complete and not listed, and removes what tells of them. False:
// another process is at work on such a file. What keeps them from being listed is a warning, and nothing changes then.
// `use` says whether the caller has the database's lock against removal.
enum class UseLock { take, held };
bool recover_unlisted(Database::Impl& database, const std::vector<std::string>& names_in_folder, UseLock use = UseLock::take);

}  // namespace mneme
