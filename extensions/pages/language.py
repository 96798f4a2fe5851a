"""The language of a page as a two-letter code: what it says of itself, if its script agrees; otherwise what its words say.

Templates say `lang="en"` on Chinese pages all the time, so the script of the text has the last word. English and Chinese are
told apart with certainty; other languages by their script, or by their commonest words.
"""

from __future__ import annotations

import re

SAMPLE = 2_000
"""Characters of text that are looked at."""

_LETTERS = 0.2
"""Share of the letters from which on a script decides: a Chinese page about software is half English."""

_SCRIPTS = (
    ("ja", re.compile("[\u3041-\u30ff]")),  # before Chinese: Japanese has both kana and Han
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    ("ko", re.compile("[\u1100-\u11ff\uac00-\ud7a3]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
_SAME_SCRIPT = {
    "zh": {"zh", "yue"},
    "ru": {"ru", "uk", "bg", "sr", "mk", "be", "kk", "ky", "mn", "tg"},
    "ar": {"ar", "fa", "ur", "ps", "ug", "ckb"},
    "he": {"he", "yi"},
    "hi": {"hi", "mr", "ne", "sa"},
}
_OTHER_SCRIPT = {code for script, _ in _SCRIPTS for code in _SAME_SCRIPT.get(script, {script})}

_WORDS = {
    "en": "the and of to is in for that this with are be on as by it from you or not can an",
    "de": "der die und das ist nicht mit ein eine für von auf den dem zu sich im auch werden als",
    "fr": "le la les des est et une dans pour que qui sur pas par avec vous du au nous sont",
    "es": "el los las que una por para con del se es como más su esta pero son hay este al",
    "it": "il che di per una sono con non della gli del nel questo più anche come alla è ha dei",
    "pt": "que não uma para com os do da em mais como por foi ao são dos das seu pelo você",
    "nl": "het een van en niet dat zijn voor met op aan deze ook wordt als bij naar worden ik je",
    "pl": "nie jest się na że jak dla przez do być oraz może które tego są tak od czy lub ale",
    "sv": "och att det som är en på för med av inte till den har kan ett om från du eller",
}
_STOP_WORDS = {code: frozenset(words.split()) for code, words in _WORDS.items()}
_ANY_STOP_WORD = frozenset().union(*_STOP_WORDS.values())
_WORD = re.compile(r"[^\W\d_]+")


def language(declared: str | None, text: str) -> str:
    """The page's language, for example "en" or "zh"; "" if nothing tells. `declared` is its lang attribute."""
    code = (declared or "").strip().lower().replace("_", "-").partition("-")[0]
    if not (2 <= len(code) <= 3 and code.isascii() and code.isalpha()):
        code = ""
    sample = text[:SAMPLE]
    script = _script(sample)
    if script:
        return code if code in _SAME_SCRIPT.get(script, {script}) else script
    if code and code not in _OTHER_SCRIPT:
        return code
    return _by_words(sample) or ("" if sample else code)


def _script(sample: str) -> str:
    """The first script, of those that tell a language, with a good share of the letters; "" for Latin ones."""
    other = len(sample) - len(sample.encode("ascii", "ignore"))
    if other < _LETTERS / 4 * len(
        sample
    ):  # saves counting the letters of most pages, which are more than a quarter of a text
        return ""
    least = _LETTERS * sum(map(str.isalpha, sample))
    for code, pattern in _SCRIPTS:
        # A few kana make no Japanese page, but a tenth of what else would be Chinese does.
        if len(pattern.findall(sample)) > (least / 2 if code == "ja" else least):
            return code
    return ""


def _by_words(sample: str) -> str:
    """The language with most of its stop words in the sample, if they are a fair part of it."""
    words = _WORD.findall(sample.lower())
    known = [word for word in words if word in _ANY_STOP_WORD]
    counts = {code: sum(map(stop.__contains__, known)) for code, stop in _STOP_WORDS.items()}
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] >= max(2, 0.05 * len(words)) else ""
