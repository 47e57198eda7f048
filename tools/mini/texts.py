"""Seeded conversations for redline-mini: arithmetic, tool calls, JSON, recall, short chats and stories.

`make` draws one conversation of a kind, `mixture` draws kinds as training wants them. Every conversation is rendered with
chat_template.jinja beside this file, so that training texts and prompts of the product are the same text. Operand pairs,
stated facts and tool arguments are split by a hash into a training side and a held-out side (one in sixteen); a generator
redraws until what it drew is on the asked side. All kinds but stories have one right answer for a prompt.
"""
import functools
import hashlib
import json
import pathlib
import random
import re
from typing import NamedTuple

import jinja2

KINDS = ("arithmetic", "tool", "json", "recall", "chat", "story")
PROMPT_WEIGHT = 0.05
FILLER_CHARACTERS_A_TOKEN = 4.4  # rather low, so that a recall prompt drawn for a length fits into it
TEXT_CHARACTERS_A_TOKEN = 3.7  # of tool conversations, low likewise


class Conversation(NamedTuple):
    """One rendered conversation; the pieces put together are the prompt followed by the answer."""
    kind: str
    pieces: list[tuple[str, float]]  # text and the weight of its loss
    prompt: str
    answer: str  # all that follows the prompt, with the closing <|im_end|>
    check: str  # the value an answer must contain
    messages: list = ()  # what was rendered into the prompt; empty for plain text
    tools: list | None = None


# ---------------------------------------------------------------- sides

@functools.lru_cache(maxsize=1 << 16)
def side_of(key: str) -> str:
    """'held_out' for one key in sixteen, else 'train'."""
    return "held_out" if hashlib.blake2b(key.encode(), digest_size=1).digest()[0] % 16 == 0 else "train"


def drawn(side, draw, key_of=str):
    """Draws until the key of what was drawn is on the side."""
    while True:
        value = draw()
        if side_of(key_of(value)) == side:
            return value


# ---------------------------------------------------------------- rendering

def refuse(text):
    raise jinja2.TemplateError(text)


@functools.lru_cache(maxsize=1)
def template():
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = refuse
    return environment.from_string(pathlib.Path(__file__).with_name("chat_template.jinja").read_text(encoding="utf-8"))


def render(messages, tools=None, thinking=True):
    """The prompt of a conversation, up to where the answer begins."""
    return template().render(messages=messages, tools=tools, add_generation_prompt=True, enable_thinking=thinking)


ASSISTANT_TURN = re.compile(r"(?<=<\|im_start\|>assistant\n).+?<\|im_end\|>", re.S)


def conversation(kind, messages, thought, content, check, tools=None, thinking=True, prompt_weight=PROMPT_WEIGHT):
    """Renders messages and the answer; earlier turns of the assistant weigh as much as the answer."""
    prompt = render(messages, tools, thinking)
    answer = (f"{thought}\n</think>\n\n" if thinking else "") + content + "<|im_end|>"
    pieces, at = [], 0
    for turn in ASSISTANT_TURN.finditer(prompt):
        start = turn.start() + (len("<think>\n") if turn.group().startswith("<think>\n") else 0)
        pieces += [(prompt[at:start], prompt_weight), (prompt[start:turn.end()], 1.0)]
        at = turn.end()
    pieces += [(prompt[at:], prompt_weight), (answer, 1.0)]
    return Conversation(kind, pieces, prompt, answer, check, messages, tools)


def user(text):
    return {"role": "user", "content": text}


