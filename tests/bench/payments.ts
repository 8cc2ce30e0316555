import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  SANDBOX_CHAIN_ID,
  SANDBOX_TOKEN,
  sandboxChainProgram,
} from '../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { PUBLISHED_ACCOUNTS } from '../../server/core/payments/published-accounts'
import { openFile } from '../support/databases/database-file'
import { reconcile } from '../support/reconcile'
import type { Paid } from './payers'
import { median, spread, sum, table } from './statistics'
import { FEEDER_CORE, type Helper, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst } from './wrk'

export interface PaymentsResult {
  /** Why there is nothing, where the chain has no program for this machine. */
  readonly skipped: string | null
  readonly challenges: readonly Burst[]
  readonly calls: readonly Paid[]
  readonly chain: readonly Paid[]
  readonly problems: readonly string[]
  readonly counts: Counts | null
}

interface Counts {
  readonly served: number
  readonly sent: number
  readonly booked: number
  readonly moved: bigint
}

const NOTHING = { challenges: [], calls: [], chain: [], problems: [], counts: null }
const PRICE_UNITS = 5000n
const CONNECTIONS = 32

/** Challenges without a payment, and calls that are paid for one by one, against the same transfers sent to the chain with no gateway, in turns. */
export async function measurePayments(
  workshop: Workshop,
  plan: { rounds: number; seconds: number },
): Promise<PaymentsResult> {
  if (!sandboxChainProgram())
    return {
      ...NOTHING,
      skipped: 'the sandbox chain has no program for this machine (optional package @foundry-rs/anvil)',
    }
  const folder = await workshop.folder('payments')
  const chainServer = await workshop.helper('chain.ts', [], FEEDER_CORE)
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const settings = {
    PAYMENTS_RPC_URL: chainServer.ready,
    PAYMENTS_CHAIN_ID: String(SANDBOX_CHAIN_ID),
    PAYMENTS_TOKEN: SANDBOX_TOKEN,
    PAYMENTS_RECIPIENT: PUBLISHED_ACCOUNTS[1].address,
    PAYMENTS_ATTEMPTS_RPM: '1000000',
    ANON_RPM: '1000000',
  }
  writeFileSync(join(folder, 'env.json'), JSON.stringify(settings))
  const gateway = await workshop.helper(
    'gateway.ts',
    [folder, `http://127.0.0.1:${upstream.ready}/2000/0`],
    SERVER_CORE,
  )
  const url = `http://127.0.0.1:${gateway.ready.split(' ')[0]}/apis/v1/websearch/images/search`
  const payers = await workshop.helper(
    'payers.ts',
    [chainServer.ready, SANDBOX_TOKEN, url, String(gateway.pid)],
    FEEDER_CORE,
  )
  const unpaid = { url, pid: gateway.pid, script: 'challenges.lua', args: [] } as const
  await burst(unpaid, CONNECTIONS, 2)
  const before = BigInt(await payers.ask('moved'))
  const warm = { chain: await paid(payers, 'chain'), calls: await paid(payers, 'calls') }
  const [challenges, calls, chain]: [Burst[], Paid[], Paid[]] = [[], [], []]
  for (let round = 0; round < plan.rounds; round++) {
    challenges.push(await burst(unpaid, CONNECTIONS, plan.seconds))
    chain.push(await paid(payers, 'chain'))
    calls.push(await paid(payers, 'calls'))
  }
  const moved = BigInt(await payers.ask('moved')) - before
  await payers.stop()
  await gateway.stop()
  await upstream.stop()
  await chainServer.stop()
  const file = join(folder, 'gateway.db')
  const { problems } = await reconcile(file)
  const booked = await bookedCalls(file)
  workshop.removeFolder(folder)
  const counts = {
    served: served([warm.calls, ...calls]),
    sent: served([warm.chain, ...chain]),
    booked,
    moved: moved / PRICE_UNITS,
  }
  return { skipped: null, challenges, calls, chain, problems: [...problems, ...disagreements(counts)], counts }
}

/** Every call that was answered is booked once, and the recipient has one transfer for each, and for each that was sent without us. */
function disagreements({ served, sent, booked, moved }: Counts): string[] {
  return [
    ...(booked === served ? [] : [`${served} answers, ${booked} paid calls in the books`]),
    ...(moved === BigInt(served + sent) ? [] : [`${served} + ${sent} transfers, ${moved} on the chain`]),
  ]
}

async function bookedCalls(file: string): Promise<number> {
  const client = openFile(file)
  const { rows } = await client.execute("SELECT count(*) AS paid FROM entries WHERE kind = 'payment'")
  client.close()
  return Number(rows[0]?.['paid'])
}

function served(rounds: readonly Paid[]): number {
  return sum(rounds.map(({ count, failed }) => count - failed))
}

/** The work of one core in a second of its time: on a shared machine the rate depends more on the others. */
export function perCoreSecond(rounds: readonly { cpu: number }[]): number {
  return 1e6 / median(rounds.map(({ cpu }) => cpu))
}

export function describePayments({ skipped, challenges, calls, chain, counts, problems }: PaymentsResult): string {
  if (skipped !== null) return `Skipped: ${skipped}`
  const row = (what: string, rounds: readonly { rps: number; cpu: number }[], p50: string, not: number, cpu = true) => [
    what,
    spread(
      rounds.map(({ rps }) => rps),
      0,
    ),
    p50,
    cpu ? median(rounds.map((one) => one.cpu)).toFixed(0) : '-',
    cpu ? perCoreSecond(rounds).toFixed(0) : '-',
    not,
  ]
  const ratios = calls.map((one, i) => one.rps / (chain[i]?.rps ?? Number.NaN))
  return [
    'Challenges: 402 to image searches without a credential, another query each, c=32. Paid: 16 clients, transfers signed before the clock starts; the chain and its clients on the other core.',
    table(
      ['', 'req/s (range)', 'p50 ms', "gateway's CPU us each", 'of that per second of one core', 'not as asked'],
      [
        row(
          'challenges',
          challenges,
          (median(challenges.map((one) => one.p50)) / 1000).toFixed(1),
          sum(challenges.map(({ requests, refused, broken }) => requests - refused + broken)),
        ),
        row(
          'paid calls',
          calls,
          median(calls.map((one) => one.p50)).toFixed(0),
          sum(calls.map(({ failed }) => failed)),
        ),
        row(
          'the same transfers, no gateway',
          chain,
          median(chain.map((one) => one.p50)).toFixed(0),
          sum(chain.map(({ failed }) => failed)),
          false,
        ),
      ],
    ),
    `Paid calls / chain alone: ${spread(ratios, 2)}. ${counts?.served} paid calls were answered, ${counts?.booked} are booked; ${counts?.moved} transfers moved on the chain, ${counts?.sent} of them without us; ${problems.length === 0 ? 'all books agree' : problems.join('; ')}.`,
  ].join('\n\n')
}

async function paid(payers: Helper, what: 'chain' | 'calls'): Promise<Paid> {
  return JSON.parse(await payers.ask(what)) as Paid
}
