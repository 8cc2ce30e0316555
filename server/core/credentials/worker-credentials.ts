import { createHash, hkdfSync, randomBytes } from 'node:crypto'
import { type Actor, type AuditEntry, auditEntry } from '../audit'
import type { Clock } from '../clock'
import { type Failure, failure } from '../failure'
import { err, ok, type Result } from '../result'

/** Lets processes on other machines work for this gateway. Its key is derived from SECRET_KEY and the salt, so nothing secret is stored. */
export interface WorkerCredential {
  readonly name: string
  readonly salt: string
  readonly createdAt: number
}

export interface WorkerCredentialStore {
  all(): Promise<readonly WorkerCredential[]>
  add(credential: WorkerCredential, audit: AuditEntry): Promise<void>
  remove(name: string, audit: AuditEntry): Promise<void>
}

/** A name as it is in a credential. */
export const WORKER_NAME = /^[\w.-]{1,64}$/
/** Of the workers that a gateway starts itself. */
const LOCAL_NAME = /^local-/
const KEY_BYTES = 32
const TAG_LENGTH = 6

/** The credentials of workers on other machines, in memory, written through. */
export class WorkerCredentials {
  /** Called when a credential was removed: from then on its workers may do nothing. */
  onRemoved: (name: string) => void = () => undefined
  private readonly current = new Map<string, WorkerCredential>()
  private readonly store: WorkerCredentialStore
  private readonly secretKey: string
  private readonly clock: Clock

  private reading: Promise<void> | null = null

  constructor(store: WorkerCredentialStore, secretKey: string, clock: Clock) {
    this.store = store
    this.secretKey = secretKey
    this.clock = clock
  }

  /** Reads them, once. Needed before workers are let in; a gateway without them never reads. */
  load(): Promise<void> {
    this.reading ??= this.read().catch((error: unknown) => {
      this.reading = null
      throw error
    })
    return this.reading
  }

  async all(): Promise<readonly WorkerCredential[]> {
    await this.load()
    return [...this.current.values()]
  }

  /** Once they are read. */
  get isEmpty(): boolean {
    return this.current.size === 0
  }

  private async read(): Promise<void> {
    for (const one of await this.store.all()) this.current.set(one.name, one)
  }

  /** The key that proves this name; null for none. */
  keyOf(name: string): Uint8Array | null {
    const known = this.current.get(name)
    return known ? this.key(known) : null
  }

  /** The end of the ids of a worker's calls, by which a primary knows them again after a restart: 6 hex digits. */
  tagOf(name: string): string {
    const salt = this.current.get(name)?.salt ?? ''
    return createHash('sha256').update(`${name} ${salt}`).digest('hex').slice(0, TAG_LENGTH)
  }

  /** Resolves to the text of the credential, which is shown once (`readWorkerCredential`). */
  async add(actor: Actor, name: string): Promise<Result<string, Failure>> {
    if (!WORKER_NAME.test(name) || LOCAL_NAME.test(name))
      return err(
        failure(
          'invalid_parameter',
          'A worker is named by at most 64 letters, digits, "_", "." and "-", and not local-...',
        ),
      )
    await this.load()
    if (this.current.has(name))
      return err(failure('invalid_state', `There is a worker ${name}. Remove it first, or choose another name.`))
    const { store, clock } = this
    const createdAt = clock.now()
    const credential = { name, salt: randomBytes(16).toString('base64url'), createdAt }
    // At once, so that a second one of this name is refused.
    this.current.set(name, credential)
    try {
      await store.add(credential, auditEntry({ at: createdAt, actor, action: 'worker.add', detail: { name } }))
    } catch (error) {
      this.current.delete(name)
      throw error
    }
    return ok(`${name}:${Buffer.from(this.key(credential)).toString('base64url')}`)
  }

  /** Its workers are cut off at once, also if this fails, and for good when it resolves. */
  async remove(actor: Actor, name: string): Promise<Result<null, Failure>> {
    await this.load()
    if (!this.current.delete(name)) return err(failure('resource_not_found', `There is no worker ${name}.`))
    this.onRemoved(name)
    const { store, clock } = this
    await store.remove(name, auditEntry({ at: clock.now(), actor, action: 'worker.remove', detail: { name } }))
    return ok(null)
  }

  private key({ name, salt }: WorkerCredential): Uint8Array {
    return new Uint8Array(hkdfSync('sha256', this.secretKey, salt, `gateway worker 1 ${name}`, KEY_BYTES))
  }
}

/** The name and the key in a credential's text; null if it is none. */
export function readWorkerCredential(text: string): { readonly name: string; readonly key: Uint8Array } | null {
  const [, name, encoded] = /^([\w.-]{1,64}):([\w-]{43})$/.exec(text) ?? []
  return name && encoded ? { name, key: new Uint8Array(Buffer.from(encoded, 'base64url')) } : null
}
