# Arguments: HOST:PORT USER
import sys

import gsimc

user = sys.argv[2]
with gsimc.Client(sys.argv[1]) as client:
    kept = client.observe(user, "i019", event_id="like-1")
    print("revision", kept.revision)

    items = client.recommend(user, 3, filter=gsimc.ItemFilter(deny_item_ids=["i001"]))
    print("list", *items.ids)

    scores = client.score(user, items.ids[:1])
    print("score", f"{scores[0].score:.4f}")

    try:
        client.observe(user, "")
    except gsimc.Error as error:
        for v in error.fields:
            print("refused", error.code, v.reason, v.name, v.description)
