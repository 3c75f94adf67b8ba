#include "common/harness/journal.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <tuple>

#include "common/registry.hpp"
#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

const Json kHeader{{"identity", "one"}, {"context", {{"seed", 1}}}};

TEST(Journal, GivesBackWhatWasAppended) {
  TemporaryFolder folder;
  {
    Journal journal(folder / "run/journal.jsonl", kHeader);
    journal.append({{"point", "a"}});
    journal.append({{"point", "b\n\"quoted\""}});
  }
  Journal again(folder / "run/journal.jsonl", {{"identity", "one"}, {"context", {{"seed", 2}}}});
  ASSERT_EQ(again.records().size(), 2u);
  EXPECT_EQ(again.records()[1]["point"], "b\n\"quoted\"");
  EXPECT_EQ(again.header()["context"]["seed"], 1) << "the header was written at the run's beginning";
}

TEST(Journal, CutsATornLineAtEveryLength) {
  TemporaryFolder folder;
  const auto file = folder / "journal.jsonl";
  {
    Journal journal(file, kHeader);
    journal.append({{"point", "kept"}});
  }
  const std::string kept = file_text(file);
  { Journal(file, kHeader).append({{"point", "torn"}}); }
  const std::string whole = file_text(file);
  for (std::size_t length = kept.size(); length < whole.size(); ++length) {
    folder.write("journal.jsonl", whole.substr(0, length));
    Journal journal(file, kHeader);
    ASSERT_EQ(journal.records().size(), 1u) << length;
    journal.append({{"point", "next"}});
    ASSERT_EQ(Journal(folder / "other.jsonl", kHeader).records().size(), 0u);
  }
  EXPECT_EQ(Journal(file, kHeader).records().size(), 2u);
}

/// A journal of two records, with `from` replaced by a text of the same length.
std::filesystem::path damaged_journal(const TemporaryFolder& folder, const std::string& from, const std::string& to) {
  const auto file = folder / "journal.jsonl";
  {
    Journal journal(file, kHeader);
    journal.append({{"gflops", 10}});
    journal.append({{"gflops", 20}});
  }
  std::string text = file_text(file);
  text.replace(text.find(from), from.size(), to);
  folder.write("journal.jsonl", text);
  return file;
}

TEST(Journal, PassesOverADamagedRecordAndKeepsWhatFollows) {
  TemporaryFolder folder;
  const auto file = damaged_journal(folder, "10}", "99}");
  {
    Journal journal(file, kHeader);
    ASSERT_EQ(journal.records().size(), 1u);
    EXPECT_EQ(journal.records()[0]["gflops"], 20);
    EXPECT_EQ(journal.damaged(), 1);
    journal.append({{"gflops", 30}});
  }
  EXPECT_EQ(Journal(file, kHeader).records().size(), 2u);
}

TEST(Journal, IsNotResumedWhenItsFirstLineIsDamaged) {
  TemporaryFolder folder;
  const auto file = damaged_journal(folder, "identity", "idontity");
  const std::string before = file_text(file);
  EXPECT_THROW(Journal(file, kHeader), Error);
  EXPECT_EQ(file_text(file), before);
}

TEST(Journal, RefusesAnotherRunsFolder) {
  TemporaryFolder folder;
  { Journal journal(folder / "journal.jsonl", kHeader); }
  EXPECT_THROW(Journal(folder / "journal.jsonl", {{"identity", "two"}}), Error);
  Journal holder(folder / "journal.jsonl", kHeader);
  EXPECT_THROW(Journal(folder / "journal.jsonl", kHeader), OutputError) << "locked";
}

TEST(Journal, SaysWhereItCannotWrite) {
  TemporaryFolder folder;
  folder.write("file", "");
  EXPECT_THROW(Journal(folder / "file/journal.jsonl", kHeader), OutputError);
  EXPECT_THROW(write_file(folder / "file/x.json", "text"), OutputError);
  EXPECT_THROW(write_file("/dev/full/x", "text"), OutputError);
}

