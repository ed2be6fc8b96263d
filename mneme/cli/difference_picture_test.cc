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
  RangeDifference one, two;
  one.range.where = "argument 'out'";
  one.elements = one.differing = 600;
  one.cells.assign(600, 0);
  one.cells_not_written.assign(600, false);
  one.cells[65] = 1;
  one.cells_not_written[66] = true;
  two.cells.assign(512 * 512, 1e-16);
  const std::vector<Plot> plots = layout({one, two});
  ASSERT_EQ(plots.size(), 2u);
  EXPECT_EQ(plots[0].columns, 64u);
  EXPECT_EQ(plots[0].rows, 10u);
  EXPECT_EQ(plots[0].cell, 8u);
  EXPECT_EQ(plots[1].columns, 512u);
  EXPECT_EQ(plots[1].area.height, 512u);
  EXPECT_GT(plots[1].area.y, plots[0].area.y + plots[0].area.height);

  const Path file = std::filesystem::temp_directory_path() / fmt::format("mneme-picture-{}.png", ::getpid());
  Status status = write_picture({one, two}, file);
  ASSERT_TRUE(status.ok()) << status.to_string();
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, file.c_str()), 0);
  image.format = PNG_FORMAT_RGB;
  const Canvas drawn = draw({one, two});
  ASSERT_EQ(image.width, drawn.width());
  ASSERT_EQ(image.height, drawn.height());
  std::vector<Colour> pixels(size_t{image.width} * image.height);
  ASSERT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
  std::filesystem::remove(file);
  const auto cell = [&](const Plot& plot, unsigned index) {
    const unsigned x = plot.area.x + index % plot.columns * plot.cell, y = plot.area.y + index / plot.columns * plot.cell;
    return pixels[size_t{y} * image.width + x];
  };
  EXPECT_EQ(cell(plots[0], 0), Colour());
  EXPECT_EQ(cell(plots[0], 65), (Colour{255, 230, 60}));
  EXPECT_EQ(cell(plots[0], 66), kNotWrittenColour);
  EXPECT_EQ(cell(plots[0], 600), (Colour{70, 70, 70}));
  EXPECT_EQ(cell(plots[1], 0), (Colour{40, 60, 190}));
}

// Whether a text stands somewhere on the canvas: all its dots are of one colour, and what is between them is not.
bool shows(const Canvas& canvas, const std::string& text) {
  const Colour ink{20, 20, 20}, paper{250, 250, 250};
  Canvas wanted(static_cast<unsigned>(text.size()) * Canvas::kLetterWidth, Canvas::kLetterHeight, paper);
  wanted.text(0, 0, text, ink);
  const auto stands_at = [&](unsigned left, unsigned top) {
    for (unsigned y = 0; y < wanted.height(); ++y)
      for (unsigned x = 0; x + 2 < wanted.width(); ++x)
        if ((canvas.at(left + x, top + y) == ink) != (wanted.at(x, y) == ink)) return false;
    return true;
  };
  for (unsigned y = 0; y + wanted.height() <= canvas.height(); ++y)
    for (unsigned x = 0; x + wanted.width() <= canvas.width(); ++x)
      if (stands_at(x, y)) return true;
  return false;
}

TEST(DifferencePicture, HasAxesAndALegend) {
  RangeDifference one;
  one.range.where = "argument 'out'";
  one.range.type = one.type = ElementType::f32;
  one.elements = 65536;
  one.differing = 40000;
  one.not_written = 32768;
  one.cell = 16;
  one.cells.assign(4096, 0);
  one.cells_not_written.assign(4096, true);
  const Canvas canvas = draw({one});
  for (const char* text : {"argument 'out': 65536 f32", "7232 differ, 32768 not written; a cell is 16", "+0", "+256", "+768", "0",
                           "5120", "relative error", "1e-16", "1e-8", "equal", "not written by this configuration",
                           "no relative error: NaN, infinity, 0", "behind the last element"})
    EXPECT_TRUE(shows(canvas, text)) << text;
  EXPECT_FALSE(shows(canvas, "more buffers differ"));
  EXPECT_TRUE(shows(draw(std::vector<RangeDifference>(kMostPlots + 2, one)), "2 more buffers differ"));
}

TEST(DifferencePicture, ATitleThatIsTooLongIsCut) {
  RangeDifference one;
  one.range.where = "argument '" + std::string(60, 'x') + "'";
  one.cells.assign(1, 0);
  const Canvas canvas = draw({one});
  const size_t letters = (canvas.width() - 16) / Canvas::kLetterWidth;
  EXPECT_TRUE(shows(canvas, (one.range.where + ": 0 bytes").substr(0, letters - 3) + "..."));
  one.range.where = std::string(letters - std::string(": 0 bytes").size(), 'y');
  EXPECT_TRUE(shows(draw({one}), one.range.where + ": 0 bytes")) << "just as long as there is room";
}

TEST(PictureCanvas, TextIsDrawnWithDotsAndKeepsInside) {
  Canvas canvas(30, 14, {});
  canvas.text(0, 0, "I|\x01|", {255, 255, 255});
  EXPECT_EQ(canvas.at(4, 0), (Colour{255, 255, 255}));  // the middle of the I
  EXPECT_EQ(canvas.at(0, 0), Colour());
  EXPECT_EQ(canvas.at(16, 13), (Colour{255, 255, 255}));
  canvas.fill({25, 10, 100, 100}, {1, 2, 3});
  EXPECT_EQ(canvas.at(29, 13), (Colour{1, 2, 3}));
}

TEST(DifferencePicture, SaysWhatItCouldNotWrite) {
  RangeDifference one;
  one.cells.assign(1, 1);
  Status status = write_picture({one}, "/no/such/folder/p.png");
  EXPECT_EQ(status.code(), Code::io);
  EXPECT_EQ(status.message().find("writing the picture /no/such/folder/p.png: "), 0u) << status.message();
}

}  // namespace
}  // namespace mneme::cli
