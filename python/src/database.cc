// Database: recordings as values, and the recorded memory as arrays.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bind.h"
#include "errors.h"
#include "json.h"
#include "mneme/base/output_file.h"
#include "mneme/compile/backend.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/recorded_code.h"
#include "mneme/store/archive.h"
#include "mneme/store/import.h"
#include "mneme/store/recorded_name.h"
#include "recorded_memory.h"

namespace mneme::python {
namespace nb = nanobind;

namespace {

using Extent = std::tuple<uint32_t, uint32_t, uint32_t>;
Extent extent(Dim3 d) { return {d.x, d.y, d.z}; }

std::string_view to_string(Parameter::Kind kind) {
  switch (kind) {
    case Parameter::Kind::integer: return "integer";
    case Parameter::Kind::floating: return "floating";
    case Parameter::Kind::pointer: return "pointer";
    case Parameter::Kind::opaque: return "opaque";
    case Parameter::Kind::aggregate: break;
  }
  return "aggregate";
}

nb::bytes bytes_of(ByteSpan bytes) { return nb::bytes(bytes.data(), bytes.size()); }

using Opened = std::tuple<std::shared_ptr<Database>, std::optional<std::string>, std::vector<uint64_t>>;

// A folder, or one kernel's file in it, behind which numbers of launches may stand.
Opened open(const std::string& path) {
  auto opened = [&]() -> Result<Opened> {
    nb::gil_scoped_release release;
    const Path folder = std::filesystem::absolute(path).lexically_normal();
    if (!names_kernel_file(folder.string())) {
      MNEME_ASSIGN(Database database, Database::open(folder));
      return Opened(std::make_shared<Database>(std::move(database)), std::nullopt, {});
    }
    const LaunchName name = split_file_name(folder.string());
    MNEME_ASSIGN(KernelFile file, locate_kernel(name.kernel));
    MNEME_ASSIGN(Database database, Database::open(file.directory));
    return Opened(std::make_shared<Database>(std::move(database)), file.static_hash.hex(), name.instances);
  }();
  return unwrap(std::move(opened));
}

// What kernels are named by; without their instances, of which there may be many.
class KernelNames {
 public:
  KernelNames(const nb::typed<nb::list, KernelDocument>& documents, const std::vector<std::string>& damaged) {
    for (nb::handle document : documents) {
      KernelDocument& kernel = listing_.kernels.emplace_back();
      kernel.kernel = nb::cast<const KernelDocument&>(document).kernel;
    }
    for (const std::string& message : damaged) listing_.damaged.emplace_back(Code::corrupt, message);
  }

  std::vector<size_t> find(const std::string& name) const { return find_kernels(listing_.kernels, name); }
  size_t choose(const std::string& database, const std::string& name) const {
    return unwrap(choose_kernel(listing_, database, name));
  }

