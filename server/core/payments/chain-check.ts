import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../clock'
import type { AccountId, PaymentId } from '../ids'
import { micros } from '../money'
import { pagedRows } from '../page'
import { reasonOf } from '../result'
import type { Claim, ClaimStore } from './claim'
import type { PaymentMethod, ReceivedTransfers, Transfer } from './method'

/** A payment may be on its way: it was claimed earlier, or reaches its block later. */
const CLAIMED_EARLIER_MS = DAY_MS
const SETTLED_LATER_MS = HOUR_MS
/** Payments that are being settled now are left to the job that finishes them. */
const UNDER_WAY_MS = 10 * MINUTE_MS
const PAGE_SIZE = 200
const MAX_PROBLEMS = 1000
/** The maximum number of transfers of one comparison. */
const MAX_CLAIMS = 200_000

/**
 * `transfer_missing`: a payment is booked, and the chain has no such transfer. `amount_differs`: it moved another amount. `not_booked`: it was
 * refused here and went through later. `payment_unknown`: money arrived that no payment here explains.
 */
export interface ChainProblem {
  readonly kind: 'transfer_missing' | 'amount_differs' | 'not_booked' | 'payment_unknown'
  readonly method: string
  /** Null if the transfer belongs to no payment here. */
  readonly payment: PaymentId | null
  readonly account: AccountId | null
  /** The transaction on the chain. */
  readonly reference: string | null
  readonly payer: string | null
  /** In micro-USD, with a fraction cut off: here, and on the chain. */
  readonly here: number
  readonly onChain: number
  readonly at: number | null
}

export interface ChainComparison {
  readonly from: number
  readonly to: number
  readonly payments: number
  readonly transfers: number
  readonly problems: readonly ChainProblem[]
  /** How many of `not_booked` were booked. */
  readonly booked: number
  /** False when a node did not answer, or the period has too much. */
  readonly complete: boolean
}

export interface ChainCheckParts {
  readonly methods: () => Promise<readonly PaymentMethod[]>
  readonly claims: ClaimStore
  readonly clock: Clock
  readonly onTrouble: (what: string, reason: string) => void
}

interface Period {
  readonly from: number
  readonly to: number
}

/**
 * Compares paid claims with the transfers that the recipient got, by transaction, for each chain. `apply` books what was refused and arrived. Names
 * at most 1,000 problems, the most important first.
 */
export async function compareWithChain(
  parts: ChainCheckParts,
  asked: Period,
  apply: boolean,
): Promise<ChainComparison> {
  const { methods, clock } = parts
  const period = { from: asked.from, to: Math.min(asked.to, clock.now() - UNDER_WAY_MS) }
  const all = await methods()
  const claims = period.from < period.to ? await claimsAround(parts, period) : []
  if (!claims) return { ...period, payments: 0, transfers: 0, booked: 0, problems: [], complete: false }
  const sums = { payments: 0, transfers: 0, booked: 0, complete: true }
  const problems: ChainProblem[] = []
  for (const received of networksOf(all)) {
    const those = all.filter((method) => method.received?.network === received.network)
    const own = claims.filter(({ method }) => those.some(({ name }) => name === method))
    const transfers = await transfersOf(parts, received, period)
    if (!transfers) {
      sums.complete = false
      continue
    }
    problems.push(...compared(own, transfers, those, period))
    sums.payments += own.filter((claim) => isWithin(claim, period)).length
    sums.transfers += transfers.length
  }
  for (const claim of claims) {
    const late = await cameLater(all, claim, period)
    if (!late) continue
    // Its transfer was not explained by a paid claim.
    const same = problems.findIndex(
      ({ kind, reference }) =>
        kind === 'payment_unknown' && normalizedReference(reference) === normalizedReference(late),
    )
    if (same >= 0) problems.splice(same, 1)
    problems.push(problemOf('not_booked', claim, late, { here: 0, onChain: claim.amount }))
    if (apply) sums.booked += await booked(parts, claim, late)
  }
  return { ...period, ...sums, problems: problems.toSorted(byWeight).slice(0, MAX_PROBLEMS) }
}

/** Anybody can send dust to a recipient: it must not hide what matters. */
function byWeight(a: ChainProblem, b: ChainProblem): number {
  const isStranger = ({ kind }: ChainProblem) => Number(kind === 'payment_unknown')
  return isStranger(a) - isStranger(b) || b.onChain - a.onChain
}

/** The chains of these methods, each once: two methods may share a recipient. */
function networksOf(methods: readonly PaymentMethod[]): readonly ReceivedTransfers[] {
  const all = new Map(methods.flatMap(({ received }) => (received ? [[received.network, received] as const] : [])))
  return [...all.values()]
}

