import { evmMethod } from '../../server/adapters/payments/mpp/evm/evm'
import { micros } from '../../server/core/money'
import type { ReadCredential } from '../../server/core/payments/method'
import { openEvmSandbox } from '../support/evm/evm-sandbox'
import { MERCHANT } from '../support/payments/payment-sandbox'

const LATENCY_MS = 100
const PRICE = 5000n

export interface RelayerResult {
  readonly bursts: readonly { readonly payers: number; readonly lastMs: number; readonly settled: number }[]
  readonly problems: readonly string[]
}

/** Payments that are settled at once through a node that needs 100 ms for every answer, on a chain with a block each second. */
export async function measureRelayer(payers: readonly number[]): Promise<RelayerResult> {
  const sandbox = await openEvmSandbox()
  // A block each second, and none between.
  await sandbox.ask('evm_setAutomine', [false])
  await sandbox.ask('evm_setIntervalMining', [1])
  const method = evmMethod({
    ...sandbox.options,
    ...{ secret: 'a secret that only this run knows, long enough', realm: 'localhost', origin: 'http://localhost' },
    ...{ now: Date.now, onTrouble: (what, reason) => console.error(what, reason) },
  })
  const credential = async (): Promise<ReadCredential> => {
    const binding = { op: 'bench', fp: 'bench', rid: crypto.randomUUID(), own: '1' }
    const terms = {
      amount: micros(Number(PRICE)),
      description: 'bench',
      resource: { method: 'GET', url: '/' },
      binding,
    }
    const offer = await method.offer(terms)
    if (!offer?.challenge) throw new Error('nothing is offered')
    const text = (await sandbox.lie(offer.challenge, {})).replace(/^Payment /, '')
    const read = await method.read({ scheme: 'payment', text })
    if (!read?.ok) throw new Error('not readable')
    return read.value
  }
  const bursts: { payers: number; lastMs: number; settled: number }[] = []
  const problems: string[] = []
  for (const count of payers) {
    const reads: ReadCredential[] = []
    for (let i = 0; i < count; i++) reads.push(await credential())
    const before = await sandbox.balance(MERCHANT)
    sandbox.setLatency(LATENCY_MS)
    const begun = performance.now()
    const outcomes = await Promise.all(reads.map((read) => method.settle(read)))
    const lastMs = performance.now() - begun
    sandbox.setLatency(0)
    const settled = outcomes.filter(({ kind }) => kind === 'settled').length
    bursts.push({ payers: count, lastMs, settled })
    const moved = ((await sandbox.balance(MERCHANT)) - before) / PRICE
    if (moved !== BigInt(settled)) problems.push(`${settled} of ${count} settled, ${moved} moved`)
  }
  await sandbox.close()
  return { bursts, problems }
}

export function describeRelayer({ bursts, problems }: RelayerResult): string {
  const rows = bursts.map(
    ({ payers, lastMs, settled }) =>
      `| ${payers} | ${settled} | ${(lastMs / 1000).toFixed(1)} | ${((settled * 1000) / lastMs).toFixed(0)} |`,
  )
  return [
    `Payments by evm that are settled at once by one relayer; every answer of the node takes ${LATENCY_MS} ms, and a block is made each second.`,
    ['| payers at once | settled | the last after s | a second |', '|---|---|---|---|', ...rows].join('\n'),
    problems.length === 0 ? 'What settled has moved, once each.' : problems.join('; '),
  ].join('\n\n')
}
