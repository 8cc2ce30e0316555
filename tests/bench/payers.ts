import { Credential } from 'mppx'
import { Mppx, tempo } from 'mppx/client'
import { type Address, createClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { readContract } from 'viem/actions'
import { tempoLocalnet } from 'viem/chains'
import { Abis, Transaction } from 'viem/tempo'
import { PUBLISHED_ACCOUNTS } from '../../server/core/payments/published-accounts'
import { cpuTime } from './proc'
import { obey } from './workshop'

/**
 * Payers of one call each: `payers.ts CHAIN TOKEN URL PID`. `chain` sends signed transfers to the chain alone, `calls` shows the same
 * kind of transfers to the gateway; both are signed before the clock starts. `moved` is what the recipient has so far.
 */
const BATCH = 200
const CLIENTS = 16

export interface Paid {
  readonly count: number
  readonly failed: number
  readonly rps: number
  readonly p50: number
  /** Microseconds of the gateway's processor for each. */
  readonly cpu: number
}

const [chainUrl = '', token = '', url = '', pid = '0'] = process.argv.slice(2)
const [payer, merchant] = PUBLISHED_ACCOUNTS
const client = createClient({ chain: tempoLocalnet, transport: http(chainUrl) })
const account = privateKeyToAccount(payer.key)
const wallet = Mppx.create({ polyfill: false, methods: [tempo({ account, getClient: () => client })] })

/** Runs `work` on each by some clients at once. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const one = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: CLIENTS }, one))
}

async function signed() {
  const made: { url: string; credential: string }[] = []
  await each(
    Array.from({ length: BATCH }, () => `${url}?q=${crypto.randomUUID()}`),
    async (asked) => {
      made.push({ url: asked, credential: await wallet.createCredential(await fetch(asked)) })
    },
  )
  return made
}

async function timed<T>(items: readonly T[], pay: (item: T) => Promise<boolean>): Promise<Paid> {
  const times: number[] = []
  let failed = 0
  const [cpu, started] = [cpuTime(Number(pid)).process, performance.now()]
  await each(items, async (item) => {
    const at = performance.now()
    if (!(await pay(item))) failed++
    times.push(performance.now() - at)
  })
  const ms = performance.now() - started
  times.sort((a, b) => a - b)
  return {
    count: items.length,
    failed,
    rps: items.length / (ms / 1000),
    p50: times[Math.floor(times.length / 2)] ?? 0,
    cpu: (cpuTime(Number(pid)).process - cpu) / items.length,
  }
}

async function sendRaw(raw: Hex): Promise<boolean> {
  const answer = await fetch(chainUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransactionSync', params: [raw] }),
  })
  return ((await answer.json()) as { result?: { status: string } }).result?.status === '0x1'
}

process.stdout.write('ready\n')
await obey({
  async chain() {
    const transfers = await Promise.all(
      (await signed()).map(({ credential }) => {
        const { signature } = Credential.deserialize(credential).payload as {
          signature: Transaction.TransactionSerializedTempo
        }
        return Transaction.serialize(Transaction.deserialize(signature))
      }),
    )
    return JSON.stringify(await timed(transfers, sendRaw))
  },
  async calls() {
    const paid = await timed(await signed(), async ({ url: asked, credential }) => {
      const answer = await fetch(asked, { headers: { authorization: credential } })
      await answer.arrayBuffer()
      return answer.status === 200 && answer.headers.has('payment-receipt')
    })
    return JSON.stringify(paid)
  },
  async moved() {
    const [address, args] = [token as Address, [merchant.address as Address] as const]
    return String(await readContract(client, { address, abi: Abis.tip20, functionName: 'balanceOf', args }))
  },
})
