"""What has a handle of the library is not copied: two owners would each give it back."""

import copy
import pickle
import unittest

import numpy as np

from tests.python.kept_decoder import ARTIFACT, PROMPT, WHOLE, WORDS, Kept

import shardrt  # isort: skip


class Copies(Kept):
    def test_say_what_to_do_instead(self):
        session, whole = self.session(), self.session(WHOLE)
        pool = self.opened(session.pool, 256)
        server = self.opened(shardrt.Server, ARTIFACT, positions=256)
        text = server.submit(PROMPT, max_tokens=1)
        ids = np.array([PROMPT])
        binding = whole.bind({"input_ids": ids, "attention_mask": ids * 0 + 1}, {"logits": np.zeros((1, 3, WORDS), np.float32)})
        for value, instead in ((session, "open the artifact again"), (pool, r"by Session.pool\(\)"), (pool.sequence(), r"use fork\(\)"),
                               (server, "start another one"), (text, "submit the prompt again"), (self.generator(), "make another one"),
                               (binding, r"by Session.bind\(\)"), (shardrt.Cancellation(), "share this one")):  # fmt: skip
            why = f"^a {type(value).__name__} cannot be copied or pickled: .*{instead}"
            for how in (copy.copy, copy.deepcopy, pickle.dumps):
                self.refuses(TypeError, why, how, value)
        self.assertEqual(len(text.result(60)), 1, "and all are as before")

    def test_a_state(self):
        session = self.session()
        state = shardrt.State.__new__(shardrt.State)  # as there is of a model with caches, for requests
        state._session, state._handle = session, None
        self.refuses(TypeError, r"a State cannot be copied or pickled: use fork\(\)", copy.copy, state)


if __name__ == "__main__":
    unittest.main()
