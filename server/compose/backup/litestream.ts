import { resolve } from 'node:path'
import { BackupProblem } from '../../core/backup/target'

const PROGRAM = 'litestream'
/** Ends the program when this process does, however it ends: its end of the pipe closes. By force after 5 s. */
const WHILE_WE_LIVE = `exec 3<&0; "$@" & child=$!
(cat <&3; kill $child; sleep 5; kill -0 $$ && kill -9 $child) >/dev/null 2>&1 &
exec 3<&-; wait $child`

export function requireLitestream(): void {
  if (Bun.which(PROGRAM) === null) throw new BackupProblem(`the program ${PROGRAM} is not in PATH: install it`)
}

/** Writes the newest state of a replica to a file that does not exist. */
export async function restoreReplica(replica: string, to: string): Promise<void> {
  const { ended } = litestream(['restore', '-o', to, replicaUrl(replica)])
  const { code, said } = await ended
  if (code !== 0) throw new BackupProblem(`${PROGRAM} restore failed: ${said}`)
}

interface Following {
  /** Resolves to why it ended. */
  readonly ended: Promise<string>
  /** Resolves when the file changes no more, to whether it is whole. */
  stop(): Promise<boolean>
}

/** Restores a replica to a file that does not exist, and keeps it at most a second behind. A file beside it, `-txid`, says that it is there. */
export function followReplica(replica: string, to: string): Following {
  const { ended, stop } = litestream(['restore', '-f', '-o', to, replicaUrl(replica)])
  return { ended: ended.then(({ said }) => said), stop }
}

function replicaUrl(replica: string): string {
  return /^[a-z0-9]+:/.test(replica) ? replica : `file://${resolve(replica)}`
}

function litestream(args: readonly string[]) {
  const child = Bun.spawn(['sh', '-c', WHILE_WE_LIVE, 'sh', PROGRAM, ...args], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
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
      return (await ended).code === 0
    },
  }
}
