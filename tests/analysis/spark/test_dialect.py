"""Statements of the study in Spark's dialect: what sqlglot leaves as DuckDB has it."""

from importlib.util import find_spec

import pytest

from analysis.spark.connection import SparkConnection
from analysis.spark.dialect import translate
from core.errors import MissingData

CODES = {"provider_code": ["aws", "azure"]}


def to_spark(query, *values):
    (found,) = translate(query, values, CODES)
    return found.sql


def test_statements_of_a_script_have_a_kind_and_a_name():
    script = """
    CREATE OR REPLACE TEMP TABLE kept AS FROM given;
    CREATE TEMP VIEW seen AS SELECT a FROM kept;
    DROP TABLE kept; DROP VIEW seen; FROM given
    """
    assert [(s.kind, s.name) for s in translate(script, (), CODES)] == [
        ("table", "kept"),
        ("view", "seen"),
        ("drop", "kept"),
        ("drop", "seen"),
        ("query", ""),
    ]


def test_an_enumeration_is_the_query_of_its_texts():
    query = "CREATE TYPE region_code AS ENUM (SELECT DISTINCT region FROM labels)"
    (found,) = translate(query, (), CODES)
    assert (found.kind, found.name) == ("enum", "region_code")
    assert found.sql == "SELECT DISTINCT region FROM labels"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT CAST(p AS provider_code) FROM t", "SELECT p FROM t"),
        (
            "SELECT TRY_CAST(p AS provider_code) FROM t",
            "SELECT CASE WHEN p IN ('aws', 'azure') THEN p END FROM t",
        ),
        ("SELECT CAST(n AS UINTEGER) FROM t", "SELECT CAST(n AS BIGINT) FROM t"),
        ("SELECT row_number() OVER () FROM t", "SELECT MONOTONICALLY_INCREASING_ID() + 1 FROM t"),
        ("SELECT x[1], x[-2] FROM t", "SELECT TRY_ELEMENT_AT(x, 1), TRY_ELEMENT_AT(x, -2) FROM t"),
        ("SELECT x[-2:] FROM t", "SELECT SLICE(x, GREATEST(-2, -SIZE(x)), SIZE(x)) FROM t"),
        (
            "SELECT x[n - d + 1 : n - s] FROM t",
            "SELECT SLICE(x, GREATEST(n - d + 1, 1), GREATEST(((n - s) - (n - d + 1)) + 1, 0)) "
            "FROM t",
        ),
        (
            "WITH a AS MATERIALIZED (SELECT 1) FROM a SEMI JOIN b USING (n)",
            "WITH a AS (SELECT 1) SELECT * FROM a SEMI JOIN b USING (n)",
        ),
        (
            "SELECT list_position(['a'], x) FROM t",
            "SELECT ARRAY_POSITION(ARRAY('a'), x) FROM t",
        ),
        (
            "SELECT CASE WHEN x[-1] = 'a' THEN CAST(y[2] AS UTINYINT) END FROM t",
            "SELECT CASE WHEN TRY_ELEMENT_AT(x, -1) = 'a' THEN CAST(TRY_ELEMENT_AT(y, 2) AS "
            "BIGINT) END FROM t",
        ),
    ],
)
def test_what_spark_has_in_another_form(query, expected):
    assert to_spark(query) == expected


def test_values_replace_their_marks_and_are_quoted():
    assert to_spark("SELECT a FROM t WHERE b = ? AND c = ?", "it's", 3) == (
        "SELECT a FROM t WHERE b = 'it\\'s' AND c = 3"
    )


def test_a_numbering_with_an_order_keeps_it():
    assert "ORDER BY t NULLS LAST" in to_spark("SELECT row_number() OVER (ORDER BY t) FROM x")


@pytest.mark.skipif(find_spec("pyspark") is not None, reason="Spark is installed")
def test_the_error_without_spark_has_the_command_that_installs_it(tmp_path):
    with pytest.raises(MissingData, match="requirements/spark.txt"):
        SparkConnection("local[1]", tmp_path, 512)