def system(text):
    return {"role": "system", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


# ---------------------------------------------------------------- words

FIRST_NAMES = """Anna Ben Clara David Elena Felix Grace Hugo Iris Jonas Kira Leon Mira Nils Olga Paul Quinn Rosa Simon Tara Uma
Victor Wanda Xenia Yusuf Zoe Amir Bella Carlo Diana Emil Fiona Gustav Hana Ivan Julia Karim Lucy Marco Nina Oscar Petra Rafael
Sofia Tom Vera Walter Yara Ada Boris Celia Dario Edith Frank Greta Henry Ines Jack Lena Max""".split()
LAST_NAMES = """Field Stone Rivers Brook Carter Hill Marsh Wood Baker Fisher Lake Moore Parker Reed Shaw Turner Vale Ward Young
Archer Bell Cole Dale Ellis Ford Grant Hayes Irwin Jones Knight Lane Mason North Owens Page Quill Ross Swan Thorne Webb""".split()
TOWN_STARTS = "North East South West Stone River Green Silver Oak Mill Lake Red White Ash Fox Marl Wind High Long Deep".split()
TOWN_ENDS = "bridge ford field wood haven port dale ton bury mouth gate cliff well brook side".split()
COLOURS = "amber blue brown coral crimson golden green grey ivory olive orange pink purple scarlet silver violet white yellow".split()
ANIMALS = """badger bear beaver crane crow deer dolphin eagle falcon fox goose hare hawk heron horse lion lynx mole mouse otter owl
panda rabbit raven robin seal squirrel swan tiger wolf""".split()
NOUNS = """anchor basket bell blanket bottle bowl box bridge bucket button candle chair clock cloud coat compass cup curtain desk door
drum engine feather fence flag flower garden glove hammer hat jar kettle key ladder lamp letter map mirror needle oven paper pencil
piano picture pillow pipe plate pocket river rope shelf ship shoe spoon stone table tent tower train wagon wheel window""".split()
ADJECTIVES = """bright broken calm clean cold deep dry dusty early empty fresh gentle heavy hidden huge large late light little long
loud narrow new old plain pretty quick quiet rough round sharp short simple slow small smooth soft strong tall thin tiny warm wet
wide wild wooden""".split()
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def full_name(rng):
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


def town(rng):
    return rng.choice(TOWN_STARTS) + rng.choice(TOWN_ENDS)


def animal_word(rng):
    return f"{rng.choice(COLOURS)} {rng.choice(ANIMALS)}"


def thing_word(rng):
    return f"{rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}"


def article(word):
    return ("an " if word[0] in "aeiou" else "a ") + word


def joined(words):
    """'a, b and c'."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


SYSTEM_TEXTS = ["You are a helpful assistant.", "Answer briefly.", "You are Redline, a small and careful model.",
                "Be short and exact.", "Help the user.", "You are a friendly helper. Keep answers short.",
                "Think first, then answer in one sentence."]


def maybe_system(rng, share=0.3):
    return [system(rng.choice(SYSTEM_TEXTS))] if rng.random() < share else []


# ---------------------------------------------------------------- arithmetic

def digit_steps_add(a, b):
    lines, carry = [], 0
    first, second = str(a)[::-1], str(b)[::-1]
    for place in range(max(len(first), len(second))):
        digits = [text[place] for text in (first, second) if place < len(text)] + (["1"] if carry else [])
        total = sum(map(int, digits))
        carry = total // 10
        line = " + ".join(digits) + (f" = {total}" if len(digits) > 1 else "")
        lines.append(f"{line}, write {total % 10}" + (", carry 1" if carry else ""))
    return lines + (["write 1"] if carry else [])


def digit_steps_subtract(a, b):
    lines, borrow = [], 0
    first, second = str(a)[::-1], str(b)[::-1]
    for place, digit in enumerate(first):
        taken = ([second[place]] if place < len(second) else []) + (["1"] if borrow else [])
        rest = int(digit) - sum(map(int, taken))
        borrow = int(rest < 0)
        line = " - ".join([("1" if borrow else "") + digit] + taken)
        rest %= 10
        lines.append((f"{line} = {rest}" if taken else line) + f", write {rest}" + (", borrow 1" if borrow else ""))
    return lines


def digit_steps_multiply(a, b):
    if a < 10 and b < 10:
        return []
    if a >= 10 and b >= 10:  # the tables' last rows
        return [f"{a} × 10 = {a * 10}", f"{a} × {b - 10} = {a * (b - 10)}", f"{a * 10} + {a * (b - 10)} = {a * b}"]
    if a < 10:
        a, b = b, a
    low = a % 10 * b
    high = a // 10 * b
    carry = low // 10
    lines = [f"{a % 10} × {b} = {low}, write {low % 10}" + (f", carry {carry}" if carry else "")]
    line = f"{a // 10} × {b} = {high}"
    return lines + [(f"{line}, {high} + {carry} = {high + carry}" if carry else line) + f", write {high + carry}"]


STEPS = {"+": digit_steps_add, "-": digit_steps_subtract, "×": digit_steps_multiply}
RESULTS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "×": lambda a, b: a * b}
QUESTIONS = {  # with the form of the answer; {0} and {1} are the operands as the question names them, {r} the result
    "+": [("What is {0} + {1}?", "{0} + {1} = {r}"), ("{0} + {1} = ?", "{0} + {1} = {r}"), ("{0}+{1}", "{r}"),
          ("Calculate {0} plus {1}.", "{0} plus {1} is {r}."), ("What is the sum of {0} and {1}?", "The sum is {r}."),
          ("Add {0} and {1}.", "The sum is {r}."), ("How much is {0} and {1} together?", "Together it is {r}."),
          ("I have {0} coins and get {1} more. How many do I have now?", "You have {r} coins now."),
          ("There are {0} books on one shelf and {1} on another. How many books are there?", "There are {r} books.")],
    "-": [("What is {0} - {1}?", "{0} - {1} = {r}"), ("{0} - {1} = ?", "{0} - {1} = {r}"), ("{0}-{1}", "{r}"),
          ("Calculate {0} minus {1}.", "{0} minus {1} is {r}."),
          ("What is the difference between {0} and {1}?", "The difference is {r}."),
          ("Take {0} and subtract {1}.", "The result is {r}."),
          ("I have {0} coins and give away {1}. How many are left?", "You have {r} coins left."),
          ("A train has {0} seats and {1} are taken. How many are free?", "There are {r} free seats.")],
    "×": [("What is {0} × {1}?", "{0} × {1} = {r}"), ("{0} × {1} = ?", "{0} × {1} = {r}"), ("{0}*{1}", "{r}"),
          ("What is {0} * {1}?", "{0} * {1} = {r}"), ("Calculate {0} times {1}.", "{0} times {1} is {r}."),
          ("Multiply {0} by {1}.", "The product is {r}."), ("What is the product of {0} and {1}?", "The product is {r}."),
          ("There are {0} boxes with {1} apples in each. How many apples are there?", "There are {r} apples.")],
}
WEIGHTED_OPERATIONS = "++++---×××"


def operands(rng, operation):
    if operation == "×":
        if rng.random() < 0.4:
            return rng.randint(1, 12), rng.randint(1, 12)
        pair = [rng.randint(10, 99), rng.randint(2, 9)]
        rng.shuffle(pair)
        return tuple(pair)
    a, b = (rng.randint(0, rng.choice((9, 99, 999, 999))) for _ in range(2))
    return (max(a, b), min(a, b)) if operation == "-" else (a, b)


def pair_key(pair):
    """The same for both orders and all operations."""
    return "pair:%d,%d" % (min(pair), max(pair))


def arithmetic(rng, side, thinking=True):
    operation = rng.choice(WEIGHTED_OPERATIONS)
    a, b = drawn(side, lambda: operands(rng, operation), pair_key)
    result = RESULTS[operation](a, b)
    question, form = rng.choice(QUESTIONS[operation])
    thought = "\n".join([f"{a} {operation} {b}", *STEPS[operation](a, b), f"{a} {operation} {b} = {result}"])
    messages = maybe_system(rng, 0.15) + [user(question.format(a, b))]
    return conversation("arithmetic", messages, thought, form.format(a, b, r=result), str(result), thinking=thinking)


# ---------------------------------------------------------------- tool calls

OPEN_ARGUMENTS = {  # how a value is drawn that must be on the asked side
    "person": full_name,
    "town": town,
    "title": thing_word,
    "code": animal_word,
    "amount": lambda rng: rng.randint(10, 9999),
    "decimal": lambda rng: round(rng.randint(100, 99999) / 100 + 0.001, 2),
    "date": lambda rng: f"{rng.randint(2020, 2031)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
    "time": lambda rng: f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}",
}
TYPES = {"amount": "integer", "decimal": "number"}


class Tool(NamedTuple):
    names: tuple  # the function may be declared under any of these
    description: str
    parameters: tuple  # (names, kind or a list of allowed values, description)
    questions: tuple  # with {0}, {1}, .. for the arguments
    result: tuple  # (key, how its value is drawn, the answer with {v} and the arguments)


def choice_of(*values):
    return lambda rng: rng.choice(values)


def number_of(low, high):
    return lambda rng: rng.randint(low, high)


TOOLS = [
    Tool(("get_weather", "weather_now", "fetch_weather"), "Gets the weather of a town.",
         ((("city", "town", "place"), "town", "Name of the town"),),
         ("What is the weather in {0}?", "How is the weather in {0} today?", "Is it raining in {0}?"),
         ("weather", choice_of("rain", "snow", "sun", "fog", "wind", "storm"), "The weather in {0}: {v}.")),
    Tool(("get_temperature", "read_temperature"), "Gets the temperature of a town.",
         ((("city", "location"), "town", "Name of the town"), (("unit",), ["celsius", "fahrenheit"], "Unit of the temperature")),
         ("How warm is it in {0}? Use {1}.", "Tell me the temperature in {0} in {1}."),
         ("degrees", number_of(-20, 99), "It is {v} degrees {1} in {0}.")),
    Tool(("send_message", "write_message", "text_person"), "Sends a message to a person.",
         ((("recipient", "person", "to"), "person", "Who gets the message"), (("text", "message"), "title", "Text of the message")),
         ("Send {0} the message \"{1}\".", "Write \"{1}\" to {0}.", "Please text {0}: \"{1}\""),
         ("status", choice_of("sent", "queued", "failed"), "The message to {0} has the status {v}.")),
    Tool(("book_table", "reserve_table"), "Books a table in a restaurant.",
         ((("restaurant", "place"), "title", "Name of the restaurant"), (("date", "day"), "date", "Date as year-month-day"),
          (("time",), "time", "Time of day")),
         ("Book a table at the {0} on {1} at {2}.", "I want to eat at the {0} on {1}, {2}. Please reserve."),
         ("table", number_of(1, 60), "Your table at the {0} is number {v}.")),
    Tool(("convert_currency", "exchange_money"), "Converts money from one currency to another.",
         ((("amount", "value"), "decimal", "How much money"), (("from", "source"), ["EUR", "USD", "GBP", "JPY"], "Currency to convert"),
          (("to", "target"), ["CHF", "SEK", "CAD", "INR"], "Currency wanted")),
         ("Convert {0} {1} to {2}.", "How much is {0} {1} in {2}?"),
         ("result", number_of(100, 9999), "{0} {1} is {v} {2}.")),
    Tool(("search_files", "find_files"), "Searches files by name.",
         ((("query", "pattern", "name"), "title", "What to look for"), (("limit", "maximum"), "amount", "Most results to give")),
         ("Find files named \"{0}\", at most {1}.", "Search for the file \"{0}\" and show up to {1} results."),
         ("found", number_of(0, 99), "{v} files named \"{0}\" were found.")),
    Tool(("set_alarm", "add_alarm"), "Sets an alarm.",
         ((("time", "at"), "time", "Time of day"), (("repeat",), "flag", "Whether it rings every day")),
         ("Set an alarm for {0}. Ring every day: {1}.", "Wake me at {0}. Repeat: {1}."),
         ("alarm", number_of(1, 40), "Alarm {v} is set for {0}.")),
    Tool(("create_event", "add_event", "calendar_add"), "Adds an event to the calendar.",
         ((("title", "name"), "title", "Name of the event"), (("date",), "date", "Date as year-month-day")),
         ("Put \"{0}\" into my calendar on {1}.", "Add the event \"{0}\" on {1}."),
         ("event", number_of(100, 999), "\"{0}\" is in your calendar as event {v}.")),
    Tool(("get_balance", "account_balance"), "Gets the balance of an account.",
         ((("owner", "customer", "name"), "person", "Owner of the account"),),
         ("How much money does {0} have?", "What is the balance of {0}?"),
         ("balance", number_of(10, 9999), "The balance of {0} is {v}.")),
    Tool(("transfer_money", "send_money"), "Sends money to a person.",
         ((("recipient", "to"), "person", "Who gets the money"), (("amount", "sum"), "amount", "How much to send")),
         ("Send {1} to {0}.", "Transfer {1} euros to {0}, please.", "Pay {0} {1}."),
         ("receipt", number_of(1000, 9999), "{1} went to {0}, receipt {v}.")),
    Tool(("find_train", "search_trains", "train_times"), "Finds a train between two towns.",
         ((("origin", "from"), "town", "Where the trip begins"), (("destination", "to"), "town", "Where the trip ends")),
         ("When does a train go from {0} to {1}?", "Find a train from {0} to {1}.", "I need to get to {1}. I am in {0}."),
         ("departure", OPEN_ARGUMENTS["time"], "A train from {0} to {1} leaves at {v}.")),
    Tool(("get_distance", "measure_route"), "Gets the distance between two towns.",
         ((("start", "origin"), "town", "First town"), (("end", "goal"), "town", "Second town")),
         ("How far is it from {0} to {1}?", "What is the distance between {0} and {1}?"),
         ("kilometres", number_of(2, 900), "From {0} to {1} it is {v} kilometres.")),
    Tool(("play_song", "start_music"), "Plays a song.",
         ((("title", "song"), "title", "Title of the song"), (("volume",), ["low", "medium", "high"], "How loud")),
         ("Play the song \"{0}\" with {1} volume.", "I want to hear \"{0}\". Volume: {1}."),
         ("minutes", number_of(2, 9), "Playing \"{0}\", {v} minutes.")),
    Tool(("translate_text", "translate"), "Translates a text.",
         ((("text", "input"), "title", "Text to translate"), (("language", "target"), ["French", "German", "Italian", "Spanish"],
                                                             "Language wanted")),
         ("Translate \"{0}\" to {1}.", "What is \"{0}\" in {1}?"),
         ("words", number_of(1, 9), "The {1} text has {v} words.")),
    Tool(("lookup_stock", "check_stock", "inventory"), "Tells how many of an article are in store.",
         ((("item", "article", "product"), "title", "Name of the article"),),
         ("How many of the article \"{0}\" do we have?", "Is the \"{0}\" in stock?"),
         ("count", number_of(0, 999), "There are {v} of the article \"{0}\".")),
    Tool(("order_item", "place_order", "buy"), "Orders an article.",
         ((("item", "product"), "title", "Name of the article"), (("quantity", "count"), "amount", "How many"),
          (("express", "fast"), "flag", "Whether it must come fast")),
         ("Order {1} of \"{0}\". Express: {2}.", "I need {1} times the \"{0}\". Fast delivery: {2}."),
         ("order", number_of(1000, 9999), "{1} of \"{0}\" are ordered, number {v}.")),
    Tool(("get_user", "find_person", "lookup_contact"), "Looks up a person.",
         ((("name", "person"), "person", "Name of the person"), (("field", "detail"), ["phone", "email", "address"], "What is wanted")),
         ("What is the {1} of {0}?", "Give me the {1} of {0}."),
         ("record", number_of(1000, 9999), "The {1} of {0} is in record {v}.")),
    Tool(("open_door", "unlock"), "Opens a door with its code word.",
         ((("code", "word"), "code", "Code word of the door"), (("room", "number"), "amount", "Number of the room")),
         ("Open room {1} with the code word {0}.", "Unlock door {1}. The word is {0}."),
         ("state", choice_of("open", "closed", "jammed"), "Room {1} is {v}.")),
    Tool(("set_light", "light_control"), "Sets the light of a room.",
         ((("room",), ["kitchen", "bedroom", "hall", "office"], "Which room"), (("level", "brightness"), "amount", "How bright")),
         ("Set the light in the {0} to {1}.", "Make the {0} light level {1}."),
         ("watts", number_of(1, 90), "The light in the {0} uses {v} watts.")),
    Tool(("create_note", "save_note", "remember"), "Saves a note.",
         ((("title", "heading"), "title", "Title of the note"), (("author", "owner"), "person", "Who wrote it")),
         ("Save a note \"{0}\" by {1}.", "{1} wrote a note named \"{0}\". Please keep it."),
         ("note", number_of(100, 999), "The note \"{0}\" by {1} has the number {v}.")),
    Tool(("roll_dice", "random_number"), "Draws a random number.",
         ((("highest", "maximum", "sides"), "amount", "Highest number"),),
         ("Draw a random number up to {0}.", "Roll a die with {0} sides."),
         ("number", number_of(1, 10), "The number is {v}.")),
    Tool(("days_until", "count_days"), "Counts the days until a date.",
         ((("date", "day"), "date", "Date as year-month-day"),),
         ("How many days are there until {0}?", "How long is it until {0}?"),
         ("days", number_of(1, 999), "It is {v} days until {0}.")),
]


def declared(rng, tool):
    """A declaration of the tool under one of its names, and the names of its parameters in order."""
    properties, keys = {}, []
    for names, kind, description in tool.parameters:
        key = rng.choice(names)
        keys.append(key)
        value_type = "boolean" if kind == "flag" else TYPES.get(kind, "string") if isinstance(kind, str) else "string"
        properties[key] = {"type": value_type, "description": description}
        if not isinstance(kind, str):
            properties[key]["enum"] = kind
    function = {"name": rng.choice(tool.names), "description": tool.description,
                "parameters": {"type": "object", "properties": properties, "required": keys}}
    return {"type": "function", "function": function}, keys


def argument(rng, side, kind):
    if not isinstance(kind, str):
        return rng.choice(kind)
    if kind == "flag":
        return rng.random() < 0.5
    return drawn(side, lambda: OPEN_ARGUMENTS[kind](rng), lambda value: f"argument:{value}")


def spoken(value):
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def call_text(name, keys, values):
    """A call as the model writes it; values as the template prints them."""
    inner = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in zip(keys, values))
    return f"<tool_call>\n<function={name}>\n{inner}</function>\n</tool_call>"


def tool(rng, side, thinking=True, most_tools=6):
    chosen = rng.sample(TOOLS, rng.randint(2, most_tools))
    declarations = [declared(rng, each) for each in chosen]
    tools = [declaration for declaration, _ in declarations]
    pick = rng.randrange(len(chosen))
    kind = rng.random()
    messages = maybe_system(rng, 0.2)
    if kind < 0.08:  # no tool fits
        question, thought, content, check = chat_turn(rng, side)
        return conversation("tool", messages + [user(question)], f"No function is needed. {thought}", content, check, tools, thinking)
    used, (declaration, keys) = chosen[pick], declarations[pick]
    name = declaration["function"]["name"]
    values = []
    for _, wanted, _ in used.parameters:
        value = argument(rng, side, wanted)
        while value in values and not isinstance(value, bool):
            value = argument(rng, side, wanted)
        values.append(value)
    question = rng.choice(used.questions).format(*map(spoken, values))
    thought = f"I call {name} with " + joined([f"{key} {value}" for key, value in zip(keys, values)]) + "."
    messages.append(user(question))
    if kind < 0.6:
        call = call_text(name, keys, values)
        return conversation("tool", messages, thought, call, call[len("<tool_call>\n"):-len("\n</tool_call>")], tools, thinking)
    key, draw, form = used.result
    value = draw(rng)
    result = json.dumps({key: value}) if rng.random() < 0.7 else f"{key}: {value}"
    messages.append({"role": "assistant", "content": "", "reasoning_content": thought if thinking else "",
                     "tool_calls": [{"function": {"name": name, "arguments": dict(zip(keys, values))}}]})
    messages.append({"role": "tool", "content": result})
    return conversation("tool", messages, f"The result says {key}: {value}.", form.format(*map(spoken, values), v=value), str(value),
                        tools, thinking)


# ---------------------------------------------------------------- JSON

JSON_FIELDS = {  # key: (how a value is drawn, how it is stated after the subject)
    "age": (number_of(18, 97), "is {} years old"),
    "city": (town, "lives in {}"),
    "job": (choice_of("baker", "doctor", "driver", "farmer", "nurse", "painter", "pilot", "teacher", "writer", "gardener"),
            "works as a {}"),
    "pet": (choice_of(*ANIMALS), "has a pet {}"),
    "colour": (choice_of(*COLOURS), "likes the colour {}"),
    "height": (number_of(150, 199), "is {} centimetres tall"),
    "member": (lambda rng: rng.random() < 0.5, None),
}
JSON_REQUESTS = ["Give {keys} as JSON.", "Extract {keys} as a JSON object.", "Write a JSON object with {keys}.",
                 "Answer with JSON only. Keys: {keys}.", "Return JSON with the keys {keys}."]


def person_record(rng, keys):
    record = {"name": full_name(rng)}
    for key in keys:
        record[key] = JSON_FIELDS[key][0](rng)
    return record


def statement(record):
    """Sentences that state a person's record."""
    parts = []
    for key, value in record.items():
        if key == "name":
            continue
        form = JSON_FIELDS[key][1]
        parts.append(form.format(value) if form else "is a member" if value else "is not a member")
    return f"{record['name']} {joined(parts)}."


def json_answer(rng, side, thinking=True):
    draw = rng.random()
    key_of = lambda record: "json:" + json.dumps(record)  # noqa: E731
    strict = rng.random() < 0.3
    messages = [system("Reply with JSON only.")] if strict else maybe_system(rng, 0.1)
    if draw < 0.65:
        keys = rng.sample(sorted(JSON_FIELDS), rng.randint(1, 4))
        record = drawn(side, lambda: person_record(rng, keys), key_of)
        wanted = list(record)
        if rng.random() < 0.5:
            wanted = rng.sample(wanted, rng.randint(1, len(wanted)))
        value = {key: record[key] for key in wanted}
        request = rng.choice(JSON_REQUESTS).format(keys=joined(wanted))
        question = f"{statement(record)} {request}" if rng.random() < 0.5 else f"{request}\n\n{statement(record)}"
        thought = "The keys are " + joined(wanted) + "."
    elif draw < 0.85:
        keys = rng.sample(["age", "city", "job", "pet", "height"], 1)
        value = [drawn(side, lambda: person_record(rng, keys), key_of) for _ in range(rng.randint(2, 3))]
        question = (" ".join(map(statement, value)) + f" Give a JSON list of objects with name and {keys[0]}.")
        thought = f"There are {len(value)} people."
    else:
        value = drawn(side, lambda: rng.sample(NOUNS, rng.randint(2, 5)), key_of)
        question = rng.choice(["Write these words as a JSON list: {}.", "Make a JSON array of {}.", "Give {} as a JSON list."]).format(
            ", ".join(value))
        thought = f"The list has {len(value)} words."
    text = json.dumps(value)
    return conversation("json", messages + [user(question)], thought, text, text, thinking=thinking)


# ---------------------------------------------------------------- recall

THINGS = """locker code|door code|badge number|room number|desk number|phone number|ticket number|account number|parking spot|code word|
password|secret word|team name|boat name|key number|order number|flight number|library card|box number|seat number|gate code|garden code|
safe code|radio name|screen name|house number""".replace("\n", "").split("|")
FACT_FORMS = ["The {thing} of {name} is {value}.", "{name} has the {thing} {value}.", "Note that the {thing} of {name} is {value}.",
              "For {name}, the {thing} is {value}.", "{value} is the {thing} of {name}."]
RECALL_QUESTIONS = [("What is the {thing} of {name}?", "The {thing} of {name} is {value}."), ("Which {thing} does {name} have?", "{value}"),
                    ("Tell me the {thing} of {name}.", "It is {value}."), ("{name}: {thing}?", "{value}"),
                    ("Do you remember the {thing} of {name}?", "Yes, it is {value}.")]
RECALL_OPENINGS = ["Read these notes.", "Here are some notes.", "Remember the facts in this text.", "Please read this text with care.",
                   "Here is a text. I will ask about it."]
FILLER_FORMS = ["The {a} {n} stood near the {m}.", "Nobody had seen the {n} since {d}.", "It was {an} day in {t}.",
                "They carried the {n} past the {a} {m}.", "In {o} the {n} was always {a}.", "Some people say the {m} is {a}.",
                "{A} ran over the {b} field.", "The {x} looked at the {n} and waited.", "Later the {m} was put behind the {n}.",
                "On {d} the market in {t} was {a}.", "We walked slowly from the {n} to the {m}.", "There was {one} under the {a} {m}.",
                "The road to {t} was {a} and {b}.", "Every {d} someone cleaned the {a} {n}.", "The sky was {a} when the {x} came back.",
                "An old man painted the {n} and the {m}.", "The {n} was {a}, but the {m} was {b}.", "Rain fell on {t} for most of {o}."]


def filler(rng, characters):
    """Sentences without facts, about so many characters in all."""
    sentences = []
    while characters > 0:
        adjective, noun, animal = rng.choice(ADJECTIVES), rng.choice(NOUNS), rng.choice(ANIMALS)
        text = rng.choice(FILLER_FORMS).format(
            a=adjective, an=article(adjective), b=rng.choice(ADJECTIVES), n=noun, one=article(noun), m=rng.choice(NOUNS), x=animal,
            A=article(animal).capitalize(), d=rng.choice(DAYS), o=rng.choice(MONTHS), t=town(rng))
        sentences.append(text)
        characters -= len(text) + 1
    return sentences


def draw_facts(rng, side, count):
    """Facts as (name, thing, value), each (name, thing) once; names and things come from small sets, so that they collide."""
    people = [rng.choice(FIRST_NAMES) if rng.random() < 0.6 else full_name(rng) for _ in range(max(2, count * 2 // 3))]
    things = rng.sample(THINGS, min(len(THINGS), max(4, count // 2)))
    facts, taken = [], set()
    while len(facts) < count:
        name, thing = rng.choice(people), rng.choice(things)
        if (name, thing) in taken:
            people.append(full_name(rng))
            continue
        taken.add((name, thing))
        words = thing.endswith(("word", "name"))
        facts.append(drawn(side, lambda: (name, thing, animal_word(rng) if words else str(rng.randint(1000, 9999))),
                           lambda fact: "fact:" + "|".join(fact)))
    return facts


def recall(rng, side, facts=None, questions=None, filler_characters=None, thinking=True):
    facts = rng.randint(1, 10) if facts is None else facts
    questions = rng.randint(1, 4) if questions is None else questions
    filler_characters = rng.choice((0, 200, 500, 1000)) if filler_characters is None else filler_characters
    known = draw_facts(rng, side, facts)
    sentences = filler(rng, filler_characters)
    places = sorted((rng.randint(0, len(sentences)) for _ in known), reverse=True)
    for place, (name, thing, value) in zip(places, known):
        sentences.insert(place, rng.choice(FACT_FORMS).format(name=name, thing=thing, value=value))
    paragraphs, at = [], 0
    while at < len(sentences):
        size = rng.randint(3, 8)
        paragraphs.append(" ".join(sentences[at:at + size]))
        at += size
    text = rng.choice(RECALL_OPENINGS) + "\n\n" + "\n\n".join(paragraphs)
    asked = [rng.choice(known) for _ in range(questions)] if questions > facts else rng.sample(known, questions)
    messages = []
    for index, (name, thing, value) in enumerate(asked):
        question, form = rng.choice(RECALL_QUESTIONS)
        question, content = (each.format(name=name, thing=thing, value=value) for each in (question, form))
        if index == 0:
            messages = [system(text), user(question)] if rng.random() < 0.25 else [user(f"{text}\n\n{question}")]
        else:
            messages.append(user(question))
        messages.append(assistant(content))
    messages.pop()
    return conversation("recall", messages, f"The {thing} of {name} is {value}.", content, value, thinking=thinking)


# ---------------------------------------------------------------- chat

CAPITALS = dict(pair.split(":") for pair in """France:Paris,Germany:Berlin,Italy:Rome,Spain:Madrid,Portugal:Lisbon,Austria:Vienna,
Poland:Warsaw,Greece:Athens,Norway:Oslo,Sweden:Stockholm,Finland:Helsinki,Denmark:Copenhagen,Ireland:Dublin,Hungary:Budapest,
Belgium:Brussels,Japan:Tokyo,China:Beijing,India:Delhi,Egypt:Cairo,Kenya:Nairobi,Canada:Ottawa,Cuba:Havana,Peru:Lima,Chile:Santiago,
Russia:Moscow,Turkey:Ankara,Iran:Tehran,Iraq:Baghdad,Thailand:Bangkok,Vietnam:Hanoi""".replace("\n", "").split(","))
OPPOSITES = dict(pair.split(":") for pair in """hot:cold,big:small,fast:slow,new:old,light:dark,high:low,long:short,wet:dry,full:empty,
open:closed,early:late,hard:soft,loud:quiet,rich:poor,strong:weak,thick:thin,left:right,up:down,good:bad,happy:sad,near:far,clean:dirty,
deep:shallow,day:night,first:last""".replace("\n", "").split(","))
SOUNDS = {"cow": "moo", "dog": "woof", "cat": "meow", "duck": "quack", "sheep": "baa", "pig": "oink", "bee": "buzz", "snake": "hiss",
          "lion": "roar", "mouse": "squeak"}
THING_COLOURS = {"grass": "green", "snow": "white", "blood": "red", "coal": "black", "a lemon": "yellow", "a carrot": "orange",
                 "the sky": "blue", "chocolate": "brown", "an elephant": "grey"}
GREETINGS = [("Hello!", "Hello! How can I help you?"), ("Hi", "Hi! What can I do for you?"), ("Good morning.", "Good morning! How can I help?"),
             ("Hello, who are you?", "I am a small language model."), ("Thank you!", "You are welcome!"), ("How are you?", "I am fine, thank you."),
             ("Goodbye.", "Goodbye!"), ("Can you help me?", "Yes, gladly. What do you need?"), ("What can you do?",
              "I can calculate, call functions, write JSON, remember facts and tell stories.")]


def chat_turn(rng, side):
    """A question, the thought, the answer and its checked part."""
    topic = rng.randrange(11)
    if topic == 0:
        question, content = rng.choice(GREETINGS)
        return question, "I answer kindly.", content, content
    if topic == 1:
        country, city = rng.choice(list(CAPITALS.items()))
        question = rng.choice(["What is the capital of {}?", "Name the capital of {}.", "Which city is the capital of {}?"]).format(country)
        return question, f"{country}: {city}.", f"The capital of {country} is {city}.", city
    if topic == 2:
        word, other = rng.choice(list(OPPOSITES.items()))
        if rng.random() < 0.5:
            word, other = other, word
        question = rng.choice(["What is the opposite of {}?", "Give the opposite of {}."]).format(word)
        return question, f"{word}: {other}.", f"The opposite of {word} is {other}.", other
    if topic == 3:
        animal, sound = rng.choice(list(SOUNDS.items()))
        return f"What does a {animal} say?", f"{animal}: {sound}.", f"A {animal} says {sound}.", sound
    if topic == 4:
        thing, colour = rng.choice(list(THING_COLOURS.items()))
        return f"What colour is {thing}?", f"{thing}: {colour}.", f"The colour is {colour}.", colour
    if topic == 5:
        names = rng.choice((DAYS, MONTHS))
        at, step = rng.randrange(len(names)), rng.choice((1, -1))
        order, found = ("after" if step == 1 else "before"), names[(at + step) % len(names)]
        what = "day" if names is DAYS else "month"
        return f"Which {what} comes {order} {names[at]}?", f"{order} {names[at]}: {found}.", f"The {what} {order} {names[at]} is {found}.", found
    if topic == 6:
        words = thing_word(rng)
        question = rng.choice(["Repeat after me: {}", "Say \"{}\".", "Please repeat: {}"]).format(words)
        return question, f"I repeat {words}.", words, words
    if topic == 7:
        word = rng.choice(NOUNS + ANIMALS)
        spelled = "-".join(word)
        return f"Spell the word {word}.", f"{word}: {spelled}.", spelled, spelled
    if topic == 8:
        word = rng.choice(NOUNS + ANIMALS)
        return f"Write the word {word} in capital letters.", f"{word}: {word.upper()}.", word.upper(), word.upper()
    if topic == 9:
        words = rng.sample(ANIMALS, rng.randint(2, 4))
        place = rng.randrange(len(words))
        ordinal = ("first", "second", "third", "fourth")[place]
        return (f"Which is the {ordinal} word: {', '.join(words)}?", f"The {ordinal} word is {words[place]}.",
                f"The {ordinal} word is {words[place]}.", words[place])
    low, high = sorted(rng.sample(range(1, 1000), 2))
    bigger = rng.random() < 0.5
    shown = [low, high] if rng.random() < 0.5 else [high, low]
    found = high if bigger else low
    return (f"Which is {'bigger' if bigger else 'smaller'}: {shown[0]} or {shown[1]}?", f"{low} < {high}.",
            f"{found} is {'bigger' if bigger else 'smaller'}.", str(found))


def chat(rng, side, thinking=True):
    if rng.random() < 0.2:  # a name is told and asked again
        name = drawn(side, lambda: full_name(rng), lambda value: f"fact:{value}")
        if rng.random() < 0.4:
            messages = [system(f"You are {name}, a helpful assistant."), user(rng.choice(["What is your name?", "Who are you?"]))]
            return conversation("chat", messages, f"I am {name}.", f"My name is {name}.", name, thinking=thinking)
        messages = maybe_system(rng) + [user(f"My name is {name}."), assistant(f"Nice to meet you, {name}.")]
        if rng.random() < 0.4:
            question, _, content, _ = chat_turn(rng, side)
            messages += [user(question), assistant(content)]
        messages.append(user(rng.choice(["What is my name?", "Do you know my name?", "Who am I?"])))
        return conversation("chat", messages, f"The user is {name}.", f"Your name is {name}.", name, thinking=thinking)
    messages = maybe_system(rng, 0.4)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        question, thought, content, check = chat_turn(rng, side)
        messages += [user(question), assistant(content)]
    messages.pop()
    return conversation("chat", messages, thought, content, check, thinking=thinking)


# ---------------------------------------------------------------- stories

PRONOUNS = {"girl": ("she", "her", "her"), "boy": ("he", "him", "his")}
STORY_PLACES = ["a small village by the sea", "a house near the forest", "a quiet town in the hills", "a farmhouse at the end of the road",
                "a boathouse on the river", "a mill beside the lake", "a tower on the hill", "a street full of shops"]
STORY_PROBLEMS = {  # what went wrong, how they looked into it, how it was solved
    "lost": ("One morning the {thing} was gone. {Name} looked under the bed and behind the door, but {they} could not find it.",
             "{Name} asked {friend} for help. Together they followed small marks on the ground until they came to {spot}.",
             "There lay the {thing}, under some leaves. {Name} laughed and held it up. A bird must have carried it away."),
    "broken": ("One day the {thing} fell on the floor and broke. {Name} sat down and was very sad.",
               "{Friend} came in and saw the pieces. \"Do not cry,\" said {friend}. \"We can mend it.\" They went to {spot} to find glue.",
               "They worked until the evening. At last the {thing} was whole again, and {Name} thought it looked even better than before."),
    "storm": ("One evening a great storm came. The wind took the {thing} and blew it far away.",
              "When the sky was clear again, {Name} and {friend} went out to look for it. They walked for a long time and came to {spot}.",
              "The {thing} was there, wet but safe. {Name} dried it with {their} coat and carried it home."),
    "gift": ("It was the birthday of {friend}, and {Name} had no present. The only nice thing {they} had was the {thing}.",
             "{Name} thought about it for a long time at {spot}. The {thing} was dear to {them}, but {friend} was dear to {them} too.",
             "So {Name} gave the {thing} away. {Friend} was so happy that they both danced, and from that day on they shared it."),
}
STORY_SPOTS = ["the old bridge", "the big oak tree", "the edge of the forest", "the well in the garden", "the top of the hill", "the shore"]
STORY_ENDINGS = ["That night {Name} slept well and dreamed of {friend}.", "From then on, {Name} and {friend} were best friends.",
                 "\"Thank you,\" said {Name}. {Friend} only smiled.", "And {Name} never forgot that day.",
                 "{Name} had learned that a friend is worth more than a {thing}."]
STORY_REQUESTS = ["Tell me a story about {name} and {thing}.", "Write a short story with {name} and {friend}.",
                  "Please tell a story about {name}, {friend} and {thing}.", "I would like to hear a story about {name}."]


GIRL_NAMES = "Anna Clara Elena Grace Iris Mira Nina Rosa Sofia Tara Lucy Vera Julia Hana Greta Lena".split()
BOY_NAMES = "Ben David Felix Hugo Jonas Leon Nils Paul Simon Tom Victor Emil Marco Oscar Max Jack".split()


def story(rng, side, thinking=True, plain=False):
    """A told story; `plain` gives the bare text without turns, cut after its first paragraph into prompt and answer."""
    kind = rng.choice(("girl", "boy"))
    name = rng.choice(GIRL_NAMES if kind == "girl" else BOY_NAMES)
    they, them, their = PRONOUNS[kind]
    animal = rng.choice(ANIMALS)
    friend = f"the {animal}"
    colour, noun = rng.choice(COLOURS), rng.choice(NOUNS)
    thing = f"{colour} {noun}"
    wrong, search, solved = STORY_PROBLEMS[rng.choice(list(STORY_PROBLEMS))]
    opening = rng.choice([
        "Once upon a time there was a {kind} named {Name} who lived in {place}. {They} had {a_thing}, and {they} loved it very much. "
        "{Their} best friend was {a_animal}.",
        "{Name} was a {adjective} {kind} who lived in {place}. Every day {they} played with {their} friend, {a_animal}. "
        "{Their} favourite thing was {a_thing}.",
        "In {place} there lived a {kind}. {Their} name was {Name}, and {they} had two treasures: {a_thing} and a friend, {a_animal}."])
    values = dict(kind=kind, Name=name, name=name, they=they, They=they.capitalize(), them=them, their=their, Their=their.capitalize(),
                  friend=friend, Friend=friend.capitalize(), thing=thing, place=rng.choice(STORY_PLACES), spot=rng.choice(STORY_SPOTS),
                  adjective=rng.choice(("quiet", "brave", "clever", "cheerful", "kind")), a_thing=article(thing), a_animal=article(animal))
    paragraphs = [part.format(**values) for part in (opening, wrong, search, solved, rng.choice(STORY_ENDINGS))]
    if plain:
        prompt, rest = paragraphs[0] + "\n\n", "\n\n".join(paragraphs[1:]) + "<|endoftext|>"
        return Conversation("story", [(prompt, 1.0), (rest, 1.0)], prompt, rest, name)
    request = rng.choice(STORY_REQUESTS).format(name=name, friend=article(animal), thing=article(thing))
    messages = maybe_system(rng, 0.15) + [user(request)]
    thought = f"A story about {name} and {article(animal)}."
    return conversation("story", messages, thought, "\n\n".join(paragraphs), name, thinking=thinking, prompt_weight=1.0)


# ---------------------------------------------------------------- drawing

GENERATORS = {"arithmetic": arithmetic, "tool": tool, "json": json_answer, "recall": recall, "chat": chat, "story": story}
SHORT_WEIGHTS = {"arithmetic": 22, "tool": 20, "json": 12, "recall": 28, "chat": 10, "story": 8}
LONG_WEIGHTS = {"arithmetic": 8, "tool": 8, "json": 5, "recall": 70, "chat": 5, "story": 4}


def make(kind: str, rng: random.Random, side: str = "train", **options) -> Conversation:
    """One conversation of the kind, with operands, facts and arguments of the side.

    Options: `thinking` (False: the prompt closes the thinking at once); for recall `facts`, `questions`, `filler_characters`;
    for tool `most_tools`; for story `plain`.
    """
    return GENERATORS[kind](rng, side, **options)


def recall_sizes(rng, length):
    """Options of a recall prompt for sequences of so many tokens; one in two fills most of one."""
    tokens = length * (rng.uniform(0.75, 0.97) if rng.random() < 0.5 else rng.uniform(0.1, 0.75))
    facts = rng.randint(1, max(2, min(60, int(tokens) // 40)))
    questions = rng.randint(1, min(facts, 2 + length // 1024))
    return {"facts": facts, "questions": questions,
            "filler_characters": max(0, int((tokens - 18 * facts - 36 * questions - 70) * FILLER_CHARACTERS_A_TOKEN))}


def mixture(rng: random.Random, length: int) -> Conversation:
    """A conversation for training on sequences of `length` tokens; the longer, the more recall and the longer its prompts."""
    weights = LONG_WEIGHTS if length >= 2048 else SHORT_WEIGHTS
    kind = rng.choices(list(weights), list(weights.values()))[0]
    options = recall_sizes(rng, length) if kind == "recall" else {}
    if kind == "story" and rng.random() < 0.3:
        options["plain"] = True
    elif kind != "arithmetic" and rng.random() < 0.06:
        options["thinking"] = False
    if kind == "tool":
        options["most_tools"] = 3 if length < 1024 else 6
    drawn_text = make(kind, rng, "train", **options)
    while kind == "tool" and len(drawn_text.prompt) + len(drawn_text.answer) > length * TEXT_CHARACTERS_A_TOKEN:
        drawn_text = make(kind, rng, "train", **options | {"most_tools": 2})
    return drawn_text
