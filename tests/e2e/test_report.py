"""--report: one page that draws itself in a browser, with nothing from elsewhere."""

import html.parser
import json
import re
import subprocess

import onnx

from tests.large import decoder
from tests.support import EndToEnd, model_file, program

MODEL = {"layers": 12, "hidden": 256, "heads": 8, "kv_heads": 4, "inner": 512, "vocabulary": 1000}
REQUESTS = ["--dims", "batch=8,seq=128,past=128"]


class Page(html.parser.HTMLParser):
    """What a browser made of it: text by the id of the nearest element around it, tags, labels."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.tags, self.labels = [], {}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        self.labels += [attributes["aria-label"]] if "aria-label" in attributes else []
        if tag not in ("meta", "link", "br"):
            self.open.append((tag, attributes.get("id")))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        place = next((name for _, name in reversed(self.open) if name), "")
        if not any(tag in ("script", "style") for tag, _ in self.open):
            self.text[place] = self.text.get(place, "") + " " + text


class Report(EndToEnd):
    def report(self, *flags, command=()):
        file = self.folder / "report.html"
        self.run_ok("shardc", *command, *flags, "--report", file)
        return file.read_text()

    def drawn(self, text):
        """By Chromium, from the file, with the scripts run."""
        file = self.folder / "drawn.html"
        file.write_text(text)
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.folder / 'profile'}",
                   "--virtual-time-budget=5000", "--dump-dom", file.as_uri()]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        return Page(done.stdout)

    @staticmethod
    def data(text):
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])

    def test_what_was_compiled_is_drawn(self):
        model, _ = decoder(self.folder, **MODEL)
        flags = [model, "--tp", 2, "--pp", 2, "--micro-batches", 4, "--topology", "h100:2x2", *REQUESTS]
        text = self.report(*flags, "-o", self.folder / "model.shard")
        page = self.drawn(text)
        self.assertIn("--tp 2 --pp 2 --micro-batches 4", page.text["what"])
        self.assertIn("4 ranks (pp 2 × tp 2) on 2 of 2 nodes", page.text["axes"])
        self.assertIn("4 micro-batches through 2 stages", page.text["timelineText"])
        self.assertIn("Attention", page.text["graph"])
        self.assertIn("all_reduce", page.text["collectiveTable"])
        self.assertIn("transfer", page.text["collectiveTable"])
        self.assertIn("why", page.text["alternativeTable"])
        # Pictures have names for those who hear the page, and a table beside the graph.
        self.assertGreaterEqual(page.tags.count("svg"), 4)
        self.assertIn("node 1: ranks 2 to 3, stage 1", page.labels)
        self.assertIn("Memory by stage", page.labels)
        self.assertEqual(sum(label.startswith("Graph of a layer with") for label in page.labels), 1)

    def test_ranks_are_drawn_in_their_order(self):
        model, _ = decoder(self.folder, **MODEL)
        flags = ["--tp", 2, "--pp", 2, "--topology", "h100:2x2", *REQUESTS, "-o", self.folder / "model.shard"]
        for order, stages in (("tp,pp", ["0", "1"]), ("pp,tp", ["0, 1", "0, 1"])):
            labels = self.drawn(self.report(model, *flags, "--rank-order", order)).labels
            for node, of_node in enumerate(stages):
                self.assertIn(f"node {node}: ranks {2 * node} to {2 * node + 1}, stage {of_node}", labels)

    def test_plans_are_drawn_without_compiling(self):
        model, _ = decoder(self.folder, **MODEL)
        page = self.drawn(self.report(model, "--topology", "h100:1x8", *REQUESTS, command=["plan"]))
        self.assertIn("the most tokens a device", page.text["what"])
        self.assertIn("Nothing was compiled", page.text["collectiveTable"])

    def test_unequal_parts_are_said(self):
        """Of the plan; alternatives with other numbers of ways have equal parts."""
        model, _ = decoder(self.folder, **MODEL)
        text = self.report(model, "--tp", 2, "--shares", "3,1", "--topology", "h100:1x4", *REQUESTS)
        self.assertEqual(self.data(text)["chosen"]["shares"], {"tp": [3, 1]})
        shares = {c["mesh"]["tp"]: c.get("shares") for c in self.data(text)["candidates"]}
        self.assertEqual(shares, {1: None, 2: {"tp": [3, 1]}, 4: None})
        page = self.drawn(text)
        self.assertIn("2 ranks (tp 2 in parts of 3, 1) on 1 of 1 nodes", page.text["axes"])

    def test_a_model_without_caches_or_layers(self):
        page = self.drawn(self.report(model_file("bert-ts-op17"), "--tp", 2, "--topology", "h100:1x2", "--dims", "batch=8,seq=64"))
        self.assertIn("A prompt", page.text["timelineText"])

    def test_many_ranks_stay_small_and_nothing_is_fetched(self):
        model, _ = decoder(self.folder, **{**MODEL, "layers": 64})
        text = self.report(model, "--tp", 8, "--pp", 16, "--dp", 8, "--topology", "h100:128x8", "--dims", "batch=64,seq=128,past=128")
        self.assertLess(len(text), 500_000)
        links = set(re.findall(r"https?://[^\"' )]+", text))
        self.assertEqual(links, {"http://www.w3.org/2000/svg"})  # a name, not an address
        self.assertNotRegex(text, r"<(link|img|iframe)\b|src=|@import|url\(")
        page = self.drawn(text)
        self.assertIn("1024 ranks (dp 8 × pp 16 × tp 8)", page.text["axes"])

    def test_names_of_nodes_end_no_script(self):
        model, _ = decoder(self.folder, **MODEL)
        made = onnx.load(model, load_external_data=False)
        for node in made.graph.node:
            node.name = "</script><b>" + node.name
        onnx.save(made, self.folder / "odd.onnx")
        text = self.report(self.folder / "odd.onnx", "--tp", 2, "--topology", "h100:1x2", *REQUESTS)
        self.assertEqual(text.count("</script>"), 2)
        self.assertTrue(any("</script><b>" in op["node"] for op in self.data(text)["layer"]))
        self.assertIn("</script><b>", self.drawn(text).text["collectiveTable"])

    def test_mistakes(self):
        model = model_file("bert-ts-op17")
        done = program("shardc", model, "--tp", 2, "--report", self.folder / "r.html")
        self.assertEqual((done.returncode, "--report: needs --topology" in done.stderr), (2, True))
        done = program("shardc", "plan", model, "--topology", "h100:1x2", "--report", self.folder / "none" / "r.html")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--report: cannot write", done.stderr)
