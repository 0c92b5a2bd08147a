"""No sentence of a template or a method note is too long to follow."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.reporting.registry import TABLE_BY_ID

ROOT = Path(__file__).resolve().parents[3]
# Words. Technical manuals are advised to stay below 25; names and numbers count here too.
LONGEST = 30
_NO_PROSE = re.compile(r"\{#.*?#\}|<(script|style|svg|pre|table|code)\b.*?</\1>", re.S)
# Branches are alternatives, and what is included has sentences of its own.
_BREAKING_TAGS = re.compile(r"\{%\s*(?:else|elif|empty|include|block|endblock)\b.*?%\}", re.S)
_INLINE = "a|b|bdi|i|em|strong|span|time|wbr|abbr|sup|sub"
_BLOCKS = re.compile(rf"</?(?!(?:{_INLINE})\b)[a-z][^>]*>", re.S)
_SENTENCE_END = re.compile(r"(?<=[\w)%”’])[.?!]\s+|[¶·]")
_WORD = re.compile(r"[\w’'/.,-]*\w[\w’'/.,-]*")


def sentences_of(template: str) -> Iterator[str]:
    """Yield the sentences of a template; a value counts as one word."""
    text = _NO_PROSE.sub(" ¶ ", template)
    text = _BREAKING_TAGS.sub(" ¶ ", text)
    text = re.sub(r"\{\{.*?\}\}", "X", text, flags=re.S)
    text = re.sub(r"\{%.*?%\}", " ", text, flags=re.S)
    text = re.sub(r"<[^>]*>", " ", _BLOCKS.sub(" ¶ ", text), flags=re.S)
    text = re.sub(r"&#?\w+;", " ", text)
    yield from _SENTENCE_END.split(re.sub(r"\s+(?=[.?!])", "", re.sub(r"\s+", " ", text)))


def count_words(sentence: str) -> int:
    """How many words a sentence has."""
    return len(_WORD.findall(sentence))


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("<p>One two. Three {{ x.y }} five six.</p>", [2, 4]),
        ("<p>One {% if a %}two{% else %}three{% endif %}</p>", [2, 1]),
        ("<p>One <b>two</b> 2.5 km</p><p>three</p>", [4, 1]),
        ("<pre>a b c</pre>One · two", [1, 1]),
    ],
)
def test_it_counts_words_of_sentences(template: str, words: list[int]) -> None:
    assert [n for n in map(count_words, sentences_of(template)) if n] == words


def test_no_sentence_is_too_long() -> None:
    texts = {
        str(path.relative_to(ROOT)): path.read_text()
        for path in sorted((ROOT / "templates").rglob("*.html"))
    } | {f"method note of {key}": table.note for key, table in TABLE_BY_ID.items()}
    assert len(texts) > 100
    long = [
        f"{where}: {n} words: {sentence.strip()}"
        for where, text in texts.items()
        for sentence in sentences_of(text)
        if (n := count_words(sentence)) > LONGEST
    ]
    assert not long, "\n".join(long)
