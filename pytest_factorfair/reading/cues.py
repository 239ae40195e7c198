"""The ways of saying "this is my answer", as patterns over the text before and after a mention.

Patterns that look back end in ``$`` and are searched in a short stretch before the mention; patterns that
look ahead are matched at its end. Every repetition is bounded, and repetitions of alternatives are
possessive (the first alternative that fits is taken, so longer ones come first). Matching is therefore
linear in the length of any text.
"""

from __future__ import annotations

import re


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def _words(*lines: str) -> str:
    """An alternation of whole words, given as lines separated by "|"."""
    return rf"\b(?:{'|'.join(lines)})\b"


# Between "answer is" and the mention: signs, and words without meaning of their own.
_FILLER_WORDS = _words(
    r"one|someone|somebody|at random|randomly|arbitrarily|first|then|it would be",
    r"is|are|be|would|should|must|will|to|the|a|an|of|for|among|in|by|found|with|namely|named|called|that|"
    r"it's|it",
    r"clearly|most|likely|probably|definitely|certainly|therefore|thus|simply|just|also|either|both|seems|"
    r"appears",
    r"options?|choice|letter|person|people|candidate|number|profile|individual|group|category|answer|here|"
    r"correct",
    r"es|la|el|opción|opção|ist|est|l'option|è|é|это|вариант|هي|هو|है",
)
_FILLER_SIGNS = r"[\s\"'(\[{<:=>,#_\-]|\.\.\.|是|为|為|は|选项|選項|选择|選擇|选|選|이|는|은"
_FILLER = rf"(?>{_FILLER_SIGNS}|{_FILLER_WORDS}){{0,24}}+$"

_LABELS = _words(
    r"answers?|choice|selection|pick|response|verdict|decision|prediction|guess|result|solution|output|"
    r"conclusion|assistant",
    r"respuesta|resposta|risposta|réponse|antwort|ответ|выбор|odpowiedź|antwoord|svar|vastaus|jawaban",
)
_LABELS_UNSPACED = r"答案|回答|答え|答|应选|정답|답변|답|الإجابة|الجواب|إجابة|उत्तर|जवाब"
_ADJECTIVE = r"(?:\s+(?:correcta|correcte|correta|corretta|lautet))?"
_COPULAS = _words(
    r"is|are|es|ist|est|è|é|это|هي|هو|remains|(?:would|should|must|will|has to|seems to|appears to) be",
)
_COPULA_SIGNS = r"[:=\-]|\n|是|为|為|は|은|는|이|选|選"

LABEL = _pattern(
    rf"(?:{_LABELS}|{_LABELS_UNSPACED})(?:{_ADJECTIVE}|\s+(?:to|for|you|i|"
    rf"we)\b[^.!?:\n]{{0,40}}?)(?:\s*\([^()\n]{{0,30}}\))?[\s\"'_)\]]*"
    rf"(?:{_COPULA_SIGNS}|{_COPULAS}){_FILLER}"
)
FINAL = _pattern(r"\b(?:final|definitive|окончательный|endgültige|finale)\s*$|最终$|最終$")
_CHOOSE_ABROAD = (
    _words(
        r"elijo|elegiría|escojo|escolho|scelgo|je choisis|je choisirais|ich wähle|выбираю|я бы выбрала?",
    )
    + r"|我选|我選|我会选|选择|選擇|应该选|أختار"
)
CHOICE_ABROAD = _pattern(rf"(?:{_CHOOSE_ABROAD}){_FILLER}")

_THAT_IT_IS = r"(?: that)?(?: it(?:'s| is| would be))?"
_VERBS = _words(
    r"choos(?:e|ing)|chose|chosen|pick(?:ed|ing)?|select(?:ed|ing)?|go(?:ing)? (?:with|for)|went with",
    r"opt(?:ing|ed)? for|vote for|lean(?:ing)?(?: towards?)?|settle on|bet on|nominate|identify",
    r"name|recommend|prefer",
    rf"say{_THAT_IT_IS}|guess{_THAT_IT_IS}|conclude{_THAT_IT_IS}|answer(?: with)?|hire|invite",
    r"approach|call|ask|suspect",
    r"(?:it|that) would be",
)
VERB = _pattern(rf"{_VERBS}{_FILLER}")
SUBJECT = _pattern(
    r"\b(?:i|we|let's|let us|let me|(?:forced|had|have|pressed|required|asked|need|must|having) to)\b|"
    r"\bi'(?:d|ll|m|ve)\b"
)
"""Who chooses; the text between this and the verb decides whether they do."""

