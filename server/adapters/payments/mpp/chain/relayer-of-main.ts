import type { Address, Hex } from 'viem'
import { isJson, parsedJson } from '../../../../core/json'
import { chainReason } from '../refusals'
import {
  type ContractCall,
  ofNetwork,
  type Relayed,
  type RelayedReceipt,
  type Relaying,
  type RelayProblem,
} from './relaying'

/** Sends JSON to the gateway of `main`, and resolves to its answer. It may be asked twice. */
export type AskMain = (body: string, signal: AbortSignal) => Promise<Response>

/** What `main` says of its relayer, or of a call that it was asked to relay. */
type Said =
  | { readonly kind: 'state'; readonly problem: string | null; readonly isOurs?: boolean }
  | { readonly kind: 'failed'; readonly reason: string; readonly isSent: boolean }
  | Relayed

/** More than `main` waits for a block, so that its answer comes first. */
const RELAY_MS = 13_000
const STATE_MS = 900

/**
 * The relayer of the gateway of `main`, which counts the nonces of the account for the gateways of all cells. While no node owns `main`
 * nothing is offered, and of a payment on its way the chain is asked.
 */
export class RelayerOfMain implements Relaying {
  readonly address: Address
  private readonly ask: AskMain

  constructor(address: Address, ask: AskMain) {
    this.address = address
    this.ask = ask
  }

  async problem(): Promise<RelayProblem | null> {
    const said = await this.said({}, STATE_MS)
    if (said.kind === 'state')
      return said.problem === null ? null : { reason: said.problem, isOurs: said.isOurs ?? false }
    return { reason: said.kind === 'failed' ? said.reason : UNCLEAR, isOurs: true }
  }

  async relay(call: ContractCall, onSent: () => void): Promise<Relayed> {
    const said = await this.said(call, RELAY_MS)
    if (said.kind === 'mined' || said.kind === 'late' || (said.kind === 'failed' && said.isSent)) onSent()
    if (said.kind === 'failed' || said.kind === 'state') throw new Error(said.kind === 'failed' ? said.reason : UNCLEAR)
    return said
  }

  /** An answer that is lost leaves open whether the call was sent. What our account sent counts as ours by its sender. */
  private async said(asked: ContractCall | Record<string, never>, maxMs: number): Promise<Said> {
    try {
      const answer = await this.ask(JSON.stringify(asked), AbortSignal.timeout(maxMs))
      const text = await answer.text()
      if (answer.ok) return saidIn(parsedJson(text))
      return { kind: 'failed', reason: `the cell main, which relays, answers ${answer.status}`, isSent: false }
    } catch (error) {
      return {
        kind: 'failed',
        reason: `the cell main, which relays, does not answer: ${chainReason(error)}`,
        isSent: false,
      }
    }
  }
}

const UNCLEAR = 'the cell main, which relays, answers something else'

/**
 * What the gateway of `main` answers to a gateway that asks as above. `targets`: the contracts that payments call; the account pays gas for
 * nothing else.
 */
export async function answerOfMain(
  relayer: Relaying,
  targets: readonly Address[],
  body: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const call = callIn(body)
  if (!call) {
    const problem = await relayer.problem().catch((error: unknown) => ofNetwork(chainReason(error)))
    return { kind: 'state', problem: problem?.reason ?? null, ...(problem?.isOurs && { isOurs: true }) }
  }
  const isTarget = targets.some((target) => target.toLowerCase() === call.to.toLowerCase())
  if (!isTarget) return { kind: 'failed', reason: 'it is not the call of a payment', isSent: false }
  let isSent = false
  try {
    const relayed = await relayer.relay(call, () => {
      isSent = true
    })
    return relayed.kind === 'mined' ? { kind: 'mined', receipt: plain(relayed.receipt) } : relayed
  } catch (error) {
    return { kind: 'failed', reason: chainReason(error), isSent }
  }
}

function callIn(body: unknown): ContractCall | null {
  if (!isJson(body)) return null
  const { to, data } = body
  return isHex(to) && to.length === 42 && isHex(data) ? { to, data } : null
}

/** A receipt has numbers that JSON does not know. */
function plain({ transactionHash, status, logs }: RelayedReceipt): RelayedReceipt {
  return { transactionHash, status, logs: logs.map(({ address, topics, data }) => ({ address, topics, data })) }
}

/** It comes from a node with the same secret, so its form is believed. */
function saidIn(body: unknown): Said {
  return isJson(body) && typeof body['kind'] === 'string'
    ? (body as unknown as Said)
    : { kind: 'failed', reason: UNCLEAR, isSent: false }
}

function isHex(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value)
}
