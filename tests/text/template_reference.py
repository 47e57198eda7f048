"""Both sides of the template tests: Python's jinja2 set up as transformers sets it up for chat templates, and template_tool."""
import datetime
import functools
import json
import os
import pathlib
import subprocess
import sys

NOW = datetime.datetime(2024, 1, 2, 3, 4, 5)  # template_tool prints the same moment


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
except ImportError:
    skip("jinja2 is not installed in this Python")


def environment(optimized=True):
    """The environment in which transformers compiles a chat template: same options, extensions, filter and globals.

    Not optimized: nothing is evaluated while compiling; to that end `finalize` claims to need the rendering.
    """

    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_pass_through"), [], [], body).set_lineno(line)

        def _pass_through(self, caller):
            return caller()

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    out = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, optimized=optimized,
                                                       extensions=[Generation, jinja2.ext.loopcontrols],
                                                       finalize=None if optimized else jinja2.pass_context(lambda context, value: value))
    out.filters["tojson"] = tojson
    out.globals["raise_exception"] = raise_exception
    out.globals["strftime_now"] = lambda format: NOW.strftime(format)
    return out


ENVIRONMENTS = {optimized: environment(optimized) for optimized in (True, False)}


@functools.lru_cache(maxsize=100)
def compiled(template, optimized):
    return ENVIRONMENTS[optimized].from_string(template)


class Refused(Exception):
    """The template's own raise_exception; its sentence is part of what must agree."""


def reference(template, variables, optimized=True):
    """What jinja2 renders. Raises Refused for raise_exception, anything else for other failures."""
    try:
        return compiled(template, optimized).render(**variables)
    except jinja2.exceptions.TemplateError as error:
        if type(error) is jinja2.exceptions.TemplateError:
            raise Refused(str(error.message)) from None
        raise


class Tool:
    """template_tool, one request a line."""

    def __init__(self):
        program = pathlib.Path(os.environ["REDLINE_PROGRAM"]).parent / "template_tool"
        if not program.exists():
            skip(f"{program} is not built")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"template_tool died ({self.process.wait()}) at {json.dumps(request)[:2000]}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        return self.process.wait()
