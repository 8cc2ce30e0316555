import os

from first_calls import ORIGIN, call, run
from mpp.client import Mpp
from mpp.methods.tempo import TempoAccount
from mpp.methods.tempo import client as tempo


@call("pay one request")
async def pay():
    account = TempoAccount.from_key(os.environ["PAYER_KEY"])
    method = tempo.charge(account=account, rpc_url=os.environ["TEMPO_RPC_URL"], chain_id=int(os.environ["TEMPO_CHAIN_ID"]))
    async with Mpp(methods=[method]) as mpp:
        response = await mpp.fetch(f"{ORIGIN}/apis/v1/websearch/images/search?q=otters")
        assert response.status_code == 200, response.text


run()
