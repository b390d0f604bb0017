"""shardrun --profile: the first run, which waits for weights and arranges them, counts only where it is alone."""

import re

from tests.support import EndToEnd, data_sets, model_file

MODEL = "llama-dynamo-op18"


class RunTimes(EndToEnd):
    def profile(self, *flags):
        artifact = self.compile(model_file(MODEL), 2)
        return self.run_ok("shardrun", artifact, "--inputs", data_sets(MODEL)[0], "--profile", *flags)

    def test_the_first_run_is_left_out(self):
        text = self.profile("--repeat", 4)
        self.assertIn("mean of 2 ranks and 3 runs of the last size", text)
        self.assertNotIn("of a first run", text)
        self.assertGreater(float(re.search(r"last size; (\S+) ms\)", text)[1]), 0)

    def test_a_run_alone_is_told(self):
        text = self.profile()
        self.assertIn("mean of 2 ranks and 1 runs of the last size", text)
        self.assertIn("of a first run, which waits for weights", text)
