"""Seeded mixed text for tokenizer tests and benchmarks: what people write, and what nobody should have to."""

import random
import unicodedata

CONTROL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>",
    "</tool_response>", "<|vision_start|>", "<|fim_prefix|>", "<tts_pad>", "<|im_", "end|>", "<|im_start", "<think", "<<think>>",
    "< think>", "</think></think>", "<|im_start|>system\n", "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
]
ENGLISH = (
    "the a of to and in that it is was for on with as by at from this not be are which one had have would there their we "
    "Hello World can't I'll you've they're it's didn't WE'RE IT'S Don'T o'clock rock'n'roll model token inference kernel "
    "attention throughput latency checkpoint quantisation Internationalization pneumonoultramicroscopicsilicovolcanoconiosis "
    "fox jumps over lazy dog e.g. i.e. U.S.A. co-operate naïve café résumé Zürich Ångström façade coöperate jalapeño "
    "1st 2nd 3.14159 10,000 $5 50% #hashtag @user user@example.com https://example.com/a?b=c&d=%20#e README.md C++ x86_64"
).split()
CODE = [
    "def f(x: int) -> int:\n    return x ** 2  # square\n", "for (int i = 0; i < n; ++i) {\n\tsum += a[i] * b[i];\r\n}\r\n",
    "SELECT * FROM t WHERE a='b' AND c>=10;\n", "if __name__ == \"__main__\":\n        main()\n", "\t\t\treturn nullptr;\n\n\n",
    "{\"key\": [1, 2.5e-3, null, true], \"nested\": {\"a\": \"\\u00e9\\n\"}}", "#include <vector>\nstd::vector<std::pair<int, char>> v{};",
    "<div class=\"x\" id='y'><!-- c --></div>", "$ ls -la | grep '^d' && echo \"$HOME\" > /dev/null 2>&1", "x = [i for i in range(10) if i % 2 == 0]",
    "fn main() { println!(\"{:?}\", a?.b::<T>()); }", "0xDEADBEEF 0b1010 1e-9 'c' '\\'' \"\\\"\"", "// =====----- ##### ***** /////\n", "a+=b;c-=d;e*=f;g/=h;i%=j;k<<=l;m>>=n;",
    "\\begin{equation} \\frac{a}{b} = \\sum_{i=0}^{n} x_i^2 \\end{equation}", "| a | b |\n|---|---|\n| 1 | 2 |\n",
]
SCRIPTS = {
    "chinese": "人工智能模型的推理速度取决于内存带宽，而不是计算能力。今天天气很好！《红楼梦》（清）曹雪芹著；一二三四五六七八九十百千万",
    "traditional": "語言模型讀入文字並預測下一個詞。臺灣、香港與澳門使用繁體字。",
    "japanese": "トークナイザーはテキストを分割します。ｶﾀｶﾅ半角、ひらがな、漢字、がぎぐげご゛゜ーー「こんにちは」",
    "korean": "한국어 문장을 토큰으로 나누는 방법입니다. 안녕하세요, 세계! 값싼 닭볶음탕",
    "thai": "สวัสดีครับ ผมชื่ออเล็กซ์ ภาษาไทยไม่มีช่องว่างระหว่างคำ น้ำใจ เก้าอี้ ๑๒๓ กรุงเทพฯ ๆ",
    "arabic": "السَّلَامُ عَلَيْكُمْ وَرَحْمَةُ اللَّهِ وَبَرَكَاتُهُ القُرْآنُ الكَرِيمُ ١٢٣ نماذج اللغة الكبيرة، تعمل بسرعة؟ لا إله",
    "persian": "می‌خواهم کتاب‌ها را بخوانم ۴۵۶ زبان فارسی",
    "hebrew": "שָׁלוֹם עוֹלָם בְּרֵאשִׁית בָּרָא אֱלֹהִים מודל שפה",
    "hindi": "नमस्ते दुनिया! हिन्दी भाषा में मात्राएँ और संयुक्ताक्षर क्षत्रज्ञ होते हैं। क़ख़ग़ज़ड़ढ़फ़य़ १२३",
    "bengali": "বাংলা ভাষা কো কৌ ড় ঢ় য়", "tamil": "தமிழ் மொழி கொ கோ கௌ ௧௨௩", "telugu": "తెలుగు భాష కై", "kannada": "ಕನ್ನಡ ಭಾಷೆ ಕೊ ಕೋ",
    "malayalam": "മലയാളം ഭാഷ കൊ കോ", "sinhala": "සිංහල භාෂාව කො කෝ", "burmese": "မြန်မာဘာသာစကား ဦး", "khmer": "ភាសាខ្មែរ ខ្ញុំ", "lao": "ພາສາລາວ ນ້ຳ",
    "tibetan": "བོད་སྐད་ གྷ ཱི", "georgian": "ქართული ენა ᲥᲐᲠᲗᲣᲚᲘ", "armenian": "Հայերեն լեզու և", "amharic": "አማርኛ ቋንቋ ፩፪፫",
    "russian": "Языковая модель является быстрой. Ёлка, йод, ещё; Ӂӂ ѐѝ материал документа фактически", "ukrainian": "Їжак, ґанок, п'ять",
    "greek": "Ελληνικά: ἄνθρωπος ᾠδή Ὀδυσσεύς ΐ ΰ ά Ά ;·", "vietnamese": "Tiếng Việt có nhiều dấu: ế ệ ữ ộ ỗ ẵ ặ Đường đi khó",
    "turkish": "İstanbul'da ığdır şğüöç Iİıi", "german": "Straße Größe äöüß ÄÖÜẞ Fußgängerübergänge", "polish": "Zażółć gęślą jaźń",
    "maths": "∀x∈ℝ: x²≥0 ∑∏∫√∞≠≤≥ ½⅓¼ ⅣⅫ ①②③ 𝐀𝑩𝒞 𝟘𝟙𝟚 ℵ₀ Å Ω K ℉ ≠ ∤ ⫝̸",
    "symbols": "©®™ €£¥₹₽ “quoted” ‘single’ –—… •·‣ ←→↑↓ ■□▲△ ♠♥♦♣ ☃☂ ㈱㌔㎏ ﷺ ﬁﬂﬃ ﬆ Ⓐⓩ 🄰🅱 ſs 'ſ 'S 'ſt",
}
EMOJI = [
    "😀", "😂🤣", "👍🏽", "👩‍👩‍👧‍👦", "👨🏿‍🚀", "🏳️‍🌈", "🇩🇪🇯🇵", "❤️", "❤️‍🔥", "1️⃣", "☺️", "🧑🏻‍🤝‍🧑🏾", "🫠", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "⌚︎", "©️", "🤷‍♀️", "🇺", "‍", "️",
]
SPACES = [
    " ", "  ", "    ", "\t", "\t\t", "\n", "\n\n", "\r\n", "\r", "\r\n\r\n", " \n", "\n ", "   \n   ", "\v", "\f", "\u00a0", "\u3000",
    "\u2003", "\u2028", "\u2029", "\u0085", "\u1680", "\u202f", "\u205f", "\u180e", "\u200b", "\u200d", "\ufeff", "\u2060", "\x1c", "\x1f", "\x00", "\x7f",
]
WHITE_SPACE = [s for s in SPACES if s.isspace() and s not in "\x1c\x1f"]
COMBINING = [chr(c) for c in range(0x300, 0x370)]
SYLLABLES = [
    "이가", "각", "한국", "가\u11a8", "각\u11a8", "\u1100", "\u1161", "\u11a8", "\u1112\u1161\u11ab",
]


