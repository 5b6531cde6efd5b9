"""Texts of a failure and facts of the device -> its cause, by the rules of rules/."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.triage.cause import Action, Category, Cause, Confidence
from pytest_gpumatrix.triage.demand import demand_of, demand_of_specifier, stated_capability
from pytest_gpumatrix.triage.facts import DeviceFacts
from pytest_gpumatrix.triage.failure_text import FailureText, Source, exception_texts, is_assertion
from pytest_gpumatrix.triage.log import parted, read_log
from pytest_gpumatrix.triage.plain_text import bounded, searchable
from pytest_gpumatrix.triage.rules import Case, Rule, lines_around, load_rules
from pytest_gpumatrix.triage.situation import Situation

__all__ = ["DeviceFacts", "FailureText", "Source", "classify", "classify_log", "exception_texts"]

_EVIDENCE_LENGTH = 300  # characters of the deciding line that are kept
_WHOLE_LENGTH = 60_000  # characters of all texts together that a rule's cases search, from each end
# What a demand is compared with: the other categories' texts name architectures for other reasons.
_DEMANDING = frozenset({Category.ARCH_GATE, Category.ARCH_FEATURE})
_PASSED = {"passed", "pass", "ok", "success", "succeeded"}
_GENUINE = Cause(
    category=Category.GENUINE_FAILURE,
    action=Action.REAL_FAILURE,
    advice="No hardware cause is proven: read it as a bug.",
    rule="default",
)
_DIED = Cause(
    category=Category.UNKNOWN,
    action=Action.REAL_FAILURE,
    advice="The process died without a word: run the test alone, with CUDA_LAUNCH_BLOCKING=1 and faulthandler on.",
    rule="died",
    confidence=Confidence.LOW,
)
_NOTHING = Cause(
    category=Category.UNKNOWN,
    action=Action.REAL_FAILURE,
    advice="There is no text: give the traceback, or the output of the process.",
    rule="no-text",
    confidence=Confidence.LOW,
)
_CASCADE = (
    "An earlier test of this process broke the CUDA context: find the first failure, and run this one again in a new "
    "process."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Hit:
    """A rule that matched a text."""

    rule: Rule
    answer: Case
    evidence: str  # the line that decided, as it stands in the text
    line: str  # the lines that the match lies in, as they are searched
    place: int  # the first of them, counted from 0
    source: Source

    @property
    def hardware(self) -> bool:
        return self.answer.category is not Category.GENUINE_FAILURE


def classify(texts: Iterable[FailureText], facts: DeviceFacts | None = None) -> Cause:
    """The cause of one failure.

    ``texts`` are its exceptions, innermost first, then captured standard error, then logs. The first exception that a
    rule of the hardware matches decides; then what a rule of ordinary bugs matches; then the first fatal line of the
    output; warnings only where there is nothing else. No match is a genuine failure. Facts make of one sentence what
    it means on this device: see ``DeviceFacts``.
    """
    facts = facts or DeviceFacts()
    parts = [part for text in texts for part in parted(text)]
    hit = _decide(parts, facts)
    if hit is not None:
        cause = _cause(hit, parts, facts)
    else:
        cause = _DIED if facts.died else _GENUINE
    if facts.outcome.strip().lower() in _PASSED:
        return replace(cause, action=Action.NO_REPORT, advice="The test passed: nothing is to be done.")
    if facts.earlier_sticky:
        note = f"its own text reads as {cause.category.value}" if hit is not None else ""
        return replace(
            cause,
            category=Category.STICKY_CRASH,
            action=Action.REAL_FAILURE,
            advice=_CASCADE,
            reason="cascade",
            note=note,
        )
    return cause


def _decide(parts: Sequence[FailureText], facts: DeviceFacts) -> _Hit | None:
    whole = _whole(parts, facts)
    exceptions = [part for part in parts if part.source is Source.EXCEPTION]
    hits = [hit for part in exceptions if (hit := _of_exception(part, whole, facts)) is not None]
    firm = [hit for hit in hits if not hit.rule.vague]
    chosen = next((hit for hit in firm if hit.hardware), None) or next(iter(firm), None)
    if chosen is not None:
        return chosen
    # What was printed does not explain an assertion. If that points elsewhere, a vague rule says so.
    if exceptions and not hits and all(part.quotable or is_assertion(part.text) for part in exceptions):
        return None
    spoken_for = bool(exceptions) and not hits
    for source in (Source.OUTPUT, Source.WARNING):
        if source is Source.WARNING and spoken_for:
            break
        found = [hit for part in parts if part.source is source for hit in _of_output(part, whole, facts)]
        firm = [hit for hit in found if not hit.rule.vague]
        if firm:
            return next((hit for hit in firm if hit.hardware), firm[0])
        hits += found
    return next(iter(hits), None)


def _of_exception(part: FailureText, whole: str, facts: DeviceFacts) -> _Hit | None:
    """The first rule that matches. A vague one holds only if no other does."""
    text = searchable(part.text)
    vague: _Hit | None = None
    for rule in load_rules():
        if part.quotable and not rule.own:
            continue
        hit = _hit(rule, text, part, whole, facts)
        if hit is not None and not rule.vague:
            return hit
        vague = vague or hit
    return vague


def _of_output(part: FailureText, whole: str, facts: DeviceFacts) -> list[_Hit]:
    """All hits, the earliest line first; in one line the first rule goes first."""
    text = searchable(part.text)
    hits = [hit for rule in load_rules() if (hit := _hit(rule, text, part, whole, facts)) is not None]
    return sorted(hits, key=lambda hit: hit.place)


def _hit(rule: Rule, text: str, part: FailureText, whole: str, facts: DeviceFacts) -> _Hit | None:
    match = rule.find(text)
    if match is None:
        return None
    capability = facts.capability or stated_capability(text) or stated_capability(whole)
    situation = Situation(facts=facts, text=text, whole=whole, capability=capability)
    return _Hit(
        rule=rule,
        answer=rule.answer(situation),
        evidence=_evidence(part.text, text, match),
        line=lines_around(text, match),
        place=text.count("\n", 0, match.start()),
        source=part.source,
    )


def _cause(hit: _Hit, parts: Sequence[FailureText], facts: DeviceFacts) -> Cause:
    answer = hit.answer
    assert answer.category is not None  # noqa: S101 - Rule.answer fills them in
    assert answer.action is not None  # noqa: S101
    assert answer.confidence is not None  # noqa: S101
    cause = Cause(
        category=answer.category,
        action=answer.action,
        advice=answer.advice,
        rule=hit.rule.rule,
        evidence=hit.evidence,
        confidence=_confidence(hit, answer.confidence, parts),
        reason=answer.reason,
    )
    return _contradicted(cause, hit, facts)


def _confidence(hit: _Hit, confidence: Confidence, parts: Sequence[FailureText]) -> Confidence:
    """An exception's own words carry most; a line of output beside an exception less; a warning least."""
    if hit.source is Source.WARNING:
        return Confidence.LOW
    beside = hit.source is Source.OUTPUT and any(part.source is Source.EXCEPTION for part in parts)
    return Confidence.MEDIUM if beside and confidence is Confidence.HIGH else confidence


