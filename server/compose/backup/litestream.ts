import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { environmentOf } from '../../config'
import type { StoreAccess } from '../../config/backups'
import { BackupProblem } from '../../core/backup/target'

/** The program, and how it signs in to a store. */
export interface Litestream {
  readonly program: string
  readonly access: StoreAccess | null
}

export interface Running {
  /** Resolves to why it ended. */
  readonly ended: Promise<string>
  /** Lets it finish what it does. Resolves when it has ended, to whether it ended well. */
  stop(): Promise<boolean>
}

/** How long it may take to end. It copies the rest meanwhile. */
const END_SECONDS = 20
/**
 * Ends the program when this process does, however it ends: its end of the pipe closes. By force after that time. In a container without a
 * shell all processes end with the first one.
 */
const WHILE_WE_LIVE = `exec 3<&0; "$@" & child=$!
(cat <&3; kill $child; sleep "$0"; kill -0 $$ && kill -9 $child) >/dev/null 2>&1 &
exec 3<&-; wait $child`
/** What it needs of our environment, which has secrets of ours. */
const ENVIRONMENT = /^(PATH|HOME|TMPDIR|TZ|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY)$/i

export function requireLitestream({ program }: Pick<Litestream, 'program'>): void {
  if (Bun.which(program) === null)
    throw new BackupProblem(
      `there is no program ${program}: install Litestream from https://litestream.io (0.5.17 is tested) into the PATH, or name it by LITESTREAM`,
    )
}

/** Writes the newest state of a replica, or that of a time, to a file that does not exist. */
export async function restoreReplica(
  litestream: Litestream,
  replica: string,
  to: string,
  until: Date | null,
): Promise<void> {
  const at = until === null ? [] : ['-timestamp', until.toISOString()]
  const { ended } = run(litestream, ['restore', ...at, '-o', to, replicaUrl(replica, litestream)])
  const { code, said } = await ended
  if (code !== 0) throw new BackupProblem(`litestream restore failed: ${said}`)
}

/** Restores a replica to a file that does not exist, and keeps it at most a second behind. A file beside it, `-txid`, says that it is there. */
export function followReplica(litestream: Litestream, replica: string, to: string): Running {
  return running(run(litestream, ['restore', '-f', '-o', to, replicaUrl(replica, litestream)]))
}

/** Where a program that replicates is asked to. */
export interface Replicating {
  readonly database: string
  readonly replica: string
  /** Where its settings are written. */
  readonly folder: string
}

export const socketOf = ({ folder }: Pick<Replicating, 'folder'>) => join(folder, 'litestream.sock')

/** Copies a database once a second from here on, or with `isOnce` what is not copied yet. */
export async function replicate(litestream: Litestream, what: Replicating, isOnce = false): Promise<Running> {
  const settings = {
    socket: { enabled: !isOnce, path: socketOf(what), permissions: 0o600 },
    logging: { level: 'warn', stderr: true },
    dbs: [{ path: what.database, replica: { url: replicaUrl(what.replica, litestream) } }],
  }
  // JSON is YAML, too.
  const file = join(what.folder, 'litestream.yml')
  await writeFile(file, JSON.stringify(settings), { mode: 0o600 })
  const once = isOnce ? ['-once'] : []
  return running(run(litestream, ['replicate', '-no-expand-env', '-config', file, ...once]))
}

function running({ ended, stop }: ReturnType<typeof run>): Running {
  return { ended: ended.then(({ code, said }) => said || `exit code ${code}`), stop }
}

/** Of a store that is not Amazon's, with its address; without a secret. */
function replicaUrl(replica: string, { access }: Litestream): string {
  if (!/^[a-z0-9]+:/.test(replica)) return `file://${resolve(replica)}`
  if (!replica.startsWith('s3:') || replica.includes('?')) return replica
  const query = new URLSearchParams()
  if (access?.endpoint) query.set('endpoint', access.endpoint)
  if (access?.region) query.set('region', access.region)
  return query.size > 0 ? `${replica}?${query}` : replica
}

function environment(access: StoreAccess | null) {
  if (access === null) return environmentOf(ENVIRONMENT, {})
  const { accessKeyId, secretAccessKey } = access
  return environmentOf(ENVIRONMENT, { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey })
}

function run({ program, access }: Litestream, args: readonly string[]) {
  const shell = Bun.which('sh')
  const first = shell === null ? [] : [shell, '-c', WHILE_WE_LIVE, String(END_SECONDS)]
  const child = Bun.spawn([...first, program, ...args], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    env: environment(access),
    // Ctrl-C at a terminal is for the gateway, which ends it last.
    detached: true,
  })
  let last = ''
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const part of stream) last = (last + decoder.decode(part, { stream: true })).slice(-500)
  }
  const outputs = [read(child.stdout), read(child.stderr)]
  const ended = child.exited.then(async (code) => {
    child.stdin.end()
    await Promise.all(outputs)
    return { code, said: last.trim() }
  })
  return {
    ended,
    async stop() {
      child.stdin.end()
      if (shell === null) child.kill()
      return (await ended).code === 0
    },
  }
}
