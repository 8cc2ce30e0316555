import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripeCheckout } from '../../../server/adapters/payments/stripe/stripe-checkout'
import type { AccountId, PaymentId, RefundId } from '../../../server/core/ids'
import { micros } from '../../../server/core/money'
import { freePort } from '../../../server/listen'
import { dataFolder, removeFolder, signUp, startServer } from '../../support/servers/server-process'
import { until } from '../../support/until'
import type { CallResult, ServerResult } from './table'
import { lastLine, output } from './workshop'

const CACHE = join(import.meta.dir, '..', '..', '..', 'node_modules', '.cache', 'clients')
const STRIPE_MOCK = 'v0.203.0'
/** SearXNG has no releases: a commit that was tried. */
const SEARXNG = '9fea41204'

/** Runs the gateway's adapters against servers that their own vendors wrote. */
export async function runServers(): Promise<readonly ServerResult[]> {
  return [await stripeMock(), await searxng()]
}

async function tried(call: string, run: () => Promise<unknown>): Promise<CallResult> {
  return run().then(
    () => ({ call, why: null }),
    (failure: unknown) => ({ call, why: String(failure) }),
  )
}

/** Checks every request against Stripe's own OpenAPI document, and answers with Stripe's fixtures. */
async function stripeMock(): Promise<ServerResult> {
  const named = { name: 'stripe-mock', version: STRIPE_MOCK }
  if (!Bun.which('go')) return { ...named, calls: [], skipped: 'go is not installed' }
  const GOBIN = join(CACHE, 'stripe-mock')
  const built = await output(['go', 'install', `github.com/stripe/stripe-mock@${STRIPE_MOCK}`], tmpdir(), { GOBIN })
  if (built.code !== 0) return { ...named, calls: [], skipped: `it does not build: ${lastLine(built.problems)}` }
  const port = freePort('127.0.0.1')
  const child = Bun.spawn([join(GOBIN, 'stripe-mock'), '-http-addr', `127.0.0.1:${port}`], { stdout: 'ignore' })
  try {
    const apiUrl = `http://127.0.0.1:${port}`
    await until(async () => (await fetch(apiUrl).catch(() => null)) !== null)
    const options = {
      secretKey: 'sk_test_123',
      webhookSecret: 'whsec_test',
      returnUrl: 'https://gateway.example/billing',
    }
    const card = stripeCheckout({ ...options, apiUrl, now: () => Date.now() })
    const id = `pay_${'a'.repeat(32)}` as PaymentId
    const page = { id, account: `acct_${'b'.repeat(32)}` as AccountId, email: 'ada@example.com' }
    const refund = { id: `rfd_${'c'.repeat(32)}` as RefundId, payment: 'pi_1', amount: micros(1_000_000) }
    const calls = [
      await tried('open a page', () => card.open({ ...page, amount: micros(10_000_000) })),
      await tried('read a page', () => card.state('cs_test_1')),
      await tried('find the page of a payment', () => card.pageOf('pi_1')),
      await tried('list refunds and disputes', () => card.returns('pi_1')),
      await tried('refund', async () => {
        const answer = await card.refund(refund)
        if (answer.kind === 'refused') throw new Error(answer.reason)
      }),
    ]
    return { ...named, calls, skipped: null }
  } finally {
    child.kill()
    await child.exited
  }
}

const ENGINE = (port: number | undefined) => `use_default_settings: { engines: { keep_only: [] } }
search: { formats: [html, json] }
server: { secret_key: ${'0123456789abcdef'.repeat(4)}, limiter: false, bind_address: 127.0.0.1, port: PORT }
engines:
  - name: pages
    engine: json_engine
    shortcut: p
    categories: [general]
    enable_http: true
    search_url: http://127.0.0.1:${port}/?q={query}
    results_query: results
    url_query: url
    title_query: title
    content_query: content
`

/** A real SearXNG with one engine, which a double of a search API answers, as the source of a real gateway. */
async function searxng(): Promise<ServerResult> {
  const named = { name: 'SearXNG', version: SEARXNG }
  const folder = join(CACHE, 'searxng')
  const source = join(folder, 'src')
  await mkdir(folder, { recursive: true })
  if (!(await Bun.file(join(source, 'requirements.txt')).exists())) {
    const cloned = await output(['git', 'clone', '--quiet', 'https://github.com/searxng/searxng', source], folder)
    if (cloned.code !== 0) return { ...named, calls: [], skipped: lastLine(cloned.problems) }
    await output(['git', 'checkout', '--quiet', SEARXNG], source)
  }
  const python = join(folder, 'venv', 'bin', 'python')
  await output(['python3', '-m', 'venv', join(folder, 'venv')], folder)
  const installed = await output([python, '-m', 'pip', 'install', '-q', '-r', 'requirements.txt'], source)
  if (installed.code !== 0) return { ...named, calls: [], skipped: lastLine(installed.problems) }

  const results = [1, 2, 3].map((n) => ({
    url: `https://example.org/${n}`,
    title: `Page ${n}`,
    content: 'Credit cards',
  }))
  const engine = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({ results }) })
  const port = freePort('127.0.0.1')
  const settings = join(await mkdtemp(join(tmpdir(), 'searxng-')), 'settings.yml')
  await writeFile(settings, ENGINE(engine.port).replace('PORT', String(port)))
  const env = { ...process.env, SEARXNG_SETTINGS_PATH: settings }
  const child = Bun.spawn([python, '-m', 'searx.webapp'], { cwd: source, env, stdout: 'ignore', stderr: 'ignore' })
  const data = await dataFolder()
  try {
    const url = `http://127.0.0.1:${port}`
    await until(async () => (await fetch(`${url}/healthz`).catch(() => null))?.status === 200)
    const gateway = await startServer(data, { WEBSEARCH_PROVIDER: 'searxng', SEARXNG_URL: url })
    try {
      const owner = await signUp(gateway.url, 'ada@example.com')
      const { secret } = await owner.api('/api/keys', { name: 'searxng' })
      const ask = async (path: string) => {
        const answer = await fetch(`${gateway.url}/apis/v1/websearch/${path}`, {
          headers: { authorization: `Bearer ${secret}` },
        })
        return { status: answer.status, text: await answer.text() }
      }
      const calls = [
        await tried('LLM context', async () => {
          const { status, text } = await ask('llm/context?q=credit%20card')
          if (status !== 200 || !text.includes('example.org/2')) throw new Error(`${status} ${text.slice(0, 200)}`)
        }),
        await tried('pictures without an engine for them: uncharged', async () => {
          const { status, text } = await ask('images/search?q=credit%20card')
          if (status < 500) throw new Error(`${status} ${text.slice(0, 200)}`)
        }),
      ]
      return { ...named, calls, skipped: null }
    } finally {
      await gateway.kill('SIGTERM')
    }
  } finally {
    child.kill()
    await child.exited
    await engine.stop(true)
    await removeFolder(data)
  }
}
