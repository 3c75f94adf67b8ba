#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace rung {
namespace {

TEST(Fibers, WithoutBoostTakeTurnsAndKeepTheirStacks) {
  std::FILE* pipe = popen(RUNG_FIBERS_WITHOUT_BOOST, "r");
  ASSERT_NE(pipe, nullptr);
  char line[256] = "";
  const bool said = std::fgets(line, sizeof line, pipe);
  const int status = pclose(pipe);
  EXPECT_TRUE(said);
  EXPECT_STREQ(line, "right\n");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace rung