TEST(Journal, LosesNoAcknowledgedPointWhenKilled) {
  TemporaryFolder folder;
  const auto file = folder / "journal.jsonl";
  for (int round = 0; round < 20; ++round) {
    int acknowledged[2];
    ASSERT_EQ(pipe(acknowledged), 0);
    const pid_t child = fork();
    if (child == 0) {
      Journal journal(file, kHeader);
      for (;;) {
        journal.append({{"point", journal.records().size()}, {"padding", std::string(2000, 'x')}});
        const char done = 1;
        if (write(acknowledged[1], &done, 1) != 1) _exit(1);
      }
    }
    close(acknowledged[1]);
    std::size_t counted = 0;
    char byte;
    while (counted < 5 + std::size_t(round) % 3 && read(acknowledged[0], &byte, 1) == 1) ++counted;
    usleep(static_cast<useconds_t>(137 * round % 1000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(acknowledged[0], &byte, 1) == 1) ++counted;
    close(acknowledged[0]);
    const Journal journal(file, kHeader);
    ASSERT_GE(journal.records().size(), counted);
    for (std::size_t i = 0; i < journal.records().size(); ++i) ASSERT_EQ(journal.records()[i]["point"], i);
    std::filesystem::remove(file);
  }
}

TEST(Journal, SaysWhatDiffers) {
  const Json run{{"program", "a"}, {"points", "b"}, {"seed", 1}, {"environment", {{"OMP_NUM_THREADS", "2"}}}};
  EXPECT_EQ(difference(run, run), "");
  for (const auto& [key, value, said] : std::vector<std::tuple<const char*, Json, const char*>>{
           {"program", "c", "been rebuilt"},
           {"points", "c", "points are others"},
           {"seed", 2, "seed was 1 and is 2"},
           {"environment", {{"OMP_NUM_THREADS", "4"}}, "OMP_NUM_THREADS was \"2\" and is \"4\""},
           {"environment", {{"OMP_NUM_THREADS", "2"}, {"OMP_PLACES", "cores"}}, "OMP_PLACES was \"unset\""},
           {"environment", Json::object(), "OMP_NUM_THREADS was \"2\" and is \"unset\""}}) {
    Json other = run;
    other[key] = value;
    EXPECT_NE(difference(run, other).find(said), std::string::npos) << difference(run, other);
  }
}

TEST(Journal, ShowsItsHeaderAndWhetherItIsLocked) {
  TemporaryFolder folder;
  const auto file = folder / "journal.jsonl";
  EXPECT_TRUE(journal_header(file).empty());
  {
    Journal journal(file, kHeader);
    EXPECT_TRUE(is_locked(file));
  }
  EXPECT_FALSE(is_locked(file));
  EXPECT_EQ(journal_header(file), kHeader);
  folder.write("journal.jsonl", "torn");
  EXPECT_TRUE(journal_header(file).empty());
}

TEST(WriteFile, WritesThroughALinkAndLeavesIt) {
  TemporaryFolder folder;
  const auto file = folder.write("result.json", "old");
  create_symlink(file, folder / "link.json");
  write_file(folder / "link.json", "new");
  EXPECT_TRUE(is_symlink(folder / "link.json"));
  EXPECT_EQ(file_text(file), "new");
}

TEST(WriteFile, WritesToADeviceAndAPipe) {
  write_file("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  TemporaryFolder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = file_text(pipe); });
  write_file(pipe, "text");
  reader.join();
  EXPECT_EQ(read, "text");
  EXPECT_TRUE(is_fifo(pipe));
}

TEST(WriteFile, IsTriedBefore) {
  TemporaryFolder folder;
  const auto file = folder.write("result.json", "old");
  check_writable(file);
  EXPECT_EQ(file_text(file), "old");
  check_writable(folder / "new/result.json");
  EXPECT_FALSE(exists(folder / "new/result.json"));
  check_writable("/dev/null");
  EXPECT_THROW(check_writable(folder / "result.json/x"), OutputError);
  EXPECT_THROW(check_writable(folder / ""), OutputError);
}

TEST(WriteFile, KeepsTheOldFileWhenTheNewOneDoesNotFit) {
  TemporaryFolder folder;
  const auto file = folder.write("result.json", "old");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100, 100};
    setrlimit(RLIMIT_FSIZE, &small);
    try {
      write_file(file, std::string(10000, 'x'));
      _exit(1);
    } catch (const OutputError&) {
      _exit(0);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(file_text(file), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "and leaves no part of it";
}

}  // namespace
}  // namespace rung
