import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { trustedFetch } from '../../server/adapters/outbound/one-hop'
import { compose } from '../../server/compose'
import { type Config, readConfig } from '../../server/config'
import type { Account } from '../../server/core/accounts/account'
import type { Api } from '../../server/core/apis/api'
import type { Actor } from '../../server/core/audit'
import { micros, ZERO } from '../../server/core/money'
import type { Provider, UpstreamFailure } from '../../server/core/providers/provider'
import { err, ok, type Result } from '../../server/core/result'
import { newKeyForm } from '../../server/http/keys/record'
import { openLog } from '../../server/log'

const OPERATOR: Actor = { kind: 'operator', id: 'bench', address: null }
const GRANT_USD = 1_000_000
const WIDE = { rpm: 1_000_000_000, tpm: 1_000_000_000, concurrency: 100_000 }

export function benchConfig(folder: string, port = 0, more: Record<string, string> = {}): Config {
  return readConfig({ ...benchSettings(folder, port), ...more }, {})
}

/** Searches by the adapter for Brave, at the address of a double. */
export function braveSettings(upstream: string): Record<string, string> {
  return { WEBSEARCH_PROVIDER: 'brave', BRAVE_API_KEY: 'only-benches-know-it', BRAVE_BASE_URL: upstream }
}

/** The settings of an operator. */
export function benchSettings(folder: string, port: number): Record<string, string> {
  return {
    DATA_DIR: folder,
    PORT: String(port),
    SECRET_KEY: 'a secret that only benches know, 32 bytes and more',
    SIGNUP_RPM: '1000',
    OWNER_RPM: '1000000',
    VISITOR_RPM: '1000000',
    SIGNUP_CREDIT_PER_NETWORK: '1000000',
    SIGNUP_CREDIT_DAILY_USD: '1000000',
    LOG_LEVEL: 'error',
    ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1',
    CREDIT_BUYS_PAID_PROVIDERS: 'true',
    UPSTREAM_BENCH_KEY: 'sk_live_4f9aB7cQ2xTz81',
    ...paymentSettings(folder),
    ...(existsSync(join(folder, 'models.json')) && { MODELS_FILE: join(folder, 'models.json') }),
  }
}

/** Of the bench of payments; null in the others, whose gateways have no network of theirs. */
export function paymentSettings(folder: string): Record<string, string> | null {
  const file = join(folder, 'env.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
}

/** The way that the adapters of search vendors take: with a deadline, a size limit and no redirects. */
async function guarded(
  url: string,
  signal: AbortSignal,
): Promise<Result<{ readonly body: Uint8Array<ArrayBuffer> }, UpstreamFailure>> {
  const answer = await trustedFetch({ url, signal, timeoutMs: Number.POSITIVE_INFINITY, maxBytes: 16 * 1024 * 1024 })
  if (!answer.ok) return err({ kind: 'error', reason: answer.error.reason })
  const { status, body } = answer.value
  return status === 200 ? ok({ body }) : err({ kind: 'error', reason: `status ${status}` })
}

/** `bare`: a provider that only fetches. `double`: one that fetches the way adapters do. `brave`: the adapter that is sold. */
export type SearchSource = 'bare' | 'double' | 'brave'

/** The real composition on a real database file; only the source of answers is a double: `fetch` of the upstream's address. */
export function openBenchGateway(config: Config, upstream: string, source: SearchSource = 'bare') {
  const provider = <I extends { q: string }>(name: string): Provider<I> & { ready(): Promise<boolean> } => ({
    name,
    async call(input, signal) {
      try {
        const url = `${upstream}/${name}?q=${encodeURIComponent(input.q)}`
        if (source === 'double') return await guarded(url, signal)
        const answer = await fetch(url, { signal })
        if (!answer.ok) return err({ kind: 'error', reason: `status ${answer.status}` })
        return ok({ body: await answer.bytes() })
      } catch (error) {
        return err({ kind: signal.aborted ? 'timeout' : 'unavailable', reason: String(error) })
      }
    },
    ready: async () => true,
  })
  return compose(config, {
    acceptsClock: true,
    clock: { now: () => Date.now() },
    log: openLog(config.logLevel),
    onFatal: (reason) => {
      process.stderr.write(`gateway: ${reason}\n`)
      process.exit(1)
    },
    ...(source !== 'brave' && { providers: { images: provider('images'), context: provider('context') } }),
  })
}

/** The APIs of a bench; none in the others. */
export function benchApis(folder: string): readonly Api[] {
  const file = join(folder, 'apis.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
}

export type BenchGateway = Awaited<ReturnType<typeof openBenchGateway>>

/** Limits and a balance that no bench reaches, given the way an operator does. */
export async function widen({ core }: BenchGateway, account: Account): Promise<void> {
  const granted = await core.operator.grant(
    OPERATOR,
    account.id,
    micros(GRANT_USD * 1_000_000),
    'bench',
    `bench-${account.id}`,
  )
  const changed = await core.operator.setLimits(OPERATOR, account.id, WIDE)
  if (!granted.ok || !changed.ok) throw new Error('the account could not be widened')
}

/** A key, made the way an owner does. */
export async function newKey({ core }: BenchGateway, account: Account, name: string) {
  const owner = { accountId: account.id, tier: { ...account, toppedUp: ZERO }, actor: OPERATOR }
  const made = await core.keys.create(owner, newKeyForm({ name }))
  if (!made.ok) throw new Error(made.error.message)
  return { id: made.value.key.id as string, secret: made.value.secret }
}