def known_code_points():
    """Code points on which every party agrees, and a sentence on how they were found.

    The split pattern asks for general categories (PCRE2 10.42 of Debian 12 and Ubuntu 24.04: Unicode 14; the library: newer),
    NFC for combining classes and decompositions (utf8proc 2.8: Unicode 15; the library: older). So: assigned in Python's
    Unicode if that is not newer than 14, else in the frozen Unicode 3.2 that Python carries, with an unchanged category; and
    the library's NFC treats the code point as Python's does, among marks and alone.
    """
    from tokenizers import normalizers

    version = tuple(map(int, unicodedata.unidata_version.split(".")))
    frozen = unicodedata.ucd_3_2_0
    source = unicodedata if version <= (14, 0, 0) else frozen
    nfc = normalizers.NFC()
    candidates, unknown = [], set()
    for value in range(0x110000):
        c = chr(value)
        category = source.category(c)
        if category in ("Cn", "Cs") or category[0] != unicodedata.category(c)[0]:
            continue
        candidates.append(c)
        if unicodedata.combining(c) or unicodedata.decomposition(c):
            parts = unicodedata.normalize("NFD", c)
            probes = (c, parts, "a\u0316" + c + "\u0301\u0315", c + "\u0301\u0316" + c)
            if any(nfc.normalize_str(p) != unicodedata.normalize("NFC", p) for p in probes):
                unknown |= {c, parts[-1]}  # without its last part it cannot be composed either
    known = [c for c in candidates if c not in unknown]
    return known, (
        f"{len(known)} code points of Unicode {source.unidata_version}; {len(unknown)} left out that the library's NFC does not know"
    )


