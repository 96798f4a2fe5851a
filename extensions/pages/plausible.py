"""Does decoded text read like a language? Tells a right charset from a wrong one that decodes without complaint.

Most legacy encodings accept nearly any bytes, so that they decode means little. A right decoding shows in its letters: Chinese has its
few hundred commonest characters in every sentence, Japanese has kana, and the accents of a Latin text all belong to one language. The lists
are short because only their share counts, against thresholds far from both right and wrong texts (`tests/pages/test_decode.py`).
"""

from __future__ import annotations

import re

# About half of any Chinese text, simplified or traditional; of a wrong decoding, some hundredths.
_HAN = frozenset(
    "的一是不了在人有我他这個个们們中来來上大为為和国國地到以说說时時要就出会會可也你对對生能而子那得于於着著下自之年过過发發后後作里裡用道行"
    "所然家种種事成方多经經么麼去法学學如都同现現当當没沒动動面起看定天分还還进進好小部其些主样樣理心她本前开開但因只从從想实實日军軍者意无無"
    "力它与與长長把机機十民第公此已工使情明性知全三又关關点點正业業外将將两兩高间間由问問很最重并並物手应應战戰向头頭文体體政美相见見被利什二等"
    "产產或新己制身果加西斯月话話合回特代内內信表化老给給世位次度门門任常先海通教儿兒原东東声聲提立及比员員解水名真论論处處走义義各入几幾口认認"
    "条條平系气氣题題活尔爾更别別打女变變四神总總何电電数數安少报報才结結反受目太量再感建务務做接必场場件计計管期市直德资資命山金指克许許统統区"
    "區保至队隊形社便空决決治展马馬科司五基眼书書非则則听聽白却界达達光放强強即像难難且权權思王象完设設式色路记記南品住告类類求据據程北边邊死张"
    "張该該交规規万萬取拉格望觉覺术術领領共确確传傳师師观觀清今切院让讓识識候带帶导導争爭运運函模块塊异異请請网網页頁码碼例字符串值参參返简簡繁"
)
_HANGUL = frozenset("이다는에의을를가은고하지로기도사한자인시아스서나대어리그수들보해것일있전정부")
_KOREAN = {"cp949"}
_CHINESE = {"gb18030", "big5hkscs"}

JAPANESE = ("euc_jp", "cp932")
"""Kana prove a decoding beyond doubt, so these are tried even before what a page declares."""

WIDE = ("gb18030", "big5hkscs", "cp949")
"""Encodings with several bytes a character, in the order in which they are tried where nothing declared fits."""

# For each encoding, the accented letters of the languages that are written in it.
LATIN = {
    "cp1252": (
        "éèàùçâêîôûëïüœ", "äöüßé", "áéíóúñüºª", "áâãàçéêíóôõúºª", "àèéìòùí", "åäöéü", "æøåéö", "áðéíóúýþæö", "éëïóöü", "àçéèíïóòúü·",
    ),
    "cp1250": ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž"),
    "iso8859-2": ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţ", "čćđšž"),
    "cp1254": ("çğıöşüâîû",),
}  # fmt: skip
_NEUTRAL = frozenset("\xa0“”‘’„‚«»‹›–—…•·©®™°§±²³µ×½¼¾€£¡¿´`¨¶†‡‰¢¥¬\xad¹¦¯")
_RUNS = re.compile(r"[^\x00-\x7f]+")


def reads_like_a_language(text: str, codec: str) -> bool:
    """True if text decoded with `codec`, markup left out, reads like a language that is written in that encoding."""
    other = [character for character in text if character > "\x7f" and character != "\ufffd"]
    if not other:
        return True
    if codec in _CHINESE:
        return _reads_like_chinese(other)
    if codec in JAPANESE:
        return sum("\u3041" <= character <= "\u30ff" for character in other) > 0.2 * len(other)
    if codec in _KOREAN:
        hangul = [character for character in other if "\uac00" <= character <= "\ud7a3"]
        return len(hangul) > 0.8 * len(other) and _share(hangul, _HANGUL) > 0.2
    if codec in LATIN:
        # Two bytes in a row that are not ASCII are rare in Latin letters, and the rule in every other script.
        return len(other) < 1.7 * len(_RUNS.findall(text)) and latin_share(text, codec) > 0.5
    # Cyrillic, Greek and the like: words of letters. A wrong decoding has symbols and capitals inside its words.
    letters = sum(map(str.isalpha, other))
    return letters > 0.85 * len(other) and 2 * sum(map(str.isupper, other)) < letters


def _reads_like_chinese(other: list[str]) -> bool:
    letters = [character for character in other if character.isalpha()]
    if not letters:  # a page in English with some Chinese punctuation
        return any("\u3000" <= character <= "\u303f" or character >= "\uff00" for character in other)
    return _share(letters, _HAN) > 0.2


def latin_share(text: str, codec: str) -> float:
    """The share of the non-ASCII letters that the best fitting language of `codec` accounts for, 0 to 1."""
    other = [character for character in text.lower() if character > "\x7f" and character not in _NEUTRAL]
    if not other:
        return 1.0
    return max(_share(other, frozenset(letters)) for letters in LATIN[codec])


def _share(characters: list[str], common: frozenset[str]) -> float:
    return sum(map(common.__contains__, characters)) / len(characters) if characters else 0.0
