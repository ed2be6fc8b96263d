#include "json.h"

#include "errors.h"

namespace mneme::python {
namespace {

namespace nb = nanobind;
using Json = nlohmann::json;

constexpr unsigned kDepth = 64;

class Reader {
 public:
  explicit Reader(const std::string& what) : what_(what) {}

  Json read(nb::handle value) {
    if (value.is_none()) return nullptr;
    if (PyBool_Check(value.ptr())) return value.is(Py_True);
    if (PyUnicode_Check(value.ptr())) return text(value);
    if (PyFloat_Check(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());
    if (PyDict_Check(value.ptr())) return object(nb::borrow<nb::dict>(value));
    if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) return array(value);
    const std::string_view type = Py_TYPE(value.ptr())->tp_name;
    if (type == "numpy.bool" || type == "numpy.bool_") return PyObject_IsTrue(value.ptr()) == 1;
    if (PyIndex_Check(value.ptr())) return whole_number(value);
    if (nb::hasattr(value, "__fspath__")) return file(value);
    if (const PyNumberMethods* number = Py_TYPE(value.ptr())->tp_as_number; number && number->nb_float) return real(value);
    refuse(fmt::format("cannot be of type {}: give numbers, text, True or False, lists and dictionaries", type));
  }

 private:
  [[noreturn]] void refuse(const std::string& why) {
    raise(path_.empty() ? error(Code::invalid_argument, "{}: it {}", what_, why)
                        : error(Code::invalid_argument, "{}: '{}' {}", what_, path_, why));
  }

  std::string text(nb::handle value) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (bytes) return std::string(bytes, static_cast<size_t>(size));
    PyErr_Clear();
    refuse("has characters that are no Unicode");
  }

  Json whole_number(nb::handle value) {
    nb::object index = nb::steal(PyNumber_Index(value.ptr()));
    int overflow = 0;
    if (index) {
      const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
      if (overflow == 0 && !PyErr_Occurred()) return number;
      const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(index.ptr()) : 0;
      if (overflow > 0 && !PyErr_Occurred()) return large;
    }
    PyErr_Clear();
    refuse(overflow != 0 ? "has no room in 64 bits" : "is no whole number");
  }

  Json real(nb::handle value) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (number != -1 || !PyErr_Occurred()) return number;
    PyErr_Clear();
    refuse("is no number");
  }

  Json file(nb::handle value) {
    nb::object path = nb::steal(PyOS_FSPath(value.ptr()));
    if (path && PyUnicode_Check(path.ptr())) return text(path);
    PyErr_Clear();
    refuse("is a path that is no text");
  }

  Json object(const nb::dict& members) {
    Json json = Json::object();
    Deeper deeper(*this);
    // A copy: what reads a member may change the dictionary.
    for (nb::handle member : nb::steal<nb::list>(PyDict_Items(members.ptr()))) {
      const nb::object key = member[0], value = member[1];
      if (!PyUnicode_Check(key.ptr())) refuse(fmt::format("has a key of type {}: keys are text", Py_TYPE(key.ptr())->tp_name));
      const std::string name = text(key);
      const size_t length = path_.size();
      path_ += path_.empty() ? name : "." + name;
      json[name] = read(value);
      path_.resize(length);
    }
    return json;
  }

  Json array(nb::handle elements) {
    Json json = Json::array();
    Deeper deeper(*this);
    size_t index = 0;
    for (nb::handle element : nb::tuple(elements)) {
      const size_t length = path_.size();
      path_ += fmt::format("[{}]", index++);
      json.push_back(read(element));
      path_.resize(length);
    }
    return json;
  }

  struct Deeper {
    explicit Deeper(Reader& reader) : reader(reader) {
      if (++reader.depth_ > kDepth) reader.refuse("is nested too deeply");
    }
    ~Deeper() { --reader.depth_; }
    Reader& reader;
  };

  const std::string& what_;
  std::string path_;
  unsigned depth_ = 0;
};

}  // namespace

Json json_of(nb::handle value, const std::string& what) { return Reader(what).read(value); }

nb::object python_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean: return nb::bool_(json.get<bool>());
    case Json::value_t::number_integer: return nb::int_(json.get<int64_t>());
    case Json::value_t::number_unsigned: return nb::int_(json.get<uint64_t>());
    case Json::value_t::number_float: return nb::float_(json.get<double>());
    case Json::value_t::string: {
      const auto& text = json.get_ref<const std::string&>();
      return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    }
    case Json::value_t::array: {
      nb::list list;
      for (const Json& element : json) list.append(python_of(element));
      return list;
    }
    case Json::value_t::object: {
      nb::dict dict;
      for (const auto& [key, value] : json.items()) dict[nb::str(key.data(), key.size())] = python_of(value);
      return dict;
    }
    default: return nb::none();
  }
}

}  // namespace mneme::python
