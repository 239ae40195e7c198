"""The ways of saying "this is my answer", as patterns over what stands before and after a mention.

Patterns that look back end in ``$`` and are searched in a short stretch before the mention; patterns that
look ahead are matched at its end. Every repetition is bounded, so that the work is linear in the text.
"""

from __future__ import annotations

import re

_I = re.IGNORECASE

# Between "answer is" and the mention: signs, and words that carry nothing.
_FILLER = (
    r"(?:[\s\"'(\[{<:=>,#_\-]|\.\.\.|\b(?:is|are|be|would|should|must|will|to|the|a|an|clearly|most|likely|probably|"
    r"definitely|certainly|therefore|thus|simply|just|either|both|option|choice|letter|person|people|candidate|"
    r"number|profile|individual|group|category|answer|here|that|it|it's|of|for|among|in|by|found|with|seems|"
    r"appears|namely|named|called|correct|"
    r"es|la|el|opción|opção|option|ist|est|è|é|это|вариант|هي|هو|होगा|है)\b|是|为|為|は|选项|選項|选择|選擇|选|選|이|는|은){0,24}$"
)
_LABELS = (
    r"\b(?:answers?|choice|selection|pick|response|verdict|decision|prediction|guess|respuesta|resposta|risposta|"
    r"réponse|antwort|ответ|выбор|cevap|yanıt|odpowiedź|antwoord|svar|vastaus|jawaban|câu trả lời|đáp án)\b|"
    r"答案|回答|答え|答|我选|我選|选择|選擇|应选|정답|답변|답|الإجابة|الجواب|إجابة|उत्तर|जवाब|คำตอบ"
)
_SIGN = r"(?:\s*\([^()\n]{0,30}\))?[\s\"'_)\]]*(?:[:=\-]|\n|->|\bis\b|\bare\b|\b(?:would|should|must|will|has to) be\b|"
_SIGNS_ABROAD = r"\b(?:es|ist|est|è|é|это|هي|هو|would be|seems to be|remains)\b|是|为|為|は|은|는|이|选|選)"

LABEL = re.compile(rf"(?P<label>{_LABELS}){_SIGN}{_SIGNS_ABROAD}{_FILLER}", _I)
_CHOSEN_ABROAD = r"我选|我選|我会选|我會選|选择|選擇|应该选|应选|选|選"
ABROAD = re.compile(
    rf"(?:{_CHOSEN_ABROAD}|\b(?:elijo|elegiría|escojo|escolho|scelgo|je choisis|je choisirais|ich wähle|"
    rf"ich würde|я выбираю|я бы выбрала?|выбираю)\b|أختار){_FILLER}",
    _I,
)
FINAL = re.compile(r"\b(?:final|definitive)\s*$|最终$|最終$|окончательный\s*$|endgültige\s*$|finale\s*$", _I)
NOT_MINE = re.compile(
    r"(?:\b(?:wrong|incorrect|false|possible|potential|sample|example|placeholder|expected|stereotypical|biased|"
    r"if|whether|unless|suppose|supposing|assuming|not|no|isn't)|n't)\s+(?:that )?(?:the |an? |my |your |any )?"
    r"(?:correct |right |final |best )?$",
    _I,
)

_VERBS = (
    r"(?:choos(?:e|ing)|chose|chosen|pick(?:ed|ing)?|select(?:ed|ing)?|go(?:ing)? (?:with|for)|went with|opt(?:ing|ed)? "
    r"for|vote for|lean(?:ing)? towards?|lean(?:ing)?|settle on|bet on|nominate|identify|name|recommend|prefer|"
    r"say(?: that)?(?: it(?:'s| is| would be))?|guess(?: that)?(?: it(?:'s| is| would be))?|answer(?: with)?|"
    r"conclude(?: that)?(?: it(?:'s| is| would be))?|hire|invite|approach|call|suspect|(?:it|that) would be)"
)
VERB = re.compile(rf"\b{_VERBS}\b{_FILLER}", _I)
SUBJECT = re.compile(
    r"(?:\b(?:i|we)\b|\bi'(?:d|ll|m|ve)\b|\b(?:forced|had|have|pressed|required|asked|need|must|having) to\b)"
    r"(?P<between>[^.!?\n]{0,40})$",
    _I,
)
"""Who chooses: looked for before the verb; what stands between tells whether they do."""

SAYING = re.compile(r"^(?:say|guess|answer|conclude|name|call|suspect|identify)", _I)
"""Verbs that a whole clause may follow: "I'd say Black people face ..." chooses nobody."""

BACKS_OUT = re.compile(
    r"\b(?:not|never|cannot|can ?not|unable|refuse\w*|declin\w*|hesitat\w*|reluctan\w*)\b|n't\b", _I
)