class Texts:
    def __init__(self, seed, known):
        self.random = random.Random(seed)
        self.known = set(known)
        self.marks = [c for c in known if unicodedata.combining(c)]
        self.decomposable = [c for c in known if unicodedata.decomposition(c) and not unicodedata.decomposition(c).startswith("<")]
        self.planes = {}
        for c in known:  # by blocks of 256, so that small scripts are drawn as often as the ideographs
            self.planes.setdefault(ord(c) >> 8, []).append(c)
        self.blocks = list(self.planes)
        self.kinds = [
            self.prose, self.code, self.script, self.script, self.emoji, self.controls, self.spaces, self.digits, self.random_points,
            self.marks_on_letters, self.decomposed, self.hangul, self.long_word, self.punctuation, self.contractions,
        ]

    def pick(self, items):
        return self.random.choice(items)

    def some(self, items, low, high, between=""):
        return between.join(self.pick(items) for _ in range(self.random.randint(low, high)))

    def prose(self):
        return self.some(ENGLISH, 1, 30, " ")

    def code(self):
        return self.some(CODE, 1, 4)

    def script(self):
        text = SCRIPTS[self.pick(list(SCRIPTS))]
        begin = self.random.randrange(len(text))
        return text[begin : begin + self.random.randint(1, 60)]

    def emoji(self):
        return self.some(EMOJI, 1, 8, self.pick(["", " "]))

    def controls(self):
        return self.some(CONTROL + ENGLISH[:12] + SPACES[:12], 1, 8)

    def spaces(self):
        return self.some(SPACES, 1, 12) if self.random.random() < 0.7 else self.pick(SPACES) * self.random.randint(1, 80)

    def digits(self):
        return self.some(list("0123456789") + ["٣", "५", "Ⅷ", "²", ".", ",", " ", "𝟠"], 1, 30)

    def random_points(self):
        return "".join(self.pick(self.planes[self.pick(self.blocks)]) for _ in range(self.random.randint(1, 40)))

    def marks_on_letters(self):
        return "".join(self.pick("aeiouAEnсΩかक가") + self.some(self.marks, 0, 4) for _ in range(self.random.randint(1, 12)))

    def decomposed(self):
        text = self.script() + self.some(self.decomposable, 1, 10)
        return unicodedata.normalize(self.pick(["NFD", "NFKD", "NFC", "NFD"]), text)

    def hangul(self):
        return self.some(SYLLABLES + [chr(0x1100 + i) for i in range(0, 256, 7)], 1, 20)

    def long_word(self):
        letters = self.pick(["abcdefghijklmnopqrstuvwxyz", "ab", "a", "ABCDEFabcdef0123456789+/", "人工智能", "éèê", "-", "="])
        return self.some(letters, 30, 400)

    def punctuation(self):
        return self.some(list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["。", "、", "…", "¿", " ", "\n", "\r"], 1, 40)

    def contractions(self):
        words = ["'s", "'S", "'t", "'re", "'RE", "'Ve", "'m", "'ll", "'LL", "'d", "'x", "'", "''", "'ſ", "'r", "'l", "’s"]
        return self.some(words + ["it", " ", "é", "1", "\u0301"], 1, 12)

    def line(self):
        return self.some_kinds()

    def some_kinds(self):
        return self.pick(["", " ", "", "\n"]).join(self.pick(self.kinds)() for _ in range(self.random.randint(1, 4)))

    def broken(self):
        """Bytes that are not UTF-8: a text with bytes cut out, put in or changed. No line feeds, which end a line."""
        while True:
            data = self.damaged()
            if self.known.issuperset(data.decode("utf-8", "replace")):  # chance may have made a newer character
                return data

    def damaged(self):
        data = bytearray(self.some_kinds().encode("utf-8", "surrogatepass"))
        for _ in range(self.random.randint(1, 6)):
            at = self.random.randrange(len(data) + 1)
            kind = self.random.randrange(4)
            if kind == 0:
                del data[at : at + self.random.randint(1, 3)]
            elif kind == 1:
                data[at:at] = self.random.randbytes(self.random.randint(1, 4))
            elif kind == 2:
                data[at:at] = self.pick([b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80\x80", b"\xe0\x9f\xbf"])
            elif data:
                data[at - 1] = self.random.randrange(256)
        return bytes(data).replace(b"\n", b" ")
