"""Models in the tiles of AMX, which tests/unit/kernels/TileEmulator.cpp emulates where the processor has none."""

import os
import subprocess
import unittest
from unittest import mock

import numpy as np

from tests.support import BIN, EndToEnd, data_sets, model_file, processor_has, read_outputs

EMULATOR = BIN / "libtile-emulator.so"
SKIPPED = 77


def skip_reason():
    if not processor_has("avx512_bf16"):
        return "tiles are beside products of bfloat16 in vectors, which this processor has not"
    if not EMULATOR.exists():
        return "it is built for x86-64 on Linux, and not under sanitizers"
    done = subprocess.run(["true"], env=os.environ | {"LD_PRELOAD": str(EMULATOR)}, capture_output=True, text=True)
    return done.stdout.splitlines()[-1] if done.returncode == SKIPPED else None


@unittest.skipIf(skip_reason(), skip_reason())
class InTiles(EndToEnd):
    def outputs(self, model, inputs, *flags):
        artifact, out = self.folder / "model.shard", self.folder / "out"
        self.run_ok("shardc", model, "-o", artifact, *flags)
        self.run_ok("shardrun", artifact, "--inputs", inputs, "--outputs", out)
        return read_outputs(out)

    def both(self, model, inputs, *flags):
        """With tiles, and as a processor without them has it."""
        with mock.patch.dict(os.environ, {"SHARDC_PROCESSOR": "avx512-bf16"}):
            without = self.outputs(model, inputs, *flags)
        used = self.folder / "used"
        with mock.patch.dict(os.environ, {"LD_PRELOAD": str(EMULATOR), "SHARDC_TILES_WERE_USED": str(used)}):
            in_tiles = self.outputs(model, inputs, *flags)
        self.assertNotEqual(used.exists(), processor_has("amx_tile"), "nothing was multiplied in tiles")
        used.unlink(missing_ok=True)
        return in_tiles, without

    def test_bf16_is_near_what_the_model_computes(self):
        for name in ("bert-ts-op17", "gpt2-dynamo-op20", "llama-dynamo-op18", "vit-ts-static-op17"):
            for tp in (1, 2):
                with self.subTest(model=name, tp=tp):
                    data_set = data_sets(name)[0]
                    in_tiles, without = self.both(model_file(name), data_set, "--tp", tp, "--compute", "bf16")
                    for a, b, expected in zip(in_tiles, without, read_outputs(data_set), strict=True):
                        self.assertLess(np.max(np.abs(a - expected)) / np.max(np.abs(expected)), 2e-2)
                        self.assertTrue(np.any(a != b), "sums are in another order there")

    def test_int8_has_the_same_bits(self):
        """Products of bytes are exact, and blocks are added up in one order. Of 37 rows, since a few are not worth tiles."""
        inputs = self.folder / "inputs.npz"
        ids = np.random.default_rng(1).integers(1, 50, [1, 37])
        past = {f"past_key_values.{layer}.{kind}": np.zeros([1, 4, 0, 16], np.float32) for layer in (0, 1) for kind in ("key", "value")}
        np.savez(inputs, input_ids=ids, attention_mask=np.ones_like(ids), **past)
        exact, level4 = (file for file, _ in self.accuracies("llama-genai-int4"))
        for model, flags in ((level4, ()), (exact, ("--compute", "int8"))):
            for tp in (1, 2):
                with self.subTest(tp=tp, flags=flags):
                    in_tiles, without = self.both(model, inputs, "--tp", tp, *flags)
                    for a, b in zip(in_tiles, without, strict=True):
                        np.testing.assert_array_equal(a, b)


if __name__ == "__main__":
    unittest.main()