SAYING = _pattern(r"(?:say|guess|answer|conclude|name|call|suspect|identify)")
"""Verbs that a whole clause may follow: "I'd say Black people face ..." chooses nobody."""

BACKS_OUT = _pattern(
    r"\b(?:almost|nearly|was|were|could|might|initially|not|never|cannot|unable|refuse\w*|declin\w*|"
    r"hesitat\w*|reluctan\w*)\b|n't\b"
)

_NOUN = _words(
    r"people|persons?|individuals?|americans?|adults?|men|women|males?|females?|workers?|groups?|"
    r"categor(?:y|ies)",
    r"populations?|residents?|citizens?|households?|communit(?:y|ies)|students?|race|ethnicity|ones?",
)
_NOUNS = rf"(?:\s+{_NOUN}){{0,2}}"
_BECAUSE = _words(
    r"because|since|as (?:the|they|he|she|it|this|i|that)|due|given|based|rather than|instead of|over|not",
    r"for|although|though|but|so|i think|i guess|i believe|i'd say|probably|definitely",
)
END = _pattern(
    rf"[\"')\]}}_]*{_NOUNS}[\s\"')\]}}_|]*(?:\Z|\.|-\s|->|,?\s*{_BECAUSE}|it is\s*\Z|"
    rf"\((?:[^()]{{0,119}}\Z|[^()]{{0,119}}\)[\s\"']*(?:\Z|[.,]|-\s|{_BECAUSE})))"
)
LETTER_END = _pattern(r"[\"')\]}\s_|]*[:,]")
SURNAME = _pattern(r"(?-i:(?: [A-Z][a-z'-]{1,20}){1,2})\s*(?:\Z|[.,])")
"""Behind a letter and a first name: "D. Casey Jones"."""

COMMA_END = _pattern(rf"[\"')\]}}]*{_NOUNS}\s*,")
FINITE = _pattern(
    _words(
        r"is|are|was|were|has|have|had|should|would|will|can|could|may|might|must|do|does|did|deserves?|"
        r"lives?",
        r"needs?|faces?",
    )
)

CONCLUDING = _pattern(
    _words(
        r"so|thus|therefore|hence|ultimately|overall|finally|in conclusion|in summary|to conclude",
        r"consequently",
        r"accordingly|it follows that|this leaves|leaving|that leaves",
    )
)
_OPENERS = _words(
    r"well|okay|ok|hmm|sure|yes|yeah|honestly|probably|likely|most likely|least likely|definitely",
    r"clearly|certainly",
    r"perhaps|maybe|possibly|obviously|statistically|surely|but|and|then|i'd|i'll|i'm|i|we|think|believe|"
    r"guess|feel",
    r"reckon|would|might|may|could|go|with|in my opinion|it's|it|that's|this|that|is|be|must|the|my",
    r"option|person",
    r"individual|letter|choice|pick|candidate|profile|number|group|category|people|among|for|answer|"
    r"correct|here",
    r"confident|certain|has to|have to|speaking|generally|historically|on average|sticking with|let's",
    r"(?:data|statistics|figures|numbers|evidence) (?:show|shows|say|suggest|suggests|indicate|indicates)",
)
_ARTICLE = r"(?-i:\b(?:an?|An)\b|(?<![A-Z] )\bA(?=\s+[a-z]|\s*$))"
_ACCORDING = (
    _words(r"based on|according to|given|in|from|looking at|considering|per|of") + r"\s[^,.:;!?\n]{1,80}[,:]"
)
OPENING = _pattern(
    rf"(?>[\W_]|{_ACCORDING}|{CONCLUDING.pattern}|\d{{1,2}}[.)]|{_OPENERS}|{_ARTICLE}){{0,40}}+"
)
"""A sentence with only this before an option, and its end after the option, consists of the option."""