 private:
  Listing listing_;
};

std::vector<std::string> hashes_of(const std::vector<Digest>& digests) {
  std::vector<std::string> hashes;
  for (const Digest& digest : digests) hashes.push_back(digest.hex());
  return hashes;
}

std::string words_of(const std::string& database, const std::string& static_hash, const std::vector<std::string>& instances) {
  const Digest kernel = unwrap(Digest::from_hex(static_hash));
  std::vector<Digest> chosen;
  for (const std::string& hash : instances) chosen.push_back(unwrap(Digest::from_hex(hash)));
  auto words = [&] {
    nb::gil_scoped_release release;
    return launch_words(database, kernel, chosen);
  }();
  return unwrap(std::move(words));
}

void bind_names(nb::module_& module) {
  nb::class_<KernelNames>(module, "KernelNames", "What the kernels of a database are named by, as the command line reads it.")
      .def(nb::init<const nb::typed<nb::list, KernelDocument>&, const std::vector<std::string>&>(), nb::arg("documents"),
           nb::arg("damaged"))
      .def("find", &KernelNames::find, nb::arg("name"), "The places of those that a name may mean.")
      .def("choose", &KernelNames::choose, nb::arg("database"), nb::arg("name"), "The place of the only one.");
  module.def(
      "split_launch_name",
      [](const std::string& word) {
        LaunchName name = split_launch_name(word);
        return std::pair(std::move(name.kernel), std::move(name.instances));
      },
      nb::arg("word"), "The kernel and the numbers of KERNEL#N.");
  module.def("launch_words", &words_of, nb::arg("database"), nb::arg("static_hash"), nb::arg("instances"),
             "DB KERNEL#N, as a shell takes it.");
}

// The kernels that can be read, and a failure for each that cannot.
nb::tuple list(const Database& database) {
  auto listed = [&] {
    nb::gil_scoped_release release;
    return database.list();
  }();
  Listing listing = unwrap(std::move(listed));
  nb::list damaged;
  for (const Status& status : listing.damaged) damaged.append(exception_of(status));
  return nb::make_tuple(nb::cast(std::move(listing.kernels)), damaged);
}

KernelDocument load(const Database& database, const std::string& hash) {
  const Digest digest = unwrap(Digest::from_hex(hash));
  auto loaded = [&] {
    nb::gil_scoped_release release;
    return database.load_document(digest);
  }();
  return unwrap(std::move(loaded));
}

nb::bytes load_ir(const Database& database, const KernelDocument& kernel) {
  auto module = [&] {
    nb::gil_scoped_release release;
    return recorded_bitcode(database, kernel.kernel);
  }();
  return bytes_of(unwrap(std::move(module)));
}

// "cubin", "ptx" or "hsaco".
nb::bytes load_image(const Database& database, const KernelDocument& kernel, const std::string& kind) {
  using Kind = CodeImageRecord::Kind;
  const auto wanted = kind == "ptx" ? Kind::ptx : kind == "hsaco" ? Kind::hsaco : Kind::cubin;
  auto image = [&] {
    nb::gil_scoped_release release;
    return database.load_image(kernel.kernel, wanted);
  }();
  return bytes_of(unwrap(std::move(image)));
}

std::optional<Extent> required_block(const Database& database, const KernelDocument& kernel) {
  auto block = [&]() -> Result<std::optional<Dim3>> {
    nb::gil_scoped_release release;
    MNEME_ASSIGN(const RecordedCode code, RecordedCode::load(database, kernel.kernel));
    const ProgramCode* program = code.program(Configuration());
    if (program == nullptr) return std::optional<Dim3>();
    MNEME_ASSIGN(const DeviceKind kind, kind_of_architecture(kernel.kernel.arch));
    return mneme::required_block(*program, kind);
  }();
  const std::optional<Dim3> required = unwrap(std::move(block));
  return required ? std::optional(extent(*required)) : std::nullopt;
}

void bind_kernel(nb::module_& module) {
  nb::class_<Parameter>(module, "Parameter")
      .def_prop_ro("kind", [](const Parameter& self) { return std::string(to_string(self.kind)); })
      .def_ro("name", &Parameter::name)
      .def_ro("type", &Parameter::type)
      .def_ro("offset", &Parameter::offset)
      .def_ro("size", &Parameter::size);
  nb::class_<Trimming>(module, "Trimming")
      .def_prop_ro("of", [](const Trimming& self) { return hashes_of(self.of); })
      .def_ro("pages", &Trimming::pages)
      .def_prop_ro("bytes", [](const Trimming& self) { return self.bytes.count; });
  nb::class_<InstanceRecord>(module, "InstanceRecord")
      .def_prop_ro("hash", [](const InstanceRecord& self) { return self.dynamic_hash.hex(); })
      .def_prop_ro("grid", [](const InstanceRecord& self) { return extent(self.grid); })
      .def_prop_ro("block", [](const InstanceRecord& self) { return extent(self.block); })
      .def_prop_ro("shared_memory", [](const InstanceRecord& self) { return self.dynamic_shared_memory.count; })
      .def_ro("cooperative", &InstanceRecord::cooperative)
      .def_prop_ro("cluster",
                   [](const InstanceRecord& self) {
                     return self.cluster == kNoCluster ? std::optional<Extent>() : std::optional(extent(self.cluster));
                   })
      .def_ro("attributes", &InstanceRecord::attributes)
      .def_prop_ro("parameters", [](const InstanceRecord& self) { return bytes_of(self.parameters); })
      .def_ro("device_kind", &InstanceRecord::device_kind)
      .def_ro("device_name", &InstanceRecord::device_name)
      .def_prop_ro("memory", [](const InstanceRecord& self) { return self.state_bytes.count; })
      .def_prop_ro("memory_extent", [](const InstanceRecord& self) { return std::string(mneme::to_string(self.memory_extent)); })
      .def_ro("trimmed", &InstanceRecord::trimmed)
      .def_ro("recorded_at", &InstanceRecord::recorded_at)
      .def_ro("mneme_version", &InstanceRecord::mneme_version)
      .def_prop_ro(
          "recorded_time",
          [](const InstanceRecord& self) {
            return self.recorded_time ? python_of(mneme::to_json(*self.recorded_time)) : nb::none();
          },
          nb::sig("def recorded_time(self) -> dict[str, typing.Any] | None"))
      .def_prop_ro(
          "shape_launches",
          [](const InstanceRecord& self) {
            return self.shape_launches ? python_of(mneme::to_json(*self.shape_launches)) : nb::none();
          },
          nb::sig("def shape_launches(self) -> dict[str, typing.Any] | None"));
  nb::class_<KernelDocument>(module, "KernelDocument")
      .def_prop_ro("hash", [](const KernelDocument& self) { return self.kernel.static_hash.hex(); })
      .def_prop_ro("name", [](const KernelDocument& self) { return self.kernel.name; })
      .def_prop_ro("demangled", [](const KernelDocument& self) { return self.kernel.demangled; })
      .def_prop_ro("source", [](const KernelDocument& self) { return self.kernel.source; })
      .def_prop_ro("target", [](const KernelDocument& self) { return self.kernel.target; })
      .def_prop_ro("architecture", [](const KernelDocument& self) { return self.kernel.arch; })
      .def_prop_ro("pipeline", [](const KernelDocument& self) { return self.kernel.pipeline; })
      .def_prop_ro("has_image", [](const KernelDocument& self) { return self.kernel.machine_code() != nullptr; })
      .def_prop_ro("as_built", [](const KernelDocument& self) { return describe_as_built(self.kernel); })
      .def_prop_ro("code", [](const KernelDocument& self) { return std::string(mneme::to_string(self.kernel.level)); })
      .def_prop_ro("images",
                   [](const KernelDocument& self) {
                     std::vector<std::string> kinds;
                     for (const CodeImageRecord& image : self.kernel.images) kinds.emplace_back(mneme::to_string(image.kind));
                     return kinds;
                   })
      .def_prop_ro("parameters", [](const KernelDocument& self) { return self.kernel.parameters; })
      .def_ro("instances", &KernelDocument::instances)
      .def(
          "find_instance",
          [](const KernelDocument& self, const std::string& digits) { return unwrap(find_instance(self, digits)).hex(); },
          nb::arg("digits"), "The hash of the instance that begins so; with no digits, of the only one.")
      .def(
          "numbered",
          [](const KernelDocument& self, const std::vector<uint64_t>& numbers) {
            return hashes_of(unwrap(numbered_instances(self, numbers)));
          },
          nb::arg("numbers"), "The hashes of the instances of these numbers.");
}

void bind_memory(nb::module_& module) {
  nb::class_<RecordedBuffer>(module, "RecordedBuffer")
      .def_ro("name", &RecordedBuffer::name)
      .def_ro("kind", &RecordedBuffer::kind)
      .def_ro("element", &RecordedBuffer::element)
      .def_prop_ro("address", [](const RecordedBuffer& self) { return self.address.address; })
      .def_prop_ro("size", [](const RecordedBuffer& self) { return self.size.count; });
  nb::class_<RecordedMemory>(module, "RecordedMemory", "The memory that a launch was recorded with, before it and after it.")
      .def(
          "__init__",
          [](RecordedMemory* self, std::shared_ptr<Database> database, const KernelDocument& kernel,
             const InstanceRecord& instance) {
            auto loaded = [&] {
              nb::gil_scoped_release release;
              return RecordedMemory::load(std::move(database), kernel.kernel, instance);
            }();
            new (self) RecordedMemory(unwrap(std::move(loaded)));
          },
          nb::arg("database"), nb::arg("kernel"), nb::arg("instance"))
      .def_prop_ro("buffers", &RecordedMemory::buffers)
      .def(
          "read",
          [](RecordedMemory& self, const RecordedBuffer& buffer, bool epilogue) {
            auto read = [&] {
              nb::gil_scoped_release release;
              return self.read(buffer, epilogue ? Moment::epilogue : Moment::prologue);
            }();
            std::shared_ptr<const RecordedBytes> bytes = unwrap(std::move(read));
            const auto* data = reinterpret_cast<const uint8_t*>(bytes->data() + buffer.offset);
            return view_of(data, buffer.size.count, std::move(bytes));
          },
          nb::arg("buffer"), nb::kw_only(), nb::arg("epilogue"), "The bytes of a buffer: a view of what is read once.");
}

// Takes what `send` gives into a database; a launch of which that has another recording is a failure, when all others are taken.
Status take(const Path& into, const std::function<Status(RecordingSink&)>& send) {
  MNEME_ASSIGN(Database database, Database::create(into));
  Status refused;
  DatabaseImport import(database, [&](const ImportedInstance& instance) {
    if (instance.outcome == ImportedInstance::Outcome::refused && refused.ok()) refused = refusal(instance, into);
  });
  MNEME_TRY(send(import));
  return refused;
}

void import_archive(const std::string& archive, const std::string& into) {
  const Status status = [&]() -> Status {
    nb::gil_scoped_release release;
    MNEME_ASSIGN(auto source, open_byte_source(archive));
    return take(into, [&](RecordingSink& sink) { return read_archive(*source, archive, sink); });
  }();
  check(status);
}

void copy(const Database& database, const std::vector<KernelDocument>& kernels, const std::string& into) {
  const Status status = [&]() -> Status {
    nb::gil_scoped_release release;
    return take(into, [&](RecordingSink& sink) { return database.send(kernels, sink); });
  }();
  check(status);
}

void write(const Database& database, const std::vector<KernelDocument>& kernels, const std::string& archive) {
  const Status status = [&]() -> Status {
    nb::gil_scoped_release release;
    MNEME_ASSIGN(auto output, OutputFile::open(archive));
    MNEME_TRY(write_archive(database, kernels, output->file()));
    return output->finish();
  }();
  check(status);
}

KernelDocument with_one(KernelDocument kernel, const InstanceRecord& instance) {
  kernel.instances = {instance};
  return kernel;
}

}  // namespace

void bind_database(nb::module_& module) {
  bind_kernel(module);
  nb::class_<Database>(module, "Database", "A folder of recordings, as the C++ API has it.")
      .def_prop_ro("directory", [](const Database& self) { return self.directory().string(); })
      .def("list", &list, nb::sig("def list(self) -> tuple[list[KernelDocument], list[typing.Any]]"),
           "The kernels that can be read, and an exception for each that cannot.")
      .def("load", &load, nb::arg("hash"), "One kernel, by its whole static hash.")
      .def("load_ir", &load_ir, nb::arg("kernel"), "The recorded code of a kernel as the bitcode of one module.")
      .def("load_image", &load_image, nb::arg("kernel"), nb::arg("kind"),
           "The program's own code of a kernel: its first image of a kind, cubin or ptx.")
      .def("required_block", &required_block, nb::arg("kernel"),
           "The only block that a kernel without IR can be launched with; None where any will do.")
      .def(
          "disk_size",
          [](const Database& self, const KernelDocument& kernel, const InstanceRecord& instance) {
            auto size = [&] {
              nb::gil_scoped_release release;
              return self.instance_size(kernel.kernel.static_hash, instance.dynamic_hash);
            }();
            return unwrap(std::move(size)).total().count;
          },
          nb::arg("kernel"), nb::arg("instance"))
      .def(
          "check",
          [](const Database& self, const KernelDocument& kernel, const InstanceRecord& instance) {
            Status status = [&] {
              nb::gil_scoped_release release;
              return self.check_instance(kernel.kernel.static_hash, instance.dynamic_hash);
            }();
            check(status);
          },
          nb::arg("kernel"), nb::arg("instance"), "Reads everything that belongs to an instance; raises where it is damaged.")
      .def("copy", &copy, nb::arg("kernels"), nb::arg("into"), "Copies kernels with their instances into another database.")
      .def("export", &write, nb::arg("kernels"), nb::arg("archive"), "Writes kernels with their instances into one file.");
  module.def("import_archive", &import_archive, nb::arg("archive"), nb::arg("into"), "Takes such a file into a database.");
  module.def("with_one", &with_one, nb::arg("kernel"), nb::arg("instance"), "The kernel with this instance alone.");
  bind_memory(module);
  bind_names(module);
  module.def("open_database", &open, nb::arg("path"),
             "A database, and where the path names a kernel's file its static hash and the numbers behind it.");
}

}  // namespace mneme::python
