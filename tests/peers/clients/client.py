"""What a caller does with a client that openapi-python-client made: sends, waits for the end, lists.

    client.py HUB TOKEN        (with the generated package `gatepost_client` on the path)

Writes a line of JSON: the state that the message ended in, and the ids that are listed.
"""

import json
import sys

from gatepost_client import AuthenticatedClient
from gatepost_client.api.messages import messages_list, messages_show, messages_submit
from gatepost_client.models import Broadcast, Message, MessageAction, Problem, Receipt

hub, token = sys.argv[1:]
# Nothing of this machine's settings, and no proxy between two programs on one machine.
client = AuthenticatedClient(base_url=hub, token=token, httpx_args={"trust_env": False})

sent = messages_submit.sync(client=client, body=Message(to="local:team", message="From **Python**."))
assert isinstance(sent, Receipt), sent
ended = messages_show.sync(sent.id, client=client, wait=30)
several = messages_submit.sync(
    client=client,
    body=Message(action=MessageAction.BROADCAST, targets=["local:team", "local:nobody"], message="To several."),
    wait=30,
)
assert isinstance(several, Broadcast) and several.failed == 1, several
refused = messages_submit.sync(client=client, body=Message(to="local:nobody", message="Hello"))
assert isinstance(refused, Problem) and refused.reason == "not_allowed", refused
listed = messages_list.sync(client=client, limit=10)
print(json.dumps({"id": sent.id, "state": str(ended.state), "listed": [one.id for one in listed.messages]}))
