// Makes the CLI of the payment library pay on a chain of our own, instead of asking the public test network's faucet for a wallet.
import { evm, tempo } from 'mppx/client'
import { createClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { tempoLocalnet } from 'viem/chains'

const client = createClient({ chain: tempoLocalnet, transport: http(process.env.MPPX_RPC_URL) })
const account = privateKeyToAccount(process.env.MPPX_PRIVATE_KEY)
// On an EVM chain a wallet pays with the tokens that it was told of.
const { MPPX_EVM_TOKEN: token, MPPX_EVM_CHAIN_ID: chainId, MPPX_EVM_TOKEN_NAME: name } = process.env
const dollar = { authorization: { name, version: '2' }, currencies: [token], networks: [Number(chainId)] }
// A plain object: what the CLI's own helper needs is not shipped with it.
// biome-ignore lint/style/noDefaultExport: the CLI reads it
export default {
  methods: [tempo.charge({ account, getClient: () => client }), ...(token ? [evm.charge({ account, ...dollar })] : [])],
}
