// Makes the CLI of the payment library pay on a chain of our own, instead of asking the public test network's faucet for a wallet.
import { tempo } from 'mppx/client'
import { createClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { tempoLocalnet } from 'viem/chains'

const client = createClient({ chain: tempoLocalnet, transport: http(process.env.MPPX_RPC_URL) })
// A plain object: what the CLI's own helper needs is not shipped with it.
// biome-ignore lint/style/noDefaultExport: the CLI reads it
export default {
  methods: [tempo.charge({ account: privateKeyToAccount(process.env.MPPX_PRIVATE_KEY), getClient: () => client })],
}