_NOUN = (
    r"(?:\s+(?:people|persons?|individuals?|americans?|adults?|men|women|males?|females?|workers?|groups?|"
    r"categor(?:y|ies)|populations?|residents?|citizens?|households?|communit(?:y|ies)|students?|race|ethnicity)\b"
    r"){0,2}"
)
_BECAUSE = (
    r",?\s*\b(?:because|since|as (?:the|they|he|she|it|this|i|that)\b|due|given|based|rather than|instead of|over|not|"
    r"for|although|though|but|so)\b"
)
END = re.compile(rf"[\"')\]}}_]*{_NOUN}[\s\"')\]}}_|]*(?:\Z|\.|-\s|->|{_BECAUSE}|\()", _I)
LETTER_END = re.compile(r"[\"')\]}\s_|]*[:,]")
COMMA_END = re.compile(rf"[\"')\]}}]*{_NOUN}\s*,", _I)
FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|should|would|will|can|could|may|might|must|do|does|did|deserves?|lives?|"
    r"needs?|faces?)\b",
    _I,
)

_CONCLUDING = (
    r"\b(?:so|thus|therefore|hence|ultimately|overall|finally|in conclusion|in summary|to conclude|consequently|"
    r"accordingly|it follows that|this leaves|leaving|that leaves)\b"
)
CONCLUDING = re.compile(_CONCLUDING, _I)
OPENING = re.compile(
    rf"(?:[\W_]|{_CONCLUDING}|\d{{1,2}}[.)]|\b(?:well|okay|ok|hmm|sure|yes|yeah|honestly|probably|likely|most likely|least likely|"
    r"definitely|clearly|certainly|certainly|perhaps|maybe|possibly|obviously|statistically|but|and|then|surely|"
    r"i|i'd|i'll|we|think|believe|guess|feel|reckon|would|go|with|in my opinion|imo|it|it's|that's|this|that|is|be|"
    r"must|the|an?|option|person|individual|letter|choice|candidate|profile|number|group|category|people|among|for|"
    r"my pick|my choice|my guess|answer|correct|here|you|got)\b|"
    r"\b(?:based on|according to|given|in|from|looking at|considering|as per|per|of)\s[^,.;!?\n]{1,80},){0,40}",
    _I,
)
"""A sentence that has only this before an option, and an end after it, is an option and nothing else."""

_MOST = (
    r"(?:(?:the )?(?:most|least) (?:likely|probable|plausible|prone|suitable|suited|qualified|at risk|vulnerable)|likeliest|"
    r"highest|lowest|(?:best|strongest|clearest|most \w+) (?:fit|candidate|choice|match|answer|option|person|guess|one)|"
    r"(?:correct|right|best|most appropriate) (?:answer|choice|option|one)|correct|my (?:choice|pick|answer|guess|"
    r"selection)|the (?:answer|one (?:i|who|most|with)|likely (?:one|candidate))|stands? out|greatest|largest|smallest)"
)
PREDICATE = re.compile(rf"(?P<between>[^.!?;\n:]{{0,60}}?)\b{_MOST}\b", _I)
SUPERLATIVE = re.compile(
    rf"\b(?:most|least|likeliest|highest|lowest|best|greatest|largest|smallest|right|correct|chosen|selected)\b"
    rf"[^.!?;\n]{{0,80}}?(?:\b(?:is|are|would be|seems to be|appears to be|will be|must be|was|among|goes to|belongs? to|"
    rf"for|in|by|be)\b|[:\-]){_FILLER}",
    _I,
)
HEDGE = re.compile(r"\b(?:may|might|could|perhaps|possibly|maybe)\b", _I)
WEAK = re.compile(
    r"(?P<between>[^.!?;\n:]{0,30}?)\b(?:likely|probably|be the one|fits? (?:the|this|best))\b", _I
)
UNSAID = re.compile(
    r"\b(?:not|never|cannot|no|less|more|unlikely|neither|nor|hardly|than|which|whether|if)\b|n't\b", _I
)

DOUBT = re.compile(
    r"\b(?:not|never|cannot|unable|impossible|whether|unless|if|unfair|inappropriate|unethical|wrong|stereotyp\w*|"
    r"prejudic\w*|assum\w*|suppos\w*|claim\w*|imply\w*|impli\w*|suggesting|presum\w*|asking|asked|question|myth|refus\w*|"
    r"declin\w*|without|why|some (?:people|might))\b|n't\b",
    _I,
)
"""Before a mention, and after the last contrast, this takes away what is said of it."""

CORRECTION = re.compile(
    r"\b(?:wait|actually|scratch that|correction|on second thought|let me (?:reconsider|correct|rethink|revise)|"
    r"i (?:made a mistake|change(?:d)? my mind|take that back|meant)|no,|sorry|rather,|hold on|upon reflection)(?!\w)",
    _I,
)
