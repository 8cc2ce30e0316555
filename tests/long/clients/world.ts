import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SANDBOX_CHAIN_ID } from '../../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { PUBLISHED_ACCOUNTS } from '../../../server/core/payments/published-accounts'
import { openEvmSandbox } from '../../support/evm/evm-sandbox'
import { openPaymentSandbox } from '../../support/payment-sandbox'
import { reconcile } from '../../support/reconcile'
import { control, dataFolder, removeFolder, signUp, startServer } from '../../support/server-process'

const PRICE = { input: 1, output: 2 }

/** The models that the clients' documentation names, at a vendor's double. */
function modelFile(vendor: string) {
  const openai = { kind: 'openai', base_url: `${vendor}/v1` }
  const model = (id: string, upstream: object, more: object = {}) => ({
    ...{ id, upstream, price: PRICE, recharge_required: false, ...more },
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
        { price: { ...PRICE, cache_write: 1.25 } },
      ),
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

async function startChains(wanted: boolean) {
  if (!wanted) return null
  const [tempo, evm] = [await openPaymentSandbox(), await openEvmSandbox()]
  return {
    env: { ...tempo.env, ...evm.env },
    tempoUrl: tempo.chainUrl,
    async close() {
      await tempo.close()
      await evm.close()
    },
  }
}

/** A real gateway with a real key, in front of the vendor's double. */
export async function openWorld(vendorCommand: readonly string[], pays: boolean) {
  const vendor = await startVendor(vendorCommand)
  const chains = await startChains(pays)
  const folder = await dataFolder()
  const models = join(folder, 'models.json')
  await writeFile(models, JSON.stringify(modelFile(vendor.url)))
  const env = { MODELS_FILE: models, CREDIT_BUYS_PAID_PROVIDERS: 'true', SANDBOX_MODELS: 'true', ...chains?.env }
  const server = await startServer(folder, env)
  const owner = await signUp(server.url, 'ada@example.com')
  // As after a first top-up: Claude's clients ask for more output than a new account may have in a minute.
  await control(folder, 'limits', { account: owner.id, limits: { rpm: 3000, tpm: 3_000_000, concurrency: 50 } })
  const { secret } = await owner.api('/api/keys', { name: 'clients' })
  return {
    /** What a client's script reads. */
    env: {
      GATEWAY_ORIGIN: server.url,
      GATEWAY_API_KEY: String(secret),
      PAYER_KEY: PUBLISHED_ACCOUNTS[0].key,
      TEMPO_RPC_URL: chains?.tempoUrl ?? '',
      TEMPO_CHAIN_ID: String(SANDBOX_CHAIN_ID),
    },
    /** Ends everything. Rejects when the sums of the ledger do not agree. */
    async close() {
      await server.kill('SIGTERM')
      vendor.close()
      await chains?.close()
      const { problems } = await reconcile(join(folder, 'gateway.db'))
      await removeFolder(folder)
      if (problems.length > 0) throw new Error(`the ledger does not agree: ${problems.join('; ')}`)
    },
  }
}