def _contradicted(cause: Cause, hit: _Hit, facts: DeviceFacts) -> Cause:
    """Say it where the device has what the text demands, or where text and facts name different devices."""
    capability = facts.capability
    if cause.category not in _DEMANDING or capability is None:
        return cause
    demanded = _demanded(hit, capability)
    if demanded is not None:
        return replace(
            cause,
            action=Action.ENVIRONMENT,
            advice="Inconsistent, see the note: find out which device and which build the failing call really used.",
            confidence=Confidence.LOW,
            note=f"the text demands {demanded}, the device is {capability}",
        )
    stated = stated_capability(hit.line)
    if stated is not None and stated != capability:
        note = f"the text says the device is {stated}, the facts say {capability}"
        return replace(cause, confidence=Confidence.LOW, note=note)
    return cause


def _demanded(hit: _Hit, capability: ComputeCapability) -> str | None:
    """What is demanded, where the device has it."""
    for line in hit.line.split("\n"):
        if (demand := demand_of(line)) is not None:
            return str(demand) if demand.allows(capability) else None
    if hit.rule.demands and demand_of_specifier(hit.rule.demands, capability):
        return hit.rule.demands
    return None


def _whole(parts: Iterable[FailureText], facts: DeviceFacts) -> str:
    return searchable(bounded("\n".join((*(part.text for part in parts), facts.about)), _WHOLE_LENGTH))


def _evidence(text: str, searched: str, match: re.Match[str]) -> str:
    """The line that decided, as it stands in the text; of several, the last. A long one is cut around the words."""
    line = text.split("\n")[searched.count("\n", 0, max(match.start(), match.end() - 1))]
    if len(line) > _EVIDENCE_LENGTH:
        before = match.start() - (searched.rfind("\n", 0, match.start()) + 1)
        begin = max(0, min(before - 60, len(line) - _EVIDENCE_LENGTH))
        line = line[begin : begin + _EVIDENCE_LENGTH - 1] + "…"
    return line.strip()


def classify_log(text: str, facts: DeviceFacts | None = None, *, output: str = "") -> Cause:
    """The cause by a plain text: a log, a traceback, captured output, or one message.

    Of several failures the most telling decides: one whose words only follow from another is passed over, and one that
    broke the CUDA context goes before what came after it. ``output`` is what is known to be output and no failure:
    a traceback in it explains an exception of the text, and is none itself.
    """
    if not (text.strip() or output.strip()):
        return _NOTHING
    log = read_log(text)
    known = facts or DeviceFacts()
    hits = [_decide(failure, known) for failure in log.failures]
    broke = [failure for failure, hit in zip(log.failures, hits, strict=True) if _is_sticky(hit)]
    telling = [failure for failure, hit in zip(log.failures, hits, strict=True) if hit is None or not hit.rule.vague]
    chosen = broke[-1:] or telling[:1] or [tuple(part for failure in log.failures for part in failure)]
    printed = [FailureText(text=output, source=Source.OUTPUT)] if output else []
    cause = classify((*chosen[0], *log.output, *printed), facts)
    if cause == _GENUINE and not log.failures:
        return replace(cause, confidence=Confidence.LOW, advice="The text tells of no failure: give it whole.")
    if len(log.failures) > 1 and not cause.note:
        return replace(cause, note=f"of {len(log.failures)} failures in the text this is the most telling one")
    return cause


def _is_sticky(hit: _Hit | None) -> bool:
    return hit is not None and not hit.rule.vague and hit.answer.category is Category.STICKY_CRASH
