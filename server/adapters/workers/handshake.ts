import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { SECOND_MS } from '../../core/clock'
import { WORKER_NAME } from '../../core/credentials/worker-credentials'
import { isCount } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import { encodedFrame, type HandshakeKind, type Payload, type Side } from './frames'

/**
 * How a worker and a primary prove to each other that they have one credential, without sending it:
 *
 * 1. `hello` of the worker: its side, version, credential's name, instance and nonce
 * 2. `hello` of the primary: its side, version, nonce and epoch; its proof
 * 3. `proof` of the worker: its proof; which session it is, and the last frame that it received in it
 * 4. `welcome` of the primary: the last frame that it received in this session; null begins a new one
 *
 * Each may be a `refusal` instead, which ends the connection. A proof is an HMAC of both hellos and of the side that proves, so one
 * of another connection, of the other side, or of another version or epoch does not fit. It does not encrypt: that is left to TLS.
 */
const PURPOSE = 'gateway worker 1'

/** A connection that is not proved within this time is ended. */
export const HANDSHAKE_MS = 5 * SECOND_MS

const NONCE_BYTES = 32
/** In base64url. */
const NONCE = /^[\w-]{43}$/
const PROOF = /^[\w-]{43}$/
const INSTANCE = /^[0-9a-f]{32}$/
const VERSION = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})([-+][\w.+-]{1,32})?$/
const MAX_EPOCH = 0xffffffff

/** Why a side does not go on. `version` goes with the version of the side that refuses. */
export type RefusalReason =
  /** Not what this step expects: another protocol, or the same side twice. */
  | 'malformed'
  | 'version'
  /** No such credential, or another secret under its name. */
  | 'credential'
  /** The worker has seen a primary with a higher epoch. */
  | 'older_epoch'

export interface Refusal {
  readonly reason: RefusalReason
  /** The version of the other side, if it said one. */
  readonly version: string | null
}

/** Where a worker's last session stands. `session`: its number within the worker's process. */
export interface Resumption {
  readonly session: number
  readonly received: number
}

/** Who proved itself. `instance`: the worker's process; several may share one credential. */
export interface ProvedWorker extends Resumption {
  readonly credential: string
  readonly instance: string
}

/** The primary's proof was right: the frame to send, and its epoch. */
export interface ProvedPrimary {
  readonly proof: Payload
  readonly epoch: number
}

interface WorkerParts {
  readonly credential: string
  readonly key: Uint8Array
  /** Random, made when the process starts: 32 hex digits. */
  readonly instance: string
  readonly version: string
  /** The highest epoch that it has seen. */
  readonly epoch: number
}

/** The worker's side of one connection. */
export class WorkerHandshake {
  readonly hello: Payload
  private readonly parts: WorkerParts

  constructor(parts: WorkerParts) {
    const { version, credential, instance } = parts
    this.parts = parts
    this.hello = ['worker', version, credential, instance, nonce()]
  }

  /** Takes the primary's hello. */
  prove(answer: Payload, { session, received }: Resumption): Result<ProvedPrimary, Refusal> {
    const { key, version: own, epoch: highest } = this.parts
    const [side, version, random, epoch, proof] = answer
    if (side !== 'primary' || !isText(version, VERSION) || !isText(random, NONCE) || !isEpoch(epoch))
      return refused('malformed')
    if (random === this.hello[4] || !isText(proof, PROOF) || answer.length !== 5) return refused('malformed', version)
    if (!areCompatible(own, version)) return refused('version', version)
    const hellos = [this.hello, answer.slice(0, 4)]
    if (!isSame(proof, proofOf(key, 'primary', hellos))) return refused('credential', version)
    if (epoch < highest) return refused('older_epoch', version)
    return ok({ proof: [proofOf(key, 'worker', [...hellos, session, received]), session, received], epoch })
  }
}

interface PrimaryParts {
  readonly version: string
  readonly epoch: number
  /** The key of a credential; null for an unknown name, and for one that was revoked. */
  readonly keyOf: (credential: string) => Uint8Array | null
}

/** The primary's side of one connection. */
export class PrimaryHandshake {
  private readonly parts: PrimaryParts
  private worker: Omit<ProvedWorker, keyof Resumption> | null = null
  private hellos: readonly Payload[] = []

  constructor(parts: PrimaryParts) {
    this.parts = parts
  }

  /** Takes the worker's hello. Gives the primary's, which proves it. */
  greet(hello: Payload): Result<Payload, Refusal> {
    const { version: own, epoch, keyOf } = this.parts
    const [side, version, credential, instance, random] = hello
    if (side !== 'worker' || !isText(version, VERSION) || hello.length !== 5 || this.worker !== null)
      return refused('malformed')
    if (!isText(credential, WORKER_NAME) || !isText(instance, INSTANCE) || !isText(random, NONCE))
      return refused('malformed', version)
    if (!areCompatible(own, version)) return refused('version', version)
    const answer = ['primary', own, nonce(), epoch]
    this.worker = { credential, instance }
    this.hellos = [hello, answer]
    // For an unknown name a key that nobody has, so that names cannot be tried.
    return ok([...answer, proofOf(keyOf(credential) ?? randomBytes(32), 'primary', this.hellos)])
  }

  /** Takes the worker's proof. */
  verify(proving: Payload): Result<ProvedWorker, Refusal> {
    const [proof, session, received] = proving
    const { worker } = this
    this.worker = null
    if (worker === null || !isText(proof, PROOF) || !isCount(session) || !isCount(received) || proving.length !== 3)
      return refused('malformed')
    // Looked up again: it may have been revoked meanwhile.
    const key = this.parts.keyOf(worker.credential)
    if (key === null || !isSame(proof, proofOf(key, 'worker', [...this.hellos, session, received])))
      return refused('credential')
    return ok({ ...worker, session, received })
  }
}

/** A frame of the handshake. */
export function handshakeFrame(kind: HandshakeKind, payload: Payload): Buffer {
  const frame = encodedFrame({ kind, epoch: 0, number: 0, received: 0, request: 0 }, payload)
  if (frame === null) throw new Error(`a ${kind} is too large`)
  return frame
}

/** The same version, or of one release the patch before or after, for the time of a rolling restart. */
export function areCompatible(one: string, other: string): boolean {
  if (one === other) return true
  const [, major, minor, patch, rest] = VERSION.exec(one) ?? []
  const [, otherMajor, otherMinor, otherPatch, otherRest] = VERSION.exec(other) ?? []
  if (major === undefined || major !== otherMajor || minor !== otherMinor || rest || otherRest) return false
  return Math.abs(Number(patch) - Number(otherPatch)) === 1
}

function proofOf(key: Uint8Array, side: Side, said: Payload): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([PURPOSE, side, said]))
    .digest('base64url')
}

function isSame(one: string, other: string): boolean {
  const [mine, theirs] = [Buffer.from(one), Buffer.from(other)]
  return mine.length === theirs.length && timingSafeEqual(mine, theirs)
}

function nonce(): string {
  return randomBytes(NONCE_BYTES).toString('base64url')
}

function isText(value: unknown, form: RegExp): value is string {
  return typeof value === 'string' && form.test(value)
}

function isEpoch(value: unknown): value is number {
  return isCount(value) && value <= MAX_EPOCH
}

function refused(reason: RefusalReason, version: string | null = null): Result<never, Refusal> {
  return err({ reason, version })
}