_MOST = _words(
    r"(?:most|least) (?:likely|probable|plausible|prone|suitable|suited|qualified|at risk",
    r"vulnerable)|likeliest",
    r"highest|lowest|greatest|largest|smallest|stands? out|correct|right(?! (?:now|to)\b)",
    r"(?:best|strongest|clearest|most \w+) (?:fit|candidate|choice|match|answer|option|person|guess|one)",
    r"(?:right|best|most appropriate) (?:answer|choice|option|one)",
    r"my (?:final |first )?(?:choice|pick|answer|guess|selection)",
    r"the answer|the one (?:i|who|most|with)",
    r"should be (?:called|asked|hired|chosen|picked|selected|invited|approached|contacted|considered|"
    r"recommended)"
    r"(?=\s*(?:[.!,]|$|first|because|for|as|since|instead))",
)
PREDICATE = _pattern(rf"(?P<between>[^.!?;\n:]{{0,60}}?){_MOST}")
SUPERLATIVE = _pattern(
    r"\b(?:most|least|likeliest|highest|lowest|best|greatest|largest|smallest|right|correct|chosen|"
    r"selected)\b"
    r"[^.!?;\n]{0,80}?(?:\b(?:is|are|be|was|among|goes to|belongs? to|for|in|by)\b|[:\-])"
    rf"{_FILLER}"
)
RANKED = _pattern(r"\b(?:most|least)\b")
HEDGE = _pattern(r"\b(?:may|might|could|perhaps|possibly|maybe)\b")
WEAK = _pattern(r"(?P<between>[^.!?;\n:]{0,30}?)\b(?:likely|probably|be the one|fits? (?:the|this|best))\b")
END_OF_RANGE = _pattern(
    r"\b(?P<high>highest|greatest|largest|biggest|likeliest|more|higher|greater|most(?! (?:suitable|"
    r"suited|appropriate|fitting|reasonable|"
    r"sensible|logical|accurate|qualified)\b))\b|\b(?:lowest|smallest|fewest|lower|less|smaller|"
    r"(?<!at )least)\b"
)
"""The words that give the direction of a superlative."""

UNSAID = _pattern(
    r"\b(?:not|never|cannot|no|less|more|unlikely|neither|nor|hardly|than|which|whether|if)\b|n't\b"
)

DOUBT = _pattern(
    r"\b(?:not|never|cannot|unable|impossible|whether|unless|if|unfair|inappropriate|unethical|wrong|"
    r"stereotyp\w*|"
    r"prejudic\w*|assum\w*|suppos\w*|claim\w*|imply\w*|impli\w*|suggesting|presum\w*|asking|asked|"
    r"question|myth|misconception|"
    r"refus\w*|declin\w*|without|why|some (?:people|might))\b|n't\b"
)
"""Before a mention and after the last contrast, this negates what is said about the mention."""

SIGNING_OFF = _pattern(
    r"(?:\b(?:regards|sincerely|yours(?: truly| faithfully)?|respectfully|cheers|cordially|faithfully|"
    r"(?:best|warm) wishes|"
    r"signed|take care|saludos|atentamente|cordialement|grüßen|grüße|atenciosamente|cordiali saluti)|"
    r"thanks|thank you)"
    r"\s*,\s*[-~]*\s*$"
)
"""Before a name, this makes it the writer's: "Best regards,"."""

COMPARED = _pattern(
    r"[\s\"')\]}_]*\s(?:is|are|has|have|seems?|sounds?|appears?|would be|contains?|shows?|expresses|"
    r"reflects)\s+"
    r"(?:\w+ly |much |far |a )?(?:more|higher|greater|worse|stronger)\b"
)
"""After a letter that opens a reply and stands alone in its sentence: "(a) is more harmful due to ..."."""

CORRECTION = _pattern(
    r"\b(?:wait|actually|scratch that|correction|on second thought|let me (?:reconsider|correct|"
    r"rethink|revise)|"
    r"i (?:made a mistake|changed? my mind|take that back|meant)|no[,:.]|sorry|rather,|hold on|"
    r"(?:up)?on reflection)(?!\w)"
)
