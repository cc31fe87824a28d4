"""The title of a chapter: what the run found, made from its numbers; where it found nothing, the question."""

from tierwise.report.display import Sentence


def titled(subject: str, finding: str, question: str, label: str) -> Sentence:
    """Return a chapter's heading under `label`: ``# Subject: finding`` with the `question` below; without a finding the question is the
    title.
    """
    told = finding or f"{question[0].lower()}{question[1:]}"
    below = f"\n\n*{question}*" if finding else ""
    return Sentence(f"# {subject}: {told} {{#{label}}}{below}")
