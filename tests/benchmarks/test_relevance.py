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
    out = tmp_path / "out.json"
    main(["--web", str(tmp_path / "web"), "--topics", str(topics.parent), "--json", str(out)])
    report = json.loads(out.read_text())
    models = report["compost"]
    assert set(models) == {
        "vector",
        "boolean",
        "bm25",
        "context",
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
