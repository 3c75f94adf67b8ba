/// `rung blur` and the files that it reads and writes.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <fstream>

#include "common/program/picture.hpp"
#include "common/registry.hpp"
#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

std::filesystem::path file_of(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  const std::filesystem::path file = folder.path() / name;
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

struct Ended {
  int code = -1;
  std::string output;
};

Ended blur(const std::string& arguments) {
  Ended ended;
  std::FILE* pipe = popen((std::string(RUNG_PROGRAM) + " blur " + arguments + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) ended.output.append(buffer, n);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

/// A picture of this format with samples that look random.
Picture invented(const std::string& magic, int rows, int cols, int largest) {
  Picture picture{.magic = magic, .rows = rows, .cols = cols, .largest = largest};
  picture.planes.resize(magic == "P3" || magic == "P6" ? 3 : 1);
  unsigned state = 1;
  for (auto& plane : picture.planes)
    for (int i = 0; i < rows * cols; ++i) {
      state = state * 1664525u + 1013904223u;
      plane.push_back(static_cast<float>((state >> 8) % static_cast<unsigned>(largest + 1)));
    }
  return picture;
}

TEST(Picture, ComesBackAsItWasWritten) {
  const TemporaryFolder folder;
  for (const char* magic : {"P2", "P3", "P5", "P6"})
    for (const int largest : {1, 200, 255, 256, 65535}) {
      SCOPED_TRACE(std::string(magic) + " up to " + std::to_string(largest));
      const Picture written = invented(magic, 7, 13, largest);
      write_picture(folder.path() / "a", written);
      const Picture read = read_picture(folder.path() / "a");
      EXPECT_EQ(read.magic, magic);
      EXPECT_EQ(read.largest, largest);
      EXPECT_EQ(read.rows, 7);
      EXPECT_EQ(read.cols, 13);
      EXPECT_EQ(read.planes, written.planes);
    }
}

TEST(Picture, MayHaveCommentsAndBlanks) {
  const TemporaryFolder folder;
  const Picture read = read_picture(file_of(folder, "a.pgm", "P2 # grey\n#two\n 2\t1 # wide\n9\n 3 # one\n\n9"));
  EXPECT_EQ(read.planes, (std::vector<std::vector<float>>{{3, 9}}));
}

TEST(Picture, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& bytes) -> std::string {
    try {
      read_picture(file_of(folder, "bad", bytes));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(error(""), "neither PGM"));
  EXPECT_TRUE(has(error("P4\n2 2\n"), "neither PGM"));
  EXPECT_TRUE(has(error("P5\n2"), "truncated: it ends before the height"));
  EXPECT_TRUE(has(error("P5\n2 x"), "no number where the height"));
  EXPECT_TRUE(has(error("P5\n70000 2\n255\n"), "width is outside 1..65535"));
  EXPECT_TRUE(has(error("P5\n99999999999999999999 2\n255\n"), "width is outside"));
  EXPECT_TRUE(has(error("P5\n0 2\n255\n"), "width is outside"));
  EXPECT_TRUE(has(error("P5\n2 2\n70000\n"), "largest value is outside"));
  EXPECT_TRUE(has(error("P5\n2 2\n255\nabc"), "3 bytes of samples, not 4"));
  EXPECT_TRUE(has(error("P6\n60000 60000\n65535\nabc"), "truncated"));
  EXPECT_TRUE(has(error("P2\n60000 60000\n255\n1 2 3"), "truncated"));
  EXPECT_TRUE(has(error("P2\n2 1\n255\n1   "), "ends before the next sample"));
  EXPECT_TRUE(has(error("P5\n1 1\n100\n\xFF"), "255 above 100"));
  EXPECT_TRUE(has(error("P2\n1 1\n100\n101"), "next sample is outside 0..100"));
  EXPECT_THROW(read_picture(folder.path() / "missing.pgm"), Error);
}

TEST(BlurCommand, BlursAColourPictureByDefinition) {
  const TemporaryFolder folder;
  const std::string in = (folder.path() / "in.ppm").string(), out = (folder.path() / "out.ppm").string();
  const int rows = 23, cols = 41, radius = 5;
  for (const char* kernel : {"cpu/blur/running_sum", "cpu/blur/naive", "gpu/blur/running_sum"}) {
    SCOPED_TRACE(kernel);
    const Picture before = invented("P6", rows, cols, 65535);
    write_picture(in, before);
    const Ended ended = blur("--image " + in + " --out " + out + " --radius 5 --kernel " + kernel);
    ASSERT_EQ(ended.code, 0) << ended.output;
    const Picture after = read_picture(out);
    ASSERT_EQ(after.planes.size(), 3u);
    for (int channel = 0; channel < 3; ++channel)
      for (int row = 0; row < rows; ++row)
        for (int col = 0; col < cols; ++col) {
          double sum = 0, pixels = 0;
          for (int r = row - radius; r <= row + radius; ++r)
            for (int c = col - radius; c <= col + radius; ++c)
              if (r >= 0 && r < rows && c >= 0 && c < cols) {
                sum += before.planes[channel][r * cols + c];
                pixels += 1;
              }
          ASSERT_NEAR(after.planes[channel][row * cols + col], sum / pixels, 0.51) << row << ", " << col;
        }
  }
}

TEST(BlurCommand, LeavesThePictureAloneAtRadiusZero) {
  const TemporaryFolder folder;
  const std::string in = (folder.path() / "in.pgm").string(), out = (folder.path() / "out.pgm").string();
  for (const int largest : {255, 65535}) {
    write_picture(in, invented("P5", 19, 33, largest));
    ASSERT_EQ(blur("--image " + in + " --out " + out + " --radius 0").code, 0);
    EXPECT_EQ(file_text(in), file_text(out));
  }
}

TEST(BlurCommand, RefusesWhatItCannotDo) {
  const TemporaryFolder folder;
  const std::string in = (folder.path() / "in.pgm").string(), out = (folder.path() / "out.pgm").string();
  const Ended missing = blur("--image " + in + " --out " + out);
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.output.find("in.pgm"), std::string::npos) << missing.output;
  write_picture(in, invented("P5", 3, 3, 255));
  EXPECT_EQ(blur("--image " + in + " --out " + out + " --radius 33").code, 2);
  EXPECT_EQ(blur("--image " + in + " --out " + out + " --kernel cpu/heat/naive").code, 2);
  EXPECT_EQ(blur("--image " + in + " --out " + (folder.path() / "no" / "out.pgm").string()).code, 4);
}

}  // namespace
}  // namespace rung
