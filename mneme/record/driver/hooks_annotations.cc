// Annotations of a program that was built for recording, and is recorded at the driver.
#include <mutex>
#include <string>
#include <vector>

#include "mneme/base/log.h"
#include "mneme/hooks/registration_hooks.h"
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

// The call table of a linked object: what it registers is remembered, and all its calls go on to the runtime.
class AnnotatingTable final : public CallTable {
 public:
  static AnnotatingTable& attached(uint32_t index) {
    static auto* const tables = new std::array<AnnotatingTable, MNEME_MAX_TABLES>;
    return (*tables)[index];
  }
  static Registry& registry() {
    static auto* const only = new Registry;
    return *only;
  }
  void on_load() {}
  void on_unload() {}
};

// Annotations of variables from before the program's first call of the driver, when there is no recorder yet. In a process that
// is not recorded there never is one, and a program may say the same as often as it likes: the last of it is kept.
struct Early {
  const void* pointer;
  uint64_t count;
  mneme_annotation annotation;
  std::string tag;
};
struct AllEarly {
  std::mutex mutex;
  std::vector<Early> kept;
  void keep(Early one) {
    std::erase_if(kept, [&](const Early& other) { return other.pointer == one.pointer && other.count == one.count; });
    kept.push_back(std::move(one));
  }
};
AllEarly& early() {
  static auto* const all = new AllEarly;
  return *all;
}

// Memory lies where the driver's functions have said, and a variable where its stand-in on the host is registered.
void on_annotate(mneme_call_table*, const void* pointer, uint64_t count, const mneme_annotation* annotation) {
  if (!pointer || !annotation) return;
  {
    std::lock_guard lock(early().mutex);
    if (!recorder()) {
      if (AnnotatingTable::registry().find_variable_around(pointer)) {
        early().keep({pointer, count, *annotation, annotation->tag ? annotation->tag : ""});
        return;
      }
      static std::once_flag once;
      std::call_once(once, [] { log::warning("an annotation is ignored: the program has not called the CUDA driver yet"); });
      return;
    }
  }
  recorder()->annotate(front(), pointer, count, *annotation);
}

}  // namespace

const Registry* DriverFront::host_variables() const { return &AnnotatingTable::registry(); }

void take_annotations(mneme_call_table& abi) {
  AnnotatingTable& table = AnnotatingTable::attached(abi.index);
  table.attach(abi);
  abi.annotate = &on_annotate;
  RegistrationHooks<AnnotatingTable>::install(table);
}

void give_early_annotations() {
  std::vector<Early> kept;
  {
    std::lock_guard lock(early().mutex);
    kept.swap(early().kept);
  }
  for (Early& one : kept) {
    one.annotation.tag = one.tag.empty() ? nullptr : one.tag.c_str();
    recorder()->annotate(front(), one.pointer, one.count, one.annotation);
  }
}

}  // namespace mneme::driver