async function transfersOf(
  { onTrouble }: ChainCheckParts,
  received: ReceivedTransfers,
  { from, to }: Period,
): Promise<readonly Transfer[] | null> {
  if (from >= to) return []
  try {
    const transfers = await received.between(from, to)
    if (!transfers)
      onTrouble('chain', `${received.network} has too many transfers in this period; compare a shorter one`)
    return transfers
  } catch (error) {
    onTrouble('chain', `${received.network} could not be compared: ${reasonOf(error)}`)
    return null
  }
}

/** Claims that were sent and whose transfer may be in the period; null if there are too many. */
async function claimsAround(
  { claims, onTrouble }: ChainCheckParts,
  { from, to }: Period,
): Promise<readonly Claim[] | null> {
  const around: Claim[] = []
  const filter = { state: null, account: null, purpose: null }
  for await (const claim of pagedRows((cursor) => claims.list(filter, PAGE_SIZE, cursor))) {
    if (claim.createdAt < from - CLAIMED_EARLIER_MS) break
    if (claim.sentAt !== null && claim.createdAt < to + SETTLED_LATER_MS) around.push(claim)
    if (around.length <= MAX_CLAIMS) continue
    onTrouble('chain', 'the period has too many payments to compare at once; compare a shorter one')
    return null
  }
  return around
}

function compared(
  claims: readonly Claim[],
  transfers: readonly Transfer[],
  methods: readonly PaymentMethod[],
  period: Period,
): readonly ChainProblem[] {
  const method = methods[0]?.name ?? ''
  const arrived = Map.groupBy(transfers, ({ reference }) => normalizedReference(reference))
  const claimed = Map.groupBy(claims, ({ reference, transaction }) => {
    return (
      [reference, transaction].map(normalizedReference).find((name) => arrived.has(name)) ??
      normalizedReference(reference)
    )
  })
  const problems: ChainProblem[] = []
  for (const [name, own] of claimed) {
    const paid = own.filter((claim) => claim.paid)
    const [claim] = paid
    const moved = arrived.get(name)
    if (!claim) continue
    const units = paid.reduce((sum, one) => sum + unitsOf(methods, one), 0n)
    const here = paid.reduce((sum, { amount }) => sum + amount, 0)
    const reference = moved?.[0]?.reference ?? claim.reference
    if (moved) {
      if (sumOf(moved) === units) continue
      const amounts = { here, onChain: microsOf(methods, claim.method, sumOf(moved)) }
      problems.push(problemOf('amount_differs', claim, reference, amounts))
    } else if (isWithin(claim, period))
      problems.push(problemOf('transfer_missing', claim, reference, { here, onChain: 0 }))
  }
  for (const [name, [transfer, ...more]] of arrived) {
    if (!transfer || claimed.has(name)) continue
    const { reference, payer, at } = transfer
    const onChain = microsOf(methods, method, sumOf([transfer, ...more]))
    problems.push({
      kind: 'payment_unknown',
      method,
      payment: null,
      account: null,
      reference,
      payer,
      here: 0,
      onChain,
      at,
    })
  }
  return problems
}

/** Whether the claim's own time is in the period, late enough for its transfer to be looked for only there. */
function isWithin({ createdAt }: Claim, { from, to }: Period): boolean {
  return createdAt >= from && createdAt < to - SETTLED_LATER_MS
}

function problemOf(
  kind: ChainProblem['kind'],
  { method, id, account, payer, createdAt }: Claim,
  reference: string | null,
  amounts: Pick<ChainProblem, 'here' | 'onChain'>,
): ChainProblem {
  return { kind, method, payment: id, account, reference, payer, ...amounts, at: createdAt }
}

/** The transaction of a claim that was refused after it was sent, and that went through nevertheless; null for any other. */
async function cameLater(methods: readonly PaymentMethod[], claim: Claim, period: Period): Promise<string | null> {
  if (claim.paid || claim.state !== 'released' || claim.createdAt < period.from || claim.createdAt >= period.to)
    return null
  const fate = await methods.find(({ name }) => name === claim.method)?.lookUp(claim)
  return fate?.kind === 'settled' ? fate.reference : null
}

/** Its credential is good for one response; a top-up is booked by its job. */
async function booked({ claims, clock }: ChainCheckParts, { key, purpose }: Claim, reference: string): Promise<number> {
  await claims.settled(key, reference, clock.now())
  if (purpose === 'call') await claims.markUnserved(key, 'it came through after it was refused', clock.now())
  return 1
}

function unitsOf(methods: readonly PaymentMethod[], claim: Claim): bigint {
  return methods.find(({ name }) => name === claim.method)?.units(claim.amount) ?? 0n
}

function microsOf(methods: readonly PaymentMethod[], name: string, units: bigint): number {
  const unit = methods.find((method) => method.name === name)?.units(micros(1)) ?? 1n
  return Number(units / unit)
}

function sumOf(transfers: readonly Transfer[]): bigint {
  return transfers.reduce((sum, { units }) => sum + units, 0n)
}

function normalizedReference(reference: string | null): string {
  return reference?.toLowerCase() ?? ''
}
