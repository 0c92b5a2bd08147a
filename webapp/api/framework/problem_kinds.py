"""Types of problems: statuses, meaning, and what to do; each has a page below ``/problems``."""

from typing import NamedTuple


class ProblemKind(NamedTuple):
    """One type of problem; trying the same again may help if it is retryable."""

    statuses: tuple[int, ...]
    meaning: str
    remedy: str
    is_retryable: bool = False
    # Fields and details of some such problems; the field is empty where the whole body is meant.
    examples: tuple[tuple[str, str], ...] = ()


_LATER = "Wait as long as Retry-After says, and send the same request again."
_ONE_FEWER = "Wait until one has ended, or cancel one, and send the request again."

KINDS = {
    "active-surveys": ProblemKind(
        (429,), "Too many surveys wait or run, of you or of all; see /limits.", _ONE_FEWER, True
    ),
    "bad-input": ProblemKind(
        (422,),
        "The request is as its schema says, and a rule that no schema states refuses it: a name "
        "that is not here, one field against another, or the contents of a list or file.",
        "Correct the line or field that the problem names.",
        examples=(
            ("", "the list holds no usable domain; line 1: 'localhost' has no dot"),
            ("low", "low: choose 0 <= LOW < HIGH <= 100,000"),
            ("schedule", "schedule: you have no schedule 'monday'"),
            ("vantages", "vantages: there is no vantage point 'vp-north'; see vantage list"),
            ("k", "k: 1..4 is not from 1 to 3, the number of regions"),
            ("", "unknown log: expected an agent's report, an HdrHistogram log or a CSV"),
        ),
    ),
    "bad-report": ProblemKind(
        (422,),
        "A report of an agent is not as its schema says.",
        "Compare it with /api/v1/screening/schema; `field` names the place.",
    ),
    "bad-request": ProblemKind(
        (400,), "The request cannot be read at all.", "Send a well-formed HTTP request."
    ),
    "beacon-reports": ProblemKind(
        (429,), "A beacon has the reports of this day, or of this address.", _LATER, True
    ),
    "busy": ProblemKind((503,), "More is being sent at once than the site takes.", _LATER, True),
    "client-gone": ProblemKind(
        (503,), "The client had left before the answer was there.", "Send the request again.", True
    ),
    "conflict": ProblemKind(
        (409,),
        "The request is correct, and the present state does not allow it: an account has as many "
        "of these objects as it may, or the same is stored already.",
        "Do as the detail says, such as deleting one first, and send the request again.",
        examples=(
            ("", "an account has at most 50 schedules; delete one first"),
            ("name", "name: there is a vantage point 'vp-north' already"),
        ),
    ),
    "content-type": ProblemKind(
        (415,), "This address takes another kind of content.", "Send application/json."
    ),
    "csrf": ProblemKind(
        (403,),
        "A session without X-CSRFToken, or the page of another site, asked for a change.",
        "Send the header X-CSRFToken with the cookie's value, or use a token.",
    ),
    "encoding": ProblemKind(
        (415,), "Reports are sent without Content-Encoding.", "Send the report uncompressed."
    ),
    "foreign-pool": ProblemKind(
        (403,), "The token is one of another pool.", "Use a token of the pool in the address."
    ),
    "idempotency-key-reused": ProblemKind(
        (422,),
        "The Idempotency-Key was sent with another request before.",
        "Use a new key for each new request.",
    ),
    "internal": ProblemKind(
        (500,),
        "A fault of this site; its log says what happened.",
        "Tell the operator the time of the request.",
    ),
    "invalid-field": ProblemKind(
        (422,),
        "A field or parameter is not as the schema says: unknown, missing or of the wrong kind.",
        "Correct the field that `field` names.",
    ),
    "list-changed": ProblemKind(
        (409,), "The row of the cursor is gone.", "Read the list from its beginning."
    ),
    "lists": ProblemKind(
        (429,), "Another large list is being read; one is read at a time.", _LATER, True
    ),
    "missing-data": ProblemKind(
        (409,),
        "Something has to be imported first.",
        "Ask the operator to run the command that the detail names.",
    ),
    "no-token": ProblemKind(
        (401,),
        "A report needs the token of its pool.",
        "Send the token as Authorization: Bearer TOKEN.",
    ),
    "limited-token": ProblemKind(
        (403,), "The token is limited to other subjects.", "Use a token for this subject."
    ),
    "not-found": ProblemKind(
        (404,),
        "There is nothing at this address, or nothing that you may see.",
        "Check the address; send the token of the account that owns it.",
    ),
    "open-audits": ProblemKind(
        (429,), "Too many audits wait or run, of you or of all.", _ONE_FEWER, True
    ),
    "open-recommendations": ProblemKind(
        (429,), "Too many recommendations wait or run.", _ONE_FEWER, True
    ),
    "open-simulations": ProblemKind((429,), "Too many simulations wait or run.", _ONE_FEWER, True),
    "pool-full": ProblemKind(
        (403,),
        "The pool has as many reports as it may.",
        "Delete machines of the pool, or make another pool.",
    ),
    "read-only-token": ProblemKind(
        (403,), "The token may read and no more.", "Use a token that may write."
    ),
    "refused": ProblemKind(
        (400, 401, 403, 405, 409),
        "The request is refused for the reason in the detail.",
        "Do as the detail says.",
    ),
    "report-id-reused": ProblemKind(
        (409,), "Another report has this id.", "Send each report under an id that is new."
    ),
    "storage": ProblemKind(
        (500, 503),
        "The disk or the database failed, or a stored file is damaged.",
        "With 503 try again later; with 500 the operator restores the file that is named.",
        True,
    ),
    "streams": ProblemKind(
        (429,),
        "This address holds as many event streams open as one may.",
        "Close a stream, or poll with If-None-Match.",
        True,
    ),
    "too-large": ProblemKind(
        (413,), "The body is larger than this address takes.", "Send a smaller body."
    ),
    "too-slow": ProblemKind(
        (408,), "The body took too long to come.", "Send it over a faster connection.", True
    ),
    "unavailable": ProblemKind(
        (503,), "A part of this site, or a server that it asks, does not answer.", _LATER, True
    ),
    "unknown-token": ProblemKind(
        (401, 403),
        "The token is unknown, has expired or was revoked.",
        "Make a new token on the page of the account.",
    ),
    "unknown-vantage-point": ProblemKind(
        (401,),
        "No vantage point has this name and password.",
        "Join again with a new one-time token.",
    ),
}
