#include "mneme/snapshot/pageable_pointers.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

using Attributes = std::map<std::string, std::string>;

TEST(PageablePointers, AreAnAttributeWhereThereAreSome) {
  Attributes attributes{{"priority", "1"}};
  put_pageable_pointers({}, attributes);
  EXPECT_EQ(attributes, (Attributes{{"priority", "1"}}));
  EXPECT_EQ(pageable_pointers_in(attributes), "");
  put_pageable_pointers({.in_memory = true}, attributes);
  EXPECT_EQ(attributes, (Attributes{{"pageable_pointers", "memory"}, {"priority", "1"}}));
  EXPECT_EQ(pageable_pointers_in(attributes), "memory");
}

TEST(PageablePointers, AreDescribedByWhereTheyStood) {
  const std::string what = " addresses of host memory that was not recorded (of malloc, the stack or mmap)";
  EXPECT_EQ(describe_pageable_pointers(to_string(PageablePointers())), "");
  EXPECT_EQ(describe_pageable_pointers(to_string(PageablePointers{true, false})), "its arguments hold" + what);
  EXPECT_EQ(describe_pageable_pointers(to_string(PageablePointers{false, true})), "its memory holds" + what);
  EXPECT_EQ(describe_pageable_pointers(to_string(PageablePointers{true, true})), "its arguments and its memory hold" + what);
}

}  // namespace
}  // namespace mneme
