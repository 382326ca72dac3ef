"""Slack's own client of Socket Mode, at a double: `python slack-bot.py BASE_URL APP_TOKEN`.

It acknowledges what comes, and writes a line for each: the event's text, and the attempt. The end of its input ends it.
"""

import json
import sys

from slack_sdk import WebClient
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

base_url, app_token = sys.argv[1:]
client = SocketModeClient(app_token=app_token, web_client=WebClient(base_url=base_url), ping_interval=1)


def heard(client, request):
    client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
    event = request.payload.get("event", {})
    line = {"type": request.type, "text": event.get("text"), "attempt": request.retry_attempt, "team": request.payload.get("team_id")}
    print(json.dumps(line), flush=True)


client.socket_mode_request_listeners.append(heard)
client.connect()
sys.stdin.readline()
client.close()
