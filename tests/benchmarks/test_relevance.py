"""The relevance benchmark on a small web, and its figures against a hand-made reading."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.logistic import TfidfClassifier
from tests.benchmarks.relevance import calibration_error, figures, main

FIGURES = {"precision", "recall", "f1", "average_precision"}


def test_figures_of_a_worked_ranking():
    # Ranks: right, wrong (standing for 2), right. Chosen: the first two.
    got = figures([True, False, True], [0.9, 0.8, 0.1], [True, True, False], [1.0, 2.0, 1.0])
    assert got["precision"] == pytest.approx(1 / 3)
    assert got["recall"] == pytest.approx(1 / 2)
    assert got["f1"] == pytest.approx(2 / 5)
    assert got["average_precision"] == pytest.approx((1 + 2 / 4) / 2)


def test_pages_that_tie_share_a_rank_whatever_their_order():
    for truth in ([True, False], [False, True]):
        assert figures(truth, [1.0, 1.0], [True, True], [1.0, 1.0])["average_precision"] == pytest.approx(1 / 2)


def test_probabilities_that_are_shares_have_no_calibration_error():
    assert calibration_error([True, False, False, False], [0.25] * 4) == pytest.approx(0.0)
    assert calibration_error([True, True], [0.25, 0.95]) == pytest.approx((0.75 + 0.05) / 2)


def test_the_reference_learns_what_labels_have_in_common():
    documents = [{"common": 1, "cat" if number % 2 else "dog": 1, f"only{number}": 1} for number in range(40)]
    classifier = TfidfClassifier()
    classifier.fit(documents, [number % 2 == 1 for number in range(40)])
    assert classifier.logit({"common": 1, "cat": 1}) > 0 > classifier.logit({"common": 1, "dog": 1})


def test_a_small_web_is_measured_and_the_report_written(tmp_path):
    labels = []
    for server in range(8):
        folder = tmp_path / "web" / f"h{server}.test"
        folder.mkdir(parents=True)
        for number in range(12):
            about = "compost heaps and their worms" if number % 3 == 0 else "the moon and its craters"
            (folder / f"{number}.html").write_text(f"<title>On {about}</title><p>A page on {about}, number {number}.")
            if number % 3 == 0:
                labels.append(f"http://h{server}.test/{number}.html")
    topics = tmp_path / "topics" / "compost"
    topics.mkdir(parents=True)
    (topics / "topic.txt").write_text("compost, worms\n")
    (topics / "relevant.txt").write_text("\n".join(labels))
    (topics / "seeds-near.txt").write_text(f"{labels[0]}\nhttp://elsewhere.test/\n")
    out = tmp_path / "out.json"
    main(["--web", str(tmp_path / "web"), "--topics", str(topics.parent), "--json", str(out)])
    report = json.loads(out.read_text())
    models = report["compost"]
    assert set(models) == {
        "vector",
        "boolean",
        "bm25",
        "context",
        "context+seeds",
        "examples",
        "context+examples",
        "trained",
        "trained_elsewhere",
    }
    assert all(set(got) >= FIGURES for got in models.values())
    assert models["bm25"]["f1"] == 1.0
    assert models["trained_elsewhere"]["average_precision"] > 0.99
    alone = main(["--web", str(tmp_path / "web"), "--labels", str(topics / "relevant.txt"), "--models", "bm25"])
    assert set(alone) == {"bm25"}
    assert alone["bm25"]["f1"] == models["bm25"]["f1"]
    assert report["mean"]["bm25"]["f1"] == models["bm25"]["f1"]


def test_seeds_teach_their_words_and_are_not_measured(tmp_path):
    dull = "Some sentences about nothing in particular fill up the page and leave the reader as wise as before. "
    site = {
        "seed": f"<title>Compost and worms</title><p>{'Compost is made by worms, with Vermiculite and Eisenia. ' * 5}",
        "kin": f"<title>Eisenia</title><p>{dull * 2}{'Vermiculite is for Eisenia. ' * 3}",
        **{f"dull{number}": f"<title>Appendix {number}</title><p>{dull * 5}" for number in range(20)},
    }
    for name, html in site.items():
        path = tmp_path / "web" / ("kin.test" if name == "kin" else "h.test") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html)
    labels, seeds = tmp_path / "relevant.txt", tmp_path / "seeds.txt"
    labels.write_text("http://h.test/seed\nhttp://kin.test/kin\n")
    seeds.write_text("http://h.test/seed\n")
    given = ["--web", str(tmp_path / "web"), "--labels", str(labels), "--topic", "compost, worms"]
    given += ["--models", "bm25", "context", "context+seeds"]
    without, seeded = main(given), main([*given, "--seeds", str(seeds)])
    assert set(without) == {"bm25", "context"}
    assert set(seeded) == {"bm25", "context", "context+seeds"}
    assert [report["bm25"]["recall"] for report in (without, seeded)] == [0.5, 0.0], "without the seed, and with it"
    assert seeded["context"]["average_precision"] < seeded["context+seeds"]["average_precision"] == 1.0
