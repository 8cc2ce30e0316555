import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SANDBOX_CHAIN_ID } from '../../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { PUBLISHED_ACCOUNTS } from '../../../server/core/payments/published-accounts'
import { openEvmSandbox } from '../../support/evm/evm-sandbox'
import { reconcile } from '../../support/reconcile'
import { dataFolder, removeFolder, signUp, startServer } from '../../support/servers/server-process'

const PRICE = { input: 1, output: 2 }

/** The models that the clients' documentation names, at a vendor's double. */
function modelFile(vendor: string) {
  const openai = { kind: 'openai', base_url: `${vendor}/v1` }
  const model = (id: string, upstream: object, more: object = {}) => ({
    id,
    upstream,
    price: PRICE,
    recharge_required: false,
    ...more,
  })
  const vectors = { purpose: 'embeddings', price: { input: 0.1, output: 0 } }
  return {
    models: [
      model('gpt-5.2', { ...openai, responses: true }),
      model('gpt-4o', openai),
      model('gpt-4o-mini', openai),
      model('text-embedding-3-small', openai, vectors),
      model(
        'claude-sonnet-4-5',
        { kind: 'anthropic', base_url: `${vendor}/v1` },
        { price: { ...PRICE, cache_write: 1.25 }, max_output_tokens: 64_000 },
      ),
      model('omni-moderation-latest', openai, { purpose: 'moderation', price: { characters: 0 } }),
      model('gpt-image-1', openai, { purpose: 'images', price: { images: 0.04 } }),
      model('gpt-4o-mini-tts', openai, { purpose: 'speech', price: { characters: 15 } }),
      model('gemini-2.5-flash', { kind: 'gemini', base_url: `${vendor}/v1beta` }),
      model('gemini-embedding-001', { kind: 'gemini', base_url: `${vendor}/v1beta` }, vectors),
    ],
  }
}

/** The vendor's double, as a program of its own. */
async function startVendor(command: readonly string[]) {
  const child = Bun.spawn([...command], { stdout: 'pipe', stderr: 'inherit' })
  const first = await child.stdout.getReader().read()
  const url = new TextDecoder().decode(first.value).trim()
  if (!url.startsWith('http')) throw new Error('the double of the vendors did not start')
  return { url, close: () => child.kill() }
}

/** The settings of a wallet on the chain that the gateway started for itself, as it does in development. */
async function tempoUrl(folder: string): Promise<string> {
  const answer = await fetch('http://gateway/api/operator/payments', { unix: join(folder, 'control.sock') })
  const { network } = (await answer.json()) as { network: { rpcUrl: string } | null }
  if (!network) throw new Error('the gateway started no chain')
  return network.rpcUrl
}

/** A real gateway, in front of the vendor's double. */
export async function openWorld(vendorCommand: readonly string[], pays: boolean) {
  const vendor = await startVendor(vendorCommand)
  const evm = pays ? await openEvmSandbox() : null
  const folder = await dataFolder()
  const models = join(folder, 'models.json')
  await writeFile(models, JSON.stringify(modelFile(vendor.url)))
  const env = {
    MODELS_FILE: models,
    CREDIT_BUYS_PAID_PROVIDERS: 'true',
    SANDBOX_MODELS: 'true',
    ...evm?.env,
    PAYMENTS: pays ? 'sandbox' : 'off',
  }
  const server = await startServer(folder, env)
  const owner = await signUp(server.url, 'ada@example.com')
  const shared = {
    GATEWAY_ORIGIN: server.url,
    OWNER_COOKIE: owner.cookie,
    PAYER_KEY: PUBLISHED_ACCOUNTS[0].key,
    TEMPO_RPC_URL: pays ? await tempoUrl(folder) : '',
    TEMPO_CHAIN_ID: String(SANDBOX_CHAIN_ID),
  }
  return {
    /** The input of a client's script. Each client has a key of its own, and with it its own limit of requests a minute. */
    async envOf(name: string): Promise<Record<string, string>> {
      const answer = await owner.api('/api/keys', { name: name.slice(0, 64) })
      if (typeof answer.secret !== 'string') throw new Error(`${name} got no key: ${JSON.stringify(answer)}`)
      return { ...shared, GATEWAY_API_KEY: answer.secret }
    },
    /** Ends everything. Rejects when the sums of the ledger do not agree. */
    async close() {
      await server.kill('SIGTERM')
      vendor.close()
      await evm?.close()
      const { problems } = await reconcile(join(folder, 'gateway.db'))
      await removeFolder(folder)
      if (problems.length > 0) throw new Error(`the ledger does not agree: ${problems.join('; ')}`)
    },
  }
}
