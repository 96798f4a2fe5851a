"""Bytes become the right text whatever is declared: on made texts, and on files of known encoding where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.pages import decode

SHARED = Path(os.environ.get("TOPICSPIDER_SHARED", Path(__file__).parents[3] / "shared"))
CHINESE = "这个函数返回一个新的对象，如果没有参数，就会使用默认的值。我们可以在模块里定义自己的类型。" * 3
TRADITIONAL = "這個函數會傳回一個新的物件，如果沒有參數，就會使用預設的值。我們可以在這裡定義自己的類型。" * 3
RUSSIAN = "Эта функция возвращает новый объект, если параметры не заданы, и использует значение по умолчанию. " * 3
JAPANESE = "この関数は新しいオブジェクトを返します。引数がないときは、既定の値を使います。" * 3


@pytest.mark.parametrize("label", [None, "utf-8", "gbk", "big5", "iso-8859-1", "shift_jis", "windows-1251", "no-such"])
@pytest.mark.parametrize(
    ("text", "encoding"),
    [(CHINESE, "utf-8"), (CHINESE, "gb18030"), (TRADITIONAL, "big5"), (TRADITIONAL, "utf-8"), (JAPANESE, "euc_jp"),
     (JAPANESE, "shift_jis"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8_r"), ("Größe, Maß und Länge der Straße. " * 5, "cp1252")],
    ids=["zh utf-8", "zh gb18030", "zh big5", "zh-tw utf-8", "ja euc", "ja sjis", "ru 1251", "ru koi8", "de 1252"],
)  # fmt: skip
def test_no_label_right_or_wrong_spoils_a_text(text: str, encoding: str, label: str | None) -> None:
    assert decode(f"<title>x</title><p>{text}".encode(encoding), label)[0].endswith(text)


def test_the_page_s_own_label_counts_where_the_header_has_none() -> None:
    body = b"<meta charset='iso-2022-jp'>" + JAPANESE.encode("iso2022_jp")
    assert decode(body)[0].endswith(JAPANESE)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_beats_every_label(encoding: str) -> None:
    assert decode(CHINESE.encode(encoding), "gbk")[0] == CHINESE


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_shows_in_its_zeros(encoding: str) -> None:
    text = f"<html><head><title>A title in ASCII letters</title></head><body>{CHINESE}"
    assert decode(text.encode(encoding)) == (text, encoding)


def test_one_stray_byte_does_not_undo_utf_8() -> None:
    text, encoding = decode(CHINESE.encode() + b"\xe9" + CHINESE.encode(), "gbk")
    assert (text, encoding) == (f"{CHINESE}\ufffd{CHINESE}", "utf-8")


def test_curly_quotes_of_windows_are_read_under_the_label_of_latin_1() -> None:
    assert decode(b"\x93quoted\x94 \x96 and so on", "iso-8859-1") == ("“quoted” – and so on", "cp1252")


@given(st.binary(max_size=300), st.text(max_size=20) | st.none())
def test_any_bytes_under_any_label_make_text(body: bytes, label: str | None) -> None:
    text, encoding = decode(body, label)
    assert isinstance(text, str)
    b"".decode(encoding)


@given(st.text(max_size=300).filter(lambda text: "\x00" not in text and "\x1b" not in text and "~{" not in text))
def test_valid_utf_8_stays_what_it_is(text: str) -> None:
    assert decode(text.encode(), "gbk")[0] == text.removeprefix("\ufeff")


VECTORS = {
    "Big5": "big5hkscs", "GB2312": "gb18030", "EUC-JP": "euc_jp", "EUC-KR": "cp949", "KOI8-R": "koi8_r", "utf-8": "utf-8",
    "windows-1251-russian": "cp1251", "windows-1252": "cp1252", "iso-8859-1": "cp1252", "windows-1255-hebrew": "cp1255",
    "iso-8859-7-greek": "iso8859_7", "CP932": "cp932", "SHIFT_JIS": "cp932", "windows-1250-polish": "cp1250",
}  # fmt: skip


@pytest.mark.parametrize("folder", VECTORS)
def test_files_of_known_encoding_are_read_without_a_label(folder: str) -> None:
    files = sorted((SHARED / "vectors/charset" / folder).glob("*"))
    if not files:
        pytest.skip("no charset vectors in TOPICSPIDER_SHARED")
    bodies = [file.read_bytes().replace(b"encoding=", b"_=") for file in files]
    wrong = [body for body in bodies if decode(body)[0] != body.decode(VECTORS[folder], "replace")]
    assert len(wrong) <= 0.2 * len(bodies), f"{len(wrong)} of {len(bodies)} differ"
