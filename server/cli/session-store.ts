import { createHash } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { CommandRefused } from './control-client'
import { PROGRAM } from './program'
import type { Terminal } from './terminal'

/** A sign-in: the gateway's URL and the tokens. Never printed. */
export interface Session {
  readonly url: string
  readonly accessToken: string
  readonly refreshToken: string
  /** Milliseconds. */
  readonly expiresAt: number
  readonly scope: string
}

const SERVICE = 'paid-api-gateway'
const MAX_LOCK_WAIT_MS = 20_000
const STALE_LOCK_MS = 60_000

/**
 * Stores one sign-in per user of this machine. The tokens are in the system's keychain, and the file only points to it. Without a
 * keychain they are in the file, which only the user can read (0600 in a 0700 folder, replaced atomically).
 */
export class SessionStore {
  private readonly folder: string
  private readonly useKeychain: boolean
  private readonly terminal: Terminal

  constructor(terminal: Terminal) {
    this.terminal = terminal
    const { env } = terminal
    const base = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config')
    this.folder = join(env['GATEWAY_CONFIG_DIR'] || join(base, 'gateway'))
    this.useKeychain = env['GATEWAY_KEYCHAIN'] !== 'off'
  }

  async read(): Promise<Session | null> {
    const text = await readFile(this.file, 'utf8').catch(() => null)
    if (text === null) return null
    const stored = JSON.parse(text) as Partial<Session> & { readonly keychain?: true }
    if (!stored.keychain) return stored as Session
    const secret = await Bun.secrets.get({ service: SERVICE, name: this.account }).catch(() => null)
    if (secret === null)
      throw new CommandRefused(`the sign-in cannot be read from the keychain. Run "${PROGRAM} login" again`)
    return JSON.parse(secret) as Session
  }

  async write(session: Session): Promise<'keychain' | 'file'> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const inKeychain = this.useKeychain && (await this.writeToKeychain(session))
    await this.replace(JSON.stringify(inKeychain ? { url: session.url, keychain: true } : session))
    return inKeychain ? 'keychain' : 'file'
  }

  async remove(): Promise<void> {
    if (this.useKeychain)
      await Bun.secrets.delete({ service: SERVICE, name: this.account }).then(undefined, () => undefined)
    await rm(this.file, { force: true })
  }

  /** Runs in one process at a time on this machine: concurrent refreshes would invalidate each other's token. */
  async locked<T>(work: () => Promise<T>): Promise<T> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const path = `${this.file}.lock`
    const until = this.terminal.now() + MAX_LOCK_WAIT_MS
    for (;;) {
      const lock = await open(path, 'wx', 0o600).catch(() => null)
      if (lock) {
        try {
          return await work()
        } finally {
          await lock.close()
          await rm(path, { force: true })
        }
      }
      const age = await stat(path).then(
        ({ mtimeMs }) => Date.now() - mtimeMs,
        () => 0,
      )
      if (age > STALE_LOCK_MS) await rm(path, { force: true })
      else if (this.terminal.now() > until)
        throw new CommandRefused(
          `another gateway command is using the sign-in (${path}). Try again when it has finished`,
        )
      else await Bun.sleep(20)
    }
  }

  private get file(): string {
    return join(this.folder, 'session.json')
  }

  /** Named after the folder, so that different folders do not share a keychain entry. */
  private get account(): string {
    return createHash('sha256').update(this.folder).digest('hex').slice(0, 16)
  }

  private async writeToKeychain(session: Session): Promise<boolean> {
    const value = JSON.stringify(session)
    return Bun.secrets.set({ service: SERVICE, name: this.account, value }).then(
      () => true,
      () => false,
    )
  }

  private async replace(text: string): Promise<void> {
    const draft = `${this.file}.${process.pid}`
    const file = await open(draft, 'w', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, this.file)
  }
}
