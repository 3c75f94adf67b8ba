/// `rung model`, `rung claims` and `rung compare` as users call them.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Ended {
  int code;
  std::string output;
};

Ended shell(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  Ended ended{-1, ""};
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) ended.output.append(buffer, n);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

TEST(Claims, TheModelAnswersEachLineByItself) {
  const Ended ended = shell(
      R"(printf 'bound A100 --ratio 0.25\n\nbound no_such\noccupancy --device "GTX 480" --threads 16x16\nspeed\nbound A100\n' | )" +
      std::string(RUNG_PROGRAM) + " model");
  EXPECT_EQ(ended.code, 0) << ended.output;
  std::vector<nlohmann::json> answers;
  std::string one;
  for (std::size_t at = 0; at < ended.output.size(); ++at) {
    one += ended.output[at];
    if (nlohmann::json::accept(one)) answers.push_back(nlohmann::json::parse(std::exchange(one, "")));
  }
  ASSERT_EQ(answers.size(), 5u) << ended.output;
  EXPECT_EQ(answers[0][0]["bounds"][0]["gflops"], 388.75);
  EXPECT_NE(answers[1]["error"].get<std::string>().find("no_such"), std::string::npos);
  EXPECT_EQ(answers[2][0]["limits"]["threads_per_block"], 1024);
  EXPECT_TRUE(answers[3].contains("error"));
  EXPECT_EQ(answers[4][0]["bounds"].size(), 2u);  // no option outlives its line
}

/// A question may come from others: a quoted word also takes the text after it.
TEST(Claims, QuestionsWriteNoFile) {
  char folder[] = "/tmp/rung_claims_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string in = std::string("cd ") + folder + " && ", plot = "occupancy --device H200 --threads 256 --plot ";
  for (const std::string file : {"x.svg", "\"x.svg\"", "\"x.svg", "x.svg --"}) {
    const Ended ended = shell(in + "printf '%s\\n' '" + plot + file + "' | " + RUNG_PROGRAM + " model");
    EXPECT_NE(ended.output.find("has no option '--"), std::string::npos) << ended.output;
  }
  EXPECT_EQ(shell(in + "ls").output, "");
  EXPECT_EQ(shell(in + RUNG_PROGRAM + " " + plot + "x.svg && ls").code, 0);
  EXPECT_EQ(shell(in + "ls").output, "x.svg\n");
  shell(std::string("rm -r ") + folder);
}

/// A replacement for Python that prints its arguments.
TEST(Claims, TheReportsPythonGetsTheArguments) {
  char folder[] = "/tmp/rung_claims_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string python = std::string(folder) + "/python3";
  ASSERT_EQ(
      shell("printf '#!/bin/sh\\necho \"$PYTHONPATH $RUNG $@\"; exit 2\\n' > " + python + " && chmod +x " + python)
          .code,
      0);
  for (const std::string words : {"claims bytes_132 --json --results a b", "compare a b --json --only slower"}) {
    const Ended ended = shell("PATH=" + std::string(folder) + ":$PATH " + RUNG_PROGRAM + " " + words);
    if (ended.output.find("-m report.") == std::string::npos) GTEST_SKIP() << "the source tree has a Python of its own";
    EXPECT_EQ(ended.code, 2);
    EXPECT_NE(ended.output.find("-m report." + words), std::string::npos) << ended.output;
    EXPECT_NE(ended.output.find(RUNG_PROGRAM), std::string::npos) << ended.output;
  }
  shell(std::string("rm -r ") + folder);
}

}  // namespace
