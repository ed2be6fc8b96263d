#include "mneme/record/recordable_kernel.h"

#include <algorithm>
#include <cstring>

#include "mneme/base/symbol_name.h"
#include "mneme/record/vendor.h"
#include "mneme/runtime/kernel_hash.h"

namespace mneme {
namespace {

Parameter::Kind kind_of(mneme_param_kind kind) {
  switch (kind) {
    case MNEME_PARAM_INTEGER: return Parameter::Kind::integer;
    case MNEME_PARAM_FLOAT: return Parameter::Kind::floating;
    case MNEME_PARAM_POINTER: return Parameter::Kind::pointer;
    case MNEME_PARAM_AGGREGATE: return Parameter::Kind::aggregate;
  }
  return Parameter::Kind::aggregate;
}

// A managed variable of HIP's is a pointer, which is an ordinary variable, to managed memory that is recorded where it lies.
bool is_managed(const EmbeddedSegment& segment, const SegmentGlobal& global) {
  return global.managed() && segment.target == MNEME_TARGET_NVPTX;
}

void add_global(RecordableKernel& kernel, const EmbeddedSegment& segment, const SegmentGlobal& global) {
  auto found =
      std::find_if(kernel.globals.begin(), kernel.globals.end(), [&](const auto& g) { return g.image_name == global.name; });
  if (found == kernel.globals.end()) {
    kernel.globals.push_back({std::string(global.name), {std::string(global.ir_name)}});
    found = std::prev(kernel.globals.end());
  }
  GlobalInfo& info = found->info;
  info.size = std::max(info.size, global.size);
  info.alignment = std::max(info.alignment, global.alignment);
  info.constant_space |= global.constant_space();
  info.managed |= is_managed(segment, global);
  info.escapes |= global.escapes();
}

// Linked into one module, static variables of equal names in files of equal names would become one.
Status check_names(const RecordableKernel& kernel) {
  for (auto one = kernel.globals.begin(); one != kernel.globals.end(); ++one) {
    auto same = [&](const auto& other) { return other.info.name == one->info.name; };
    if (std::find_if(one + 1, kernel.globals.end(), same) != kernel.globals.end())
      return error(Code::unsupported,
                   "two files of the same name have a static variable '{}' each, which its recorded IR cannot tell "
                   "apart; rename one of the files",
                   one->info.name);
  }
  return {};
}

void add_image(KernelRecord& record, CodeImageRecord::Kind kind, const ByteVector& bytes) {
  if (!bytes.empty()) record.images.push_back({kind, digest_of(bytes), Bytes(bytes.size())});
}

// The machine code that the program has of the kernel beside its segment.
Result<ByteVector> own_machine_code(const RegisteredKernel& registered) {
  MNEME_ASSIGN(const DeviceElf elf, registered.image->device_elf());
  return keep_kernel(elf.bytes, registered.name, fmt::format("image {}", registered.image->id()));
}

// It is there to be compared with, so that nothing depends on it. Beside IR without a pipeline it would mean that the kernel is
// to be replayed by it.
void add_machine_code(RecordableKernel& kernel) {
  if (kernel.record.pipeline.empty()) return;
  const auto kind = kernel.record.target == "nvptx" ? CodeImageRecord::Kind::cubin : CodeImageRecord::Kind::hsaco;
  if (auto code = own_machine_code(*kernel.registered); code.ok()) add_image(kernel.record, kind, *code);
}

Status fill(RecordableKernel& kernel) {
  MNEME_ASSIGN(auto closure, closure_of(*kernel.registered));
  const EmbeddedSegment& segment = *closure.front();
  KernelRecord& record = kernel.record;
  record.static_hash = static_hash_of(closure);
  record.name = segment.ir_name;
  record.demangled = demangle(record.name);
  record.source = segment.source;
  record.target = segment.target == MNEME_TARGET_NVPTX ? "nvptx" : "amdgcn";
  record.arch = segment.arch;
  record.pipeline = segment.pipeline;
  for (const SegmentParameter& p : segment.parameters)
    record.parameters.push_back({kind_of(p.kind), std::string(p.name), std::string(p.type), p.offset, p.size, p.alignment});
  record.parameter_bytes = segment.parameter_bytes;
  kernel.padding = segment.padding;
  kernel.numbers = segment.numbers;
  for (const EmbeddedSegment* part : closure) {
    kernel.uses_textures |= part->uses_textures;
    kernel.uses_device_heap |= part->uses_device_heap;
    kernel.launches_kernels |= part->launches_kernels;
    for (const SegmentGlobal& global : part->globals) add_global(kernel, *part, global);
  }
  kernel.may_use_textures = kernel.uses_textures;
  for (const auto& global : kernel.globals) record.globals.push_back(global.info);
  add_machine_code(kernel);
  return check_names(kernel);
}

// As static variables of several files have them (relocatable device code). Those of one byte are the objects without members
// that each file has of a header, and that nobody writes.
bool have_same_names(const std::vector<CubinVariable>& sorted) {
  const auto same = [](const CubinVariable& a, const CubinVariable& b) {
    return a.name == b.name && std::max(a.size, b.size) > 1;
  };
  return std::adjacent_find(sorted.begin(), sorted.end(), same) != sorted.end();
}

// A kernel of which there is no IR.
Status fill_from_code(RecordableKernel& kernel, Vendor& vendor) {
  MNEME_ASSIGN(const DeviceCode* code, kernel.registered->image->code());
  const std::string& name = kernel.registered->name;
  KernelRecord& record = kernel.record;
  record.name = name;
  record.demangled = demangle(name);
  record.target = "nvptx";
  record.arch = fmt::format("sm_{}", code->sm);
  record.level = code->ptx.empty() ? CodeLevel::cubin : CodeLevel::ptx;
  kernel.may_use_textures = true;
  std::vector<CubinVariable> variables;
  if (code->cubin.empty()) {
    record.static_hash = static_hash_of_ptx(name, code->ptx);
    PtxModule module = read_ptx({reinterpret_cast<const char*>(code->ptx.data()), code->ptx.size()}, name);
    kernel.uses_device_heap = module.allocates;
    kernel.launches_kernels = module.launches;
    kernel.may_use_textures = module.uses_textures;
    variables = std::move(module.variables);
  } else {
    const std::string image = fmt::format("loaded image {}", kernel.registered->image->id());
    MNEME_ASSIGN(const CubinKernel found, read_cubin_kernel(code->cubin, name, image));
    MNEME_ASSIGN(variables, read_cubin_variables(code->cubin, image));
    record.static_hash = found.digest;
    kernel.uses_device_heap = found.allocates;
    kernel.launches_kernels = found.launches;
    kernel.has_same_names = have_same_names(variables);
  }
  // Which kernel reads a variable, the instructions would have to tell.
  for (const CubinVariable& v : variables)
    kernel.globals.push_back({v.name, {v.name, v.size, v.alignment, v.constant_space, v.managed}});
  for (const auto& global : kernel.globals) record.globals.push_back(global.info);
  add_image(record, CodeImageRecord::Kind::cubin, code->cubin);
  add_image(record, CodeImageRecord::Kind::ptx, code->ptx);
  MNEME_ASSIGN(record.parameters, vendor.parameters_of(kernel.function));
  for (const Parameter& p : record.parameters) record.parameter_bytes = std::max(record.parameter_bytes, p.offset + p.size);
  return {};
}

}  // namespace

bool RecordableKernel::reads_managed_variables() const {
  return std::any_of(globals.begin(), globals.end(), [](const Global& global) { return global.info.managed; });
}

bool RecordableKernel::may_be_address(uint64_t offset) const {
  return std::ranges::none_of(numbers, [&](const SegmentRange& number) {
    return number.offset < offset + sizeof(DevicePtr) && offset < number.offset + number.size;
  });
}

RecordableKernel describe_kernel(const void* function, std::shared_ptr<const RegisteredKernel> registered, Vendor& vendor) {
  RecordableKernel kernel;
  kernel.function = function;
  kernel.registered = std::move(registered);
  kernel.status = fill(kernel);
  if (kernel.status.code() == Code::not_found && kernel.registered->image->wrapper() == nullptr)
    kernel.status = fill_from_code(kernel, vendor);
  return kernel;
}

namespace {

Result<ByteVector> kernel_bitcode(const RegisteredKernel& registered) {
  MNEME_ASSIGN(auto closure, closure_of(registered));
  ByteVector all;
  for (const EmbeddedSegment* segment : closure) {
    MNEME_ASSIGN(ByteVector bitcode, segment_bitcode(*segment));
    all.insert(all.end(), bitcode.begin(), bitcode.end());
  }
  return all;
}

Result<std::vector<SharedBytes>> kernel_images(const RecordableKernel& kernel) {
  std::vector<SharedBytes> images;
  if (kernel.record.images.empty()) return images;
  if (kernel.record.level == CodeLevel::ir) {
    MNEME_ASSIGN(ByteVector code, own_machine_code(*kernel.registered));
    images.push_back(std::move(code));
    return images;
  }
  MNEME_ASSIGN(const DeviceCode* code, kernel.registered->image->code());
  for (const CodeImageRecord& image : kernel.record.images)
    images.push_back(image.kind == CodeImageRecord::Kind::cubin ? code->cubin : code->ptx);
  return images;
}

}  // namespace

Result<std::shared_ptr<const RecordedCode>> code_of(const RecordableKernel& kernel) {
  if (auto known = kernel.code.lock()) return known;
  auto code = std::make_shared<RecordedCode>();
  if (kernel.record.level == CodeLevel::ir) {
    MNEME_ASSIGN(code->ir, kernel_bitcode(*kernel.registered));
  }
  MNEME_ASSIGN(code->images, kernel_images(kernel));
  std::shared_ptr<const RecordedCode> all = std::move(code);
  kernel.code = all;
  return all;
}

ByteVector pack_arguments(const RecordableKernel& kernel, void* const* arguments) {
  ByteVector packed(kernel.record.parameter_bytes);
  for (size_t i = 0; i < kernel.record.parameters.size(); ++i) {
    const Parameter& parameter = kernel.record.parameters[i];
    std::memcpy(packed.data() + parameter.offset, arguments[i], parameter.size);
  }
  for (const SegmentRange& range : kernel.padding) std::memset(packed.data() + range.offset, 0, range.size);
  return packed;
}

}  // namespace mneme
