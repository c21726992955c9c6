"""The guarantees, each as a question to the evidence whose every answer is a violation.

A query yields an intent id and a sentence for each violation, and may use `:now_ms`,
`:tolerance_ms`, `:settled`, `:has_approvals` and `:has_ledger`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from beam_agents.effector.auditing.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Terms:
    """How to judge.

    Attributes:
        now_ms: An intent whose deadline is ahead of this may still be open.
        tolerance_ms: How far the clocks of workers may be apart.
        settled: Nothing is open any more: whatever has no answer is lost.
        given: What there was to read, such as `approvals`, `registry`, `ledger`.
    """

    now_ms: int
    tolerance_ms: int = 5_000
    settled: bool = False
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Violation:
    """A guarantee that was not kept, and where one sees it."""

    intent_id: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Check:
    """One guarantee.

    Attributes:
        name: Names it in reports.
        promise: What holds where there is no violation.
        query: Finds the violations.
        needs: What must be given to judge it.
    """

    name: str
    promise: str
    query: str
    needs: frozenset[str] = frozenset()

    def missing(self, terms: Terms) -> list[str]:
        """Name what is needed and was not given."""
        return sorted(self.needs - terms.given)

    def violations(self, evidence: Evidence, terms: Terms) -> Iterator[Violation]:
        """Yield what the evidence shows."""
        rows = evidence.ask(
            self.query,
            now_ms=terms.now_ms,
            tolerance_ms=terms.tolerance_ms,
            settled=terms.settled,
            has_approvals="approvals" in terms.given,
            has_ledger="ledger" in terms.given,
        )
        for intent_id, sentence in rows:
            yield Violation(str(intent_id), str(sentence))


_ANSWERS = "r.id = i.id AND r.fingerprint IN (i.fingerprint, x'')"
# An intent whose tool was called, as far as results say, or a ledger.
_RAN = f"""(EXISTS (SELECT 1 FROM results r WHERE {_ANSWERS} AND r.status IN ('OK', 'ERROR'))
    OR EXISTS (SELECT 1 FROM invocations v WHERE v.id = i.id))"""  # noqa: S608
# Each intent at the place where it was first written, with the earliest sign of its start
# and the latest of its end: by the ledger's order if there is one, else by the clock.
_COURSES = """
    WITH written AS (
        SELECT id, key, min(number) AS number, place, min(may_overlap) AS may_overlap
        FROM intents WHERE NOT approval_request GROUP BY id
    ), courses AS (
        SELECT w.*, v.began, v.began AS ended FROM written w
        JOIN (SELECT id, min(number) AS began FROM invocations GROUP BY id) v USING (id)
        WHERE :has_ledger
        UNION ALL
        SELECT w.*, r.began + :tolerance_ms, r.ended FROM written w
        JOIN (SELECT id, min(started_at_ms) AS began, max(completed_at_ms) AS ended FROM results
              WHERE status IN ('OK', 'ERROR') AND started_at_ms > 0 GROUP BY id) r USING (id)
        WHERE NOT :has_ledger
    )"""

NOTHING_LOST = Check(
    "lost",
    "every intent has its answer, or is among the dead letters",
    f"""
    SELECT i.id, 'written at ' || i.place || ', and neither answered nor put aside'
    FROM intents i
    WHERE NOT EXISTS (SELECT 1 FROM results r WHERE {_ANSWERS})
      AND NOT EXISTS (SELECT 1 FROM dead_letters d WHERE d.place = i.place)
      AND NOT (i.approval_request AND (
          NOT :has_approvals OR EXISTS (SELECT 1 FROM requests q WHERE q.id = i.id)))
      AND (:settled OR i.expires_at_ms + :tolerance_ms < :now_ms)
    GROUP BY i.id, i.fingerprint
    UNION ALL
    SELECT '', 'the record at ' || u.place || ' is no intent (' || u.reason
        || '), and was not put aside'
    FROM unreadable u
    WHERE NOT EXISTS (SELECT 1 FROM dead_letters d WHERE d.place = u.place)
    """,  # noqa: S608
    frozenset({"dead letters"}),
)

ONE_RESULT = Check(
    "agreed",
    "each intent has one agreed result",
    """
    SELECT id, 'has several results: ' || group_concat(shown, '; ') FROM (
        SELECT id, fingerprint, meaning, status || ' ' || outcome || ' of attempt ' || attempt
            || ' at ' || min(place) AS shown
        FROM results WHERE NOT (status = 'EXPIRED' AND outcome = 'UNKNOWN')
        GROUP BY id, fingerprint, meaning)
    GROUP BY id, fingerprint HAVING count(*) > 1
    """,
)

IDENTICAL_COPIES = Check(
    "copies",
    "all copies of a result are the same bytes",
    """
    SELECT id, 'has copies that differ: at ' || group_concat(place, ', ') FROM (
        SELECT id, fingerprint, meaning, bytes, min(place) AS place
        FROM results GROUP BY id, fingerprint, meaning, bytes)
    GROUP BY id, fingerprint, meaning HAVING count(*) > 1
    """,
)

NO_STRANGERS = Check(
    "foreign",
    "every result answers an intent of its key",
    """
    SELECT r.id, 'the result at ' || r.place || ' answers no intent of its key and fingerprint'
    FROM results r
    WHERE NOT EXISTS (SELECT 1 FROM intents i WHERE r.id = i.id AND r.key = i.key
                      AND r.fingerprint IN (i.fingerprint, x''))
    """,
)

IN_ORDER = Check(
    "order",
    "the tools of a key started in the order of their intents",
    f"""{_COURSES}
    SELECT id, 'written at ' || place || ', and started before an earlier intent of its key ended'
    FROM (SELECT id, place, began, CASE may_overlap
              WHEN 1 THEN max(iif(may_overlap, NULL, ended)) OVER earlier
              ELSE max(ended) OVER earlier END AS latest
          FROM courses WINDOW earlier AS (
              PARTITION BY key ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
    WHERE began < latest
    """,  # noqa: S608
)

IN_TIME = Check(
    "deadline",
    "no tool started after the deadline of its intent",
    f"""
    SELECT i.id, 'its deadline was ' || max(i.expires_at_ms) || ', and the result at ' || r.place
        || ' says that its tool started at ' || r.started_at_ms
    FROM intents i JOIN results r ON {_ANSWERS} AND r.status IN ('OK', 'ERROR')
    GROUP BY i.id, r.place HAVING r.started_at_ms - :tolerance_ms >= max(i.expires_at_ms)
    UNION ALL
    SELECT i.id, 'its deadline was ' || max(i.expires_at_ms) || ', and ' || v.place
        || ' says that its tool was entered at ' || v.at_ms
    FROM intents i JOIN invocations v USING (id)
    GROUP BY i.id, v.number HAVING v.at_ms - :tolerance_ms >= max(i.expires_at_ms)
    """,  # noqa: S608
)

APPROVED = Check(
    "approved",
    "what requires an approval ran with a grant for exactly that, and once",
    f"""
    SELECT i.id, 'ran, although ' || i.grant_problem || ' (' || i.place || ')' FROM intents i
    WHERE i.grant_problem IS NOT NULL AND {_RAN} GROUP BY i.id, i.fingerprint
    UNION ALL
    SELECT i.id, 'started at ' || r.started_at_ms || ', after its approval had expired at '
        || i.grant_expires_at_ms || ' (' || r.place || ')'
    FROM intents i JOIN results r ON {_ANSWERS} AND r.status IN ('OK', 'ERROR')
    WHERE r.started_at_ms - :tolerance_ms >= i.grant_expires_at_ms GROUP BY i.id, i.fingerprint
    UNION ALL
    SELECT min(i.id), 'the approval ' || i.grant_id || ' was used by several intents: '
        || group_concat(DISTINCT i.id)
    FROM intents i WHERE i.grant_id <> '' AND {_RAN}
    GROUP BY i.grant_id HAVING count(DISTINCT i.id) > 1
    """,  # noqa: S608
    frozenset({"registry"}),
)

INVOKED_FOR_A_REASON = Check(
    "invocations",
    "the ledger and the results tell one story",
    f"""
    SELECT id, place || ': invoked for an intent that was never written' FROM invocations
    WHERE id NOT IN (SELECT id FROM intents)
    UNION ALL
    SELECT id, 'attempt ' || attempt || ' entered its tool more than once: '
        || group_concat(place, ', ')
    FROM invocations GROUP BY id, attempt HAVING count(*) > 1
    UNION ALL
    SELECT v.id, v.place || ': invoked, though the result at ' || r.place || ' says ' || r.status
        || ' and NOT_APPLIED'
    FROM invocations v JOIN results r USING (id)
    WHERE r.status IN ('REJECTED', 'EXPIRED') AND r.outcome = 'NOT_APPLIED'
    UNION ALL
    SELECT i.id, 'the result at ' || r.place || ' says OK, and the ledger has no call of it'
    FROM intents i JOIN results r ON {_ANSWERS} AND r.status = 'OK'
    WHERE i.id NOT IN (SELECT id FROM invocations)
      AND i.tool IN (SELECT k.tool FROM intents k JOIN invocations v USING (id))
    GROUP BY i.id
    """,  # noqa: S608
    frozenset({"ledger"}),
)

REPEATS_EXPLAINED = Check(
    "repeats",
    "whatever ran again had lost its worker",
    """
    SELECT later.id, later.place || ': invoked again, though nothing had happened to worker '''
        || before.worker || ''' since ' || before.place
    FROM invocations later JOIN invocations before ON before.id = later.id
    WHERE before.number = (SELECT max(p.number) FROM invocations p
                           WHERE p.id = later.id AND p.number < later.number)
      AND NOT EXISTS (
        SELECT 1 FROM faults f WHERE f.worker = before.worker
        AND f.from_ms <= later.at_ms AND f.to_ms + :tolerance_ms >= before.at_ms)
    """,
    frozenset({"ledger", "faults"}),
)

CHECKS = (
    NOTHING_LOST,
    ONE_RESULT,
    IDENTICAL_COPIES,
    NO_STRANGERS,
    IN_ORDER,
    IN_TIME,
    APPROVED,
    INVOKED_FOR_A_REASON,
    REPEATS_EXPLAINED,
)
