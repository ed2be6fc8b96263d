#include "mneme/cli/difference_picture.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstring>
#include <limits>

namespace mneme::cli {
namespace {

TEST(DifferencePicture, ColoursFollowTheErrorsDecades) {
  EXPECT_EQ(colour_of(0), Colour());
  EXPECT_EQ(colour_of(1e-16), (Colour{40, 60, 190}));
  EXPECT_EQ(colour_of(1e-300), (Colour{40, 60, 190}));
  EXPECT_EQ(colour_of(1), (Colour{255, 230, 60}));
  EXPECT_EQ(colour_of(1e6), (Colour{255, 230, 60}));
  EXPECT_EQ(colour_of(std::numeric_limits<double>::infinity()), (Colour{255, 255, 255}));
}

TEST(DifferencePicture, HasABandForEachBuffer) {
  SegmentDifference one, two;
  one.cells.assign(600, 0);
  one.cells[512] = 1;
  two.cells.assign(512, 1e-16);
  const Path file = std::filesystem::temp_directory_path() / fmt::format("mneme-picture-{}.png", ::getpid());
  Status status = write_picture({one, two}, file);
  ASSERT_TRUE(status.ok()) << status.to_string();
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, file.c_str()), 0);
  image.format = PNG_FORMAT_RGB;
  EXPECT_EQ(image.width, 512u);
  ASSERT_EQ(image.height, 2u + 3 + 1);
  std::vector<Colour> pixels(512 * 6);
  ASSERT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
  EXPECT_EQ(pixels[0], Colour());
  EXPECT_EQ(pixels[512], (Colour{255, 230, 60}));
  EXPECT_EQ(pixels[512 + 100], (Colour{40, 40, 40}));
  EXPECT_EQ(pixels[5 * 512], (Colour{40, 60, 190}));
  std::filesystem::remove(file);
}

TEST(DifferencePicture, SaysWhatItCouldNotWrite) {
  SegmentDifference one;
  one.cells.assign(1, 1);
  Status status = write_picture({one}, "/no/such/folder/p.png");
  EXPECT_EQ(status.code(), Code::io);
  EXPECT_EQ(status.message().find("writing the picture /no/such/folder/p.png: "), 0u) << status.message();
}

}  // namespace
}  // namespace mneme::cli
