#include "mneme/pool/translation_homes.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

using Home = TranslationHomes::Home;

TEST(TranslationHomes, ATranslationIsAtHomeWhereItWasDone) {
  TranslationHomes homes;
  EXPECT_EQ(homes.find(7, 1), Home::nowhere);
  homes.add(7, 1);
  homes.add(7, 1);
  EXPECT_EQ(homes.find(7, 1), Home::here);
  EXPECT_EQ(homes.find(7, 2), Home::elsewhere);
  EXPECT_EQ(homes.find(8, 1), Home::nowhere);
  homes.add(7, 2);
  EXPECT_EQ(homes.find(7, 1), Home::here);
  EXPECT_EQ(homes.find(7, 2), Home::here);
}

TEST(TranslationHomes, AWorkerIsGivenWhatItHasHadElseWhatNobodyHasHad) {
  TranslationHomes homes;
  const uint64_t waiting[] = {1, 2, 3, 2};
  EXPECT_EQ(homes.choose(waiting, 10), 0u);
  homes.add(1, 10);
  EXPECT_EQ(homes.choose(waiting, 11), 1u) << "the first that is nobody's";
  homes.add(2, 11);
  EXPECT_EQ(homes.choose(waiting, 10), 0u);
  EXPECT_EQ(homes.choose(waiting, 11), 1u);
  EXPECT_EQ(homes.choose(waiting, 12), 2u);
  homes.add(3, 12);
  EXPECT_EQ(homes.choose(waiting, 13), 0u) << "all are somebody's";
}

TEST(TranslationHomes, AWorkerThatHasEndedIsTheHomeOfNothing) {
  TranslationHomes homes;
  homes.add(7, 1);
  homes.add(8, 1);
  homes.add(8, 2);
  homes.forget(1);
  homes.forget(3);
  EXPECT_EQ(homes.find(7, 1), Home::nowhere);
  EXPECT_EQ(homes.find(8, 1), Home::elsewhere);
}

}  // namespace
}  // namespace mneme
