"""HTTP: a stock keeper meets a tool that isn't there, bad arguments, a busy server and an exception, and gets it done."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated

import httpx

from loopkit import Agent, ScriptedProvider, ToolCall, ToolError, tool

TASK = "How many days will our coffee beans last?"
DECISIONS = {}


class StockServer(BaseHTTPRequestHandler):
    """Answers the first request with 503, as a server that is just starting does."""

    requests = 0

    def do_GET(self):
        """Answer with the stock of one article."""
        StockServer.requests += 1
        status, answer = (200, {"article": "beans", "kilos": 84, "kilos a day": 0})
        if StockServer.requests == 1:
            status, answer = 503, {"error": "starting up, try again"}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Keep quiet."""


server = ThreadingHTTPServer(("127.0.0.1", 0), StockServer)
threading.Thread(target=server.serve_forever, daemon=True).start()
# the port stays out of the recording: it is another one in every run
client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.server_port}", trust_env=False)


@tool(side_effect="read")
async def get_stock(article: Annotated[str, {"pattern": "^[a-z]+$"}]) -> str:
    """Ask the stock server for an article.

    Args:
        article: Its name in small letters, such as beans.
    """
    answer = await client.get(f"/stock/{article}")
    if answer.status_code != httpx.codes.OK:
        raise ToolError(f"The stock server answered {answer.status_code}: {answer.json()['error']}")
    return answer.text


@tool(side_effect="read")
def days_left(kilos: Annotated[int, {"minimum": 0}], kilos_a_day: Annotated[int, {"minimum": 0}]) -> str:
    """Return how many days a stock lasts.

    Args:
        kilos: What there is.
        kilos_a_day: What is used.
    """
    return f"{kilos // kilos_a_day} days"


BEANS = {"article": "beans"}
SCRIPT = [
    ["I'll look it up.", ToolCall("a", "look_up_stock", BEANS)],
    ["That tool has another name here.", ToolCall("b", "get_stock", {"article": "Coffee Beans"})],
    ["Small letters, and just the name.", ToolCall("c", "get_stock", BEANS)],
    ["The server is starting up. It should be there by now.", ToolCall("d", "get_stock", BEANS)],
    ["84 kilos. So I divide.", ToolCall("e", "days_left", {"kilos": 84, "kilos_a_day": 0})],
    [
        "Nothing is used today, so today is no measure. We use 12 kilos on an ordinary day.",
        ToolCall("f", "days_left", {"kilos": 84, "kilos_a_day": 12}),
    ],
    "84 kilos of beans last 7 ordinary days. The stock server says that none are used today, which I took for a day off.",
]
agent = Agent(
    ScriptedProvider(SCRIPT, chunk=24, delay=0.01, usage="count"),
    tools=[get_stock, days_left],
    system="You watch a café's stock.",
    name="stock keeper",
)
