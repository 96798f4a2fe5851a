"""The model `examples`: pages that a person called relevant or not correct what the topic's words say."""

from __future__ import annotations

import pytest

from extensions.errors import ConfigurationError
from extensions.scoring import CoverageModel, Example, Examples, ExamplesModel, Topic, make_model

TOPIC = Topic.parse("jaguar")
CATS = ["The jaguar hunts at night in the forest.", "A cub stays with its mother; prey is caught near rivers."]
CARS = ["The jaguar has a new engine and gearbox.", "The dealer sells a saloon with leather seats and six cylinders."]
PAGES = tuple(
    Example(f"Page {number}", f"{text} Number {number}.", relevant)
    for relevant, texts in ((True, CATS), (False, CARS))
    for number in range(5)
    for text in texts
)


def test_examples_tell_two_meanings_of_a_word_apart_and_find_pages_without_it():
    model = ExamplesModel(TOPIC, Examples(PAGES))
    cat, car = (
        ("Jaguar", "A jaguar with its cub near rivers in the forest"),
        ("Jaguar", "A jaguar saloon with a six cylinders engine"),
    )
    assert model.score(*cat).on_topic
    assert not model.score(*car).on_topic
    assert CoverageModel(TOPIC).score(*car).on_topic, "which is what had to be corrected"
    assert model.score("Night", "The cub and its mother caught prey in the forest").on_topic


def test_without_examples_met_the_topics_words_decide():
    model = ExamplesModel(TOPIC, Examples(urls={"a.test/x": True}))
    page = ("Jaguar", "The jaguar hunts")
    assert model.score(*page).on_topic
    assert not model.score("Moon", "nothing else").on_topic


def test_a_url_among_the_examples_teaches_once_when_the_crawl_meets_it():
    model = ExamplesModel(TOPIC, Examples(urls={"a.test/car": False}))
    page = ("Jaguar", "A jaguar saloon with a gearbox")
    before = model.score(*page).relevance
    model.meet("http://a.test/moon", *page)
    assert model.score(*page).relevance == before
    model.meet("https://a.test/car/#top", *page)
    after = model.score(*page).relevance
    assert after < before
    model.meet("https://a.test/car", *page)
    assert model.score(*page).relevance == after


def test_training_is_the_same_every_time():
    one, other = (ExamplesModel(TOPIC, Examples(PAGES)) for _ in range(2))
    assert one.score("Jaguar", CARS[0]) == other.score("Jaguar", CARS[0])


def test_a_file_names_pages_and_urls(tmp_path):
    (tmp_path / "cat.html").write_text("<title>Cats</title><body>The jaguar hunts", "utf-8")
    (tmp_path / "car.txt").write_text("Cars\nThe jaguar drives", "utf-8")
    file = tmp_path / "examples.txt"
    file.write_text("\ufeff# cats\n+ cat.html\n- car.txt\n\n+ https://a.test/x#y\n", "utf-8")
    examples = Examples.load(file)
    assert [(page.title, page.relevant) for page in examples.pages] == [("Cats", True), ("Cars", False)]
    assert examples.urls == {"a.test/x": True}


@pytest.mark.parametrize(
    ("lines", "says"), [("cat.html\n", "Line 1 .*write"), ("#\n+\n", "Line 2"), ("+ nothing.html\n", "cannot be read")]
)
def test_a_file_of_examples_that_cannot_be_used_says_what_to_write(tmp_path, lines, says):
    file = tmp_path / "examples.txt"
    file.write_text(lines, "utf-8")
    with pytest.raises(ConfigurationError, match=says):
        Examples.load(file)


def test_the_model_without_any_examples_names_the_setting():
    with pytest.raises(ConfigurationError, match="TOPIC_EXAMPLES"):
        make_model("examples", TOPIC)
