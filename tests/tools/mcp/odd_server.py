"""A server that says what it is told to: its list of tools is the JSON on its command line.

A tool whose name is JSON answers with that.
"""

from __future__ import annotations

import json
import sys
from typing import Any

LISTED = json.loads(sys.argv[1])


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            about = {"name": "odd", "version": "1"}
            result: Any = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            result = LISTED
        case "tools/call":
            for said in params.get("arguments", {}).get("progress", []):
                token = params["_meta"]["progressToken"]
                notice = {"method": "notifications/progress", "params": {"progressToken": token, **said}}
                sys.stdout.write(json.dumps({"jsonrpc": "2.0", **notice}) + "\n")
            if params["name"].startswith("{"):
                return dict(json.loads(params["name"]))
            result = {"content": [{"type": "text", "text": f"{params['name']} was called"}]}
        case _:
            return {"error": {"code": -32601, "message": "unknown"}}
    return {"result": result}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        reply = {"jsonrpc": "2.0", "id": request["id"], **answer(request["method"], request.get("params", {}))}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
